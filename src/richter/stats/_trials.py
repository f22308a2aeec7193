"""Work that is cut into tasks, each with its own randomness, so that where and in what order they run changes nothing.

The pure rooms know no engine. They take a mapper: the builtin `map`, or `map` of an engine, which has more processors.
"""

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

import numpy as np

__all__ = ["Mapper", "in_threads", "run_tasks"]

T = TypeVar("T")
R = TypeVar("R")


class Mapper(Protocol):
    """Applies a function to tasks and gives the results in the order of the tasks, as the builtin `map` does.

    A function that is sent to other machines is defined at the top of a module, and it and its tasks can be pickled.
    """

    def __call__(self, function: Callable[[T], R], tasks: Iterable[T], /) -> Iterable[R]:
        """The results in the order of the tasks."""
        ...


def in_threads(function: Callable[[T], R], tasks: Iterable[T], /) -> Iterator[R]:
    """A mapper on the processors of this machine, for tasks whose work lets go of the interpreter's lock.

    Not for tasks that call kernels with threads of their own: numba may refuse two of those at a time.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(function, tasks)


def run_tasks(
    work: Callable[[T, np.random.Generator], R], tasks: Sequence[T], *, rng: np.random.Generator, mapper: Mapper = map
) -> list[R]:
    """`work(task, rng)` for every task, each with a generator spawned from `rng`; results in the order of tasks."""
    return list(mapper(functools.partial(_work, work), list(zip(tasks, rng.spawn(len(tasks)), strict=True))))


def _work(work: Callable[[Any, np.random.Generator], R], task: tuple[Any, np.random.Generator]) -> R:
    return work(*task)
