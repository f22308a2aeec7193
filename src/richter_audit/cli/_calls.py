"""The options of commands that ask models: what they may spend, at which prices, and where."""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from richter.cli._engine_options import engine_options
from richter.engine import open_engine
from richter.errors import InputError
from richter.models import ANY_MODEL, Price, Prices, read_prices
from richter.records import printable
from richter_audit.cli._progress import asking, downloading
from richter_audit.llm import MOST_TOKENS, Budget, parse_budget

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
