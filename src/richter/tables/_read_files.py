"""Files, sheets and folders as tables: their rows without what is no result, then roles, then answers and scores."""

import dataclasses
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from richter.errors import InputError
from richter.interop import distinct_stems, read_as_windows, read_frame, read_sheets, tool_table
from richter.records import Note, counted, of_kind, printable, tell_apart
from richter.tables._build_part import build_part
from richter.tables._kept_facts import FACTS_COLUMN, restore_facts, split_facts
from richter.tables._part import Part, rename_conditions
from richter.tables._reading import table_steps, with_step
from richter.tables._roled_table import known_table
from richter.tables._tables import KEY, ReadOptions
from richter.tables._wide_table import known_wide
from richter.tables._words import SPREADS, TOTAL_CELL, TOTALS, brief, number_of, text_of

Key = TypeVar("Key")
OPTIONAL_ENDINGS = (".txt", ".json")  # of a folder: these need not be tables
MIN_SHARED_FILES = 5  # of folders with a file for each answer
NOTED_STEPS = ("totals", "spellings", "severity-words", "splits")  # readings that a note tells, and a proposal confirms
BLANK = b"\xef\xbb\xbf\xff\xfe\0 \r\n\t"


def read_folder(path: Path, files: Sequence[Path], options: ReadOptions) -> list[Part]:
    """The tables of a folder that hold results. Others beside them (questions, answers, totals) are named, not read."""
    frames, faults = _read_frames(files)
    frames, is_file_per_answer = _one_file_per_answer(frames, path)
    parts, unread = _read_parts(frames, options, path)
    faults |= unread
    stems = distinct_stems([*parts])
    folders = _folders({f: part.answers["item"] for f, part in parts.items()})
    if folders:
        names = distinct_stems(folders)
        stems = {f: names[f.parent] for f in parts}
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
    faults |= _why_without_results(parts, graded, faults)
    return {f: part for f, part in parts.items() if f not in faults}, faults


def _why_without_results(
    parts: Mapping[Path, Part], graded: Sequence[Path], faults: Mapping[Path, str]
) -> dict[Path, str]:
    """Why some tables hold no results beside others: no grades, or one row. Those with faults are none of them."""
    ungraded = [f for f in parts if graded and f not in graded]
    rows = {f: part.answers.height for f, part in parts.items() if f not in faults and f not in ungraded}
    single = [f for f, n in rows.items() if n == 1 < max(rows.values())]
    return {
        **dict.fromkeys(ungraded, "its answers have no grades, and other files have"),
        **dict.fromkeys(single, "it holds one row, a total perhaps"),
    }


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
    columns = {key: tuple(frame.columns) for key, frame in frames.items()}
    for key in (*frames, *frames):  # what failed at first is read again as one of its kind was
        if key in parts or (key in errors and columns[key] not in chosen):
            continue
        try:
            parts[key] = read(key, frames[key], chosen.get(columns[key], options))
        except InputError as error:
            errors[key] = error
            continue
        errors.pop(key, None)
        if (reading := parts[key].reading) is not None:
            chosen.setdefault(columns[key], reading.options)
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


def name_by_files(parts: list[Part], options: ReadOptions) -> list[Part]:
    """The parts with the files' names as conditions, where all have the same one and answer the same items."""
    names = {name for part in parts for name in part.conditions}
    paths = [Path(part.name) for part in parts]
    is_file_each = len({*paths}) == len(parts) and all(part.reading is not None for part in parts)
    if len(parts) < 2 or len(names) != 1 or not is_file_each:
        return parts
    stems = [*distinct_stems(paths).values()]
    keys = pl.concat([part.answers.select(KEY) for part in parts])
    if not keys.is_duplicated().any() or stems == [*names]:
        return parts
    shown = f"the files' names: all say {brief(names.pop())!r}"
    for part, stem in zip(parts, stems, strict=True):
        part.reading = with_step(part.reading, "file-names", shown, options)
        rename_conditions(part, dict.fromkeys(part.conditions, stem))
    return parts


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


