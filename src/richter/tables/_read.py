"""Any source into tables: a run, logs of any known tool, files of rows, a folder of them, or a frame."""

import dataclasses
import itertools
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from richter.errors import InputError, LedgerError, ReadingProposed
from richter.interop import (
    Source,
    as_frame,
    evidence_run,
    guessed_encoding,
    is_frame,
    is_log,
    log_files,
    named_source,
    read_frame,
    read_sheets,
    source_name,
    unpacked,
    unzipped,
)
from richter.records import Note, printable
from richter.store import DatabaseRun, Ledger, Place, is_run, open_ledger
from richter.tables._infer_table import common_roles, part_of_frame
from richter.tables._log_rows import part_of_logs
from richter.tables._part import Part, assemble
from richter.tables._read_run import part_of_ledger
from richter.tables._reading import options_for, proposal_of, with_encoding
from richter.tables._shapes import factors
from richter.tables._tables import Dataset, RatingsFile, ReadOptions, ratings_of
from richter.tables._words import brief

__all__ = ["holds_logs", "read_ratings", "read_tables", "tables_of"]

ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".xls", ".ods")
NOTES = (".txt", ".json")  # of a folder: these need not be tables
RUN = re.compile(r"(rs|run|seed|trial|try|epoch|rep|draw|sample)[\W_]*\d+", re.IGNORECASE)  # and no number alone
SHARED = 5  # items of one file each
BLANK = b"\xef\xbb\xbf\xff\xfe\0 \r\n\t"


def read_tables(*sources: Source, options: ReadOptions | None = None, confirm: bool = False) -> Dataset:
    """Read one or several sources into one set of tables, each perhaps as `NAME=PATH`, which names its one condition.

    The conditions of a run that has several are then called `NAME: condition`, so that two runs can be compared.

    Conditions stand in the order given: of a run as it was asked, of a table as they appear, of a folder by the names
    of its files. A reading that was inferred is proposed (`ReadingProposed`), unless `confirm` takes it as it is. What
    cannot be known is asked for by the option that settles it. Reading writes nothing.
    """
    options = options or ReadOptions()
    options = dataclasses.replace(options, confirm=True) if confirm else options
    if not sources:
        raise InputError("Nothing was given to read.", remedy="Give a run, a log, a table or a frame.")
    what = " and ".join(source_name(s) for s in sources[:2]) + (" and more" if len(sources) > 2 else "")
    with tempfile.TemporaryDirectory() as scratch:
        try:
            tables = _read([(s, _unpacked(s, Path(scratch))) for s in sources], options, what)
        except (InputError, LedgerError) as error:
            if scratch not in str(error):
                raise
            raise _without_scratch(error, f"{scratch}/") from error
    pairs = (named_source(s) for s in sources if not is_frame(s))
    named = {name: place for name, place in pairs if name is not None}
    return dataclasses.replace(tables, places=tuple(_places(sources)), named_places=named, options=options)


def _without_scratch(error: InputError | LedgerError, scratch: str) -> InputError:
    """The same error without the folder in which a packed file was unpacked."""
    if isinstance(error, ReadingProposed):
        lines = tuple(line.replace(scratch, "") for line in error.lines)
        what, source = error.what.replace(scratch, ""), error.source.replace(scratch, "")
        return ReadingProposed(what, lines=lines, source=source, options=error.options, added=error.added)
    what, remedy = (text.replace(scratch, "") for text in (error.what, error.remedy))
    return InputError(what, remedy=remedy)


def read_ratings(source: Source) -> RatingsFile:
    """The ratings of any source: a table with `rater` and `severity`, judges' columns, a run, a log."""
    return ratings_of(read_tables(source))


def _unpacked(source: Source, folder: Path) -> Source:
    """The same source, unpacked first if it is a packed file or an evidence archive."""
    if is_frame(source):
        return source
    name, path = named_source(source)
    if not isinstance(path, Path) or not path.is_file():
        return source
    run = evidence_run(path, folder) if zipfile.is_zipfile(path) else None
    found = run or unzipped(unpacked(path, folder), folder)
    if found == path:
        return source
    return str(found) if name is None else f"{name}={found}"


