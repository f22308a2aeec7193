"""Which items of a scored pool to label next, and what the labels then say of the whole pool.

The paper's active rate (Theorem 12) lets the auditor ask at any confidence it likes. A pool of scored items is
finite, so this is stratified sampling in two phases: explore all confidences, then put labels where they tell most.
"""

import dataclasses
import math
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from richter.errors import InputError, TooFewErrors
from richter.floors._check import check_level
from richter.records import Interval, Shown
from richter.stats import Bools, Floats, Indices, ece_interval, wilson

__all__ = [
    "ActiveEstimate",
    "ActiveState",
    "active_estimate",
    "next_batch",
    "skipped_items",
    "start_active",
]


N_STRATA = 10
PILOT_SHARE = 0.3
MIN_LABELS_PER_STRATUM = 2  # a stratum's spread needs two labels


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ActiveState:
    """A pool of scored items with the labels so far: all that the next step depends on.

    `signal` orders items by how likely they are right (their confidence, or a judge's score); `labels` is 1 for
    right, 0 for wrong, NaN where nobody has looked. `budget` is the number of labels in all.
    """

    confidence: Floats
    signal: Floats
    labels: Floats
    barred: Bools  # items that nobody could label; they are not asked again
    budget: int
    seed: int
    strata: int = N_STRATA
    pilot_share: float = PILOT_SHARE

    @property
    def labelled(self) -> int:
        """Labels so far."""
        return int(np.sum(~np.isnan(self.labels)))

    @property
    def phase(self) -> Literal["explore", "exploit", "done"]:
        """Where the audit stands."""
        if self.labelled >= min(self.budget, len(self.labels)):
            return "done"
        return "explore" if self.labelled < _pilot_size(self) else "exploit"

    def with_labels(self, items: ArrayLike, labels: ArrayLike) -> "ActiveState":
        """The state after these items were labelled (1 right, 0 wrong; NaN: could not be, and is not asked again)."""
        places = np.asarray(items, dtype=np.intp)
        values = np.asarray(labels, dtype=np.float64)
        if values.shape != places.shape or not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
            raise InputError("Give one label of 0 or 1 per item.", remedy="Use NaN where none could be given.")
        new, barred = self.labels.copy(), self.barred.copy()
        new[places] = values
        barred[places] = np.isnan(values)
        return dataclasses.replace(self, labels=new, barred=barred)


