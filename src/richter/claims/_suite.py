"""One claim from several pieces of evidence: a suite of benchmarks, and a quality kept at a lower cost."""

import dataclasses
import math
import operator
from collections.abc import Mapping, Sequence

from richter.claims._measures import Metric
from richter.claims._question import Evidence, describe_each, joint_freedom, one_sided, one_sided_level
from richter.errors import InputError
from richter.records import Interval

__all__ = ["Trade", "check_weights", "suite_evidence"]


def check_weights(benchmarks: Sequence[str], weights: Mapping[str, float]) -> None:
    """Refuse weights that are not one positive number for each benchmark."""
    unknown, lacking = sorted(set(weights) - set(benchmarks)), sorted(set(benchmarks) - set(weights))
    if unknown or lacking:
        raise InputError(
            f"Weights and benchmarks differ: no benchmark {', '.join(unknown) or '-'}; no weight for "
            f"{', '.join(lacking) or '-'}.",
            remedy=f"Give one weight for each of {', '.join(sorted(benchmarks))}.",
        )
    if not all(math.isfinite(w) and w > 0 for w in weights.values()):
        raise InputError("A weight is zero, negative or missing.", remedy="Weights are above 0; leave benchmarks out.")


def suite_evidence(parts: Mapping[str, Evidence], weights: Mapping[str, float]) -> Evidence:
    """The weighted mean over benchmarks of what was found in each; weights are stated beforehand and sum to 1 here.

    Benchmarks are fixed and their items independent of each other's, so only items vary: the interval is the MOVER of
    the benchmarks' own at the same level, low = sum w e - sqrt(sum w^2 (e - l)^2), and so keeps each one's method.
    """
    check_weights(list(parts), weights)
    total = sum(weights.values())
    share = {name: w / total for name, w in weights.items()}
    estimate = sum(share[name] * e.estimate for name, e in parts.items())

    def interval(level: float) -> Interval:
        found = {name: e.interval(level) for name, e in parts.items()}
        down = math.hypot(*(share[k] * (parts[k].estimate - i.low) for k, i in found.items()))
        up = math.hypot(*(share[k] * (i.high - parts[k].estimate) for k, i in found.items()))
        return Interval(low=estimate - down, high=estimate + up, level=level, method="mover over benchmarks")

    errors = {k: share[k] * e.standard_error for k, e in parts.items() if e.standard_error is not None}
    pieces = list(parts.values())
    stated = ", ".join(f"{name} {100 * share[name]:.3g}%" for name in parts)
    return Evidence(
        estimate=estimate,
        interval=interval,
        values=tuple(
            sum(map(operator.mul, share.values(), of)) for of in zip(*(e.values for e in pieces), strict=True)
        ),
        n=sum(e.n for e in pieces),
        units=sum(e.units for e in pieces),
        unit=pieces[0].unit,
        standard_error=math.hypot(*errors.values()) if errors.keys() == parts.keys() else None,
        freedom=joint_freedom(*((error, parts[k].freedom) for k, error in errors.items())),
        labels=sum(e.labels for e in pieces),
        judged=next((e.judged for e in pieces if e.judged), ""),
        notes=(f"weights: {stated}", *dict.fromkeys(note for e in pieces for note in e.notes)),
        describe_at=describe_each(pieces),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    """Two conditions, the second minus the first: a quality that may fall by `margin` at most, and a cost."""

    quality: Evidence
    cost: Evidence
    metric: Metric
    cost_metric: Metric
    margin: float

    @property
    def worst_loss(self) -> float:
        """The difference in quality that is still allowed."""
        return -self.margin if self.metric.better == "higher" else self.margin

    @property
    def p(self) -> float:
        """The larger of the two one-sided p-values: both must hold, so no level is divided between them."""
        quality = one_sided(self.quality, self.worst_loss, above=self.metric.better == "higher")
        cost = one_sided(self.cost, 0.0, above=self.cost_metric.better == "higher")
        return max(quality, cost)

    def keeps_quality(self, alpha: float) -> bool:
        """Whether the quality is shown, one-sided at `alpha`, to fall by less than the margin."""
        return _least_gain(self.quality.interval(one_sided_level(alpha)), self.metric) > -self.margin

    def saves(self, alpha: float) -> bool:
        """Whether the cost is shown, one-sided at `alpha`, to fall."""
        limit = _least_gain(self.cost.interval(one_sided_level(alpha)), self.cost_metric)
        return limit > 0

    def loses_quality(self, alpha: float) -> bool:
        """Whether the quality is shown, one-sided at `alpha`, to fall by more than the margin."""
        return _most_gain(self.quality.interval(one_sided_level(alpha)), self.metric) < -self.margin

    def costs_more(self, alpha: float) -> bool:
        """Whether the cost is shown, one-sided at `alpha`, to rise."""
        return _most_gain(self.cost.interval(one_sided_level(alpha)), self.cost_metric) < 0


def _least_gain(interval: Interval, metric: Metric) -> float:
    """The end of an interval that is worse for the second condition, as a gain."""
    return interval.low if metric.better == "higher" else -interval.high


def _most_gain(interval: Interval, metric: Metric) -> float:
    return interval.high if metric.better == "higher" else -interval.low
