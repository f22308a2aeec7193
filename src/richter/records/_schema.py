"""The JSON schema of a result, from its types: what `plain` writes and this describes are the same fields."""

import collections.abc as abc
import dataclasses
import enum
import types
import typing
from typing import Any, get_args, get_origin, get_type_hints

from richter.records._plain import Result

__all__ = ["schema_of"]

_SIMPLE: dict[Any, dict[str, Any]] = {
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},  # undefined and infinite numbers are written as null
    str: {"type": "string"},
}


def schema_of(kind: type[Result]) -> dict[str, Any]:
    """The schema (draft 2020-12) of what `plain` makes of a result of this type; parts with a class are in `$defs`."""
    found: dict[str, dict[str, Any]] = {}
    names: dict[type, str] = {}
    whole = _object(kind, found, names)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole, "$defs": dict(sorted(found.items()))}


def _schema(kind: Any, found: dict[str, dict[str, Any]], names: dict[type, str]) -> dict[str, Any]:
    """The schema of one annotation."""
    if kind in _SIMPLE:
        return dict(_SIMPLE[kind])
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _any_of([_schema(one, found, names) for one in inside])
    if origin is typing.Literal:
        return {"enum": list(inside)}
    if origin is tuple and inside and inside[-1] is not Ellipsis:
        parts = [_schema(one, found, names) for one in inside]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    if isinstance(origin, type) and issubclass(origin, abc.Mapping):
        return {"type": "object", "additionalProperties": _schema(inside[1], found, names)}
    if isinstance(origin, type) and issubclass(origin, abc.Sequence | abc.Set):
        return {"type": "array", "items": _schema(inside[0], found, names)}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [one.value for one in kind]}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if kind not in names:
            taken = kind.__name__ in names.values()
            names[kind] = f"{kind.__module__.split('.')[1]}.{kind.__name__}" if taken else kind.__name__
            found[names[kind]] = {}  # its place, while a class that holds itself is described
            found[names[kind]] = _object(kind, found, names)
        return {"$ref": f"#/$defs/{names[kind]}"}
    return {}  # anything: arrays of numpy, and what is open by its nature


def _any_of(options: list[dict[str, Any]]) -> dict[str, Any]:
    """One of several; simple types as a list of their names."""
    if any(set(option) != {"type"} for option in options):
        return {"anyOf": options}
    kinds = [
        k for option in options for k in (option["type"] if isinstance(option["type"], list) else [option["type"]])
    ]
    return {"type": list(dict.fromkeys(kinds))}


def _object(kind: type, found: dict[str, dict[str, Any]], names: dict[type, str]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    written = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    row: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    if kind.__doc__:
        row["description"] = kind.__doc__.strip().split("\n")[0]
    if not issubclass(kind, Result):
        row["properties"] = {name: _schema(hint, found, names) for name, hint in written.items()}
        return row | {"required": list(written)}
    if kind.schema:
        row["properties"]["schema"] = {"const": kind.schema}
        row["required"].append("schema")
    for name in kind.derived:
        made = getattr(kind, name)
        written[name] = get_type_hints(made.fget)["return"] if isinstance(made, property) else type(made)
    for name, hint in written.items():
        if name in kind.unwritten:
            continue
        if name in kind.flat:
            parts = get_args(hint) or (hint,)
            for part in parts:
                inner = _object(part, found, names) if dataclasses.is_dataclass(part) else _keys(part, found, names)  # type: ignore[arg-type]
                row["properties"] |= inner["properties"]
                row["required"] += inner["required"] if parts == (hint,) else []
            continue
        made = _schema(hint, found, names)
        if name in kind.keyed:
            made = {"type": "object", "additionalProperties": made["items"]}
        row["properties"][kind.named.get(name, name)] = made
        if kind.always is None or name in kind.always:
            row["required"].append(kind.named.get(name, name))
    return row


def _keys(kind: Any, found: dict[str, dict[str, Any]], names: dict[type, str]) -> dict[str, Any]:
    """The keys of a mapping that are known by name."""
    if not typing.is_typeddict(kind):
        return {"properties": {}, "required": []}
    parts = {name: _schema(hint, found, names) for name, hint in get_type_hints(kind).items()}
    return {"properties": parts, "required": sorted(kind.__required_keys__)}
