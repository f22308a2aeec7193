"""Let clocks step while stages of an audit write: 200 sequences leave every record readable, and a change named.

A sequence is two to four processes that write in turn, each what a stage writes (asking, grading, judging, stating
confidences, searching, labelling), while the clock steps back, forward, stands, jumps, or differs between machines.
"""

import itertools
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

from richter.records import Answer, Condition, Confidence, Grade, Item, Rating
from richter.store import LEDGER_NAME, Call, Ledger, _sqlite, check_integrity, open_ledger
from richter.tables import read_tables

CLOCKS: dict[str, Callable[[random.Random, int], float]] = {
    "steps back": lambda rng, commit: 1.8e9 - 3600.0 * commit,
    "steps forward": lambda rng, commit: 1.8e9 + 1e7 * commit,
    "stands still": lambda rng, commit: 1.8e9,
    "jumps about": lambda rng, commit: 1.8e9 + rng.uniform(-1e8, 1e8),
    "differs between machines": lambda rng, commit: 1.8e9 + commit + (-1e6 if commit // 5 % 2 else 1e6),
}
CONDITIONS, ITEMS = ("old", "new"), 12


def ask(ledger: Ledger, rng: random.Random) -> None:
    for i in rng.sample(range(ITEMS), 6):
        for c in CONDITIONS:
            answer = Answer(text=f"{i}", item=f"q{i}", condition=c, money_usd=0.01)
            ledger.add_calls([Call(key=f"{i:032x}{c}", model=f"openai/{c}", request="{}", answer=answer)])


def grade(ledger: Ledger, rng: random.Random) -> None:
    right = {(f"q{i}", c): rng.random() < 0.5 for i in range(ITEMS) for c in CONDITIONS}
    ledger.add_grades(
        Grade(item=item, condition=c, draw=0, scorer="s", value=float(is_right), correct=is_right, main=True)
        for (item, c), is_right in right.items()
    )


def judge(ledger: Ledger, rng: random.Random) -> None:
    for rater in ("one", "two"):
        ledger.add_ratings(
            Rating(item=f"q{i}", condition=c, draw=0, rater=rater, kind="judge", severity=rng.choice([0.0, 1.0, 3.5]))
            for i in range(ITEMS) for c in CONDITIONS
        )  # fmt: skip


def state_confidence(ledger: Ledger, rng: random.Random) -> None:
    ledger.add_confidences(Confidence(item=f"q{i}", condition="new", draw=0, source="stated", value=rng.random())
                           for i in range(ITEMS))  # fmt: skip


def label(ledger: Ledger, rng: random.Random) -> None:
    rating = Rating(item=f"q{rng.randrange(ITEMS)}", condition="new", draw=0, rater="me", kind="human",
                    severity=rng.choice([0.0, 2.0]))  # fmt: skip
    ledger.add_ratings([rating])
    ledger.set_note("about", {"step": rng.random()})


STAGES = (ask, grade, judge, state_confidence, label)


def attempt(k: int) -> str:
    rng, commits = random.Random(k), itertools.count()
    clock = list(CLOCKS)[k % len(CLOCKS)]
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    usual, _sqlite.read_clock = _sqlite.read_clock, lambda: CLOCKS[clock](rng, next(commits))
    try:
        run = folder / "run"
        for _ in range(rng.randint(2, 4)):
            with open_ledger(run, mode="write") as ledger:
                ledger.add_items([Item(id=f"q{i}", prompt=f"What is {i}?", reference=str(i)) for i in range(ITEMS)])
                ledger.add_conditions([Condition(name=c, model=f"openai/{c}") for c in CONDITIONS])
                ask(ledger, rng)
                for stage in rng.choices(STAGES, k=rng.randint(1, 6)):
                    stage(ledger, rng)
        return f"{clock}: {_ending(run)}"
    finally:
        _sqlite.read_clock = usual
        shutil.rmtree(folder)


def _ending(run: Path) -> str:
    """Whether the run is whole and readable, and a change in it is named."""
    if not check_integrity(run).sound:
        return "LOCKED AWAY"
    with open_ledger(run) as ledger:
        answers = len(list(ledger.answers()))
    if read_tables(run).answers["text"].count() != answers:
        return "ANSWERS LOST"
    with sqlite3.connect(run / LEDGER_NAME) as db:
        db.execute("UPDATE calls SET request = 'another' WHERE key = (SELECT min(key) FROM calls)")
    db.close()
    return "SILENT CHANGE" if check_integrity(run).sound else "whole, and a change is named"
