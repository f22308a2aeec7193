"""`richter floors`: what this much data can and cannot show."""

import dataclasses
import math
from typing import Any

import click
import numpy as np
from rich.console import Console

from richter import floors as fl
from richter.audit import FloorsReport, published_scores
from richter.cli._io import PLAIN, Group, cells, grid, json_option, listing, publish, reading_options, split_sources
from richter.records import counted, printable
from richter.tables import ReadOptions, read_tables

RATE = "rate, constant 1"

n_option = click.option("--n", "n", type=click.IntRange(min=1), metavar="N", help="Labelled items.")
error_option = click.option(
    "--error-rate", type=float, metavar="E", help="The model's error rate, or a guess of it, in (0, 1)."
)
lipschitz_option = click.option(
    "--lipschitz", type=float, default=1.0, metavar="L", help="How fast the calibration gap may change with confidence."
)
delta_option = click.option("--delta", type=float, default=0.02, metavar="D", help="The calibration error to resolve.")


@click.group(cls=Group, invoke_without_command=True)
@n_option
@error_option
@lipschitz_option
@delta_option
@click.option("--autocorrelation", type=float, help="Items in sequence whose correlation at lag k is rho^k.")
@click.option("--cluster-size", type=float, help="Items a cluster (passage, template, dialogue).")
@click.option("--intraclass", type=float, help="Correlation of items within a cluster.")
@json_option
@click.pass_context
def floors(
    ctx: click.Context,
    /,
    n: int | None,
    error_rate: float | None,
    lipschitz: float,
    delta: float,
    json_path: str | None,
    **correlation: Any,
) -> None:
    """What N labels at an error rate can and cannot show.

    Rates are orders of magnitude with constant 1. With grades at hand use `richter floors data`, which measures.

    \b
    Examples:
      richter floors --n 14042 --error-rate 0.16 --lipschitz 1.4
      richter floors --n 817 --error-rate 0.25 --delta 0.05 --json floors.json
      richter floors data grades.csv
    """
    if ctx.invoked_subcommand is not None:
        return
    if n is None or error_rate is None:
        raise click.UsageError("Give --n and --error-rate, or a subcommand (richter floors --help).")
    labels, n = n, max(1, int(fl.effective_n(n, **correlation)))
    passive = fl.passive_floor(n, error_rate, lipschitz=lipschitz).value
    accuracy, gap = (fl.accuracy_floor(n, error_rate, conditions=k) for k in (1, 2))
    active, bound = fl.active_floor(n, error_rate), fl.le_cam(n, error_rate)
    bins = fl.bias_variance_bins(n, error_rate, lipschitz=lipschitz)
    limit, phase = fl.detection_limit(n, error_rate), fl.phase(n, error_rate)
    needed = fl.labels_needed(delta, error_rate, lipschitz=lipschitz)
    if n < labels:  # labels that vary together: so many more of them
        worth = fl.effective_n(1, **correlation)
        names = ("estimation", "detection_test", "detection_claim")
        counts = {name: count for name in names if (count := getattr(needed, name)) is not None}
        needed = dataclasses.replace(needed, **{name: math.ceil(count / worth) for name, count in counts.items()})
    payload = {
        "n": n,
        "error_rate": error_rate,
        "lipschitz": lipschitz,
        "passive": passive,
        "active_rate": active,
        "accuracy": accuracy,
        "accuracy_gap": gap,
        "bins": bins,
        "labels_needed": needed,
        "detection_limit": limit,
        "le_cam": bound,
        "phase": phase,
        "constant": 1,
        "note": f"passive and labels_needed.estimation: {RATE}",
        "labels": labels,
    }
    out = publish(payload, json_path)
    if n < labels:
        out.print(f"{labels:,} correlated labels are worth {n:,} independent ones; so are those that are needed.")
    out.print(
        f"{n:,} labels at an error rate of {error_rate:g} resolve calibration errors of about {passive:.4f} ({RATE}) "
        f"and accuracy to {accuracy:.4f}."
    )
    unproved = "its upper bound is not proved, see `richter floors data`"
    detected = "none" if needed.detection_test is None else f"{needed.detection_test:,}"
    rows = [
        ("calibration floor, random labels", f"{passive:.4f}", f"(L e / n)^(1/3); {RATE}"),
        ("calibration rate, chosen labels", f"{active.value:.4f}", f"sqrt(e / n); {RATE}; {unproved}"),
        ("accuracy floor", f"{accuracy:.4f}", "2 sqrt(e (1 - e) / n), one condition"),
        ("accuracy gap, two separate sets", f"{gap:.4f}", "sqrt 2 times that"),
        ("calibration to accuracy", f"{passive / accuracy:.1f} x", "how much harder calibration is to verify"),
        ("least detectable excess error", "none" if limit is None else f"{limit:.4f}", "exact test, 5%, 80% power"),
        ("no estimate is better than", f"{bound.bound:.5f}", "Le Cam's bound, exact binomial sums"),
        ("bins that balance bias and noise", f"{bins}", "floor((L^2 n / e)^(1/3))"),
        ("expected errors", f"{n * error_rate:,.1f}", f"{phase} the phase transition at n e = 1"),
        (f"labels to estimate to {delta:g}", f"{needed.estimation:,}", f"L e / d^3; {RATE}"),
        (f"labels to detect {delta:g}", detected, "exact test where the gap is constant"),
        ("  no method with fewer than", f"{needed.detection_bound:,}", "Le Cam, exact constant"),
    ]
    out.print(grid("||", rows, show_header=False, padding=(0, 2), **PLAIN))


