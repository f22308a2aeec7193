"""The options and help of `severity`, `severity tail` and `calibration`; their bodies load when they run."""

from pathlib import Path

import click

from richter.cli._options import (
    READING,
    WEIGHING,
    command,
    json_option,
    level_option,
    margin_option,
    one_of,
    resamples_option,
    seed_option,
)


@command(
    "_severity_output:severity",
    reads=WEIGHING,
    vouches=True,
    shown="control on margin all human plan traffic require level seed json",
)
@click.argument("sources", nargs=-1, required=True, metavar="FILE|RUN .. [A B ..]")
@click.option("--control", metavar="NAME", help="Compare all others with this one, not all pairs.")
@click.option(
    "--on",
    "primary",
    type=one_of("richter.severity", "MEASURES"),
    metavar="MEASURE",
    help="The main measure. [default: severity_given_error]",
)
@margin_option
@click.option(
    "--min-shared",
    type=click.FloatRange(0, 1),
    default=0.5,
    help="Refuse a pair that shares less than this share of its questions.",
)
@click.option("--all", "everything", is_flag=True, help="Print every claim, the rates at all levels and the law.")
@click.option("--human", metavar="RATINGS", help="Ratings table with human labels: severities as people would rate.")
@click.option("--plan", metavar="PLAN", help="A severity plan (richter plan new severity). Locked: confirmatory.")
@click.option("--any-scale", is_flag=True, help="Severities may exceed 4: no law, no rates at levels.")
@click.option("--traffic", metavar="MIX", help="Table of `share` by `domain` and/or `tier`: weight to your traffic.")
@click.option("--require", metavar="RULE", multiple=True, help="As 'severity>=3 below 100 per million'.")
@resamples_option(200, usual=2000)
@click.option("--level", type=click.FloatRange(0.5, 0.9999), help="[default: 0.95]")
@click.option("--seed", type=click.IntRange(0), default=0, help="Without a plan; with one, its hash is the seed.")
@json_option
def severity() -> None:
    """Whose errors are worse, and how bad are they?

    FILE is a run, a log, or a table with id, model and severity (0 right to 4 worst). Other columns may be group,
    domain, tier, judge_1 and judge_2. Human labels of some answers correct the grades of judges or rules. With
    --require the exit status is 0 (PASS), 3 (FAIL) or 4 (INCONCLUSIVE).

    \b
    Examples:
      richter severity scores.csv
      richter severity bot_a.jsonl bot_b.jsonl --map score=judge_score --as-severity 5:1
      richter severity scores.csv --control base --on severe_given_error_3
      richter severity scores.csv --margin 0.2 --margin catastrophic_rate=0.5pt
      richter severity scores.csv --require "severity>=3 below 100 per million"
      richter severity scores.csv --traffic mix.csv --json result.json
      richter severity scores.csv --human ratings.csv --all
      richter severity mqm.csv --map score=mqm --as-severity 0:-25
    """


@command(
    "_tail_output:severity_tail",
    reads=READING,
    vouches=True,
    shown="plan q transform tolerance-mean tolerance-tvar delta probe scan level seed json",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE ..")
@click.option("--plan", "plan_path", metavar="PLAN", help="A tail plan (richter plan new tail). Locked: confirmatory.")
@click.option("--q", type=float, help="Threshold quantile of each model. [default: 0.95]")
@click.option(
    "--transform",
    type=click.Choice(["identity", "logit", "log", "cloglog"]),
    help="Scale of the comparison. [default: identity]",
)
@click.option(
    "--tolerance-mean", type=float, help="G1's band. [default without a plan: 0.1 pooled standard deviations]"
)
@click.option(
    "--tolerance-tvar", type=float, help="G2's band. [default without a plan: 0.2 pooled standard deviations]"
)
@click.option(
    "--exceedances",
    type=click.Choice(["both", "floor", "bound"]),
    help="G3: the paper's 500 suffice (floor), those of its eq. 2 are needed (bound); both: in between is undecided. "
    "[default: both]",
)
@click.option("--delta", type=float, help="P2: the smallest difference of shape worth a claim. [default: 0.1]")
@click.option("--level", type=click.FloatRange(0.5, 0.9999), help="[default: 0.95]")
@resamples_option(200, usual=10000)
@click.option(
    "--probe",
    metavar="CLEAN:PERTURBED",
    help="Compare a model with its perturbed copy; it does not count among the comparisons.",
)
@click.option("--scan", is_flag=True, help="Add the shape over 60 thresholds per model.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Without a plan; with one, its hash is the seed.")
@json_option
def severity_tail() -> None:
    """Run the tail protocol on a numeric column of FILE, which is any data that `richter compare` takes.

    The column is the one that --map or the plan names, else the severities, else the score. Higher is worse, unless
    --better higher is given; --scale says that the scorer cannot leave this range.

    Every pair of conditions goes through all gates: equal mean (G1) and tail mean (G2), enough exceedances (G3), a
    GPD that fits (G4) and is stable (G5), disjoint intervals (P1) and a difference worth a claim (P2). The checks of
    `richter compare` come first: items, raters, labels and missing values may block a pair.

    \b
    Examples:
      richter severity tail scores.csv --map score=nll
      richter severity tail scores.csv --map score=toxicity --scale 0:1 --transform logit --json -
      richter severity tail scores.csv --plan plan.toml --json result.json
      richter severity tail mqm.tsv --better higher --map score=mqm --map item=seg_id --map condition=system
    """


@command("_calibration_output:calibration", reads=READING)
@click.argument("sources", nargs=-1, required=True, metavar="FILE|RUN ..")
@level_option
@click.option(
    "--target-error",
    "target",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    help="Share of errors allowed to answers that it gives alone.",
)
@click.option(
    "--by",
    type=click.Choice(["domain", "subject", "tier", "group"]),
    help="Show error rate and ECE by this, partially pooled.",
)
@click.option(
    "--refusals",
    type=click.Choice(["keep", "leave-out"]),
    default="keep",
    help="Questions that were declined count as wrong answers, or are left out.",
)
@click.option(
    "--splits",
    type=click.IntRange(min=1),
    help="Random half-splits for Sem2 (the paper's is 10). Without it: the exact average over all of them.",
)
@click.option(
    "--questions",
    "questions_path",
    type=click.Path(path_type=Path),
    help="Draws: write margin, regime, Sem1, Sem2 and their gap per question to PATH (.csv, .parquet, .jsonl).",
)
@click.option("--pipeline", "is_pipeline", is_flag=True, help="FILE holds the stages of a pipeline, see below.")
@click.option("--svg", "svg_folder", type=click.Path(path_type=Path), help="Write the figures to this folder as SVG.")
@seed_option
@json_option
def calibration() -> None:
    """Does the model know when it is wrong?

    FILE is a table with id, model, correct and confidence (0 to 1). Without confidences it may hold repeated answers
    (id, model, draw, answer): then confidence is how often the model repeats its answer, on all repeats (Sem1) and on
    held-out halves (Sem2). A run of `richter audit --only draw` works too.

    With --pipeline the columns are correct_1, confidence_1, correct_2, confidence_2, ...: the stages in order. The
    whole is right where every stage is. Its confidence is their product.

    \b
    Examples:
      richter calibration grades.csv
      richter calibration grades.csv --target-error 0.02      from which confidence may it answer alone?
      richter calibration stages.csv --pipeline               two stages and their composition
      richter calibration grades.csv --by subject --svg figures
      richter calibration run1/draws.jsonl --json calibration.json
      richter calibration draws.jsonl --splits 10 --seed 1        the paper's Sem2
      richter calibration draws.jsonl --questions hardest.csv
    """
