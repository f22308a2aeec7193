"""Claims that can be decided while asking: their grammar, and their verdict at any moment."""

import dataclasses
import re
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.errors import InputError
from richter.floors._sequences import Sequence, difference_sequence, ece_sequence, mean_sequence, rate_sequence
from richter.records import Claim, Family, Hypothesis, Verdict

__all__ = ["CLAIM_GRAMMAR", "StopRule", "decide_claim", "parse_claim"]

Floats = NDArray[np.float64]

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


def _sequence(claim: StopRule, first: Floats, second: Floats | None, item: NDArray[np.intp], level: float) -> Sequence:
    """The claim's sequence by item: draws of one item count once, by their mean."""
    if claim.metric == "ece":
        assert second is not None
        return ece_sequence(second, first, item=item, level=level)
    values = first
    if claim.metric == "error_rate":
        values = 1 - first
    elif claim.severity is not None:
        values = (first >= claim.severity).astype(np.float64)
    elif claim.metric == "severity_given_error":
        wrong = first > 0
        values, item = first[wrong], np.unique(item[wrong], return_inverse=True)[1]
        if not len(values):
            raise InputError("No answer is wrong yet.", remedy="Ask more.")
    values = _by_item(values, item)
    if claim.metric == "better":
        assert second is not None
        return difference_sequence(_by_item(second, item), values, level=level)
    if claim.metric in ("mean_severity", "severity_given_error"):
        return mean_sequence(values, low=0.0, high=WORST, level=level)
    if claim.metric == "mean_score" or not np.isin(values, (0.0, 1.0)).all():
        return mean_sequence(values, level=level)
    return rate_sequence(values, level=level)


def _by_item(values: Floats, item: NDArray[np.intp]) -> Floats:
    means: Floats = np.bincount(item, weights=values) / np.bincount(item)
    return means


def decide_claim(
    claim: StopRule,
    first: ArrayLike,
    second: ArrayLike | None = None,
    *,
    item: ArrayLike | None = None,
    level: float = 0.95,
) -> Claim:
    """The claim's verdict from the labels so far, in the order they came.

    `first` are grades (1 right, 0 wrong), scores, or severities for severity metrics; 1 for a refusal or a failed
    call where the claim is on those; `second` the other condition's grades for `better`, the confidences for `ece`.
    `item` names the item of each where one has several draws: they arrive together and count as one, by their mean.
    Verified or refuted at any-time valid level: however often one looks, a wrong verdict has probability at most
    1 - level. A limit that has reached the threshold decides: limits are points already rejected.

    The limits only ever tighten, so the running estimate may leave them. With items in random order that happens in
    at most 1 - level of audits, besides right at the start; more often it says that later items are unlike earlier
    ones (a sorted file, a model that changed): the decision is flagged and says so.
    """
    values = np.asarray(first, dtype=np.float64)
    others = None if second is None else np.asarray(second, dtype=np.float64)
    place = np.arange(len(values)) if item is None else _in_order(item, len(values))
    errors = claim.metric == "severity_given_error"
    if len(values) == 0 or (errors and not (values > 0).any()):
        what = "wrong" if errors and len(values) else "graded"
        return _claim(claim, Verdict.UNDECIDED, f"{claim.text}: undecided, nothing was {what} yet.")
    sequence = _sequence(claim, values, others, place, level)
    interval = sequence.interval
    above, under = interval.low >= claim.threshold, interval.high <= claim.threshold
    verdict = Verdict.UNDECIDED
    if above != under:  # both only where the sequence has emptied, which happens with probability below alpha
        verdict = Verdict.VERIFIED if under == claim.below else Verdict.REFUTED
    estimate = float(sequence.estimate[-1])
    what = "wrong answers" if errors else "items"
    span = f"{estimate:.4g} [{interval.low:.4g}, {interval.high:.4g}] after {sequence.n:,} {what}"
    sentence = f"{claim.text}: {verdict.value}, {span} (holds at every look, {100 * level:g}%)."
    notes: tuple[str, ...] = ()
    if not interval.low <= estimate <= interval.high:
        notes = (OUTSIDE,)
        sentence += (
            " The estimate has left the interval: later items are unlike earlier ones (was the order random, did the "
            f"model change?), or this is one of the {100 * (1 - level):g}% that miss; do not rely on it."
        )
    return _claim(
        claim, verdict, sentence, estimate=estimate, interval=interval, n=sequence.n, units=sequence.n, notes=notes
    )


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


def _in_order(item: ArrayLike, n: int) -> NDArray[np.intp]:
    """Codes 0, 1, .. of items in the order in which they first came; draws of an item stand together."""
    names = np.asarray(item)
    if len(names) != n:
        raise InputError(f"{len(names)} items for {n} values.", remedy="Give the item of each value.")
    starts = np.r_[True, names[1:] != names[:-1]] if n else np.zeros(0, dtype=bool)
    if int(np.sum(starts)) != len(np.unique(names)):
        raise InputError("Draws of one item are apart.", remedy="Give all draws of an item one after the other.")
    return np.cumsum(starts) - 1
