"""`richter export`."""

import tempfile
from pathlib import Path

import click
import polars as pl

from richter.cli._io import as_run, console, is_plain
from richter.errors import InputError
from richter.interop import EXPORTS, export_table
from richter.records import printable
from richter.store import is_run, open_ledger
from richter.tables import Dataset, ReadOptions, answers_table, graded_answers, read_tables, tables_of
from richter.words import describe_note


def export(
    sources: tuple[str, ...],
    output: Path | None,
    table: str,
    force: bool,
    billed: float | None,
    experiment: str | None,
    project: str | None,
    reading: ReadOptions,
) -> None:
    """Write records to a file, or results to a tracker."""
    if billed is not None:
        from richter.cli._run_output import settle

        settle(Path(sources[0]), billed)
        return
    _check_ways(output, experiment, project, force=force)
    plain = [given for given in sources if is_plain(given)]
    if len(sources) > 1 and len(plain) < len(sources):
        raise click.UsageError("Give one run, or files that are none.")
    source = Path(sources[0])
    say = console().print
    if output is not None:
        frame = _table_of(source, sources, table, reading)
        export_table(frame, output)
        say(f"{output}: {frame.height} rows.")
        return
    if plain:
        source = as_run(plain, reading, Path(click.get_current_context().with_resource(tempfile.TemporaryDirectory())))
    from richter.plugins.trackers import log_to_mlflow, log_to_wandb

    made = log_to_wandb(source, project=project) if project else log_to_mlflow(source, experiment=str(experiment))
    say(f"{made.tracker} {made.id}: {len(made.metrics)} metrics, {' and '.join(made.artifacts)}.")


def _check_ways(
    output: Path | None,
    experiment: str | None,
    project: str | None,
    *,
    force: bool,
) -> None:
    """Refuse anything but one way to export, and a file that exists."""
    ways = {"-o": output, "--mlflow": experiment, "--wandb": project}
    chosen = [name for name, value in ways.items() if value is not None]
    if len(chosen) != 1:
        raise click.UsageError("Give one of -o, --mlflow and --wandb.")
    if output is not None and output.exists() and not force:
        raise InputError(f"{output} exists.", remedy="Choose another name, or add --force.")


def _table_of(source: Path, sources: tuple[str, ...], table: str, reading: ReadOptions) -> pl.DataFrame:
    """A table of a run's ledger, or of files."""
    if not is_run(source):
        return _of_tables(read_tables(*sources, options=reading), table)
    with open_ledger(source) as ledger:
        if lost := ledger.describe_lost_end():
            console().print(describe_note(printable(lost)), soft_wrap=True)
        return graded_answers(ledger, tables_of(ledger, reading)) if table == "answers" else EXPORTS[table](ledger)


def _of_tables(tables: Dataset, table: str) -> pl.DataFrame:
    """Answers with grades and severities, or single ratings, of what is no run."""
    if table == "items":
        items = [(i.id, i.prompt, i.reference, i.domain) for i in tables.items.values()]
        names = ("item", "prompt", "reference", "domain")
        return pl.DataFrame(items, schema=dict.fromkeys(names, pl.String), orient="row")
    if table == "answers":
        return answers_table(tables)
    frame = tables.ratings if table == "ratings" else tables.scores
    return frame.drop([c for c in frame.columns if frame[c].null_count() == len(frame)])
