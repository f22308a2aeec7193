"""Plans: written from a table of fields and checked. `_plan_lock.py` locks them.

A kind of plan is a module with a table `FIELDS` (name -> PlanField), a line `HELP`, and, where fields constrain each
other, a function `faults(values)` that yields sentences. The machinery here knows nothing of any kind. Every kind has
the field `read`: the options of reading that the plan fixes.
"""

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
import math
import platform
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from richter import __version__
from richter.errors import PlanError
from richter.tables import UNPLANNED_OPTIONS, ReadOptions

__all__ = [
    "Plan",
    "PlanField",
    "missing_fields",
    "new_plan",
    "parse_value",
    "read_plan",
]

# kind -> module with FIELDS, HELP and, if needed, faults(values)
KINDS = {
    "gate": "richter.audit._plan_gate",
    "severity": "richter.audit._plan_severity",
    "tail": "richter.audit._plan_tail",
}

MANDATORY: Any = object()  # the default of a field that has none
OPTIONAL: Any = object()  # ... of one that is left out of the values, and of their hash, unless given
POLICY_DEFAULTS: Mapping[str, Any] = {  # what the user may state, and what holds where nobody does
    "missing": "both-ways", "trust_ids": False, "trust_raters": False, "trust_labels": False, "unpaired": False,
    "on": (), "tried": 1,
}  # fmt: skip
RESTATED_DEFAULTS: Mapping[str, Any] = {
    **POLICY_DEFAULTS,
    "margin": {},
    "level": 0.95,
}  # what a command on the same data takes again
GRADES = {"right": 1.0, "wrong": 0.0, "missing": None}  # the words that a grade may have in `read`


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlanField:
    """One field: the type that msgspec checks its values by (of a table its fields), what it means, and its default.

    `many` makes it a list, or an array of tables.
    """

    type: Any
    help: str
    default: Any = MANDATORY
    many: bool = False


def asks(
    kind: Any, words: str, default: Any = MANDATORY, *, many: bool = False, choices: Sequence[str] = (), **limits: float
) -> PlanField:
    """A field of a plan: its type, what it means, its default, and its choices or limits (gt, ge, lt, le)."""
    if choices:
        kind = Literal[tuple(choices)]
    elif limits:
        kind = Annotated[kind, msgspec.Meta(**limits)]  # type: ignore[call-overload]
    return PlanField(type=kind, help=words, default=default, many=many)


READ = asks(
    ReadOptions,
    'How the data are read, as the options say: {map = {score = "quality"}, scale = [1, 5], grade = {unsure = '
    '"wrong"}}; left out: as the data say.',
    OPTIONAL,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A checked plan: its kind, its values with defaults filled in, and the hash of both."""

    kind: str
    values: Mapping[str, Any]
    hash: str
    path: str

    @property
    def reading(self) -> ReadOptions | None:
        """The options of reading that the plan fixes; None where it fixes none."""
        return None if "read" not in self.values else _read_options(self.values["read"])

    @property
    def seed(self) -> int:
        """A seed that nobody chose: the first 64 bits of the hash."""
        return int(self.hash[:16], 16)

    def order(self, items: Iterable[str]) -> list[str]:
        """The items in the order fixed by the plan's hash, which anyone can recompute: by SHA-256 of hash and item."""
        return sorted(items, key=lambda item: hashlib.sha256(f"{self.hash}\n{item}".encode()).digest())


def new_plan(kind: str, given: Mapping[str, Any]) -> str:
    """The text of a plan of this kind: every field with its meaning, its default or the value given.

    A mandatory field without a value is written as a comment, so that checking the plan names it.
    """
    fields, about, _ = _kind(kind)
    unknown = [name for name in given if name not in fields]
    if unknown:
        raise PlanError(
            f"A {kind} plan has no field {', '.join(unknown)}.", remedy=f"It has {', '.join(sorted(fields))}."
        )
    faults = [fault for name in given for fault in _value(name, given[name], fields[name])[1]]
    if faults:
        raise PlanError(" ".join(faults), remedy="Give values in range.")
    if not missing_fields(kind, given):
        make_plan(kind, given)  # what single fields cannot see
    lines = [f"# {about}", "# Lock it before you look at the data: richter plan lock FILE", "", f'kind = "{kind}"']
    tables: list[str] = []
    for name, field in fields.items():
        value = given.get(name, field.default)
        if isinstance(field.type, Mapping):
            tables += _table_lines(name, field, value)
            continue
        rule = _rule(field)
        lines += ["", f"# {field.help}" + (f" ({rule})" if rule else "")]
        if value is MANDATORY or value is OPTIONAL:
            lines.append(
                f"# {name} =   # {'mandatory: there is no default' if value is MANDATORY else 'may be left out'}"
            )
        else:
            lines.append(f"{name} = {_toml(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def read_plan(path: str | Path, *, kind: str | None = None) -> Plan:
    """Read and check a plan; every unknown field and impossible value is named, all at once."""
    path = Path(path)
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise PlanError(f"{path}: no such plan.", remedy="Write one with: richter plan new KIND") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} cannot be read: {error}.", remedy="Check the path.") from error
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path} is not TOML: {error}.", remedy="Correct this line.") from error
    found = raw.pop("kind", None)
    if not isinstance(found, str) or found not in KINDS:
        raise PlanError(
            f"{path}: kind = {found!r} is not a kind of plan.", remedy=f"Use one of {', '.join(sorted(KINDS))}."
        )
    if kind is not None and found != kind:
        raise PlanError(f"{path} is a {found} plan; this command needs a {kind} plan.", remedy="Name another plan.")
    return make_plan(found, raw, path=str(path))


