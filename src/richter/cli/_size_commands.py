"""The options and help of `size` and what goes with it; their bodies load when they run."""

from pathlib import Path

import click

from richter.cli._options import (
    READING,
    WEIGHING,
    cluster_options,
    command,
    json_option,
    level_option,
    margin_option,
    parse_share,
    seed_option,
)


@command(
    "_size_output:size",
    reads=WEIGHING,
    vouches=True,
    shown="margin discordance accuracy on published rate half-width below power level json",
)
@click.argument("sources", nargs=-1, metavar="[FILE|RUN A B]")
@margin_option
@click.option(
    "--discordance",
    type=parse_share,
    metavar="12%",
    help="Share of questions on which exactly one is right. By default it follows from --accuracy and --phi.",
)
@click.option("--accuracy", nargs=2, type=parse_share, metavar="A B", help="The two accuracies expected.")
@click.option("--phi", type=float, help="Correlation of their grades over questions. By default 0.3.")
@click.option("--pairs", type=click.IntRange(min=1), default=1, help="Pairs that are compared together.")
@click.option("--on", metavar="METRIC", help="With data: the measure that is compared.")
@click.option("--cost-item", type=float, default=0.0, help="With data: the cost of a new question.")
@click.option("--cost-draw", type=float, default=1.0, help="With data: the cost of one answer.")
@click.option(
    "--rate", type=parse_share, metavar="2%", help="One error rate instead of a difference: the rate expected."
)
@click.option("--half-width", type=parse_share, metavar="2pt", help="With --rate: the interval wanted around it.")
@click.option("--below", type=parse_share, metavar="1%", help="Show an error rate to be below this.")
@click.option("--errors", type=click.IntRange(min=0), default=0, help="With --below: errors allowed.")
@click.option(
    "--published", metavar="TABLE", help="Instead: do published scores differ? Columns model, score, n, benchmark."
)
@cluster_options
@click.option("--power", type=click.FloatRange(0.05, 0.9999), default=0.8)
@level_option
@json_option
def size() -> None:
    """How many questions does a claim need?

    By default the claim is that two models differ by --margin, on questions that both answer; with --unpaired each
    has questions of its own. Without a margin the
    sizes are for 5 and 2 points, or for the difference of --accuracy. Data of two models say how much answers vary,
    and if more questions or more repeats are cheaper. With --rate or --below the claim is on one error rate.

    \b
    Examples:
      richter size old.csv new.csv                          for 5 and for 2 points
      richter size pilot.csv old new --margin 2pt --cost-item 0.5 --cost-draw 0.01
      richter size --accuracy 0.80 0.84                     no data yet: 80% and 84% expected
      richter size --margin 2pt --accuracy 0.85 0.87 --phi 0.4
      richter size --margin 1pt --discordance 0.12 --pairs 10
      richter size --rate 0.1 --half-width 2pt
      richter size --below 0.01 --errors 2
      richter size --published leaderboard.csv              exit 4 if a pair is inconclusive
    """


@command(
    "_size_calibration_output:size_calibration",
    reads=READING,
    shown="delta error-rate lipschitz n pipeline groups min-share preset phase level json",
)
@click.argument("sources", nargs=-1, metavar="[FILE|RUN ..]")
@click.option("--delta", type=parse_share, metavar="2pt", default=0.02, help="The calibration error to resolve.")
@click.option("--error-rate", type=parse_share, metavar="5%", default=0.05, help="The error rate expected.")
@click.option(
    "--lipschitz", type=float, default=1.0, metavar="L", help="How fast the calibration gap may change with confidence."
)
@click.option("--n", "n", type=click.IntRange(min=1), metavar="N", help="Labels that there are: say what they resolve.")
@cluster_options
@click.option(
    "--pipeline", metavar="L1,L2,..", help="A Lipschitz constant for each stage of a pipeline; 'inf' for a jump."
)
@click.option("--groups", type=click.IntRange(min=1), default=1, help="Groups that are verified one after the other.")
@click.option("--min-share", type=float, help="Share of the smallest group.")
@click.option(
    "--preset",
    type=click.Choice(["all", "eu-ai-act", "fda-samd", "nist-rmf"]),
    help="The paper's reading of a regulation.",
)
@click.option(
    "--phase", is_flag=True, help="With data: how many labels show miscalibration, in parts of your own grades."
)
@click.option("--runs", type=click.IntRange(min=2), default=100, help="With --phase: parts of each size.")
@click.option(
    "--svg", "svg_folder", type=click.Path(path_type=Path), help="With --phase: write the figure to this folder."
)
@seed_option
@level_option
@json_option
def size_calibration() -> None:
    """How many labels does a claim on calibration need, and what can the labels at hand show?

    Each option adds its line. Rates are orders of magnitude with constant 1. With data the values are measured, and the
    rates stand beside them.

    \b
    Examples:
      richter size calibration --delta 0.02 --error-rate 0.05
      richter size calibration --n 14042 --error-rate 0.16 --lipschitz 1.4
      richter size calibration --min-share 0.1 --groups 4 --delta 0.03
      richter size calibration --preset eu-ai-act
      richter size calibration --pipeline 2,inf               a retriever jumps: unverifiable
      richter size calibration grades.csv                     what these grades show
      richter size calibration grades.csv --phase             how many labels it takes to see it
    """


@command("_size_output:size_tail")
@click.option("--delta-xi", "delta", type=float, default=0.1, help="The smallest difference of shape worth a claim.")
@click.option("--q", type=float, default=0.95, help="The threshold: only what lies above it counts.")
@click.option("--xi", type=float, default=0.0, help="The shape expected.")
@click.option("--conditions", type=click.IntRange(2), default=2, help="Models in the matrix of pairs.")
@click.option("--usd-per-call", type=float, help="The price of one answer, to give the cost.")
@json_option
def size_tail() -> None:
    """How many questions does a claim need that two tail shapes differ?

    All gates of `richter severity tail` that rest on the number of questions pass with a power of 80%. G1
    and G2 (equal means and tail means within the plan's tolerances) rest on the scores: they are taken as passed.

    \b
    Examples:
      richter size tail --delta-xi 0.1 --q 0.95
      richter size tail --delta-xi 0.2 --conditions 4 --usd-per-call 0.0004
    """
