"""One claim from several pieces of evidence: a suite of benchmarks, and a quality kept at a lower cost."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from richter.claims._evidence import Evidence, describe_each, joint_freedom, one_sided
from richter.claims._measures import Metric
from richter.claims._question import JUDGE_UNCHECKED, Asked
from richter.errors import InputError
from richter.records import Claim, Family, Hypothesis, Interval, Verdict
from richter.stats import holm
from richter.words._claim_sentences import describe_trade

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

    errors = [(share[name], e.standard_error) for name, e in parts.items()]
    pieces = list(parts.values())
    columns = len(pieces[0].values)
    stated = ", ".join(f"{name} {100 * share[name]:.3g}%" for name in parts)
    return Evidence(
        estimate=estimate,
        interval=interval,
        values=tuple(sum(share[name] * e.values[k] for name, e in parts.items()) for k in range(columns)),
        n=sum(e.n for e in pieces),
        units=sum(e.units for e in pieces),
        unit=pieces[0].unit,
        standard_error=None if any(s is None for _, s in errors) else math.hypot(*(w * (s or 0.0) for w, s in errors)),
        freedom=joint_freedom(*((share[name] * (e.standard_error or 0.0), e.freedom) for name, e in parts.items())),
        labels=sum(e.labels for e in pieces),
        judged=next((e.judged for e in pieces if e.judged), ""),
        relative=any(e.relative for e in pieces),
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
        """The larger of the two one-sided p-values: both must hold, so no level is divided between them.

        Where a typical item costs less and the sum is more, nothing is shown.
        """
        quality = one_sided(self.quality, self.worst_loss, above=self.metric.better == "higher")
        cost = 1.0 if self.cost.against else one_sided(self.cost, 0.0, above=self.cost_metric.better == "higher")
        return max(quality, cost)


def decide_trades(asked: Sequence[Asked], *, level: float, alpha: float) -> list[Claim]:
    """Is the second not worse by more than the margin **and** cheaper? One claim a pair, in one Holm list at `alpha`.

    The printed intervals are those at 1 - 2 a at which both parts were decided (intersection-union). Refuted where
    either part is shown to be false, each at half of a.
    """
    if not asked:
        return []
    p = [_trade_of(one).p for one in asked]
    adjusted = holm(p)
    claims: dict[int, Claim] = {}
    left, still_rejecting = len(asked), True
    for k in sorted(range(len(asked)), key=lambda k: p[k]):
        verdict = _trade_verdict(_trade_of(asked[k]), alpha / left, still_rejecting)
        p_adjusted = min(float(adjusted[k]) * (1 - level) / alpha, 1.0)
        claims[k] = _trade_claim(asked[k], verdict, alpha / left, p[k], p_adjusted, level, len(asked))
        still_rejecting = still_rejecting and verdict is Verdict.VERIFIED
        left -= still_rejecting
    return [claims[k] for k in range(len(asked))]


def _trade_of(asked: Asked) -> Trade:
    assert isinstance(asked.evidence, Trade)
    return asked.evidence


def _least_gain(interval: Interval, metric: Metric) -> float:
    """The end of an interval that is worse for the second condition, as a gain."""
    return interval.low if metric.better == "higher" else -interval.high


def _most_gain(interval: Interval, metric: Metric) -> float:
    return interval.high if metric.better == "higher" else -interval.low


def _keeps_quality(t: Trade, alpha: float) -> bool:
    return _least_gain(t.quality.interval(1 - 2 * alpha), t.metric) > -t.margin


def _saves(t: Trade, alpha: float) -> bool:
    return _least_gain(t.cost.interval(1 - 2 * alpha), t.cost_metric) > 0 and not t.cost.against


def _trade_verdict(t: Trade, alpha: float, still_rejecting: bool) -> Verdict:
    if still_rejecting and _keeps_quality(t, alpha) and _saves(t, alpha):
        return Verdict.VERIFIED
    has_lost = _most_gain(t.quality.interval(1 - alpha), t.metric) < -t.margin
    costs_more = _most_gain(t.cost.interval(1 - alpha), t.cost_metric) < 0
    return Verdict.REFUTED if has_lost or costs_more else Verdict.UNDECIDED


def _trade_claim(
    asked: Asked, verdict: Verdict, alpha: float, p: float, p_adjusted: float, level: float, size: int
) -> Claim:
    t = _trade_of(asked)
    quality, cost = t.quality.interval(1 - 2 * alpha), t.cost.interval(1 - 2 * alpha)
    parts = ((t.metric.noun, _keeps_quality(t, alpha)), (t.cost_metric.noun, _saves(t, alpha)))
    lacking = [name for name, holds in parts if not holds]
    return Claim(
        measure=f"{t.metric.name} and {t.cost_metric.name}",
        conditions=asked.question.conditions,
        verdict=verdict,
        sentence=describe_trade(t, asked.question.conditions, verdict, (quality, cost), lacking),
        estimate=t.quality.estimate,
        interval=quality,
        plain_interval=t.quality.interval(level),
        values=t.quality.values,
        p=p,
        p_adjusted=p_adjusted,
        n=t.quality.n,
        units=t.quality.units,
        unit=t.quality.unit,
        hypothesis=Hypothesis(relation="above" if t.metric.better == "higher" else "below", value=t.worst_loss),
        margin=t.margin,
        better=t.metric.better,
        family=Family(method="holm of the larger p", size=size, name=asked.question.family),
        basis=JUDGE_UNCHECKED if t.quality.judged else asked.basis,
        judged=t.quality.judged,
        missing=dict(t.quality.missing),
        notes=(*asked.notes, *t.quality.notes_at(level), *t.cost.notes_at(level)),
    )