@floors.command()
@click.option("--stages", required=True, metavar="L1,L2,..", help="A Lipschitz constant a stage; 'inf' for a jump.")
@error_option
@delta_option
@click.option("--labels", type=click.IntRange(min=1), help="Labels there are, for the depth they allow.")
@json_option
def pipeline(stages: str, error_rate: float | None, delta: float, labels: int | None, json_path: str | None) -> None:
    """Labels to verify a pipeline of stages end to end.

    \b
    Examples:
      richter floors pipeline --stages 2,2,2 --error-rate 0.05
      richter floors pipeline --stages 2,inf --error-rate 0.05      a retriever jumps: unverifiable
    """
    try:
        parts = [float(s) for s in stages.split(",")]
    except ValueError as error:
        raise click.BadParameter(f"{stages!r} is not a list of numbers.", param_hint="--stages") from error
    rate = 0.05 if error_rate is None else error_rate
    result = fl.compose(parts, delta=delta, error_rate=rate)
    payload = result.to_dict()
    finite = [s for s in parts if math.isfinite(s)]
    if labels is not None and finite:
        payload["depth_limit"] = fl.depth_limit(max(finite), labels=labels, delta=delta, error_rate=rate)
    out = publish(payload, json_path)
    if result.labels is None:
        out.print(f"The pipeline cannot be verified end to end: {result.note}.")
        return
    out.print(
        f"{len(parts)} stages have L at most {result.lipschitz:g} (product + 1); verifying to {delta:g} at an error "
        f"rate of {rate:g} takes {result.labels:,} labels ({result.note})."
    )
    if "depth_limit" in payload:
        depth = payload["depth_limit"]
        out.print(f"{labels:,} labels verify {'any depth' if depth is None else f'at most {depth} such stages'}.")


@floors.command(name="horizon", hidden=True)
@click.option("--labels", type=click.IntRange(min=1), required=True, help="Labels there are in all.")
@click.option("--alpha", type=float, default=0.5, help="The error rate falls as c0 N^-alpha.")
@click.option("--c0", type=float, default=1.0)
@lipschitz_option
@json_option
def horizon_command(labels: int, alpha: float, c0: float, lipschitz: float, json_path: str | None) -> None:
    """The model size beyond which these labels cannot verify a gap as large as the error rate.

    \b
    Examples:
      richter floors horizon --labels 14000
      richter floors horizon --labels 14000 --alpha 0.3
    """
    result = fl.horizon(labels, alpha=alpha, c0=c0, lipschitz=lipschitz)
    payload = result.to_dict() | {"exponents": fl.scaling_exponents(alpha), "stream": fl.dynamics_exponent(alpha)}
    publish(payload, json_path).print(
        f"{labels:,} labels verify models up to size N* = {result.passive:.3g} ({RATE}); the claimed active horizon "
        f"is {result.active_rate.value:.3g} (not proved). Labels grow as N^{alpha:g} for detection and "
        f"N^{2 * alpha:g} for estimation."
    )


