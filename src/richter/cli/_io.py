"""What every command shares: how data and options come in, and how JSON, tables and untrusted text go out."""

import csv
import dataclasses
import functools
import math
import os
import string
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from richter.errors import InputError, ReadingProposed, RichterError
from richter.interop import named_source
from richter.records import json_text, plain, printable
from richter.store import RunLike, is_run, write_file
from richter.tables import Dataset, ReadOptions, as_options, read_tables, saved_entry

if TYPE_CHECKING:
    from rich.table import Table

T = TypeVar("T")
COMMANDLINE, DEFAULT_MAP = ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP


class _Screen(Console):
    """A console on which no text, whoever wrote it, moves the cursor or hides anything; lines end where they do."""

    def render_str(self, text: str, **look: Any) -> Text:
        """A text as it is shown, in sentences and in the cells of tables."""
        return super().render_str("\n".join(map(printable, text.split("\n"))), **look)


def console(*paths: str | None) -> Console:
    """Where a command prints for people: stdout, or stderr when one of `paths` is "-" and stdout carries a result.

    Off a terminal sentences are not broken into lines and tables are at least 120 columns wide, so that logs and pipes
    read well; markup is off, since what is printed may hold model output.
    """
    stream = sys.stderr if "-" in paths else sys.stdout
    terminal = stream.isatty()
    width = None if terminal else max(120, int(os.environ.get("COLUMNS") or 0))
    return _Screen(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=not terminal)


class _Nothing(Exception):
    """A field of a cell is None."""


class _Cell(string.Formatter):
    """`{r.field:format}`: of a number its format, of a text, which may be a model's, how much of it is shown."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        first, *rest = field_name.split(".")
        value = kwargs[first]
        for name in rest:
            value = None if value is None else getattr(value, name)
        return value, first

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            raise _Nothing
        if isinstance(value, str):
            return printable(value, limit=int(format_spec) if format_spec else None)
        text = format(value, format_spec)
        return text if text.strip("-+0.%") else text.removeprefix("-")  # no "-0.000"


_CELL = _Cell()


def cells(template: str, row: Any = None, /, **named: Any) -> list[str]:
    """The cells of a table's row, with | between them: `{r.field:format}` of it, `-` where a field is None."""
    found = []
    for part in template.split("|"):
        try:
            found.append(_CELL.vformat(part, (), {"r": row, **named}))
        except _Nothing:
            found.append("-")
    return found


NAME_CELLS = 20  # of the first column, at least, where its names are as long


def grid(
    headings: str | Sequence[str], rows: Iterable[Iterable[str]], *, right: int | None = None, **look: Any
) -> "Table":
    """A table: its headings, with | between them, and its rows; columns from `right` on are numbers.

    A column without any value is left out. In a narrow terminal numbers are broken into lines, and names stay whole.
    """
    from rich.table import Table

    table, told = Table(**look), [list(row) for row in rows]
    names = headings.split("|") if isinstance(headings, str) else headings
    kept = [k for k in range(len(names)) if not told or any(row[k] != "-" for row in told)]
    for k in kept:
        number = right is not None and k >= right
        least = min(max((cell_len(row[k]) for row in told), default=0), NAME_CELLS) if k == 0 else None
        table.add_column(names[k], justify="right" if number else "left", min_width=least)
    for row in told:
        table.add_row(*(row[k] for k in kept))
    return table


def listing(columns: str, rows: Iterable[Any], **look: Any) -> "Table":
    """A table of results, a row each: `heading: {r.field:format}`, with | between columns."""
    headings, templates = zip(*(column.split(": ", 1) for column in columns.split("|")), strict=True)
    return grid(headings, (cells("|".join(templates), row) for row in rows), **look)


PLAIN: dict[str, Any] = {"box": None, "pad_edge": False}  # the look of most tables


LINE_EVERY_S = 10.0  # of progress, where there is no terminal


def progress_console() -> Console:
    """Progress goes to stderr."""
    return _Screen(stderr=True, markup=False, highlight=False, emoji=False)


def money(usd: float, unpriced: int = 0) -> str:
    """Dollars for people; says so where calls have no known price."""
    known = f"${usd:.4f}" if usd >= 0.00005 else "under $0.0001" if usd else "$0"
    if unpriced:
        return f"{known} + {unpriced:,} calls of unknown price" if usd else "price unknown"
    return known


def publish(payload: Any, json_path: str | None, *, inputs: Iterable[str | Path] = ()) -> Console:
    """Write the result where `--json` says, never over an input; where the command then prints for people."""
    write_json(payload, json_path, inputs=inputs)
    return console(json_path)


