"""Rare errors from labels: answers cut into parts in which labels are a random sample, limits by part (MOVER)."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from richter._special import betaincinv, ndtri
from richter.errors import InputError, TooFewErrors
from richter.records import Interval, counted
from richter.stats._arrays import Bools, Floats, Indices

__all__ = ["LabelledPool", "Side", "labelled_pool", "more_labels", "pool_interval"]

Side = Literal["both", "exact", "lower", "upper"]

MIN_LABELS = 2  # labels without which nothing is said
MIN_LABELS_PER_PART = 5  # labels that a part of a random sample has at least
MAX_PARTS = 5  # parts into which a random sample is cut at most
MORE_AT_END = 1 / 9  # of unseen labels that do not lie at the end a requirement's limit takes there too: 10% become 20%
END = np.array([[[0.0], [1.0]]])  # of the scale, below and above


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPool:
    """Answers cut into parts in which labels are a random sample: each part's share, labels, mean and mean square.

    Labels lie in [low, high]. `n` are effective labels (fewer than `count` where labels in a part weigh differently).
    A part without labels has the judge's own mean and knows nothing of people's. `part` is every answer's part, and
    `unseen` mean and mean square, in parts of the range, of a lower and of a higher label that a part has not shown.
    """

    low: float
    high: float
    part: Indices
    share: Floats
    size: Floats
    count: Floats
    n: Floats
    mean: Floats
    square: Floats
    unseen: Floats
    judge_only: float
    takes_halves: bool = True  # two-sided limits take half of either unseen label, not the far one

    @property
    def estimate(self) -> float:
        """The sum of shares times means."""
        return float(self.share @ self.mean)


def check_labels(y: Floats, f: Floats, low: float, high: float) -> None:
    """Refuse labels and scores that do not match, that are too few, or off the scale."""
    if y.ndim != 1 or y.shape != f.shape:
        raise InputError(
            f"Human labels and judge scores have shapes {y.shape} and {f.shape}.",
            remedy="Give one row per answer, the human label NaN where there is none.",
        )
    if np.isnan(f).any():
        raise InputError(
            f"{int(np.isnan(f).sum())} answers have no judge score.",
            remedy="Leave answers without a judge score out, and report how many; the correction needs one for each.",
        )
    labels = y[~np.isnan(y)]
    if len(labels) < MIN_LABELS:
        raise TooFewErrors(
            f"{counted(len(labels), 'answer has', 'answers have')} a human label.", n=len(labels), needed=MIN_LABELS
        )
    if (labels < low).any() or (labels > high).any():
        raise InputError(f"A label is outside [{low:g}, {high:g}].", remedy="Use one scale for all labels.")


def label_weights(counts_for: Floats, labelled: Bools, probability: ArrayLike) -> Floats:
    """What each label stands for: its answer's weight over the chance that it had of being labelled."""
    chance = np.broadcast_to(np.asarray(probability, dtype=np.float64), labelled.shape)
    given = chance[labelled]
    if np.isnan(given).any() or (given <= 0).any() or (given > 1).any():
        raise InputError(
            "An inclusion probability is not in (0, 1].", remedy="Give the chance each labelled answer had."
        )
    return np.where(labelled, counts_for / np.where(labelled, chance, 1.0), 0.0)


def labelled_pool(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    low: float = 0.0,
    high: float = 4.0,
) -> LabelledPool:
    """The answers cut into parts: by the `strata` in which labels were drawn, else by the judge's score.

    `human` is NaN where there is no label, and `weight` what each answer counts for (1 where none is given). Without
    strata labels are taken as a simple random sample (or one with inclusion `probability` for each answer) and the
    cuts lie between the judge's scores, from the top, so that each part has at least 5 labels: by how many labels
    there are, never by what they say.
    """
    y, f = np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)
    check_labels(y, f, low, high)
    labelled = ~np.isnan(y)
    counts_for = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    stands = counts_for if probability is None else label_weights(counts_for, labelled, probability)
    if strata is not None:
        part = np.unique(np.asarray(strata), return_inverse=True)[1].astype(np.intp)
        if part.shape != y.shape:
            raise InputError(f"{len(part)} strata for {len(y)} answers.", remedy="Give each answer's stratum.")
    else:
        part = cut_by_score(f, labelled)
    return pool_of_parts(y, f, part, counts_for=counts_for, stands=stands, low=low, high=high)


