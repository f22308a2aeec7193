"""What the results document of a run is made of; its JSON schema comes from these types."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from richter.records import Better, Claim, Decoding, Interval, Result, Style, Verdict

__all__ = ["stored_results"]

SCHEMA = "richter/results"
DRAWS_NAME = "draws.jsonl"
JUDGING_NOTE = "judging"  # what a run's ledger keeps of its judges
STOP_NOTE = "stopping"  # ... and of a claim that ended its asking


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Missing(Result):
    """Why something cannot be had, and which command would get it."""

    reason: str
    remedy: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NoSection(Result):
    """A section that cannot be had."""

    missing: Missing


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Estimated(Result):
    """An estimate with its interval."""

    estimate: float
    interval: Interval | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Result):
    """A figure of one condition, `what` it is, and the `mean` severity beside a rate of severities.

    Where people's `labels` correct it, `graded` is the figure as it was graded. `scale` holds the ends of the scale of
    a score, and `better` which of them is good; beside a calibration error `sure` is the mean confidence, `right` the
    share of right answers and `drawn` the name of the draws that it is of, where they have settings of their own.
    """

    always: ClassVar = ("estimate", "interval", "n", "what")

    estimate: float
    interval: Interval | None
    n: int
    what: str
    graded: Estimated | None = None
    mean: "Figure | None" = None
    scale: tuple[float, float] | None = None
    better: Better | None = None
    sure: float | None = None
    right: float | None = None
    labels: int = 0
    drawn: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Group(Result):
    """The error rate of a domain, a tier, or of two attributes together."""

    group: str
    kind: Literal["domain", "tier", "pattern"]
    error_rate: float
    interval: Interval
    n: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Spending(Result):
    """What the calls of a condition cost; money is None where no answer has a price."""

    calls: int
    tokens: int
    money_usd: float | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConditionResults(Result):
    """The numbers that matter for a condition; what cannot be had is None, never 0.

    `how_often` is the error rate, `how_badly` the rate of severity 3 and above, `scored` the mean of a score that is
    not right or wrong, `knows` the debiased calibration error, `where` it fails most, by the interval's lower end.
    `measures` holds the mean of every measure that answers have values of, the main one first.
    """

    name: str
    model: str
    decoding: Decoding
    system: str
    style: Style
    items: int
    answered: int
    failed: int
    refused: int
    rated: int
    simulated: bool
    spent: Spending
    how_often: Figure | None
    how_badly: Figure | None
    scored: Figure | None
    knows: Figure | None
    where: tuple[Group, ...]
    measures: Mapping[str, Figure]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PageClaim(Result):
    """A claim with its section and on which side it is for the reader."""

    flat: ClassVar = ("claim",)

    claim: Claim
    section: str
    side: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Check(Result):
    """What was checked of the run itself; `passed` is None where a check could not be made."""

    name: str
    passed: bool | None
    text: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bound(Result):
    """The exact one-sided upper limit on a condition's rate of catastrophic answers."""

    condition: str
    what: str
    seen: int
    n: int
    upper: float
    level: float
    basis: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Signature(Result):
    """The requirement, the bound that the data carry, on whose ratings it rests, and of which questions it speaks."""

    requirement: str | None
    verdicts: tuple[Verdict, ...]
    bound: str | None
    bounds: tuple[Bound, ...]
    basis: str
    population: str
    plan_hash: str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts(Result):
    """The run itself; `ratings` says whose severities count, None: nobody's. Times are of the first and last answer.

    `lost` says which of its records are missing or may be.
    """

    name: str
    bench: str
    items: int
    started_at: str | None
    ended_at: str | None
    state: Literal["complete", "in progress", "empty"]
    lost: str
    ratings: Literal["given", "human", "rule", "judge", "grader"] | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts(Result):
    """The plan that held, and where it stands."""

    hash: str
    locked_at: str | None
    fields: Mapping[str, Any]
    kind: str
    state: str
    vouched: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Methods(Result):
    """With what the document was made."""

    plan: PlanFacts | None
    seed: int
    level: float
    margins: Mapping[str, float]
    vouched: Mapping[str, str | bool | int | tuple[str, ...]]
    n_resamples: int
    versions: Mapping[str, str]
    spent: Mapping[str, float | None]
    exploratory: bool


def stored_results(path: str | Path) -> dict[str, Any] | None:
    """The results document in a file, None where the file is none."""
    path = Path(path)
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and document.get("schema") == SCHEMA else None
