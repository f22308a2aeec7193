"""`richter export`."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
import polars as pl

from richter.cli._calls import Calls, call_options
from richter.cli._io import as_run, console, is_plain, reading_options
from richter.cli._progress import price_at_most
from richter.errors import InputError, ModelError, TooFewErrors
from richter.interop import EXPORTS, SETS, export_dataset, export_table, write_set
from richter.store import Place, is_run, open_ledger, run_place
from richter.tables import ReadOptions, Tables, read_tables

if TYPE_CHECKING:
    from richter.ascent import FailingSet


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="RUN|FILE ..")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="answers.parquet, .csv or .jsonl")
@click.option("--failing", is_flag=True, help="Of a search: the questions answered wrongly, as a set of items.")
@click.option("--to", type=click.Choice(SETS), default="items", help="With --failing: for whom.")
@click.option(
    "--again",
    type=click.IntRange(0),
    help="With --failing: ask each N times again first and keep what fails every time; 1 unless told, 0 asks nothing.",
)
@call_options("Of asking again.", dry_run="With --failing: say what it would ask.")
@click.option("--kb", "base_path", type=click.Path(path_type=Path), help="With --failing: the base, if it moved.")
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
    failing: bool,
    to: str,
    again: int | None,
    calls: Calls,
    base_path: Path | None,
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
      richter export search1 --failing --to promptfoo -o regressions.yaml
      richter export search1 --failing --to pytest --again 2 --budget 500calls -o tests/regressions
      richter export search1 --failing --again 0 -o items.jsonl
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
    if output is not None and failing:
        export_failing(source, output, to=to, again=again, calls=calls, base_path=base_path, force=force)
        return
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


def export_failing(
    source: Place, output: Path, *, to: str, again: int | None, calls: Calls, base_path: Path | None, force: bool
) -> None:
    """Write the questions that a search found answered wrongly, each once, those that fail again when asked once more.

    Unless told how often (`again`), a model that cannot be asked is no fault: the set is written as it is, with the
    share that is expected to fail again.
    """
    from richter.ascent import base_of, failing_questions
    from richter.cli._search_show import say_keys
    from richter.knowledge import open_base

    say, folder = console().print, base_path or base_of(source)
    found = failing_questions(source, open_base(folder) if folder else None)
    times = (found.condition.style != "cloze") if again is None else again  # a cloze is the same each time
    if times and found.questions:
        try:
            found = _asked_again(found, output.with_name(f"{output.name}.again"), int(times), calls)
        except ModelError as error:
            if again is not None:
                raise
            say(f"Not asked again: {error.what}", soft_wrap=True)
    if calls.dry_run:
        say("Asks nothing." if not times else "Nothing was asked or written.")
        return
    if not found.questions:
        left = ", ".join(f"{count} {why}" for why, count in found.left_out.items())
        raise TooFewErrors(f"{source} has no failing question to write{f' ({left})' if left else ''}.", n=0, needed=1)
    written = write_set(found.items(), output, to=to, name=output.stem, force=force)
    modes = len({q.mode for q in found.questions})
    say(f"{len(found.questions):,} failing questions of {modes:,} modes for {to}: {', '.join(map(str, written))}.")
    if (share := found.expected_again) is not None:
        say(f"About {share:.0%} of them are expected to fail when asked again in other words.")
    for why, count in found.left_out.items():
        say(f"Left out: {count:,} {why}.")
    say_keys(console(), folder)


def _asked_again(found: "FailingSet", beside: Path, times: int, calls: Calls) -> "FailingSet":
    """What of a set fails each of so many times that it is asked again, into a run beside it; says the cost first."""
    from richter.ascent import judge_answers, keep_stable
    from richter.audit import ask_run, estimate_run

    items, condition, say = [q.item for q in found.questions], found.condition, console().print
    (row,) = estimate_run(beside, items, [condition], draws=times, prices=calls.prices)
    say(
        f"Asks {len(items):,} failing questions again before they are written: {row.calls:,} calls to {row.model}, "
        f"{price_at_most(row.money_usd_most)} (--again 0 asks nothing).",
        soft_wrap=True,
    )
    if calls.dry_run:
        return found
    with calls.opened() as asked:
        ask_run(beside, items, [condition], draws=times, most_tokens=condition.decoding.max_tokens, **asked)
        if found.judge is not None:
            judge_answers(beside, items, condition, found.judge, **asked)
    kept = keep_stable(found, beside)
    if not kept.questions and kept.left_out.get("not asked again") == len(items):
        raise ModelError(f"{row.model} answered none of them.", remedy="See that it can be asked, or give --again 0.")
    return kept


def _of_tables(tables: Tables, table: str) -> pl.DataFrame:
    """Answers with grades and severities, or single ratings, of what is no run."""
    if table == "items":
        items = [(i.id, i.prompt, i.reference, i.domain) for i in tables.items.values()]
        names = ("item", "prompt", "reference", "domain")
        return pl.DataFrame(items, schema=dict.fromkeys(names, pl.String), orient="row")
    frame = {"answers": tables.rows.rename({"text": "answer"}), "ratings": tables.ratings}.get(table, tables.scores)
    return frame.drop([c for c in frame.columns if frame[c].null_count() == len(frame)])
