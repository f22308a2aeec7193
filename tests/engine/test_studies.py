"""Studies are cut into tasks with seeds of their own: neither order, nor process, nor machine changes a number."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import pytest

from helpers.ray_cluster import RayCluster
from richter.engine import open_engine
from richter.stats import Mapper, run_tasks, run_trials
from richter.tail import TailPlan, simulate_criteria, simulate_protocol, simulate_trap

T = TypeVar("T")
R = TypeVar("R")
Study = Callable[[Mapper], Any]


def criteria(mapper: Mapper) -> Any:
    rng = np.random.default_rng(1)
    return simulate_criteria([0.0, 0.3], [60, 80], rng=rng, trials=23, n_resamples=100, mapper=mapper).to_dict()


def protocol(mapper: Mapper) -> Any:
    plan = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2)
    rng = np.random.default_rng(2)
    return simulate_protocol([0.1], [400], plan, rng=rng, trials=23, n_resamples=100, mapper=mapper).to_dict()


def trap(mapper: Mapper) -> Any:
    return simulate_trap("G3", rng=np.random.default_rng(3), trials=4, n_resamples=200, mapper=mapper).to_dict()


STUDIES: dict[str, Study] = {"criteria": criteria, "protocol": protocol, "trap": trap}


def backwards(function: Callable[[T], R], tasks: Iterable[T], /) -> Iterable[R]:
    """The last task first, and each through a pickle, as a worker elsewhere gets it."""
    sent = [pickle.dumps((function, task)) for task in tasks]
    results = []
    for parcel in reversed(sent):
        there, task = pickle.loads(parcel)
        results.append(there(task))
    return reversed(results)


@pytest.mark.parametrize("name", STUDIES)
def test_tasks_are_independent(name: str) -> None:
    assert STUDIES[name](backwards) == STUDIES[name](map)


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


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with RayCluster(workers=3) as found:
        yield found


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize("name", STUDIES)
def test_one_worker_and_three_give_the_bits_of_one_process(
    name: str, cluster: RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    with open_engine("local") as engine:
        expected = STUDIES[name](engine.map)
    for workers in (1, 3):
        with open_engine("ray", workers=workers) as engine:
            assert STUDIES[name](engine.map) == expected


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize("name", ["protocol"])
def test_a_machine_lost_midway_changes_no_number(
    name: str, cluster: RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    lost = []
    with open_engine("ray") as engine:

        def losing(function: Callable[[T], R], tasks: Iterable[T], /) -> Iterator[R]:
            for result in engine.map(function, tasks):
                if not lost:
                    lost.append(cluster.nodes[-1])
                    cluster.kill(lost[0])
                yield result

        assert STUDIES[name](losing) == STUDIES[name](map)
    assert lost
