"""A condition's mean as people would label all its answers: labels on some answers, a judge's score on every one.

One estimator for every command: `correct_by_labels` for a condition, `correction_interval` and `correction_difference`
for limits. Regression on the judge's score where labels are many enough, parts with limits of their own where errors
are rare.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from richter._special import ndtri, stdtrit
from richter.errors import InputError
from richter.records import Interval
from richter.stats._arrays import Bools, Floats, Indices
from richter.stats._label_pools import (
    MIN_LABELS_PER_PART,
    LabelledPool,
    Side,
    check_labels,
    cut_by_score,
    label_weights,
    more_labels,
    pool_distances,
    pool_of_parts,
)

__all__ = [
    "LabelCorrection",
    "correct_by_labels",
    "correction_difference",
    "correction_interval",
    "with_more_labels",
]

MIN_EVENTS = 10  # labelled units of a stratum off either end of the scale below which errors are rare in it ..
MIN_FREQUENT_EVENTS = 5  # .. and as many where labels have levels between the ends, or where they are ..
FREQUENT = 1 / 7  # .. so large a share of labels that had one chance and a unit each: few, but not rare
UNSEEN_AT_END = 0.1  # of labels that a stratum has not shown lie at the scale's end, others as far off as residuals
MIN_DISAGREEMENTS = 10  # labels unlike the judge's score below which residuals say too little
UNSEEN_DISAGREEMENT = 0.5  # of the scale, by one label, that is then added to the error
MAX_LABEL_CORRELATION = 0.9  # of two conditions' labels on shared answers: one estimated from few events is not trusted
REGRESSION, PARTS = "labels, by regression on the judge's score", "labels, by parts of the judge's scores"
ONE_ERROR = 0.15865525393145707  # the normal's share beyond one standard error


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabelCorrection:
    """The mean label of all answers of one condition, and what each answer adds to its error.

    `known` are the answers with a label. `judged` is every answer's influence through its score, `labelled` through
    its label (0 where there is none), `item` what two conditions share and `unit` what varies independently. `floor` is
    the variance that is added where the judge errs too rarely for residuals to show it. `is_rare` are the answers of
    strata in which errors are rare; `pool` are their parts, from which their limits come (None where there are none).
    """

    low: float
    high: float
    estimate: float
    judge_only: float
    known: Bools
    judged: Floats
    labelled: Floats
    unit: Indices
    freedom: float
    floor: float
    needs_floor: bool
    is_rare: Bools
    pool: LabelledPool | None
    is_grouped: bool
    item: Indices

    @property
    def labels(self) -> int:
        """How many answers have a label."""
        return int(self.known.sum())

    @property
    def standard_error(self) -> float:
        """The half-width at one standard error, for sizing."""
        below, above = _reach(self, ONE_ERROR, side="both")
        return math.sqrt((below + above) / 2 + _judged_variance([self]))


def correct_by_labels(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    item: ArrayLike | None = None,
    low: float = 0.0,
    high: float = 4.0,
) -> LabelCorrection:
    """The mean label of all answers, by regression on the judge's score within the strata in which labels were drawn.

        estimate = sum_h W_h (ybar_h + b (F_h - fbar_h))

    with W_h a stratum's share, ybar_h and fbar_h the means of labels and scores of its labelled answers, F_h the mean
    score of all, and b one slope over strata, each weighed by W_h^2 / (n_h - 1). Residuals r are those of leverage
    h: a label adds g r / (1 - h) to the error (HC3), an answer its weight times (fitted - estimate). `human` is NaN
    where there is no label, `weight` what an answer counts for, `unit` what varies independently (by default the
    `item`, else every answer). `probability` is the chance of every label, where labels were not drawn by stratum:
    answers of one chance are a stratum where each has 5 labels, else labels weigh 1 / chance.

    A stratum with fewer than 10 labelled units off either end of [low, high] is cut further by the judge's score; its
    estimate is that of its parts, each with limits of its own (`pool_interval`). 5 units are enough where they are one
    in seven of the labels, and these had one chance and a unit each; and where labels have levels between the ends.
    Where a stratum of such levels has fewer, all keep the regression, and each has limits of its own as well: of labels
    y' = fitted mean + r / (1 - h) and of one not seen, as far off as the residuals of all strata (`_unseen`).
    """
    y, f = np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)
    check_labels(y, f, low, high)
    known = ~np.isnan(y)
    counts_for = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    code, chance = _design(known, strata, probability)
    items = np.arange(len(y)) if item is None else np.asarray(item)
    units = items if unit is None else np.asarray(unit)
    drawn = _Drawn(
        y=y, f=f, known=known, code=code, unit=units, share=counts_for / counts_for.sum(),
        stands=counts_for if chance is None else label_weights(counts_for, known, chance), low=low, high=high,
    )  # fmt: skip
    is_rare = drawn.rare_strata[drawn.code]
    fitted, labelled, gain = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))
    freedom, floor, needs_floor, pool = math.inf, 0.0, False, None
    if drawn.is_graded and is_rare.any() and drawn.has_labels_everywhere:
        drawn, is_rare = drawn.in_parts(), np.ones(len(y), dtype=bool)
        line = _regress(drawn)
        fitted, labelled, gain, pool = line.fitted, line.labelled, line.gain, _pool_of_residuals(drawn, line)
    elif not is_rare.all():
        line = _regress(drawn.part(~is_rare))
        fitted[~is_rare], labelled[~is_rare], gain[~is_rare] = line.fitted, line.labelled, line.gain
        freedom, floor, needs_floor = line.freedom, line.floor, line.needs_floor
    if is_rare.any() and pool is None:
        pool = _pool_of(drawn.part(is_rare))
        fitted[is_rare] = pool.mean[pool.part]
        labelled[is_rare], gain[is_rare] = _influence_of_labels(drawn.part(is_rare), pool)
    estimate = float(drawn.share @ fitted)
    is_grouped = len(np.unique(units)) < len(units)
    if is_grouped:
        freedom = min(freedom, _effective_units(gain[known], units[known]) - 1)
    return LabelCorrection(
        low=low, high=high, estimate=estimate, judge_only=float(drawn.share @ f), known=known,
        judged=drawn.share * (fitted - estimate), labelled=labelled, unit=units, freedom=freedom, floor=floor,
        needs_floor=needs_floor, is_rare=is_rare, pool=pool, is_grouped=is_grouped, item=items,
    )  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """Labels y, scores f, which answers have a label, each one's stratum, its share of all, and what a label weighs."""

    y: Floats
    f: Floats
    known: Bools
    code: Indices
    unit: Indices
    share: Floats
    stands: Floats
    low: float
    high: float

    def part(self, use: Bools) -> "_Drawn":
        """Some of the answers."""
        names = ("y", "f", "known", "unit", "share", "stands")
        code = np.unique(self.code[use], return_inverse=True)[1].astype(np.intp)
        return dataclasses.replace(self, code=code, **{name: getattr(self, name)[use] for name in names})

    @property
    def is_graded(self) -> bool:
        """Whether labels have levels between the ends: one alone is two people who disagree on right and wrong."""
        return len(np.unique(self.y[(self.y > self.low) & (self.y < self.high)])) > 1

    @property
    def has_labels_everywhere(self) -> bool:
        """Whether every stratum has a label."""
        return bool(np.bincount(self.code, weights=self.known).min() > 0)

    def in_parts(self) -> "_Drawn":
        """The answers in their strata; where there is only one, cut by the judge's score."""
        return self if self.code.any() else dataclasses.replace(self, code=cut_by_score(self.f, self.known))

    @property
    def rare_strata(self) -> Bools:
        """Of every stratum whether too few of its labelled units lie off either end of the scale for a regression."""
        strata = int(self.code.max()) + 1
        labels = np.bincount(self.code[self.known], minlength=strata)
        units, stands = self.unit[self.known], self.stands[self.known]
        are_alike = len(np.unique(units)) == len(units) and bool(np.ptp(stands) == 0)
        rare = np.zeros(strata, dtype=bool)
        for off in (self.y > self.low, self.y < self.high):
            events = np.unique(np.column_stack([self.code[off], self.unit[off]]), axis=0)[:, 0]
            number = np.bincount(events, minlength=strata)
            is_frequent = self.is_graded | (are_alike & (number >= FREQUENT * labels))
            rare |= number < np.where(is_frequent, MIN_FREQUENT_EVENTS, MIN_EVENTS)
        return rare


