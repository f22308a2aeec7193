"""One claim from several pieces of evidence: a suite of benchmarks, and a quality kept at a lower cost."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from richter.claims._decide import Question, asked, one_sided
from richter.claims._evidence import TYPICAL, Evidence, joint_freedom
from richter.claims._outcomes import Metric
from richter.errors import InputError
from richter.records import Claim, Family, Interval, Verdict
from richter.stats import holm

__all__ = ["Trade", "cheaper_and_no_worse", "check_weights", "suite_evidence"]


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
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    """Two conditions, the second minus the first: a quality that may fall by `margin` at most, and a cost."""

    conditions: tuple[str, str]
    quality: Evidence
    cost: Evidence
    metric: Metric
    cost_metric: Metric
    margin: float


def cheaper_and_no_worse(trades: Sequence[Trade], *, level: float = 0.95, tried: int = 1) -> tuple[Claim, ...]:
    """Is the second not worse by more than the margin **and** cheaper? One claim a pair.

    Both must hold, so the p-value is the larger of the two one-sided ones and no level is divided between them
    (intersection-union); several pairs are one Holm list. The printed intervals are those at 1 - 2 a at which both
    parts were decided. Where a typical item costs less and the sum is more, nothing is shown. Refuted where either part
    is shown to be false, each at half of a. `tried` divides 1 - `level`, and multiplies adjusted p-values.
    """
    p = []
    for t in trades:
        worse = -t.margin if t.metric.better == "higher" else t.margin
        quality = one_sided(t.quality, worse, above=t.metric.better == "higher")
        cost = 1.0 if t.cost.against else one_sided(t.cost, 0.0, above=t.cost_metric.better == "higher")
        p.append(max(quality, cost))
    adjusted = holm(p)
    order = sorted(range(len(trades)), key=lambda k: p[k])
    claims: dict[int, Claim] = {}
    left, going = len(trades), True
    for k in order:
        alpha = (1 - level) / tried / left
        claims[k] = _trade(trades[k], alpha, going, p[k], min(tried * float(adjusted[k]), 1.0), level, len(trades))
        going = going and claims[k].verdict is Verdict.VERIFIED
        left -= going
    return tuple(claims[k] for k in range(len(trades)))


def _trade(t: Trade, alpha: float, going: bool, p: float, adjusted: float, level: float, size: int) -> Claim:
    def ahead(x: float, metric: Metric) -> float:
        return x if metric.better == "higher" else -x

    quality, cost = t.quality.interval(1 - 2 * alpha), t.cost.interval(1 - 2 * alpha)
    kept = min(ahead(quality.low, t.metric), ahead(quality.high, t.metric)) > -t.margin
    saves = min(ahead(cost.low, t.cost_metric), ahead(cost.high, t.cost_metric)) > 0 and not t.cost.against
    far = [t.quality.interval(1 - alpha), t.cost.interval(1 - alpha)]
    lost = max(ahead(far[0].low, t.metric), ahead(far[0].high, t.metric)) < -t.margin
    dearer = max(ahead(far[1].low, t.cost_metric), ahead(far[1].high, t.cost_metric)) < 0
    verdict = Verdict.VERIFIED if going and kept and saves else Verdict.UNDECIDED
    if verdict is Verdict.UNDECIDED and (lost or dearer):
        verdict = Verdict.REFUTED
    first, second = t.conditions
    words = f"{second} is not {t.metric.worse_word} than {first} by more than {t.metric.amount(t.margin)}"
    words += f"{t.metric.suffix} and {t.cost_metric.better_word}"
    spans = f"{_span(t.quality, quality, t.metric)} and {_span(t.cost, cost, t.cost_metric)} on {t.quality.n:,} items"
    spans += t.cost.against
    if verdict is Verdict.UNDECIDED:
        lacking = [name for name, ok in ((t.metric.noun, kept), (t.cost_metric.noun, saves)) if not ok]
        words = f"Whether {words} is undecided" + (f" ({' and '.join(lacking)})" if lacking else "")
    elif verdict is Verdict.REFUTED:
        words = f"It is not so that {words}"
    judged = f", {t.quality.judged}" if t.quality.judged else ""
    worse = -t.margin if t.metric.better == "higher" else t.margin
    question = Question(
        metric=t.metric, conditions=t.conditions, evidence=t.quality, margin=t.margin, value=worse,
        relation="above" if t.metric.better == "higher" else "below"
    )  # fmt: skip
    return dataclasses.replace(
        asked(question, level=level),
        id="",  # of this measure
        measure=f"{t.metric.name} and {t.cost_metric.name}",
        verdict=verdict,
        sentence=f"{words}{judged}: {spans}.",
        interval=quality,
        p=p,
        p_adjusted=adjusted,
        family=Family(method="holm of the larger p", size=size),
        basis=t.quality.judged,
        notes=(*t.quality.notes, *t.cost.notes),
    )


def _span(evidence: Evidence, interval: Interval, metric: Metric) -> str:
    words = dataclasses.replace(metric, scale=100.0, suffix="%", digits=1) if evidence.relative else metric
    low, high = (words.amount(x, sign=True) if math.isfinite(x) else str(x) for x in (interval.low, interval.high))
    return (
        f"{words.noun} {words.amount(evidence.estimate, sign=True)} [{low}, {high}]{words.suffix}"
        + f" ({TYPICAL})" * evidence.relative
    )
