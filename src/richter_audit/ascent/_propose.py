"""What to ask about next: one function for each strategy, and the uniform share that all of them carry."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from richter_audit.ascent._error_field import Field
from richter_audit.ascent._portfolio import leading_arm
from richter_audit.ascent._settings import SearchSettings
from richter_audit.ascent._surrogate import propose_bayes
from richter_audit.ascent._tasks import propose_tasks

__all__ = ["StepPlan", "plan_step", "random_order"]

Edge = tuple[int, int]
PORTFOLIOS = {"errors": ("bayes", "sea", "modes", "uniform"), "spread": ("modes", "uniform")}
NO_TASKS = np.empty((0, 0), dtype=np.float32)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """A step before it is asked: paragraphs with their design, the edges that led there, the sample's growth.

    `tasks` are the paragraphs of each proposed task, where a model proposed some, `arms` those of each strategy of a
    portfolio.
    """

    picks: tuple[tuple[int, str], ...]
    edges: tuple[Edge, ...]
    sample: tuple[int, ...]
    tasks: tuple[tuple[int, ...], ...] = ()
    arms: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)


def random_order(askable: NDArray[np.bool_], seed: int) -> NDArray[np.int64]:
    """The askable paragraphs in a random order that the seed fixes before anything is asked.

    The first n of it are a simple random sample of the base, whatever the search does in between: whether a
    paragraph belongs to it depends on the seed and on n alone.
    """
    return np.random.default_rng([seed, 0]).permutation(np.flatnonzero(askable))


def plan_step(
    field: Field,
    settings: SearchSettings,
    *,
    step: int,
    order: NDArray[np.int64],
    sampled: int,
    sources: Sequence[int],
    size: int,
    tasks: NDArray[np.float32] = NO_TASKS,
) -> StepPlan:
    """Choose the `size` paragraphs of a step (numbered from 1); empty when the base is used up.

    The uniform share walks along `order`; of its members those asked about before cost nothing, and their places go
    to the strategy. The first step has no source and is drawn over categories, or at random. `tasks` are the vectors of
    the tasks that the strategy of that name goes by.
    """
    rng = np.random.default_rng([settings.seed, step])
    at_random = settings.strategy == "random" or (step == 1 and settings.start == "random")
    share = size if at_random else round(settings.uniform * size)
    sample = order[sampled : sampled + share]
    uniform = [int(row) for row in sample if field.free[row]]
    field.take(uniform)
    picks = [(row, "uniform") for row in uniform]
    edges: list[Edge] = []
    by_task: list[list[int]] = []
    by_arm: dict[str, list[int]] = {}
    rest = min(size - len(uniform), int(field.free.sum()))
    if rest and not at_random:
        if step == 1:
            rows, design = propose_categories(field, rest, rng), "start"
            by_arm["start"] = rows
        elif settings.strategy == "tasks":
            *by_task, others = propose_tasks(field, rest, tasks, rng)
            rows, design = [row for own in by_task for row in own] + others, "ascent"
        elif settings.strategy == "portfolio":
            arm, design = leading_arm(field, PORTFOLIOS[settings.aim], step), "ascent"
            rows, edges = _propose(field, arm, settings, rest, sources, rng)
            by_arm[arm] = rows
        else:
            rows, edges = _propose(field, settings.strategy, settings, rest, sources, rng)
            design = "ascent"
        field.take(rows)
        picks += [(row, design) for row in rows]
    by_arm["uniform"] = by_arm.get("uniform", []) + uniform
    return StepPlan(
        picks=tuple(picks),
        edges=tuple(edges),
        sample=tuple(int(row) for row in sample),
        tasks=tuple(map(tuple, by_task)),
        arms={arm: tuple(own) for arm, own in by_arm.items()} if settings.strategy == "portfolio" else {},
    )


def _propose(
    field: Field,
    strategy: str,
    settings: SearchSettings,
    count: int,
    sources: Sequence[int],
    rng: np.random.Generator,
) -> tuple[list[int], list[Edge]]:
    if strategy in ("bayes", "modes"):
        return propose_bayes(field, count, rng, cover=strategy == "modes"), []
    if strategy == "uniform":
        return [int(row) for row in rng.permutation(np.flatnonzero(field.free))[:count]], []
    if strategy == "topics":
        return propose_topics(field, count, rng), []
    return propose_ascent(field, count, sources, settings.neighbours, rng)


def propose_categories(field: Field, count: int, rng: np.random.Generator) -> list[int]:
    """Paragraphs drawn uniformly over the categories, then within each: the paper's initial batch."""
    rows = np.flatnonzero(field.free)
    rows = rows[np.argsort(rng.random(len(rows)))]
    codes = field.codes[rows]
    by_category = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[by_category], codes[by_category], side="left")
    turn = np.empty(len(rows), dtype=np.int64)
    turn[by_category] = np.arange(len(rows)) - starts  # the how-manieth of its category
    shuffled = rng.permutation(int(field.codes.max()) + 1)
    return [int(row) for row in rows[np.lexsort((shuffled[codes], turn))][:count]]


def propose_ascent(
    field: Field, count: int, sources: Sequence[int], k: int, rng: np.random.Generator
) -> tuple[list[int], list[Edge]]:
    """Line 6 of algorithm 1: the union of the sources' k nearest free paragraphs, then `count` of it at random.

    An edge runs from every source that retrieved a drawn paragraph. Where the union is too small (no source, or all
    neighbours used up) the rest is drawn from the whole base, without edges.
    """
    near = field.neighbours(sources, k)
    union = np.unique(np.concatenate([*near.values(), np.empty(0, dtype=np.int64)]))
    rows = [int(row) for row in rng.permutation(union)[:count]]
    drawn = set(rows)
    edges = [(source, int(row)) for source, targets in near.items() for row in targets if int(row) in drawn]
    if len(rows) < count:
        others = np.setdiff1d(np.flatnonzero(field.free), union, assume_unique=True)
        rows += [int(row) for row in rng.permutation(others)[: count - len(rows)]]
    return rows, edges


def propose_topics(field: Field, count: int, rng: np.random.Generator) -> list[int]:
    """A bandit over categories that aims at difficult ones (the AutoBencher-like baseline).

    Each category has a Beta(1 + errors, 1 + rights) belief about its error; for each place a value is drawn from
    every belief, and a free paragraph of the category with the highest is taken.
    """
    size = int(field.codes.max()) + 1
    wrong, right = np.ones(size), np.ones(size)
    for row, error in field.errors.items():
        if not np.isnan(error):
            wrong[field.codes[row]] += error
            right[field.codes[row]] += 1 - error
    rows = rng.permutation(np.flatnonzero(field.free))
    codes = field.codes[rows]
    left = np.bincount(codes, minlength=size)
    by_category = np.argsort(codes, kind="stable")
    first = np.concatenate([[0], np.cumsum(left)[:-1]])
    taken = np.zeros(size, dtype=np.int64)
    chosen = []
    for _ in range(count):
        draw = rng.beta(wrong, right)
        draw[taken >= left] = -1
        best = int(np.argmax(draw))
        chosen.append(int(rows[by_category[first[best] + taken[best]]]))
        taken[best] += 1
    return chosen
