"""The Sem1-Sem2 gap: the paper's paired bootstrap, its prediction at the regime boundaries, and strata of margin."""

import dataclasses

import numba
import numpy as np
from numpy.typing import NDArray

from richter.calibration._regimes import Regimes, jensen_root
from richter.calibration._sem import SemEce
from richter.errors import InputError, TooFewErrors
from richter.records import Interval, Result, Shown
from richter.stats import Bools, Floats, bin_gaps, ece
from richter.stats._bootstrap import percentiles, stream_seed
from richter.stats._stats_kernels import index_pair

__all__ = ["Boundary", "GapEstimate", "SemGap", "Stratum", "margin_strata", "sem_gap"]

MIN_LOW_MARGIN_QUESTIONS = 30  # fewer carry no bootstrap interval (the paper leaves out 26)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GapEstimate(Shown):
    """A paired difference Sem1 minus Sem2 over n questions, with its percentile interval."""

    estimate: float
    interval: Interval
    n: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """Observed against predicted gap among questions near a regime boundary; None where no question is near.

    `predicted` is the leading term with both estimators at n draws (Theorem 5.6), `predicted_halves` with Sem2
    selecting on half of them, which is what `observed_confidence` and `observed_ece` are measured with.
    """

    name: str
    n: int
    observed_ece: float | None
    observed_confidence: float | None
    predicted: float | None
    predicted_halves: float | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SemGap(Result):
    """Appendix E's three statistics, and the boundaries of appendix D. `low_margin_ece` is None below 30 questions."""

    confidence: GapEstimate
    ece: GapEstimate
    low_margin_ece: GapEstimate | None
    low_margin_questions: int
    boundaries: tuple[Boundary, ...]
    predicted: float
    n_resamples: int


