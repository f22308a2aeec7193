"""Attempts of the campaigns that only repeat what a helper of the tests does once."""

import contextlib
import functools
import io
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from helpers.billing import BillingServer, run_schedule
from helpers.clothes import faults, world
from helpers.containers import broken_copy, containers
from helpers.hostile import hostile_reply as hostile_text
from helpers.hostile import read_everywhere
from helpers.mutations import mutate
from helpers.raw_server import RawApi, hostile_reply, http, reply
from helpers.read_any import Reader, all_seeds, ended
from helpers.server import answer_for
from helpers.shapes import fault, write
from llm.test_hostile_servers import ENCODINGS, traces
from llm.test_http import ask_prompts
from richter_audit.bench import read_gazetteer
from richter_audit.judge import RuleJudge

KEYS = (
    "sk-very/secret+0123456789abcdef",
    "sk-proj-AbC_dEf-1234567890",
    "gsk_0a1b2c3d4e5f6a7b8c9d",
    "hf_AbCdEfGhIjKlMnOpQrSt",
)
KINDS = ("answer", "error", "broken")


def new_folder() -> Path:
    """A folder that lasts as long as the process."""
    return Path(tempfile.mkdtemp(prefix="richter-soak-"))


def answers(k: int) -> str:
    """Ask a server whose every other reply is hostile, sent twice or late.

    The run may not end early, no neighbour of a hostile reply may be lost, no answer be another question's, and nothing
    that was answered be paid for again.
    """
    rng = random.Random(k)
    prompts = [f"question {n}" for n in range(100)]
    hostile = set(rng.sample(prompts, 50))

    def respond(prompt: str, _: dict) -> bytes | tuple[bytes, ...]:
        if prompt in hostile:
            return hostile_reply(rng)
        whole = http(reply(answer_for(prompt)))
        return (whole, whole) if rng.random() < 0.2 else whole

    with (
        tempfile.TemporaryDirectory() as folder,
        RawApi(respond, delay_s=lambda: rng.choice((0.0, 0.001, 0.01))) as api,
    ):
        _, found = ask_prompts(Path(folder), api.model, prompts, max_attempts=2)
        paid = dict(api.requests)
        ask_prompts(Path(folder), api.model, prompts, max_attempts=1)
        again = [p for p in prompts if not found[p].error and api.requests[p] > paid[p]]
    wrong = [p for p in prompts if p not in hostile and found[p].text != answer_for(p)]
    if set(found) != set(prompts) or wrong or again:
        return f"LOST {100 - len(found)}, WRONG {len(wrong)}, PAID AGAIN {len(again)}"
    return "whole"


def clothes(k: int) -> str:
    """Show a small result in all its clothes, and again after what changes nothing: it says the same everywhere."""
    with tempfile.TemporaryDirectory(prefix="richter-clothes-") as folder:
        found = next(faults(world(1_000 + k), Path(folder)), "")
    return found[:80] or "the same"


@functools.cache
def sound_containers() -> dict[str, tuple[Path, Reader]]:
    """A sound file of each container."""
    return containers(new_folder())


def broken_container(k: int) -> str:
    """Break a file of a container that a command reads: it is read or refused in words, within 10 s of CPU."""
    name = list(sound_containers())[k % len(sound_containers())]
    source, read = sound_containers()[name]
    return f"{name}: {_read_broken(source, read, broken_copy(source, random.Random(k)), k)}"


@functools.cache
def sound_files() -> list[tuple[Path, Reader]]:
    """A sound file of every kind that a command reads."""
    return all_seeds(new_folder())


def broken_file(k: int) -> str:
    """Break a file of any kind; documents are parsed in a child that has limits of its own."""
    source, read = sound_files()[k % len(sound_files())]
    return _read_broken(source, read, mutate(source, random.Random(k)), k)


def _read_broken(source: Path, read: Reader, content: bytes, k: int) -> str:
    path = source.parent / f"broken{k}{''.join(source.suffixes)}"
    path.write_bytes(content)
    began = time.process_time()
    try:
        found = ended(path, read)
    finally:
        path.unlink()
    return found if time.process_time() - began < 10 else "over 10 s"


def keys(k: int) -> str:
    """Let a server echo a key, as an answer, an error or a broken reply: it is neither on disk nor on screen."""
    how, kind = list(ENCODINGS)[k % len(ENCODINGS)], KINDS[k // len(ENCODINGS) % len(KINDS)]
    key = KEYS[k // len(ENCODINGS) // len(KINDS) % len(KEYS)]
    body = ENCODINGS[how](key)
    sent = {"answer": http(body), "error": http(body, status=500), "broken": http(body[:-20] + b"\xff" * 20)}[kind]
    folder, screen = new_folder(), io.StringIO()
    os.environ["RICHTER_API_KEY"] = key
    try:
        with RawApi(lambda *_: sent) as api, contextlib.redirect_stderr(screen):
            asker, found = ask_prompts(folder, api.model, ["q"], max_attempts=1)
        shown = repr(asker.tally) + repr(found) + screen.getvalue()
        kept = b"".join(path.read_bytes() for path in folder.iterdir()) + shown.encode()
        return f"{kind}: KEPT" if any(trace in kept for trace in traces(key)) else f"{kind}: nowhere"
    finally:
        shutil.rmtree(folder)


@functools.cache
def judge() -> RuleJudge:
    """The rule judge, with the small gazetteer."""
    return RuleJudge(read_gazetteer(Path(__file__).parents[1] / "judge" / "golden.gazetteer.json.gz"))


def replies(k: int) -> str:
    """Give a hostile reply to everything that reads what judges, graders and writers of questions reply."""
    judge()
    began = time.process_time()
    read_everywhere(hostile_text(k), judge())
    return "read or refused" if time.process_time() - began < 5 else "over 5 s"


def shapes(k: int) -> str:
    """Read a file of results in a random shape, with other names, languages, spellings and formats.

    What was written is known, so the share that is read right without an option is measured; each other end is a
    reading that differs, or a refusal. Seeds from 100,000 on are nobody's to develop on.
    """
    with tempfile.TemporaryDirectory(prefix="richter-shapes-") as folder:
        case = write(Path(folder), 100_000 + k)
        found = fault(case)
    kind = " ".join(case.shape.split()[:2])
    return "read right" if not found else f"{kind}: {'refused' if found.startswith('refused') else 'read otherwise'}"


def spending(k: int) -> str:
    """Try to make a server's bill exceed a budget by a random schedule of commands, faults and kills."""
    with tempfile.TemporaryDirectory() as folder, BillingServer() as server:
        outcome = run_schedule(server, Path(folder), k)
    share = max(
        outcome.billed_calls / outcome.budget_calls if outcome.budget_calls else 0.0,
        outcome.billed_usd / outcome.budget_usd if outcome.budget_usd else 0.0,
    )
    return f"held, {10 * int(share * 10)}% of the budget billed or more" if outcome.held else "EXCEEDED"


ATTEMPTS: dict[str, Callable[[int], str]] = {
    "answers": answers, "clothes": clothes, "containers": broken_container, "files": broken_file, "keys": keys,
    "replies": replies, "shapes": shapes, "spending": spending,
}  # fmt: skip
