"""Gaps between published scores, where nothing but the scores and the number of items is known."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

from richter._special import ndtr
from richter.claims import METRICS, Asked, Evidence, Question, decide
from richter.errors import InputError
from richter.floors._check import check_level, check_n, check_share
from richter.floors._rates import accuracy_floor
from richter.records import Claim, Interval, Result
from richter.stats import wilson

__all__ = ["PublishedBoard", "PublishedScore", "published_board"]


def _ask_gap(score_a: float, score_b: float, n_a: int, n_b: int, names: tuple[str, str]) -> Asked:
    """The question of two published scores being unlike, with its evidence."""
    check_share(zero=True, score_a=score_a, score_b=score_b)
    check_n(n_a=n_a, n_b=n_b)
    k_a, k_b = round(score_a * n_a), round(score_b * n_b)
    gap = score_b - score_a

    def interval(level: float) -> Interval:
        a, b = wilson(k_a, n_a, level=level), wilson(k_b, n_b, level=level)
        low = gap - math.hypot(score_b - b.low, a.high - score_a)
        high = gap + math.hypot(b.high - score_b, score_a - a.low)
        return Interval(low=low, high=high, level=level, method="newcombe")

    pooled = (k_a + k_b) / (n_a + n_b)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    p = 1.0 if spread == 0 else 2 * float(ndtr(-abs(gap) / spread))
    found = Evidence(
        estimate=gap, interval=interval, p=lambda _: p, values=(score_a, score_b), n=n_a + n_b, units=n_a + n_b,
        sides=(n_a, n_b),
    )  # fmt: skip
    return Asked(question=Question(measure="accuracy", conditions=names), metric=METRICS["accuracy"], evidence=found)


def _describe_gap(benchmark: str, claim: Claim) -> str:
    """What the claim says, under the name of its benchmark where it has one."""
    gap, names = claim.estimate or 0.0, claim.conditions
    worse, better = names if gap > 0 else names[::-1]
    text = f"{better} scores {100 * abs(gap):.1f} points higher than {worse}"
    if claim.decided:
        text = f"{text}: more than chance explains, even without pairs."
    elif gap == 0:
        text = f"{names[0]} and {names[1]} have the same score; that does not show that they are equally good."
    else:
        text = f"Inconclusive: {text}; the scores alone don't show that it is real."
    return f"{benchmark}: {text}" if benchmark else text


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PublishedScore(Result):
    """One cell of a leaderboard: the share of n items that a model got right.

    >>> PublishedScore(benchmark="math", model="A", score=0.8, n=1000).score
    0.8
    """

    benchmark: str
    model: str
    score: float
    n: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkPairs(Result):
    """The pairs of one benchmark: shown to differ, not shown, and below the paper's accuracy floor."""

    name: str
    pairs: int
    shown: int
    undecided: int
    below: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBoard(Result):
    """Every pair within every benchmark of a table of published scores, decided together."""

    derived: ClassVar = ("sentence",)

    claims: tuple[Claim, ...]
    benchmarks: tuple[BenchmarkPairs, ...]

    @property
    def sentence(self) -> str:
        """How much of the leaderboard is noise."""
        pairs, shown, below = (sum(getattr(b, k) for b in self.benchmarks) for k in ("pairs", "shown", "below"))
        return (
            f"{shown} of {pairs} pairs of published scores are shown to differ (unpaired, adjusted by Holm); {below} "
            "lie below the paper's accuracy floor, one proportion's two standard errors."
        )


def published_board(scores: Sequence[PublishedScore], *, level: float = 0.95) -> PublishedBoard:
    """All pairs of a leaderboard at once: one Holm family (`decide`) of every pair, each by Newcombe's interval.

    >>> from richter.floors import PublishedScore, published_board
    >>> scores = [PublishedScore(benchmark="math", model=m, score=s, n=1000) for m, s in (("A", 0.8), ("B", 0.9))]
    >>> published_board(scores).claims[0].verdict.value
    'verified'
    """
    pairs = [
        (x, y)
        for name in dict.fromkeys(s.benchmark for s in scores)
        for x, y in itertools.combinations([s for s in scores if s.benchmark == name], 2)
    ]
    if not pairs:
        raise InputError("No benchmark has two scores.", remedy="Give at least two models of one benchmark.")

    asked = [_ask_gap(x.score, y.score, x.n, y.n, (x.model, y.model)) for x, y in pairs]
    check_level(level)
    claims = [
        dataclasses.replace(claim, sentence=_describe_gap(x.benchmark, claim))
        for (x, _), claim in zip(pairs, decide(asked, level=level), strict=True)
    ]
    by_benchmark: dict[str, list[tuple[Asked, Claim]]] = {}
    for (x, _), one, claim in zip(pairs, asked, claims, strict=True):
        by_benchmark.setdefault(x.benchmark, []).append((one, claim))
    return PublishedBoard(
        claims=tuple(claims), benchmarks=tuple(_count_pairs(*own) for own in by_benchmark.items())
    )  # fmt: skip


def _count_pairs(benchmark: str, gaps: Sequence[tuple[Asked, Claim]]) -> BenchmarkPairs:
    """How many pairs of a benchmark differ, and how many lie below the paper's floor."""
    shown = sum(claim.decided for _, claim in gaps)
    below = sum(abs(one.known.estimate) < _floor_of(one) for one, _ in gaps)
    return BenchmarkPairs(name=benchmark, pairs=len(gaps), shown=shown, undecided=len(gaps) - shown, below=below)


def _floor_of(asked: Asked) -> float:
    """The paper's 2 sqrt(e (1 - e) / n) at the mean error rate of the two (section S.1), of the fewer items."""
    return accuracy_floor(min(asked.known.sides), 1 - sum(asked.known.values) / 2)
