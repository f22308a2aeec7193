"""Items from JSONL, CSV and Parquet, checked field by field; items to JSONL, the same bytes for the same items."""

import contextlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter.records import Item
from richter.store import write_file

__all__ = ["read_items", "write_items"]

REQUIRED = ("id", "prompt", "reference")
# what people call these columns in tables of their own; without ids the row's number is the id
SPELT = {
    "item": "id", "question_id": "id", "doc_id": "id", "question": "prompt", "input": "prompt", "answer": "reference",
    "target": "reference", "choices": "options",
}  # fmt: skip
LISTS = ("aliases", "options", "shots")
TEXTS = (*REQUIRED, "stem", "domain", "group", "source", "form")
FORMS = ("plain", "compositional", "trap")
FIELDS = (*TEXTS, *LISTS, "tier", "weight", "truth")


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
                said = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
                raise InputError(
                    f"{where} is not valid JSON: {said[:200]}.", remedy="Write one JSON object a line."
                ) from error
            if not isinstance(row, dict):
                raise InputError(f"{where} is not a JSON object.", remedy="Write one JSON object a line.")
            yield where, row


def _table_rows(path: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    from richter.interop._files import read_frame  # polars is not loaded for JSONL

    frame = read_frame(path, text=True)  # the reference 007 is not 7, nor is "true" a truth value
    spelt = {new: old for old, new in reversed(SPELT.items()) if old in frame.columns and new not in frame.columns}
    frame = frame.rename({old: new for new, old in spelt.items()})  # of several spellings the first
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
        given = {name: value for name, value in row.items() if value is not None and name in FIELDS}
        for name in (*TEXTS, *LISTS):  # a workbook has numbers where an answer is one
            if isinstance(given.get(name), int | float):
                given[name] = str(given[name])
        for name in LISTS:
            if isinstance(given.get(name), str):
                given[name] = _split(where, name, given[name])
        for name in ("tier", "weight"):
            if isinstance(given.get(name), str):
                with contextlib.suppress(ValueError):  # what is no number is said below
                    given[name] = float(given[name])
        if isinstance(given.get("truth"), str):
            given["truth"] = _json(where, "truth", given["truth"]) if given["truth"].strip() else {}
        yield where, given


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
    def fault(name: str, what: str, remedy: str) -> InputError:
        return InputError(f"{where}, field {name}: {what}.", remedy=remedy)

    values: dict[str, Any] = {}
    for name in TEXTS:
        value = row.get(name)
        if value is None and name not in REQUIRED:
            continue
        if value is None and name == "reference":  # nobody can grade it; how many are so is said where they are graded
            value = ""
        if value is None:
            raise fault(name, "missing", f"Give every item its {name}.")
        if not isinstance(value, str):
            raise fault(name, f"{value!r} is not text", "Put it in quotes.")
        if name in ("id", "prompt") and not value.strip():
            raise fault(name, "empty", f"Give every item its {name}.")
        values[name] = value
    for name in LISTS:
        value = row.get(name)
        if value is None:
            continue
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) and v.strip() for v in value):
            raise fault(name, f"{value!r} is not a list of texts", 'Write it as ["one", "two"].')
        values[name] = tuple(value)
    tier = row.get("tier")
    if tier is not None:
        if isinstance(tier, float) and tier.is_integer():
            tier = int(tier)
        if isinstance(tier, bool) or not isinstance(tier, int) or not 1 <= tier <= 5:
            raise fault("tier", f"{tier!r} is not a tier", "Use a whole number from 1 (easy) to 5 (hard).")
        values["tier"] = tier
    weight = row.get("weight")
    if weight is not None:
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            raise fault("weight", f"{weight!r} is not a weight", "Weights are above 0; leave items out instead.")
        values["weight"] = float(weight)
    if values.get("form", "plain") not in FORMS:
        raise fault("form", f"{values['form']!r} is not a form", f"Use one of {', '.join(FORMS)}.")
    truth = row.get("truth")
    if truth is not None:
        if not isinstance(truth, dict):
            raise fault("truth", f"{truth!r} is not a JSON object", 'Write it as {"kind": "country", ...}.')
        values["truth"] = truth
    options = values.get("options", ())
    if options and (len(set(options)) < len(options) or values["reference"] not in options):
        raise fault("options", "they must differ and hold the reference", "List the reference among the options once.")
    return Item(**values)


def write_items(items: Iterable[Item], path: str | Path) -> None:
    """Write items as JSONL in one step (nothing half-written); the same items give the same bytes everywhere."""
    lines = [json.dumps(item.to_dict(), ensure_ascii=False, separators=(",", ":")) for item in items]
    write_file(path, "".join(f"{line}\n" for line in lines), remedy="Choose another path or free some space.")
