"""Items from JSONL, CSV and Parquet, checked field by field; items to JSONL, the same bytes for the same items."""

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from richter.errors import InputError
from richter.records import Item
from richter.store import write_file

__all__ = ["read_items", "write_items"]

REQUIRED = ("id", "prompt", "reference")  # columns; a row may lack its reference, and then nobody can grade it
# what people call these columns in tables of their own; without ids the row's number is the id
SPELT = {
    "item": "id", "question_id": "id", "doc_id": "id", "question": "prompt", "input": "prompt", "answer": "reference",
    "target": "reference", "choices": "options",
}  # fmt: skip
LISTS = ("aliases", "options", "shots")
TEXTS = (*REQUIRED, "stem", "domain", "group", "source", "form")
FORMS = ("plain", "compositional", "trap")
FIELDS = (*TEXTS, *LISTS, "tier", "weight", "truth")


class Fault(NamedTuple):
    """What is wrong with a value, and what to do."""

    what: str
    remedy: str


def _text(value: Any) -> str | Fault:
    return value if isinstance(value, str) else Fault(f"{value!r} is not text", "Put it in quotes.")


def _form(value: Any) -> str | Fault:
    return value if value in FORMS else Fault(f"{value!r} is not a form", f"Use one of {', '.join(FORMS)}.")


def _texts(value: Any) -> tuple[str, ...] | Fault:
    if isinstance(value, list | tuple) and all(isinstance(v, str) and v.strip() for v in value):
        return tuple(value)
    return Fault(f"{value!r} is not a list of texts", 'Write it as ["one", "two"].')


def _tier(value: Any) -> int | Fault:
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 5:
        return value
    return Fault(f"{value!r} is not a tier", "Use a whole number from 1 (easy) to 5 (hard).")


def _weight(value: Any) -> float | Fault:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    return Fault(f"{value!r} is not a weight", "Weights are above 0; leave items out instead.")


def _truth(value: Any) -> dict[str, Any] | Fault:
    if isinstance(value, dict):
        return value
    return Fault(f"{value!r} is not a JSON object", 'Write it as {"kind": "country", ...}.')


# what is looked at in this order
CHECKS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(TEXTS, _text),
    **dict.fromkeys(LISTS, _texts),
    "tier": _tier,
    "weight": _weight,
    "form": _form,
    "truth": _truth,
}


def read_items(path: str | Path) -> list[Item]:
    """Read items from JSONL (one object a line), CSV or Parquet; unknown fields are ignored.

    Every fault is an `InputError` that names the file, the line (or data row) and the field. In CSV, lists are
    written with `|` between their members or as JSON, and `truth` as JSON; `item` (or `question_id`), `question` and
    `answer` (or `target`) are taken for `id`, `prompt` and `reference`. An item may lack its reference: nobody can
    grade it without a judge.
    """
    path = Path(path)
    rows = _json_lines(path) if _is_json_lines(path) else _table_rows(path)
    items: list[Item] = []
    seen: dict[str, str] = {}
    for where, row in rows:
        item = _item(where, row)
        if item.id in seen:
            raise InputError(
                f"{where}: the id {item.id!r} was used before ({seen[item.id].removeprefix(f'{path}, ')}).",
                remedy="Give every item its own id.",
            )
        seen[item.id] = where
        items.append(item)
    if not items:
        raise InputError(f"{path} holds no items.", remedy="It needs at least one.")
    return items


def _is_json_lines(path: Path) -> bool:
    if not path.exists() or path.is_dir():
        return False  # read_frame says what is wrong
    try:
        with path.open("rb") as file:
            return file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", remedy="Check its permissions.") from error


def _json_lines(path: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            where = f"{path}, line {number}"
            if not raw.strip():
                continue
            try:
                row = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError as error:
                raise InputError(f"{where} is not UTF-8.", remedy="Save the file as UTF-8.") from error
            except (ValueError, RecursionError) as error:
                reason = (
                    f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
                )
                raise InputError(
                    f"{where} is not valid JSON: {reason[:200]}.", remedy="Write one JSON object a line."
                ) from error
            if not isinstance(row, dict):
                raise InputError(f"{where} is not a JSON object.", remedy="Write one JSON object a line.")
            yield where, row


def _table_rows(path: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    from richter.interop._files import read_frame  # polars is not loaded for JSONL

    frame = read_frame(path, text=True)  # the reference 007 is not 7, nor is "true" a truth value
    other_names = {
        new: old for old, new in reversed(SPELT.items()) if old in frame.columns and new not in frame.columns
    }
    frame = frame.rename({old: new for new, old in other_names.items()})  # of several spellings the first
    if "id" not in frame.columns and "prompt" in frame.columns:
        frame = frame.with_row_index("id", offset=1)
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        raise InputError(
            f"{path}: items need the column{'s' * (len(missing) > 1)} {', '.join(missing)}; "
            f"it has {', '.join(frame.columns)}.",
            remedy="Rename your columns to these names.",
        )
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        where = f"{path}, data row {number}"
        yield where, {name: _cell(where, name, v) for name, v in row.items() if v is not None and name in FIELDS}


def _cell(where: str, name: str, value: Any) -> Any:
    """A cell of a table as JSON would hold it; what is of another type is refused by `_item`."""
    if name in (*TEXTS, *LISTS) and isinstance(value, int | float):
        value = str(value)  # a workbook has numbers where an answer is one
    if not isinstance(value, str):
        return value
    if name in LISTS:
        return _split(where, name, value)
    if name in ("tier", "weight"):
        with contextlib.suppress(ValueError):
            return float(value)
    if name == "truth":
        return _json(where, name, value) if value.strip() else {}
    return value


def _split(where: str, name: str, text: str) -> Any:
    if text.lstrip().startswith("["):
        return _json(where, name, text)
    return [part.strip() for part in text.split("|") if part.strip()]


def _json(where: str, name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where}, field {name}: not valid JSON ({str(error)[:200]}).", remedy="Write it as JSON."
        ) from error


def _item(where: str, row: Mapping[str, Any]) -> Item:
    """The item of a row, every field of which is checked."""
    given = {"reference": ""} | {name: value for name, value in row.items() if value is not None}
    for name in ("id", "prompt"):
        if not str(given.get(name, "")).strip():
            what = "empty" if name in given else "missing"
            raise _fault(where, name, Fault(what, f"Give every item its {name}."))
    values: dict[str, Any] = {name: check(given[name]) for name, check in CHECKS.items() if name in given}
    for name, found in values.items():
        if isinstance(found, Fault):
            raise _fault(where, name, found)
    options = values.get("options", ())
    if options and (len(set(options)) < len(options) or values["reference"] not in options):
        remedy = "List the reference among the options once."
        raise _fault(where, "options", Fault("they must differ and hold the reference", remedy))
    return Item(**values)


def _fault(where: str, name: str, fault: Fault) -> InputError:
    return InputError(f"{where}, field {name}: {fault.what}.", remedy=fault.remedy)


def write_items(items: Iterable[Item], path: str | Path) -> None:
    """Write items as JSONL in one step (nothing half-written); the same items give the same bytes everywhere."""
    lines = [json.dumps(item.to_dict(), ensure_ascii=False, separators=(",", ":")) for item in items]
    write_file(path, "".join(f"{line}\n" for line in lines), remedy="Choose another path or free some space.")
