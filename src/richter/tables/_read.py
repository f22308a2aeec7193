"""Any source into tables: a run, logs of any known tool, files of rows, a folder of them, or a frame."""

import dataclasses
import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from richter.errors import InputError, LedgerError, ReadingProposed
from richter.interop import (
    Source,
    as_frame,
    distinct_stems,
    is_frame,
    is_log,
    log_files,
    named_source,
    source_name,
    unpacked,
    unzipped,
)
from richter.records import printable
from richter.store import is_run
from richter.tables._part import Part, assemble, rename_conditions
from richter.tables._read_files import name_by_files, part_of_frame, read_file, read_folder
from richter.tables._reading import options_for, proposal_of
from richter.tables._tables import Dataset, RatingsFile, ReadOptions, ratings_of

if TYPE_CHECKING:
    from richter.store import Ledger

__all__ = ["holds_logs", "read_ratings", "read_tables", "tables_of"]

ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".xls", ".ods")


def read_tables(*sources: Source, options: ReadOptions | None = None, confirm: bool = False) -> Dataset:
    """Read one or several sources into one set of tables, each perhaps as `NAME=PATH`, which names its one condition.

    The conditions of a run that has several are then called `NAME: condition`, so that two runs can be compared.

    Conditions stand in the order given: of a run as it was asked, of a table as they appear, of a folder by the names
    of its files. A reading that was inferred is proposed (`ReadingProposed`), unless `confirm` takes it as it is. What
    cannot be known is asked for by the option that settles it. Reading writes nothing.
    """
    options = options or ReadOptions()
    options = dataclasses.replace(options, confirm=True) if confirm else options
    given, options = options, _with_one_weighting(options)
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
    return dataclasses.replace(tables, places=tuple(_places(sources)), named_places=named, options=given)


def _with_one_weighting(options: ReadOptions) -> ReadOptions:
    """The options with a column of weights among those mapped; refused where two say what a question counts."""
    mapped = dict(options.map)
    macro = mapped.pop("macro", None) or options.macro
    if sum(column is not None for column in (options.weight, macro, mapped.get("weight"))) > 1:
        raise InputError(
            "Two options say what a question counts.", remedy="Give one of --weight, --macro and --map weight=COLUMN."
        )
    if options.weight is not None:
        mapped["weight"] = options.weight
    return dataclasses.replace(options, map=mapped, weight=None, macro=macro)


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
    """The same source, unpacked first if it is a packed file."""
    if is_frame(source):
        return source
    name, path = named_source(source)
    if not path.is_file():
        return source
    found = unzipped(unpacked(path, folder), folder)
    if found == path:
        return source
    return str(found) if name is None else f"{name}={found}"


def _read(sources: Sequence[tuple[Source, Source]], options: ReadOptions, what: str) -> Dataset:
    """The tables of sources, each with what it was unpacked to; all logs are read together."""
    logs = [str(s) for _, s in sources if not is_frame(s) and holds_logs(named_source(s)[1])]
    parts: list[Part] = []
    chosen = [_options_of_source(given, options) for given, _ in sources]
    stems = _stems(sources)
    for k, ((given, source), own) in enumerate(zip(sources, chosen, strict=True)):
        if is_frame(source) or str(source) not in logs:
            found = _parts(source, own, stem=stems[k])
            parts += [_of_source(part, given, source, own) for part in found]
        elif str(source) == logs[0]:
            from richter.tables._log_rows import part_of_logs

            parts.append(part_of_logs(logs, options))
    parts = name_by_files(parts, options)
    settled = dataclasses.replace(
        chosen[0] if all(own == chosen[0] for own in chosen) else options,
        settings=tuple(dict.fromkeys(itertools.chain(*(own.settings for own in chosen)))),
    )
    return _assembled(parts, settled, what)


def _stems(sources: Sequence[tuple[Source, Source]]) -> list[str]:
    """What the one condition of each source is called: the file's name, or where two are alike also its folder's."""
    paths = [None if is_frame(s) else named_source(s)[1] for _, s in sources]
    stems = [f"frame {k + 1}" * (len(sources) > 1) or "frame" if p is None else p.stem for k, p in enumerate(paths)]
    files = [named_source(given)[1] for given, _ in sources if not is_frame(given)]
    if len({*stems}) == len(stems) or len({*files}) < len(files):
        return stems
    names = iter(distinct_stems(files).values())
    return [stem if p is None else next(names) for stem, p in zip(stems, paths, strict=True)]


