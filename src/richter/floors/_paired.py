"""Two conditions on the same items: exact and score tests of the difference, clustered where items are."""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtr, stdtrit
from scipy.stats import binom

from richter.errors import InputError
from richter.records import Interval, Shown, jsonable

__all__ = ["PairedCounts", "PairedTest", "clustered_test", "mcnemar", "misaligned", "tango"]

Floats = NDArray[np.float64]

# A pair is taken to be misaligned where both are right more often than not and the upper limit of phi stays below.
MISALIGNED_PHI = 0.08


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairedCounts:
    """A 2 x 2 table of n items: both right, only a, only b, neither."""

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def n(self) -> int:
        """Items."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def delta(self) -> float:
        """Accuracy of b minus accuracy of a."""
        return (self.only_b - self.only_a) / self.n

    @property
    def discordance(self) -> float:
        """Share of items on which exactly one is right."""
        return (self.only_a + self.only_b) / self.n

    @property
    def phi(self) -> float | None:
        """Correlation of the two grades; None where one of them never varies."""
        right_a, right_b = self.both + self.only_a, self.both + self.only_b
        spread = right_a * (self.n - right_a) * right_b * (self.n - right_b)
        if spread == 0:
            return None
        return (self.both * self.neither - self.only_a * self.only_b) / math.sqrt(spread)

    @property
    def worth_unpaired(self) -> float | None:
        """How many unpaired items an arm these paired ones equal: the ratio of the variances of the difference."""
        p, q = (self.both + self.only_a) / self.n, (self.both + self.only_b) / self.n
        paired = self.discordance - self.delta**2
        return None if paired <= 0 else self.n * (p * (1 - p) + q * (1 - q)) / paired


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest(Shown):
    """A difference b - a with its interval, its two-sided p-value and, with a margin, that of equivalence."""

    delta: float
    interval: Interval
    p: float
    p_equivalence: float | None
    n: int
    method: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {f.name: jsonable(getattr(self, f.name)) for f in dataclasses.fields(self)}


def _score(counts: PairedCounts, delta: float) -> float:
    """Tango's score statistic for a true difference of `delta` (b minus a).

    The nuisance q = P(only a) takes its constrained maximum-likelihood value (Tango 1998, eqs. (7) and (12)).
    """
    n, plus, minus = counts.n, counts.only_b, counts.only_a
    linear = -plus - minus + (2 * n - plus + minus) * delta
    constant = -minus * delta * (1 - delta)
    q = (math.sqrt(max(linear**2 - 8 * n * constant, 0.0)) - linear) / (4 * n)
    variance = n * (2 * q + delta * (1 - delta))
    excess = plus - minus - n * delta
    if variance <= 0:
        return 0.0 if excess == 0 else math.copysign(math.inf, excess)
    return excess / math.sqrt(variance)


def tango(counts: PairedCounts, *, level: float = 0.95) -> Interval:
    """Tango's score interval for the difference of two paired proportions (b minus a); valid at small n and at 0."""
    z = float(ndtri(0.5 + level / 2))
    delta = counts.delta
    edge = 1 - 1e-12
    low = -1.0 if _score(counts, -edge) <= z else brentq(lambda d: _score(counts, d) - z, -edge, delta, xtol=1e-12)
    high = 1.0 if _score(counts, edge) >= -z else brentq(lambda d: _score(counts, d) + z, delta, edge, xtol=1e-12)
    return Interval(low=float(low), high=float(high), level=level, method="tango score")


def mcnemar(counts: PairedCounts, *, margin: float | None = None, level: float = 0.95) -> PairedTest:
    """McNemar's exact test on the items that only one got right, with Tango's interval.

    Under equal accuracy each discordant item falls to either side with probability 1/2: two-sided binomial.
    Equivalence within `margin`: the larger of the two one-sided score tests at +-margin.
    """
    if counts.n < 1:
        raise InputError("No item was answered by both.", remedy="Compare conditions that share items.")
    discordant = counts.only_a + counts.only_b
    smaller = min(counts.only_a, counts.only_b)
    p = 1.0 if discordant == 0 else min(1.0, 2 * float(binom.cdf(smaller, discordant, 0.5)))
    within = None
    if margin is not None:
        within = max(float(ndtr(-_score(counts, -margin))), float(ndtr(_score(counts, margin))))
    return PairedTest(
        delta=counts.delta,
        interval=tango(counts, level=level),
        p=p,
        p_equivalence=within,
        n=counts.n,
        method="mcnemar exact",
    )


def clustered_test(
    difference: Floats, groups: NDArray[np.intp], *, margin: float | None = None, level: float = 0.95
) -> PairedTest:
    """A mean difference when whole groups of items go together: cluster-robust t on the group sums.

    se^2 = G / (G - 1) sum over groups of (sum of d - mean x size)^2 / n^2, with G - 1 degrees of freedom. With
    groups of one item this is the ordinary paired t-test. It takes the groups to be independent; under about ten
    of them it is only rough.
    """
    n = len(difference)
    sums = np.bincount(groups, weights=difference)
    sizes = np.bincount(groups)
    sums, sizes = sums[sizes > 0], sizes[sizes > 0]
    number = len(sizes)
    if number < 2:
        raise InputError("All items are in one group.", remedy="A clustered test needs two groups at the least.")
    mean = float(np.mean(difference))
    se = math.sqrt(number / (number - 1) * float(np.sum((sums - mean * sizes) ** 2))) / n
    freedom = number - 1
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * se

    def above(value: float) -> float:
        """One-sided p-value of a true mean at most `value`."""
        if se == 0:
            return 0.0 if mean > value else 1.0
        return float(stdtr(freedom, -(mean - value) / se))

    p = 2 * min(above(0.0), 1 - above(0.0)) if se > 0 else float(mean == 0)
    within = None if margin is None else max(above(-margin), 1 - above(margin))
    return PairedTest(
        delta=mean,
        interval=Interval(low=mean - reach, high=mean + reach, level=level, method="clustered t"),
        p=min(1.0, p),
        p_equivalence=within,
        n=n,
        method=f"clustered t, {number} groups",
    )


def misaligned(counts: PairedCounts, *, level: float = 0.95) -> bool:
    """Whether the two grade different items under the same names.

    Two good conditions fail on the same hard items, so their grades correlate (phi at least 0.094 over all pairs of
    the 28 public runs looked at). Both accuracies above 0.5 with the upper limit of phi (Fisher's z) below 0.08 is
    taken as misalignment. About 600 items are needed before this can be told.
    """
    phi = counts.phi
    right_a, right_b = counts.both + counts.only_a, counts.both + counts.only_b
    if phi is None or counts.n < 4 or min(right_a, right_b) <= counts.n / 2 or abs(phi) >= 1:
        return False
    upper = math.tanh(math.atanh(phi) + float(ndtri(0.5 + level / 2)) / math.sqrt(counts.n - 3))
    return upper < MISALIGNED_PHI
