"""Claims that can be decided while asking: their grammar, and their verdict at any moment."""

import dataclasses
import re
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError
from richter.floors._sequences import Sequence, difference_sequence, ece_sequence, mean_sequence, rate_sequence
from richter.records import Interval, Shown, Verdict, jsonable

__all__ = ["CLAIM_GRAMMAR", "Claim", "Decision", "decide_claim", "parse_claim"]

CATASTROPHIC = 3.0
WORST = 4.0

CLAIM_GRAMMAR = (
    "Write METRIC < NUMBER or METRIC > NUMBER, with METRIC error_rate, accuracy, ece, mean_severity, "
    "catastrophic_rate or severity_at_least(S), optionally METRIC(CONDITION); or 'A better than B', "
    "'A better than B by 2pt'."
)

Metric = Literal["error_rate", "accuracy", "ece", "mean_severity", "severity_at_least", "better"]

_COMPARED = re.compile(r"^(?P<a>.+?)\s+(?:is\s+)?better\s+than\s+(?P<b>.+?)(?:\s+by\s+(?P<by>[^\s]+))?$", re.IGNORECASE)
_BOUNDED = re.compile(
    r"^(?P<metric>[a-z_]+)(?:\((?P<inside>[^()]*)\))?(?:\((?P<condition>[^()]*)\))?\s*(?P<sign><=|>=|<|>)\s*"
    r"(?P<value>[^\s]+)$",
    re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim with a threshold: a metric of one condition below or above it, or one condition better than another.

    `better` is about accuracy: `condition` minus `other` is above `threshold`. An empty `condition` means the only
    one there is. `severity` is the limit of `severity_at_least`.
    """

    text: str
    metric: Metric
    below: bool
    threshold: float
    condition: str = ""
    other: str = ""
    severity: float | None = None

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions it names."""
        return tuple(c for c in (self.condition, self.other) if c)


def _number(text: str) -> float:
    """0.05, 5% or 2pt."""
    scale, digits = 1.0, text.strip().lower()
    for suffix in ("points", "point", "pts", "pt", "%"):
        if digits.endswith(suffix):
            scale, digits = 0.01, digits.removesuffix(suffix)
            break
    try:
        return float(digits) * scale
    except ValueError as error:
        raise InputError(f"{text!r} is not a number.", remedy=CLAIM_GRAMMAR) from error


def parse_claim(text: str) -> Claim:
    """Read a claim such as `error_rate < 0.05`, `ece(gpt) < 0.1`, `A better than B by 2pt`."""
    stripped = text.strip()
    compared = _COMPARED.match(stripped)
    if compared:
        by = _number(compared["by"]) if compared["by"] else 0.0
        if not 0 <= by < 1:
            raise InputError(f"A gap of {by:g} is not in [0, 1).", remedy="Write 2pt or 0.02.")
        if compared["a"] == compared["b"]:
            raise InputError(f"{text!r} compares a condition with itself.", remedy=CLAIM_GRAMMAR)
        return Claim(
            text=stripped, metric="better", below=False, threshold=by, condition=compared["a"], other=compared["b"]
        )
    bounded = _BOUNDED.match(stripped)
    if not bounded:
        raise InputError(f"{text!r} is not a claim.", remedy=CLAIM_GRAMMAR)
    name, inside, condition = bounded["metric"].lower(), bounded["inside"], bounded["condition"]
    severity = None
    if name == "catastrophic_rate":
        name, severity = "severity_at_least", CATASTROPHIC
    elif name == "severity_at_least":
        if not inside:
            raise InputError(f"{text!r} names no severity.", remedy="Write severity_at_least(3) < 0.01.")
        severity, inside = _number(inside), None
    metrics: dict[str, Metric] = {m: m for m in ("error_rate", "accuracy", "ece", "mean_severity", "severity_at_least")}
    if name not in metrics:
        raise InputError(f"{name!r} is not a metric.", remedy=CLAIM_GRAMMAR)
    threshold = _number(bounded["value"])
    most = WORST if name == "mean_severity" else 1.0
    if not 0 < threshold < most:
        raise InputError(f"A limit of {threshold:g} for {name} is not in (0, {most:g}).", remedy=CLAIM_GRAMMAR)
    return Claim(
        text=stripped,
        metric=metrics[name],
        below=bounded["sign"].startswith("<"),
        threshold=threshold,
        condition=(condition or inside or "").strip(),
        severity=severity,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Shown):
    """Where a claim stands after n labels. Looking after every label is allowed: the limits hold at all times."""

    claim: Claim
    verdict: Verdict
    sentence: str
    estimate: float | None
    interval: Interval | None
    n: int

    @property
    def decided(self) -> bool:
        """Whether asking may stop."""
        return self.verdict in (Verdict.VERIFIED, Verdict.REFUTED)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "claim": self.claim.text,
            "verdict": self.verdict.value,
            "sentence": self.sentence,
            "estimate": self.estimate,
            "interval": jsonable(self.interval),
            "n": self.n,
        }


def _sequence(claim: Claim, first: ArrayLike, second: ArrayLike | None, level: float) -> Sequence:
    if claim.metric == "better":
        return difference_sequence(np.asarray(second), np.asarray(first), level=level)
    if claim.metric == "ece":
        return ece_sequence(np.asarray(second), np.asarray(first), level=level)
    values = np.asarray(first, dtype=np.float64)
    if claim.metric == "error_rate":
        return rate_sequence(1 - values, level=level)
    if claim.metric == "accuracy":
        return rate_sequence(values, level=level)
    if claim.severity is not None:
        return rate_sequence((values >= claim.severity).astype(np.float64), level=level)
    return mean_sequence(values, low=0.0, high=WORST, level=level)


def decide_claim(claim: Claim, first: ArrayLike, second: ArrayLike | None = None, *, level: float = 0.95) -> Decision:
    """The claim's verdict from the labels so far, in the order they came.

    `first` are grades (1 right, 0 wrong), or severities for severity metrics; `second` the other condition's grades
    for `better`, the confidences for `ece`. Verified or refuted at any-time valid level: however often one looks,
    a wrong verdict has probability at most 1 - level. A limit that has reached the
    threshold decides: limits are points already rejected.
    """
    values = np.asarray(first, dtype=np.float64)
    if len(values) == 0:
        return Decision(
            claim=claim,
            verdict=Verdict.UNDECIDED,
            sentence=f"{claim.text}: undecided, nothing was graded yet.",
            estimate=None,
            interval=None,
            n=0,
        )
    sequence = _sequence(claim, values, second, level)
    interval = sequence.interval
    above, under = interval.low >= claim.threshold, interval.high <= claim.threshold
    verdict = Verdict.UNDECIDED
    if above != under:  # both only where the sequence has emptied, which happens with probability below alpha
        verdict = Verdict.VERIFIED if under == claim.below else Verdict.REFUTED
    estimate = float(sequence.estimate[-1])
    span = f"{estimate:.4g} [{interval.low:.4g}, {interval.high:.4g}] after {sequence.n:,} items"
    return Decision(
        claim=claim,
        verdict=verdict,
        sentence=f"{claim.text}: {verdict.value}, {span} (holds at every look, {100 * level:g}%).",
        estimate=estimate,
        interval=interval,
        n=sequence.n,
    )
