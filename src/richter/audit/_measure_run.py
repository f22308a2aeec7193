"""What a run holds, read once: the records behind every section of its results."""

import dataclasses
import datetime
import math
import shlex
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl

from richter.audit._judging import NOTE, scores_of
from richter.audit._plan import CLOCKS_AGREE_S, Plan, PlanStatus, check_plan, clocks_disagree, read_plan
from richter.audit._sequential import STOP_NOTE
from richter.bench import is_refusal
from richter.interop import RatingsFile
from richter.records import Answer, Condition, Item, Rating
from richter.sampling import split_confidence, token_probability
from richter.store import (
    Place,
    RunLike,
    Spent,
    find_parts,
    kept_at,
    open_ledger,
    run_file,
    run_folder,
    run_place,
)

__all__ = ["Asked", "RunRecords", "read_run", "run_plan"]

Basis = Literal["human", "rule", "judge", "grader"]
BASES: dict[Basis, str] = {"human": "people", "rule": "rules", "judge": "judges", "grader": "graders"}
PLAN_NAME = "plan.toml"


@dataclasses.dataclass(slots=True, kw_only=True)
class Asked:
    """What came of asking one condition (draw 0), and what all its calls cost."""

    answered: int = 0
    failed: int = 0
    refused: int = 0
    calls: int = 0
    tokens: int = 0
    money_usd: float = 0.0
    unpriced: int = 0
    stated: dict[str, float] = dataclasses.field(default_factory=dict)  # item -> confidence
    token: dict[str, float] = dataclasses.field(default_factory=dict)
    errors: dict[str, str] = dataclasses.field(default_factory=dict)  # item -> why the call failed

    def add(self, answer: Answer) -> None:
        """Take one answer into account."""
        self.calls += 1
        self.tokens += (answer.tokens_in or 0) + (answer.tokens_out or 0)
        self.money_usd += answer.money_usd or 0.0
        self.unpriced += answer.money_usd is None and not answer.error
        if answer.draw > 0:
            return
        if answer.error:
            self.failed += 1
            self.errors[answer.item] = answer.error
            return
        self.answered += 1
        self.refused += is_refusal(answer.text)
        if "onfidence" in answer.text:
            stated = split_confidence(answer.text)[1]
            if stated is not None:
                self.stated[answer.item] = stated
        token = token_probability(answer.text, answer.tokens, answer.logprobs)
        if token is not None:
            self.token[answer.item] = token

    @property
    def confidence(self) -> tuple[dict[str, float], str]:
        """The confidence that most answers have, and what it is: stated, else the tokens' probability."""
        if self.stated and len(self.stated) >= self.answered / 2:
            return self.stated, "stated confidence"
        return (self.token, "token probability") if self.token else (self.stated, "stated confidence")

    def spent(self) -> dict[str, Any]:
        """Plain values; money is None where no answer has a price."""
        unknown = self.answered and self.unpriced >= self.answered
        return {"calls": self.calls, "tokens": self.tokens, "money_usd": None if unknown else self.money_usd}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunRecords:
    """A run's records, and which kind of rating speaks for it.

    `scores` is its scores table by the ratings of the kind `basis` (None: nothing is rated), `rated` how many answers
    each kind of rating covers, `parts` its draws and searches, `clock_ahead_s` how far the ledger's clock is ahead.
    Without ratings the grades of a log or of graders speak (`basis` "grader"): `graded` says who was right, and no
    answer has a severity.
    """

    place: Place
    parts: Mapping[str, Place]
    state: Literal["complete", "in progress", "empty"]
    bench: str
    items: Mapping[str, Item]
    conditions: tuple[Condition, ...]
    asked: Mapping[str, Asked]
    ratings: tuple[Rating, ...]
    notes: Mapping[str, Mapping[str, Any]]
    basis: Basis | None
    rated: Mapping[Basis, int]
    scores: pl.DataFrame
    graded: Mapping[tuple[str, str], bool]  # (item, condition) at draw 0 -> right
    times: tuple[float, float] | None
    clock_ahead_s: float
    spent: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return run_folder(self.place)

    @property
    def names(self) -> list[str]:
        """The conditions' names."""
        return [c.name for c in self.conditions]

    @property
    def name(self) -> str:
        """The folder's own name; its path is not part of any result."""
        return self.folder.resolve().name

    @property
    def command(self) -> str:
        """The run as one writes it in a command; of a database's address only what is no secret anywhere."""
        if isinstance(self.place, Path):
            return shlex.quote(self.name)
        return shlex.quote(f"postgresql:///{self.place.database}#{self.place.name}")

    def ratings_file(self) -> RatingsFile:
        """All ratings with the items' domains and the strata in which answers were drawn for people."""
        drawn = self.notes["rating sample"].get("strata", [])
        return RatingsFile(
            ratings=self.ratings,
            domains={item.id: item.domain for item in self.items.values() if item.domain},
            strata={(item, condition, int(draw)): stratum for item, condition, draw, stratum in drawn},
        )

    def moment(self, which: int) -> str | None:
        """When the first (0) or last (1) answer came, as ISO text."""
        if self.times is None:
            return None
        return datetime.datetime.fromtimestamp(self.times[which], datetime.UTC).isoformat(timespec="seconds")


