"""What `richter import` prints: others' logs into a run, and what is wrong with them."""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from richter import interop
from richter.cli._io import grid, publish
from richter.errors import InputError
from richter.records import RatingKind, counted, printable
from richter.store import is_run
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


def import_logs(
    paths: tuple[str, ...],
    place: Path | None,
    dry_run: bool,
    reading: ReadOptions,
    kind: RatingKind | None,
    json_path: str | None,
) -> None:
    """Read logs or tables into a run, or only say what they are; print and write what was read."""
    if (place is None) is not dry_run:
        raise click.UsageError("Give -o RUN to keep what is read, or --dry-run to look at it.")
    if not _all_logs(paths):
        tables = read_tables(*paths, options=reading)
        if place is not None:
            write_tables(tables, place, kind=kind)
        _show_tables(tables, place, json_path, paths)
        return
    options = _options(reading)
    logs = interop.read_logs(paths, options=options)
    if place is not None:
        interop.write_run(logs, place, options=options, kind=kind or "judge")
        command = interop.next_command(logs, str(place))
    elif len(paths) == 1:
        command = interop.next_command(logs, paths[0])
    else:
        command = f"richter import {shlex.join(paths)} -o RUN"
    _show_logs(logs, command, json_path, run=place, inputs=paths if place is None else ())


def _all_logs(paths: tuple[str, ...]) -> bool:
    places = [interop.named_source(path)[1] for path in paths]
    missing = next((place for place in places if not place.exists()), None)
    if missing is not None:
        raise InputError(f"{missing}: no such file or folder.", remedy="Check the path.")
    run = next((place for place in places if is_run(place)), None)
    if run is not None:
        raise InputError(
            f"{run} is a run, not a log.", remedy=f"It is measured as it is: richter report {shlex.quote(str(run))}"
        )
    return all(holds_logs(place) for place in places)


def _show_tables(tables: Dataset, run: Path | None, json_path: str | None, paths: tuple[str, ...]) -> None:
    """Print and write how tables were read, the notes, the run they were kept in if any, and the next command."""
    target = shlex.join(paths) if run is None else str(run)
    if len(tables.conditions) > 1:
        command = f"richter compare {target}"
    elif tables.counting is not None:
        command = f"richter severity {target}"
    elif tables.scores["confidence"].null_count() < len(tables.scores):
        command = f"richter calibration {target}"
    else:
        command = f"richter report {target}"
    shown = {"understood": tables.understood, "notes": tables.notes, "conditions": tables.conditions, "next": command}
    out = publish({**shown, **({} if run is None else {"run": target})}, json_path, inputs=paths)
    out.print(f"{printable(tables.understood)}.", soft_wrap=True)
    for note in tables.notes:
        out.print(f"! {printable(note)}", soft_wrap=True)
    out.print(f"{'' if run is None else f'Saved in {printable(target)}. '}Next: {printable(command)}")


def _show_logs(
    logs: interop.Logs, command: str, json_path: str | None, *, run: Path | None, inputs: Sequence[str]
) -> None:
    """Print and write what logs hold, what is wrong with them, the run they were kept in, and the next command."""
    summary, kept = interop.logs_summary(logs), {} if run is None else {"run": str(run)}
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
    out.print(f"{'' if run is None else f'Saved in {printable(str(run))}. '}Next: {printable(command)}")