def _read(sources: Sequence[tuple[Source, Source]], options: ReadOptions, what: str) -> Dataset:
    """The tables of sources, each with what it was unpacked to; all logs are read together."""
    logs = [str(s) for _, s in sources if not is_frame(s) and holds_logs(named_source(s)[1])]
    parts = [part_of_logs(logs, options)] if logs else []
    for k, (given, source) in enumerate(sources):
        if is_frame(source) or str(source) not in logs:
            own = options if is_frame(given) else options_for(str(named_source(given)[1]), options)
            parts += _parts(source, own, stem=f"frame {k + 1}" if len(sources) > 1 else "frame")
    if logs and len(parts) > 1 and str(sources[0][1]) not in logs:
        parts = [*parts[1:], parts[0]]
    readings = tuple(part.reading for part in parts if part.reading is not None)
    inferred = [reading for reading in readings if not reading.is_known]
    if inferred and not options.confirm:
        raise proposal_of(inferred[0])
    tables = assemble([_by_references(part) for part in parts], options, what=what)
    return dataclasses.replace(tables, is_confirmed=not inferred, readings=readings)


def _by_references(part: Part) -> Part:
    """Answers that nobody graded, of items with references: right or wrong by those, which is said."""
    rows = part.answers
    ungraded = not part.score and part.ratings.is_empty() and part.others.is_empty() and rows["value"].is_null().all()
    if not ungraded or rows["text"].is_null().all() or not any(item.reference for item in part.items.values()):
        return part
    from richter.texts import choose_graders, grade_answer  # only where it is needed: graders take time to load

    graders = choose_graders(list(part.items.values()))
    grades = [
        None if text is None or failed or item not in graders.by_item
        else grade_answer(part.items[item], text, graders.by_item[item])
        for item, text, failed in rows.select("item", "text", pl.col("error").fill_null("") != "").iter_rows()
    ]  # fmt: skip
    part.answers = rows.with_columns(pl.Series("value", grades, dtype=pl.Boolean).cast(pl.Float64))
    part.score = "the references"
    part.notes.append(f"nobody graded these answers. {graders} A match of words knows no meaning: read some.")
    return part


def _places(sources: Sequence[Source]) -> Iterator[Place]:
    """The files and runs among the sources; of a folder its files."""
    for source in sources:
        if not is_frame(source):
            place = named_source(source)[1]
            inside = isinstance(place, Path) and place.is_dir() and not is_run(place)
            yield from [f for f in sorted(place.rglob("*")) if f.is_file()] if inside else [place]  # type: ignore[union-attr]


def tables_of(
    ledger: Ledger, options: ReadOptions | None = None, *, tell: Callable[[float], None] | None = None
) -> Dataset:
    """The tables of an open ledger; those of a run that was not asked yet are empty.

    `tell` hears how much of the answers is read, from 0 to 1.
    """
    options = options or ReadOptions()
    tables = assemble([part_of_ledger(ledger, tell)], options, what=ledger.name, empty=True)
    return dataclasses.replace(tables, places=(ledger.place,), options=options)


def holds_logs(path: Place) -> bool:
    """A log of a known tool, or a folder with some."""
    if not isinstance(path, Path) or is_run(path):
        return False
    return is_log(path) if path.is_file() else path.is_dir() and bool(log_files(path))


def _parts(source: Source, options: ReadOptions, *, stem: str) -> list[Part]:
    if is_frame(source):
        return [part_of_frame(as_frame(source), options, what="The frame", stem=stem)]
    name, path = named_source(source)
    if isinstance(path, DatabaseRun) or is_run(path):
        with open_ledger(path) as ledger:
            parts = [part_of_ledger(ledger)]
        if name and len(parts[0].conditions) > 1:
            return [_called(parts[0], {c: f"{name}: {c}" for c in parts[0].conditions})]
    elif path.is_dir():
        found = (f for f in path.rglob("*") if f.suffix.lower() in ENDINGS and f.is_file())
        files = sorted(found, key=lambda f: (f.stem.lower() not in ("control", "baseline"), f))
        parts = _folder(path, files, options)
    else:
        parts = _sheets(path, options, named=name is not None)
    return parts if name is None else [_renamed(part, name) for part in parts]


