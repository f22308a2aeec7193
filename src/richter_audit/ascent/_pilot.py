"""Before the money is spent: do errors depend on topic, and what would a search gain over asking at random?"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from richter.errors import InputError, TooFewErrors
from richter.records import Condition, Interval, Item, Result
from richter.store import RunLike, open_ledger
from richter_audit.ascent._outcome import grade, last_answers, paragraph_items
from richter_audit.ascent._search import make_find
from richter_audit.ascent._settings import SearchSettings
from richter_audit.ascent._simulated import simulate_search
from richter_audit.knowledge import KnowledgeBase, find_similar

__all__ = ["Pilot", "PilotResult", "TopicEffect", "plan_pilot", "score_pilot", "topic_effect"]

GROUPS, MEMBERS = 25, 4
REGION = 50  # paragraphs of a region of the simulated fields
LARGEST = 10_000  # paragraphs on which gains are simulated, at most


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """What a pilot asks: for each neighbourhood the items of some paragraphs that lie close together."""

    groups: tuple[tuple[Item, ...], ...]

    def items(self) -> list[Item]:
        """All of them."""
        return [item for group in self.groups for item in group]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TopicEffect(Result):
    """How far neighbours fail alike: the intraclass correlation of errors within neighbourhoods.

    `p_value` is that of a permutation of the answers over all paragraphs, one-sided.
    """

    error_rate: float
    icc: float
    interval: Interval
    p_value: float
    neighbourhoods: int
    answers: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PilotResult(Result):
    """A pilot's topic effect and the gain over random that it predicts for a search of some paragraphs."""

    topics: TopicEffect
    gain: float
    interval: Interval
    paragraphs: int

    @property
    def worthwhile(self) -> bool:
        """Whether the pilot shows that errors depend on topic, which a search needs."""
        return self.topics.p_value <= 1 - self.topics.interval.level

    def __str__(self) -> str:
        t = self.topics
        icc = f"{t.icc:.2f} (95%: {t.interval.low:.2f} to {t.interval.high:.2f}, p {t.p_value:.3f})"
        head = f"{t.error_rate:.0%} of {t.answers} answers are wrong; neighbours fail alike by {icc}."
        if not self.worthwhile:
            return (
                f"{head} That is not more than chance: a search is not shown to beat asking at random here (its gain "
                f"would be {self.gain:.1f}, at most {self.interval.high:.1f} times)."
            )
        limits = f"{self.interval.low:.1f} to {self.interval.high:.1f}"
        return (
            f"{head} A search of {self.paragraphs:,} paragraphs would find about {self.gain:.1f} times the errors of "
            f"asking at random (95%: {limits})."
        )


def plan_pilot(base: KnowledgeBase, settings: SearchSettings, *, rng: np.random.Generator) -> Pilot:
    """25 paragraphs drawn at random with the 3 nearest of each that have a question: 100 questions as first worded."""
    askable = base.askable
    if askable.sum() < GROUPS * MEMBERS:
        raise InputError(
            f"{base.folder} has {int(askable.sum())} paragraphs with a question; a pilot asks about "
            f"{GROUPS * MEMBERS}.",
            remedy="Write questions with `richter search questions`, or ask about all of them.",
        )
    find, taken = make_find(base, settings), ~askable
    groups = []
    for row in rng.permutation(np.flatnonzero(askable)):
        if taken[row]:
            continue
        taken[row] = True
        near = find(np.array([row]), MEMBERS - 1, taken)[0]
        rows = [int(row), *(int(r) for r in near if r >= 0)]
        taken[rows] = True
        groups.append(rows)
        if len(groups) == GROUPS:
            break
    one = dataclasses.replace(settings, questions=1, phrasings=1)
    items = [
        tuple(paragraph_items(row, p, one)[0] for row, p in zip(rows, base.paragraphs(rows), strict=True))
        for rows in groups
    ]
    return Pilot(groups=tuple(items))


def topic_effect(
    wrong: Sequence[ArrayLike], *, level: float = 0.95, n_resamples: int = 999, rng: np.random.Generator
) -> TopicEffect:
    """The one-way ANOVA intraclass correlation of right and wrong within groups (Fleiss 1981, for unequal sizes).

    icc = (MSB - MSW) / (MSB + (n0 - 1) MSW) with n0 = (N - sum n^2 / N) / (k - 1). The interval is a percentile
    bootstrap over groups, the p-value that of a permutation of all answers over the groups.
    """
    groups = [np.asarray(g, dtype=np.float64) for g in wrong if np.size(g) > 1]
    if len(groups) < 5:
        raise TooFewErrors(f"{len(groups)} neighbourhoods with two answers say nothing.", n=len(groups), needed=5)
    sizes = np.array([len(g) for g in groups])
    values = np.concatenate(groups)
    seen = _icc(np.split(values, np.cumsum(sizes)[:-1]))
    further = sum(_icc(np.split(rng.permutation(values), np.cumsum(sizes)[:-1])) >= seen - 1e-12
                  for _ in range(n_resamples))  # fmt: skip
    drawn = [_icc([groups[i] for i in rng.integers(len(groups), size=len(groups))]) for _ in range(n_resamples)]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return TopicEffect(
        error_rate=float(values.mean()),
        icc=seen,
        interval=Interval(low=float(low), high=float(high), level=level, method="bootstrap over neighbourhoods"),
        p_value=(1 + further) / (1 + n_resamples),
        neighbourhoods=len(groups),
        answers=len(values),
    )


