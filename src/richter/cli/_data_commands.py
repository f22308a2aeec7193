"""The options and help of `import`, `export`, `view`, `doctor` and `help`; their bodies load when they run."""

from pathlib import Path

import click

from richter.cli._options import READING, command, json_option, page_options


@command("_import_output:import_logs", reads=READING, name="import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH|NAME=PATH ...")
@click.option("-o", "--output", "place", metavar="RUN", type=Path, help="The run to make.")
@click.option("--dry-run", is_flag=True, help="Say what the files are and what is wrong with them. Write nothing.")
@click.option(
    "--kind",
    type=click.Choice(["human", "judge", "rule"]),
    help="Who gave the severities. By default a log's judges; of a table this stays open.",
)
@json_option
def import_logs() -> None:
    """Read logs of other tools, or tables, into a run.

    Formats are recognised by their content. What cannot be read is counted. --dry-run says what a file is, what can be
    read of it, what is wrong with it, and the next command.

    \b
    Examples:
      richter import logs/2026-11-15_gsm8k.eval --dry-run
      richter import logs/2026-11-15_gsm8k.eval -o run1
      richter import old=a.eval new=b.eval -o run1
      richter import answers.csv -o run1 --map item=qid --map score=is_right
      richter import judged.jsonl -o run1 --scorer quality --as-severity 10:1
    """


@command("_export_output:export", reads=READING)
@click.argument("sources", nargs=-1, required=True, metavar="RUN|FILE ..")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="answers.parquet, .csv or .jsonl")
@click.option(
    "--table",
    type=click.Choice(["answers", "confidences", "grades", "items", "ratings"]),
    default="answers",
    help="Which of the run's tables.",
)
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@click.option(
    "--billed",
    type=click.FloatRange(0),
    help="Settle RUN's calls without an answer: what the provider's bill says that they cost, in dollars.",
)
@click.option("--mlflow", "experiment", metavar="EXPERIMENT", help="Log the results and the report to MLflow.")
@click.option("--wandb", "project", metavar="PROJECT", help="Log the results and the report to Weights & Biases.")
def export() -> None:
    """Write records to a file, or results to a tracker.

    Takes a run, or any files that `richter compare` takes.

    \b
    Examples:
      richter export run1 -o answers.parquet
      richter export run1 --table ratings -o ratings.csv
      richter export results.xlsx -o results.parquet
      richter export run1 --mlflow audits
      richter export run1 --billed 0.12

    A call that was cut off or failed after it was sent may have been billed. It counts against the budget as the most
    that it can have cost, until --billed settles all such calls of RUN and its parts.
    """


@command("_view_output:view", reads=READING)
@click.argument("runs", nargs=-1, metavar="[RUN|FILE ..]")
@page_options
@click.option("--list", "is_list", is_flag=True, help="Only print the runs of a folder, or what one run holds.")
@json_option
def view() -> None:
    """Look at runs or files in a local web app: progress, report, the answers behind each figure, rating, export.

    Give runs, folders of runs, or files as `richter compare` takes them. Files become one run, which lasts while the
    app runs. Without any, it shows the runs in the current folder. Only your machine reaches the app: it answers to
    whoever opens the printed address first. Nothing that a model wrote can run in it.

    \b
    Examples:
      richter view
      richter view run1 run2
      richter view old.eval new.eval
      richter view runs/ --no-browser --port 8700
      richter view --list                the runs here
      richter view run1 --list           what is in one: conditions, counts, cost, some answers
    """


@command("_doctor_output:doctor")
@json_option
def doctor() -> None:
    """Say what is installed, which model and keys are found, and what to do about what is missing.

    \b
    Example:
      richter doctor
      richter doctor --json -
    """


@command("_help_output:help_", name="help")
@click.argument("topic", nargs=-1)
def help_() -> None:
    """List all commands, or explain a command or a word.

    \b
    Examples:
      richter help
      richter help compare
      richter help condition
      richter help reading       the options for reading data
      richter help asking        more options of commands that ask models
      richter help words
    """
