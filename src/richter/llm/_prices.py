"""What a call costs. An unknown price is None, never 0."""

import dataclasses
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from richter.errors import InputError
from richter.llm._providers import PROVIDERS, resolve

__all__ = ["PRICES", "Price", "price_of", "read_prices"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, in and out."""

    input_usd: float
    output_usd: float

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """The money for one call."""
        return (tokens_in * self.input_usd + tokens_out * self.output_usd) / 1e6


def _table(rows: str) -> dict[str, Price]:
    split = (row.split() for row in rows.strip().splitlines())
    return {name: Price(input_usd=float(cost_in), output_usd=float(cost_out)) for name, cost_in, cost_out in split}


# List prices of 2025, written down from memory and not checked against the providers' pages: good for an estimate. A
# budget in money is only as true as they are, so put the prices of your own contract in a prices file.
PRICES = _table("""
    openai/gpt-4o            2.50  10.00
    openai/gpt-4o-mini       0.15   0.60
    openai/gpt-4.1           2.00   8.00
    openai/gpt-4.1-mini      0.40   1.60
    openai/gpt-4.1-nano      0.10   0.40
    openai/gpt-5             1.25  10.00
    openai/gpt-5-mini        0.25   2.00
    openai/gpt-5-nano        0.05   0.40
    mistral/mistral-large-latest   2.00  6.00
    mistral/mistral-medium-latest  0.40  2.00
    mistral/mistral-small-latest   0.10  0.30
    groq/llama-3.3-70b-versatile   0.59  0.79
    groq/llama-3.1-8b-instant      0.05  0.08
    grok/grok-3              3.00  15.00
    grok/grok-3-mini         0.30   0.50
""")
FREE = Price(input_usd=0.0, output_usd=0.0)  # a model on one's own machine has no price per token


def read_prices(path: str | Path | None = None) -> dict[str, Price]:
    """The built-in table with the user's file over it: `path`, or what RICHTER_PRICES names, if anything.

    The file is TOML: a table per model name with `input_usd` and `output_usd` per million tokens.
    """
    path = path or os.environ.get("RICHTER_PRICES") or None
    if path is None:
        return dict(PRICES)
    try:
        tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"The prices file {path} cannot be read: {error}.", remedy="It must be TOML.") from error
    prices = dict(PRICES)
    for name, row in tables.items():
        match row:
            case {"input_usd": int() | float() as cost_in, "output_usd": int() | float() as cost_out} if len(row) == 2:
                prices[name] = Price(input_usd=float(cost_in), output_usd=float(cost_out))
            case _:
                raise InputError(
                    f"{path}: the price of {name!r} is malformed.",
                    remedy=f'Write ["{name}"] with input_usd and output_usd, in dollars per million tokens.',
                )
        if min(prices[name].input_usd, prices[name].output_usd) < 0:
            raise InputError(f"{path}: the price of {name!r} is negative.", remedy="Prices are 0 or more.")
    return prices


def price_of(name: str, prices: Mapping[str, Price]) -> Price | None:
    """A model's price; free for the local backend and self-hosted servers; None where unknown."""
    if name in prices:
        return prices[name]
    spec = resolve(name)
    if spec.backend == "local" or (spec.provider in PROVIDERS and PROVIDERS[spec.provider].self_hosted):
        return FREE
    return None
