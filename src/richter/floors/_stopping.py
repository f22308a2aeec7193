"""Claims that can be decided while asking: their grammar, and their verdict at any moment."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.claims import (
    METRICS,
    Metric,
    block_by_missing,
    block_claim,
    decide_by_limits,
    sequential_measures,
    spanning_both,
)
from richter.errors import InputError
from richter.floors._sequences import Sequence, ece_sequence, mean_sequence, rate_sequence
from richter.records import DEFAULT_LEVEL, Claim, Family, Hypothesis, Verdict
from richter.stats import Bools, Floats, Indices

__all__ = ["CLAIM_GRAMMAR", "StopRule", "decide_claim", "parse_claim"]

SEVERE_SHARE = "severity_at_least"  # the catastrophic rate from another severity on
CLAIM_GRAMMAR = (
    f"Write METRIC < NUMBER or METRIC > NUMBER, with METRIC {', '.join(sequential_measures())} or {SEVERE_SHARE}(S), "
    "optionally METRIC(CONDITION); or 'A better than B', 'A better than B by 2pt'."
)

OUTSIDE_NOTE = "the running estimate has left the interval"
EMPTY_NOTE = "the limits have crossed, so that nothing is decided"

_COMPARISON_FORM = re.compile(
    r"^(?P<a>.+?)\s+(?:is\s+)?better\s+than\s+(?P<b>.+?)(?:\s+by\s+(?P<by>[^\s]+))?$", re.IGNORECASE
)
_BOUND_FORM = re.compile(
    r"^(?P<metric>[a-z_]+)(?:\((?P<inside>[^()]*)\))?(?:\((?P<condition>[^()]*)\))?\s*(?P<sign><=|>=|<|>)\s*"
    r"(?P<value>[^\s]+)$",
    re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """What asking is to settle: a measure of one condition below or above a threshold, or one condition better.

    `metric` is the measure's row. With an `other` condition the rule is about the difference: `condition` minus `other`
    is above `threshold`. An empty `condition` means the only one there is.
    """

    text: str
    metric: Metric
    below: bool
    threshold: float
    condition: str = ""
    other: str = ""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions it names."""
        return tuple(c for c in (self.condition, self.other) if c)

    @property
    def ends(self) -> tuple[float, float]:
        """The range of the measure's values; 0 to 1 where its row states none."""
        return self.metric.low or 0.0, 1.0 if self.metric.high is None else self.metric.high


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
    """Read a claim such as `error_rate < 0.05`, `ece(gpt) < 0.1`, `A better than B by 2pt`.

    >>> from richter.floors import parse_claim
    >>> parse_claim("error_rate < 0.05").threshold
    0.05
    """
    stripped = text.strip()
    compared = _COMPARISON_FORM.match(stripped)
    if compared:
        by = _number(compared["by"]) if compared["by"] else 0.0
        if not 0 <= by < 1:
            raise InputError(f"A gap of {by:g} is not in [0, 1).", remedy="Write 2pt or 0.02.")
        if compared["a"] == compared["b"]:
            raise InputError(f"{text!r} compares a condition with itself.", remedy=CLAIM_GRAMMAR)
        return StopRule(
            text=stripped, metric=METRICS["accuracy"], below=False, threshold=by, condition=compared["a"],
            other=compared["b"],
        )  # fmt: skip
    bounded = _BOUND_FORM.match(stripped)
    if not bounded:
        raise InputError(f"{text!r} is not a claim.", remedy=CLAIM_GRAMMAR)
    name, inside, condition = bounded["metric"].lower(), bounded["inside"], bounded["condition"]
    if name == SEVERE_SHARE:
        if not inside:
            raise InputError(f"{text!r} names no severity.", remedy=f"Write {SEVERE_SHARE}(3) < 0.01.")
        metric = dataclasses.replace(METRICS["catastrophic_rate"], name=name, at=_number(inside))
        inside = None
    else:
        metric = _sequential_metric(name)
    rule = StopRule(
        text=stripped,
        metric=metric,
        below=bounded["sign"].startswith("<"),
        threshold=_number(bounded["value"]),
        condition=(condition or inside or "").strip(),
    )
    low, high = rule.ends
    if not low < rule.threshold < high:
        raise InputError(
            f"A limit of {rule.threshold:g} for {name} is not in ({low:g}, {high:g}).", remedy=CLAIM_GRAMMAR
        )
    return rule


