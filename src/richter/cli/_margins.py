"""Margins and weights as every command takes them: one parser each."""

from typing import Any

import click

from richter.errors import InputError

MAIN = ""  # the key of the main measure's margin


def parse_margin(value: str | float) -> float:
    """A margin: `2pt` (points), `2%` or `0.02`; of a score any number on its scale."""
    from richter import claims

    try:
        return claims.parse_margin(value)
    except InputError as error:
        raise click.BadParameter(str(error)) from error


def parse_share(value: str | float) -> float:
    """A share, or a difference of shares, written as a margin is."""
    number = parse_margin(value)
    if number >= 1:
        raise click.BadParameter(f"{value!r} is not below 100 points; write 2pt or 0.02 for two points.")
    return number


def parse_margins(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Margins by measure: `2pt` is the main measure's (the key is empty), `catastrophic_rate=0.5pt` another's."""
    found: dict[str, float] = {}
    for text in values:
        name, equals, amount = str(text).rpartition("=")
        if equals and not name.strip():
            raise click.BadParameter(f"{text!r} names no measure; write MEASURE=0.5pt.")
        if name.strip() in found:
            of = f"of {name.strip()} " if name else ""
            raise click.BadParameter(f"the margin {of}is given twice.")
        found[name.strip()] = parse_margin(amount)
    return found


def parse_weights(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, float] | None:
    """Weights by name, of `NAME=WEIGHT,NAME=WEIGHT`."""
    if value is None:
        return None
    try:
        pairs = [part.rsplit("=", 1) for part in value.split(",")]
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not NAME=WEIGHT,NAME=WEIGHT.") from error


class _MarginOption(click.Option):
    """An option that may be given again; a single value of `richter.toml` is one of it."""

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """The values as texts."""
        return super().type_cast_value(ctx, [str(value)] if isinstance(value, str | int | float) else value)


margin_option = click.option(
    "--margin",
    cls=_MarginOption,
    multiple=True,
    callback=parse_margins,
    metavar="2pt|MEASURE=0.5pt",
    help="The smallest difference that matters, on the main measure or MEASURE. A point is a hundredth of its range.",
)
