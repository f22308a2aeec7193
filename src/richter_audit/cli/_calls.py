"""The options of commands that ask models or use several machines: what they may spend, at which prices, and where."""

import contextlib
import dataclasses
import functools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from richter.cli._io import progress_console
from richter.cli._progress import LINE_EVERY_S, asking, downloading
from richter.engine import RayEngine, open_engine
from richter.errors import InputError
from richter.llm import ANY_MODEL, MOST_TOKENS, Budget, Price, Prices, parse_budget, read_prices
from richter.records import printable
from richter.stats import Mapper

Command = TypeVar("Command", bound=Callable[..., Any])


def engine_options(command: Command) -> Command:
    """Add `engine` and `workers`, which `richter.engine.open_engine(engine, workers=workers)` takes."""
    command = click.option(
        "--workers",
        type=click.IntRange(1),
        callback=_only_with_ray,
        help="With --engine ray: how much is done at a time; default as much as there are processors.",
    )(command)
    return click.option(
        "--engine",
        metavar="ENGINE",
        default="local",
        is_eager=True,  # so that --workers can be held against it, whichever comes first
        help="local, ray (RAY_ADDRESS, or a cluster started here) or ray://host:port; changes no number.",
    )(command)


def _only_with_ray(context: click.Context, _: click.Parameter, workers: int | None) -> int | None:
    if workers is not None and context.params.get("engine") == "local":
        raise click.UsageError("--workers needs --engine ray: without it the work is done in this process.", context)
    return workers


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


BUDGET = "5usd, 20000calls or 2Mtok (several with commas): never exceeded."
_PARALLEL = (
    click.option("--concurrency", type=click.IntRange(1), default=64, help="Calls in flight at most."),
    click.option("--slots", type=click.IntRange(1), default=16, help="Local models: parallel answers."),
    click.option(
        "--most-tokens",
        type=click.IntRange(1),
        default=MOST_TOKENS,
        show_default=True,
        help="An answer that was cut off is asked again with twice the tokens, up to this (not of local models).",
    ),
)
_MONEY = (
    click.option("--prices", type=click.Path(path_type=Path), help="Your own prices: TOML, or litellm's JSON list."),
    click.option(
        "--price",
        multiple=True,
        metavar="[MODEL=]IN,OUT",
        help="Dollars per million tokens in and out, of MODEL or of every model without a price; may be repeated.",
    ),
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What a command may spend on models, and how they are asked."""

    limit: str | None = None
    prices: Prices = dataclasses.field(default_factory=read_prices)
    dry_run: bool = False
    parallel: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # what of _PARALLEL a command has
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # engine and workers likewise

    @property
    def budget(self) -> Budget:
        """The budget, with nothing spent of it."""
        return parse_budget(self.limit)

    @contextlib.contextmanager
    def opened(self, label: str | None = "asking") -> Iterator[dict[str, Any]]:
        """The options of whatever asks models, while its progress is shown; without a label it shows its own."""
        with contextlib.ExitStack() as stack:
            given = {"budget": self.budget, "prices": self.prices, **self.parallel}
            given["download"] = stack.enter_context(downloading("fetching SmolLM2"))
            if self.where:
                given["engine"] = stack.enter_context(open_engine(self.where["engine"], workers=self.where["workers"]))
            if label is not None:
                given["watch"] = stack.enter_context(asking(label))
            yield given

    def say_prices(self, out: Any) -> None:
        """Say where prices come from, under what they were used for."""
        out.print(f"Prices: {self.prices.source}.", style="dim", soft_wrap=True)


def call_options(
    budget: str = BUDGET,
    *,
    default: str | None = None,
    required: bool = False,
    parallel: bool = False,
    engine: bool = False,
    dry_run: str = "Say what it would ask, and ask nothing.",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add `--budget`, `--prices`, `--price`, `--dry-run` and, where asked for, where and how many at a time."""
    options = [click.option("--budget", default=default, required=required, help=budget), *_MONEY]
    options += [*_PARALLEL] * parallel + [engine_options] * engine
    options += [click.option("--dry-run", is_flag=True, help=dry_run)] * bool(dry_run)

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_calls(*args: Any, **given: Any) -> Any:
            taken = {name: given.pop(name) for name in ("concurrency", "slots", "most_tokens") if parallel}
            where = {name: given.pop(name) for name in ("engine", "workers") if engine}
            prices = _prices(given.pop("prices"), given.pop("price"))
            limit, dry = given.pop("budget"), given.pop("dry_run", False)
            if parse_budget(limit).money_usd is not None and not dry:
                click.echo(f"Prices: {printable(prices.source)}.", err=True)  # the budget is as true as they are
            calls = Calls(limit=limit, prices=prices, dry_run=dry, parallel=taken, where=where)
            return command(*args, calls=calls, **given)

        for option in reversed(options):
            with_calls = option(with_calls)
        return with_calls

    return add


def _prices(path: Path | None, given: tuple[str, ...]) -> Prices:
    prices = read_prices(path)
    prices.source += ", and over it --price" if given else ""
    for text in given:
        name, _, numbers = text.rpartition("=")
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*[,/]\s*([0-9]*\.?[0-9]+)\s*", numbers)
        if not match:
            raise InputError(f"--price {text!r} is not one.", remedy="Write --price 0.15,0.60 or MODEL=0.15,0.60.")
        prices[name or ANY_MODEL] = Price(input_usd=float(match[1]), output_usd=float(match[2]))
    return prices