def _design(
    known: Bools, strata: ArrayLike | None, probability: ArrayLike | None
) -> tuple[Indices, ArrayLike | None]:  # fmt: skip
    """Each answer's stratum, and the chances that labels are weighed by where strata do not say them."""
    if strata is not None and probability is not None:
        raise InputError(
            "Both strata and probabilities were given.", remedy="Strata imply the probabilities; give one."
        )
    one = np.zeros(len(known), dtype=np.intp)
    if strata is not None:
        code = np.unique(np.asarray(strata), return_inverse=True)[1].astype(np.intp)
        if code.shape != known.shape:
            raise InputError(f"{len(code)} strata for {len(known)} answers.", remedy="Give each answer's stratum.")
        return code, None
    if probability is None:
        return one, None
    chance = np.broadcast_to(np.asarray(probability, dtype=np.float64), known.shape)
    label_weights(np.ones(len(known)), known, chance)  # refuses what is not a probability
    if np.isnan(chance).any():
        return one, chance
    code = np.unique(chance, return_inverse=True)[1].astype(np.intp)
    labels = np.bincount(code[known], minlength=int(code.max()) + 1)
    return (code, None) if (labels >= MIN_LABELS_PER_PART).all() else (one, chance)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """What one slope over strata gives: fitted labels, and of labels residual, influence and weight; its error."""

    fitted: Floats
    residual: Floats
    labelled: Floats
    gain: Floats
    freedom: float
    floor: float
    needs_floor: bool


