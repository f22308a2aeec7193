"""Pairs of conditions at matched accuracy: which differ in the shape of their errors (ERRORQUAKE, section 4.1)."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.errors import InputError, TooFewErrors
from richter.records import Finding, Gate, Interval, Shown, Verdict
from richter.severity._b_value import DEFAULT, PAPER, BValue, Recipe, b_from_counts, fit_rows
from richter.severity._difference import REFINE_BELOW, BDifference, compare_b, likelihood_ratio_p
from richter.severity._grid import LEVELS, snap
from richter.stats import Mapper, benjamini_hochberg, in_threads

__all__ = ["Discrimination", "Pair", "PairCounts", "Unestimated", "discriminate", "estimate_all", "m_min_strategies"]

RESOLUTION = 2.80  # z(0.975) + z(0.80), of proposition 2, on the standard error of the *difference*


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unestimated:
    """A condition whose errors cannot carry a slope: why, and how many errors would."""

    n: int
    n_errors: int
    needed: int
    reason: str
    counts: tuple[int, ...]

    @property
    def error_rate(self) -> float:
        """Errors per rated answer; NaN with no answers."""
        return self.n_errors / self.n if self.n else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**dataclasses.asdict(self), "counts": list(self.counts), "error_rate": self.error_rate}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairCounts:
    """How many matched pairs each rule calls different.

    `paper`: the paper's intervals are disjoint (section 4.1); `paper_min_gap`: and its slopes differ by more than
    the minimum gap (appendix G); `difference_test`: q of the direct test; `gated`: and every gate passes.
    """

    matched: int
    paper: int
    paper_min_gap: int
    difference_test: int
    gated: int

    def to_dict(self) -> dict[str, int]:
        """Plain values."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pair(Shown):
    """Two conditions at matched accuracy. `delta` values are A minus B; `disjoint` is by the paper's intervals."""

    a: str
    b: str
    delta_error_rate: float
    delta_b: float | None
    interval: Interval | None
    standard_error: float | None
    disjoint: bool | None
    paper_delta_b: float | None
    p: float | None
    q: float | None
    n_permutations: int | None
    likelihood_ratio_p: float | None
    finding: Finding

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the finding's verdict, gates and sentence at the top level."""
        row = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "finding"}
        row["interval"] = None if self.interval is None else [self.interval.low, self.interval.high]
        found = self.finding.to_dict()
        return {
            **row,
            **{k: found[k] for k in ("verdict", "sentence", "blocked_by", "needed", "exploratory", "gates", "notes")},
        }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Discrimination(Shown):
    """All matched pairs of a study, each a finding, with the counts by rule and what they were computed with."""

    conditions: Mapping[str, BValue | Unestimated]
    paper_conditions: Mapping[str, BValue | Unestimated]
    pairs: tuple[Pair, ...]
    counts: PairCounts
    n_pairs: int
    max_error_gap: float
    min_gap: float
    alpha: float
    reliability: float | None
    recipe: Recipe
    n_resamples: int
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        row = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        row["conditions"] = {name: value.to_dict() for name, value in self.conditions.items()}
        row["paper_conditions"] = {name: value.to_dict() for name, value in self.paper_conditions.items()}
        row["pairs"] = [pair.to_dict() for pair in self.pairs]
        row["counts"] = self.counts.to_dict()
        row["recipe"] = self.recipe.to_dict()
        return row


def estimate_all(
    counts: Mapping[str, NDArray[np.int64]],
    *,
    recipe: Recipe = DEFAULT,
    n_resamples: int = 2000,
    level: float = 0.95,
    goodness_of_fit: bool = True,
    rng: np.random.Generator,
) -> dict[str, BValue | Unestimated]:
    """`b_from_counts` of every condition; one that has too few errors says so and the study goes on."""
    out: dict[str, BValue | Unestimated] = {}
    for name, levels in counts.items():
        try:
            out[name] = b_from_counts(
                levels, recipe=recipe, n_resamples=n_resamples, level=level, goodness_of_fit=goodness_of_fit, rng=rng
            )
        except TooFewErrors as error:
            out[name] = Unestimated(
                n=int(levels.sum()),
                n_errors=int(levels[1:].sum()),
                needed=error.needed,
                reason=error.what,
                counts=tuple(int(c) for c in levels),
            )
    return out


def _disjoint(a: BValue, b: BValue) -> bool:
    return a.interval.low > b.interval.high or b.interval.low > a.interval.high


