"""Dates in names and cells: which column of a table says when an answer was given."""

import contextlib
import datetime
import re

import polars as pl

from richter.interop import plain_name

__all__ = ["date_in", "dates_of"]

_DATE = re.compile(r"(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?([0-2]\d|3[01])(?:[T_-]?(\d\d)[-_.:]?(\d\d))?")
_WEEK = re.compile(r"(20\d\d)[-_. ]?W(0[1-9]|[1-4]\d|5[0-3])", re.IGNORECASE)
_MONTH = re.compile(r"(20\d\d)[-_.](0[1-9]|1[0-2])(?!\d)")
_DOTTED = re.compile(r"(\d\d?)\.(\d\d?)\.(20\d\d)")
_DATED = {"date", "day", "week", "month", "datum", "tag", "woche", "monat", "timestamp", "time", "datetime", "created",
          "created_at", "run_date", "fecha", "semana", "jour", "semaine"}  # fmt: skip


def date_in(text: str) -> str:
    """The date that a text holds, as ISO writes it: of a week its Monday, of a month its first day; empty for none."""
    if found := _DATE.search(text):
        day = "-".join(found.groups()[:3])
        return day if found[4] is None else f"{day}T{found[4]}:{found[5]}"
    if found := _WEEK.search(text):
        with contextlib.suppress(ValueError):  # not every year has 53
            return datetime.date.fromisocalendar(int(found[1]), int(found[2]), 1).isoformat()
    if found := _MONTH.search(text):
        return f"{found[1]}-{found[2]}-01"
    found = _DOTTED.match(text)
    return f"{found[3]}-{int(found[2]):02}-{int(found[1]):02}" if found else ""


def dates_of(frame: pl.DataFrame, column: str | None = None) -> tuple[str, pl.Series] | None:
    """The column of several dates (by its name, or the one named) and each row's; None where a table has none."""
    for name in [c for c in frame.columns if plain_name(c) in _DATED] if column is None else [column]:
        dates = pl.Series("at\0", [date_in(cell or "")[:10] for cell in frame[name].cast(pl.String).to_list()])
        if dates.n_unique() > 1 and (column is not None or (dates != "").all()):
            return name, dates
    return None
