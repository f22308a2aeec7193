"""Nested JSON as flat rows: what repeats becomes the rows, what stands around it their further columns.

Nothing is known by its name that can be known by its form. An object whose values are alike and hold grades is a list
with names (conditions, or items), and its keys become a column. Of the lists inside a record the one that holds grades
and most entries becomes rows; a list of names with values becomes columns. What is alone is laid flat as `outer.inner`.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from richter.interop._fields import MEASURE_NAMES, hinted_fields, known_fields, plain_name
from richter.interop._safe import Unreadable

KEY = "key"  # the column of an object's own keys
TEXT_ROOM = 1 << 22  # characters that the texts around a list may take in all of its rows
_ALIKE = 0.5  # share of common names from which two objects are alike
_LOOK = 20  # entries that are looked at
_MANY = 6  # plain values that are a list with names, not a record
_NAMES = ("name", "key", *MEASURE_NAMES)
_VALUES = ("value", "score", "result", "rating", "label", "grade", "string_value")
_POINTS = re.compile(r"\d+([.,]\d+)?\s*%")  # 85%
_OWN = {"item", "prompt", "text", "reference", "score", "severity", "error", "rater", "group", "domain", "tier"}


def flat_rows(document: Any, *, record: bool = False) -> list[dict[str, Any]]:
    """The rows of a document, or of an object that is a `record`; what is still nested in a cell is text."""
    try:
        rows = list(_record(document) if record else _rows(document))
    except RecursionError as error:
        raise Unreadable("JSON nested too deeply") from error
    return [{name: _cell(value) for name, value in row.items()} for row in rows]


def _cell(value: Any) -> Any:
    plain = value is None or isinstance(value, str | bool | int | float)
    return value if plain else msgspec.json.encode(value).decode()


def _rows(node: Any) -> Iterator[dict[str, Any]]:
    """The rows of a list or an object: its records, its table by column, its entries by name, or itself."""
    if isinstance(node, list):
        yield from _rows_of_list(node)
    elif isinstance(node, dict) and (table := _by_column(node)) is not None:
        yield from table
    elif isinstance(node, dict):
        yield from _rows_by_name(node) if _is_mapping(node) else _record(node)


def _rows_of_list(node: list[Any]) -> Iterator[dict[str, Any]]:
    table = _name_columns(node)
    entries: list[Any] = node if table is None else table
    has_records = are_records(entries)
    for entry in entries:
        if has_records and isinstance(entry, dict):
            yield from _record(entry)
        elif isinstance(entry, dict | list):
            yield from _rows(entry)


def _rows_by_name(node: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of entries that have names, each with its name; a word beside entries that are objects is none."""
    is_nested = any(isinstance(v, dict | list) for v in node.values())
    for key, value in node.items():
        if isinstance(value, dict | list):
            for row in _rows(value):
                yield {KEY if KEY not in row else f"outer {KEY}": key, **row}
        elif not is_nested:
            yield {KEY: key, "score": value}
        elif value is None:
            yield {KEY: key}  # an entry of which there is nothing


def are_records(node: Sequence[Any]) -> bool:
    """Whether a list's objects have the same names, and one of them a text of its own in each: then it has rows."""
    if len(node) < 3 or not all(isinstance(v, dict) and v.keys() == node[0].keys() for v in node):
        return False
    own = ([v[name] for v in node] for name in node[0])
    return any(all(isinstance(text, str) for text in texts) and len({*texts}) == len(node) for texts in own)


