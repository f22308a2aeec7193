"""Answers beside a reference: which columns hold answers rather than grades, and which one is the key."""

import itertools
from collections.abc import Sequence

import polars as pl

from richter import stats
from richter.errors import InputError
from richter.interop import PEOPLE, hinted_fields, plain_name
from richter.records import printable
from richter.tables._words import brief, holds_any, map_option, number_of, text_of, wide_option

EQUAL = 0.2  # share of the cells of answers that equal the reference, at least
FEW = 20  # different references that are rather classes
AGREED = 0.4  # kappa of people and models on one set of classes
_EXPERTS = PEOPLE | {"nurse", "doctor", "physician", "clinician", "radiologist", "pathologist", "teacher", "lawyer",
                     "consensus", "adjudicated", "gold", "truth"}  # fmt: skip


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


def expert_key(frame: pl.DataFrame, columns: Sequence[str], notes: list[str]) -> str:
    """The column by which a person classed what models classed too: they agree with it more than with each other.

    Agreement is Cohen's kappa of equal cells. Where the cells or the name do not tell, it is no key, which is said.
    """
    held = {c: set(_cells(frame[c]).drop_nulls().unique()) for c in columns}
    for key in sorted(columns, key=lambda c: not _EXPERTS & set(plain_name(c).split("_"))):
        others = [c for c in columns if c != key and held[c] <= held[key]]
        if not 2 <= len(held[key]) <= FEW or len(others) < 2:
            continue
        expert = bool(_EXPERTS & set(plain_name(key).split("_")))
        name, shown = brief(key), ", ".join(brief(c) for c in others)
        least = min(_kappa(frame, key, c) for c in others)
        agreed = (
            len(held[key]) > 2
            and least >= AGREED
            and least > max(_kappa(frame, a, b) for a, b in itertools.combinations(others, 2))
        )
        if agreed and expert:
            settle = wide_option((key, *others))
            notes.append(
                f"{shown} agree with {name} more than with each other: it is taken for the right answer "
                f"({settle} makes it a condition)"
            )
            return key
        if agreed or expert:
            settle = map_option("reference", key)
            notes.append(f"if {name} is the right answer to which {shown} are to be held: {settle}")
            return ""
    return ""


def _kappa(frame: pl.DataFrame, one: str, two: str) -> float:
    cells = [_cells(frame[name]) for name in (one, two)]
    levels = pl.Enum(pl.concat(cells).drop_nulls().unique())
    codes = [c.cast(levels).to_physical().cast(pl.Float64).fill_null(float("nan")) for c in cells]
    try:
        return stats.weighted_kappa(*codes, weights="none").estimate
    except InputError:  # no row has both, or all are alike
        return 0.0
