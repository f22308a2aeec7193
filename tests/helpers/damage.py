"""Ledgers with some of everything in them, ways in which a disk, a copy or a hand spoils one, and what can be read."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from richter.records import Answer, Condition, Confidence, Grade, Item, Rating
from richter.store import LEDGER_NAME, Call, Ledger, open_ledger

PAGE = 4096


def fill(ledger: Ledger, n: int) -> None:
    """Some of everything that a ledger holds."""
    ledger.add_items([Item(id=f"q{i}", prompt=f"What is {i}? " * 3, reference=str(i), domain="d") for i in range(n)])
    ledger.add_conditions([Condition(name=c, model=f"openai/{c}") for c in ("old", "new")])
    calls = [
        Call(
            key=f"{i:032x}{c}",
            model=f"openai/{c}",
            request=f"request {i}" * 5,
            answer=Answer(
                text=f"The answer is {i}. " * (1 + i % 40),
                item=f"q{i}",
                condition=c,
                error="" if i % 7 else "no reply",
                tokens=("a", "b"),
                logprobs=(-0.5, -1.25),
                tokens_in=i,
                tokens_out=2,
                money_usd=i / 1000,
                latency_s=0.5,
            ),
        )
        for i in range(n)
        for c in ("old", "new")
    ]
    for start in range(0, len(calls), 10):
        ledger.add_calls(calls[start : start + 10])
    pairs = [(f"q{i}", c) for i in range(n) for c in ("old", "new") if i % 7]
    ledger.add_ratings(
        Rating(item=i, condition=c, draw=0, rater="rules", kind="rule", severity=1.5, reason=f"because {i}")
        for i, c in pairs
    )
    ledger.add_grades(
        Grade(item=i, condition=c, draw=0, scorer="s", value=0.5, correct=True, main=True) for i, c in pairs
    )
    ledger.add_confidences(Confidence(item=i, condition=c, draw=0, source="stated", value=0.75) for i, c in pairs)
    ledger.add_step(0, picks=[(k, "uniform") for k in range(n)], retrievals=[], sample=range(n))
    ledger.set_note("bench", {"name": "facts", "sizes": list(range(50))})


def write_seeds(folder: Path) -> list[Path]:
    """A ledger that was closed, and one as a killed process leaves it, with its last commits beside the file."""
    closed, killed, live = folder / "closed", folder / "killed", folder / "live"
    with open_ledger(closed, mode="write") as ledger:
        fill(ledger, 60)
    with open_ledger(live, mode="write") as ledger:
        fill(ledger, 25)
        shutil.copytree(live, killed)
        for name in (f"{LEDGER_NAME}-shm", "ledger.lock"):
            (killed / name).unlink(missing_ok=True)
    return [closed, killed]


def everything(run: Path) -> tuple[Any, ...]:
    """All that a run's ledger says."""
    with open_ledger(run) as ledger:
        return (
            ledger.items(),
            ledger.conditions(),
            list(ledger.answers()),
            ledger.ratings(),
            ledger.grades(),
            ledger.confidences(),
            ledger.note("bench"),
            ledger.spent(),
            ledger.spent_by_model(),
            ledger.times(),
            ledger.counts(),
            ledger.picks(),
            ledger.sample(),
            [ledger.find(f"{i:032x}old") for i in range(60)],
        )


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def change_text(data: bytearray, rng: random.Random) -> None:
    """A letter or digit becomes another, which no structure shows."""
    places = [i for i in range(len(data)) if 48 <= data[i] < 58 or 97 <= data[i] < 123]
    for at in rng.sample(places, min(3, len(places))):
        data[at] = rng.choice(b"0123456789abcdefghijklmnopqrstuvwxyz")


def zero_page(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(max(len(data) // PAGE, 1)) * PAGE
    data[at : at + PAGE] = bytes(len(data[at : at + PAGE]))


def copy_page(data: bytearray, rng: random.Random) -> None:
    a, b = (rng.randrange(max(len(data) // PAGE, 1)) * PAGE for _ in range(2))
    data[a : a + PAGE] = data[b : b + PAGE]


def truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def cut_out(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 100, PAGE))]


def noise(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    data[at : at + 200] = rng.randbytes(len(data[at : at + 200]))


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    *(flip, flip, change_text, change_text, zero_page, copy_page, truncate, cut_out, noise),
)


def damage(source: Path, target: Path, rng: random.Random) -> None:
    """A copy of a run of which one file is spoilt."""
    shutil.copytree(source, target)
    files = [f for f in sorted(target.iterdir()) if f.name.startswith(LEDGER_NAME) and f.stat().st_size]
    file = rng.choice(files)
    data = bytearray(file.read_bytes())
    rng.choice(DAMAGES)(data, rng)
    file.write_bytes(data)
