"""Evidence as people would grade: every answer's grade by a judge, corrected by human labels on some of them."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from richter.claims._evidence import Evidence
from richter.claims._outcomes import Codes, Floats, Metric
from richter.errors import InputError
from richter.records import Interval
from richter.stats import LabelledPool, labelled_pool, more_labels, pool_difference, pool_interval

MORE = 50  # labels whose worth is said
KINDER = 0.05  # of the scale: how much kinder to one side a judge is taken to be where nobody checked it


def enough_labels(label: Floats | None, columns: tuple[int, ...]) -> bool:
    """Whether every condition has the two labels without which nothing is corrected."""
    return label is not None and all(int((~np.isnan(label[:, k])).sum()) >= 2 for k in columns)


def _pool(metric: Metric, value: Floats, label: Floats, layer: Codes | None) -> LabelledPool:
    low, high = metric.low, metric.high
    if low is None or high is None:
        raise InputError(f"{metric.noun} has no range.", remedy="Labels correct rates, severities and bounded scores.")
    return labelled_pool(label, value, strata=layer, low=low, high=high)


def _words(metric: Metric, pools: list[LabelledPool], own: Evidence, half: Callable[[int], float], drawn: bool) -> str:
    """How many labels, how drawn, what the judge alone says, and what more labels would buy."""
    labels, span = sum(int(p.count.sum()) for p in pools), own.interval(0.95)
    how = "drawn by stratum" if drawn else "taken as a random sample, since how they were drawn is not known"
    now, then = half(0), half(MORE)
    return (
        f"corrected by {labels:,} human labels ({how}); as it was graded: {metric.amount(own.estimate, sign=True)} "
        f"[{metric.amount(span.low, sign=True)}, {metric.amount(span.high, sign=True)}]{metric.suffix}; {MORE} more "
        f"labels would narrow it from ±{metric.amount(now)} to about ±{metric.amount(then)}{metric.suffix}"
    )


def corrected_mean(
    metric: Metric, value: Floats, label: Floats, layer: Codes | None, own: Evidence, *, these: bool, exact: bool
) -> Evidence:
    """One condition's mean of people's labels over all its answers; `own` is the judge's evidence, said beside it."""
    pool = _pool(metric, value, label, layer)

    def interval(level: float, of: LabelledPool = pool) -> Interval:
        return pool_interval(
            of, level=level, side="exact" if exact else "both", target="pool" if these else "population"
        )

    def half(extra: int) -> float:
        return interval(0.95, more_labels([pool], extra)[0]).half_width

    note = _words(metric, [pool], own, half, layer is not None)
    return Evidence(
        estimate=pool.estimate,
        interval=interval,
        values=(pool.estimate,),
        n=len(value),
        units=int(pool.count.sum()),
        labels=int(pool.count.sum()),
        notes=(*own.notes, note),
    )


def corrected_difference(
    metric: Metric,
    values: tuple[Floats, Floats],
    labels: tuple[Floats, Floats],
    layers: tuple[Codes, Codes] | None,
    own: Evidence,
    *,
    these: bool,
    exact: bool,
) -> Evidence:
    """The second condition's mean label minus the first's, on shared items; `own` is the judge's evidence.

    Where the same items are labelled for both and no strata are known, the items' own differences are corrected,
    which keeps the pairing; else the two conditions' labels are combined by MOVER.
    """
    target = "pool" if these else "population"
    side = "exact" if exact else "both"
    paired = layers is None and np.array_equal(np.isnan(labels[0]), np.isnan(labels[1]))
    if paired:
        span = (metric.high or 0.0) - (metric.low or 0.0)
        both = labelled_pool(labels[1] - labels[0], values[1] - values[0], low=-span, high=span)
        pools, means = [both], [float(np.nanmean(y)) for y in labels]

        def limits(of: list[LabelledPool], level: float) -> Interval:
            return pool_interval(of[0], level=level, side=side, target=target)  # type: ignore[arg-type]

        estimate = both.estimate
    else:
        first, second = layers if layers is not None else (None, None)
        pools = [
            _pool(metric, values[0], labels[0], first),
            _pool(metric, values[1], labels[1], second),
        ]
        means = [p.estimate for p in pools]
        estimate = means[1] - means[0]

        def limits(of: list[LabelledPool], level: float) -> Interval:
            return pool_difference(of[0], of[1], level=level, side=side, same_items=True, target=target)  # type: ignore[arg-type]

    def half(extra: int) -> float:
        return limits(more_labels(pools, extra), 0.95).half_width

    note = _words(metric, pools, own, half, layers is not None)
    return Evidence(
        estimate=estimate,
        interval=lambda level: limits(pools, level),
        values=tuple(means),
        n=len(values[0]),
        units=sum(int(p.count.sum()) for p in pools),
        labels=sum(int(p.count.sum()) for p in pools),
        notes=(*own.notes, note),
    )


def if_kinder(metric: Metric, interval: Interval, shown: bool) -> str:
    """What a judge that is kinder to one side by `KINDER` of the scale would do to a difference nobody checked."""
    if metric.low is None or metric.high is None or not math.isfinite(metric.high - metric.low):
        return ""
    points = KINDER * (metric.high - metric.low)
    nearest = min(abs(interval.low), abs(interval.high)) if interval.low * interval.high > 0 else 0.0
    amount = f"{metric.amount(points)}{metric.suffix}"
    if not shown:
        return f"judges graded and no person checked them: one {amount} kinder to one side would move this by as much"
    if nearest > points:
        return f"judges graded and no person checked them: one {amount} kinder to one side would not undo this"
    return (
        f"judges graded and no person checked them: one {amount} kinder to one side, which is usual, would suffice to "
        "show this; label some answers (richter label)"
    )


def label_matrix(
    shape: tuple[int, int], item: Codes, condition: Codes, values: NDArray[np.float64] | Codes | None
) -> NDArray[np.float64] | None:
    """Rows as items x conditions; NaN where there is none."""
    if values is None:
        return None
    found = np.full(shape, np.nan)
    found[item, condition] = values
    return found