def _regress(drawn: _Drawn) -> _Line:
    """Labels regressed on scores by one slope over strata."""
    rows = np.flatnonzero(drawn.known)
    y, f, code = drawn.y[rows], drawn.f[rows], drawn.code[rows]
    strata = int(drawn.code.max()) + 1

    def total(values: Floats, of: Indices) -> Floats:
        return np.bincount(of, weights=values, minlength=strata).astype(np.float64)

    part = total(drawn.share, drawn.code)  # W_h
    own = drawn.stands[rows] / total(drawn.stands[rows], code)[code]  # a label's weight in its stratum
    score, label = total(own * f, code), total(own * y, code)
    off, labels = f - score[code], total(np.ones(len(rows)), code)
    spare = np.maximum(labels - 1, 1.0)
    pull = (part**2 / spare)[code] * own
    spread = float(np.sum(pull * off**2))
    alone = np.where(own < 1.0, own, 0.0)  # a stratum's only label has no residual
    slope, leverage, turn = 0.0, alone, np.zeros(len(rows))
    varies = spread > 1e-18 * float(np.sum(pull)) * max(float(np.abs(f).max()), 1.0) ** 2  # else it is rounding
    if varies and float(np.max(alone + pull * off**2 / spread)) < 1 - 1e-9:
        slope = float(np.sum(pull * off * (y - label[code]))) / spread
        leverage = alone + pull * off**2 / spread
        shift = float(drawn.share @ drawn.f - part @ score)
        turn = shift * pull * off / spread
    weigh = part[code] * own
    residual, labelled, gain = np.zeros(len(drawn.y)), np.zeros(len(drawn.y)), np.zeros(len(drawn.y))
    residual[rows] = (y - label[code] - slope * off) / (1 - leverage)
    labelled[rows], gain[rows] = (weigh + turn) * residual[rows], weigh
    variance = total(labelled[rows] ** 2, code)
    freedom = float(variance.sum() ** 2 / np.sum(variance**2 / spare)) if variance.any() else float(spare.sum())
    return _Line(
        fitted=label[drawn.code] + slope * (drawn.f - score[drawn.code]),
        residual=residual,
        labelled=labelled,
        gain=gain,
        freedom=freedom - (slope != 0.0),
        floor=(UNSEEN_DISAGREEMENT * (drawn.high - drawn.low) * float(np.sum(weigh**2)) / float(part.sum())) ** 2,
        needs_floor=slope != 0.0 and int(np.sum(np.abs(y - f) > 1e-9)) < MIN_DISAGREEMENTS,
    )


