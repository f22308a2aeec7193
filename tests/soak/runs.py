"""Open 300 hostile runs in the app beside a sound one: no request ends in a fault, and the sound run stays in the list.

A stranger's run has a damaged ledger, a page or a plan that is anything, odd names, links that leave it, or a part
that is not one.
"""

import asyncio
import functools
import json
import random
import shutil
import tempfile
from pathlib import Path

import aiohttp
import numpy as np

from helpers.damage import damage
from helpers.mutations import MUTATIONS
from helpers.small_run import small_run
from report.simulated_report import document
from report.test_view import served
from richter.audit import label_page
from richter.report import RunsApp, write_report
from richter.store import open_ledger

PATHS = (
    "/api/runs", "/api/runs/1/evidence", "/api/runs/1/item?item=q0", "/runs/1/report", "/runs/1/export/answers.csv",
    "/runs/1/rate/api/next", "/api/runs/0/evidence",
)  # fmt: skip
SUMMARIES = (
    "[" * 4000 + "]" * 4000, '{"rates": {"a": 1e999}}', '{"rates": 3, "answer": [1]}', "{", "null", "0" * 10_000,
    '{"answer": "\u202e"}', '{"rates": {"' + "x" * 100_000 + '": 1}}', '{"answer": {"verdict": {}}}',
)  # fmt: skip
NOTES = ("bench", "import", "judging", "rating sample", "served", "stopping", "about")
VALUES = (None, [], {}, "x", 3, {"a": {"b": []}}, [1, "2"], {"judges": 3}, {"strata": [["q0"]]}, {"path": 4}, "\u202e")


@functools.cache
def sources() -> tuple[Path, bytes]:
    """A sound run, and its page."""
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    run = small_run(folder / "sound", np.random.default_rng(0), n=12)
    write_report(document(), None, folder / "page.html")
    return run, (folder / "page.html").read_bytes()


def spoil_ledger(run: Path, rng: random.Random) -> None:
    shutil.rmtree(run)
    damage(sources()[0], run, rng)


def spoil_page(run: Path, rng: random.Random) -> None:
    page = sources()[1]
    if rng.random() < 0.5:
        summary = rng.choice(SUMMARIES).replace('"', "&quot;")
        page = f'<meta name="richter-summary" content="{summary}">'.encode() + page
    else:
        page = rng.choice(MUTATIONS)(page, rng)
    (run / "report.html").write_bytes(page)


def spoil_plan(run: Path, rng: random.Random) -> None:
    for name in ("plan.toml", "plan.toml.lock", "scores.csv"):
        if rng.random() < 0.5:
            body = rng.choice((b"\xff\xfe", b"[" * 50_000, b"kind = 3", b"{}", b"", b'kind = "gate"\nlevel = nan\n'))
            (run / name).write_bytes(body)


def spoil_notes(run: Path, rng: random.Random) -> None:
    with open_ledger(run, mode="write") as ledger:
        for name in rng.sample(NOTES, 2):
            ledger.set_note(name, rng.choice(VALUES))


def spoil_links(run: Path, rng: random.Random) -> None:
    name = rng.choice(("report.html", "scores.csv", "plan.toml", "draws", "search", "ledger.sqlite"))
    shutil.rmtree(run / name, ignore_errors=True)
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(rng.choice(("/etc/passwd", "/etc", "..", "nowhere", name)))


def spoil_parts(run: Path, rng: random.Random) -> None:
    part = run / rng.choice(("draws", "search", "\u202edraws", "x" * 200))
    part.mkdir()
    (part / "ledger.sqlite").write_bytes(rng.choice((b"", b"SQLite format 3\0" + bytes(100), rng.randbytes(4096))))


SPOILERS = (spoil_ledger, spoil_page, spoil_plan, spoil_notes, spoil_links, spoil_parts)


async def ask_all(base: str, token: str) -> list[tuple[str, int, bytes]]:
    """What the app answers on each path."""
    found = []
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as client:
        async with client.get(f"{base}/?token={token}") as entered:
            await entered.read()
        for path in PATHS:
            async with client.get(base + path, allow_redirects=False) as answered:
                found.append((path, answered.status, await answered.read()))
    return found


def attempt(k: int) -> str:
    rng, spoil = random.Random(k), SPOILERS[k % len(SPOILERS)]
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    kind = spoil.__name__.removeprefix("spoil_")
    try:
        shutil.copytree(sources()[0], folder / "sound")
        shutil.copytree(sources()[0], folder / "stranger")
        spoil(folder / "stranger", rng)
        app = RunsApp([str(folder / "sound"), str(folder / "stranger")], measure=lambda _: document(),
                      rating=label_page)  # fmt: skip
        with served(app) as base:
            answers = asyncio.run(ask_all(base, app.guard.token))
        if faults := [f"{path} {status}" for path, status, _ in answers if status >= 500]:
            return f"{kind}: FAULT at {faults[0]}"
        if any(b"root:x:0" in body for _, _, body in answers):
            return f"{kind}: A FILE OF THE MACHINE"
        rows = json.loads(answers[0][2])
        listed = rows["runs"] if isinstance(rows, dict) else rows
        sound = [row for row in listed if str(row.get("name", "")).endswith("sound") and not row.get("error")]
        return f"{kind}: answered" if sound else f"{kind}: HIDES ANOTHER RUN"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
