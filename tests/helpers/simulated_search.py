"""A search of a simulated testee, whose error field is known: what a strategy finds against what could be found."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from richter.records import Result
from richter_audit.ascent._error_field import Field, Find
from richter_audit.ascent._population import PopulationRate, population_rate
from richter_audit.ascent._propose import plan_step, random_order
from richter_audit.ascent._settings import SearchSettings
from richter_audit.ascent._trails import Trails


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSearch(Result):
    """What a search of a simulated testee found: its batches, edges and errors, and its estimate of the base's rate."""

    unwritten: ClassVar = ("batches", "edges", "errors")
    flat: ClassVar = ("population",)
    derived: ClassVar = ("simulated", "paragraphs", "rate")
    simulated: ClassVar = True

    batches: tuple[tuple[int, ...], ...]
    edges: tuple[tuple[int, int], ...]
    errors: dict[int, float]
    population: PopulationRate

    @property
    def rate(self) -> float:
        """The mean error of what was asked about."""
        return float(np.mean(list(self.errors.values())))

    @property
    def paragraphs(self) -> int:
        """How many paragraphs were asked about."""
        return len(self.errors)


def simulate_search(
    vectors: NDArray[np.floating],
    codes: NDArray[np.int64],
    find: Find,
    error_of: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    settings: SearchSettings,
    *,
    paragraphs: int,
    level: float = 0.95,
) -> SimulatedSearch:
    """Run a search against `error_of`, a simulated testee, until `paragraphs` have been asked about.

    The same choices as in `run_search`, without a ledger and a model: for studies with a known truth.
    """
    everything = np.ones(len(vectors), dtype=np.bool_)
    order = random_order(everything, settings.seed)
    field = Field(vectors=vectors, codes=codes, free=everything, find=find)
    batches: list[tuple[int, ...]] = []
    edges: list[tuple[int, int]] = []
    sample: list[int] = []
    trails = Trails(xi=settings.xi, gamma=settings.gamma)
    sources: tuple[int, ...] = ()
    while len(field.errors) < paragraphs:
        plan = plan_step(
            field,
            settings,
            step=len(batches) + 1,
            order=order,
            sampled=len(sample),
            sources=sources,
            size=min(settings.batch, paragraphs - len(field.errors)),
        )
        if not plan.picks:
            break
        rows = [row for row, _ in plan.picks]
        field.arms |= {row: (arm, len(batches) + 1) for arm, own in plan.arms.items() for row in own}
        batches.append(tuple(rows))
        edges += plan.edges
        sample += plan.sample
        field.errors.update(zip(rows, error_of(np.asarray(rows)).tolist(), strict=True))
        sources = trails.add(rows, plan.edges, field.errors).sources
    rate = population_rate([field.errors[row] for row in sample], size=len(vectors), level=level)
    return SimulatedSearch(batches=tuple(batches), edges=tuple(edges), errors=field.errors, population=rate)
