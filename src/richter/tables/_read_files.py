"""Several tables of one source: the files of a folder, the sheets of a workbook."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from richter.errors import InputError
from richter.interop import guessed_encoding, read_frame, read_sheets
from richter.records import Note, printable
from richter.tables._infer_table import part_of_frame
from richter.tables._part import Part
from richter.tables._reading import with_step
from richter.tables._tables import ReadOptions
from richter.tables._words import brief

Key = TypeVar("Key")
OPTIONAL_ENDINGS = (".txt", ".json")  # of a folder: these need not be tables
MIN_SHARED_FILES = 5  # of folders with a file for each answer
BLANK = b"\xef\xbb\xbf\xff\xfe\0 \r\n\t"


def read_folder(path: Path, files: Sequence[Path], options: ReadOptions) -> list[Part]:
    """The tables of a folder that hold results. Others beside them (questions, answers, totals) are named, not read."""
    frames, faults = _read_frames(files)
    frames, is_file_per_answer = _one_file_per_answer(frames, path)
    parts, unread = _read_parts(frames, options, path)
    faults |= unread
    stems = _stems([*parts], path)
    folders = _folders({f: part.answers["item"] for f, part in parts.items()})
    if folders:
        stems = {f: _stems(folders, path)[f.parent] for f in parts}
    found = [rename_conditions(part, {str(f): stems[f]}) for f, part in parts.items()]
    for part in found:  # what confirms one file confirms those beside it
        part.reading = part.reading and dataclasses.replace(part.reading, source=str(path))
        if folders:
            part.reading = with_step(part.reading, "folders", "each folder is one model", options)
        if is_file_per_answer:
            part.reading = with_step(part.reading, "file-per-answer", "each file is one answer", options)
    found[0].notes += ["files of one folder have different items, so each folder is one condition"] if folders else []
    found[0].notes += [f"{printable(f.name, limit=60)} is not read: {fault}" for f, fault in faults.items()]
    return found


def _read_frames(files: Sequence[Path]) -> tuple[dict[Path, pl.DataFrame], dict[Path, str]]:
    """The files as frames, and why some are not; a damaged table must not go missing unseen."""
    frames: dict[Path, pl.DataFrame] = {}
    faults: dict[Path, str] = {}
    for file in files:
        try:
            frames[file] = read_frame(file, text=True)
        except InputError:
            if file.suffix.lower() not in OPTIONAL_ENDINGS:
                raise
            faults[file] = "it is not a table"
    return frames, faults


def _read_parts(
    frames: Mapping[Path, pl.DataFrame], options: ReadOptions, folder: Path
) -> tuple[dict[Path, Part], dict[Path, str]]:
    """The tables with results, and why others have none: no grades, one row, another form."""
    parts, errors = _read_alike(
        frames, options, lambda file, frame, own: part_of_frame(frame, own, what=str(file), stem=str(file))
    )
    graded = [f for f, part in parts.items() if part.score or len(part.ratings)]
    needed = [error for f, error in errors.items() if f.suffix.lower() not in OPTIONAL_ENDINGS]
    if needed and not graded:
        raise needed[0]
    if not parts:
        raise next(iter(errors.values())) if len(frames) > 1 else _no_tables_error(folder)
    faults = {f: error.what.removeprefix(str(f)).lstrip(": ") for f, error in errors.items()}
    faults |= {f: "its answers have no grades, and other files have" for f in parts if graded and f not in graded}
    rows = {f: part.answers.height for f, part in parts.items() if f not in faults}
    faults |= {f: "it holds one row, a total perhaps" for f, n in rows.items() if n == 1 < max(rows.values())}
    return {f: part for f, part in parts.items() if f not in faults}, faults


def _read_alike(
    frames: Mapping[Key, pl.DataFrame],
    options: ReadOptions,
    read: Callable[[Key, pl.DataFrame, ReadOptions], Part],
) -> tuple[dict[Key, Part], dict[Key, InputError]]:
    """The parts of several tables, and the errors of others; tables with the same columns are read alike.

    What is inferred of the first is what the others are read with: a file of which every answer is right says less.
    """
    parts: dict[Key, Part] = {}
    errors: dict[Key, InputError] = {}
    chosen: dict[tuple[str, ...], ReadOptions] = {}
    for is_second_look in (False, True):
        for key, frame in frames.items():
            columns = tuple(frame.columns)
            if key in parts or (is_second_look and columns not in chosen):
                continue
            try:
                parts[key] = read(key, frame, chosen.get(columns, options))
            except InputError as error:
                errors[key] = error
                continue
            errors.pop(key, None)
            if (reading := parts[key].reading) is not None:
                chosen.setdefault(columns, reading.options)
    return {key: parts[key] for key in frames if key in parts}, errors


def _one_file_per_answer(frames: Mapping[Path, pl.DataFrame], folder: Path) -> tuple[dict[Path, pl.DataFrame], bool]:
    """Files of one row each below several folders as a table for each folder, and whether that is so.

    What is left of a file's path names the item.
    """
    tops: dict[str, dict[Path, pl.DataFrame]] = {}
    for f, frame in frames.items():
        tops.setdefault(f.relative_to(folder).parts[0], {})[f] = frame
    rests = [{str(f.relative_to(folder / top)) for f in own} for top, own in tops.items()]
    shared = set.intersection(*rests) if rests else set()
    has_single_rows = all(frame.height == 1 for frame in frames.values())
    if not has_single_rows or len(tops) < 2 or len(shared) < MIN_SHARED_FILES or 2 * len(shared) < max(map(len, rests)):
        return dict(frames), False
    tables = {}
    for top, own in tops.items():
        names = [str(f.relative_to(folder / top).with_suffix("")) for f in own]
        rows = pl.concat((frame.cast({pl.Null: pl.String}) for frame in own.values()), how="diagonal_relaxed")
        tables[folder / top] = rows.with_columns(pl.Series("item", names))
    return tables, True


def rename_conditions(part: Part, names: Mapping[str, str]) -> Part:
    """The same part with its conditions called otherwise."""
    own = pl.col("condition").replace(names)
    part.answers, part.ratings = part.answers.with_columns(own), part.ratings.with_columns(own)
    part.others, part.conditions = part.others.with_columns(own), [names.get(c, c) for c in part.conditions]
    return part


def _stems(files: Sequence[Path], folder: Path) -> dict[Path, str]:
    """A name for each file's condition: the file's own, else the parts of its path in which it differs from others."""
    plain = {f: f.name if f.is_dir() else f.stem for f in files}
    if len(set(plain.values())) == len(files):
        return plain
    parts = {f: [*f.relative_to(folder).parent.parts, plain[f]] for f in files}
    deep = max(map(len, parts.values()))
    padded = {f: [""] * (deep - len(own)) + own for f, own in parts.items()}
    differ = [k for k in range(deep) if len({own[k] for own in padded.values()}) > 1]
    return {f: "/".join(own[k] for k in differ if own[k]) for f, own in padded.items()}


def _folders(items: Mapping[Path, pl.Series]) -> list[Path]:
    """The folders of files that are parts of one condition: in none does an item stand twice, across them some do."""
    own = {folder: [f for f in items if f.parent == folder] for folder in dict.fromkeys(f.parent for f in items)}
    if len(own) < 2 or min(map(len, own.values())) < 2:
        return []
    ids = [pl.concat([items[f].unique() for f in inside]) for inside in own.values()]
    has_own_items = not any(of_folder.is_duplicated().any() for of_folder in ids)
    return list(own) if has_own_items and pl.concat(ids).is_duplicated().any() else []


def _no_tables_error(path: Path) -> InputError:
    names = sorted(brief(f.name) for f in path.iterdir())
    shown = (
        f" ({len(names)} other files: {', '.join(names[:3])}{', …' * (len(names) > 3)})." if names else "; it is empty."
    )
    return InputError(
        f"{path} holds no run, no log of a known tool and no table{shown}",
        remedy="Name the folder or file of the results; `richter import --help` says which logs are known.",
    )


# ------------------------------------------------------------------ files and sheets


def read_file(path: Path, options: ReadOptions, *, named: bool) -> list[Part]:
    """A table; of a workbook with several sheets each that is one, its conditions named by the sheet."""
    sheets = read_sheets(path, text=True)
    if len(sheets) > 1:
        return _read_workbook(path, sheets, options)
    part = part_of_frame(next(iter(sheets.values())), options, what=str(path), stem=path.stem, named=named)
    name = printable(path.name, limit=60)
    if encoding := guessed_encoding(path):
        part.reading = with_step(part.reading, encoding, f"encoding {encoding}, by its letters", options)
        part.notes.append(Note(f"{name} is read as {encoding}, by its letters", "encoding"))
    with path.open("rb") as file:
        if path.suffix.lower() in (".json", ".jsonl") and file.read(64).lstrip(BLANK)[:1] not in (b"{", b"["):
            part.notes.append(f"{name} is not JSON as its name says; it was read as CSV")
    return [part]


def _read_workbook(path: Path, sheets: Mapping[str, pl.DataFrame], options: ReadOptions) -> list[Part]:
    """The sheets that are tables; those that grade the same answers are raters of one table."""

    def read(name: str, frame: pl.DataFrame, own: ReadOptions) -> Part:
        return part_of_frame(frame, own, what=f"{path}, sheet {brief(name)}", stem=name)

    found, faults = _read_alike(sheets, options, read)
    parts = list(found.values())
    if not parts:
        raise next(iter(faults.values()))
    keys = [part.answers.select("item", "condition", "draw") for part in parts]
    are_raters = len(parts) > 1 and all(k["draw"].max() == 0 and k.equals(keys[0]) for k in keys)
    for k, part in enumerate(parts):
        part.reading = part.reading and dataclasses.replace(part.reading, source=str(path))
        if are_raters:
            part.answers = part.answers.with_columns(pl.lit(k, dtype=pl.Int64).alias("draw"))
            part.reading = with_step(part.reading, "rater-sheets", "each sheet is one rater", options)
    if are_raters:
        parts[0].notes.append("the sheets grade the same answers: an answer's score is the mean of theirs")
    parts[0].notes += [f"sheet {brief(name)} is not read: {fault.what}" for name, fault in faults.items()]
    return parts