def _folder(path: Path, files: Sequence[Path], options: ReadOptions) -> list[Part]:
    """The tables of a folder that hold results. Others beside them (questions, answers, totals) are named, not read."""
    frames: dict[Path, pl.DataFrame] = {}
    faults: dict[Path, str] = {}
    for file in files:
        try:
            frames[file] = read_frame(file, text=True)
        except InputError:
            if file.suffix.lower() not in NOTES:  # a damaged table must not go missing unseen
                raise
            faults[file] = "it is no table"
    frames = _one_file_an_answer(frames, path)
    notes: list[str] = []
    alike: dict[tuple[str, ...], dict[str, pl.DataFrame]] = {}
    for f, frame in frames.items():
        alike.setdefault(tuple(frame.columns), {})[str(f)] = frame
    common = {columns: common_roles(own, options, notes) for columns, own in alike.items()}
    found: dict[Path, Part] = {}
    errors: list[InputError] = []
    unlike: list[InputError] = []
    for file, frame in frames.items():
        try:
            found[file] = part_of_frame(
                frame, options, what=str(file), stem=str(file), common=common[tuple(frame.columns)]
            )
        except InputError as error:
            (errors if file.suffix.lower() not in NOTES else unlike).append(error)
            faults[file] = error.what.removeprefix(str(file)).lstrip(": ")
    graded = {f for f, part in found.items() if part.score or len(part.ratings)}
    if errors and not graded:
        raise errors[0]
    if not found:
        raise unlike[0] if len(frames) > 1 else _no_tables(path)
    bare = [f for f in found if graded and f not in graded]
    faults |= dict.fromkeys(bare, "its answers have no grades, and other files have")
    rows = {f: found[f].answers.height for f in found if f not in bare}
    faults |= {f: "it holds one row, a total perhaps" for f, n in rows.items() if n == 1 < max(rows.values())}
    kept = [f for f in rows if f not in faults]
    stems = _stems(kept, path)
    if own := _folders(kept, {f: found[f].answers["item"] for f in kept}):
        notes.append("files of one folder have different items, so each folder is one condition")
        stems = {f: _stems(own, path)[f.parent] for f in kept}
    called = {f: FileOf(stems[f]) for f in kept}
    if not own and all(len(found[f].conditions) == 1 for f in kept):
        called |= _by_names(stems, {f: found[f] for f in kept}, notes)
    parts = [_called(found[f], {str(f): called[f].condition}, draw=called[f].draw, within=called[f].part) for f in kept]
    parts = _restarted(parts, stems.values(), notes)
    for part in parts:  # what confirms one file confirms those beside it
        part.reading = part.reading and dataclasses.replace(part.reading, source=str(path))
    parts[0].notes += notes
    parts[0].notes += [f"{printable(f.name, limit=60)} is not read: {fault}" for f, fault in faults.items()]
    return parts


def _one_file_an_answer(frames: Mapping[Path, pl.DataFrame], folder: Path) -> dict[Path, pl.DataFrame]:
    """Files of one row each below several folders as a table a folder: what is left of a file's path names the item."""
    tops: dict[str, dict[Path, pl.DataFrame]] = {}
    for f, frame in frames.items():
        tops.setdefault(f.relative_to(folder).parts[0], {})[f] = frame
    rests = [{str(f.relative_to(folder / top)) for f in own} for top, own in tops.items()]
    shared = set.intersection(*rests) if rests else set()
    alone = all(frame.height == 1 for frame in frames.values())
    if not alone or len(tops) < 2 or len(shared) < SHARED or 2 * len(shared) < max(map(len, rests)):
        return dict(frames)
    found = {}
    for top, own in tops.items():
        names = [str(f.relative_to(folder / top).with_suffix("")) for f in own]
        rows = pl.concat((frame.cast({pl.Null: pl.String}) for frame in own.values()), how="diagonal_relaxed")
        found[folder / top] = rows.with_columns(pl.Series("item", names))
    return found


