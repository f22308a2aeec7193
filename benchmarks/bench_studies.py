"""A power study in this process and on a Ray cluster with two workers on this machine, and what a task costs there.

The study is `python papers/tail_power.py --delta-xi 0.1 --trials 80`: 8 tasks of 10 trials. In this process its
bootstraps use all processors, unless they are held to one; on the cluster every task has one. The rates are the same in
all three.
"""

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numba
import numpy as np

from richter.engine import open_engine
from richter.stats import Mapper
from richter.tail import TailPlan

sys.path.insert(0, str(Path(__file__).parents[1] / "papers"))  # what is run but not shipped; hence the import after it

from tail_power import simulate_protocol

PLAN = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2)
TRIALS = 80
ROUNDS = 3
EMPTY = 1_000


def study(mapper: Mapper) -> dict:
    rng = np.random.default_rng(0)
    return simulate_protocol([0.1], [1570], PLAN, rng=rng, trials=TRIALS, n_resamples=500, mapper=mapper).to_dict()


def on_one_processor(function: Callable, tasks: list) -> list:
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    results = [function(task) for task in tasks]
    numba.set_num_threads(before)
    return results


def nothing(_: int) -> None:
    return None


def main() -> None:
    if find_spec("ray") is None:
        print("ray is not installed: pip install 'richter[ray]'")
        return
    expected = study(map)  # compiles
    began = time.perf_counter()
    with open_engine("ray", workers=2) as engine:
        first = study(engine.map)
        print(f"start of a cluster, its workers' imports and a first study: {time.perf_counter() - began:.1f} s")
        ways = {"this process": map, "this process, one processor": on_one_processor, "ray, 2 workers": engine.map}
        walls: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):  # in turns, since other work comes and goes
            for name, mapper in ways.items():
                began = time.perf_counter()
                assert study(mapper) == first == expected
                walls[name].append(time.perf_counter() - began)
        for name, found in walls.items():
            ratios = [a / b for a, b in zip(walls["this process, one processor"], found, strict=True)]
            print(
                f"{name:28} {TRIALS / median(found):6.1f} trials/s   {median(ratios):.2f} times one processor's "
                f"({min(ratios):.2f} to {max(ratios):.2f} over {ROUNDS} rounds)"
            )
        own, began = time.process_time(), time.perf_counter()
        assert len(list(engine.map(nothing, range(EMPTY)))) == EMPTY
        wall, own = time.perf_counter() - began, time.process_time() - own
        print(f"an empty task: {1e3 * wall / EMPTY:.2f} ms, of it {1e3 * own / EMPTY:.2f} ms of this process's time")


if __name__ == "__main__":
    main()