def write_json(payload: Any, json_path: str | None, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write the result where `--json` says; never over an input; nothing half-written."""
    if json_path is None:
        return
    payload = plain(payload)
    context = click.get_current_context(silent=True)
    defaults = None if context is None else (context.find_root().obj or {}).get("defaults")
    if defaults and isinstance(payload, dict):
        payload = {**payload, "defaults": plain(defaults)}  # what richter.toml settled
    text = json_text(payload, indent=2) + "\n"
    write_text(text, json_path, inputs=inputs)


def write_text(text: str, target: str | None, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write what a command made where its option says: a file, standard output ("-"), or nowhere."""
    if target == "-":
        sys.stdout.write(text)
    elif target is not None:
        keep_inputs(target, inputs)
        write_file(target, text)


def keep_inputs(target: str | Path, inputs: Iterable[str | Path]) -> None:
    """Refuse to write over an input, which may be given as NAME=PATH."""
    given = [Path(part) for p in inputs for part in (str(p), str(p).partition("=")[2]) if part]
    if any(Path(target).exists() and path.exists() and path.samefile(target) for path in given):
        raise InputError(f"{target} would overwrite an input.", remedy="Choose another path.")


def parse_scale(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, float] | None:
    """`LOW:HIGH` as two different numbers."""
    if value is None:
        return None
    low, colon, high = value.partition(":")
    try:
        found = float(low), float(high)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not {param.metavar}, as 1:5.") from error
    if not colon or found[0] == found[1] or not all(map(math.isfinite, found)):
        raise click.BadParameter(f"{value!r} has no length; write {param.metavar}, as 1:5.")
    return found


def split_names(text: str) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parse_map(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """`FIELD=COLUMN` pairs."""
    bad = next((pair for pair in value if "=" not in pair), None)
    if bad is not None:
        raise click.BadParameter(f"{bad!r} is not FIELD=COLUMN, as item=question_id.")
    return dict(pair.split("=", 1) for pair in value)


_GRADES = {"right": 1.0, "wrong": 0.0, "missing": None}


def _grade(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, float | None]:
    """`WORD=right|wrong|missing|NUMBER` pairs."""
    found: dict[str, float | None] = {}
    for pair in value:
        word, _, means = pair.rpartition("=")
        try:
            found[word] = _GRADES[means] if means in _GRADES else float(means)
        except ValueError as error:
            raise click.BadParameter(f"{pair!r} is not WORD=right, wrong, missing or a number.") from error
        if not word:
            raise click.BadParameter(f"{pair!r} names no word; write WORD=wrong, as unsure=wrong.")
    return found


def _wide(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = next(csv.reader([value], skipinitialspace=True), [])  # a name with a comma stands in quotes
    return () if value == "all" else tuple(name.strip() for name in names if name.strip())


_OPTIONS = (
    click.option("--map", multiple=True, callback=parse_map, metavar="FIELD=COLUMN", help="Which column is which."),
    click.option("--scale", callback=parse_scale, metavar="LOW:HIGH", help="The range of the score, as 1:5."),
    click.option("--better", type=click.Choice(["higher", "lower"]), help="Which end of the score is good."),
    click.option(
        "--as-severity", callback=parse_scale, metavar="RIGHT:WORST", help="Read the score as a severity: 5:1 makes 5 "
        "right and 1 the worst."
    ),
    click.option(
        "--grade", multiple=True, callback=_grade, metavar="WORD=VALUE", help="What a word among the grades counts as: "
        "right, wrong, missing or a number."
    ),
    click.option("--wide", callback=_wide, metavar="A,B|all", help="Columns that are models, one each."),
    click.option("--ratings", type=click.Choice(["human", "judge", "rule"]), help="Whose severities count."),
    click.option("--scorer", metavar="NAME", help="Which score of a log counts."),
    click.option("--filter", metavar="NAME", help="Which filter of a log's answers counts."),
    click.option("--pass-at", type=click.FloatRange(0, 1), help="Right from this score between 0 and 1 on."),
    click.option(
        "--layout", callback=lambda _, __, value: tuple(split_names(value or "")), metavar="STEP,..",
        help="Steps that bring the table to one row per answer, as a proposal names them."
    ),
    click.option("--weight", metavar="COLUMN", help="What each question counts, by this column of numbers."),
    click.option("--macro", metavar="COLUMN", help="A macro average: each value of this column counts alike."),
)  # fmt: skip


READING = ("map", "scale", "better", "as_severity", "grade", "wide", "ratings", "scorer", "filter", "pass_at",
           "layout", "weight", "macro")  # fmt: skip
_CONFIRMING = (
    click.option("--yes", is_flag=True, help="Read the table as inferred, without asking; results say so."),
    click.option("--save-reading", is_flag=True, help="Confirm the proposed reading and keep it in richter.toml."),
)


def reading_options(command: Callable[..., Any], *, names: Sequence[str]) -> Callable[..., Any]:
    """The options that say how data are read, given to the command as one `reading`: all, or some."""

    @functools.wraps(command)
    def with_reading(*args: Any, **given: Any) -> Any:
        reading, save = reading_from(given, names=names)
        rest = {name: value for name, value in given.items() if name not in (*names, "yes", "save_reading")}
        return with_confirmed(lambda chosen: command(*args, reading=chosen, **rest), reading, save=save)

    for option in reversed(_CONFIRMING):
        with_reading = option(with_reading)
    for name, option in reversed(list(zip(READING, _OPTIONS, strict=True))):
        with_reading = option(with_reading) if name in names else with_reading
    return with_reading


def reading_from(given: Mapping[str, Any], *, names: Sequence[str] = READING) -> tuple[ReadOptions, bool]:
    """The options of reading among a command's, with the readings that richter.toml saves; whether to save another."""
    memory = _memory()
    saved = {**_parse_saved(memory.get("readings", {})), **memory.get("confirmed", {})}
    chosen = {name: given[name] for name in names}
    ctx = click.get_current_context()
    settled = {name: chosen[name] for name in names if ctx.get_parameter_source(name) is DEFAULT_MAP}
    settings = tuple(as_options(ReadOptions(**settled)))
    return ReadOptions(**chosen, confirm=given["yes"], saved=saved, settings=settings), given["save_reading"]


def _memory() -> dict[str, Any]:
    """What one call of the program remembers."""
    context = click.get_current_context(silent=True)
    return {} if context is None else context.find_root().ensure_object(dict)


def with_confirmed(call: Callable[[ReadOptions], Any], reading: ReadOptions, *, save: bool) -> Any:
    """What the call gives; where it proposes a reading, the user is asked first, and it is called again."""
    while True:
        try:
            return call(reading)
        except ReadingProposed as proposal:
            if proposal.source in reading.saved:
                raise
            confirm_reading(proposal, save=save)
            _memory().setdefault("confirmed", {})[proposal.source] = proposal.options
            reading = dataclasses.replace(reading, saved={**reading.saved, proposal.source: proposal.options})


def confirm_reading(proposal: ReadingProposed, *, save: bool) -> None:
    """Ask on a terminal whether to use a reading, and keep it if so; off a terminal only saving confirms it."""
    if not save:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise proposal
        for line in proposal.lines:
            click.echo(printable(line), err=True)
        if not click.confirm(f"Use this reading?   (in scripts: {' '.join(proposal.added)})", err=True):
            raise click.exceptions.Exit(2)
        return
    path = Path("richter.toml")
    before = path.read_text(encoding="utf-8").rstrip("\n") + "\n\n" if path.exists() else ""
    write_file(path, before + saved_entry(proposal.source, proposal.options))
    click.echo(f"Saved the reading of {printable(proposal.source)} in {path}.", err=True)


def _parse_saved(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, ReadOptions]:
    """The readings in richter.toml by the pattern of the files that they are for."""
    return {pattern: _parse_entry(pattern, entry) for pattern, entry in entries.items()}


def _parse_entry(pattern: str, entry: Mapping[str, Any]) -> ReadOptions:
    unknown = [name for name in entry if name not in READING]
    if unknown:
        raise InputError(f"richter.toml: [read.{pattern!r}] has no setting {unknown[0]!r}.",
                         remedy=f"There are {', '.join(READING)}.")  # fmt: skip
    given: dict[str, Any] = dict(entry)
    parameter = click.Option(["--scale"], metavar="LOW:HIGH")
    context = click.Context(click.Command("read"))
    for name in ("scale", "as_severity"):
        if name in given:
            given[name] = parse_scale(context, parameter, given[name])
    if "grade" in given:
        given["grade"] = _grade(context, parameter, tuple(f"{word}={means}" for word, means in given["grade"].items()))
    for name in ("wide", "layout"):
        if name in given:
            given[name] = tuple(given[name])
    saved = ReadOptions(**given)
    return dataclasses.replace(saved, settings=tuple(as_options(saved)))


_POLICY = (
    click.option(
        "--missing", type=click.Choice(["both-ways", "shared", "at-random"]), default="both-ways",
        help="Missing grades: a claim must hold without them and counting them as wrong; they are another design; or "
        "they are lost at random.",
    ),
    click.option("--trust-ids", is_flag=True, help="Compare even if questions seem to be in another order."),
    click.option("--trust-raters", is_flag=True, help="Compare even if different raters rated the two."),
    click.option("--trust-labels", is_flag=True, help="Take labels as a random sample where their design is unknown."),
    click.option("--unpaired", is_flag=True, help="Each has different questions, as in an A/B test."),
)  # fmt: skip


def policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what the user vouches for: missing grades, ids, raters, labels, no pairs."""
    for option in reversed(_POLICY):
        command = option(command)
    return command


def settle_reading(reading: ReadOptions, planned: ReadOptions | None) -> ReadOptions:
    """The options of reading with a plan: what is typed, else the plan's; what `richter.toml` says is not used.

    What differs from the plan makes the result exploratory.
    """
    ctx = click.get_current_context()
    sources = {name: ctx.get_parameter_source(name) for name in READING}
    memory = _memory()
    unused = [name for name, source in sources.items() if source is DEFAULT_MAP]
    unused += [f"read.{printable(pattern)}" for pattern in memory.get("readings", {})]
    if unused:
        click.echo(
            f"richter: a plan fixes how data are read; richter.toml is not used ({', '.join(unused)}). "
            "Put such options under `read` in the plan before you lock it.",
            err=True,
        )
    typed = {name: getattr(reading, name) for name, source in sources.items() if source is COMMANDLINE}
    confirmed = memory.get("confirmed", {})
    return dataclasses.replace(planned or ReadOptions(), **typed, confirm=reading.confirm, saved=confirmed)


def typed_only(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with None for those that nobody typed: a plan fixes them."""
    ctx = click.get_current_context()
    return {name: v if ctx.get_parameter_source(name) is COMMANDLINE else None for name, v in options.items()}


def refuse_beside_plan(*names: str) -> None:
    """Refuse options that somebody typed beside a plan that says the same: one of the two would not count."""
    ctx = click.get_current_context()
    known = {p.name: p.opts[0] for p in ctx.command.params if p.name is not None}
    typed = [known[name] for name in names if ctx.get_parameter_source(name) is COMMANDLINE]
    if typed:
        raise click.UsageError(f"The plan states what {' and '.join(typed)} would: change the plan, or leave it out.")


def without_settings(options: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The options without what richter.toml says of these names, which the plan fixes."""
    ctx = click.get_current_context()
    return {
        name: None if name in names and ctx.get_parameter_source(name) is DEFAULT_MAP else value
        for name, value in options.items()
    }


def read_given(files: Sequence[str], reading: ReadOptions) -> Dataset:
    """`read_tables`, once in a command even if two parts of it ask."""
    memory, asked = _memory(), (list(files), reading, reading.confirm, reading.saved)
    if memory.get("read", (None,))[0] != asked:
        memory["read"] = (asked, read_tables(*files, options=reading))
    tables: Dataset = memory["read"][1]
    return tables


def as_decoration(name: str, make: Callable[[], T]) -> T | None:
    """What only decorates a result; None, with a warning, where it cannot be made: it never changes an exit status."""
    try:
        return make()
    except RichterError as error:
        click.echo(f"richter: warning: {printable(f'the {name} is left out. {error}')}", err=True)
        return None


def read_history(series: str, **options: Any) -> dict[str, Any] | None:
    """What a series shows, for a page or a comment; None, with a warning, where it cannot be read."""
    from richter.audit import history_of

    return as_decoration("history", lambda: history_of(series, **options))


def is_plain(source: RunLike) -> bool:
    """A file, a named one or a folder of files: what is measured without being a run or a folder of runs."""
    name, place = named_source(source)
    if is_run(place):
        return False
    return name is not None or place.is_file() or (place.is_dir() and not any(map(is_run, place.iterdir())))


def as_run(sources: Sequence[RunLike], reading: ReadOptions, folder: Path) -> Path:
    """Files as a run in `folder`, named after the first of them."""
    from richter.tables import write_tables  # loads the ledger

    tables = read_tables(*sources, options=reading)
    place = named_source(sources[0])[1]
    run = folder / place.stem
    write_tables(tables, run)
    return run


def split_sources(arguments: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Files or runs first, then condition names: `FILE .. [A B ..]` or `NAME=PATH NAME=PATH ..`."""
    sources = [a for a in arguments if _is_source(a)]
    names = [a for a in arguments if not _is_source(a)]
    if not sources:
        raise InputError(f"{arguments[0]}: no such file or run.", remedy="Check the path.")
    if list(arguments[: len(sources)]) != sources:
        raise InputError(f"{names[0]}: no such file or run.", remedy="Put files first, names of models after them.")
    if not names and all("=" in a and not Path(a).exists() for a in sources):
        names = [a.partition("=")[0] for a in sources]
    return sources, names


def _is_source(argument: str) -> bool:
    return Path(argument).exists() or "=" in argument
