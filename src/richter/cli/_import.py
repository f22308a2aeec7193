"""`richter import` and `richter check`: others' logs into a run, and what is wrong with them."""

from collections import Counter

import click
from rich.console import Console
from rich.table import Table

from richter.cli._output import console, json_option, write_json
from richter.cli._severity_options import parse_scale
from richter.errors import InputError
from richter.interop import (
    LogOptions,
    Logs,
    RatingKind,
    logs_summary,
    next_command,
    problems,
    read_logs,
    write_run,
)
from richter.records import printable
from richter.store import Place, run_place

__all__ = ["check", "import_logs", "log_options"]


def _columns(texts: tuple[str, ...]) -> dict[str, str]:
    out = {}
    for text in texts:
        field, equals, column = text.partition("=")
        if not equals or not field or not column:
            raise InputError(f"--map {printable(text, limit=40)} is not FIELD=COLUMN.", remedy="As --map item=qid.")
        out[field] = column
    return out


def _options(
    scorer: str | None, filter_name: str | None, columns: tuple[str, ...], scale: str | None, pass_at: float
) -> LogOptions:
    return LogOptions(
        scorer=scorer, filter=filter_name, columns=_columns(columns), scale=parse_scale(scale), pass_at=pass_at
    )


_READING = (
    click.option("--scorer", metavar="NAME", help="The scorer that grades, where a log has several."),
    click.option("--filter", "filter_name", metavar="NAME", help="lm-eval: the filter whose rows count."),
    click.option("--map", "columns", metavar="FIELD=COLUMN", multiple=True, help="A table's column for a field."),
    click.option("--scale", metavar="RIGHT:WORST", help="What the scorer's numbers mean, as 10:1; gives severities."),
    click.option(
        "--pass-at",
        type=click.FloatRange(0, 1, min_open=True),
        default=1.0,
        show_default=True,
        help="A score between 0 and 1 counts as right from here on.",
    ),
)


def log_options(command: click.decorators.FC) -> click.decorators.FC:
    """The options that say how a log is read."""
    for option in reversed(_READING):
        command = option(command)
    return command


@click.command(name="import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH|NAME=PATH ...")
@click.option("-o", "--output", "place", required=True, metavar="RUN", type=run_place, help="The run to make.")
@log_options
@click.option(
    "--kind",
    type=click.Choice(["human", "judge", "rule"]),
    default="judge",
    show_default=True,
    help="Who gave the severities of --scale.",
)
@json_option
def import_logs(
    paths: tuple[str, ...],
    place: Place,
    scorer: str | None,
    filter_name: str | None,
    columns: tuple[str, ...],
    scale: str | None,
    pass_at: float,
    kind: RatingKind,
    json_path: str | None,
) -> None:
    """Read logs of other tools into a run.

    Formats are told by content. What could not be read is counted, never guessed.

    \b
    richter import logs/2026-11-15_gsm8k.eval -o run1
    richter import old=a.eval new=b.eval -o run1
    richter import answers.csv -o run1 --map item=qid --map condition=model --map correct=is_right
    richter import judged.jsonl -o run1 --scorer quality --scale 10:1
    """
    options = _options(scorer, filter_name, columns, scale, pass_at)
    logs = read_logs(paths, options=options)
    write_run(logs, place, options=options, kind=kind)
    output = str(place)
    command = next_command(logs, output, kept=True)
    write_json({**logs_summary(logs), "run": output, "problems": problems(logs), "next": command}, json_path)
    out = console(json_path)
    _show(out, logs)
    out.print(f"Kept in {printable(output)}. Next: {printable(command)}")


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH|NAME=PATH ...")
@log_options
@json_option
def check(
    paths: tuple[str, ...],
    scorer: str | None,
    filter_name: str | None,
    columns: tuple[str, ...],
    scale: str | None,
    pass_at: float,
    json_path: str | None,
) -> None:
    """Say what a log is, what can be read of it, what is wrong with it, and the next command. Nothing is written.

    \b
    richter check logs/2026-11-15_gsm8k.eval
    richter check results/ --json -
    """
    options = _options(scorer, filter_name, columns, scale, pass_at)
    logs = read_logs(paths, options=options)
    command = (
        next_command(logs, paths[0], kept=False) if len(paths) == 1 else f"richter import {' '.join(paths)} -o RUN"
    )
    write_json({**logs_summary(logs), "problems": problems(logs), "next": command}, json_path, inputs=paths)
    out = console(json_path)
    _show(out, logs)
    out.print(f"Next: {printable(command)}")


def _show(out: Console, logs: Logs) -> None:
    formats = Counter(reading.format for reading in logs.readings)
    what = ", ".join(f"{name} ({n} files)" if n > 1 else name for name, n in formats.items())
    out.print(
        f"{what}: {len(logs.items):,} items, {len(logs.conditions):,} condition{'s' * (len(logs.conditions) > 1)}, "
        f"{len(logs.rows):,} answers."
    )
    table = Table("condition", "scorer", "answers", "draws", "right", "wrong", "failed", "no grade", box=None)
    for name, row in logs_summary(logs)["conditions"].items():
        counts = (row[k] for k in ("answers", "draws", "right", "wrong", "failed", "unscored"))
        table.add_row(printable(name, limit=50), printable(row["scorer"], limit=24), *(f"{c:,}" for c in counts))
    out.print(table)
    for reason, count in logs.unread.most_common():
        out.print(f"Not read: {count:,} x {printable(reason)}")
    if logs.not_logs:
        out.print(f"Passed over: {logs.not_logs:,} files that are no logs.")
    for problem in problems(logs):
        out.print(f"! {problem}")
