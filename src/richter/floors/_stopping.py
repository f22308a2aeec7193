"""Claims that can be decided while asking: their grammar, and their verdict at any moment."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError
from richter.floors._sequences import Sequence, ece_sequence, mean_sequence, rate_sequence
from richter.records import Claim, Family, Hypothesis, Verdict
from richter.stats import Floats, Indices

__all__ = ["CLAIM_GRAMMAR", "StopRule", "decide_claim", "parse_claim"]


CATASTROPHIC = 3.0
WORST = 4.0

CLAIM_GRAMMAR = (
    "Write METRIC < NUMBER or METRIC > NUMBER, with METRIC error_rate, accuracy, mean_score, ece, mean_severity, "
    "severity_given_error, catastrophic_rate, severity_at_least(S), refusal_rate or failure_rate, optionally "
    "METRIC(CONDITION); or 'A better than B', 'A better than B by 2pt'."
)

Metric = Literal[
    "error_rate",
    "accuracy",
    "mean_score",
    "ece",
    "mean_severity",
    "severity_given_error",
    "severity_at_least",
    "refusal_rate",
    "failure_rate",
    "better",
]
# Limits that hold at every look need values with a known range, or a law; these have neither.
NO_SEQUENCE = {
    "tokens": "has no largest value",
    "latency": "has no largest value",
    "money": "has no largest value",
    "b": "is fitted to all severities at once",
    "sem_ece": "is computed from all draws at once",
}

OUTSIDE = "the running estimate has left the interval"

_COMPARED = re.compile(r"^(?P<a>.+?)\s+(?:is\s+)?better\s+than\s+(?P<b>.+?)(?:\s+by\s+(?P<by>[^\s]+))?$", re.IGNORECASE)
_BOUNDED = re.compile(
    r"^(?P<metric>[a-z_]+)(?:\((?P<inside>[^()]*)\))?(?:\((?P<condition>[^()]*)\))?\s*(?P<sign><=|>=|<|>)\s*"
    r"(?P<value>[^\s]+)$",
    re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """What asking is to settle: a metric of one condition below or above a threshold, or one condition better.

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


