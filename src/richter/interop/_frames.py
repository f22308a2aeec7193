"""Frames in memory: polars as they are, pandas by what they can do, so that pandas itself is never imported."""

from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
import polars as pl

from richter.errors import InputError
from richter.store import DatabaseRun, Place, RunLike, is_database, run_place

__all__ = ["Frame", "Source", "as_frame", "is_frame", "named_source", "source_name"]


@runtime_checkable
class Frame(Protocol):
    """Whatever has named columns that turn into arrays, as a pandas frame has."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""
        ...

    def __getitem__(self, name: Any) -> Any: ...


Source = str | Path | DatabaseRun | pl.DataFrame | Frame


def is_frame(source: object) -> TypeGuard[pl.DataFrame | Frame]:
    """Whether this is a frame in memory and not the name of a file."""
    return isinstance(source, Frame) and not isinstance(source, str | Path | DatabaseRun)


def source_name(source: Source) -> str:
    """What messages call it."""
    return str(run_place(source)) if isinstance(source, str | Path | DatabaseRun) else "The frame"  # no password in it


def named_source(source: RunLike) -> tuple[str | None, Place]:
    """`NAME=PATH` in its parts; a path that exists, or a database's address, is one whatever it holds."""
    name, equals, path = str(source).partition("=")
    if equals and name and not is_database(source) and not Path(str(source)).exists():
        return name, run_place(path)
    return None, run_place(source)


def as_frame(source: pl.DataFrame | Frame) -> pl.DataFrame:
    """A polars frame of the same columns; NaN, None and NA in columns of text become null."""
    if isinstance(source, pl.DataFrame):
        return source
    names = [str(name) for name in source.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"The frame has two columns named {twice!r}.", remedy="Rename one.")
    return pl.DataFrame([_series(str(name), source[name]) for name in source.columns])


def _series(name: str, column: Any) -> pl.Series:
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind in "biuf":
        return pl.Series(name, values)
    cells = [None if _missing(value) else value for value in values.tolist()]
    return pl.Series(name, cells, strict=False)


def _missing(value: object) -> bool:
    """None, NaN, and pandas' NA, whose truth is undefined: it is unequal to itself, or will not say."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True
