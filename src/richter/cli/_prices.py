"""`--prices` and `--price`, alike in every command that may spend money."""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from richter.errors import InputError
from richter.llm import ANY_MODEL, Price, Prices, parse_budget, read_prices
from richter.records import printable

Command = TypeVar("Command", bound=Callable[..., Any])


def price_options(command: Command) -> Command:
    """Add `--prices` and `--price`; the command gets `prices`, by model."""

    @click.option(
        "--prices",
        "prices_path",
        type=click.Path(path_type=Path),
        help="Your own prices: TOML, or litellm's JSON list.",
    )
    @click.option(
        "--price",
        "given",
        multiple=True,
        metavar="[MODEL=]IN,OUT",
        help="Dollars per million tokens in and out, of MODEL or of every model without a price; may be repeated.",
    )
    @functools.wraps(command)
    def with_prices(*args: Any, prices_path: Path | None, given: tuple[str, ...], **options: Any) -> Any:
        prices = _prices(prices_path, given)
        if parse_budget(options.get("budget_text")).money_usd is not None and not options.get("dry_run"):
            click.echo(f"Prices: {printable(prices.source)}.", err=True)  # the budget is as true as they are
        return command(*args, prices=prices, **options)

    return cast(Command, with_prices)


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


def say_prices(out: Any, prices: Prices) -> None:
    """Say where prices come from, under what they were used for."""
    out.print(f"Prices: {prices.source}.", style="dim", soft_wrap=True)