def start_active(
    confidence: ArrayLike, *, budget: int, seed: int = 0, signal: ArrayLike | None = None, strata: int = N_STRATA
) -> ActiveState:
    """A pool without labels. `signal` defaults to the confidence; a judge's score is one too.

    >>> from richter.floors import start_active
    >>> start_active([0.5, 0.7, 0.9] * 20, budget=20).budget
    20
    """
    c = np.asarray(confidence, dtype=np.float64)
    s = c if signal is None else np.asarray(signal, dtype=np.float64)
    if c.ndim != 1 or len(c) == 0 or s.shape != c.shape:
        raise InputError("Give one confidence (and signal) per item.", remedy="The pool must not be empty.")
    if np.isnan(c).any() or np.isnan(s).any() or ((c < 0) | (c > 1)).any():
        raise InputError("A confidence is missing or outside [0, 1].", remedy="Leave such items out.")
    if not 1 <= budget <= len(c):
        raise InputError(f"A budget of {budget} labels does not fit a pool of {len(c)}.", remedy="Give 1 .. pool.")
    return ActiveState(
        confidence=c,
        signal=s,
        labels=np.full(len(c), np.nan),
        barred=np.zeros(len(c), dtype=bool),
        budget=budget,
        seed=seed,
        strata=max(1, min(strata, budget // (2 * MIN_LABELS_PER_STRATUM))),
    )


def _pilot_size(state: ActiveState) -> int:
    return min(state.budget, max(math.ceil(state.pilot_share * state.budget), MIN_LABELS_PER_STRATUM * state.strata))


def _cut_strata(state: ActiveState) -> Indices:
    """Equal-mass strata of the signal; ties are split by position, so that a constant signal still has strata."""
    order = np.argsort(state.signal, kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order)) * state.strata // len(order)
    return place


def _error_rates(state: ActiveState, place: Indices) -> Floats:
    """Each stratum's error rate: isotonic in the signal, from smoothed counts."""
    seen = ~np.isnan(state.labels)
    count = np.bincount(place[seen], minlength=state.strata).astype(np.float64)
    wrong = np.bincount(place[seen], weights=1 - state.labels[seen], minlength=state.strata)
    smooth = (wrong + 0.5) / (count + 1)
    fitted: Floats = scipy.optimize.isotonic_regression(smooth, weights=count + 1, increasing=False).x
    return fitted


def _order_of_asking(state: ActiveState) -> Indices:
    """The random order in which items are asked: fixed by the seed, whatever labels say."""
    return np.random.default_rng(state.seed).permutation(len(state.labels)).astype(np.intp)


def _first_in_order(place: Indices, rank: Indices, use: Bools, counts: Indices) -> Bools:
    """The first `counts` usable items of each stratum in the order of asking."""
    order = np.lexsort((rank, place))
    order = order[use[order]]
    stratum = place[order]
    number = np.arange(len(order)) - np.searchsorted(stratum, stratum)
    chosen = np.zeros(len(place), dtype=bool)
    chosen[order[number < counts[stratum]]] = True
    return chosen


def _plan_phase(state: ActiveState, place: Indices, rank: Indices) -> Bools:
    """The items that shall have labels at the end of the current phase.

    Explore: as many of each stratum as its share. Exploit: Neyman's N_s sigma_s, never below the pilot, at most N_s,
    from the pilot's labels alone. (Rates learned anew from every batch stop asking in strata that happened to look
    good, which left the error rate 4% too low.) sigma_s = sqrt(p (1 - p)) is shrunk halfway to the mean: a pilot's
    rates are rough, and a stratum starved of labels by a lucky pilot would cost more than Neyman gains.
    """
    use = ~state.barred
    size = np.bincount(place[use], minlength=state.strata).astype(np.intp)
    none = np.zeros(state.strata, dtype=np.intp)
    counts = _allocate(size.astype(np.float64), low=none, high=size, total=_pilot_size(state))
    pilot = _first_in_order(place, rank, use, counts)
    if state.phase == "explore":
        return pilot
    p = _error_rates(dataclasses.replace(state, labels=np.where(pilot, state.labels, np.nan)), place)
    sigma = np.sqrt(p * (1 - p))
    total = _allocate(size * (sigma + np.mean(sigma)) / 2, low=counts, high=size, total=state.budget)
    return _first_in_order(place, rank, use, total)


def _allocate(weight: Floats, *, low: Indices, high: Indices, total: int) -> Indices:
    """Whole numbers near proportional to `weight`, between low and high, that sum to total (or as near as can be)."""
    total = int(min(max(total, int(low.sum())), int(high.sum())))
    if total == 0 or not (weight > 0).any():
        return low
    below, above = 0.0, (total + 1) / max(float(np.min(weight[weight > 0])), 1e-12)
    for _ in range(80):  # the common factor at which the clipped shares sum to the total
        factor = (below + above) / 2
        if float(np.sum(np.clip(weight * factor, low, high))) < total:
            below = factor
        else:
            above = factor
    share = np.clip(weight * above, low, high)
    whole = np.clip(np.floor(share), low, high).astype(np.intp)
    for k in np.argsort(whole - share, kind="stable"):  # the largest remainders first
        if int(whole.sum()) >= total:
            break
        if whole[k] < high[k]:
            whole[k] += 1
    while int(whole.sum()) > total:
        whole[int(np.argmax(np.where(whole > low, whole - share, -np.inf)))] -= 1
    return whole


def next_batch(state: ActiveState, *, size: int | None = None) -> Indices:
    """The items to label next: up to `size`, by default all of the current phase. Empty when the budget is spent.

    The order of items is fixed by the seed; labels decide only, once the pilot is done, how many each stratum gets. So
    batches of any size ask the same items in the end, and an interrupted audit goes on as it would have. Items that
    nobody could label are replaced by others of their stratum, which is right if they are no easier or harder.

    >>> from richter.floors import next_batch, start_active
    >>> len(next_batch(start_active([0.5, 0.7, 0.9] * 20, budget=20))) <= 20
    True
    """
    room = min(state.budget, len(state.labels)) - state.labelled
    if room <= 0:
        return np.empty(0, dtype=np.intp)
    place, rank = _cut_strata(state), _order_of_asking(state)
    open_items = np.flatnonzero(_plan_phase(state, place, rank) & np.isnan(state.labels))
    if len(open_items) == 0:  # labels that nobody asked for stand where the plan has none
        open_items = np.flatnonzero(np.isnan(state.labels) & ~state.barred)
    batch = open_items[np.argsort(rank[open_items], kind="stable")]
    return batch[: min(room, len(batch) if size is None else size)]


def skipped_items(state: ActiveState) -> Indices:
    """Items without a label that were asked before others of their stratum that have one: passed over, it seems."""
    place, rank = _cut_strata(state), _order_of_asking(state)
    seen = ~np.isnan(state.labels)
    last = np.full(state.strata, -1, dtype=np.intp)
    np.maximum.at(last, place[seen], rank[seen])
    planned = _plan_phase(state, place, rank)
    return np.flatnonzero(planned & ~seen & ~state.barred & (rank < last[place])).astype(np.intp)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ActiveEstimate(Shown):
    """What the labels say of the pool: error rate and binned ECE with intervals for the pool's own values."""

    error_rate: float
    error_interval: Interval
    ece: float
    ece_debiased: float
    ece_interval: Interval
    labelled: int
    pool: int
    per_stratum: tuple[int, ...]
    level: float


def active_estimate(state: ActiveState, *, bins: int = 10, level: float = 0.95) -> ActiveEstimate:
    """The stratified estimates: each stratum's labels stand for its share of the pool.

    Error rate: sum over strata of N_s / N times the mean error there. Its interval is Wilson's at the number of
    independent labels that have the same variance; stratum variances use rates smoothed by two labels' worth of the
    isotonic fit, and the finite-pool factor closes the interval when the pool is labelled. ECE: per bin, D_b sums
    cells (stratum and bin) by their known sizes, s_b comes from the same smoothed rates, and `ece_interval` turns
    both into a debiased value and, with one error more in each bin, into an interval. The number of labels a stratum
    gets depends on the pilot's labels, which biases its mean by order 1 / n only.

    >>> from richter.floors import active_estimate, next_batch, start_active
    >>> import numpy as np
    >>> state, right = start_active([0.5, 0.7, 0.9] * 20, budget=40), np.tile([0.0, 1.0], 30)
    >>> batch = next_batch(state)
    >>> active_estimate(state.with_labels(batch, right[batch])).labelled == len(batch)
    True
    """
    check_level(level)
    place = _cut_strata(state)
    seen = ~np.isnan(state.labels)
    size = np.bincount(place, minlength=state.strata).astype(np.float64)
    count = np.bincount(place[seen], minlength=state.strata).astype(np.float64)
    if (count < 1).any():
        raise TooFewErrors(
            f"{int(np.sum(count < 1))} of {state.strata} strata have no label yet.",
            n=state.labelled,
            needed=_pilot_size(state),
            remedy="Label what next_batch asks for.",
        )
    total = len(state.labels)
    wrong = np.bincount(place[seen], weights=1 - state.labels[seen], minlength=state.strata)
    rate = float(np.sum(size / total * wrong / count))
    fitted = _error_rates(state, place)
    smooth = (wrong + 2 * fitted) / (count + 2)
    variance = np.sum((size / total) ** 2 * (1 - count / size) * smooth * (1 - smooth) / np.maximum(count - 1, 1))
    centre = float(np.sum(size / total * smooth))
    worth = max(centre * (1 - centre) / float(variance), 1.0) if variance > 0 else math.inf  # independent labels
    interval = Interval(low=rate, high=rate, level=level, method="stratified wilson")  # of a pool labelled in full
    if math.isfinite(worth):
        interval = dataclasses.replace(wilson(rate * worth, worth, level=level), method=interval.method)
    gap, error, wide = _bin_gaps(state, place, fitted, bins)
    debiased, ece_span = ece_interval(gap, error, level=level)[0], ece_interval(gap, wide, level=level)[1]
    return ActiveEstimate(
        error_rate=rate,
        error_interval=interval,
        ece=float(np.sum(np.abs(gap))),
        ece_debiased=debiased,
        ece_interval=ece_span,
        labelled=state.labelled,
        pool=total,
        per_stratum=tuple(int(c) for c in count),
        level=level,
    )


def _bin_gaps(state: ActiveState, place: Indices, fitted: Floats, bins: int) -> tuple[Floats, Floats, Floats]:
    """D_b = mean over the pool of (c - a) in bin b, with its standard error, for the bins that hold pool items.

    The confidences are known for the whole pool; only the share right in each cell is estimated. A cell without a
    label borrows its stratum's mean. The third is the standard error if one more of the bin's n labels were an error,
    its share of the pool squared over n^2 (at most 1 / 4) added to the variance: where errors are rare none may have
    been seen.
    """
    total = len(state.labels)
    seen = ~np.isnan(state.labels)
    index = np.minimum((state.confidence * bins + 1e-9).astype(np.intp), bins - 1)
    cell = place * bins + index
    cells = state.strata * bins
    size = np.bincount(cell, minlength=cells).astype(np.float64)
    count = np.bincount(cell[seen], minlength=cells).astype(np.float64)
    right = np.bincount(cell[seen], weights=state.labels[seen], minlength=cells)
    confidence = np.bincount(cell, weights=state.confidence, minlength=cells)
    stratum = np.repeat(np.arange(state.strata), bins)
    of_stratum = np.bincount(place[seen], minlength=state.strata)
    mean = np.bincount(place[seen], weights=state.labels[seen], minlength=state.strata) / of_stratum
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = np.where(count > 0, right / count, mean[stratum])
        smooth = (right + 2 * (1 - fitted[stratum])) / (count + 2)
        spread = np.maximum(size - count, 0) / size * smooth * (1 - smooth) / np.maximum(count, 1)
    variance = np.where(size > 0, (size / total) ** 2 * spread, 0.0)
    gap = (confidence - size * accuracy) / total
    bin_of = np.tile(np.arange(bins), state.strata)
    of_bin = (np.bincount(bin_of, weights=x, minlength=bins).astype(np.float64) for x in (size, count, gap, variance))
    whole, labels, gaps, spreads = of_bin
    held = whole > 0
    whole, labels, gaps, spreads = whole[held], labels[held], gaps[held], spreads[held]
    more = (whole / total) ** 2 * (whole - labels) / whole * np.minimum(1 / np.maximum(labels, 1) ** 2, 0.25)
    return gaps, np.sqrt(spreads), np.sqrt(spreads + more)
