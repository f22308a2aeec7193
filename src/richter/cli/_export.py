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
@click.option("--paper", type=click.Path(path_type=Path), help="Write a tail study of a scores file as LaTeX there.")
@click.option("--column", help="With --paper: the column that holds the severity, where no plan names it.")
@click.option("--plan", type=click.Path(path_type=Path), help="With --paper: the tail plan.")
def export(
    source: Path,
    output: Path | None,
    table: str,
    force: bool,
    paper: Path | None,
    column: str | None,
    plan: Path | None,
) -> None:
    """Write a run's answers, ratings or items to a file; or a tail study of a scores file as parts of a paper.

    \b
    Examples:
      richter export run1 -o answers.parquet
      richter export run1 --table ratings -o ratings.csv
      richter export scores.csv --paper paper/ --plan plan.toml
    """
    if (output is None) == (paper is None):
        raise click.UsageError("Give -o FILE for a run's records, or --paper DIR for a tail study.")
    if paper is not None:
        from richter.audit import study_column
        from richter.cli._tail import write_paper

        write_paper(study_column(source, column=column, plan_path=plan), paper)
        console().print(f"{paper}: table.tex, methods.tex, references.bib, deviations.tex.")
        return
    assert output is not None
    if output.exists() and not force:
        raise InputError(f"{output} exists.", remedy="Choose another name, or add --force.")
    with open_ledger(source) as ledger:
        frame = EXPORTS[table](ledger)
    export_table(frame, output)
    console().print(f"{output}: {frame.height} rows.")
