"""Is the model miscalibrated at all? Three tests of one null, combined; in which way; and how many labels show it."""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike

from richter._special import ndtri
from richter.claims import ece_evidence, ece_side
from richter.errors import InputError
from richter.records import Result, counted
from richter.stats import Bools, Floats, Indices, bin_gaps, ece

__all__ = ["BadBin", "Miscalibration", "PhasePoint", "miscalibration", "phase_transition"]


LOGIT_CLIP = 1e-6  # 0 and 1 have no logit: there they count as this far from it
ROUNDED = 1e-3  # a stated 0 or 1 may be rounded by as much
NEGLIGIBLE_SUM = 1e-9  # a sum of gaps below this is rounding
_FIRST_RESAMPLES = 999  # simulated tables before it is known whether more are worth it
_CLEAR_P = 0.02  # above this p the first ones decide
_CELLS_AT_A_TIME = 4_000_000  # cells simulated at a time
_CELLS_IN_CACHE = 200_000  # of them made in one piece where the pieces do not change the random numbers
_MIN_UNITS = 5  # units, below which nothing is said


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BadBin:
    """Neighbouring bins of confidence in which the model is shown to be too sure (gap > 0) or not sure enough."""

    low: float
    high: float
    gap: float
    n: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Miscalibration:
    """The omnibus test and its parts; p-values are of being calibrated, E[correct | confidence] = confidence.

    `mean_gap` is mean confidence minus accuracy. `temperature` above 1 says that confidences are too extreme: the
    logit divided by it fits best; None where answers are all right or all wrong. `bad_bins` are those whose own gap is
    beyond what the largest of all bins shows by chance in 5%. `resolution` is the smallest p that was possible.
    """

    p: float
    p_large: float
    p_cox: float
    p_bins: float
    mean_gap: float
    temperature: float | None
    bad_bins: tuple[BadBin, ...]
    n: int
    units: int
    n_resamples: int
    null: str

    @property
    def resolution(self) -> float:
        """The smallest p-value that this many simulated tables can give."""
        return 1 / (self.n_resamples + 1)

    @property
    def what(self) -> str:
        """What is wrong in the model's terms; empty where no part is shown by itself.

        It describes a verdict that `decide` gave: a part is named where its own p-value is at most 5%.
        """
        parts = []
        if self.p_large <= 0.05:
            side = "too sure" if self.mean_gap > 0 else "not sure enough"
            points = 100 * abs(self.mean_gap)
            amount = f"{points:.0f}" if points > 1 else f"{points:.1f}" if points >= 0.05 else "under 0.1"
            parts.append(f"{amount} points {side} on average")
        parts += [_describe_bin(bad) for bad in self.bad_bins]
        if not self.bad_bins and self.p_cox <= 0.05 and self.temperature is not None:
            extreme = "too extreme" if self.temperature > 1 else "too timid"
            parts.append(f"its confidences are {extreme} (temperature {self.temperature:.2g})")
        return "; ".join(parts)


def _describe_bin(bad: BadBin) -> str:
    side = "too sure" if bad.gap > 0 else "not sure enough"
    if bad.high >= 1:
        return f"{side} when it says above {100 * bad.low:.0f}%"
    if bad.low <= 0:
        return f"{side} when it says below {100 * bad.high:.0f}%"
    return f"{side} when it says {100 * bad.low:.0f} to {100 * bad.high:.0f}%"