def read_file(path: Path, options: ReadOptions, *, named: bool, stem: str) -> list[Part]:
    """A table, its one condition called `stem`; of a workbook each sheet that is one, its condition named by it."""
    sheets = read_sheets(path, text=True)
    if len(sheets) > 1:
        return _read_workbook(path, sheets, options)
    part = part_of_frame(next(iter(sheets.values())), options, what=str(path), stem=stem, named=named)
    name = printable(path.name, limit=60)
    if read_as_windows(path):
        part.notes.append(Note(f"{name} is not UTF-8: it is read as Windows-1252", "encoding"))
    with path.open("rb") as file:
        if path.suffix.lower() in (".json", ".jsonl") and file.read(64).lstrip(BLANK)[:1] not in (b"{", b"["):
            part.notes.append(f"{name} is not JSON as its name says; it was read as CSV")
    return [part]


def _read_workbook(path: Path, sheets: Mapping[str, pl.DataFrame], options: ReadOptions) -> list[Part]:
    """The sheets that are tables; those that grade the same answers are raters of one table."""

    def read(name: str, frame: pl.DataFrame, own: ReadOptions) -> Part:
        return part_of_frame(frame, own, what=f"{path}, sheet {brief(name)}", stem=name)

    found, errors = _read_alike(sheets, options, read)
    if not found:
        raise next(iter(errors.values()))
    faults = {name: error.what for name, error in errors.items()} | _why_aside(found)
    parts = [part for name, part in found.items() if name not in faults]
    keys = [part.answers.select("item", "condition", "draw") for part in parts]
    are_raters = len(parts) > 1 and all(k["draw"].max() == 0 and k.equals(keys[0]) for k in keys)
    for k, part in enumerate(parts):
        part.reading = part.reading and dataclasses.replace(part.reading, source=str(path))
        if are_raters:
            part.answers = part.answers.with_columns(pl.lit(k, dtype=pl.Int64).alias("draw"))
            part.reading = with_step(part.reading, "rater-sheets", "each sheet is one rater", options)
    if are_raters:
        parts[0].notes.append("the sheets grade the same answers: an answer's score is the mean of theirs")
    parts[0].notes += [f"sheet {brief(name)} is not read: {fault}" for name, fault in faults.items()]
    return parts


def _why_aside(parts: Mapping[str, Part]) -> dict[str, str]:
    """Why some sheets stand beside the results: nothing is graded, or a few items that no other sheet has."""
    graded = {name: part for name, part in parts.items() if part.score or len(part.ratings)}
    aside = dict.fromkeys((name for name in parts if graded and name not in graded), "its answers have no grades")
    items = {name: part.answers["item"].unique() for name, part in graded.items()}
    few = [name for name, own in items.items() if _is_legend(own, [o for key, o in items.items() if key != name])]
    return aside | {name: f"{counted(len(items[name]), 'item')} that no other sheet has" for name in few}


def _is_legend(items: pl.Series, others: Sequence[pl.Series]) -> bool:
    """Whether a sheet has few items beside many of another, and none of theirs."""
    if len(items) > MAX_ASIDE or 3 * len(items) >= max(map(len, others), default=0):
        return False
    return not any(items.is_in(other.implode()).any() for other in others)


MAX_ASIDE = 10  # items of a sheet that may be a legend
MIN_SUMMED_ROWS = 6
FOOT_ROWS = 5
MAX_WORDS = 50  # different cells of a column of grades
MAX_COLUMNS = 20_000  # each takes about a millisecond to read
MAX_TOTAL_SHARE = 5  # one row in so many may be a total between blocks


