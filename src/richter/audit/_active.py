"""Which items of a grades file people should label next, and what the labels so far say of all of it."""

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from richter.errors import InputError, TooFewErrors
from richter.floors import ActiveEstimate, ActiveState, active_estimate, next_batch, start_active
from richter.records import jsonable, printable
from richter.tables import KEY, ReadOptions, read_tables

__all__ = ["NextLabels", "label_pool", "next_labels"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NextLabels:
    """The items to label next, in a random order, and the estimate from those labelled (None: too few yet)."""

    items: tuple[str, ...]
    phase: str
    labelled: int
    budget: int
    pool: int
    estimate: ActiveEstimate | None
    condition: str
    signal: str
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {f.name: jsonable(getattr(self, f.name)) for f in dataclasses.fields(self)}


def next_labels(
    path: str | Path,
    *,
    budget: int,
    condition: str | None = None,
    signal: str = "confidence",
    size: int | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> NextLabels:
    """Read a grades file whose `correct` is empty where nobody has looked, and say which items to look at.

    `signal` names the column that orders items by how likely they are right: the confidence, or a judge's score.
    Rows marked as failed calls are left out. The same file, budget and seed always give the same items.
    """
    tables = read_tables(path)
    if condition is None and len(tables.conditions) > 1:
        raise InputError(
            f"{path} holds {len(tables.conditions)} conditions.",
            remedy=f"Name one with --condition: {', '.join(printable(n) for n in tables.conditions[:6])}.",
        )
    chosen = tables.conditions[0] if condition is None else condition
    part = tables.select([chosen]).rows.filter(pl.col("error").fill_null("") == "")
    if signal != "confidence":
        other = read_tables(path, options=ReadOptions(map={"score": signal})).rows
        part = part.join(other.select(*KEY, pl.col("score").alias(signal)), on=KEY, how="left", maintain_order="left")
    if part["confidence"].null_count() == len(part):
        raise InputError(f"{path} has no numeric column confidence.", remedy="The pool needs one, from 0 to 1.")
    known = part.filter(pl.col("confidence").is_not_null() & pl.col(signal).is_not_null())
    if known.is_empty():
        raise InputError(f"No row of {printable(chosen)} has a confidence.", remedy="The pool must be scored.")
    state = start_active(
        known["confidence"].to_numpy(), budget=budget, seed=seed, signal=known[signal].cast(pl.Float64).to_numpy()
    )
    grades = known["correct"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    seen = np.flatnonzero(~np.isnan(grades))
    state = state.with_labels(seen, grades[seen])
    try:
        estimate = active_estimate(state, level=level)
    except TooFewErrors:
        estimate = None
    items = known["item"].to_list()
    return NextLabels(
        items=tuple(items[i] for i in next_batch(state, size=size)),
        phase=state.phase,
        labelled=state.labelled,
        budget=budget,
        pool=len(known),
        estimate=estimate,
        condition=chosen,
        signal=signal,
        seed=seed,
    )


async def label_pool(
    state: ActiveState,
    items: Sequence[str],
    label: Callable[[Sequence[str]], Awaitable[Sequence[float | None]]],
    *,
    batch: int = 25,
    on_batch: Callable[[ActiveState], None] | None = None,
) -> ActiveState:
    """Have items labelled, a batch at a time, until the budget is spent or nobody can label more.

    `label(items)` gives 1 for right, 0 for wrong, None where no label could be had, in the order asked. The state that
    comes back holds all labels (`active_estimate` says what they show); stopping at any batch loses nothing.
    """
    if len(items) != len(state.labels):
        raise InputError(f"{len(items)} names for a pool of {len(state.labels)}.", remedy="Give one name an item.")
    while len(chosen := next_batch(state, size=batch)):
        given = await label([items[i] for i in chosen])
        if len(given) != len(chosen):
            raise InputError(f"{len(given)} labels for {len(chosen)} items.", remedy="Give None where there is none.")
        state = state.with_labels(chosen, [np.nan if x is None else float(x) for x in given])
        if on_batch is not None:
            on_batch(state)
    return state
