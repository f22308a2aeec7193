"""A claim, its evidence and its verdict."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from richter.records._picture import Mark, picture
from richter.records._plain import Result, plain

__all__ = ["Finding", "Gate", "Interval", "Verdict"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Result):
    """An interval at a confidence `level` and the `method` that made it."""

    low: float
    high: float
    level: float
    method: str

    @property
    def half_width(self) -> float:
        """Half of the interval's length."""
        return (self.high - self.low) / 2

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


class Verdict(enum.StrEnum):
    """How a claim leaves the audit."""

    VERIFIED = "verified"
    REFUTED = "refuted"  # shown false
    EQUIVALENT = "equivalent"  # within the stated margin
    UNDECIDED = "undecided"  # too little data; the finding says how much would do
    BLOCKED = "blocked"  # a gate failed; `blocked_by` names it
    UNTESTABLE = "untestable"  # no labels, no reference, or the wrong kind of data


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Gate(Result):
    """One pre-registered check: its rule, what was observed, and whether it passed (None: could not be run)."""

    name: str
    rule: str
    passed: bool | None
    n: int | None = None
    observed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    detail: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim with a direction, what supports it, and its verdict. Prints as a sentence first.

    `sentence` states the outcome in words and must agree in sign with `estimate`; `needed` is the total n that
    would settle an undecided claim; `blocked_by` names the first failed gate. `floor` is the theory's rough figure of
    what this n can show, printed beside; `interval` is measured and decides, also where the estimate is below it.
    """

    claim: str
    verdict: Verdict
    sentence: str
    estimate: float | None = None
    interval: Interval | None = None
    n: int | None = None
    floor: float | None = None
    needed: int | None = None
    gates: tuple[Gate, ...] = ()
    blocked_by: str | None = None
    exploratory: bool = True
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.BLOCKED) != (self.blocked_by is not None):
            raise ValueError("a finding names `blocked_by` exactly when its verdict is blocked")

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Plain values; gates by name."""
        row = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        row["gates"] = {g.name: g.to_dict() for g in self.gates}
        row["notes"] = list(self.notes)
        return {k: plain(v) for k, v in row.items()}

    def _repr_html_(self) -> str:
        marks = []
        if self.estimate is not None:
            marks = [Mark(panel=self.claim, label=self.verdict.value, estimate=self.estimate, interval=self.interval)]
        return picture([self.sentence], marks)
