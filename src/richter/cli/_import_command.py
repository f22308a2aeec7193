"""`richter import` and `richter check`: others' logs into a run, and what is wrong with them."""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from richter import interop
from richter.cli._io import grid, json_option, publish, reading_options
from richter.errors import InputError
from richter.records import counted, printable
from richter.store import Place, is_run, run_place
from richter.tables import Dataset, ReadOptions, holds_logs, read_tables, write_tables

COUNTS = ("answers", "draws", "right", "wrong", "failed", "unscored")


def _options(reading: ReadOptions) -> interop.LogOptions:
    return interop.LogOptions(
        scorer=reading.scorer,
        filter=reading.filter,
        columns=reading.map,
        scale=reading.as_severity,
        pass_at=reading.pass_at or 1.0,
    )


@click.command(name="import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH|NAME=PATH ...")
@click.option("-o", "--output", "place", required=True, metavar="RUN", type=run_place, help="The run to make.")
@reading_options
@click.option(
    "--kind",
    type=click.Choice(["human", "judge", "rule"]),
    help="Who gave the severities, or those of --as-severity; default a log's judges, and of a table nobody is said.",
)
@json_option
def import_logs(
    paths: tuple[str, ...], place: Place, reading: ReadOptions, kind: interop.RatingKind | None, json_path: str | None
) -> None:
    """Read logs of other tools into a run.

    Formats are told by content. What could not be read is counted, never guessed.

    \b
    Examples:
      richter import logs/2026-11-15_gsm8k.eval -o run1
      richter import old=a.eval new=b.eval -o run1
      richter import answers.csv -o run1 --map item=qid --map score=is_right
      richter import judged.jsonl -o run1 --scorer quality --as-severity 10:1
    """
    if not _all_logs(paths):
        tables = read_tables(*paths, options=reading)
        write_tables(tables, place, kind=kind)
        _say(tables, str(place), json_path, paths, kept=True)
        return
    options = _options(reading)
    logs = interop.read_logs(paths, options=options)
    interop.write_run(logs, place, options=options, kind=kind or "judge")
    _show(logs, interop.next_command(logs, str(place)), json_path, run=str(place))


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH|NAME=PATH ...")
@reading_options
@json_option
def check(paths: tuple[str, ...], reading: ReadOptions, json_path: str | None) -> None:
    """Say what a log or table is, what can be read of it, what is wrong with it, and the next command.

    \b
    Examples:
      richter check logs/2026-11-15_gsm8k.eval
      richter check results/ --json -
    """
    if not _all_logs(paths):
        _say(read_tables(*paths, options=reading), shlex.join(paths), json_path, paths, kept=False)
        return
    options = _options(reading)
    logs = interop.read_logs(paths, options=options)
    command = interop.next_command(logs, paths[0]) if len(paths) == 1 else f"richter import {' '.join(paths)} -o RUN"
    _show(logs, command, json_path, inputs=paths)


def _all_logs(paths: tuple[str, ...]) -> bool:
    places = [interop.named_source(path)[1] for path in paths]
    missing = next((place for place in places if isinstance(place, Path) and not place.exists()), None)
    if missing is not None:
        raise InputError(f"{missing}: no such file or folder.", remedy="Check the path.")
    run = next((place for place in places if is_run(place)), None)
    if run is not None:
        raise InputError(
            f"{run} is a run, not a log.", remedy=f"It is measured as it is: richter report {shlex.quote(str(run))}"
        )
    return all(holds_logs(place) for place in places)


def _say(tables: Dataset, target: str, json_path: str | None, paths: tuple[str, ...], *, kept: bool) -> None:
    """What tables were understood to be, what was noted, and the command that fits them."""
    if len(tables.conditions) > 1:
        command = f"richter compare {target}"
    elif tables.counting is not None:
        command = f"richter severity {target}"
    elif tables.scores["confidence"].null_count() < len(tables.scores):
        command = f"richter calibration {target}"
    else:
        command = f"richter report {target}"
    shown = {"understood": tables.understood, "notes": tables.notes, "conditions": tables.conditions, "next": command}
    out = publish({**shown, **({"run": target} if kept else {})}, json_path, inputs=paths)
    out.print(f"{printable(tables.understood)}.", soft_wrap=True)
    for note in tables.notes:
        out.print(f"! {printable(note)}", soft_wrap=True)
    out.print(f"{f'Kept in {printable(target)}. ' if kept else ''}Next: {printable(command)}")


def _show(
    logs: interop.Logs, command: str, json_path: str | None, *, run: str | None = None, inputs: Sequence[str] = ()
) -> None:
    """What logs hold, what is wrong with them, the run they were kept in if so, and the command that fits them."""
    summary, kept = interop.logs_summary(logs), {} if run is None else {"run": run}
    problems = interop.problems(logs)
    out = publish({**summary, **kept, "problems": problems, "next": command}, json_path, inputs=inputs)
    formats = Counter(reading.format for reading in logs.readings)
    what = ", ".join(f"{name} ({counted(n, 'file')})" if n > 1 else name for name, n in formats.items())
    out.print(
        f"{what}: {counted(len(logs.items), 'item')}, {counted(len(logs.conditions), 'condition')}, "
        f"{counted(len(logs.rows), 'answer')}."
    )
    rows = (
        [printable(name, limit=50), printable(row["scorer"], limit=24), *(f"{row[k]:,}" for k in COUNTS)]
        for name, row in summary["conditions"].items()
    )
    out.print(grid("condition|scorer|answers|draws|right|wrong|failed|no grade", rows, box=None))
    for reason, count in logs.unread.most_common():
        out.print(f"Not read: {count:,} x {printable(reason)}")
    if logs.not_logs:
        out.print(f"Passed over: {counted(logs.not_logs, 'file')} that are no logs.")
    for problem in problems:
        out.print(f"! {problem}")
    out.print(f"{'' if run is None else f'Kept in {printable(run)}. '}Next: {printable(command)}")
