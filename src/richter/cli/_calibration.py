"""`richter calibration`: does the model know when it is wrong?"""

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from richter.audit import CalibrationReport, DrawsCondition, GradesCondition, measure_calibration
from richter.calibration import EceResult
from richter.cli._output import console, json_option, write_json
from richter.records import printable

__all__ = ["calibration"]


@click.command()
@click.argument("file", type=click.Path())
@click.option("--bins", type=click.IntRange(min=1), default=10, show_default=True, help="Bins of confidence.")
@click.option(
    "--binning",
    type=click.Choice(["width", "mass"]),
    default="width",
    show_default=True,
    help="Bins of equal width or of equal counts.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of the intervals.")
@click.option(
    "--splits",
    type=click.IntRange(min=1),
    help="Random half-splits for Sem2 (the paper's is 10). Without it: the exact average over all of them.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random.")
@json_option
def calibration(
    file: str, bins: int, binning: str, level: float, splits: int | None, seed: int, json_path: str | None
) -> None:
    """Does the model know when it is wrong?

    FILE is a grades table (item, condition, correct, confidence) or a draws table (item, condition, draw, answer,
    and if there: cluster, correct, reference, confidence). On draws, confidence is how often the model repeats its
    answer, on all draws (Sem1) and on held-out halves (Sem2).

    \b
    richter calibration grades.csv
    richter calibration draws.jsonl --json calibration.json
    richter calibration draws.jsonl --splits 10 --seed 1
    """
    report = measure_calibration(
        file, rng=np.random.default_rng(seed), bins=bins, binning=binning, level=level, splits=splits
    )
    write_json(report, json_path, inputs=[file])
    out = console(json_path)
    for note in report.notes:
        out.print(note)
    for condition in report.conditions:
        out.print(_sentence(condition))
    _tables(out, report)


def _calibration_sentence(result: EceResult, *, what: str) -> str:
    low, high = result.interval.low, result.interval.high
    side = "more" if result.signed_gap > 0 else "less"
    if low > 0:
        return (
            f"{what} is miscalibrated: ECE {result.debiased:.3f} debiased ({low:.3f} to {high:.3f}), "
            f"{side} confident than right by {abs(result.signed_gap):.3f} on average."
        )
    return (
        f"{what} is not shown to be miscalibrated: ECE {result.ece:.3f}, where a calibrated model would show "
        f"{result.null:.3f}; the data allow an ECE of up to {high:.3f}."
    )


def _sentence(condition: GradesCondition | DrawsCondition) -> str:
    name = printable(condition.name, limit=60)
    if isinstance(condition, GradesCondition):
        if condition.result is None:
            return f"{name}: untestable; {condition.reason}."
        return f"{name}: " + _calibration_sentence(condition.result, what="confidence")
    if condition.sem is None:
        return f"{name}: untestable; {condition.reason}."
    result = condition.sem.sem2 or condition.sem.sem1
    return f"{name}: " + _calibration_sentence(result, what="agreement with itself")


def _row(name: str, source: str, result: EceResult) -> list[str]:
    return [
        name,
        source,
        f"{result.n:,}",
        f"{result.accuracy:.3f}",
        f"{result.mean_confidence:.3f}",
        f"{result.ece:.3f}",
        f"{result.null:.3f}",
        f"{result.debiased:.3f}",
        f"{result.interval.low:.3f} to {result.interval.high:.3f}",
        f"{result.brier:.3f}",
        "-" if result.auroc is None else f"{result.auroc:.3f}",
    ]


def _tables(out: Console, report: CalibrationReport) -> None:
    table = Table(box=None, pad_edge=False, header_style="")
    heads = (
        "condition",
        "confidence",
        "n",
        "accuracy",
        "mean",
        "ECE",
        "null",
        "debiased",
        "interval",
        "Brier",
        "AUROC",
    )
    for head in heads:
        table.add_column(head, justify="left" if head in ("condition", "confidence") else "right", no_wrap=True)
    lines = []
    for condition in report.conditions:
        name = printable(condition.name, limit=28)
        if isinstance(condition, GradesCondition):
            if condition.result is not None:
                table.add_row(*_row(name, "given", condition.result))
                lines += [f"{name}: {note}" for note in (*condition.result.notes, *condition.notes)]
            else:
                lines += [f"{name}: {note}" for note in condition.notes]
            continue
        if condition.sem is not None:
            table.add_row(*_row(name, "Sem1, all draws", condition.sem.sem1))
            if condition.sem.sem2 is not None:
                table.add_row(*_row("", "Sem2, held out", condition.sem.sem2))
            if condition.verbalised is not None:
                table.add_row(*_row("", "stated, else 1", condition.verbalised.imputed))
                if condition.verbalised.dropped is not None:
                    table.add_row(*_row("", "stated only", condition.verbalised.dropped))
            lines += [f"{name}: {note}" for note in condition.sem.notes]
        lines += [f"{name}: {note}" for note in condition.notes]
        found = condition.regimes
        lines.append(
            f"{name}: classes {condition.clusters}; {found.large} questions of large margin, {found.low} of low, "
            f"{found.jensen} of them Jensen-dominated."
        )
    if table.row_count:
        out.print(table)
    for line in lines:
        out.print(line)
    out.print("null: what a calibrated model with these confidences shows. debiased and interval allow for it.")