def _options_of_source(given: Source, options: ReadOptions) -> ReadOptions:
    """The options with those that are saved for the source; a frame has none."""
    if is_frame(given):
        return options
    return _with_one_weighting(options_for(str(named_source(given)[1]), options))


def _of_source(part: Part, given: Source, source: Source, options: ReadOptions) -> Part:
    """The part with the scale and direction that are saved for its source; its reading is of the file as given."""
    if is_frame(given):
        return part
    if options.scale is not None or options.better is not None:
        part.kept = dataclasses.replace(part.kept, scale=options.scale, better=options.better)
    if part.reading is not None and str(given) != str(source):
        part.reading = dataclasses.replace(part.reading, source=str(named_source(given)[1]))
    return part


def _assembled(parts: Sequence[Part], options: ReadOptions, what: str) -> Dataset:
    """The tables of all parts; a reading that was inferred is proposed, unless it is taken without asking."""
    readings = tuple(part.reading for part in parts if part.reading is not None)
    inferred = [reading for reading in readings if not reading.is_known]
    if inferred and not options.confirm:
        raise proposal_of(inferred[0])
    tables = assemble([_by_references(part) for part in parts], options, what=what)
    return dataclasses.replace(tables, is_confirmed=tables.is_confirmed and not inferred, readings=readings)


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


def _places(sources: Sequence[Source]) -> Iterator[Path]:
    """The files and runs among the sources; of a folder its files."""
    for source in sources:
        if not is_frame(source):
            place = named_source(source)[1]
            inside = place.is_dir() and not is_run(place)
            yield from [f for f in sorted(place.rglob("*")) if f.is_file()] if inside else [place]


def tables_of(
    ledger: "Ledger", options: ReadOptions | None = None, *, tell: Callable[[float], None] | None = None
) -> Dataset:
    """The tables of an open ledger; those of a run that was not asked yet are empty.

    `tell` hears how much of the answers is read, from 0 to 1.
    """
    from richter.tables._read_run import part_of_ledger

    options = options or ReadOptions()
    tables = assemble([part_of_ledger(ledger, tell)], options, what=ledger.name, empty=True)
    return dataclasses.replace(tables, places=(ledger.place,), options=options)


def holds_logs(path: Path) -> bool:
    """A log of a known tool, or a folder with some."""
    if is_run(path):
        return False
    return is_log(path) if path.is_file() else path.is_dir() and bool(log_files(path))


def _parts(source: Source, options: ReadOptions, *, stem: str) -> list[Part]:
    """The parts of one source: a frame, a run, a folder of tables, a file."""
    if is_frame(source):
        return [part_of_frame(as_frame(source), options, what="The frame", stem=stem)]
    name, path = named_source(source)
    if is_run(path):
        from richter.store import open_ledger
        from richter.tables._read_run import part_of_ledger

        with open_ledger(path) as ledger:
            part = part_of_ledger(ledger)
        if name and len(part.conditions) > 1:
            return [rename_conditions(part, {c: f"{name}: {c}" for c in part.conditions})]
        parts = [part]
    elif path.is_dir():
        parts = read_folder(path, _tables_inside(path), options)
    else:
        parts = read_file(path, options, named=name is not None, stem=stem)
    return parts if name is None else [_named(part, name) for part in parts]


def _tables_inside(folder: Path) -> list[Path]:
    """The files of a folder that may be tables, a control or baseline first."""
    files = (f for f in folder.rglob("*") if f.suffix.lower() in ENDINGS and f.is_file())
    return sorted(files, key=lambda f: (f.stem.lower() not in ("control", "baseline"), f))


def _named(part: Part, name: str) -> Part:
    """The part of one condition, called as the user calls it."""
    conditions: Sequence[str] = part.answers["condition"].unique(maintain_order=True).to_list()
    if len(conditions) > 1:
        raise InputError(
            f"{part.name} holds {len(conditions)} conditions ({', '.join(printable(c) for c in conditions[:4])}), "
            f"so it cannot be called {printable(name)}.",
            remedy="Give a file of one condition, or name conditions of the file after it: richter compare FILE A B",
        )
    return rename_conditions(part, dict.fromkeys(conditions, name))