class FileOf(NamedTuple):
    """What a file of a folder is: a condition's, perhaps one of its draws, or a part of its items."""

    condition: str
    draw: int = 0
    part: str = ""


def _by_names(stems: Mapping[Path, str], found: Mapping[Path, Part], notes: list[str]) -> dict[Path, FileOf]:
    """Files whose names are pairs (`small/seed1`, `law_small`): a condition with its runs, or with parts of the items.

    Conditions are what shares the items, ids and questions, for each other part of the name. That other part is a run
    where its files share them too and it is called one, and a part of the items where they share none.
    """
    file = {stem: f for f, stem in stems.items()}
    asked = {f: {(i, _question(part, i)) for i in part.answers["item"].unique()} for f, part in found.items()}
    for grid in (way for both in factors(list(file)) for way in (both, both.turned())):
        ones, twos, column = grid
        rows = [[asked[file[column[one, two]]] for two in twos] for one in ones]
        pairs = [pair for row in rows[1:] for pair in zip(rows[0], row, strict=True)]
        if min(len(ones), len(twos)) < 2 or any(2 * len(a & b) <= max(len(a), len(b)) for a, b in pairs):
            continue
        apart = all(a.isdisjoint(b) for row in rows for a, b in itertools.combinations(row, 2))
        runs = all(map(RUN.fullmatch, twos)) and all(part.answers["draw"].max() == 0 for part in found.values())
        if not apart and not runs:
            continue
        tails = {one.rpartition("/")[2] for one in ones}
        short = {one: one.rpartition("/")[0] if len(tails) == 1 and "/" in one else one for one in ones}
        ids = [found[file[column[ones[0], two]]].answers["item"].unique() for two in twos]
        again = apart and pl.concat(ids).is_duplicated().any()
        part = ", each with items of its own" + " (ids begin again)" * again
        notes.append(f"files are named by {', '.join(short.values())} and by {', '.join(twos)}: these are "
                     f"{f'parts{part}' if apart else 'draws of one condition'}")  # fmt: skip
        return {file[name]: FileOf(short[one], 0 if apart else twos.index(two), two * again)
                for (one, two), name in column.items()}  # fmt: skip
    return {}


def _question(part: Part, item: str) -> str:
    return part.items[item].prompt if item in part.items else ""


def _restarted(parts: list[Part], stems: Iterable[str], notes: list[str]) -> list[Part]:
    """Parts with the same conditions whose ids begin again, as other questions show: the file is part of the id."""
    several = len(parts) > 1 and len(parts[0].conditions) > 1
    if not several or any({*part.conditions} != {*parts[0].conditions} for part in parts):
        return parts
    asked: dict[str, list[str]] = {}
    for part in parts:
        for i in part.answers["item"].unique():
            asked.setdefault(i, []).append(_question(part, i))
    again = [own for own in asked.values() if len(own) > 1]
    if not again or any(len({*own}) == 1 for own in again):
        return parts
    notes.append("ids begin again in every file, with other questions: an item is named by the file and its id")
    return [_called(part, {}, within=stem) for part, stem in zip(parts, stems, strict=True)]


def _called(part: Part, names: Mapping[str, str], *, draw: int = 0, within: str = "") -> Part:
    """The same part with its conditions called otherwise, its draws counted from `draw`, its ids `within` a name."""
    inner = f"{within} " if within else ""
    own = [pl.col("condition").replace(names), pl.col("draw") + draw, (pl.lit(inner) + pl.col("item")).alias("item")]
    part.answers, part.ratings = part.answers.with_columns(own), part.ratings.with_columns(own)
    part.others, part.conditions = part.others.with_columns(own), [names.get(c, c) for c in part.conditions]
    part.groupings = part.groupings.with_columns(own[-1])
    part.items = {inner + i: dataclasses.replace(item, id=inner + i) for i, item in part.items.items()}
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


