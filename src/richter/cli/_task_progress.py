"""How many tasks of a command are done, said on stderr."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from richter.cli._io import LINE_EVERY_S, progress_console
from richter.stats import Mapper

T = TypeVar("T")
R = TypeVar("R")


def counted_mapper(label: str, *, local: Mapper = map) -> Mapper:
    """The mapper `local`, which says on stderr how many of the tasks are done."""

    def mapper(function: Callable[[T], R], tasks: Iterable[T], /) -> Iterator[R]:
        given = list(tasks)
        return _counted(local(function, given), len(given), label)

    return mapper


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