def parse_claim(text: str) -> StopRule:
    """Read a claim such as `error_rate < 0.05`, `ece(gpt) < 0.1`, `A better than B by 2pt`."""
    stripped = text.strip()
    compared = _COMPARED.match(stripped)
    if compared:
        by = _number(compared["by"]) if compared["by"] else 0.0
        if not 0 <= by < 1:
            raise InputError(f"A gap of {by:g} is not in [0, 1).", remedy="Write 2pt or 0.02.")
        if compared["a"] == compared["b"]:
            raise InputError(f"{text!r} compares a condition with itself.", remedy=CLAIM_GRAMMAR)
        return StopRule(
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
    metrics: dict[str, Metric] = {m: m for m in get_args(Metric) if m != "better"}
    if name in NO_SEQUENCE:
        raise InputError(
            f"{name} {NO_SEQUENCE[name]}: no limits on it hold at every look, so asking cannot stop on it.",
            remedy=f"Ask a number of items fixed beforehand (`richter size`). {CLAIM_GRAMMAR}",
        )
    if name not in metrics:
        raise InputError(f"{name!r} is not a metric.", remedy=CLAIM_GRAMMAR)
    threshold = _number(bounded["value"])
    most = WORST if name in ("mean_severity", "severity_given_error") else 1.0
    if not 0 < threshold < most:
        raise InputError(f"A limit of {threshold:g} for {name} is not in (0, {most:g}).", remedy=CLAIM_GRAMMAR)
    return StopRule(
        text=stripped,
        metric=metrics[name],
        below=bounded["sign"].startswith("<"),
        threshold=threshold,
        condition=(condition or inside or "").strip(),
        severity=severity,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Units:
    """Which rows are one unit, what a row counts for in it, and the most that a unit may count for."""

    unit: Indices
    weight: Floats
    top: float

    def total(self, values: Floats) -> Floats:
        """What each unit brings: its rows' values, weighted."""
        found: Floats = np.bincount(self.unit, weights=self.weight * values).astype(np.float64)
        return np.round(found, 12)  # thirds of 1 add up to 1


def _units(n: int, item: ArrayLike | None, group: ArrayLike | None, sizes: Mapping[str, int] | None) -> _Units:
    """Units in the order in which they came: the item, its draws sharing 1; with groups the group.

    A group counts for its number of items over the mean number in `sizes` (all groups there are, whose sizes are known
    before anything is asked), so that the mean over groups is the mean over items.
    """
    place = np.arange(n) if item is None else _in_order(item, n, "Draws of one item")
    weight = 1 / np.bincount(place)[place] if n else np.zeros(0)
    if group is None:
        return _Units(place, weight, 1.0)
    names = np.asarray(group).astype(str)
    unit = _in_order(names, n, "Items of one group")
    first = np.flatnonzero(np.diff(unit, prepend=-1))
    asked = np.bincount(unit, weights=weight)
    held = dict(zip(names[first], asked, strict=True)) if sizes is None else sizes
    mean = sum(held.values()) / len(held)
    share = np.array([held[name] for name in names[first]]) / mean
    return _Units(unit, weight * (share / asked)[unit], round(max(held.values()) / mean, 12))


def _sequence(claim: StopRule, first: Floats, second: Floats | None, units: _Units, level: float) -> Sequence:
    """The claim's sequence by unit."""
    top = units.top
    if claim.metric == "ece":
        assert second is not None
        rows = np.bincount(units.unit)[units.unit]
        return ece_sequence(second, first, item=units.unit, weight=units.weight * rows / top, top=top, level=level)
    values = first
    if claim.metric == "error_rate":
        values = 1 - first
    elif claim.severity is not None:
        values = (first >= claim.severity).astype(np.float64)
    elif claim.metric == "severity_given_error":  # every error counts alike, however many its unit has
        wrong = first > 0
        unit, weight = np.unique(units.unit[wrong], return_inverse=True)[1], units.weight[wrong] / top
        if not len(unit):
            raise InputError("No answer is wrong yet.", remedy="Ask more.")
        graded, counts = (np.round(np.bincount(unit, weights=w), 12) for w in (weight * first[wrong], weight))
        return mean_sequence(np.minimum(graded, WORST * counts), counts=counts, high=WORST, level=level)
    values = units.total(values)
    if claim.metric == "better":
        assert second is not None
        return mean_sequence(values - units.total(second), low=-top, high=top, level=level)
    if claim.metric == "mean_severity":
        return mean_sequence(values, low=0.0, high=WORST * top, level=level)
    if claim.metric == "mean_score" or top > 1 or not np.isin(values, (0.0, 1.0)).all():
        return mean_sequence(values, high=top, level=level)
    return rate_sequence(values, level=level)


def decide_claim(
    claim: StopRule,
    first: ArrayLike,
    second: ArrayLike | None = None,
    *,
    item: ArrayLike | None = None,
    group: ArrayLike | None = None,
    sizes: Mapping[str, int] | None = None,
    level: float = 0.95,
) -> Claim:
    """The claim's verdict from the labels so far, in the order they came.

    `first` are grades (1 right, 0 wrong), scores, or severities for severity metrics; 1 for a refusal or a failed
    call where the claim is on those; `second` the other condition's grades for `better`, the confidences for `ece`.
    `item` names the item of each where one has several draws: they arrive together and count as one, by their mean.
    `group` names the group of each where items vary together: groups come in random order, a group's items together,
    and the group is the unit; `sizes` are the numbers of items of all groups there are (else: of those that came).
    Verified or refuted at any-time valid level: however often one looks, a wrong verdict has probability at most
    1 - level. A limit that has reached the threshold decides: limits are points already rejected.

    The limits only ever tighten, so the running estimate may leave them. With items in random order that happens in
    at most 1 - level of audits, besides right at the start; more often it says that later items are unlike earlier
    ones (a sorted file, a model that changed): the decision is flagged and says so.
    """
    values = np.asarray(first, dtype=np.float64)
    others = None if second is None else np.asarray(second, dtype=np.float64)
    units = _units(len(values), item, group, sizes)
    errors = claim.metric == "severity_given_error"
    if len(values) == 0 or (errors and not (values > 0).any()):
        what = "wrong" if errors and len(values) else "graded"
        return _claim(claim, Verdict.UNDECIDED, f"{claim.text}: undecided, nothing was {what} yet.")
    sequence = _sequence(claim, values, others, units, level)
    interval = sequence.interval
    above, under = interval.low >= claim.threshold, interval.high <= claim.threshold
    verdict = Verdict.UNDECIDED
    if above != under:  # both only where the sequence has emptied, which happens with probability below alpha
        verdict = Verdict.VERIFIED if under == claim.below else Verdict.REFUTED
    estimate = float(sequence.estimate[-1])
    n = len(values) if item is None else len(np.unique(np.asarray(item)))
    what = ("wrong answers" if n == len(values) else "items with wrong answers") if errors else "items"
    after = f"{sequence.n:,} {what}" if group is None else f"{n:,} items in {sequence.n:,} groups"
    after += " with wrong answers" * (errors and group is not None)
    span = f"{estimate:.4g} [{interval.low:.4g}, {interval.high:.4g}] after {after}"
    sentence = f"{claim.text}: {verdict.value}, {span} (holds at every look, {100 * level:g}%)."
    notes: tuple[str, ...] = ()
    if not interval.low <= estimate <= interval.high:
        notes = (OUTSIDE,)
        sentence += (
            " The estimate has left the interval: later items are unlike earlier ones (was the order random, did the "
            f"model change?), or this is one of the {100 * (1 - level):g}% that miss; do not rely on it."
        )
    return _claim(
        claim, verdict, sentence, estimate=estimate, interval=interval, n=sequence.n if group is None else n,
        units=sequence.n, unit="item" if group is None else "group", notes=notes,
    )  # fmt: skip


def _claim(rule: StopRule, verdict: Verdict, sentence: str, **more: Any) -> Claim:
    """The claim as everything else carries it: with two conditions the second is the one said to be better."""
    return Claim(
        measure="accuracy" if rule.metric == "better" else rule.metric,
        conditions=tuple(c for c in (rule.other, rule.condition) if c),
        verdict=verdict,
        sentence=sentence,
        hypothesis=Hypothesis(relation="below" if rule.below else "above", value=rule.threshold),
        family=Family(method="anytime-valid sequence", size=1),
        **more,
    )


def _in_order(item: ArrayLike, n: int, what: str) -> Indices:
    """Codes 0, 1, .. in the order in which they first came; rows of one stand together."""
    names = np.asarray(item)
    if len(names) != n:
        raise InputError(f"{len(names)} names for {n} values.", remedy="Give one of each value.")
    starts = np.r_[True, names[1:] != names[:-1]] if n else np.zeros(0, dtype=bool)
    if int(np.sum(starts)) != len(np.unique(names)):
        raise InputError(f"{what} are apart.", remedy="Give them one after the other.")
    return np.cumsum(starts) - 1