def read_run(run: RunLike) -> RunRecords:
    """Read a run. Nothing is asked and nothing is written."""
    place = run_place(run)
    parts = find_parts(place)
    with open_ledger(run) as ledger:
        writing = ledger.being_written()
        # what refers to something is read before it, so that a run in progress has every item that a rating names
        ratings = tuple(ledger.ratings())
        graded = {(g.item, g.condition): g.correct for g in ledger.grades() if g.main and g.draw == 0}
        asked: dict[str, Asked] = defaultdict(Asked)
        for answer in ledger.answers():
            asked[answer.condition].add(answer)
        items = {item.id: item for item in ledger.items()}
        conditions = tuple(ledger.conditions())
        notes = {name: ledger.note(name) or {} for name in ("bench", NOTE, "rating sample", "search", STOP_NOTE)}
        times = ledger.times()
        spent = [ledger.spent()]
        clock_ahead_s = ledger.clock_ahead_s()
    for part in parts.values():
        with open_ledger(part) as ledger:
            spent.append(ledger.spent())
    answered = any(a.answered or a.failed for a in asked.values())
    basis, rated = _basis(ratings)
    right = {key: correct for key, correct in graded.items() if correct is not None}
    scores = pl.DataFrame(schema={"item": pl.String, "condition": pl.String, "severity": pl.Float64})
    if basis is not None:
        chosen = [r for r in ratings if r.kind == basis and r.draw == 0]
        rows = scores_of(chosen, items, {c.name: c for c in conditions}, notes[NOTE])
        scores = pl.DataFrame(rows, infer_schema_length=None) if rows else scores
    return RunRecords(
        place=place,
        parts=parts,
        state="in progress" if writing else "complete" if answered else "empty",
        bench=str(notes["bench"].get("path", "")),
        items=items,
        conditions=tuple(c for c in conditions if asked[c.name].calls or not answered),
        asked=asked,
        ratings=ratings,
        notes=notes,
        basis=basis if len(scores) else "grader" if right else None,
        rated=rated if len(scores) or not right else {**rated, "grader": len(right)},
        scores=scores,
        graded={} if len(scores) else right,
        times=times,
        clock_ahead_s=clock_ahead_s,
        spent=_sum(spent),
    )


def _sum(parts: list[Spent]) -> dict[str, Any]:
    """What the run's ledgers cost together; money is None where no answer has a price."""
    names = ("calls", "answers", "tokens", "unpriced")
    total: dict[str, Any] = {name: sum(getattr(p, name) for p in parts) for name in names}
    priced = total["answers"] == 0 or total["unpriced"] < total["answers"]
    return {**total, "money_usd": math.fsum(p.money_usd for p in parts) if priced else None}


def _basis(ratings: tuple[Rating, ...]) -> tuple[Basis | None, dict[Basis, int]]:
    """The kind of rating that covers most answers; kinds never mix. Of equals people, then rules, then judges."""
    seen: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for r in ratings:
        if r.severity is not None and r.draw == 0:
            seen[r.kind].add((r.item, r.condition))
    counts: dict[Basis, int] = {kind: len(seen[kind]) for kind in BASES if kind in seen}
    best = max(counts, key=lambda kind: counts[kind], default=None)
    return best, counts


def run_plan(records: RunRecords, path: str | Path | None) -> tuple[Plan | None, PlanStatus | None]:
    """The run's plan (as given, else its plan.toml) and where it stands.

    It is confirmatory when it was locked before the first answer came and is unchanged since: that can be told from
    the lock and the ledger alone, so nothing is written here. A database that was given the locked plan before the
    first answer came vouches for it by its own clock; else this machine's clock must agree with the database's.
    """
    adopted = None
    if path is None:
        own = run_file(records.place, PLAN_NAME)
        if own is None:
            return None, None
        run_file(records.place, f"{PLAN_NAME}.lock")
        path, adopted = own, kept_at(records.place, f"{PLAN_NAME}.lock")
    plan, status = read_plan(path), check_plan(path)
    if status.locked_at is not None and records.times is not None and (adopted is None or adopted > records.times[0]):
        why = []
        if datetime.datetime.fromisoformat(status.locked_at).timestamp() > records.times[0]:
            why.append(f"the plan was locked on {status.locked_at}, after the first answer came ({records.moment(0)})")
        if abs(records.clock_ahead_s) > CLOCKS_AGREE_S:
            why.append(clocks_disagree(records.clock_ahead_s))
        if why:
            status = dataclasses.replace(status, confirmatory=False, reasons=(*status.reasons, *why))
    return plan, status