def discriminate(
    severity: Mapping[str, ArrayLike],
    *,
    paired: bool = True,
    recipe: Recipe = DEFAULT,
    max_error_gap: float = 0.05,
    min_gap: float = 0.15,
    alpha: float = 0.05,
    reliability: float | None = None,
    n_resamples: int = 2000,
    refine_to: int = 50_000,
    level: float = 0.95,
    exploratory: bool = True,
    rng: np.random.Generator,
    mapper: Mapper = in_threads,
) -> Discrimination:
    """Compare the slopes of all pairs of conditions whose error rates differ by less than `max_error_gap`.

    `severity` maps a condition to its scores, in the same order of items for all when `paired` (NaN where an item was
    not rated). Four counts stand side by side: the paper's (disjoint 95% intervals of its own estimator, which is not
    a 5% test and finds pairs among identical models), the paper's with |delta b| > `min_gap`, the direct permutation
    test of the difference (`compare_b`) with Benjamini-Hochberg over the matched pairs, and the gated count, in which
    a pair must also pass

    - `goodness_of_fit`: the law's p above 0.05 in both conditions (where the law holds nowhere, no b exists);
    - `stability`: the same sign of the difference with m_min by KS, at 1.5 and by `clauset` (table 9: signs flip);
    - `resolution`: |delta b| at least 2.80 SE(delta) / sqrt(reliability), proposition 2 with its own sqrt 2, so
      3.96 SE of one estimate. `reliability` is the scores' ICC(2,k); unknown, it is taken as 1 and the gate says so.

    A pair is `verified` when the test and every gate pass; `blocked` when goodness of fit fails, or the test passes
    and another gate does not; `equivalent` when the test does not pass and the 90% interval of the difference lies
    within `min_gap`; else `undecided`, with the number of items that would give 80% power for the difference seen.
    Findings are `exploratory` unless the caller knows of a plan locked beforehand. Every pair has a generator of its
    own: `mapper` says where it is tested and changes no number.
    """
    if not severity:
        raise InputError("There is no condition to compare.", remedy="Give scores of at least one condition.")
    if reliability is not None and not 0 < reliability <= 1:
        raise InputError(f"A reliability of {reliability:g} is not in (0, 1].", remedy="Give the ICC of the scores.")
    levels = {name: snap(scores, name=f"{name!r}") for name, scores in severity.items()}
    if paired and len({x.shape for x in levels.values()}) > 1:
        raise InputError(
            "Paired conditions need one score per item each, in the same order.",
            remedy="Align them by item with NaN for unrated ones, or use paired=False.",
        )
    counts = {name: np.bincount(x[x >= 0], minlength=9) for name, x in levels.items()}
    fits = estimate_all(counts, recipe=recipe, n_resamples=n_resamples, level=level, rng=rng)
    paper = estimate_all(counts, recipe=PAPER, n_resamples=n_resamples, level=level, goodness_of_fit=False, rng=rng)
    matched = [
        (a, b) for a, b in combinations(levels, 2) if abs(fits[a].error_rate - fits[b].error_rate) < max_error_gap
    ]
    test_pair = partial(_test_pair, levels, {"recipe": recipe, "n_resamples": n_resamples, "level": level}, paired)
    tests, q = _test_pairs(test_pair, matched, fits, (n_resamples, refine_to), alpha, rng, mapper)
    signs = _signs(counts, recipe)
    pairs = []
    for i, (a, b) in enumerate(matched):
        fit_a, fit_b, paper_a, paper_b = fits[a], fits[b], paper[a], paper[b]
        disjoint = paper_gap = None
        if isinstance(paper_a, BValue) and isinstance(paper_b, BValue):
            disjoint, paper_gap = _disjoint(paper_a, paper_b), paper_a.b - paper_b.b
        test = tests[i]
        gap = fit_a.error_rate - fit_b.error_rate
        if test is None or not isinstance(fit_a, BValue) or not isinstance(fit_b, BValue):
            finding = _too_few(a, b, fit_a, fit_b)
        else:
            gates = _gates(test, fit_a, fit_b, signs[a], signs[b], reliability)
            finding = _judge(a, b, test, float(q[i]), gates, alpha, min_gap)
        finding = dataclasses.replace(finding, exploratory=exploratory)
        pairs.append(
            Pair(
                a=a,
                b=b,
                delta_error_rate=gap,
                delta_b=None if test is None else test.delta_b,
                interval=None if test is None else test.interval,
                standard_error=None if test is None else test.standard_error,
                disjoint=disjoint,
                paper_delta_b=paper_gap,
                p=None if test is None else test.p,
                q=None if test is None else float(q[i]),
                n_permutations=None if test is None else test.n_permutations,
                likelihood_ratio_p=_planned_p(counts[a], counts[b], recipe) if test is not None else None,
                finding=finding,
            )
        )
    apart = [p for p in pairs if p.disjoint and p.paper_delta_b is not None and abs(p.paper_delta_b) > min_gap]
    return Discrimination(
        conditions=fits,
        paper_conditions=paper,
        pairs=tuple(pairs),
        counts=PairCounts(
            matched=len(pairs),
            paper=sum(bool(p.disjoint) for p in pairs),
            paper_min_gap=len(apart),
            difference_test=sum(p.q is not None and p.q <= alpha for p in pairs),
            gated=sum(p.finding.verdict is Verdict.VERIFIED for p in pairs),
        ),
        n_pairs=len(levels) * (len(levels) - 1) // 2,
        max_error_gap=max_error_gap,
        min_gap=min_gap,
        alpha=alpha,
        reliability=reliability,
        recipe=recipe,
        n_resamples=n_resamples,
        level=level,
    )