def pool_of_parts(
    y: Floats, f: Floats, part: Indices, *, counts_for: Floats, stands: Floats, low: float, high: float
) -> LabelledPool:
    """The pool of labels y and scores f of these parts; a label that a part has not shown lies at an end."""
    labelled, parts = ~np.isnan(y), int(part.max()) + 1

    def total(values: Floats, rows: Bools | None = None) -> Floats:
        chosen = slice(None) if rows is None else rows
        return np.bincount(part[chosen], weights=values[chosen], minlength=parts).astype(np.float64)

    size, count, mass = total(np.ones(len(y))), total(labelled.astype(np.float64)), total(counts_for)
    known, filled = count > 0, np.where(labelled, y, 0.0)
    of = np.where(known, total(stands, labelled), 1.0)
    scale = (high - low) or 1.0
    own = np.clip(total(counts_for * f) / mass, low, high)
    mean = np.where(known, total(stands * filled, labelled) / of, own)
    square = np.where(known, total(stands * ((filled - low) / scale) ** 2, labelled) / of, ((own - low) / scale) ** 2)
    n = np.where(known, of**2 / np.where(known, total(stands**2, labelled), 1.0), 0.0)
    return LabelledPool(
        low=low, high=high, part=part, share=mass / np.sum(mass), size=size, count=count, n=n, mean=mean, square=square,
        unseen=END.repeat(2, axis=0).repeat(parts, axis=2),
        judge_only=float(np.average(f, weights=counts_for)),
    )  # fmt: skip


def cut_by_score(judge: Floats, labelled: Bools, strata: Indices | None = None) -> Indices:
    """Parts of the strata (without them, of all answers) between the judge's scores, with enough labels each."""
    part = np.zeros(len(judge), dtype=np.intp)
    codes = np.zeros(len(judge), dtype=np.intp) if strata is None else strata
    first = 0
    for code in range(int(codes.max()) + 1):
        own = np.flatnonzero(codes == code)
        if len(own):
            part[own] = first + _cut_one(judge[own], labelled[own])
            first = int(part[own].max()) + 1
    return part


