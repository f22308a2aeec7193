"""What a claim is made of: its interval, its gates and its verdict."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from richter.records._plain import Result

__all__ = ["Gate", "Interval", "Verdict"]


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