def _sequential_metric(name: str) -> Metric:
    """The row of a measure that asking may stop on; an error that says why it may not, of any other."""
    row = METRICS.get(name)
    if row is None:
        raise InputError(f"{name!r} is not a metric.", remedy=CLAIM_GRAMMAR)
    if not row.sequential:
        # limits that hold at every look need values with a known range, or a law
        why = "has no largest value" if row.is_cost else "is computed from all answers at once"
        raise InputError(
            f"{name} {why}: no limits on it hold at every look, so asking cannot stop on it.",
            remedy=f"Ask a number of items fixed beforehand (`richter size`). {CLAIM_GRAMMAR}",
        )
    return row


@dataclasses.dataclass(frozen=True, slots=True)
class _Units:
    """Which rows are one unit, what a row counts for in it, and the most that a unit may count for."""

    unit: Indices
    weight: Floats
    top: float

    def total(self, values: Floats) -> Floats:
        """What each unit brings: its rows' values, weighted."""
        sums: Floats = np.bincount(self.unit, weights=self.weight * values).astype(np.float64)
        return np.round(sums, 12)  # thirds of 1 add up to 1


def _units(n: int, item: ArrayLike | None, group: ArrayLike | None, sizes: Mapping[str, int] | None) -> _Units:
    """Units in the order in which they came: the item, its draws sharing 1; with groups the group.

    A group counts for its number of items over the mean number in `sizes` (all groups there are, whose sizes are known
    before anything is asked), so that the mean over groups is the mean over items.
    """
    place = np.arange(n) if item is None else _order_units(item, n, "Draws of one item")
    weight = 1 / np.bincount(place)[place]
    if group is None:
        return _Units(place, weight, 1.0)
    names = np.asarray(group).astype(str)
    unit = _order_units(names, n, "Items of one group")
    first = np.unique(unit, return_index=True)[1]
    asked = np.bincount(unit, weights=weight)
    held = dict(zip(names[first], asked, strict=True)) if sizes is None else sizes
    mean = sum(held.values()) / len(held)
    share = np.array([held[name] for name in names[first]]) / mean
    return _Units(unit, weight * (share / asked)[unit], round(max(held.values()) / mean, 12))


def _sequence(claim: StopRule, first: Floats, second: Floats | None, units: _Units, level: float) -> Sequence:
    """The claim's sequence by unit."""
    top, metric, (low, high) = units.top, claim.metric, claim.ends
    if metric.estimator == "ece":
        assert second is not None
        rows = np.bincount(units.unit)[units.unit]
        return ece_sequence(second, first, item=units.unit, weight=units.weight * rows / top, top=top, level=level)
    if metric.estimator == "given_error":  # every error counts alike, however many its unit has
        wrong = first > 0
        unit, weight = np.unique(units.unit[wrong], return_inverse=True)[1], units.weight[wrong] / top
        if not len(unit):
            raise InputError("No answer is wrong yet.", remedy="Ask more.")
        graded, counts = (np.round(np.bincount(unit, weights=w), 12) for w in (weight * first[wrong], weight))
        return mean_sequence(np.minimum(graded, high * counts), counts=counts, high=high, level=level)
    if claim.other:
        assert second is not None
        span = (high - low) * top
        return mean_sequence(units.total(first) - units.total(second), low=-span, high=span, level=level)
    values = units.total(first - low)
    if metric.kind == "binary" and top <= 1 and bool(np.isin(values, (0.0, 1.0)).all()):
        return rate_sequence(values, level=level)
    sequence = mean_sequence(values, high=(high - low) * top, level=level)
    return sequence if low == 0 else _shift_threshold(sequence, low)


