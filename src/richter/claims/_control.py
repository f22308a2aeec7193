"""Many conditions against one control: the levels of claims that share the control's answers."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from richter._special import stdtr, stdtrit
from richter.claims._measures import Floats, Outcomes
from richter.claims._totals import linearised
from richter.claims._units import Sample, as_sample
from richter.errors import InputError

__all__ = ["JointTests", "joint_law", "joint_tests"]

BATCHES = 1000  # more units than this are first summed into so many batches at random

Key = tuple[str, tuple[str, ...]]  # a measure and its conditions


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JointTests:
    """Several differences under no difference, resampled together: how far each is from none, resamples x claims.

    `far` is |t|; `p_of` gives the two-sided p-value of such values, and `far_of` turns it back. Only few of them are
    needed as p-values, which cost more than all the rest.
    """

    keys: tuple[Key, ...]
    far: Floats
    p_of: Callable[[Floats], Floats]
    far_of: Callable[[float], float]

    @classmethod
    def of_p(cls, *, keys: tuple[Key, ...], p: Floats) -> "JointTests":
        """The same from p-values."""
        return cls(keys=keys, far=-p, p_of=np.negative, far_of=lambda x: -x)

    def alpha(self, keys: Sequence[Key], alpha: float, *, more: int = 0) -> float:
        """The level for each claim at which any of `keys` is falsely shown with probability `alpha`.

        The largest a with P(min p <= a) + `more` a <= alpha, where `more` counts claims whose law is not known
        together; never below the Bonferroni level.
        """
        return self.level_of(self.farthest(keys)[:, 0], len(keys), alpha, more)

    def adjusted(self, keys: Sequence[Key], p: float, *, more: int = 0) -> float:
        """The probability that any of `keys` has a p-value this small, at most Bonferroni's."""
        return self.adjusted_of(self.farthest(keys)[:, 0], len(keys), p, more)

    def farthest(self, keys: Sequence[Key]) -> Floats:
        """In column k the farthest over keys[k:], of every resample; the last column, of none, has the p-value 1."""
        place = {key: k for k, key in enumerate(self.keys)}
        found = np.full((len(self.far), len(keys) + 1), self.far_of(1.0))
        found[:, :-1] = self.far[:, [place[key] for key in keys]]
        backwards = found[:, ::-1]
        np.maximum.accumulate(backwards, axis=1, out=backwards)
        return found

    def level_of(self, farthest: Floats, known: int, alpha: float, more: int) -> float:
        """`alpha` for `known` claims of which this is the farthest."""
        ordered = -np.sort(-farthest)
        taken = np.searchsorted(-ordered, -ordered, side="right") / len(ordered)  # ties are taken together
        if more:
            taken += more * self.p_of(ordered)
        inside = np.flatnonzero(taken <= alpha)
        found = float(self.p_of(ordered[inside[-1:]])[0]) if len(inside) else 0.0
        return min(alpha, max(found, alpha / (known + more)))

    def adjusted_of(self, farthest: Floats, known: int, p: float, more: int) -> float:
        """`adjusted` for `known` claims of which this is the farthest."""
        share = float(np.mean(farthest >= self.far_of(p)))
        share = max(share, 1 / len(farthest))  # what no resample reached is not known to be 0
        return min(1.0, max(p, min(share + more * p, (known + more) * p)))


def in_steps(
    tests: JointTests, keys: Sequence[Key | None], alpha: float
) -> tuple[Callable[[int], float], Callable[[int, float], float]]:
    """`JointTests.alpha` and `.adjusted` of claims `keys[start:]`, for any start; None has no law with the others."""
    inside = set(tests.keys)
    known = [key for key in keys if key is not None and key in inside]
    before = [0, *itertools.accumulate(int(key in inside) for key in keys)]
    farthest = tests.farthest(known)

    def left(start: int) -> tuple[Floats, int, int]:
        number = len(known) - before[start]
        return farthest[:, before[start]], number, len(keys) - start - number

    def level(start: int) -> float:
        column, number, more = left(start)
        return tests.level_of(column, number, alpha, more)

    def adjusted(start: int, p: float) -> float:
        column, number, more = left(start)
        return tests.adjusted_of(column, number, p, more)

    return functools.cache(level), adjusted


def joint_tests(
    sample: Sample | Outcomes, pairs: Sequence[tuple[str, str]], *, rng: np.random.Generator, n_resamples: int = 10_000
) -> JointTests:
    """The law of the largest |t| over pairs, from units whose differences keep or change their sign, all together.

    Claims against one control share its answers, so their errors go together and cost less than independent ones
    would. Each pair's items enter as centred contributions to its mean (linearised where the claim is on totals),
    summed by unit (group, else item); a resample gives every unit one sign for all pairs, t is that of its sums, and
    the p-value that of t with units - 1 degrees of freedom. `decide` uses it in steps: what is shown leaves the
    maximum. Valid where units are independent and t is (20 that differ at the least); elsewhere Bonferroni's level is
    the larger one and stands.
    """
    sample = as_sample(sample)
    outcomes, mean = sample.outcomes, sample.mean
    if n_resamples < 1000:
        raise InputError(f"{n_resamples} resamples do not place a level.", remedy="Give 1,000 at the least.")
    weight = np.ones(len(mean)) if outcomes.weight is None else outcomes.weight
    unit = np.arange(len(mean)) if outcomes.group is None else np.unique(outcomes.group, return_inverse=True)[1]
    sums = np.zeros((len(np.unique(unit)), len(pairs)))
    for k, (first, second) in enumerate(pairs):
        columns = [sample.place(first), sample.place(second)]
        shared = ~np.isnan(mean[:, columns]).any(axis=1)
        if shared.any():
            own = linearised(sample, (first, second)).mean if sample.metric.is_cost else mean
            both = own[shared][:, columns]
            w, d = weight[shared], both[:, 1] - both[:, 0]
            centred = w * (d - np.average(d, weights=w))  # on any scale: the law is that of t
            sums[:, k] = np.bincount(unit[shared], weights=centred, minlength=len(sums))
    return joint_law([(sample.metric.name, tuple(pair)) for pair in pairs], sums, rng=rng, n_resamples=n_resamples)


def joint_law(keys: Sequence[Key], sums: Floats, *, rng: np.random.Generator, n_resamples: int = 10_000) -> JointTests:
    """The same from centred contributions summed by unit (units x claims), however the estimates were made."""
    units = len(sums)
    freedom = max(units - 1, 1)
    if units > BATCHES:
        batch = rng.permutation(units) % BATCHES
        sums = np.stack([np.bincount(batch, weights=column, minlength=BATCHES) for column in sums.T], axis=1)
        units = BATCHES
    scale = np.sqrt(np.sum(sums**2, axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.nan_to_num(sums / scale)
    narrow, every = sums.astype(np.float32), sums.sum(axis=0)
    found = np.empty((n_resamples, len(keys)))
    for start in range(0, n_resamples, 1000):
        size = min(1000, n_resamples - start)
        bits = np.frombuffer(rng.bytes(size * -(-units // 8)), dtype=np.uint8).reshape(size, -1)
        kept = np.unpackbits(bits, axis=1, count=units).astype(np.float32)  # 1: the sign stays
        total = 2.0 * (kept @ narrow) - every
        found[start : start + size] = np.abs(total) / np.sqrt(np.maximum(1 - total**2 / units, 1e-9))
    return JointTests(
        keys=tuple(keys), far=found, p_of=lambda t: 2 * stdtr(freedom, -t),
        far_of=lambda p: -float(stdtrit(freedom, p / 2)),
    )  # fmt: skip