_Task = tuple[tuple[str, str], int, np.random.Generator]


def _test_pair(
    levels: Mapping[str, NDArray[np.int8]],
    options: Mapping[str, Any],
    paired: bool,
    task: _Task,
) -> BDifference | None:
    (a, b), refine_to, rng = task
    try:
        return compare_b(
            _values(levels[a]),
            _values(levels[b]),
            paired=paired and _share_items(levels[a], levels[b]),
            refine_to=refine_to,
            rng=rng,
            **options,
        )
    except InputError:  # slopes exist on all items of each, but not on the items they share
        return None


def _values(levels: NDArray[np.int8]) -> NDArray[np.float64]:
    return np.where(levels < 0, np.nan, LEVELS[levels])


def _test_pairs(
    test_pair: Callable[[_Task], BDifference | None],
    matched: Sequence[tuple[str, str]],
    fits: Mapping[str, BValue | Unestimated],
    stages: tuple[int, int],
    alpha: float,
    rng: np.random.Generator,
    mapper: Mapper,
) -> tuple[list[BDifference | None], NDArray[np.float64]]:
    """Each pair's test (None where it has none) and its q.

    `stages` are the permutations at first and where it matters: a p below 0.01 is taken again with more of them, but
    a pair that is already rejected with ten times the margin needs no finer p.
    """
    tests: list[BDifference | None] = [None] * len(matched)
    todo = [i for i, (a, b) in enumerate(matched) if isinstance(fits[a], BValue) and isinstance(fits[b], BValue)]
    for permutations in stages:
        generators = rng.spawn(len(matched))  # one a pair, tested or not
        results = mapper(test_pair, [(matched[i], permutations, generators[i]) for i in todo])
        for i, result in zip(todo, results, strict=True):
            tests[i] = result
        q = _q_values(tests)
        todo = [i for i, t in enumerate(tests) if t and t.p < REFINE_BELOW and q[i] > alpha / 10]
    return tests, _q_values(tests)


def _planned_p(a: NDArray[np.int64], b: NDArray[np.int64], recipe: Recipe) -> float | None:
    """The likelihood-ratio test's p where m_min was fixed beforehand; None where it is chosen on the data."""
    return None if isinstance(recipe.m_min, str) else likelihood_ratio_p(a, b, m_min=recipe.m_min)


def _q_values(tests: Sequence[BDifference | None]) -> NDArray[np.float64]:
    q = np.full(len(tests), math.nan)
    tested = [i for i, test in enumerate(tests) if test is not None]
    if tested:
        q[tested] = benjamini_hochberg([test.p for test in tests if test is not None])
    return q


def _share_items(a: NDArray[np.int8], b: NDArray[np.int8]) -> bool:
    """Whether the items rated in both are most of the smaller condition's; else all items are used, unpaired."""
    rated_a, rated_b = a >= 0, b >= 0
    return int(np.sum(rated_a & rated_b)) * 2 > min(int(rated_a.sum()), int(rated_b.sum()))


def m_min_strategies(recipe: Recipe) -> dict[str, Recipe]:
    """The recipe with the three choices of m_min of table 9."""
    return {
        "ks": dataclasses.replace(recipe, m_min="ks"),
        "1.5": dataclasses.replace(recipe, m_min=1.5),
        "clauset": dataclasses.replace(recipe, m_min="clauset"),
    }


def _signs(counts: Mapping[str, NDArray[np.int64]], recipe: Recipe) -> dict[str, dict[str, float]]:
    """Each condition's slope under the three m_min strategies of table 9."""
    rows = np.array([c[1:] for c in counts.values()], dtype=np.float64)
    strategies = {name: fit_rows(rows, strategy)[0] for name, strategy in m_min_strategies(recipe).items()}
    return {name: {s: float(b[i]) for s, b in strategies.items()} for i, name in enumerate(counts)}