def _icc(groups: Sequence[NDArray[np.float64]]) -> float:
    sizes = np.array([len(g) for g in groups])
    total, k = int(sizes.sum()), len(groups)
    means = np.array([g.mean() for g in groups])
    grand = float((means * sizes).sum() / total)
    between = float((sizes * (means - grand) ** 2).sum()) / (k - 1)
    within = sum(float(np.square(g - m).sum()) for g, m in zip(groups, means, strict=True)) / (total - k)
    n0 = (total - float((sizes**2).sum()) / total) / (k - 1)
    scale = between + (n0 - 1) * within
    return (between - within) / scale if scale > 0 else 0.0


def _grade_pilot(run: RunLike, pilot: Pilot, condition: Condition) -> list[NDArray[np.float64]]:
    """Of each group of the pilot which answers are wrong, among those that are right or wrong."""
    with open_ledger(run) as ledger:
        given = {name: a for name, a in last_answers(ledger.answers(condition.name)).items() if not a.error}
        shown = {item.id: item for item in ledger.items()}  # with their options in the order that was asked
    wrong = []
    for group in pilot.groups:
        verdicts = [grade(shown[i.id], given[i.id], condition.style) for i in group if i.id in given]
        wrong.append(np.array([v == "wrong" for v in verdicts if v in ("right", "wrong")], dtype=np.float64))
    return wrong


def score_pilot(
    run: RunLike,
    pilot: Pilot,
    base: KnowledgeBase,
    condition: Condition,
    settings: SearchSettings,
    *,
    paragraphs: int,
    n_resamples: int = 12,
    rng: np.random.Generator,
) -> PilotResult:
    """Grade a pilot's answers and predict what a search of so many paragraphs would gain.

    The gain is simulated on the base's own vectors: regions of about 50 paragraphs whose error rates are Beta with the
    pilot's rate and correlation, each simulated search with a rate and correlation of a bootstrap over neighbourhoods.
    """
    wrong = _grade_pilot(run, pilot, condition)
    topics = topic_effect(wrong, rng=rng)
    usable = [g for g in wrong if len(g) > 1]
    rows = np.flatnonzero(base.askable)
    rows = rng.choice(rows, LARGEST, replace=False) if len(rows) > LARGEST else rows
    vectors, codes = np.asarray(base.vectors[np.sort(rows)], dtype=np.float32), base.categories[1][np.sort(rows)]
    gains = []
    for _ in range(n_resamples):
        drawn = [usable[i] for i in rng.integers(len(usable), size=len(usable))]
        rate, icc = float(np.concatenate(drawn).mean()), max(_icc(drawn), 0.0)
        gains.append(simulated_gain(vectors, codes, settings, rate=rate, icc=icc, paragraphs=paragraphs, rng=rng))
    low, high = np.quantile(gains, [0.025, 0.975])
    return PilotResult(
        topics=topics,
        gain=float(np.median(gains)),
        interval=Interval(low=float(low), high=float(high), level=0.95, method="simulated over bootstrapped pilots"),
        paragraphs=min(paragraphs, len(vectors)),
    )


def simulated_gain(
    vectors: NDArray[np.float32],
    codes: NDArray[np.int64],
    settings: SearchSettings,
    *,
    rate: float,
    icc: float,
    paragraphs: int,
    rng: np.random.Generator,
) -> float:
    """The errors of a simulated search over those of asking at random, in a field of regions of this correlation."""
    rate = min(max(rate, 0.005), 0.995)
    centres = rng.choice(len(vectors), max(2, len(vectors) // REGION), replace=False)
    region = find_similar(vectors, vectors[centres], 1)[:, 0]
    if icc > 0.001:
        strength = (1 - min(icc, 0.98)) / min(icc, 0.98)
        chance = beta.rvs(rate * strength, (1 - rate) * strength, size=len(centres), random_state=rng)[region]
    else:
        chance = np.full(len(vectors), rate)
    fails = (rng.random(len(vectors)) < chance).astype(np.float64)
    if not fails.any():
        return 1.0
    search = simulate_search(
        vectors,
        codes,
        lambda at, k, used: find_similar(vectors[at], vectors, k, exclude=used),
        lambda at: fails[at],
        dataclasses.replace(settings, seed=int(rng.integers(2**31))),
        paragraphs=min(paragraphs, len(vectors)),
    )
    return search.rate / float(fails.mean())
