"""The options and help of `plan` and `label`; their bodies load when they run."""

from pathlib import Path

import click

from richter.cli._options import command, json_option, level_option, one_of, page_options, seed_option


@command("_plan_output:plan_new")
@click.argument("kind", type=click.Choice(["gate", "severity", "tail"]))
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Set a field; may be given several times.")
@click.option("-o", "--output", "output", metavar="PATH", default="plan.toml", help="Where to write; '-' prints.")
def plan_new() -> None:
    """Write a plan of this KIND with every field, its meaning and its default, before looking at data.

    A result is confirmatory when its plan was locked before the answers came and has not changed since.
    `richter verify PLAN` checks it.

    \b
    Examples:
      richter plan new tail --set tolerance_mean=0.1 --set tolerance_tvar=0.2
      richter plan new tail -o toxicity.toml --set 'transform="logit"' --set band=[0.95,0.97]
    """


@command("_plan_output:plan_lock")
@click.argument("file", metavar="PLAN")
@json_option
def plan_lock() -> None:
    """Lock PLAN: write its hash, the time and the versions to PLAN.lock.

    \b
    Examples:
      richter plan lock plan.toml
      richter plan lock gates/release.toml
    """


@command("_label_output:label")
@click.argument("run", type=Path)
@click.argument("conditions", nargs=-1)
@click.option(
    "--on",
    type=one_of("richter.claims", "labelled_measures"),
    metavar="MEASURE",
    help="The measure of the claim. By default the one that the run is graded by.",
)
@click.option("--rater", default="", show_default=False, help="Who labels; your user name by default.")
@click.option("--n", type=click.IntRange(2), default=60, help="Answers in the first sample.")
@click.option("--batch", type=click.IntRange(1), default=20, help="Answers added at a time.")
@click.option("--most", type=click.IntRange(2), default=200, help="Answers at most.")
@seed_option
@page_options
@click.option("--sheet", type=click.Path(path_type=Path), help="Write a blind sheet (CSV) instead of serving a page.")
@click.option("--import", "source", type=click.Path(path_type=Path), help="Read a filled sheet or a ratings table.")
def label() -> None:
    """Label answers by hand until a claim is decided. The page hides who answered and what judges said.

    The claim is on two CONDITIONS, by default the run's first two. All raters label the same sample, each in an order
    of their own. Every further batch goes where labels narrow the claim most. Labelling ends when the claim is
    decided, or at --most answers.

    The page saves each label at once. Close it whenever you like, and start again to go on. Keys: 0 to 4 for the
    level, a full stop for the half step above it, a letter for the mechanism. Enter saves, U goes back, ? shows the
    scale.

    \b
    Examples:
      richter label run1 --rater anna
      richter label run1 old new --on accuracy --most 120
      richter label run1 --sheet labels.csv --rater anna
      richter label run1 --import labels.csv --rater anna
      richter compare run1
    """


@command("_agreement_output:label_agreement", reads=("map", "layout"))
@click.argument("file", metavar="FILE", type=click.Path())
@click.option(
    "--kind",
    type=click.Choice(["human", "judge", "rule"]),
    help="Only this kind of rating; an error where there is none.",
)
@click.option("--reference", type=click.Choice(["human", "rule"]), help="Hold the judges against this kind.")
@click.option("--by", type=click.Choice(["condition", "domain"]), help="Also for each condition or each domain.")
@click.option("--any-scale", is_flag=True, help="Ratings on another scale than 0 to 4 in half steps.")
@level_option
@json_option
def label_agreement() -> None:
    """How far raters and judges agree, and what that is worth.

    FILE is a ratings table (item, condition, rater, kind, severity), a scores table with judge_1 and judge_2, or a run
    folder. Each kind of rating (human, judge, rule) is reported by itself; with a human or rule reference, judges are
    held against it, and judge figures are corrected by the human labels.

    \b
    Examples:
      richter label agreement ratings.csv
      richter label agreement ratings.csv --kind human --by domain
      richter label agreement runs/facts --reference rule --json -
    """


@command("_label_output:label_next")
@click.argument("file", metavar="GRADES")
@click.option("--budget", type=click.IntRange(min=1), required=True, help="Labels in all, those there are included.")
@click.option("--size", type=click.IntRange(min=1), help="Questions to name now. By default the rest of the phase.")
@click.option("--condition", help="The condition, where the file has several.")
@click.option("--signal", default="confidence", help="Column that orders questions, for example a judge's score.")
@json_option
def label_next() -> None:
    """Name the questions of a scored pool to label next, and say what the labels so far show of the whole pool.

    GRADES has `correct` empty where nobody has looked. Label what is named, fill it in, and run the command again. What
    was asked for is kept in GRADES.asked.json: questions that were passed over are named, because they bias the
    estimate.

    \b
    Examples:
      richter label next pool.csv --budget 300
      richter label next pool.csv --budget 300 --signal judge --json next.json
    """
