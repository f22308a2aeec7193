"""How many units would settle a question, and what the units at hand could have shown."""

import dataclasses
import functools
import math

from richter._special import ndtri, stdtrit
from richter.claims._equivalence import equivalence_size
from richter.claims._measures import Metric
from richter.claims._question import LEAST_FREEDOM, Asked, Evidence
from richter.claims._unpaired import rates_needed
from richter.records import SizeStep

__all__ = [
    "POWER",
    "SIZE_STEPS",
    "min_detectable_difference",
    "needed_units",
    "reach_of",
    "size_steps",
    "units_for",
    "units_needed",
]

POWER = 0.8
N_STEPS = 4  # towards the size at which a distance is shown
SIZE_STEPS = (0.05, 0.02)  # of a measure's range, or of an amount that is paid


@functools.lru_cache(maxsize=1024)  # the claims of a board ask for few
def reach_of(freedom: float, tail: float, power: float) -> float:
    """Standard errors that a true difference must have to be shown at `tail` on its side with `power`: t + t_power."""
    if math.isinf(freedom):
        return float(ndtri(1 - tail) + ndtri(power))
    return float(stdtrit(freedom, 1 - tail) + stdtrit(freedom, power))


def units_for(variance: float, distance: float, *, tail: float, power: float, freedom: float = math.inf) -> int:
    """The smallest n with n >= variance ((t_tail + t_power) / distance)^2, Student's t of n x `freedom` less 1.

    `variance` is one unit's and `freedom` the degrees of freedom that one brings (1 where units count alike; infinite
    where no t is taken, and t is z). A t test decides nothing under four of them.
    """
    n = math.ceil(variance * (reach_of(math.inf, tail, power) / distance) ** 2)
    if math.isinf(freedom):
        return n
    n = max(n, math.ceil((LEAST_FREEDOM + 1) / freedom - 1e-9))
    while n < variance * (reach_of(n * freedom - 1, tail, power) / distance) ** 2:
        n += 1
    return n


def units_needed(
    evidence: Evidence, distance: float, *, tail: float, power: float = POWER, is_true: bool = False
) -> int:
    """Units like these that show a true difference of `distance` at `tail` on its side with `power`.

    Of two rates on different items as many as limits of their counts take (`rates_needed`). A relative difference is
    sized by its logarithm. `is_true`: the distance is the true difference, not that of a limit from none.
    """
    assert evidence.standard_error is not None
    error, free = evidence.standard_error, (evidence.freedom + 1) / evidence.units
    if evidence.relative:
        error, distance = error / (1 + evidence.estimate), math.log1p(distance)
    variance = evidence.units * error**2
    n = units_for(variance, distance, tail=tail, power=power, freedom=free)
    if evidence.detectable is not None:
        while math.isinf(evidence.detectable(n, tail, power)):  # so few show nothing
            n *= 2
        fewest = n
        for _ in range(N_STEPS):  # a distance goes with 1 / sqrt(n), nearly
            n = max(math.ceil(n * (evidence.detectable(n, tail, power) / distance) ** 2), fewest)
    if is_true and evidence.binary_span is not None:
        n = max(n, math.ceil(evidence.binary_span * _changes_needed(tail, power) / distance))
    return rates_needed(evidence, distance, n, tail=tail, power=power) if evidence.counts else n


def _changes_needed(tail: float, power: float) -> float:
    """How many answers must change on average, all in one direction, to be shown at `tail` with `power`.

    A true difference of d changes at least a share d of single right or wrong answers. The score of k changes in one
    direction is sqrt(k), of which the standard deviation is about 1/2: sqrt(k) >= z_tail + z_power / 2.
    """
    return float(ndtri(1 - tail) + ndtri(power) / 2) ** 2


