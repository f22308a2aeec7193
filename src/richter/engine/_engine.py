"""The choice of an engine."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Protocol, TypeVar

from richter.engine._ray import RayEngine, connected
from richter.errors import InputError
from richter.records import printable

__all__ = ["Engine", "LocalEngine", "open_engine", "own_version"]

T = TypeVar("T")
R = TypeVar("R")


def own_version() -> str:
    """The version of Richter here: workers must have the same."""
    return str(import_module("richter").__version__)  # the package's root, which knows every room


class Engine(Protocol):
    """Applies a function to tasks. Whoever makes the tasks gives each a seed of its own: nothing else counts."""

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """The results in the order of the tasks."""


class LocalEngine:
    """This process, one task after the other."""

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """The results in the order of the tasks."""
        return map(function, tasks)


@contextmanager
def open_engine(spec: str = "local", *, workers: int | None = None) -> Iterator[LocalEngine | RayEngine]:
    """`local`; `ray` for the cluster in RAY_ADDRESS, or else one that is started here; `ray://host:port` for another.

    `workers` bounds how much is done at a time; by default as much as the cluster has processors for.
    """
    if spec == "local":
        yield LocalEngine()
    elif spec == "ray" or spec.startswith("ray://"):
        with connected(spec, workers=workers) as engine:
            yield engine
    else:
        raise InputError(
            f"{printable(spec, limit=80)} is not an engine.", remedy="Use local, ray, or ray://host:port of a cluster."
        )