@floors.command(name="half-life", hidden=True)
@click.option("--drift", type=float, required=True, help="How fast calibration error may change per unit of time.")
@click.option("--unit", default="month", help="That unit of time.")
@delta_option
@error_option
@lipschitz_option
@json_option
def half_life_command(
    drift: float, unit: str, delta: float, error_rate: float | None, lipschitz: float, json_path: str | None
) -> None:
    """How long a verification holds under drift, and the labels that keep it up.

    \b
    Examples:
      richter floors half-life --drift 0.01 --unit month
      richter floors half-life --drift 0.01 --json -
    """
    result = fl.half_life(delta, drift, error_rate=0.05 if error_rate is None else error_rate, lipschitz=lipschitz)
    publish(result.to_dict() | {"unit": unit}, json_path).print(
        f"A verification to {delta:g} expires after {result.expires_after:.3g} {printable(unit)}s; keeping it up takes "
        f"{result.labels_per_unit:,.0f} labels a {printable(unit)} ({RATE})."
    )


@floors.command(hidden=True)
@click.option("--labels", type=click.IntRange(min=1), required=True, help="Labels there are in all.")
@click.option("--ece", "ece_value", type=float, required=True, help="Calibration error before the first round.")
@click.option("--factor", type=float, default=0.5, help="What a round leaves of it.")
@error_option
@json_option
def recalibration(
    labels: int, ece_value: float, factor: float, error_rate: float | None, json_path: str | None
) -> None:
    """Rounds of recalibration after which these labels no longer show an improvement.

    \b
    Examples:
      richter floors recalibration --labels 14000 --ece 0.10 --error-rate 0.05
      richter floors recalibration --labels 2000 --ece 0.05 --error-rate 0.1
    """
    rate = 0.05 if error_rate is None else error_rate
    result = fl.recalibration_rounds(labels, ece_value, error_rate=rate, factor=factor)
    publish(result, json_path).print(
        f"After {result.rounds} rounds {labels:,} labels cannot show a further improvement ({RATE})."
    )


@floors.command(hidden=True)
@click.option("--shift", type=float, required=True, help="Accuracy wanted for the change by fine-tuning.")
@click.option("--shift-lipschitz", type=float, help="Smoothness of that change; default: the model's.")
@delta_option
@error_option
@lipschitz_option
@json_option
def transfer(
    shift: float,
    shift_lipschitz: float | None,
    delta: float,
    error_rate: float | None,
    lipschitz: float,
    json_path: str | None,
) -> None:
    """Labels for a fine-tuned model whose parent was verified, against a fresh audit.

    \b
    Examples:
      richter floors transfer --shift 0.02 --shift-lipschitz 0.2 --error-rate 0.1
      richter floors transfer --shift 0.05 --shift-lipschitz 0.5 --error-rate 0.1
    """
    rate = 0.05 if error_rate is None else error_rate
    result = fl.transfer_labels(shift, delta, error_rate=rate, lipschitz=lipschitz, shift_lipschitz=shift_lipschitz)
    word = "saves labels" if result.helps else "saves nothing"
    publish(result, json_path).print(
        f"Building on the verified parent {word}: {result.with_transfer:,} labels for the change to {shift:g}, "
        f"{result.from_scratch:,} for a fresh audit to {delta:g} ({RATE})."
    )