def make_plan(kind: str, given: Mapping[str, Any], *, path: str = "") -> Plan:
    """A plan from its values; every unknown field and impossible value is named, all at once."""
    fields, _, cross = _kind(kind)
    values, faults = _checked(given, fields, "")
    if not faults:
        faults = list(cross(values))
    if faults:
        missing = ", ".join(missing_fields(kind, given))
        remedy = f"Fill in {missing} in {path or 'the plan'}." if missing else "Correct the plan."
        raise PlanError((f"{path}: " if path else "") + " ".join(faults), remedy=remedy)
    return Plan(kind=kind, values=values, hash=hash_values(kind, values), path=path)


def missing_fields(kind: str, given: Mapping[str, Any]) -> list[str]:
    """The fields of this kind of plan that have no default and no value, in the plan's order."""
    return [name for name, field in _kind(kind)[0].items() if field.default is MANDATORY and name not in given]


def parse_value(kind: str, name: str, text: str) -> Any:
    """The value of `--set name=text`: TOML if it parses, else the text itself."""
    if name not in _kind(kind)[0]:
        raise PlanError(f"A {kind} plan has no field {name}.", remedy=f"It has {', '.join(sorted(_kind(kind)[0]))}.")
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


# ------------------------------------------------------------------ checking


def _kind(kind: str) -> tuple[Mapping[str, PlanField], str, Callable[[Mapping[str, Any]], Iterable[str]]]:
    if kind not in KINDS:
        raise PlanError(f"{kind!r} is not a kind of plan.", remedy=f"Use one of {', '.join(sorted(KINDS))}.")
    module = import_module(KINDS[kind])
    return {**module.FIELDS, "read": READ}, module.HELP, getattr(module, "faults", lambda values: ())


def _checked(raw: Mapping[str, Any], fields: Mapping[str, PlanField], where: str) -> tuple[dict[str, Any], list[str]]:
    faults = [f"{where}{name} is not a field." for name in raw if name not in fields]
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in raw:
            if field.default is OPTIONAL:
                continue
            if field.default is MANDATORY:
                faults.append(f"{where}{name} is missing and has no default ({field.help.rstrip('.')}).")
            else:
                values[name] = field.default
            continue
        values[name], found = _value(name, raw[name], field)
        faults += [where + fault for fault in found]
    return values, faults


def _value(name: str, value: Any, field: PlanField) -> tuple[Any, list[str]]:
    """A value as its type has it, so that 1 and 1.0 have one hash, and what is wrong with it."""
    if field.many:
        if not isinstance(value, list | tuple):
            return value, [f"{name} = {value!r} is not a list."]
        return _list_value(name, value, dataclasses.replace(field, many=False))
    if isinstance(field.type, Mapping):
        if not isinstance(value, Mapping):
            return value, [f"{name} is not a table."]
        return _checked(value, field.type, f"{name}.")
    if field.type is ReadOptions:
        return _checked_reading(name, value)
    return _simple_value(name, value, field)