def _gates(
    test: BDifference,
    a: BValue,
    b: BValue,
    slopes_a: Mapping[str, float],
    slopes_b: Mapping[str, float],
    reliability: float | None,
) -> tuple[Gate, ...]:
    deltas = {s: slopes_a[s] - slopes_b[s] for s in slopes_a}
    stable = all(d * test.delta_b > 0 for d in deltas.values())
    bound = RESOLUTION * test.standard_error / math.sqrt(1.0 if reliability is None else reliability)
    return (
        Gate(
            name="goodness_of_fit",
            rule="p of the law above 0.05 in both conditions",
            passed=a.gof_p > 0.05 and b.gof_p > 0.05,
            observed={"p_a": a.gof_p, "p_b": b.gof_p},
        ),
        Gate(
            name="stability",
            rule="the same sign with m_min by KS, at 1.5 and by clauset",
            passed=stable,
            observed={"delta_b": deltas},
            detail="" if not any(math.isnan(d) for d in deltas.values()) else "a strategy has too few errors",
        ),
        Gate(
            name="resolution",
            rule="|delta b| at least 2.80 SE(delta) / sqrt(reliability)",
            passed=abs(test.delta_b) >= bound,
            observed={"bound": bound, "reliability": reliability},
            detail="" if reliability is not None else "the scores' reliability is unknown and taken as 1",
        ),
    )


def _judge(
    a: str, b: str, test: BDifference, q: float, gates: tuple[Gate, ...], alpha: float, min_gap: float
) -> Finding:
    heavier, lighter = (b, a) if test.delta_b > 0 else (a, b)
    claim = f"the errors of {heavier} decay more slowly with severity than those of {lighter}"
    numbers = f"delta b {test.delta_b:+.3f}, q {q:.2g}"
    failed = [g.name for g in gates if not g.passed]
    needed: int | None = None
    blocked_by: str | None = None
    if "goodness_of_fit" in failed:
        verdict, blocked_by = Verdict.BLOCKED, "goodness_of_fit"
        unfit = [name for name, p in ((a, "p_a"), (b, "p_b")) if gates[0].observed[p] <= 0.05]
        sentence = (
            f"Blocked by {', '.join(failed)}: the law holds above no level for {' and '.join(unfit)}, so there are no "
            f"slopes of {a} and {b} to compare ({numbers})."
        )
    elif q <= alpha and not failed:
        verdict = Verdict.VERIFIED
        sentence = f"Verified: {claim} ({numbers}); every gate passed."
    elif q <= alpha:
        verdict, blocked_by = Verdict.BLOCKED, failed[0]
        sentence = (
            f"Blocked by {', '.join(failed)}: the slopes of {a} and {b} differ ({numbers}), but not to be relied on."
        )
    else:
        spread = 1.645 * test.standard_error  # two one-sided 5% tests
        within = abs(test.delta_b) + spread < min_gap
        verdict = Verdict.EQUIVALENT if within else Verdict.UNDECIDED
        if within:
            sentence = f"Equivalent: the slopes of {a} and {b} are within {min_gap:g} of each other ({numbers})."
        else:
            ratio = RESOLUTION * test.standard_error / max(abs(test.delta_b), 1e-12)
            needed = math.ceil(test.n * ratio**2) if 1 < ratio < 100 else None
            more = f"; about {needed:,} items would settle a difference of this size" if needed else ""
            sentence = f"Undecided: no difference between the slopes of {a} and {b} is shown ({numbers}){more}."
    return Finding(
        claim=claim,
        verdict=verdict,
        sentence=sentence,
        estimate=test.delta_b,
        interval=test.interval,
        n=test.n,
        floor=float(gates[2].observed["bound"]),
        needed=needed,
        gates=gates,
        blocked_by=blocked_by,
    )


def _too_few(a: str, b: str, fit_a: BValue | Unestimated, fit_b: BValue | Unestimated) -> Finding:
    short = [(name, fit) for name, fit in ((a, fit_a), (b, fit_b)) if isinstance(fit, Unestimated)]
    reasons = "; ".join(f"{name}: {fit.reason}" for name, fit in short) or "they share too few errors on common items"
    return Finding(
        claim=f"the slopes of {a} and {b} differ",
        verdict=Verdict.UNDECIDED,
        sentence=f"Undecided: the slopes of {a} and {b} cannot be compared ({reasons}).",
        needed=max((fit.needed for _, fit in short), default=None),
    )
