"""Answers beside a reference: which columns hold answers rather than grades, and which one is the key."""

from collections.abc import Sequence

import polars as pl

from richter.interop import hinted_fields
from richter.records import printable
from richter.tables._words import brief, holds_any, number_of, text_of

EQUAL = 0.2  # share of the cells of answers that equal the reference, at least
FEW = 20  # different references that are rather classes


def _cells(column: pl.Series) -> pl.Series:
    """Texts of which 7 and 7.0 are the same."""
    return text_of(column).str.to_lowercase().str.replace(r"^(-?\d+)\.0+$", "$1")


def _share(frame: pl.DataFrame, column: str, key: str) -> float:
    both = (_cells(frame[column]) == _cells(frame[key])).drop_nulls()
    return float(both.sum()) / max(len(both), 1)


def answer_columns(frame: pl.DataFrame, columns: Sequence[str], key: str) -> list[str]:
    """Those of the columns that hold answers: values of the reference alone, if it has few, or often equal to it."""
    right = set(_cells(frame[key]).drop_nulls().unique())
    found = []
    for c in columns if len(right) > 1 else ():
        held = set(_cells(frame[c]).drop_nulls().unique())
        binary = {number_of(text) for text in held} <= {0.0, 1.0, None}
        often = len(right) > 2 and not binary and not hinted_fields(c) & {"other"} and _share(frame, c, key) >= EQUAL
        if holds_any(frame[c]) and (often or (len(right) <= FEW and held <= right)):
            found.append(c)
    return found


def are_answers(frame: pl.DataFrame, columns: Sequence[str], key: str, notes: list[str], *, named: bool) -> bool:
    """Whether these columns are held against the reference; one that the user `named` and that is not used is told."""
    if len(answer_columns(frame, columns, key)) == len(columns):
        return True
    if named and any(_share(frame, c, key) > 0 for c in columns):
        return True
    if named:
        shown = ", ".join(printable(c, limit=30) for c in columns)
        notes.append(f"the reference {brief(key)} is not used: nothing in {shown} equals it, so these "
                     "are taken for grades")  # fmt: skip
    return False