def _shift_threshold(sequence: Sequence, by: float) -> Sequence:
    """The sequence of values that are larger by a constant."""
    return dataclasses.replace(
        sequence, estimate=sequence.estimate + by, low=sequence.low + by, high=sequence.high + by
    )


def _measured_values(claim: StopRule, given: Floats) -> Floats:
    """The measure's own values of what was graded: severities from a level on, and errors of right answers."""
    if claim.metric.source == "severity" and claim.metric.estimator == "mean":
        return claim.metric.of_severity(given)
    is_error = claim.metric.source == "score" and claim.metric.kind == "binary" and claim.metric.better == "lower"
    return 1 - given if is_error else given


def decide_claim(
    claim: StopRule,
    first: ArrayLike,
    second: ArrayLike | None = None,
    *,
    item: ArrayLike | None = None,
    group: ArrayLike | None = None,
    sizes: Mapping[str, int] | None = None,
    level: float = DEFAULT_LEVEL,
) -> Claim:
    """The claim's verdict from the labels so far, in the order they came.

    `first` are grades (1 right, 0 wrong), scores, or severities for severity metrics; 1 for a refusal or a failed
    call where the claim is on those; `second` the other condition's grades for a difference, confidences for `ece`.
    `item` names the item of each where one has several draws: they arrive together and count as one, by their mean.
    `group` names the group of each where items vary together: groups come in random order, a group's items together,
    and the group is the unit; `sizes` are the numbers of items of all groups there are (else: of those that came).
    Verified or refuted at any-time valid level: however often one looks, a wrong verdict has probability at most
    1 - level. A limit that has reached the threshold decides: limits are points already rejected.

    NaN is a grade that is missing. A verdict stands only where it is the same with missing grades left out and with
    them at the worse end of the range; a measure without a worse end is blocked above 1% of them.

    The limits only ever tighten, so the running estimate may leave them. With items in random order that happens in
    at most 1 - level of audits, besides right at the start; more often it says that later items are unlike earlier
    ones (a sorted file, a model that changed): the decision is flagged and says so. Limits that have crossed reject
    every value and decide nothing.

    >>> from richter.floors import decide_claim, parse_claim
    >>> decide_claim(parse_claim("error_rate < 0.4"), [1, 1, 1, 1, 0] * 100).verdict.value
    'verified'
    """
    values = np.asarray(first, dtype=np.float64)
    others = None if second is None or not len(np.asarray(second)) else np.asarray(second, dtype=np.float64)
    lacks = np.isnan(values) if others is None else np.isnan(values) | np.isnan(others)

    def decide_rows(chosen: Bools, own: Floats, other: Floats | None) -> Claim:
        of_item, of_group, others = (None if x is None else np.asarray(x)[chosen] for x in (item, group, other))
        return _decide_rows(claim, own[chosen], others, item=of_item, group=of_group, sizes=sizes, level=level)

    ignoring = decide_rows(~lacks, values, others)
    if not lacks.any():
        return ignoring
    count, worst = int(lacks.sum()), _worst_grade(claim)
    if worst is None:
        return _blocked_by_missing(claim, ignoring, count, len(values))
    filled = np.where(np.isnan(values), worst, values)
    filled_others = None if others is None else np.where(np.isnan(others), worst, others)
    return _both_ways(claim, ignoring, decide_rows(np.ones(len(values), dtype=bool), filled, filled_others), count)


def _worst_grade(claim: StopRule) -> float | None:
    """What a missing grade counts as, as grades are given; None where the measure has no worse end."""
    metric = claim.metric
    if metric.estimator != "mean":
        return None
    if metric.source == "severity":
        return METRICS["mean_severity"].high
    if metric.source == "score" and metric.kind == "binary":
        return 0.0  # a wrong answer, whichever of the two rates is asked about
    return claim.ends[0] if metric.better == "higher" else claim.ends[1]


