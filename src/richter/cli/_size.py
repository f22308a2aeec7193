"""`richter size`: how many items a claim will need."""

from typing import Any

import click

from richter.cli._main import LazyGroup
from richter.cli._output import console, json_option, write_json
from richter.errors import InputError
from richter.llm import price_of, read_prices
from richter.tail import size_tail as size_of_tail

# one line a claim; each room's sizing lives in its own file
TABLE = {
    "calibration": ("_size_floors", "size_calibration", "Labels to estimate or detect a calibration error."),
    "error-rate": ("_size_floors", "size_error_rate", "Items to measure an error rate, or to bound it."),
    "gap": ("_size_floors", "size_gap", "Items, asked of both, that settle a gap in accuracy."),
    "groups": ("_size_floors", "size_groups", "Labels to verify calibration in every group."),
    "tail": ("_size", "size_tail", "Items for a claim about tail shape."),
}


@click.group(cls=LazyGroup, table=TABLE)
def size() -> None:
    """How many items a claim will need, before anyone asks a model.

    \b
    Examples:
      richter size gap --margin 2pt --discordance 0.12
      richter size error-rate --rate 0.1 --half-width 2pt
    """


@click.command("tail")
@click.option("--delta-xi", "delta", type=float, default=0.1, help="The smallest difference of shape worth a claim.")
@click.option("--q", type=float, default=0.95, help="The threshold: only what lies above it counts.")
@click.option("--xi", type=float, default=0.0, help="The shape expected.")
@click.option("--alpha", type=float, default=0.05)
@click.option("--power", type=float, default=0.8)
@click.option("--floor", type=click.IntRange(1), default=500, help="G3's floor of exceedances.")
@click.option("--conditions", type=click.IntRange(2), default=2, help="Conditions in the matrix of pairs.")
@click.option("--usd-per-call", type=float, help="The price of one answer, to say it in money.")
@click.option("--model", help="Or a model whose price is known, with --tokens.")
@click.option(
    "--tokens", type=(click.IntRange(0), click.IntRange(0)), default=(100, 200), help="In and out, each call."
)
@json_option
def size_tail(
    delta: float,
    usd_per_call: float | None,
    model: str | None,
    tokens: tuple[int, int],
    json_path: str | None,
    **asked: Any,
) -> None:
    """Items per condition for a claim that two tail shapes differ.

    \b
    richter size tail --delta-xi 0.1 --q 0.95
    richter size tail --delta-xi 0.2 --conditions 4 --usd-per-call 0.0004
    richter size tail --delta-xi 0.15 --model openai/gpt-4o-mini --tokens 80 150
    """
    if model is not None and usd_per_call is None:
        price = price_of(model, read_prices())
        if price is None:
            raise InputError(f"The price of {model} is unknown.", remedy="Give --usd-per-call.")
        usd_per_call = price.cost(*tokens)
    size = size_of_tail(delta, usd_per_call=usd_per_call, **asked)
    write_json(size, json_path)
    out = console(json_path)
    cost = "" if size.money_usd is None else f", {size.money_usd:,.2f} USD"
    out.print(
        f"A difference of {delta:g} in tail shape needs {size.items:,} items per condition: {size.calls:,} answers "
        f"of {asked['conditions']} conditions{cost}."
    )
    out.print(f"  {size.exceedances:,} exceedances of the {asked['q']:g} quantile each; the largest of:")
    out.print(
        f"  {size.exceedances_z:>9,}  a z-test of the difference (eq. 2; {size.items_z:,} items): G3 asks for these"
    )
    out.print(f"  {size.exceedances_p1:>9,}  disjoint intervals (P1) at {1 - asked['alpha']:.4g}")
    if size.pairs > 1:
        level = 1 - asked["alpha"] / size.pairs
        out.print(
            f"  {size.exceedances_p1_family:>9,}  disjoint intervals at the level {level:.4g} of {size.pairs} pairs"
        )
    out.print(f"  {asked['floor']:>9,}  the floor")
    family = "" if size.pairs == 1 else f" ({size.p1_chance_family:.0%} at the family-wise level)"
    out.print(
        f"  With eq. 2's exceedances alone the intervals come out disjoint in {size.p1_chance:.0%} of studies{family}."
    )
    out.print(
        f"  If {delta:g} is also P2's floor, at most half of studies pass, whatever their size: the estimate must "
        f"exceed it. A true difference of 1.5 times the floor is what can be shown (--delta-xi {1.5 * delta:g})."
    )
