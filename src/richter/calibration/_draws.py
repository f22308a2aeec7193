"""How many draws: for a wanted precision of confidence, and for each question only until its mode is certain."""

import dataclasses
import math
from typing import Any

import numba
import numpy as np

from richter.calibration._pool import AnswerPool, answer_pool
from richter.calibration._sem import held_out_confidence
from richter.errors import InputError, TooFewErrors
from richter.records import Result
from richter.stats import Ints

__all__ = ["DrawsNeeded", "draws_needed", "mode_is_certain"]


def default_repeats(pool: AnswerPool) -> int:
    """Subsamples to average over: four, or one where thousands of questions do the averaging."""
    return max(1, min(4, 4000 // pool.questions))


def subsample(pool: AnswerPool, n: int, rng: np.random.Generator) -> AnswerPool:
    """n of each question's draws at random, in the order they were drawn, with the classes' grades."""
    keys = np.where(pool.labels >= 0, rng.random(pool.labels.shape), 2.0)
    chosen = np.sort(np.argsort(keys, axis=1)[:, :n], axis=1)
    labels = np.take_along_axis(pool.labels, chosen, axis=1)
    return answer_pool(labels.astype(np.int64), np.take_along_axis(pool.grades, labels, axis=1))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DrawsNeeded(Result):
    """Draws per question at which mean confidence is known to within `precision`.

    `bracket` is the pilot's mean Sem1 minus mean Sem2, between which the oracle's mean confidence lies. `measured`
    says that n lies inside the pilot; else it is extrapolated as n^(-1/2). `money_usd` is for all questions, None
    where the price of a draw is not known.
    """

    n: int
    precision: float
    bracket: float
    pilot: int
    measured: bool
    calls: int
    money_usd: float | None


def _bracket(pool: AnswerPool, n: int, rng: np.random.Generator, repeats: int) -> float:
    values = []
    for _ in range(repeats):
        part = subsample(pool, n, rng)
        values.append(np.mean(part.counts.max(axis=1) / n - held_out_confidence(part)))
    return float(np.mean(values))


def draws_needed(
    pool: AnswerPool,
    *,
    precision: float,
    rng: np.random.Generator,
    usd_per_draw: float | None = None,
    repeats: int | None = None,
) -> DrawsNeeded:
    """Draws per question for a mean confidence known to `precision`, from pilot draws.

    Sem1's mean is never below the oracle's, eq. (2), and Sem2's never above, eq. (5), so their difference brackets
    it. Inside the pilot the bracket at n is measured on subsamples; beyond, it is extrapolated from the pilot as
    n^(-1/2), the low-margin rate (Theorem 5.6), which overstates the need where margins are large.
    """
    if not 0 < precision < 1:
        raise InputError(f"A precision of {precision} is not between 0 and 1.", remedy="Use 0.02 for two points.")
    pilot = int(pool.draws.min())
    if pilot < 4:
        raise TooFewErrors("A pilot needs several draws a question.", n=pilot, needed=4)
    repeats = default_repeats(pool) if repeats is None else repeats
    bracket = _bracket(pool, pilot, rng, repeats if int(pool.draws.max()) > pilot else 1)
    measured = bracket <= precision
    if not measured:
        n = math.ceil(pilot * (bracket / precision) ** 2)
    else:
        low, n = 2, pilot  # the bracket shrinks with n: bisect
        while low < n:
            middle = (low + n) // 2
            if _bracket(pool, middle, rng, repeats) <= precision:
                n = middle
            else:
                low = middle + 1
    calls = n * pool.questions
    return DrawsNeeded(
        n=n,
        precision=precision,
        bracket=bracket,
        pilot=pilot,
        measured=measured,
        calls=calls,
        money_usd=None if usd_per_draw is None else calls * usd_per_draw,
    )


@numba.njit(cache=True)
def _is_certain(counts: Ints, log_level: float) -> bool:
    """Whether the leading class beats every other, seen or unseen, at an anytime level.

    Against one rival, the draws that fall on either are coin flips under a tie; a uniform prior on the leader's share
    gives the martingale 2^(a + b) a! b! / (a + b + 1)!. It must reach K / alpha for each of the K - 1 other classes
    seen and one unseen (Ville's inequality and a union bound).
    """
    leader, classes = 0, 0
    for k in range(len(counts)):
        if counts[k] > 0:
            classes += 1
        if counts[k] > counts[leader]:
            leader = k
    a = counts[leader]
    rival = 0  # the strongest rival is the hardest to beat; without any, an unseen class has none
    for k in range(len(counts)):
        if k != leader and counts[k] > rival:
            rival = counts[k]
    value = (a + rival) * math.log(2.0) + math.lgamma(a + 1.0) + math.lgamma(rival + 1.0) - math.lgamma(a + rival + 2.0)
    return bool(value >= math.log(classes) - log_level)


@numba.njit(cache=True)
def _cannot_change(counts: Ints, left: int) -> bool:
    """Whether the leader cannot be overtaken, nor caught up with, in the draws that are left."""
    first, second = 0, 0
    for count in counts:
        if count > first:
            first, second = count, first
        elif count > second:
            second = count
    return bool(first - second > left)


def mode_is_certain(counts: Any, *, alpha: float = 0.05, left: int | None = None) -> bool:
    """Whether a question's class counts already settle its most likely class, however often one looks.

    The chance that a question is ever called settled with the wrong class is at most about `alpha` (K, the number of
    classes, is taken as the number seen so far plus one unseen). With `left`, the draws still planned, a lead that
    they cannot make up settles it too: more draws could not change the deployed answer.
    """
    values = np.asarray(counts, dtype=np.int64)
    if values.sum() == 0:
        return False
    return bool(_is_certain(values, math.log(alpha)) or (left is not None and _cannot_change(values, left)))
