"""Gaps between published scores, where nothing but the scores and the number of items is known."""

import dataclasses
import math

from scipy.special import ndtr

from richter.floors._check import check_level, check_n, check_share
from richter.floors._rates import accuracy_floor
from richter.records import Claim, Hypothesis, Interval, Result, Verdict
from richter.stats import wilson

__all__ = ["PublishedGap", "published_gap"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PublishedGap(Result):
    """The claim on score_b - score_a, and what else can be said of it without items.

    The claim's `p` and interval treat the runs as unpaired. If both answered the same items the pairing helps by an
    unknown amount: `p_if_paired_at_best` is McNemar's with as few disagreements as the scores allow.
    """

    claim: Claim
    p_if_paired_at_best: float | None
    floor: float
    n_a: int
    n_b: int


def published_gap(
    score_a: float,
    score_b: float,
    n: int,
    *,
    n_b: int | None = None,
    names: tuple[str, str] = ("A", "B"),
    level: float = 0.95,
) -> PublishedGap:
    """Whether two published accuracies differ: pooled z-test and Newcombe's hybrid score interval.

    `floor` is the paper's 2 sqrt(e (1 - e) / n) at the mean error rate of the two (section S.1), one proportion's.
    """
    check_share(zero=True, score_a=score_a, score_b=score_b)
    check_n(n=n)
    check_level(level)
    size_b = n if n_b is None else n_b
    check_n(n_b=size_b)
    k_a, k_b = round(score_a * n), round(score_b * size_b)
    gap = score_b - score_a
    a, b = wilson(k_a, n, level=level), wilson(k_b, size_b, level=level)
    low = gap - math.hypot(score_b - b.low, a.high - score_a)
    high = gap + math.hypot(b.high - score_b, score_a - a.low)
    pooled = (k_a + k_b) / (n + size_b)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / size_b))
    p = 1.0 if spread == 0 else 2 * float(ndtr(-abs(gap) / spread))
    best = None
    if n_b is None or n_b == n:
        best = 2 * 0.5 ** abs(k_b - k_a) if k_a != k_b else 1.0
        best = min(best, 1.0)
    verdict = Verdict.VERIFIED if low > 0 or high < 0 else Verdict.UNDECIDED
    worse, better = (names[0], names[1]) if gap > 0 else (names[1], names[0])
    points = f"{100 * abs(gap):.1f} points"
    if verdict is Verdict.VERIFIED:
        sentence = f"{better} scores higher than {worse} by {points}, more than chance explains even if unpaired."
    elif gap == 0:
        sentence = f"{names[0]} and {names[1]} have the same score; that does not show that they are equally good."
    else:
        sentence = f"{better} scores {points} higher than {worse}; from scores alone this is not shown to be real."
    claim = Claim(
        measure="accuracy",
        conditions=names,
        verdict=verdict,
        sentence=sentence,
        estimate=gap,
        interval=Interval(low=low, high=high, level=level, method="newcombe"),
        values=(score_a, score_b),
        p=p,
        n=n + size_b,
        units=n + size_b,
        hypothesis=Hypothesis(relation="differs", value=0.0),
        better="higher",
    )
    return PublishedGap(
        claim=claim, p_if_paired_at_best=best, floor=accuracy_floor(n, 1 - (score_a + score_b) / 2), n_a=n, n_b=size_b
    )
