"""A run's records as one table per kind, for other tools."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from richter.errors import InputError
from richter.records import SAMPLE_NOTE
from richter.store import Ledger, replace_file

__all__ = ["EXPORTS", "export_table"]

# a spreadsheet may run a cell that begins so, space and what is invisible before it aside
_FORMULA = r"^(?:[\s\p{C}\p{Z}]*[=+\-@|%＝＋－＠]|[\t\r\n])"


def _columns_of(records: Sequence[object], names: Iterable[str]) -> dict[str, list[object]]:
    """The values of the named fields of all records, a column each."""
    return {name: [getattr(record, name) for record in records] for name in names}


def _items(ledger: Ledger) -> pl.DataFrame:
    names = ("prompt", "reference", "aliases", "options", "domain", "tier", "form", "source", "group", "weight")
    items = ledger.items()
    columns: dict[str, list[object]] = {"item": [i.id for i in items]}
    columns |= {n: [list(v) if isinstance(v := getattr(i, n), tuple) else v for i in items] for n in names}
    kinds = {"aliases": pl.List(pl.String), "options": pl.List(pl.String), "tier": pl.Int64(), "weight": pl.Float64()}
    return pl.DataFrame(columns, schema_overrides=kinds)


def _ratings(ledger: Ledger) -> pl.DataFrame:
    texts = ("item", "condition", "rater", "kind", "mechanism", "reason")
    numbers = ("draw", "severity", "started_at", "ended_at")
    ratings = ledger.ratings()
    columns = _columns_of(ratings, (*texts, *numbers))
    kinds = {**dict.fromkeys(texts, pl.String), **dict.fromkeys(numbers, pl.Float64), "draw": pl.Int64}
    stratum, chance = ledger.read_note(SAMPLE_NOTE, _label_design) or ({}, {})
    drawn = [stratum.get((r.item, r.condition, r.draw)) for r in ratings]
    columns |= {"stratum": list(drawn), "inclusion": [None if name is None else chance[name] or None for name in drawn]}
    kinds |= {"stratum": pl.String, "inclusion": pl.Float64}
    frame = pl.DataFrame(columns, schema_overrides=kinds)
    return frame if stratum else frame.drop("stratum", "inclusion")


_Design = tuple[dict[tuple[str, str, int], str], dict[str, float]]


def _label_design(note: Mapping[str, Any]) -> _Design:
    """The stratum in which each answer may be drawn for people, and each stratum's share that is."""
    stratum = {(item, condition, int(draw)): str(name) for item, condition, draw, name in note["strata"]}
    size = Counter(stratum.values())
    drawn = Counter(stratum[item, condition, int(draw)] for item, condition, draw in note["chosen"])
    return stratum, {name: drawn[name] / number for name, number in size.items()}


def _answers(ledger: Ledger) -> pl.DataFrame:
    items = {item.id: item for item in ledger.items()}
    models = {c.name: c.model for c in ledger.conditions()}
    answers = list(ledger.answers())
    of_item = ("prompt", "reference", "domain", "tier")
    numbers = ("tokens_in", "tokens_out", "money_usd", "latency_s")
    columns = _columns_of(answers, ("item", "condition", "draw"))
    columns |= {"model": [models[a.condition] for a in answers]}
    # an answer whose item is not there keeps its row: it was paid for, and the archive is of all that was
    columns |= {name: [getattr(items.get(a.item), name, None) for a in answers] for name in of_item}
    columns |= {"answer": [a.text for a in answers], **_columns_of(answers, ("error", "finish"))}
    columns |= {"tokens": [list(a.tokens) for a in answers], "logprobs": [list(a.logprobs) for a in answers]}
    columns |= _columns_of(answers, numbers)
    kinds = {
        **dict.fromkeys(("item", "condition", "model", "prompt", "reference", "answer", "error", "finish"), pl.String),
        **dict.fromkeys(("draw", "tier", "tokens_in", "tokens_out"), pl.Int64),
        **dict.fromkeys(("money_usd", "latency_s"), pl.Float64),
    }
    lists = {"tokens": pl.List(pl.String), "logprobs": pl.List(pl.Float64)}
    return pl.DataFrame(columns, schema_overrides={**kinds, **lists})


def _grades(ledger: Ledger) -> pl.DataFrame:
    found = ledger.grades()
    kinds = {"item": pl.String, "condition": pl.String, "draw": pl.Int64, "scorer": pl.String, "value": pl.Float64,
             "correct": pl.Boolean, "main": pl.Boolean}  # fmt: skip
    return pl.DataFrame(_columns_of(found, kinds), schema_overrides=kinds)


def _confidences(ledger: Ledger) -> pl.DataFrame:
    found = ledger.confidences()
    kinds = {"item": pl.String, "condition": pl.String, "draw": pl.Int64, "source": pl.String, "value": pl.Float64}
    return pl.DataFrame(_columns_of(found, kinds), schema_overrides=kinds)


# what `richter export` can write: a name and how to make the table from a ledger
EXPORTS: dict[str, Callable[[Ledger], pl.DataFrame]] = {
    "answers": _answers,
    "confidences": _confidences,
    "grades": _grades,
    "items": _items,
    "ratings": _ratings,
}


def export_table(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a frame as Parquet, CSV or JSONL, by the ending of `path`; nothing half-written.

    In CSV a cell of text that a spreadsheet would run as a formula is preceded by an apostrophe, lists become JSON,
    and every text is quoted, since a spreadsheet may split at other signs than commas. Parquet and JSONL keep every
    value as it is.
    """
    path = Path(path)
    writers: dict[str, Callable[[Path], object]] = {
        ".parquet": frame.write_parquet,
        ".jsonl": frame.write_ndjson,
        ".csv": lambda target: _for_spreadsheets(frame).write_csv(target, quote_style="non_numeric"),
    }
    if path.suffix.lower() not in writers:
        raise InputError(
            f"{path}: the ending {path.suffix!r} names no format.", remedy="End the name in .parquet, .csv or .jsonl."
        )
    with replace_file(path) as partial:
        try:
            writers[path.suffix.lower()](partial)
        except pl.exceptions.ComputeError as error:  # polars says in its own words that a disk is full
            raise OSError(str(error)) from error


def _for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    frame = frame.with_columns(pl.struct(name).struct.json_encode().alias(name) for name in lists)
    texts = [name for name, kind in frame.schema.items() if kind == pl.String and name not in lists]
    return frame.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA))
        .then(pl.concat_str(pl.lit("'"), pl.col(name)))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )
