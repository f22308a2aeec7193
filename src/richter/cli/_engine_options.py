"""The mapper that `--engine` and `--workers` name."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from richter.cli._io import LINE_EVERY_S, progress_console
from richter.engine import RayEngine, open_engine
from richter.stats import Mapper

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def open_mapper(engine: str, *, workers: int | None, label: str | None, local: Mapper = map) -> Iterator[Mapper]:
    """The mapper of an engine, as `--engine` and `--workers` name it; with a label, the tasks that are done on stderr.

    In this process it is `local`: one task after the other, or, for tasks that allow it, in threads.
    """
    with open_engine(engine, workers=workers) as opened:
        plain: Mapper = opened.map if isinstance(opened, RayEngine) else local

        def counted(function: Callable[[T], R], tasks: Iterable[T], /) -> Iterator[R]:
            given = list(tasks)
            return _counted(plain(function, given), len(given), label or "")

        yield plain if label is None else counted


def _counted(results: Iterable[R], total: int, label: str) -> Iterator[R]:
    """The results as they come: a bar on a terminal, a line now and then elsewhere."""
    console = progress_console()
    if console.is_terminal:
        columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            yield from bar.track(results, total=total)
        return
    last = time.monotonic()
    for done, result in enumerate(results, 1):
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            console.print(f"{label}: {done} of {total} tasks", soft_wrap=True)
        yield result