def _cut_one(judge: Floats, labelled: Bools) -> Indices:
    """Parts between the judge's distinct scores, the highest first, each with enough labels."""
    values, place = np.unique(-judge, return_inverse=True)
    counts = np.bincount(place[labelled], minlength=len(values))
    need = max(MIN_LABELS_PER_PART, int(labelled.sum()) // MAX_PARTS)
    part = np.zeros(len(values), dtype=np.intp)
    left, n_labels, name = int(counts.sum()), 0, 0
    for k, count in enumerate(counts):
        part[k] = name
        n_labels, left = n_labels + int(count), left - int(count)
        if n_labels >= need and left >= need:
            n_labels, name = 0, name + 1
    return part[place.ravel()]


def _distances(pool: LabelledPool, tail: float, *, side: Side) -> tuple[Floats, Floats]:
    """How far each part's lower and upper limit is from its mean, at one-sided error `tail`.

    Limits are those of a Beta on [low, high] with the mean and variance that labels and `unseen` ones have: where these
    lie at the ends, half a one at either is Jeffreys' interval for a rate, a whole one at the far end Clopper and
    Pearson's. Of labels that are taken to lie as far off as residuals, a requirement's limit puts more at the end.
    """
    scale = (pool.high - pool.low) or 1.0
    mean = (pool.mean - pool.low) / scale
    distances = []
    for q, ends in ((tail, (1.0, 0.0)), (1 - tail, (0.0, 1.0))):
        bottom, top = (0.5, 0.5) if side == "both" and pool.takes_halves else ends
        total = pool.n + bottom + top
        unseen = pool.unseen if side == "both" else (1 - MORE_AT_END) * pool.unseen + MORE_AT_END * END
        centre, square = (
            (pool.n * own + bottom * lower + top * higher) / total
            for own, (lower, higher) in zip((mean, pool.square), unseen, strict=True)
        )
        spread = np.maximum(square - centre**2, 1e-12) / (total + 1)
        weight = np.maximum(centre * (1 - centre) / spread - 1, 1e-9)
        with np.errstate(invalid="ignore"):
            limit = betaincinv(np.maximum(centre * weight, 1e-12), np.maximum((1 - centre) * weight, 1e-12), q)
        limit = np.where((mean <= 0) & (q < 0.5), 0.0, np.where((mean >= 1) & (q > 0.5), 1.0, limit))
        distances.append(np.where(pool.count > 0, limit, float(q > 0.5)))
    return scale * np.maximum(mean - distances[0], 0.0), scale * np.maximum(distances[1] - mean, 0.0)


def pool_distances(pool: LabelledPool, tail: float, *, side: Side) -> tuple[float, float]:
    """The sums of squared distances below and above, weighed by the parts' shares."""
    below, above = _distances(pool, tail, side=side)
    return float(np.sum(pool.share**2 * below**2)), float(np.sum(pool.share**2 * above**2))


def pool_interval(pool: LabelledPool, *, level: float = 0.95, side: Side = "both") -> Interval:
    """Limits of the mean label of such answers, by MOVER over the parts (Zou and Donner 2008).

        low = m - sqrt(sum W_h^2 (m_h - l_h)^2 + V),  high = m + sqrt(sum W_h^2 (u_h - m_h)^2 + V)

    with W_h a part's share, (l_h, u_h) its own limits (Jeffreys' where both sides are asked for, Clopper and Pearson's
    for one) and V = z^2 sum W_h (m_h - m)^2 / N. Never of zero width. With `side` "lower" or "upper" that limit holds
    alone at `level`; the other is the end of the scale. "exact" is both of these at once, each with half of the error.
    """
    tail = (1 - level) / 2 if side in ("both", "exact") else 1 - level
    middle = pool.estimate
    below, above = pool_distances(pool, tail, side=side)
    between = float(ndtri(1 - tail)) ** 2 * float(pool.share @ (pool.mean - middle) ** 2) / float(pool.size.sum())
    low, high = middle - math.sqrt(below + between), middle + math.sqrt(above + between)
    return Interval(
        low=pool.low if side == "upper" else max(low, pool.low),
        high=pool.high if side == "lower" else min(high, pool.high),
        level=level,
        method="stratified, Jeffreys" if side == "both" else "stratified, Clopper-Pearson",
    )


def more_labels(pools: Sequence[LabelledPool], extra: int) -> list[LabelledPool]:
    """The pools as they would be with so many more labels of the same kind, dealt where they narrow most.

    A tenth of them at a time goes to the part with the largest W_h^2 (d_h^2 - d_h'^2), d_h being the mean distance
    of its limits now and d_h' with them: about W_h d_h / n_h. `count` says how many of each part that makes.
    """
    left, step = extra, max(1, extra // 10)
    labels = [(p.n.copy(), p.count.copy()) for p in pools]
    tail = 0.15865525393145707
    while left > 0:
        best, place, step = -1.0, (0, 0), min(step, left)
        for k, pool in enumerate(pools):
            n, count = labels[k]
            now = dataclasses.replace(pool, n=n, count=np.maximum(count, 1e-9))
            room = np.minimum(step, pool.size - count)
            one = dataclasses.replace(now, n=n + np.maximum(room, 0.0))
            gain = np.zeros(len(n))
            for a, b in zip(_distances(now, tail, side="both"), _distances(one, tail, side="both"), strict=True):
                gain += pool.share**2 * (a**2 - b**2)
            gain[room < 1] = -1.0
            if gain.max() > best:
                best, place = float(gain.max()), (k, int(gain.argmax()))
        if best <= 0:
            break
        k, h = place
        given = min(step, int(pools[k].size[h] - labels[k][1][h]))
        labels[k][0][h] += given
        labels[k][1][h] += given
        left -= given
    return [dataclasses.replace(p, n=n, count=count) for p, (n, count) in zip(pools, labels, strict=True)]
