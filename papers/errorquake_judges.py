"""How much of the count is the judges: swap noise, one judge left out, judges weighted alike (appendices B, H)."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errorquake_counts import counts_of
from errorquake_robustness import recount
from errorquake_scores import Scores
from richter.errors import InputError
from richter.records import Result
from richter.severity import DEFAULT, Recipe, snap
from richter.severity._disjoint_intervals import Recount, count_disjoint, fit_slopes
from richter.stats import Bools, Floats, Leniency, Mapper, leniency
from trials import run_trials


class JudgeLeniency(NamedTuple):
    """The judges' names, and their effects in that order."""

    names: tuple[str, ...]
    effects: Leniency


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HierarchicalBootstrap(Result):
    """The number of disjoint pairs over resampled items and judges: median and percentile limits."""

    median: float
    low: float
    high: float
    level: float
    n_iterations: int
    n_resamples: int
    n_dual: int


def hierarchical_bootstrap(
    scores: Scores,
    *,
    recipe: Recipe = DEFAULT,
    n_iterations: int = 200,
    n_resamples: int = 200,
    max_error_gap: float = 0.05,
    min_gap: float = 0.15,
    level: float = 0.95,
    rng: np.random.Generator,
    mapper: Mapper = map,
) -> HierarchicalBootstrap:
    """Resample items (the same for all conditions) and, for each answer that two judges scored, which judge counts.

    Appendix B1: in every iteration all slopes and intervals are made anew, with `n_resamples` resamples inside, and
    disjoint pairs are counted. Single-judge scores are noisier than their mean, so the count need not centre on the
    study's own; its spread is what judge and item noise alone do to the headline. Every iteration has a generator of
    its own: `mapper` says where it runs and changes no number.
    """
    if scores.judges is None:
        raise InputError("The judges' own scores are not given.", remedy="Add the columns judge_1 and judge_2.")
    final, pair = snap(scores.severity), snap(scores.judges[:2])
    dual = (pair >= 0).all(axis=0) & (final >= 0)
    setting = _Panel(
        final=final,
        pair=pair,
        dual=dual,
        rule={"max_error_gap": max_error_gap, "min_gap": min_gap},
        slopes={"recipe": recipe, "n_resamples": n_resamples, "level": level},
    )
    (found,) = run_trials(_disjoint_pairs, [setting], n_iterations, rng=rng, mapper=mapper)
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return HierarchicalBootstrap(
        median=float(np.median(found)),
        low=float(low),
        high=float(high),
        level=level,
        n_iterations=n_iterations,
        n_resamples=n_resamples,
        n_dual=int(dual.sum()),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """Levels by the final score and by each judge (items x conditions), and where both judges scored."""

    final: NDArray[np.int8]
    pair: NDArray[np.int8]
    dual: Bools
    rule: Mapping[str, float]
    slopes: Mapping[str, Any]


def _disjoint_pairs(panel: _Panel, rng: np.random.Generator) -> int:
    """Disjoint pairs on items drawn anew, with one judge or the other for each answer that both scored."""
    n_items, n_conditions = panel.final.shape
    weight = rng.multinomial(n_items, np.full(n_items, 1 / n_items))
    second = rng.random(panel.final.shape) < 0.5
    levels = np.where(panel.dual, np.where(second, panel.pair[1], panel.pair[0]), panel.final)
    rated = levels >= 0
    cells = (levels + 9 * np.arange(n_conditions))[rated]
    repeated = np.broadcast_to(weight[:, None], levels.shape)[rated]
    counts = np.bincount(cells, weights=repeated, minlength=9 * n_conditions).astype(np.float64)
    here = fit_slopes(counts.reshape(n_conditions, 9), rng=rng, **panel.slopes)
    return count_disjoint("", here, **panel.rule).disjoint


def _named_judges(scores: Scores) -> tuple[Floats, NDArray[np.str_], list[str]]:
    if scores.judges is None or scores.judge_names is None:
        raise InputError(
            "It is not known which judge gave which score.",
            remedy="Add judge_1, judge_2, judge_1_name and judge_2_name.",
        )
    names = sorted(str(n) for n in np.unique(scores.judge_names[~np.isnan(scores.judges)]) if n)
    return scores.judges, scores.judge_names, names


def counts_without_judge(scores: Scores) -> dict[str, Floats]:
    """Counts (conditions x 9) without each judge in turn (appendix H).

    An answer that the judge did not score keeps its final score; one that it scored takes the other judges' median, and
    is left out where there was no other.
    """
    judges, names, pool = _named_judges(scores)
    out = {}
    for judge in pool:
        gone = (names == judge) & ~np.isnan(judges)
        rest = np.where(gone, np.nan, judges)
        some = ~np.isnan(rest).all(axis=0)
        survivor = np.full(some.shape, np.nan)
        survivor[some] = np.nanmedian(rest[:, some], axis=0)
        out[judge] = counts_of(np.where(gone.any(axis=0), survivor, scores.severity))
    return out


def leave_one_judge_out_counts(scores: Scores, *, recipe: Recipe = DEFAULT, **options: Any) -> tuple[Recount, ...]:
    """The disjoint-interval count without each judge in turn. `options` as of `recount`."""
    return tuple(
        recount(f"without {judge}", counts, recipe=recipe, **options)
        for judge, counts in counts_without_judge(scores).items()
    )


def reweighted_counts(scores: Scores) -> Floats:
    """Counts (conditions x 9) from all single judge scores, each judge weighing alike within a condition.

    A condition that was dealt a harsh judge more often then has it no more often than another. Weights are scaled to
    the number of rated answers, so intervals do not shrink for having two scores an answer.
    """
    judges, names, pool = _named_judges(scores)
    levels = snap(judges)
    n_conditions = len(scores.conditions)
    counts = np.zeros((n_conditions, 9))
    for c in range(n_conditions):
        scored = levels[:, :, c] >= 0
        for judge in pool:
            mine = scored & (names[:, :, c] == judge)
            used = int(mine.sum())
            if used:
                counts[c] += np.bincount(levels[:, :, c][mine], minlength=9) / used
        rated = int(scored.any(axis=0).sum())
        counts[c] *= rated / max(counts[c].sum(), 1e-300)
    return counts


def reweight_judges(scores: Scores, *, recipe: Recipe = DEFAULT, **options: Any) -> Recount:
    """The disjoint-interval count with every judge weighing alike within a condition. `options` as of `recount`."""
    return recount("judges weighted alike", reweighted_counts(scores), recipe=recipe, **options)


def judge_leniency(scores: Scores) -> JudgeLeniency:
    """Judges' effects on the same answers, and the paper's Kruskal-Wallis test (appendix B5); names in order."""
    judges, names, pool = _named_judges(scores)
    flat, flat_names = judges.reshape(len(judges), -1), names.reshape(len(judges), -1)
    table = np.full((flat.shape[1], len(pool)), np.nan)
    for j, judge in enumerate(pool):
        for slot in range(len(judges)):
            mine = (flat_names[slot] == judge) & ~np.isnan(flat[slot])
            table[mine, j] = flat[slot, mine]
    return JudgeLeniency(tuple(pool), leniency(table[~np.isnan(table).all(axis=1)]))