def needed_units(
    evidence: Evidence, aim: float, *, alpha: float, margin: bool = False, power: float = POWER
) -> int | None:
    """Units that settle a true difference of `aim` at two-sided `alpha` with `power`; never the one that was seen.

    units x ((t_a/2 + t_power) se / aim)^2, t being z where no t test decides; with a `margin` also enough to show being
    within it when there is none (`equivalence_size`): units x ((t_a + t_(1+power)/2) se / margin)^2. With missing
    grades the larger of both ways of counting them. None where nothing says how much answers vary, and where runs are
    crossed with items: no number of one alone lowers what the other brings.
    """
    if evidence.unit == "run":
        return None
    ways = [evidence.ignoring or evidence, *([evidence.as_worst] if evidence.as_worst else [])]
    ways = [_with_spread_of_labels(way) for way in ways]
    if any(not way.standard_error or way.units < 1 for way in ways):
        return None
    sizes = [units_needed(way, aim, tail=alpha / 2, power=power, is_true=True) for way in ways]
    if margin:
        test = equivalence_size(alpha, power)
        sizes += [units_needed(way, aim, tail=test.tail, power=test.power) for way in ways]
    return max(sizes)


def _with_spread_of_labels(evidence: Evidence) -> Evidence:
    """Evidence that labels correct, with half of its interval at one standard error as its standard error."""
    if not evidence.labels:
        return evidence
    return dataclasses.replace(evidence, standard_error=evidence.interval(math.erf(math.sqrt(0.5))).half_width)


def size_steps(evidence: Evidence, metric: Metric, *, alpha: float) -> tuple[SizeStep, ...]:
    """Units for differences of 5 and of 2 hundredths of the measure's range; none where no size is known."""
    is_ranged = metric.kind != "real" and metric.low is not None and metric.high is not None
    if not evidence.standard_error or not (is_ranged or evidence.relative):
        return ()
    span = 1.0 if evidence.relative else (metric.high or 0.0) - (metric.low or 0.0)
    found = [(step * span, needed_units(evidence, step * span, alpha=alpha)) for step in SIZE_STEPS]
    return tuple(SizeStep(difference=step, units=units) for step, units in found if units is not None)


def min_detectable_difference(evidence: Evidence, metric: Metric, *, tail: float, power: float = POWER) -> float | None:
    """The smallest difference shown with `power` at `tail` on its side; None where the whole range is smaller."""
    if not evidence.standard_error:
        return None
    reach = reach_of(evidence.freedom, tail, power) * evidence.standard_error
    if evidence.detectable is not None and not evidence.relative:
        reach = evidence.detectable(evidence.units, tail, power)
    if evidence.binary_span is not None:
        reach = max(reach, evidence.binary_span * _changes_needed(tail, power) / evidence.units)
    if evidence.relative:
        logs = reach / (1 + evidence.estimate)
        return math.expm1(logs if evidence.detectable is None else evidence.detectable(evidence.units, tail, power))
    is_beyond = metric.low is not None and metric.high is not None and reach > metric.high - metric.low
    return None if is_beyond or math.isinf(reach) else reach


def requirement_needed(asked: Asked, alpha: float) -> tuple[int, float] | None:
    """Units that show a requirement met, and the distance from its limit that they are for.

    Of a difference the whole allowance (in truth there is no loss), of a level half of what is allowed.
    """
    evidence, question, words = asked.known, asked.question, asked.metric
    if not evidence.standard_error or question.value == 0 or evidence.unit == "run":
        return None
    distance = abs(question.value)
    if len(question.conditions) == 2:
        return units_needed(evidence, distance, tail=alpha), distance
    if question.relation == "above":
        distance = (1.0 if words.high is None else words.high) - question.value
    distance /= 2
    if distance <= 0:
        return None
    if words.kind == "binary":  # how much answers vary at the limit and at half of what is allowed, not as seen
        at = (evidence.estimate * evidence.n + 0.5) / (evidence.n + 1)
        effect = max(evidence.standard_error**2 * evidence.n / (at * (1 - at)), 1.0) * evidence.units / evidence.n
        truth = question.value + distance if question.relation == "above" else question.value - distance
        z_alpha, z_power = float(ndtri(1 - alpha)), float(ndtri(POWER))
        limit = question.value
        reach = z_alpha * math.sqrt(limit * (1 - limit)) + z_power * math.sqrt(truth * (1 - truth))
        error = reach / (z_alpha + z_power) * math.sqrt(effect / evidence.units)
        evidence = dataclasses.replace(evidence, standard_error=error)
    return units_needed(evidence, distance, tail=alpha), distance