def _list_value(name: str, value: Iterable[Any], field: PlanField) -> tuple[list[Any], list[str]]:
    """The values of a list as their type has them, and what is wrong with each."""
    parts = [_value(f"{name}[{i}]", v, field) for i, v in enumerate(value, 1)]
    return [v for v, _ in parts], [fault for _, faults in parts for fault in faults]


def _simple_value(name: str, value: Any, field: PlanField) -> tuple[Any, list[str]]:
    """A number, text or flag as its type has it, and what is wrong with it."""
    words = {float: "number", int: "whole number", str: "text", bool: "flag"}
    chosen = get_args(field.type) if get_origin(field.type) is Literal else ()
    kind = str if chosen else next(k for k in words if k in (field.type, *get_args(field.type)))
    try:
        typed: Any = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return value, [f"{name} = {value!r} is not a {words[kind]}."]
    with contextlib.suppress(msgspec.ValidationError):
        msgspec.convert(value, field.type)
        if kind is not float or math.isfinite(typed):
            return typed, []
    rule = f"not one of {', '.join(chosen)}" if chosen else f"out of range ({_rule(field) or 'it must be finite'})"
    return value, [f"{name} = {value!r} is {rule}."]


def _read_options(value: Mapping[str, Any]) -> ReadOptions:
    grades = {word: GRADES.get(means, means) for word, means in value.get("grade", {}).items()}
    return msgspec.convert({**value, **({"grade": grades} if grades else {})}, ReadOptions)


def _checked_reading(name: str, value: Any) -> tuple[Any, list[str]]:
    """The options of reading as their types have them, and what is wrong with them."""
    if not isinstance(value, Mapping):
        return value, [f"{name} is not a table."]
    known = {field.name for field in dataclasses.fields(ReadOptions)} - UNPLANNED_OPTIONS
    unknown = [f"{name}.{key} is not an option of reading." for key in value if key not in known]
    try:
        typed = msgspec.to_builtins(_read_options(value))
    except (msgspec.ValidationError, AttributeError, TypeError) as error:
        return value, [*unknown, f"{name} cannot be read: {error}."]
    return {key: typed[key] for key in value if key in known}, unknown


def _rule(field: PlanField) -> str:
    if get_origin(field.type) is Literal:
        return ("any of " if field.many else "one of ") + ", ".join(get_args(field.type))
    limits = next((x for x in get_args(field.type) if isinstance(x, msgspec.Meta)), msgspec.Meta())
    words = [("above", limits.gt), ("at least", limits.ge), ("below", limits.lt), ("at most", limits.le)]
    return ", ".join(f"{word} {bound:g}" for word, bound in words if bound is not None)


def hash_values(kind: str, values: Mapping[str, Any]) -> str:
    """The hash of a plan: of its kind and its values, however they are spelled."""
    text = json.dumps({"kind": kind, "values": values}, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


# ------------------------------------------------------------------ files


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(v)}" for key, v in value.items()) + "}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=True)  # TOML's basic strings are JSON's
    return json.dumps(value)


def _table_lines(name: str, field: PlanField, value: Any) -> list[str]:
    lines = ["", f"# {field.help}"]
    heading = f"[[{name}]]" if field.many else f"[{name}]"
    filled = list(value) if field.many and value is not MANDATORY else [] if value is MANDATORY else [value]
    for table in filled:
        lines += [heading, *(f"{key} = {_toml(v)}" for key, v in table.items())]
    if not filled:
        lines.append(f"# {heading}")
        lines += [
            f"# {key} = {'' if sub.default is MANDATORY else _toml(sub.default)}   # {sub.help}"
            for key, sub in field.type.items()
        ]
    return lines


def versions() -> dict[str, str]:
    """What a result was computed with: Python, Richter and the packages that decide its digits."""
    versions = {"python": platform.python_version(), "richter": __version__}
    for package in ("numba", "numpy", "polars", "scipy"):
        versions[package] = importlib.metadata.version(package)
    return versions
