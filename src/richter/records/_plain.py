"""Results as plain values, by their types: what JSON, JSONL and Parquet borders share."""

import math
from typing import Any

import msgspec

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """A result (dataclass, struct, array, mapping, any nesting) as values that strict JSON can hold.

    Numpy scalars and arrays become numbers and lists. Undefined and infinite numbers become None: a reader must be
    able to tell "not known" from a number, and JSON has no other word for either.
    """
    return _finite(msgspec.to_builtins(value, str_keys=True, enc_hook=_numbers))


def _numbers(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_finite(v) for v in value]
    return value