def _record(node: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row, or as many as the list of graded entries inside it has; a graded answer is one, whatever it lists."""
    flat, inner = _parts_of_record(node)
    graded = {name: _n_graded(rows) for name, rows in inner.items()}
    main = max(graded, key=lambda name: (graded[name], len(inner[name])), default=None)
    if main is None or not graded[main] or _is_one_answer(flat, inner[main]):
        yield {**flat, **{name: node[name] for name in inner}}
        return
    flat |= {name: node[name] for name in inner if name != main and len(inner[name]) <= _LOOK}
    size = len(inner[main])
    short = {k: v for k, v in flat.items() if not isinstance(v, str) or len(v) * size <= TEXT_ROOM}
    for place, row in enumerate(inner[main]):
        yield {**(flat if place == 0 else short), **{f"{main}.{k}": v for k, v in row.items()}}


def _parts_of_record(node: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """The plain values of a record, with those of single objects inside it, and its lists of rows by name."""
    flat: dict[str, Any] = {}
    inner: dict[str, list[dict[str, Any]]] = {}
    for name, given in node.items():
        value = _pairs(given)
        if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list):
            value = value[0]
        holds_rows = isinstance(value, list) and bool(value) and isinstance(value[0], dict | list)
        rows = list(_rows(value)) if isinstance(value, dict) or holds_rows else []
        if len(rows) == 1:
            flat |= {f"{name}.{k}": v for k, v in rows[0].items()}
        elif rows:
            inner[name] = rows
        else:
            flat[name] = value
    return flat, inner


def _is_one_answer(flat: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a record is one graded answer: it has a grade beside its text, or beside the criteria of the grade."""
    if len(rows) < 3 and "score" in known_fields(flat):
        return True
    numbers = (k for k, v in flat.items() if isinstance(v, bool | int | float))
    if not any("score" in known_fields([k]) | hinted_fields(k) for k in numbers):
        return False
    has_criteria = bool({plain_name(k) for k in rows[0]} & {*MEASURE_NAMES})
    return "text" in known_fields(flat) or has_criteria


def _n_graded(rows: Sequence[Mapping[str, Any]]) -> int:
    """How surely there are grades: by a known name, by a word of one, by values that may be; 0 where there are none."""
    some = rows[:_LOOK]
    if any("score" in known_fields(row) for row in some):
        return 3
    if any("score" in hinted_fields(name.rpartition(".")[2]) for row in some[:3] for name in row):
        return 2
    return int(len(rows) >= _MANY or any(isinstance(v, bool | int | float) for row in some for v in row.values()))


def _pairs(value: Any) -> Any:
    """A list of scores with their names as one object: `[{"name": "acc", "value": 1}, ...]` as `{"acc": 1, ...}`."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(v, dict) for v in value):
        return value
    plain = [{plain_name(k): k for k in v} for v in value]
    name = _common_name(_NAMES, plain)
    held = _common_name((n for n in _VALUES if n != name), plain)
    if name is None or held is None:
        return value
    names = [v[p[name]] for v, p in zip(value, plain, strict=True)]
    if len(set(map(str, names))) < len(names) or not all(isinstance(n, str) for n in names):
        return value
    return {n: v[p[held]] for n, v, p in zip(names, value, plain, strict=True)}


def _common_name(names: Iterable[str], entries: Sequence[Mapping[str, str]]) -> str | None:
    """The first of the names that all entries have."""
    return next((n for n in names if all(n in entry for entry in entries)), None)


def _name_columns(rows: list[Any]) -> list[dict[str, Any]] | None:
    """Rows written as lists below a list of their names."""
    if len(rows) < 2 or not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        return None
    if not rows[0] or not all(isinstance(name, str) for name in rows[0]) or len(set(rows[0])) < len(rows[0]):
        return None
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def _by_column(node: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Rows of a table that is written by column, as pandas and others do: `columns` with `data`, lists, or objects."""
    columns, data = node.get("columns"), node.get("data")
    if isinstance(columns, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        return [dict(zip(map(str, columns), row, strict=False)) for row in data]
    values = list(node.values())
    if len(values) < 2:
        return None
    if all(isinstance(v, list) for v in values):
        return _by_lists(node)
    return _by_objects(node)


def _by_lists(node: Mapping[str, list[Any]]) -> list[dict[str, Any]] | None:
    """Rows of columns that are lists; None where these differ in length, are short, or hold objects."""
    values = list(node.values())
    lengths = {len(v) for v in values}
    if len(lengths) > 1 or len(values[0]) < 2 or any(isinstance(c, dict) for v in values for c in v):
        return None
    return [dict(zip(node, row, strict=True)) for row in zip(*values, strict=True)]


def _by_objects(node: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Rows of columns that are objects with the same keys; None where they are not, or their names are not fields'."""
    values = list(node.values())
    if not all(isinstance(v, dict) and len(v) > 1 for v in values) or any(v.keys() != values[0].keys() for v in values):
        return None
    if any(isinstance(cell, dict | list) for v in values for cell in v.values()):
        return None
    numbered = all(key.isdigit() for key in values[0]) and any(not all(map(_is_grade, v.values())) for v in values)
    if not numbered and len(known_fields(node)) < 2:
        return None
    return [{column: own[row] for column, own in node.items()} for row in values[0]]


def _is_grade(value: Any) -> bool:
    """A plain value that may be a grade and is no word."""
    return value is None or isinstance(value, bool | int | float)


def _is_mapping(node: Mapping[str, Any]) -> bool:
    """Whether an object's keys are names of things (conditions, items) and not names of fields."""
    if len(node) < 2 or known_fields(node) & _OWN:
        return False
    some = _first_entries(node)
    if all(isinstance(v, dict) and v for v in some):
        graded = len(node) >= _MANY or all(map(_holds_grade, some))
        return graded and all(_alike(some[0], v) for v in some[1:])
    if all(isinstance(v, list) and v and isinstance(v[0], dict) for v in some):
        return all(_alike(some[0][0], v[0]) for v in some[1:])
    return _are_grades(some)


def _first_entries(node: Mapping[str, Any]) -> list[Any]:
    """The first values of an object; where all but two of many are objects, these alone."""
    values = list(itertools.islice(node.values(), _LOOK))
    entries = [v for v in values if isinstance(v, dict) and v]
    return entries if _MANY <= len(entries) >= len(values) - 2 else values


def _are_grades(values: Sequence[Any]) -> bool:
    """Many plain values of one kind, or few words again and again."""
    kinds = {type(v) for v in values if v is not None}
    if len(values) < _MANY or len(kinds) != 1 or not kinds <= {bool, int, float, str}:
        return False
    return (
        kinds != {str} or len({*values}) <= min(5, len(values) // 2) or all(map(_POINTS.fullmatch, {*values} - {None}))
    )


def _alike(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    return len(one.keys() & two.keys()) >= _ALIKE * len(one.keys() | two.keys())


def _holds_grade(node: Any) -> bool:
    """Whether a number, a truth or a known name of a score is anywhere inside."""
    if isinstance(node, dict):
        some = list(itertools.islice(node.values(), 50))
        named = "score" in known_fields(node) or any(
            "score" in hinted_fields(key) for key in itertools.islice(node, 50)
        )
        return named or _are_grades(some) or any(map(_holds_grade, some)) or (len(node) >= _MANY and _is_mapping(node))
    if isinstance(node, list):
        return any(map(_holds_grade, itertools.islice(node, 5)))
    return isinstance(node, bool | int | float)
