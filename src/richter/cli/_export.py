"""`richter export`."""

from pathlib import Path

import click

from richter.cli._output import console
from richter.errors import InputError
from richter.interop import EXPORTS, export_table
from richter.store import open_ledger

__all__ = ["export"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="answers.parquet, .csv or .jsonl")
@click.option("--table", type=click.Choice(sorted(EXPORTS)), default="answers", show_default=True)
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
def export(run: Path, output: Path, table: str, force: bool) -> None:
    """Write a run's answers, ratings or items to a file.

    \b
    Examples:
      richter export run1 -o answers.parquet
      richter export run1 --table ratings -o ratings.csv
    """
    if output.exists() and not force:
        raise InputError(f"{output} exists.", remedy="Choose another name, or add --force.")
    with open_ledger(run) as ledger:
        frame = EXPORTS[table](ledger)
    export_table(frame, output)
    console().print(f"{output}: {frame.height} rows.")