def _effective_units(gain: Floats, unit: Indices) -> float:
    """How many units of equal share labels lie in."""
    carried = np.bincount(np.unique(unit, return_inverse=True)[1], weights=np.abs(gain))
    return round(float(carried.sum() ** 2 / np.sum(carried**2)), 9)  # whole where all are alike


def _pool_of(drawn: _Drawn) -> LabelledPool:
    """The strata in which errors are rare, cut by the judge's score; shares are those of all answers."""
    part = cut_by_score(drawn.f, drawn.known, drawn.code)
    pool = pool_of_parts(
        drawn.y, drawn.f, part, counts_for=drawn.share, stands=np.where(drawn.known, drawn.stands, 0.0),
        low=drawn.low, high=drawn.high,
    )  # fmt: skip
    return dataclasses.replace(pool, share=pool.share * float(drawn.share.sum()))


def _pool_of_residuals(drawn: _Drawn, line: _Line) -> LabelledPool:
    """The strata as parts, with labels as they would be at their stratum's mean score."""
    code, stands = drawn.code, np.where(drawn.known, drawn.stands, 0.0)
    middle = np.bincount(code, weights=drawn.share * line.fitted) / np.bincount(code, weights=drawn.share)
    mean = np.bincount(code, weights=stands * line.residual) / np.bincount(code, weights=stands)
    off = np.where(drawn.known, line.residual - mean[code], np.nan)
    y = middle[code] + off
    low, high = min(drawn.low, float(np.nanmin(y))), max(drawn.high, float(np.nanmax(y)))
    pool = pool_of_parts(y, drawn.f, code, counts_for=drawn.share, stands=stands, low=low, high=high)
    sides = [_unseen((middle - low) / (high - low), off[side] / (high - low), end)
             for side, end in ((off < 0, 0.0), (off > 0, 1.0))]  # fmt: skip
    return dataclasses.replace(pool, unseen=np.stack(sides, axis=1), takes_halves=False)


def _unseen(middle: Floats, off: Floats, end: float) -> Floats:
    """Mean and mean square of a label that a stratum has not shown: one in ten at the end, others off as residuals."""
    seen = np.clip(middle[:, None] + off, 0.0, 1.0) if len(off) else np.full((len(middle), 1), end)
    share = UNSEEN_AT_END
    return np.stack([(1 - share) * (seen**power).mean(axis=1) + share * end for power in (1, 2)])


def _influence_of_labels(drawn: _Drawn, pool: LabelledPool) -> tuple[Floats, Floats]:
    """What each label adds to the error of the parts' means, and what it weighs."""
    stands = np.where(drawn.known, drawn.stands, 0.0)
    held = np.bincount(pool.part, weights=stands, minlength=len(pool.mean))
    gain = (pool.share / np.where(held > 0, held, 1.0))[pool.part] * stands
    return gain * np.where(drawn.known, drawn.y - pool.mean[pool.part], 0.0), gain


# ------------------------------------------------------------------ limits


def _sums(values: Floats, codes: Indices, size: int) -> Floats:
    return np.bincount(codes, weights=values, minlength=size).astype(np.float64)


