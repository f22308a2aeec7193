"""From a model's name to a model."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from richter.engine import Engine, RayEngine
from richter.errors import InputError
from richter.models._prices import Price, price_of, read_prices
from richter.models._providers import endpoint, resolve
from richter.models._weights import WEIGHTS, weights_cached, weights_path
from richter_audit.llm._budget import Budget
from richter_audit.llm._inspect_model import InspectModel
from richter_audit.llm._local import LocalModel, check_gguf
from richter_audit.llm._model import Model
from richter_audit.llm._remote import RemoteModel

__all__ = ["check_model", "check_price", "open_local", "open_model"]


def check_model(name: str, *, engine: Engine | None = None) -> None:
    """Raise what can be known without contacting anyone: no such provider, no key, no such file.

    On a cluster keys and files are on the workers, which look themselves.
    """
    spec = resolve(name)
    if isinstance(engine, RayEngine):
        return
    if spec.backend == "http":
        endpoint(spec)
    elif spec.backend == "local" and spec.model not in WEIGHTS:
        check_gguf(Path(spec.model))


def check_price(name: str, budget: Budget, prices: Mapping[str, Price]) -> Price | None:
    """A model's price; raises where a budget in money cannot be held because it is unknown."""
    price = price_of(name, prices)
    if price is None and budget.money_usd is not None:
        raise InputError(
            f"The price of {name} is unknown, so a budget in money cannot be held.",
            remedy="Give it with --price IN,OUT (dollars per million tokens) or --prices FILE, or a budget in calls.",
        )
    return price


def open_model(
    name: str,
    *,
    slots: int = 16,
    context_tokens: int = 1024,
    timeout_s: float = 120.0,
    prices: Mapping[str, Price] | None = None,
    progress: Callable[[int, int], None] | None = None,
    threads: int | None = None,
    engine: Engine | None = None,
) -> Model:
    """Open a model by name; with the engine of a cluster, on its workers.

    `slots`, `context_tokens` and `threads` (default: all processors) matter to local models, `timeout_s` to the others.
    """
    spec = resolve(name)
    prices = read_prices() if prices is None and spec.backend != "local" else prices
    if isinstance(engine, RayEngine):
        options = {"slots": slots, "context_tokens": context_tokens, "timeout_s": timeout_s, "prices": prices}
        return RemoteModel(engine, spec.name, **options)
    if spec.backend == "local":
        return open_local(name, slots=slots, context_tokens=context_tokens, progress=progress, threads=threads)
    price = price_of(name, prices or {})
    if spec.backend != "http":
        return InspectModel(spec, price=price, timeout_s=timeout_s)
    from richter_audit.llm._http import HttpModel  # here, since its client is slow to load

    return HttpModel(spec, price=price, timeout_s=timeout_s)


def open_local(
    name: str,
    *,
    slots: int,
    context_tokens: int,
    progress: Callable[[int, int], None] | None = None,
    threads: int | None = None,
) -> LocalModel:
    """Open the built-in model or a GGUF file in this process."""
    spec = resolve(name)
    if spec.backend != "local":
        raise InputError(
            f"{name} is not a local model.", remedy=f"Use {', '.join(WEIGHTS)}, or the path of a .gguf file."
        )
    path = Path(spec.model)
    if spec.model in WEIGHTS:
        if WEIGHTS[spec.model].terms and weights_cached(spec.model) is None:
            sys.stderr.write(f"{WEIGHTS[spec.model].terms}\n")  # to be read before they are fetched
        path = weights_path(spec.model, progress)
    return LocalModel(spec.name, path, slots=slots, context_tokens=context_tokens, threads=threads)
