"""Progress on stderr: a live bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from richter.cli._io import LINE_EVERY_S, money, progress_console
from richter.records import printable
from richter_audit.stages import AskProgress


def price(usd: float | None) -> str:
    """Dollars for people where the price may not be known."""
    return "price unknown" if usd is None else money(usd)


def price_at_most(usd: float | None) -> str:
    """The price of what is still to be asked, for people."""
    return "at a price that is not known" if usd is None else f"at most {money(usd)}"


def duration(seconds: float) -> str:
    """Seconds for people."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    return f"{whole // 60}m{whole % 60:02d}s" if whole < 3600 else f"{whole // 3600}h{whole % 3600 // 60:02d}m"


@contextmanager
def asking(label: str = "asking") -> Iterator[Callable[[AskProgress], None]]:
    """A watcher for `ask_run`: count, rate, time left, money and errors."""
    console = progress_console()
    say = _note_printer(console)
    if not console.is_terminal:
        print_line = _line_printer(console, label)

        def line(state: AskProgress) -> None:
            say(state)
            print_line(state)

        yield line
        return
    with Progress(
        TextColumn(label), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[tail]}"), console=console
    ) as bar:
        task = bar.add_task(label, total=None, tail="starting the model")

        def update(state: AskProgress) -> None:
            say(state)
            bar.update(task, total=state.total, completed=state.done, tail=_tail(state))

        yield update


def _note_printer(console: Console) -> Callable[[AskProgress], None]:
    """A function that prints each note of a state, once."""
    printed: set[str] = set()

    def print_notes(state: AskProgress) -> None:
        for text in state.said:
            if text not in printed:
                printed.add(text)
                console.print(f"note: {printable(text)}", soft_wrap=True, markup=False)

    return print_notes


def _line_printer(console: Console, label: str) -> Callable[[AskProgress], None]:
    """A function that prints a line of progress now and then, and one at the end."""
    last = time.monotonic()

    def print_line(state: AskProgress) -> None:
        nonlocal last
        at_end = state.done == state.total
        if at_end and last == float("inf"):
            return
        if at_end or time.monotonic() - last >= LINE_EVERY_S:
            last = float("inf") if at_end else time.monotonic()
            console.print(f"{label}: {state.done}/{state.total} {_tail(state)}", soft_wrap=True)

    return print_line


def _tail(state: AskProgress) -> str:
    parts = [f"{state.rate_per_s:.1f}/s"]
    if state.waiting_s >= 1:
        parts.append(f"the server asks to wait {duration(state.waiting_s)}")
    elif state.left_s is not None and state.done < state.total:
        parts.append(f"{duration(state.left_s)} left")
    parts.append(money(state.money_usd, state.unpriced))
    if state.retries:
        parts.append(f"{state.retries} retries")
    if state.truncated:
        parts.append(f"{state.truncated} cut off at the most tokens")
    if state.failed:
        parts.append(f"{state.failed} failed")
    return ", ".join(parts)


@contextmanager
def downloading(label: str) -> Iterator[Callable[[int, int], None]]:
    """A callback (bytes so far, bytes in all) that draws a download bar, once there is something to download."""
    console = progress_console()
    bar = Progress(TextColumn(label), BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=console)
    tasks: list[TaskID] = []

    def update(done: int, total: int) -> None:
        if not tasks:
            if not console.is_terminal:
                console.print(f"{label} ({total / 1e6:.0f} MB, once)", soft_wrap=True)
            else:
                bar.start()
            tasks.append(bar.add_task(label, total=total))
        bar.update(tasks[0], completed=done)
        if done >= total and bar.live.is_started:
            bar.stop()

    try:
        yield update
    finally:
        if bar.live.is_started:
            bar.stop()
