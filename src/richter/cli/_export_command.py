"""`richter export`."""

import tempfile
from pathlib import Path

import click
import polars as pl

from richter.cli._io import as_run, console, is_plain, reading_options
from richter.errors import InputError
from richter.interop import EXPORTS, export_dataset, export_table
from richter.store import is_run, open_ledger, run_place
from richter.tables import Dataset, ReadOptions, read_tables


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="RUN|FILE ..")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="answers.parquet, .csv or .jsonl")
@click.option("--table", type=click.Choice(sorted(EXPORTS)), default="answers")
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@click.option("--evidence", type=click.Path(path_type=Path), help="Write everything that a reviewer needs to this zip.")
@click.option("--hub", type=click.Path(path_type=Path), help="Write all tables as a Hugging Face data set there.")
@click.option(
    "--license", "license_name", default="", show_default=False, help="With --hub: the terms, such as cc-by-4.0."
)
@click.option("--creator", default="", show_default=False, help="With --hub: who made it.")
@click.option("--mlflow", "experiment", metavar="EXPERIMENT", help="Log the results and the report to MLflow.")
@click.option("--wandb", "project", metavar="PROJECT", help="Log the results and the report to Weights & Biases.")
@reading_options
@click.pass_context
def export(
    ctx: click.Context,
    sources: tuple[str, ...],
    output: Path | None,
    table: str,
    force: bool,
    evidence: Path | None,
    hub: Path | None,
    license_name: str,
    creator: str,
    experiment: str | None,
    project: str | None,
    reading: ReadOptions,
) -> None:
    """Write records to a file or a data set, all the evidence to an archive, or results to a tracker.

    Takes a run, or any files that `richter compare` takes.

    The evidence archive holds the records (JSONL), the plan with its lock, results.json, report.html, the versions and
    a SHA-256 of each file. The same run gives the same archive.

    \b
    Examples:
      richter export run1 -o answers.parquet
      richter export run1 --table ratings -o ratings.csv
      richter export run1 --evidence run1.zip
      richter export results.xlsx -o results.parquet
      richter export old.eval new.eval --evidence both.zip
      richter export run1 --hub dataset --license cc-by-4.0 --creator "Us"
      richter export run1 --mlflow audits
    """
    ways = {"-o": output, "--evidence": evidence, "--hub": hub, "--mlflow": experiment, "--wandb": project}
    chosen = [name for name, value in ways.items() if value is not None]
    if len(chosen) != 1:
        raise click.UsageError("Give one of -o, --evidence, --hub, --mlflow and --wandb.")
    target = output or evidence
    if target is not None and target.exists() and not force:
        raise InputError(f"{target} exists.", remedy="Choose another name, or add --force.")
    plain = [given for given in sources if is_plain(given)]
    if len(sources) > 1 and len(plain) < len(sources):
        raise click.UsageError("Give one run, or files that are none.")
    source = run_place(sources[0])
    say = console().print
    if output is not None:
        if is_run(source):
            with open_ledger(source) as ledger:
                frame = EXPORTS[table](ledger)
        else:
            frame = _of_tables(read_tables(*sources, options=reading), table)
        export_table(frame, output)
        say(f"{output}: {frame.height} rows.")
        return
    if plain:
        source = as_run(plain, reading, Path(ctx.with_resource(tempfile.TemporaryDirectory())))
    if hub is not None:
        name = source.resolve().name if isinstance(source, Path) else source.name
        with open_ledger(source) as ledger:
            rows = export_dataset(ledger, hub, name=name, license_name=license_name, creator=creator, force=force)
        say(f"{hub}: " + ", ".join(f"{n:,} {kind}" for kind, n in rows.items()) + ".")
        return
    if evidence is not None:
        from richter.cli._view import save_evidence

        save_evidence(source, evidence)
        say(f"{evidence}: records, plan, results, report and versions, with MANIFEST.sha256.")
    else:
        from richter.plugins.trackers import log_to_mlflow, log_to_wandb

        made = log_to_wandb(source, project=project) if project else log_to_mlflow(source, experiment=str(experiment))
        say(f"{made.tracker} {made.id}: {len(made.metrics)} metrics, {' and '.join(made.artifacts)}.")


def _of_tables(tables: Dataset, table: str) -> pl.DataFrame:
    """Answers with grades and severities, or single ratings, of what is no run."""
    if table == "items":
        items = [(i.id, i.prompt, i.reference, i.domain) for i in tables.items.values()]
        names = ("item", "prompt", "reference", "domain")
        return pl.DataFrame(items, schema=dict.fromkeys(names, pl.String), orient="row")
    frame = {"answers": tables.rows.rename({"text": "answer"}), "ratings": tables.ratings}.get(table, tables.scores)
    return frame.drop([c for c in frame.columns if frame[c].null_count() == len(frame)])
