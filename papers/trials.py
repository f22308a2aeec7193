"""Simulated trials in batches, each trial with its own randomness: neither batch nor machine changes a number."""

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from richter.engine import open_engine
from richter.stats import Mapper

T = TypeVar("T")
R = TypeVar("R")

TRIALS_PER_TASK = 10  # each costs tens of milliseconds, a task on a cluster about one


def run_trials(
    trial: Callable[[T, np.random.Generator], R],
    settings: Sequence[T],
    trials: int,
    *,
    rng: np.random.Generator,
    mapper: Mapper = map,
    batch: int = TRIALS_PER_TASK,
) -> list[list[R]]:
    """For every setting the results of `trials` calls of `trial(setting, rng)`, each with a generator of its own.

    Trials travel in batches so that a task is worth sending. The seeds belong to the trials, so that the size of a
    batch changes no result either.
    """
    sizes = [min(batch, trials - start) for start in range(0, trials, batch)]
    tasks = [(setting, rng.spawn(size)) for setting in settings for size in sizes]
    done = list(mapper(functools.partial(_batch, trial), tasks))
    each = len(sizes)
    return [[found for part in done[k * each : (k + 1) * each] for found in part] for k in range(len(settings))]


def _batch(trial: Callable[[Any, np.random.Generator], R], task: tuple[Any, Sequence[np.random.Generator]]) -> list[R]:
    setting, generators = task
    return [trial(setting, rng) for rng in generators]


@contextmanager
def open_mapper(engine: str, *, workers: int | None = None, local: Mapper = map) -> Iterator[Mapper]:
    """Where tasks of these scripts run: in this process by `local`, or on a cluster by its engine.

    Workers load the scripts by name. A cluster that is started here gets this folder by PYTHONPATH; the machines of
    another one need it there.
    """
    folder = str(Path(__file__).resolve().parent)
    known = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if folder not in known:
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, *known])
    with open_engine(engine, workers=workers) as opened:
        yield local if engine == "local" else opened.map
