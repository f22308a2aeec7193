"""Which items of a grades file people should label next, and what the labels so far say of all of it."""

import dataclasses
import json
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from richter.errors import InputError, TooFewErrors
from richter.floors import ActiveEstimate, active_estimate, next_batch, skipped_items, start_active
from richter.records import DEFAULT_LEVEL, Result, counted, printable
from richter.store import write_file
from richter.tables import KEY, ReadOptions, read_tables

__all__ = ["NextLabels", "next_labels"]

_MEMORY = "richter-asked-1"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NextLabels(Result):
    """The items to label next, in a random order, and the estimate from those labelled (None: too few yet).

    `skipped` were asked for and have no label though later ones have; `unasked` have a label that nobody asked for.
    Either may bias the estimate: `warnings` say so.
    """

    items: tuple[str, ...]
    phase: str
    labelled: int
    budget: int
    pool: int
    estimate: ActiveEstimate | None
    condition: str
    signal: str
    seed: int
    skipped: tuple[str, ...] = ()
    unasked: int = 0
    warnings: tuple[str, ...] = ()


def next_labels(
    path: str | Path,
    *,
    budget: int,
    condition: str | None = None,
    signal: str = "confidence",
    size: int | None = None,
    seed: int = 0,
    level: float = DEFAULT_LEVEL,
    memory: str | Path | None,
) -> NextLabels:
    """Read a grades file whose `correct` is empty where nobody has looked, and say which items to look at.

    `signal` names the column that orders items by how likely they are right: the confidence, or a judge's score.
    Rows marked as failed calls are left out. The same file, budget and seed always give the same items. `memory` is a
    file that keeps what was asked for: an item that was asked and passed over, and a label that was never asked for,
    are then told from the others, and another budget, seed or signal half-way is refused.
    """
    chosen, known = _scored_pool(path, condition, signal)
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
    items = [str(x) for x in known["item"].to_list()]
    batch = tuple(items[i] for i in next_batch(state, size=size))
    skipped, unasked = tuple(items[i] for i in skipped_items(state)), 0
    if memory is not None:
        setting = {"budget": budget, "seed": seed, "signal": signal, "condition": str(chosen)}
        asked = _remembered(Path(memory), setting)
        skipped, unasked = _passed_over(asked, {items[i] for i in seen})
        _remember(Path(memory), setting, list(dict.fromkeys([*asked, *batch])))
    return NextLabels(
        items=batch,
        skipped=skipped,
        unasked=unasked,
        warnings=_warnings(len(skipped), unasked),
        phase=state.phase,
        labelled=state.labelled,
        budget=budget,
        pool=len(known),
        estimate=estimate,
        condition=chosen,
        signal=signal,
        seed=seed,
    )


def _scored_pool(path: str | Path, condition: str | None, signal: str) -> tuple[str, pl.DataFrame]:
    """The condition, and its answers that have a confidence and the signal."""
    tables = read_tables(path)
    if condition is None and len(tables.conditions) > 1:
        raise InputError(
            f"{path} holds {counted(len(tables.conditions), 'condition')}.",
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
    return chosen, known


def _passed_over(asked: Sequence[str], labelled: Set[str]) -> tuple[tuple[str, ...], int]:
    """The items that were asked for before others that have a label, and how many labels nobody asked for."""
    newest = max((k for k, item in enumerate(asked) if item in labelled), default=-1)
    skipped = tuple(item for item in asked[: max(newest, 0)] if item not in labelled)
    return skipped, len(labelled - set(asked)) if asked else 0


def _warnings(skipped: int, unasked: int) -> tuple[str, ...]:
    out = []
    if skipped:
        out.append(
            f"{counted(skipped, 'item was', 'items were')} asked for and passed over: "
            "if they are harder than the others, the estimate is too "
            "good. Label them, or say why not."
        )
    if unasked:
        out.append(
            f"{counted(unasked, 'label was', 'labels were')} not asked for: they "
            "count as if drawn at random, which labels chosen by hand are "
            "not."
        )
    return tuple(out)


def _remembered(path: Path, setting: dict[str, Any]) -> list[str]:
    """What was asked so far; an unfit file is refused, not written over."""
    if not path.exists():
        return []
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        old, asked = row["setting"], [str(x) for x in row["asked"]]
        if row["schema"] != _MEMORY or not isinstance(old, dict):
            raise ValueError("another schema")
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise InputError(f"{path} does not hold what was asked before.", remedy="Remove it to begin anew.") from e
    changed = [name for name, value in setting.items() if old.get(name) != value]
    if changed:
        name = changed[0]
        raise InputError(
            f"{path} was begun with {name} {printable(str(old.get(name)))}, not {printable(str(setting[name]))}.",
            remedy=f"Keep --{name}, or remove that file to begin anew.",
        )
    return asked


def _remember(path: Path, setting: dict[str, Any], asked: list[str]) -> None:
    text = json.dumps({"schema": _MEMORY, "setting": setting, "asked": asked}, indent=1) + "\n"
    write_file(path, text, remedy="Copy the grades to a folder that can be written.")