def unnest(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with a column for each field of an object (`config.model`), as nested JSON has it."""
    while structs := {c: kind for c, kind in frame.schema.items() if isinstance(kind, pl.Struct)}:
        own = (pl.col(c).struct.rename_fields([f"{c}.{f.name}" for f in kind.fields]) for c, kind in structs.items())
        frame = frame.with_columns(own).unnest(*structs)
    return frame


def drop_blanks(frame: pl.DataFrame) -> pl.DataFrame:
    """The table without rows that are empty throughout, and without columns that have neither a name nor a cell."""
    texts = [c for c, kind in frame.schema.items() if kind == pl.String]
    if texts and frame.width:
        filled = [
            pl.col(c).str.strip_chars().fill_null("") != "" if c in texts else pl.col(c).is_not_null()
            for c in frame.columns
        ]
        frame = frame.filter(pl.any_horizontal(filled))
    bare = [c for c in frame.columns if not c.strip() or c.startswith(("_duplicated_", "__UNNAMED__"))]
    return frame.drop(
        [c for c in bare if frame[c].cast(pl.String, strict=False).fill_null("").str.strip_chars().eq("").all()]
    )


def drop_headers(frame: pl.DataFrame) -> pl.DataFrame:
    """The table without rows that repeat the header, and without a survey's further header rows."""
    texts = [c for c, kind in frame.schema.items() if kind == pl.String]
    if len(texts) < 2 or len(texts) < frame.width // 2:
        return frame
    if frame[texts[0]].str.contains(texts[0].strip(), literal=True).any():
        same = frame.select(pl.all_horizontal(pl.col(c).str.strip_chars() == c.strip() for c in texts)).to_series()
        frame = frame.filter(~same.fill_null(value=False))
    marks = next((k for k, row in enumerate(frame.head(3).rows()) if any("ImportId" in str(c) for c in row)), None)
    if frame.height and {str(c or "").strip().lower() for c in frame.row(0)} <= {"", "response", "open-ended response"}:
        marks = 0  # as SurveyMonkey writes it
    return frame if marks is None else frame.slice(marks + 1)


def drop_totals(frame: pl.DataFrame, place: Mapping[str, str], notes: list[str]) -> pl.DataFrame:
    """The table without rows that hold totals: at the foot, and between blocks where the item is called one."""
    rows = frame.head(frame.height - _count_foot(frame, place))
    item = place.get("item", "")
    if item in rows.columns:
        total = text_of(rows[item]).fill_null("").str.contains(TOTAL_CELL)
        rows = rows.filter(~total) if 0 < total.sum() <= max(rows.height // MAX_TOTAL_SHARE, 1) else rows
    if rows.height == frame.height and _last_row_sums_up(frame):
        rows = frame.head(frame.height - 1)
    if rows.height < frame.height:
        left_out = counted(frame.height - rows.height, "row of totals is", "rows of totals are")
        notes.append(Note(f"{left_out} left out", "totals"))
    return rows


def _count_foot(frame: pl.DataFrame, place: Mapping[str, str]) -> int:
    """How many rows at the foot hold totals: no item, or one that is called a total, beside a word for it."""
    tail = frame.tail(FOOT_ROWS)
    if not any(TOTALS.match(_without_accents(cell)) for row in tail.rows() for cell in row if isinstance(cell, str)):
        return 0
    varied = [c for c in frame.columns if frame[c].n_unique() > 1] or frame.columns  # a word in all rows is no total
    names = [c for c in varied if frame[c].dtype == pl.String or c == place.get("item")]
    item = place["item"] if place.get("item") in names else varied[0]
    count, has_sum = 0, False
    for row in tail.select(text_of(tail[item]).alias("item\0"), *(c for c in names if c != item)).rows()[::-1]:
        cells = [_without_accents(cell or "") for cell in row]
        if not _is_foot(cells):
            break
        count, has_sum = count + 1, has_sum or any(map(TOTALS.match, cells))
    return count if has_sum else 0


def _is_foot(cells: Sequence[str]) -> bool:
    """Whether a row, its item first, holds a total or a spread and names no item."""
    item = cells[0]
    if item and not TOTALS.match(item) and not SPREADS.fullmatch(item):
        return False
    return any(map(TOTALS.match, cells)) or any(map(SPREADS.fullmatch, cells))


def _last_row_sums_up(frame: pl.DataFrame) -> bool:
    """Whether the last row holds, of two columns of grades or more, what those above add up to, or their mean."""
    if frame.height <= MIN_SUMMED_ROWS:
        return False
    found = [_sums_up(frame[c]) for c in frame.columns]
    return False not in found and found.count(True) > 1


def _sums_up(column: pl.Series) -> bool | None:
    """Whether the last cell is the sum or the mean of those above it; None where it is not a number of its own."""
    above, text = column.head(-1), text_of(column.tail(1)).fill_null("").item()
    last = number_of(text)
    if last is None or (above == column[-1]).any():
        return None
    given = _as_numbers(text_of(above)).drop_nulls().drop_nans()
    if len(given) < MIN_SUMMED_ROWS or 2 * len(given) < len(above) or (given == last).any():
        return None
    places = len(re.sub(r"^[^.,]*[.,]?|\D", "", text)) + 2 * text.endswith("%")  # to which it is rounded
    total = float(given.sum())
    return any(abs(last - end) <= 0.51 / 10**places for end in (total, total / len(given)))


def _as_numbers(texts: pl.Series) -> pl.Series:
    """Texts as numbers; of few different ones also those that are words for right and wrong."""
    words = texts.drop_nulls().unique()
    if len(words) > MAX_WORDS:
        return texts.cast(pl.Float64, strict=False)
    values = [number_of(word) for word in words]
    return texts.replace_strict(words, pl.Series(values, dtype=pl.Float64), default=None, return_dtype=pl.Float64)


def _without_accents(text: str) -> str:
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text.strip()))


