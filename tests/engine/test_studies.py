"""Studies are cut into tasks with seeds of their own: neither order, nor process, nor machine changes a number."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from errorquake_judges import hierarchical_bootstrap
from errorquake_scores import Scores
from helpers.ray_cluster import RayCluster
from helpers.simulated import simulated_run
from richter.audit import measure_run
from richter.engine import RayEngine, open_engine
from richter.stats import Mapper, in_threads, run_tasks
from richter.tail import TailPlan, compare_conditions
from tail_power import simulate_criteria, simulate_protocol
from tax_simulations import SIMULATIONS
from trials import run_trials

pytestmark = pytest.mark.xdist_group("ray")  # in one process: what is expected is computed once
T = TypeVar("T")
R = TypeVar("R")
Study = Callable[[Mapper, Path], Any]


def criteria(mapper: Mapper, _: Path) -> Any:
    rng = np.random.default_rng(1)
    return simulate_criteria([0.0, 0.3], [60, 80], rng=rng, trials=23, n_resamples=100, mapper=mapper).to_dict()


def protocol(mapper: Mapper, _: Path) -> Any:
    plan = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2)
    rng = np.random.default_rng(2)
    return simulate_protocol([0.1], [400], plan, rng=rng, trials=23, n_resamples=100, mapper=mapper).to_dict()


def tails(mapper: Mapper, _: Path) -> Any:
    rng = np.random.default_rng(6)
    plan = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2, n_resamples=600)
    severities = {name: rng.exponential(size=1_500) for name in "abc"}
    return compare_conditions(severities, plan, rng=rng, mapper=mapper).to_dict()


def floors(name: str, runs: int, mapper: Mapper, _: Path) -> Any:
    return SIMULATIONS[name](rng=np.random.default_rng(4), runs=runs, mapper=mapper).to_dict()


def judge_noise(mapper: Mapper, _: Path) -> Any:
    rng = np.random.default_rng(5)
    judges = rng.choice(9, size=(2, 300, 4), p=[0.6, *[0.05] * 8]) / 2
    scores = Scores(
        items=tuple(map(str, range(300))),
        conditions=tuple("abcd"),
        severity=np.round(judges.sum(axis=0)) / 2,
        judges=judges,
    )
    return hierarchical_bootstrap(scores, rng=rng, n_iterations=23, n_resamples=100, mapper=mapper).to_dict()


def document(mapper: Mapper, run: Path) -> Any:
    """Pairs of severities, calibration from grades and from draws."""
    return measure_run(run, only=["severity", "calibration"], n_resamples=200, mapper=mapper).to_dict()


STUDIES: dict[str, Study] = {
    "criteria": criteria,
    "protocol": protocol,
    "tails": tails,
    "slope": partial(floors, "slope", 3),
    "active": partial(floors, "active", 11),
    "composition": partial(floors, "composition", 3),
    "judge noise": judge_noise,
    "document": document,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated_run(tmp_path_factory.mktemp("run"), conditions=3, items=150, judged=40, drawn=12, draws=6)


@pytest.fixture(scope="module")
def expected(run: Path) -> dict[str, Any]:
    with open_engine("local") as engine:
        return {name: study(engine.map, run) for name, study in STUDIES.items()}


def backwards(function: Callable[[T], R], tasks: Iterable[T], /) -> Iterable[R]:
    """The last task first, and each through a pickle, as a worker elsewhere gets it."""
    sent = [pickle.dumps((function, task)) for task in tasks]
    results = []
    for parcel in reversed(sent):
        there, task = pickle.loads(parcel)
        results.append(there(task))
    return reversed(results)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", STUDIES)
def test_tasks_are_independent(name: str, run: Path, expected: dict[str, Any]) -> None:
    assert STUDIES[name](backwards, run) == expected[name]


def test_threads_change_no_number(run: Path, expected: dict[str, Any]) -> None:
    assert document(in_threads, run) == expected["document"]


def normal(mean: float, rng: np.random.Generator) -> float:
    return float(rng.normal(mean))


def test_neither_batch_nor_order_changes_a_trial() -> None:
    def drawn(batch: int, mapper: Mapper) -> list[list[float]]:
        return run_trials(normal, [0.0, 5.0], 23, rng=np.random.default_rng(4), mapper=mapper, batch=batch)

    one = drawn(1, map)
    assert [len(found) for found in one] == [23, 23]
    assert drawn(7, backwards) == drawn(50, map) == one
    assert len({x for found in one for x in found}) == 46


def test_seeds_are_spawned_from_the_callers_generator_by_hand() -> None:
    first, second, third, fourth = np.random.default_rng(5).spawn(4)
    expected = [[first.normal(1.0), second.normal(1.0)], [third.normal(2.0), fourth.normal(2.0)]]
    assert run_trials(normal, [1.0, 2.0], 2, rng=np.random.default_rng(5)) == expected
    rng = np.random.default_rng(5)
    alone = [run_tasks(normal, [1.0, 1.0], rng=rng), run_tasks(normal, [2.0, 2.0], rng=rng)]
    assert alone == expected  # the second study from a generator is another one


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers_gives_the_bits_of_one_process(
    workers: int, run: Path, expected: dict[str, Any], engine: RayEngine
) -> None:
    engine = replace(engine, wanted=workers)
    assert {name: study(engine.map, run) for name, study in STUDIES.items()} == expected


@pytest.mark.slow
def test_a_machine_lost_midway_changes_no_number(
    run: Path, expected: dict[str, Any], cluster: RayCluster, engine: RayEngine
) -> None:
    def losing(function: Callable[[T], R], tasks: Iterable[T], /) -> Iterator[R]:
        results = engine.map(function, tasks)
        yield next(results)
        cluster.kill(cluster.nodes[-1])
        yield from results

    for name in ("protocol", "criteria"):
        assert STUDIES[name](losing, run) == expected[name]
    assert len(cluster.nodes) == 1