@numba.njit(cache=True, nogil=True)
def _resample_pairs(
    d1: Floats,
    bin_1: NDArray[np.int32],
    d2: Floats,
    bin_2: NDArray[np.int32],
    member: Bools,
    n_resamples: int,
    seed: np.uint64,
) -> Floats:
    """Per resample of the questions: mean d1 - d2, ECE1 - ECE2, and the latter among members (NaN without any)."""
    n = len(d1)
    out = np.empty((n_resamples, 3))
    # columns: all questions under 1 and 2, members under 1 and 2
    sums = np.empty((4, max(np.max(bin_1), np.max(bin_2)) + 1))
    state = seed
    size = np.uint64(n)
    picked = np.empty(2, dtype=np.uint64)
    for r in range(n_resamples):
        sums[:] = 0.0
        members = 0
        for step in range((n + 1) // 2):
            state, picked[0], picked[1] = index_pair(state, size)
            for half in range(2 if 2 * step + 1 < n else 1):
                i = picked[half]
                sums[0, bin_1[i]] += d1[i]
                sums[1, bin_2[i]] += d2[i]
                if member[i]:
                    members += 1
                    sums[2, bin_1[i]] += d1[i]
                    sums[3, bin_2[i]] += d2[i]
        size_1 = np.sum(np.abs(sums[0]))
        size_2 = np.sum(np.abs(sums[1]))
        out[r, 0] = (np.sum(sums[0]) - np.sum(sums[1])) / n
        out[r, 1] = (size_1 - size_2) / n
        out[r, 2] = (np.sum(np.abs(sums[2])) - np.sum(np.abs(sums[3]))) / members if members else np.nan
    return out


def resample_gap(
    c1: Floats, c2: Floats, a: Floats, member: Bools, *, seed: np.uint64, n_resamples: int, bins: int
) -> Floats:
    """Resamples of questions, a row each: confidence drop, ECE gap, ECE gap among the members.

    The same seed and number of questions draw the same resamples, so that curves over n stay paired.
    """
    first, second = bin_gaps(c1, a, bins=bins).index, bin_gaps(c2, a, bins=bins).index
    return np.asarray(
        _resample_pairs(c1 - a, first.astype(np.int32), c2 - a, second.astype(np.int32), member, n_resamples, seed)
    )


def _usable_questions(sem: SemEce) -> Bools:
    use = ~np.isnan(sem.confidence_2) & ~np.isnan(sem.correct)
    if not use.any():
        raise TooFewErrors("No graded question has two draws, so Sem2 is undefined.", n=0, needed=1)
    return np.asarray(use)


def sem_gap(
    sem: SemEce,
    regimes: Regimes,
    *,
    rng: np.random.Generator,
    n_resamples: int = 1000,
    level: float = 0.95,
    bins: int = 10,
) -> SemGap:
    """Paired percentile bootstrap over questions of what separates Sem1 from Sem2 (appendix E).

    Mean confidence drop E[c1 - c2]; ECE gap on all questions; ECE gap on the low-margin ones, there delta < 1 /
    sqrt(n) as in the appendix. Questions are resampled whole, so that c1 and c2 stay paired; the plug-in's upward
    bias is in both ECEs and largely cancels. Also the gap near both regime boundaries (within 10% of the standardised
    margin's boundary value) against the leading-order prediction (appendix D, there with p_q set to 1; here with p_q).
    """
    if n_resamples < 1:
        raise InputError(f"n_resamples={n_resamples} is not a number of resamples.", remedy="The paper uses 1000.")
    use = _usable_questions(sem)
    c1, c2, a = sem.confidence_1[use], sem.confidence_2[use], sem.correct[use]
    margin, n_draws = regimes.margin[use], regimes.n[use]
    low = margin < 1 / np.sqrt(n_draws)
    size = len(a)
    values = resample_gap(c1, c2, a, low, seed=stream_seed(rng), n_resamples=n_resamples, bins=bins)

    def estimate(resampled: Floats, point: float, n: int) -> GapEstimate:
        interval = percentiles(resampled, level=level, method="bootstrap percentile, paired")
        return GapEstimate(estimate=point, interval=interval, n=n)

    low_margin = None
    if low.sum() >= MIN_LOW_MARGIN_QUESTIONS:
        low_margin = estimate(values[:, 2], ece_gap(c1[low], c2[low], a[low], bins), int(low.sum()))
    return SemGap(
        confidence=estimate(values[:, 0], float(np.mean(c1 - c2)), size),
        ece=estimate(values[:, 1], ece_gap(c1, c2, a, bins), size),
        low_margin_ece=low_margin,
        low_margin_questions=int(low.sum()),
        boundaries=_gaps_at_boundaries(c1, c2, a, regimes, use, bins),
        predicted=float(np.mean(regimes.predicted_gap_halves[use])),
        n_resamples=n_resamples,
    )


def ece_gap(c1: Floats, c2: Floats, a: Floats, bins: int) -> float:
    """Sem1-ECE minus Sem2-ECE."""
    return ece(c1, a, bins=bins).ece - ece(c2, a, bins=bins).ece


def _gaps_at_boundaries(
    c1: Floats, c2: Floats, a: Floats, regimes: Regimes, use: Bools, bins: int
) -> tuple[Boundary, ...]:
    margin, classes = regimes.standardised_margin[use], regimes.classes[use]
    edges = {"jensen": np.full(len(margin), 2 * jensen_root()), "low/large": np.sqrt(np.log(classes))}
    out = []
    for name, edge in edges.items():
        near = (classes > 1) & (np.abs(margin - edge) <= 0.1 * edge)
        n = int(near.sum())
        out.append(
            Boundary(
                name=name,
                n=n,
                observed_ece=ece_gap(c1[near], c2[near], a[near], bins) if n else None,
                observed_confidence=float(np.mean((c1 - c2)[near])) if n else None,
                predicted=float(np.mean(regimes.predicted_gap[use][near])) if n else None,
                predicted_halves=float(np.mean(regimes.predicted_gap_halves[use][near])) if n else None,
            )
        )
    return tuple(out)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """Questions of similar margin: the two ECEs and the mean confidence drop."""

    low: float
    high: float
    n: int
    sem1_ece: float
    sem2_ece: float
    confidence_drop: float
    accuracy: float


def margin_strata(sem: SemEce, regimes: Regimes, *, strata: int = 8, bins: int = 10) -> tuple[Stratum, ...]:
    """ECE curves over the margin: strata of about equal counts, ties together (the paper's figure 3)."""
    use = _usable_questions(sem)
    margin = regimes.margin[use]
    c1, c2, a = sem.confidence_1[use], sem.confidence_2[use], sem.correct[use]
    values, first = np.unique(np.sort(margin), return_index=True)
    group = (first * strata // len(margin))[np.searchsorted(values, margin)]
    out = []
    for g in np.unique(group):
        inside = group == g
        out.append(
            Stratum(
                low=float(margin[inside].min()),
                high=float(margin[inside].max()),
                n=int(inside.sum()),
                sem1_ece=ece(c1[inside], a[inside], bins=bins).ece,
                sem2_ece=ece(c2[inside], a[inside], bins=bins).ece,
                confidence_drop=float(np.mean((c1 - c2)[inside])),
                accuracy=float(np.mean(a[inside])),
            )
        )
    return tuple(out)
