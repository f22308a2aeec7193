"""What a command may spend on models, at which prices, and where they run."""

import contextlib
import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from richter.engine import open_engine
from richter.errors import InputError
from richter.models import ANY_MODEL, Price, Prices, read_prices
from richter_audit.cli._progress import asking, downloading
from richter_audit.llm import Budget, batch_price, parse_budget


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What a command may spend on models, and how they are asked."""

    limit: str | None = None
    prices: Prices = dataclasses.field(default_factory=read_prices)
    dry_run: bool = False
    batch: bool = False  # by the providers' batch jobs
    parallel: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # how many at a time, where a command says it
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
            given |= {"batch": True} if self.batch else {}
            given["download"] = stack.enter_context(downloading("fetching SmolLM2"))
            if self.where:
                given["engine"] = stack.enter_context(open_engine(self.where["engine"], workers=self.where["workers"]))
            if label is not None:
                given["watch"] = stack.enter_context(asking(label))
            yield given

    def say_prices(self, out: Any) -> None:
        """Say where prices come from, under what they were used for."""
        out.print(f"Prices: {self.prices.source}.", style="dim", soft_wrap=True)


def halve_prices(prices: Prices) -> Prices:
    """What models cost by batch jobs, for an estimate: asking itself halves its prices."""
    halved = Prices({name: batch_price(price) for name, price in prices.items()})
    halved.source = f"half of {prices.source}, for batch jobs"
    return halved


def read_call_prices(path: Path | None, given: tuple[str, ...]) -> Prices:
    """The prices of a file, or those that are built in, with those of `--price` over them."""
    prices = read_prices(path)
    prices.source += ", and over it --price" if given else ""
    for text in given:
        name, _, numbers = text.rpartition("=")
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*[,/]\s*([0-9]*\.?[0-9]+)\s*", numbers)
        if not match:
            raise InputError(f"--price {text!r} is not one.", remedy="Write --price 0.15,0.60 or MODEL=0.15,0.60.")
        prices[name or ANY_MODEL] = Price(input_usd=float(match[1]), output_usd=float(match[2]))
    return prices