def miscalibration(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    unit: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    bins: int = 10,
    n_resamples: int = 9999,
) -> Miscalibration:
    """The test of whether a model is calibrated, against every usual way of not being so.

    Of x = c - a: calibration in the large, |sum x| / sd; Cox's regression of a on logit(c), by the score test of
    intercept 0 and slope 1 (the limit of its likelihood ratio, and defined where all answers are right); the largest
    |sum of x in a bin| / sd. sd is the null's, and in a bin one answer is added to its variance, so that bins of
    hardly any information cannot be the largest. Confidences count as stated, but for exact 0 and 1, which may be
    rounded: they count as the share of their answers that are right, up to 0.001 away. Each becomes a p-value by its
    rank among simulated tables, the three are combined by Cauchy's sum of tan((1/2 - p) pi) over p <= 1/2 (a p near 1
    would cancel a small one), and the combination by its rank again: with rows that vary
    independently given c the test is exact, being simulated from a ~ Bernoulli(c).

    `unit` names what varies independently where that is not the row (`weight`: what a row counts for). Then tables
    are simulated with answers that correlate within a unit as far as the observed ones do (a Gaussian copula), and
    again by flipping the signs of unit sums, with sds from the same sums. Flips assume no form of dependence but ask
    for symmetry, which the copula does not: p is the larger of the two. After 999 tables more are drawn only where p is
    under 0.02.

    >>> from richter.calibration import miscalibration
    >>> import numpy as np
    >>> confidence, correct = [0.6] * 50 + [0.9] * 50, [1, 0] * 25 + [1] * 45 + [0] * 5
    >>> miscalibration(confidence, correct, rng=np.random.default_rng(0), n_resamples=99).p > 0.05
    True
    """
    gaps = bin_gaps(confidence, correct, bins=bins)  # checks the input
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    p, n = _undo_rounding(c, a), len(c)
    inside = np.clip(p, LOGIT_CLIP, 1 - LOGIT_CLIP)
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64) * n / np.sum(weight)
    columns = np.zeros((n, 2 + len(gaps.gap)))
    columns[:, 0] = w
    columns[:, 1] = w * np.log(inside / (1 - inside))
    columns[np.arange(n), 2 + gaps.index] = w
    units = n if unit is None else len(np.unique(np.asarray(unit)))
    if units < _MIN_UNITS:
        raise InputError(
            f"{counted(units, 'unit is', 'units are')} too few to test calibration.",
            remedy=f"At least {_MIN_UNITS} are needed.",
        )
    added = float(np.mean(w**2))
    seen = (p - a) @ columns
    null = "simulated from the confidences"
    if unit is None:
        first = _Null(columns.T @ (columns * (p * (1 - p))[:, None]), added=added)

        def answers(size: int) -> Floats:
            sums_of_x = np.empty((size, columns.shape[1]))
            drawn = np.empty((max(_CELLS_IN_CACHE // n, 1), n))
            for start in range(0, size, len(drawn)):
                x = drawn[: size - start]
                rng.random(out=x)
                np.subtract(p, x < p, out=x)
                np.matmul(x, columns, out=sums_of_x[start : start + len(x)])
            return sums_of_x

        p_values = _rank_p_values(first, seen, answers, n, n_resamples)
    else:
        row = np.unique(np.asarray(unit), return_inverse=True)[1]
        z, shared = ndtri(inside), _correlation(inside, p - a, row)

        def alike(size: int) -> Floats:
            latent = math.sqrt(shared) * rng.standard_normal((size, units))[:, row]
            latent += math.sqrt(1 - shared) * rng.standard_normal((size, n))
            sums_of_x: Floats = (p - (latent < z)) @ columns
            return sums_of_x

        sums = np.zeros((units, columns.shape[1]))
        np.add.at(sums, row, (p - a)[:, None] * columns)

        def flips(size: int) -> Floats:
            sums_of_x: Floats = rng.choice((-1.0, 1.0), (size, units)) @ sums
            return sums_of_x

        p_values = max(
            (
                _rank_p_values(
                    _Null(np.cov(_simulate_in_chunks(alike, _FIRST_RESAMPLES, n).T), added=added),
                    seen,
                    alike,
                    n,
                    n_resamples,
                ),
                _rank_p_values(_Null(sums.T @ sums, added=added), seen, flips, units, n_resamples),
            ),
            key=lambda ranks: ranks.p,
        )
        null = "simulated from the confidences with the correlation within units, or signs of units flipped"
    return Miscalibration(
        p=p_values.p,
        p_large=p_values.parts[0],
        p_cox=p_values.parts[1],
        p_bins=p_values.parts[2],
        mean_gap=float(np.sum(w * (c - a)) / n),
        temperature=_temperature(inside, a, w),
        bad_bins=_bad_bins(gaps.low, gaps.high, gaps.index, c, a, w, p_values.far),
        n=n,
        units=units,
        n_resamples=p_values.size,
        null=null,
    )


def _undo_rounding(c: Floats, a: Floats) -> Floats:
    """Confidences of which exact 0 and 1 are as near to their answers' grades as rounding allows."""
    p = c.copy()
    for sure, low, high in ((c >= 1, 1 - ROUNDED, 1.0), (c <= 0, 0.0, ROUNDED)):
        if sure.any():
            p[sure] = min(max(float(np.mean(a[sure])), low), high)
    return p


class _Null:
    """The three statistics of tables, from their sums and the sums' covariance under the null."""

    def __init__(self, covariance: Floats, *, added: float) -> None:
        self.large = math.sqrt(max(covariance[0, 0], 1e-300))
        self.cox = np.linalg.pinv(covariance[:2, :2], rcond=1e-9, hermitian=True)
        self.bin = np.sqrt(np.diag(covariance)[2:] + added)

    def __call__(self, sums: Floats) -> Floats:
        sums = np.where(np.abs(sums) < NEGLIGIBLE_SUM, 0.0, sums)
        large = np.abs(sums[:, 0]) / self.large
        cox = np.einsum("ki,ij,kj->k", sums[:, :2], self.cox, sums[:, :2])
        return np.column_stack((large, cox, np.max(self.bins(sums), axis=1)))

    def bins(self, sums: Floats) -> Floats:
        size: Floats = np.abs(sums[:, 2:]) / self.bin
        return size


@dataclasses.dataclass(frozen=True, slots=True)
class _Ranked:
    p: float
    parts: tuple[float, float, float]
    far: Bools
    size: int


def _correlation(p: Floats, x: Floats, row: Indices) -> float:
    """The latent correlation within units at which products of x = p - a of two of a unit's rows are as observed.

    For a Gaussian copula E[x x'] = sum over k of r^k / k! h_k(z) h_k(z'), h_k = phi He_(k-1), z = the normal quantile
    of p: summed over pairs, a polynomial in r.
    """

    def pairs(h: Floats) -> float:
        return float(np.sum(np.bincount(row, weights=h) ** 2) - np.sum(h**2))

    z = ndtri(p)
    before, hermite, factor = np.zeros_like(z), np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi), 1.0
    r = np.linspace(0, 0.98, 99)
    expected = np.zeros_like(r)
    for k in range(1, 25):
        factor *= k
        expected += r**k / factor * pairs(hermite)
        before, hermite = hermite, z * hermite - (k - 1) * before
    return float(r[min(int(np.searchsorted(np.maximum.accumulate(expected), pairs(x))), len(r) - 1)])


def _simulate_in_chunks(make: Callable[[int], Floats], size: int, width: int) -> Floats:
    step = max(_CELLS_AT_A_TIME // width, 1)
    return np.concatenate([make(min(step, size - k)) for k in range(0, size, step)])


def _rank_p_values(null: _Null, seen: Floats, make: Callable[[int], Floats], width: int, n_resamples: int) -> _Ranked:
    """p-values of the parts and of their combination by ranks among simulated tables."""
    size = min(_FIRST_RESAMPLES, n_resamples)
    while True:
        tables = null(np.vstack((seen, _simulate_in_chunks(make, size, width))))
        # a table's p in each part: its rank from the top among all, itself included; ties count against it
        p = np.column_stack([_upper_share(column) for column in tables.T])
        combined = np.sum(np.tan((0.5 - np.minimum(p, 0.5)) * np.pi), axis=1)
        total = float(_upper_share(combined)[0])
        if size >= n_resamples or total > _CLEAR_P:
            break
        size = n_resamples
    far = null.bins(seen[None])[0] > np.quantile(tables[1:, 2], 0.95)
    return _Ranked(total, (float(p[0, 0]), float(p[0, 1]), float(p[0, 2])), far, size)


def _upper_share(values: Floats) -> Floats:
    """The share of values that are at least each one, up to rounding."""
    rounded = np.round(values, 9)
    ordered = np.sort(rounded)
    share: Floats = (len(values) - np.searchsorted(ordered, rounded, side="left")) / len(values)
    return share


def _temperature(p: Floats, a: Floats, w: Floats) -> float | None:
    """1 / slope of Cox's regression with an intercept, by maximum likelihood."""
    if np.ptp(p) < 1e-9 or a.min() == a.max():
        return None
    z = np.log(p / (1 - p))

    def loss(x: Floats) -> float:
        fitted = x[0] + x[1] * z
        return float(np.mean(w * (np.logaddexp(0, fitted) - a * fitted)))

    slope = float(scipy.optimize.minimize(loss, np.array([0.0, 1.0])).x[1])
    return 1 / slope if 0.02 < slope < 50 else None


def _bad_bins(
    low: Floats, high: Floats, index: Indices, c: Floats, a: Floats, w: Floats, far: Bools
) -> tuple[BadBin, ...]:
    gap = np.bincount(index, weights=w * (c - a)) / np.bincount(index, weights=w)
    count = np.bincount(index)
    out: list[BadBin] = []
    for b in np.flatnonzero(far):
        last = out[-1] if out else None
        if last is not None and last.high == low[b] and (last.gap > 0) == (gap[b] > 0):
            n = last.n + int(count[b])
            mean = (last.gap * last.n + float(gap[b]) * int(count[b])) / n
            out[-1] = BadBin(low=last.low, high=float(high[b]), gap=mean, n=n)
        else:
            out.append(BadBin(low=float(low[b]), high=float(high[b]), gap=float(gap[b]), n=int(count[b])))
    return tuple(out)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PhasePoint(Result):
    """Subsamples of n labels: the share in which miscalibration is shown, and how wide the ECE's interval is.

    `errors` is n times the error rate: in the paper nothing can be seen below about 1. `floor` is (e / n)^(1/3).
    """

    n: int
    errors: float
    shown: float
    half_width: float
    floor: float
    runs: int


def phase_transition(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    unit: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    sizes: Sequence[int] | None = None,
    runs: int = 100,
    level: float = 0.95,
) -> tuple[PhasePoint, ...]:
    """For growing n: how often n labels, drawn without replacement from the data, show that it is miscalibrated.

    The test is `miscalibration` at 1 - level (199 tables), the width that of the honest ECE interval. Where all labels
    show nothing, the curve stays at 1 - level. Sizes go up to half of the data, beyond which subsamples are the data.
    Where answers vary together (`unit`, one each) n counts units, which are drawn whole; `weight` is what a row counts
    for.
    """
    ece(confidence, correct, level=level)  # checks the input
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    w = np.ones(len(c)) if weight is None else np.asarray(weight, dtype=np.float64)
    of = np.arange(len(c)) if unit is None else np.unique(np.asarray(unit), return_inverse=True)[1].astype(np.intp)
    n = int(of.max()) + 1
    alone = n == len(c)
    if n < 20:
        raise InputError(
            f"{counted(n, 'item is', 'items are')} too few to take parts of.", remedy="At least 20 are needed."
        )
    if sizes is None:
        sizes = sorted({round(x) for x in np.geomspace(10, n / 2, 8)})
    wrong = float(np.average(1 - a, weights=w))
    points = []
    for size in sizes:
        shown, widths = 0, []
        for _ in range(runs):
            part = np.flatnonzero(np.isin(of, rng.choice(n, size, replace=False)))
            group = None if alone else np.unique(of[part], return_inverse=True)[1]
            test = miscalibration(c[part], a[part], rng=rng, unit=group, weight=w[part], n_resamples=199)
            shown += test.p <= 1 - level
            side = ece_side(c[part], a[part], group=group, weight=w[part])
            widths.append(ece_evidence(side).interval(level).half_width)
        points.append(
            PhasePoint(
                n=size,
                errors=size * wrong,
                shown=shown / runs,
                half_width=float(np.median(widths)),
                floor=(wrong / size) ** (1 / 3),
                runs=runs,
            )
        )
    return tuple(points)
