"""What a call costs. An unknown price is None, never 0."""

import dataclasses
import functools
import json
import math
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter.models._providers import PROVIDERS, resolve

__all__ = ["ANY_MODEL", "Price", "Prices", "price_of", "read_prices"]

TABLE = Path(__file__).with_name("prices.tsv")  # written by tools/build_prices.py
ANY_MODEL = "*"  # whose price is that of every model without one
# litellm's names of providers -> how names of models begin here
_LITELLM = {
    "openai": "openai",
    "openrouter": "openrouter",
    "deepseek": "deepseek",
    "deepinfra": "deepinfra",
    "together_ai": "together",
    "mistral": "mistral",
    "xai": "grok",
    "groq": "groq",
    "anthropic": "inspect/anthropic",
    "gemini": "inspect/google",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, in and out."""

    input_usd: float
    output_usd: float

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """The money for one call."""
        return (tokens_in * self.input_usd + tokens_out * self.output_usd) / 1e6


FREE = Price(input_usd=0.0, output_usd=0.0)  # a model on one's own machine has no price per token


class Prices(dict[str, Price]):
    """Prices by model; `source` says where they come from, for people: which list, of what date, and one's own file."""

    source: str = ""


@functools.cache
def _table() -> tuple[str, dict[str, Price]]:
    head, *rows = TABLE.read_text(encoding="utf-8").splitlines()
    split = (row.split("\t") for row in rows)
    prices = {name: Price(input_usd=float(cost), output_usd=float(out)) for name, cost, out in split}
    return head.removeprefix("# ").partition(":")[0], prices


def litellm_prices(models: Mapping[str, Any]) -> dict[str, Price]:
    """The chat models in a price list of litellm's form whose providers can be asked here, per million tokens."""
    prices = {}
    for name, row in models.items():
        match row:
            case {
                "litellm_provider": str(provider),
                "mode": "chat",
                "input_cost_per_token": int() | float() as cost_in,
                "output_cost_per_token": int() | float() as cost_out,
            } if provider in _LITELLM and _is_price(cost_in) and _is_price(cost_out):
                model = name.removeprefix(f"{provider}/")
                price = Price(input_usd=round(cost_in * 1e6, 6), output_usd=round(cost_out * 1e6, 6))
                prices[f"{_LITELLM[provider]}/{model}"] = price
    return prices


def _is_price(value: float) -> bool:
    return math.isfinite(value) and value >= 0


def read_prices(path: str | Path | None = None) -> Prices:
    """The built-in list with the user's file over it: `path`, or what RICHTER_PRICES names, if anything.

    The file is TOML, a table per model name with `input_usd` and `output_usd` per million tokens, or a price list in
    litellm's form (`.json`).
    """
    path = path or os.environ.get("RICHTER_PRICES") or None
    prices = Prices(_table()[1])
    prices.source = _table()[0] + (f", and over it {path}" if path else "")
    if path is None:
        return prices
    try:
        text = Path(path).read_text(encoding="utf-8")
        if Path(path).suffix == ".json":
            prices.update(litellm_prices(dict(json.loads(text))))
            return prices
        tables = tomllib.loads(text)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"The prices file {path} cannot be read: {error}.", remedy="It must be TOML, or JSON in litellm's form."
        ) from error
    for name, row in tables.items():
        match row:
            case {"input_usd": int() | float() as cost_in, "output_usd": int() | float() as cost_out} if (
                len(row) == 2 and 0 <= cost_in < 1e9 and 0 <= cost_out < 1e9
            ):
                prices[name] = Price(input_usd=float(cost_in), output_usd=float(cost_out))
            case _:
                raise InputError(
                    f"{path}: the price of {name!r} is malformed.",
                    remedy=f'Write ["{name}"] with input_usd and output_usd, in dollars per million tokens.',
                )
    return prices


def price_of(name: str, prices: Mapping[str, Price]) -> Price | None:
    """A model's price; free for the local backend and self-hosted servers; None where unknown."""
    if name in prices:
        return prices[name]
    spec = resolve(name)
    if spec.backend == "local" or (spec.provider in PROVIDERS and PROVIDERS[spec.provider].self_hosted):
        return FREE
    return prices.get(ANY_MODEL)