def _both_ways(rule: StopRule, ignoring: Claim, as_worst: Claim, count: int) -> Claim:
    """The verdict that holds with missing grades left out and with them at the worse end; else undecided."""
    notes = (*ignoring.notes, f"{count:,} grades are missing")
    one, two, interval = ignoring.interval, as_worst.interval, ignoring.interval
    if one is not None and two is not None:
        interval = spanning_both(one, two)
    sentence, verdict = ignoring.sentence, decide_by_limits(one, two, value=rule.threshold, above=not rule.below)
    if ignoring.verdict is not as_worst.verdict:
        sentence = (
            f"{rule.text}: {verdict.value}, {ignoring.verdict.value} without the {count:,} missing grades and "
            f"{as_worst.verdict.value} with them at the worse end."
        )
    return dataclasses.replace(
        ignoring, verdict=verdict, sentence=sentence, interval=interval, notes=notes, missing={rule.condition: count}
    )


def _blocked_by_missing(rule: StopRule, claim: Claim, count: int, total: int) -> Claim:
    """The claim on a measure without a worse end: blocked where more than 1% of the grades are missing."""
    noted = dataclasses.replace(
        claim, notes=(*claim.notes, f"{count:,} grades are missing"), missing={rule.condition: count}
    )
    block = block_by_missing(count, total, why=f"{rule.metric.noun} has no worst value")
    if not claim.decided or block is None:
        return noted
    return block_claim(noted, block, sentence=f"{rule.text}: blocked, {block.reason}.")


def _decide_rows(
    claim: StopRule,
    values: Floats,
    others: Floats | None,
    *,
    item: NDArray[Any] | None,
    group: NDArray[Any] | None,
    sizes: Mapping[str, int] | None,
    level: float,
) -> Claim:
    """The claim's verdict from rows that all have a grade."""
    errors = claim.metric.estimator == "given_error"
    if len(values) == 0 or (errors and not (values > 0).any()):
        what = "wrong" if errors and len(values) else "graded"
        verdict = decide_by_limits(None, value=claim.threshold, above=not claim.below)
        return _claim(claim, verdict, f"{claim.text}: {verdict.value}, nothing was {what} yet.")
    units = _units(len(values), item, group, sizes)
    sequence = _sequence(claim, _measured_values(claim, values), others, units, level)
    interval = sequence.interval
    is_empty = interval.low > interval.high  # it happens with probability below 1 - level where the order is random
    verdict = decide_by_limits(interval, value=claim.threshold, above=not claim.below)
    estimate = float(sequence.estimate[-1])
    n = len(values) if item is None else len(np.unique(item))
    if group is not None:
        after = f"{n:,} items in {sequence.n:,} groups" + " with wrong answers" * errors
    else:
        after = f"{sequence.n:,} items" + " with wrong answers" * errors
    span = f"{estimate:.4g} [{interval.low:.4g}, {interval.high:.4g}] after {after}"
    sentence = f"{claim.text}: {verdict.value}, {span} (holds at every look, {100 * level:g}%)."
    notes: tuple[str, ...] = (EMPTY_NOTE,) if is_empty else ()
    if not interval.low <= estimate <= interval.high:
        notes = (*notes, OUTSIDE_NOTE)
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
        measure=rule.metric.name,
        conditions=tuple(c for c in (rule.other, rule.condition) if c),
        verdict=verdict,
        sentence=sentence,
        hypothesis=Hypothesis(relation="below" if rule.below else "above", value=rule.threshold),
        better=rule.metric.better,
        family=Family(method="anytime-valid sequence", size=1),
        **more,
    )


def _order_units(item: ArrayLike, n: int, what: str) -> Indices:
    """Codes 0, 1, .. in the order in which they first came; rows of one stand together."""
    names = np.asarray(item)
    if len(names) != n:
        raise InputError(f"{len(names)} names for {n} values.", remedy="Give one of each value.")
    starts = np.r_[True, names[1:] != names[:-1]]
    if int(np.sum(starts)) != len(np.unique(names)):
        raise InputError(f"{what} are apart.", remedy="Give them one after the other.")
    return np.cumsum(starts) - 1