@floors.command()
@click.argument("scores", nargs=-1, required=True, metavar="SCORE_A SCORE_B | FILE")
@click.option("--n", type=click.IntRange(min=1), help="Items of the benchmark.")
@click.option("--n-b", type=click.IntRange(min=1), help="Items behind the second score, if others.")
@click.option("--names", nargs=2, default=("A", "B"))
@click.option("--level", type=float, default=0.95)
@json_option
@click.pass_context
def published(
    ctx: click.Context,
    scores: tuple[str, ...],
    n: int | None,
    n_b: int | None,
    names: tuple[str, str],
    level: float,
    json_path: str | None,
) -> None:
    """Whether published scores differ, when the items are not at hand. Exit 4 if a pair is undecided.

    FILE is a table of them: `model`, `score` (0 to 1, or percentages), `n`, and `benchmark` where there are several.
    All pairs within a benchmark are decided together, by Holm.

    \b
    Examples:
      richter floors published 0.864 0.868 --n 14042 --names GPT-4 "Claude 3 Opus"
      richter floors published leaderboard.csv
    """
    if len(scores) == 1:
        board = fl.published_board(published_scores(scores[0]), level=level)
        out = publish(board, json_path, inputs=[scores[0]])
        out.print(board.sentence)
        columns = "benchmark: {r.name}|pairs: {r.pairs:,}|shown: {r.shown:,}|not shown: {r.undecided:,}|"
        out.print(listing(columns + "below the paper's floor: {r.below:,}", board.benchmarks, **PLAIN))
        for claim in [c for c in board.claims if not c.decided][:10]:
            out.print(printable(f"  {claim.sentence}"))
        ctx.exit(0 if all(c.decided for c in board.claims) else 4)
    try:
        score_a, score_b = (float(x) for x in scores)
    except ValueError as error:
        raise click.UsageError("Give two scores, or one table of them.") from error
    if n is None:
        raise click.UsageError("Two scores need --n, the items of the benchmark.")
    result = fl.published_gap(score_a, score_b, n, n_b=n_b, names=names, level=level)
    out, claim = publish(result, json_path), result.claim
    assert claim.interval is not None
    out.print(printable(claim.sentence))
    out.print(
        f"  gap {claim.estimate:+.4f} [{claim.interval.low:+.4f}, {claim.interval.high:+.4f}], "
        f"unpaired p {claim.p:.3g}; accuracy floor {result.floor:.4f}"
    )
    if result.p_if_paired_at_best is not None and not claim.decided:
        out.print(f"  on the same items pairing could at best give p {result.p_if_paired_at_best:.3g}: ask for them")
    ctx.exit(0 if claim.decided else 4)


@floors.command(hidden=True)
@json_option
def presets(json_path: str | None) -> None:
    """Labels under the paper's illustrative readings of three regulations (its table 7; none of it is law).

    \b
    Examples:
      richter floors presets
      richter floors presets --json -
    """
    payload, rows = {}, []
    columns = "{key}|{r.title}|{r.groups}|{r.min_share:g}|{r.delta:g}|{r.error_rate:g}|{labels.total:,}|"
    for key, preset in fl.PRESETS.items():
        labels = preset.labels()
        payload[key] = labels.to_dict() | {"title": preset.title, "available": preset.available}
        named = {"key": key, "labels": labels, "gap": labels.total / preset.available}
        rows.append(cells(columns + "{labels.active_rate.value:,}|{gap:.1f} x", preset, **named))
    out = publish(payload, json_path)
    out.print(grid("preset|framework|groups|share|delta|error|labels|active*|gap", rows, box=None))
    out.print(f"Labels: {RATE}. gap: labels asked over labels the paper knows of. *: a rate that is not proved.")


@floors.command()
@click.argument("sources", nargs=-1, required=True, metavar="FILE|RUN ..")
@reading_options
@click.option("--seed", type=click.IntRange(0), default=0)
@click.option("--level", type=float, default=0.95)
@json_option
def data(sources: tuple[str, ...], reading: ReadOptions, seed: int, level: float, json_path: str | None) -> None:
    """What a grades file, or a run, shows of each condition: measured first, floors beside it.

    \b
    Examples:
      richter floors data grades.csv
      richter floors data run1 --json -
    """
    from richter.audit import measure_grades

    files, names = split_sources(sources)
    tables = read_tables(*files, options=reading)
    tables = tables.select(names) if names else tables
    report = measure_grades(tables, rng=np.random.default_rng(seed), level=level)
    show_floors(publish(report, json_path, inputs=files), report)