def _growth(sides: Sequence[LabelCorrection]) -> float:
    """G / (G - 1) for G units with labels, where units hold several answers."""
    if not any(side.is_grouped for side in sides):
        return 1.0
    units = len(np.unique(np.concatenate([side.unit[side.labelled != 0] for side in sides])))
    return units / max(units - 1, 1)


def _unit_variance(sides: Sequence[LabelCorrection], *, labels: bool, answers: bool, by_item: bool = False) -> float:
    """The sum over units (or items) of squared influences, the second condition's minus the first's."""
    codes = [side.item if by_item else side.unit for side in sides]
    sums = np.zeros(max(int(own.max()) for own in codes) + 1)
    for sign, side, own in zip((1, -1), sides[::-1], codes[::-1], strict=False):
        sums += sign * _sums(side.labelled * labels + side.judged * answers, own, len(sums))
    return (1.0 if by_item else _growth(sides)) * float(np.sum(sums**2))


def _judged_variance(sides: Sequence[LabelCorrection]) -> float:
    """The variance that comes with the answers themselves."""
    return _unit_variance(sides, labels=False, answers=True)


def _label_variance(sides: Sequence[LabelCorrection]) -> float:
    """The variance that labels add, by unit; where units are groups, no less than by item."""
    both = _unit_variance(sides, labels=True, answers=True)
    added = both - _unit_variance(sides, labels=False, answers=True)
    is_grouped = any(side.is_grouped for side in sides)
    return max(added, _unit_variance(sides, labels=True, answers=False, by_item=True) if is_grouped else 0.0)


def _only(one: LabelCorrection, use: Bools) -> LabelCorrection:
    """The correction with the labels of some answers alone."""
    return dataclasses.replace(one, labelled=np.where(use, one.labelled, 0.0))


def _reach(one: LabelCorrection, tail: float, *, side: Side) -> tuple[float, float]:
    """The squared distances of one condition's limits from its estimate, below and above, from labels alone."""
    t = float(stdtrit(max(one.freedom, 1.0), 1 - tail))
    extra = one.floor if one.needs_floor or side == "exact" else 0.0
    own = _only(one, ~one.is_rare)
    variance, skewed = _label_variance([own]) + extra, 0.0 if side == "both" else _skewness(own.labelled)
    regular = [variance * (t + max(sign * skewed, 0.0) * (2 * t**2 + 1) / 6) ** 2 for sign in (-1, 1)]
    if one.pool is not None:
        regular = [a + b for a, b in zip(regular, _reach_of_rare(one, one.pool, tail, side), strict=True)]
    return regular[0], regular[1]


def _skewness(influence: Floats) -> float:
    """The skewness of a sum of influences: few large ones on one side are missed more often than they are seen."""
    square = float(np.sum(influence**2))
    return float(np.sum(influence**3)) / square**1.5 if square > 0 else 0.0


def _reach_of_rare(one: LabelCorrection, pool: LabelledPool, tail: float, side: Side) -> tuple[float, float]:
    """The squared distances that strata with rare errors add, their labels divided by the design effect."""
    effect = 1.0
    if one.is_grouped:
        rare = _only(one, one.is_rare)
        alone = float(np.sum(rare.labelled**2))
        inside = one.known & one.is_rare
        worth = _effective_units(np.ones(int(inside.sum())), one.unit[inside])  # labels that agree vary with units
        effect = _label_variance([rare]) / alone if alone > 0 else inside.sum() / worth
    freedom = one.freedom if one.is_grouped else math.inf
    n = pool.n / (max(float(effect), 1.0) * _inflation(freedom, tail))
    return pool_distances(dataclasses.replace(pool, n=n), tail, side=side)


def _inflation(freedom: float, tail: float) -> float:
    """(t / z)^2 at these degrees of freedom."""
    return 1.0 if math.isinf(freedom) else float(stdtrit(max(freedom, 1.0), 1 - tail) / ndtri(1 - tail)) ** 2


def _tail(level: float, side: Side) -> float:
    return (1 - level) / 2 if side in ("both", "exact") else 1 - level