# ------------------------------------------------------------------ one table


def part_of_frame(
    frame: pl.DataFrame,
    options: ReadOptions,
    *,
    what: str,
    stem: str,
    named: bool = False,
) -> Part:
    """The answers, scores and ratings of a table; without a column for it the condition is the file's name (`stem`).

    A table that the user gave a name (`named`) is one condition's: several columns of grades are its measures.
    """
    frame, facts = split_facts(frame) if FACTS_COLUMN in frame.columns else (frame, None)
    cells = unnest(frame)
    if cells.width > MAX_COLUMNS:
        raise InputError(
            f"{what} has {cells.width:,} columns, more than {MAX_COLUMNS:,}.",
            remedy="Write one row per answer, with the columns item, condition and score.",
        )
    rows = drop_headers(drop_blanks(cells))
    if rows.is_empty():
        raise InputError(f"{what} has a header and no rows.", remedy="It needs at least one row: export it again.")
    notes: list[str] = []
    rows = drop_totals(rows, {}, notes)
    given = options
    options, measures = _with_tool(rows, dataclasses.replace(options, layout=table_steps(options.layout)), notes)
    table = known_table(rows, options, notes) or (None if named else known_wide(rows, options, notes))
    if table is None:
        from richter.tables._infer_table import infer_table  # only where names do not tell

        table = infer_table(rows, options, notes, what, named=named)
    if further := [c for c in (*measures, *(facts.measures if facts else ())) if c in table.frame.columns]:
        table = dataclasses.replace(table, measures=list(dict.fromkeys((*table.measures, *further))))
    part = build_part(table, options, what=what, stem=stem)
    if "condition" not in given.map or "spellings" in given.layout:
        part = merge_spellings(part)
    for step in NOTED_STEPS:
        for note in of_kind(part.notes, step):
            part.reading = with_step(part.reading, step, note, given)
    return part if facts is None or "score" in given.map else restore_facts(part, facts)


def merge_spellings(part: Part) -> Part:
    """The part with one name for conditions that differ only in capitals, spaces or hyphens and share no item."""
    alike: dict[str, list[str]] = {}
    for name in part.conditions:
        bare = unicodedata.normalize("NFKC", name).lower()
        alike.setdefault(re.sub(r"[\s_\u2010-\u2015-]+", "", bare), []).append(name)
    for spelled in (own for own in alike.values() if len(own) > 1):
        rows = part.answers.filter(pl.col("condition").is_in(spelled)).select("item", "condition").unique()
        names = " and ".join(repr(brief(name)) for name in spelled)
        if rows["item"].is_duplicated().any():
            if not tell_apart(spelled):  # names that look alike have a note of their own
                part.notes.append(f"{names} differ in capitals, spaces or hyphens only: are they the same?")
            continue
        counts = part.answers["condition"].value_counts()
        common = max(spelled, key=lambda name: counts.filter(condition=name)["count"][0])
        part = rename_conditions(part, dict.fromkeys(spelled, common))
        part.conditions = list(dict.fromkeys(part.conditions))
        why = "differ in capitals, spaces or hyphens only and share no item"
        part.notes.append(Note(f"{names} {why}: taken as one, {common!r}", "spellings"))
    return part


def _with_tool(rows: pl.DataFrame, options: ReadOptions, notes: list[str]) -> tuple[ReadOptions, list[str]]:
    """The options with what the tool's own columns say, where a tool wrote the table and the user says nothing.

    The second value is the tool's measures, which a reading that was chosen keeps.
    """
    tool = None if options.wide is not None else tool_table(rows.columns)
    if tool is None:
        return options, []
    columns = tool.columns(rows.columns) or {}
    measures = [*(columns[f] for f in ("score",) if f in columns), *tool.measures(rows.columns)]
    if options.map or options.layout:
        return options, measures
    notes.append(Note(f"read as a table of {tool.name}", "tool"))
    score = rows[columns["score"]] if "score" in columns else pl.Series(dtype=pl.Float64)
    grades = tool.grades if score.dtype == pl.String and score.is_in(list(tool.grades)).any() else {}
    chosen = dataclasses.replace(options, map=columns, layout=tool.layout, grade={**grades, **options.grade})
    return chosen, measures