@floors.command(name="next")
@click.argument("file", metavar="GRADES")
@click.option("--budget", type=click.IntRange(min=1), required=True, help="Labels in all, those there are included.")
@click.option("--size", type=click.IntRange(min=1), help="Items to name now; default: the rest of the phase.")
@click.option("--condition", help="The condition, where the file has several.")
@click.option("--signal", default="confidence", help="Column that orders items, e.g. a judge's score.")
@click.option("--seed", type=click.IntRange(0), default=0)
@click.option("--level", type=float, default=0.95)
@click.option("--memory", metavar="PATH", help="Where to keep what was asked for; default: GRADES.asked.json.")
@json_option
def next_items(file: str, budget: int, memory: str | None, json_path: str | None, **options: Any) -> None:
    """Which items of a scored pool to label next, and what the labels so far say of all of it.

    GRADES has `correct` empty where nobody has looked. Label what is named, fill it in, and run the command again. What
    was asked for is kept in GRADES.asked.json: items that were passed over are named, because they bias the estimate.

    \b
    Examples:
      richter floors next pool.csv --budget 300
      richter floors next pool.csv --budget 300 --signal judge --json next.json
    """
    from richter.audit import next_labels

    result = next_labels(file, budget=budget, memory=memory or f"{file}.asked.json", **options)
    out = publish(result, json_path, inputs=[file])
    if result.estimate is None:
        out.print(f"Nothing can be said of {printable(result.condition)} yet: {result.labelled} of {budget} labels.")
    else:
        e = result.estimate
        out.print(
            f"{printable(result.condition)} is wrong in {100 * e.error_rate:.1f}% "
            f"[{100 * e.error_interval.low:.1f}, {100 * e.error_interval.high:.1f}] of the pool of {result.pool:,}; "
            f"ECE {e.ece_debiased:.3f} [{e.ece_interval.low:.3f}, {e.ece_interval.high:.3f}]; "
            f"{result.labelled} of {budget} labels."
        )
    for warning in result.warnings:
        out.print(f"Note: {warning}")
    for item in result.skipped[:10]:
        out.print(f"  passed over: {printable(item)}")
    if not result.items:
        out.print("The budget is spent." if result.phase == "done" else "No item is left to label.")
        return
    out.print(f"Label next ({result.phase}, {len(result.items)} items):")
    for item in result.items:
        out.print(f"  {printable(item)}")


def show_floors(out: Console, report: FloorsReport) -> None:
    """Print measured values with the floors beside them."""
    for measured in report.conditions:
        s = measured.summary
        if s.error_rate is None or s.error_rate_interval is None:
            out.print(f"{printable(s.name)}: {printable('; '.join(s.warnings))}.")
            continue
        rate = f"{100 * s.error_rate:.1f}%" if s.error_rate else f"under {100 * s.error_rate_interval.high:.2g}%"
        text = f"{printable(s.name)} is wrong in {rate} of {counted(s.n, 'item')}"
        if s.ece_interval is not None:
            low, high = s.ece_interval.low, s.ece_interval.high
            text += f"; ECE {s.ece_debiased:.3f} [{low:.3f}, {high:.3f}]"
        out.print(text + ".")
    out.print()
    columns = (
        "condition: {r.summary.name:30}|ECE half-width: {r.summary.ece_interval.half_width:.4f}|"
        "floor*: {r.summary.floor:.4f}|L (interval; noise): {r.summary.lipschitz_detail.estimate:.2f} "
        "[{r.summary.lipschitz_detail.interval.low:.2f}, {r.summary.lipschitz_detail.interval.high:.2f}; "
        "{r.summary.lipschitz_detail.noise:.2f}]|accuracy floor: {r.accuracy_floor:.4f}|"
        "knows its gap: rho {r.self_evaluation.rho_gap:+.2f} (p {r.self_evaluation.p_gap:.2g}); "
        "right/wrong {r.self_evaluation.rho_accuracy:+.2f} (p {r.self_evaluation.p_accuracy:.2g})"
    )
    out.print(listing(columns, report.conditions, box=None))
    out.print("  * (L e / n)^(1/3), a rate with constant 1: the measured half-width beside it decides.")
    if report.self_evaluation:
        out.print(printable(report.self_evaluation))
    if report.subjects is not None:
        noise = report.subjects
        out.print(
            f"By subject: {100 * noise.share_below_floor:.0f}% of gaps lie below the accuracy floor, "
            f"{100 * noise.share_undecided:.0f}% of pairs are not told apart, {noise.unranked} of "
            f"{len(noise.subjects)} subjects rank nobody; the order changes in "
            f"{100 * noise.mean_instability:.0f}% of resamples."
        )
    for measured in report.conditions:
        for warning in measured.summary.warnings:
            out.print(f"  {printable(measured.summary.name)}: {printable(warning)}")
    for note in report.notes:
        out.print(f"  {printable(note)}")
