"""The options of commands that ask models: what they may spend, at which prices, and where."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from richter.cli._options import Command, add_options, engine_options, preparing
from richter.records import printable
from richter_audit.llm import parse_budget

BUDGET = "5usd, 20000calls or 2Mtok (several with commas): never exceeded."
_PARALLEL = (click.option("--concurrency", type=click.IntRange(1), default=64, help="Calls in flight at most."),)
SLOTS = 16  # parallel answers of local models
_BATCH = click.option(
    "--batch",
    is_flag=True,
    help="By the provider's batch jobs: half the price, answers within a day; resumes.",
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


def call_options(
    budget: str = BUDGET,
    *,
    default: str | None = None,
    required: bool = False,
    parallel: bool = False,
    engine: bool = False,
    batch: bool = False,
    dry_run: str = "Say what it would ask, and ask nothing.",
) -> Callable[[Command], Command]:
    """Add `--budget`, `--prices`, `--price`, `--dry-run` and, where asked for, where, how many at a time and `--batch`.

    The body of the command has them as one `calls`.
    """
    options = [click.option("--budget", default=default, required=required, help=budget), *_MONEY]
    options += [*_PARALLEL] * parallel + [engine_options] * engine
    options += [_BATCH] * batch
    options += [click.option("--dry-run", is_flag=True, help=dry_run)] * bool(dry_run)

    def prepare(given: dict[str, Any]) -> dict[str, Any]:
        from richter_audit.cli._calls import Calls, halve_prices, read_call_prices

        taken = {"concurrency": given.pop("concurrency"), "slots": SLOTS} if parallel else {}
        by_batch = given.pop("batch") if batch else False
        where = {name: given.pop(name) for name in ("engine", "workers") if engine}
        prices = read_call_prices(given.pop("prices"), given.pop("price"))
        limit, dry = given.pop("budget"), given.pop("dry_run", False)
        if by_batch and dry:
            prices = halve_prices(prices)
        if parse_budget(limit).money_usd is not None and not dry:
            click.echo(f"Prices: {printable(prices.source)}.", err=True)  # the budget is as true as they are
        calls = Calls(limit=limit, prices=prices, dry_run=dry, batch=by_batch, parallel=taken, where=where)
        return {**given, "calls": calls}

    def add(declared: Command) -> Command:
        return add_options(*options)(preparing(prepare)(declared))

    return add
