"""Results as plain values, by their types: the one border between what rooms return and what is written."""

import dataclasses
import enum
import math
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

__all__ = ["Result", "plain"]


class Result:
    """A result that can be written: a frozen dataclass with `to_dict()`, made from its fields by `plain`.

    `derived` names properties that are written beside the fields, `unwritten` fields that are not, `flat` fields whose
    own rows are written in the place of theirs, `keyed` fields whose parts are written as an object by an attribute of
    theirs, and `named` what is written under another name. A document says its `schema`. Where `always` is given,
    other fields are written only where they are set, so that a new optional field leaves old hashes valid.
    """

    __slots__ = ()
    derived: ClassVar[tuple[str, ...]] = ()
    unwritten: ClassVar[tuple[str, ...]] = ()
    flat: ClassVar[tuple[str, ...]] = ()
    keyed: ClassVar[Mapping[str, str]] = {}
    named: ClassVar[Mapping[str, str]] = {}
    schema: ClassVar[str] = ""
    always: ClassVar[tuple[str, ...] | None] = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        row: dict[str, Any] = plain(self)
        return row

    def to_frame(self) -> Any:
        """A polars frame of one row: the numbers, words and truth values of the result itself."""
        row = {name: value for name, value in self.to_dict().items() if not isinstance(value, dict | list)}
        return import_module("polars").DataFrame([row])  # when it is asked for: what measures does not need it


def plain(value: Any) -> Any:
    """A result (dataclass, array, mapping, enum, any nesting) as values that strict JSON can hold.

    Numpy scalars and arrays become numbers and lists, functions their names. Undefined and infinite numbers become
    None: JSON has no word for either, and a reader must be able to tell "not known" from a number.
    """
    if value is None or isinstance(value, bool | int):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return value.value if isinstance(value, enum.Enum) else str(value)  # numpy's text too
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else _key(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return plain(value.tolist())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _fields(value: Any) -> dict[str, Any]:
    unset = {f.name: f.default for f in dataclasses.fields(value)}
    names = list(unset)
    if not isinstance(value, Result):
        return {name: plain(getattr(value, name)) for name in names}
    row = {"schema": value.schema} if value.schema else {}
    for name in (*names, *value.derived):
        if name in value.unwritten:
            continue
        part = getattr(value, name)
        if name in value.keyed:
            part = {getattr(one, value.keyed[name]): one for one in part}
        row |= (plain(part) or {}) if name in value.flat else {value.named.get(name, name): plain(part)}
    if value.always is None:
        return row
    return {k: v for k, v in row.items() if k in value.always or not (_empty(v) or v == unset.get(k))}


def _empty(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, str | list | dict) and not value)


def _key(key: Any) -> str:
    return f"{key:g}" if isinstance(key, float) else str(key.value if isinstance(key, enum.Enum) else key)
