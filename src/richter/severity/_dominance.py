"""Is one condition worse at every severity? Tests of stochastic dominance on the severity grid."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from richter.errors import InputError
from richter.records import Finding, Verdict
from richter.severity._grid import LEVELS, count_joint, snap
from richter.severity._result import Result

__all__ = ["Dominance", "compare_dominance"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Dominance(Result):
    """P(A >= s) - P(B >= s) at every severity, and three tests of it.

    `p_equal`: the two distributions are the same (exact permutation, largest standardised gap). `p_a_worse` and
    `p_b_worse`: the other is not worse at *every* severity that either reached (intersection-union: the largest of
    the one-sided p-values, so small only if every gap is shown). `crossing` says that each is shown to be worse
    somewhere, so neither dominates.
    """

    a: str
    b: str
    difference: dict[str, float]
    z: dict[str, float]
    p_equal: float
    p_a_worse: float
    p_b_worse: float
    crossing: bool
    n: int
    n_resamples: int
    finding: Finding


def compare_dominance(
    a: ArrayLike,
    b: ArrayLike,
    *,
    names: tuple[str, str] = ("A", "B"),
    alpha: float = 0.05,
    n_resamples: int = 9999,
    rng: np.random.Generator,
) -> Dominance:
    """First-order stochastic dominance of two conditions' severities on the same items (zeros count).

    A is worse at every severity if P(A >= s) > P(B >= s) for all s: then every user, whatever the costs of the
    levels, as long as worse costs more, prefers B. With d_s the paired gap at s and its exact multinomial variance
    (n10 + n01 - (n10 - n01)^2 / n) / n^2, z_s = d_s / se. Dominance is claimed by the intersection-union test, all
    z_s > z_alpha, which is level alpha without correction; levels that neither reached say nothing and are left out.
    `crossing`: the largest and the smallest z_s are both beyond the permutation's 1 - alpha/2 quantile of max |z|.
    """
    first, second = snap(a), snap(b)
    if first.shape != second.shape:
        raise InputError("The two conditions must be aligned by item.", remedy="Use NaN for items not rated.")
    joint = count_joint(first, second)
    n = int(joint.sum())
    if n == 0:
        raise InputError("The two conditions share no rated item.", remedy="Rate some of the same items.")
    gap, z, used = _gaps(joint[None, :, :])
    gap, z, used = gap[0], z[0], used[0]
    null = _null_maxima(joint, n_resamples, rng)
    largest = float(np.max(np.abs(z[used]), initial=0.0))
    p_equal = float((1 + np.sum(null >= largest - 1e-12)) / (1 + n_resamples))
    bar = float(np.quantile(null, 1 - alpha))
    p_a = float(ndtr(-z[used]).max(initial=0.0)) if used.any() else 1.0
    p_b = float(ndtr(z[used]).max(initial=0.0)) if used.any() else 1.0
    crossing = bool(used.any() and z[used].max() > bar and z[used].min() < -bar)
    return Dominance(
        a=names[0],
        b=names[1],
        difference={f"{LEVELS[k + 1]:.1f}": float(gap[k]) for k in range(8)},
        z={f"{LEVELS[k + 1]:.1f}": float(z[k]) for k in np.flatnonzero(used)},
        p_equal=p_equal,
        p_a_worse=p_a,
        p_b_worse=p_b,
        crossing=crossing,
        n=n,
        n_resamples=n_resamples,
        finding=_finding(names, p_equal, p_a, p_b, crossing, alpha, n, float(gap[0])),
    )


def _gaps(
    joints: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Gap, z and whether anything was seen at each severity, for tables of paired levels (... x 9 x 9)."""
    size = joints.shape[0]
    n = joints.sum(axis=(1, 2))
    gap, z = np.zeros((size, 8)), np.zeros((size, 8))
    used = np.zeros((size, 8), dtype=np.bool_)
    for k in range(1, 9):
        only_a = joints[:, k:, :k].sum(axis=(1, 2)).astype(np.float64)
        only_b = joints[:, :k, k:].sum(axis=(1, 2)).astype(np.float64)
        difference, discordant = only_a - only_b, only_a + only_b
        variance = discordant - difference**2 / n
        gap[:, k - 1] = difference / n
        np.divide(difference, np.sqrt(np.maximum(variance, 1e-300)), out=z[:, k - 1], where=variance > 0)
        used[:, k - 1] = discordant > 0
    return gap, z, used


def _null_maxima(joint: NDArray[np.int64], n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Largest |z| when each item's two severities are swapped at random."""
    i, j = np.triu_indices(9, 1)
    both = joint[i, j] + joint[j, i]
    some = both > 0
    i, j, both = i[some], j[some], both[some]
    out = np.empty(n_resamples)
    for start in range(0, n_resamples, 2000):
        size = min(2000, n_resamples - start)
        stay = rng.binomial(both, 0.5, size=(size, len(both)))
        tables = np.zeros((size, 9, 9), dtype=np.int64)
        tables[:, range(9), range(9)] = np.diag(joint)
        tables[:, i, j] = stay
        tables[:, j, i] = both - stay
        out[start : start + size] = np.abs(_gaps(tables)[1]).max(axis=1)
    return out


def _finding(
    names: tuple[str, str],
    p_equal: float,
    p_a: float,
    p_b: float,
    crossing: bool,
    alpha: float,
    n: int,
    error_gap: float,
) -> Finding:
    a, b = names
    if min(p_a, p_b) <= alpha:
        worse, better, p = (a, b, p_a) if p_a <= p_b else (b, a, p_b)
        verdict, claim = Verdict.VERIFIED, f"{worse} is worse than {better} at every severity"
        sentence = f"Verified: {claim} (p {p:.2g}): {better} is to be preferred whatever the levels cost."
    elif crossing:
        verdict, claim = Verdict.REFUTED, f"one of {a} and {b} is worse at every severity"
        sentence = f"Refuted: each of {a} and {b} is worse at some severity; which to prefer depends on the costs."
    else:
        verdict, claim = Verdict.UNDECIDED, f"one of {a} and {b} is worse at every severity"
        known = f"their severities differ (p {p_equal:.2g})" if p_equal <= alpha else "no difference is shown"
        sentence = f"Undecided: whether one of {a} and {b} is worse at every severity is not shown; {known}."
    return Finding(claim=claim, verdict=verdict, sentence=sentence, estimate=error_gap, n=n)
