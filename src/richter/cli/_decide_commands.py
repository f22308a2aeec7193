"""The options and help of `compare`, `gate`, `report`, `watch` and `verify`; their bodies load when they run."""

import json
from pathlib import Path

import click

from richter.cli._options import (
    READING,
    WEIGHING,
    command,
    json_option,
    level_option,
    margin_option,
    md_option,
    resamples_option,
    seed_option,
)


def _print_schema(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from richter.audit import results_schema

        click.echo(json.dumps(results_schema(), indent=1))
        ctx.exit()


def _take_settings(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Take the defaults of all other options from `richter.toml` in this folder instead of the working folder's."""
    if value is not None:
        from richter.cli._main import project_defaults

        defaults = project_defaults(Path(value))
        ctx.find_root().ensure_object(dict).update(readings=defaults.pop("read", {}), defaults=defaults)
        ctx.default_map = defaults
    return value


on_option = click.option(
    "--on",
    multiple=True,
    metavar="METRIC",
    help="The main measure (accuracy, mean_score, ece, mean_severity, money, ...). Every further --on adds one.",
)
tried_option = click.option(
    "--tried",
    type=click.IntRange(1, 1_000_000),
    default=1,
    metavar="N",
    help="How many variants you tried, if you show the best one. Intervals get wider.",
)


@command(
    "_compare_output:compare",
    reads=WEIGHING,
    vouches=True,
    shown="margin on control by tried verbose level seed md json",
)
@click.argument("sources", nargs=-1, required=True, metavar="FILE|RUN [A B ..] | NAME=FILE NAME=FILE ..")
@margin_option
@on_option
@click.option("--control", metavar="NAME", help="Compare all others with this one only.")
@click.option("--all-pairs", is_flag=True, help="Show every pair and measure of 201 to 632 models too.")
@click.option(
    "--by",
    metavar="COLUMN",
    help="Compare inside each value of this column too, and test if the difference is the same in all.",
)
@click.option("--tail-plan", "tail_path", metavar="PLAN", help="A tail plan, for a claim on the tail's shape.")
@tried_option
@click.option(
    "--min-shared",
    type=click.FloatRange(0, 1),
    default=0.5,
    help="Refuse a pair that shares less than this share of its questions.",
)
@click.option("--verbose", "-v", is_flag=True, help="Print every claim, the methods and all notes too.")
@level_option
@resamples_option(100, default=2000)
@seed_option
@md_option
@json_option
def compare() -> None:
    """Is the difference between models, prompts or variants real?

    The first line is the answer. A difference is the second minus the first. Richter pairs answers to the same
    question, averages repeats, and allows for groups and weights. With several models the table shows which ones the
    data can't tell apart. Richter compares files that share no question without pairs.

    \b
    Examples:
      richter compare grades.csv                            all models of a file
      richter compare grades.csv old new --margin 2pt       is new better than old?
      richter compare old=a.csv new=b.csv --tried 12 --md pr.md
      richter compare old=a.eval new=b.eval --margin 2pt    straight from logs (see richter import)
      richter compare runs/demo small large --ratings human
      richter compare prompts.csv --control baseline        all prompts against one
      richter compare grades.csv old new --by subject       also in each subject
      richter compare runs.csv old new --on pass@5          one of five repeats is right
      richter compare logs.csv old new --margin 1pt --on money     at most a point worse? cheaper?
      richter compare ab.csv A B --unpaired                 different users on each side
    """


@command("_compare_output:look", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def look() -> None:
    """Say what PATH .. hold and show: a comparison of two or more models, or a summary of one.

    Options are those of `richter compare`.
    """


@command(
    "_gate_output:gate",
    reads=WEIGHING,
    vouches=True,
    shown="margin on baseline accept-judge require-locked level junit md history json",
)
@click.argument("sources", nargs=-1, required=True, metavar="[PLAN] FILE|RUN | NAME=FILE ..")
@margin_option
@click.option("--on", "metric", metavar="METRIC", help="Without a plan: the measure that the margin is for.")
@click.option(
    "--baseline",
    metavar="FILE|RUN",
    help="The old result to compare with: any source, or results.json.",
)
@click.option("--page", metavar="URL", default="", show_default=False, help="Link to the page, for the Markdown.")
@click.option("--trust-reading", is_flag=True, help="Accept columns that Richter inferred (with --yes).")
@click.option("--accept-judge", is_flag=True, help="Let the gate pass by a judge's grades that nobody checked.")
@click.option(
    "--require-locked",
    is_flag=True,
    help="Pass only if the plan is locked (pre-registered) and nothing differs from it.",
)
@click.option(
    "--base",
    is_eager=True,
    callback=_take_settings,
    metavar="FOLDER",
    help="Take plan and richter.toml from this copy of the base branch. Exit 4 if they differ here.",
)
@level_option
@click.option("--junit", "junit_path", metavar="PATH", help="Write the result as JUnit XML.")
@click.option("--badge", "badge_path", metavar="PATH", help="Write PASS, FAIL or INCONCLUSIVE as a picture (SVG).")
@md_option
@click.option("--history", metavar="SERIES", help="Put the last ten runs of this series into the Markdown.")
@json_option
def gate() -> None:
    """Can I merge this? PASS ends with status 0, FAIL with 3, INCONCLUSIVE with 4.

    The old result comes first, the new one second. PASS means: the data show that the new one is not worse by --margin
    or more (one-sided 95%). It does not mean better. A plan can require more, and can let INCONCLUSIVE pass with a
    warning (on_undecided).

    \b
    Examples:
      richter gate old=main.csv new=branch.csv --margin 2pt --md comment.md
      richter gate new=branch.csv --baseline main.csv --margin 2pt
      richter plan new gate --set candidate=new --set baseline=old \\
          --set 'require=[{metric="accuracy", rule="no_worse", limit=0.02}]'
      richter plan lock plan.toml
      richter gate plan.toml old=main.csv new=branch.csv --junit gate.xml
      richter gate plan.toml results.csv --md gate.md
    """


@command(
    "_report_output:report",
    reads=WEIGHING,
    vouches=True,
    shown="output md figures only plan on history margin redact force json",
)
@click.argument("sources", nargs=-1, required=True, metavar="RUN|FILE ..")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The page to write. [default: RUN/report.html]")
@md_option
@click.option(
    "--figures", "folder", type=click.Path(path_type=Path), help="Write each figure to a file in this folder."
)
@click.option("--format", "form", type=click.Choice(["svg", "png"]), default="svg", help="Format of the figures.")
@click.option(
    "--only",
    metavar="SECTIONS",
    help="Only these sections, separated by commas: severity, tail, calibration, floors, search, judges.",
)
@click.option("--plan", type=click.Path(path_type=Path), help="The plan to check against. [default: RUN/plan.toml]")
@on_option
@tried_option
@click.option("--history", metavar="SERIES", help="Show the runs of this series, as `richter watch` sees them.")
@level_option
@margin_option
@seed_option
@click.option("--redact", is_flag=True, help="A page without questions, references, answers and reasons.")
@click.option("--force", is_flag=True, help="Overwrite a file that is not a report.")
@click.option(
    "--schema", is_flag=True, is_eager=True, expose_value=False, callback=_print_schema, help="Print the JSON schema."
)
@json_option
def report() -> None:
    """Write what a run or files show as one page that opens offline, and as JSON, Markdown and figures.

    It asks no model. Without -o it writes RUN/report.html, or report.html for files. It replaces an older report, and
    any other file only with --force. The page of a results document has no answers.

    \b
    Examples:
      richter report run1
      richter report old.eval new.eval -o page.html
      richter report answers.csv --map score=quality --scale 1:5
      richter report run1 -o audit.html --md pr.md
      richter report run1 --json - --only severity,floors
      richter report run1 --figures figures --format png
      richter report run1 --redact -o for-others.html
      richter report results.json -o page.html
    """


@command("_watch_output:watch", reads=READING)
@click.argument("sources", nargs=-1, required=True, metavar="SERIES..")
@click.option(
    "--condition",
    multiple=True,
    metavar="NAME",
    help="The model to watch, if runs hold several. Repeat it for a name that it had on other days.",
)
@margin_option
@click.option("--date", metavar="COLUMN", help="The column of dates, where one table holds the whole series.")
@click.option("--independent-days", is_flag=True, help="Assume that days are independent. This finds a change sooner.")
@click.option("--deployed", multiple=True, metavar="DATE", help="The date from which there is another model or prompt.")
@level_option
@json_option
def watch() -> None:
    """Did it get worse? Follow a model over a SERIES: a folder of runs, files by date, or a table with
    dates.

    Look as often as you like: at most 5% of all series (1 - level) give a false alarm. --margin is the loss that
    matters, 5 points if not given. With it Richter says how long the last result holds. Exit status: 0 no loss shown,
    3 worse, 4 too few data to show a jump of 10 points.

    \b
    Examples:
      richter watch runs/                          a folder of runs
      richter watch logs/2026-*.eval --condition new
      richter watch weekly/                        week_2026-W01.csv, week_2026-W02.csv, ..
      richter watch results.csv --date day         one table with dates
    """


@command("_verify_output:verify", reads=READING)
@click.argument("what", metavar="RESULTS|RUN|PLAN")
@click.argument("evidence", nargs=-1)
@json_option
def verify() -> None:
    """Check that results follow from their data, that a run has its end, and that a plan is unchanged since its lock.

    Every claim of a results document is computed again from the data that you name after it. Without data only
    consistency is checked. Exit 0: all follows. 1: something does not. 3: a plan was changed. 4: something was not
    computed again, or records of a run are missing or may be.

    \b
    Examples:
      richter compare grades.csv --json results.json && richter verify results.json grades.csv
      richter verify results.json run1
      richter verify run1
      richter verify plan.toml
    """
