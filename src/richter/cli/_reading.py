"""How commands take data: the same arguments and the same options, with the same meaning, on each of them."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from richter.errors import InputError
from richter.interop import named_source
from richter.store import RunLike, is_database, is_run
from richter.tables import ReadOptions, Tables, read_tables, write_tables


def parse_scale(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, float] | None:
    """`LOW:HIGH` as two different numbers."""
    if value is None:
        return None
    low, colon, high = value.partition(":")
    try:
        found = float(low), float(high)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not {param.metavar}, as 1:5.") from error
    if not colon or found[0] == found[1]:
        raise click.BadParameter(f"{value!r} has no length; write {param.metavar}, as 1:5.")
    return found


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
    return () if value == "all" else tuple(name.strip() for name in value.split(",") if name.strip())


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
    click.option("--wide", callback=_wide, metavar="A,B|all", help="Columns that are conditions, one each."),
    click.option("--ratings", type=click.Choice(["human", "judge", "rule"]), help="Whose severities count."),
    click.option("--scorer", metavar="NAME", help="Which score of a log counts."),
    click.option("--filter", metavar="NAME", help="Which filter of a log's answers counts."),
    click.option("--pass-at", type=click.FloatRange(0, 1), help="Right from this score between 0 and 1 on."),
)  # fmt: skip
READING = ("map", "scale", "better", "as_severity", "grade", "wide", "ratings", "scorer", "filter", "pass_at")


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how data are read, given to the command as one `reading`."""

    @functools.wraps(command)
    def with_reading(*args: Any, **given: Any) -> Any:
        return command(*args, reading=ReadOptions(**{name: given.pop(name) for name in READING}), **given)

    for option in reversed(_OPTIONS):
        with_reading = option(with_reading)
    return with_reading


def read_given(files: Sequence[str], reading: ReadOptions, shown: Sequence[str] = ()) -> Tables:
    """`read_tables`, once in a command even if two parts of it ask; all conditions are shown, if not some."""
    context = click.get_current_context(silent=True)
    memory: dict[str, Any] = {} if context is None else context.find_root().ensure_object(dict)
    known = memory.get("read")
    if known is None or known[:2] != (list(files), reading):
        known = memory["read"] = (list(files), reading, read_tables(*files, options=reading, shown=shown or None))
    tables: Tables = known[2]
    return tables


def is_plain(source: RunLike) -> bool:
    """A file, a named one or a folder of files: what is measured without being a run or a folder of runs."""
    name, place = named_source(source)
    if not isinstance(place, Path) or is_run(place):
        return False
    return name is not None or place.is_file() or (place.is_dir() and not any(map(is_run, place.iterdir())))


def as_run(sources: Sequence[RunLike], reading: ReadOptions, folder: Path) -> Path:
    """Files as a run in `folder`, named after the first of them."""
    tables = read_tables(*sources, options=reading)
    place = named_source(sources[0])[1]
    run = folder / (place.stem if isinstance(place, Path) else "files")
    write_tables(tables, run, kind="judge")
    return run


def split_sources(arguments: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Files or runs first, then condition names: `FILE .. [A B ..]` or `NAME=PATH NAME=PATH ..`."""
    sources = [a for a in arguments if _is_source(a)]
    names = [a for a in arguments if not _is_source(a)]
    if not sources:
        raise InputError(f"{arguments[0]}: no such file or run.", remedy="Check the path.")
    if list(arguments[: len(sources)]) != sources:
        raise InputError(
            f"{names[0]}: no such file or run.", remedy="Files come first, names of conditions after them."
        )
    if not names and all("=" in a and not Path(a).exists() and not is_database(a) for a in sources):
        names = [a.partition("=")[0] for a in sources]
    return sources, names


def _is_source(argument: str) -> bool:
    return is_database(argument) or Path(argument).exists() or "=" in argument