def _folders(files: Sequence[Path], items: Mapping[Path, pl.Series]) -> list[Path]:
    """The folders of files that are parts of one condition: in none does an item stand twice, across them some do."""
    own = {folder: [f for f in files if f.parent == folder] for folder in dict.fromkeys(f.parent for f in files)}
    if len(own) < 2 or min(map(len, own.values())) < 2:
        return []
    held = [pl.concat([items[f].unique() for f in inside]) for inside in own.values()]
    apart = not any(ids.is_duplicated().any() for ids in held)
    return list(own) if apart and pl.concat(held).is_duplicated().any() else []


def _no_tables(path: Path) -> InputError:
    held = sorted(brief(f.name) for f in path.iterdir())
    return InputError(
        f"{path} holds no run, no log of a known tool and no table"
        + (
            f" ({len(held)} other files: {', '.join(held[:3])}{', …' * (len(held) > 3)})." if held else "; it is empty."
        ),
        remedy="Name the folder or file of the results; `richter import --help` says which logs are known.",
    )


def _sheets(path: Path, options: ReadOptions, *, named: bool = False) -> list[Part]:
    """A table; of a workbook with several sheets each that is one, its conditions named by the sheet."""
    sheets = read_sheets(path, text=True)
    if len(sheets) == 1:
        part = part_of_frame(next(iter(sheets.values())), options, what=str(path), stem=path.stem, named=named)
        if encoding := guessed_encoding(path):
            part.reading = with_encoding(part.reading, encoding, options)
            part.notes.append(
                Note(f"{printable(path.name, limit=60)} is read as {encoding}, by its letters", "encoding")
            )
        with path.open("rb") as file:
            if path.suffix.lower() in (".json", ".jsonl") and file.read(64).lstrip(BLANK)[:1] not in (b"{", b"["):
                part.notes.append(f"{printable(path.name, limit=60)} is not JSON as its name says; it was read as CSV")
        return [part]
    parts: list[Part] = []
    faults: dict[str, InputError] = {}
    usual = Counter(tuple(frame.columns) for frame in sheets.values()).most_common(1)[0][0]
    notes: list[str] = []
    alike = {name: frame for name, frame in sheets.items() if tuple(frame.columns) == usual}
    common = common_roles(alike, options, notes)
    for name, frame in sheets.items():
        try:
            own = common if tuple(frame.columns) == usual else {}
            what = f"{path}, sheet {brief(name)}"
            parts.append(part_of_frame(frame, options, what=what, stem=name, common=own))
        except InputError as fault:
            faults[name] = fault
    if not parts:
        raise next(iter(faults.values()))
    for part in parts:
        part.reading = part.reading and dataclasses.replace(part.reading, source=str(path))
    keys = [part.answers.select("item", "condition", "draw") for part in parts]
    if len(parts) > 1 and all(k["draw"].max() == 0 and k.equals(keys[0]) for k in keys):
        notes.append("the sheets grade the same answers: an answer's score is the mean of theirs")
        for k, part in enumerate(parts):
            part.answers = part.answers.with_columns(pl.lit(k, dtype=pl.Int64).alias("draw"))
    parts[0].notes += notes
    parts[0].notes += [f"sheet {brief(name)} is not read: {fault.what}" for name, fault in faults.items()]
    return parts


def _renamed(part: Part, name: str) -> Part:
    found: Sequence[str] = part.answers["condition"].unique(maintain_order=True).to_list()
    if len(found) > 1:
        raise InputError(
            f"{part.name} holds {len(found)} conditions ({', '.join(printable(f) for f in found[:4])}), "
            f"so it cannot be called {printable(name)}.",
            remedy="Give a file of one condition, or name conditions of the file after it: richter compare FILE A B",
        )
    return _called(part, dict.fromkeys(found, name))
