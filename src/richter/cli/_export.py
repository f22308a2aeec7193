"""`richter export`."""

from pathlib import Path

import click

from richter.cli._output import console
from richter.errors import InputError
from richter.interop import EXPORTS, export_table
from richter.store import open_ledger, run_place

__all__ = ["export"]


@click.command()
@click.argument("source", metavar="RUN", type=run_place)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="answers.parquet, .csv or .jsonl")
@click.option("--table", type=click.Choice(sorted(EXPORTS)), default="answers", show_default=True)
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@click.option("--evidence", type=click.Path(path_type=Path), help="Write everything that a reviewer needs to this zip.")
@click.option("--paper", type=click.Path(path_type=Path), help="Write a tail study of a scores file as LaTeX there.")
@click.option("--column", help="With --paper: the column that holds the severity, where no plan names it.")
@click.option("--plan", type=click.Path(path_type=Path), help="With --paper: the tail plan.")
def export(
    source: Path,
    output: Path | None,
    table: str,
    force: bool,
    evidence: Path | None,
    paper: Path | None,
    column: str | None,
    plan: Path | None,
) -> None:
    """Write a run's answers, ratings or items to a file; all its evidence to an archive; or a tail study as a paper.

    The evidence archive holds the records (JSONL), the plan with its lock, results.json, report.html, the versions and
    a SHA-256 of each file. The same run gives the same archive.

    \b
    Examples:
      richter export run1 -o answers.parquet
      richter export run1 --table ratings -o ratings.csv
      richter export run1 --evidence run1.zip
      richter export scores.csv --paper paper/ --plan plan.toml
    """
    if sum(target is not None for target in (output, evidence, paper)) != 1:
        raise click.UsageError("Give one of -o FILE (records), --evidence ZIP (everything), --paper DIR (tail study).")
    if paper is not None:
        from richter.audit import study_column
        from richter.cli._tail import write_paper

        write_paper(study_column(source, column=column, plan_path=plan), paper)
        console().print(f"{paper}: table.tex, methods.tex, references.bib, deviations.tex.")
        return
    target = output or evidence
    assert target is not None
    if target.exists() and not force:
        raise InputError(f"{target} exists.", remedy="Choose another name, or add --force.")
    if evidence is not None:
        from richter.cli._view import save_evidence

        save_evidence(source, evidence)
        console().print(f"{evidence}: records, plan, results, report and versions, with MANIFEST.sha256.")
        return
    assert output is not None
    with open_ledger(source) as ledger:
        frame = EXPORTS[table](ledger)
    export_table(frame, output)
    console().print(f"{output}: {frame.height} rows.")