def _clip(low: float, high: float, ends: tuple[float, float], level: float, side: Side, method: str) -> Interval:
    return Interval(
        low=ends[0] if side == "upper" else max(low, ends[0]),
        high=ends[1] if side == "lower" else min(high, ends[1]),
        level=level,
        method=method,
    )


def correction_interval(one: LabelCorrection, *, level: float = 0.95, side: Side = "both") -> Interval:
    """Limits of the mean label of such answers.

    By regression: Student's t times the root of the summed squares of units' influences. Of rare errors:
    `pool_interval` with effective labels divided by their design effect. "exact" adds the floor that rare mistakes of
    a judge ask for, or takes Clopper and Pearson's limits; with "lower" and "upper" that limit holds alone at `level`.
    """
    tail = _tail(level, side)
    below, above = _reach(one, tail, side=side)
    between = _judged_variance([one]) * float(ndtri(1 - tail)) ** 2 * _inflation(one.freedom, tail)
    method = REGRESSION if one.pool is None else PARTS
    low, high = one.estimate - math.sqrt(below + between), one.estimate + math.sqrt(above + between)
    return _clip(low, high, (one.low, one.high), level, side, method)


def correction_difference(
    first: LabelCorrection, second: LabelCorrection, *, level: float = 0.95, side: Side = "both"
) -> Interval:
    """Limits of the second's mean minus the first's, whatever labels they share; units of both have one numbering.

    Both by regression: t times the root of the summed squares of units' differences in influence. Else by MOVER of the
    two (Zou and Donner 2008), with the correlation of their labels on shared units.
    """
    tail, sides = _tail(level, side), (first, second)
    middle, freedom = second.estimate - first.estimate, min(first.freedom, second.freedom)
    ends = second.low - first.high, second.high - first.low
    between = _judged_variance(sides) * float(ndtri(1 - tail)) ** 2 * _inflation(freedom, tail)
    if first.pool is None and second.pool is None:
        t = float(stdtrit(max(freedom, 1.0), 1 - tail))
        extra = sum(s.floor for s in sides if s.needs_floor or side == "exact")
        reach = math.sqrt(t**2 * (_label_variance(sides) + extra) + between)
        return _clip(middle - reach, middle + reach, ends, level, side, REGRESSION)
    (low_a, high_a), (low_b, high_b) = (_reach(s, tail, side=side) for s in sides)
    shared = _label_correlation(first, second)
    below = low_b + high_a - 2 * shared * math.sqrt(low_b * high_a) + between
    above = high_b + low_a - 2 * shared * math.sqrt(high_b * low_a) + between
    return _clip(middle - math.sqrt(below), middle + math.sqrt(above), ends, level, side, PARTS)


def _label_correlation(first: LabelCorrection, second: LabelCorrection) -> float:
    """The correlation of two conditions' label influences over units; 0 where no unit has labels of both."""
    size = max(int(first.unit.max()), int(second.unit.max())) + 1
    a, b = (_sums(one.labelled, one.unit, size) for one in (first, second))
    scale = math.sqrt(float(np.sum(a**2)) * float(np.sum(b**2)))
    return min(float(np.sum(a * b)) / scale, MAX_LABEL_CORRELATION) if scale > 0 else 0.0


def with_more_labels(sides: Sequence[LabelCorrection], extra: int) -> list[LabelCorrection]:
    """The corrections as they would be with so many more labels of the same kind, dealt as labels lie now."""
    if extra <= 0:
        return list(sides)
    share, found = 1 + extra / sum(side.labels for side in sides), []
    for side in sides:
        changes: dict = {"labelled": side.labelled / math.sqrt(share), "floor": side.floor / share**2}  # type: ignore[type-arg]
        changes["freedom"] = side.freedom * share
        if side.pool is not None:
            changes["pool"] = more_labels([side.pool], round(side.labels * (share - 1)))[0]
        found.append(dataclasses.replace(side, **changes))
    return found
