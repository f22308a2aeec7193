"""`richter calibration`: does the model know when it is wrong?"""

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from richter.audit import (
    CalibrationReport,
    DrawsCondition,
    GradesCondition,
    calibration_sentence,
    measure_calibration,
    question_table,
    read_draws,
)
from richter.calibration import EceResult, RecalibrationAdvice
from richter.cli._engine import engine_options
from richter.cli._mapper import open_mapper
from richter.cli._output import console, json_option, write_json
from richter.cli._progress import money
from richter.cli._reading import reading_options, split_sources
from richter.errors import InputError
from richter.interop import export_table
from richter.records import Interval, printable
from richter.stats import in_threads
from richter.tables import ReadOptions

__all__ = ["calibration"]


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="FILE|RUN ..")
@reading_options
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
@click.option(
    "--precision",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.02,
    show_default=True,
    help="Draws: how closely mean confidence should be known, for the number of draws advised.",
)
@click.option(
    "--questions",
    "questions_path",
    type=click.Path(path_type=Path),
    help="Draws: write margin, regime, Sem1, Sem2 and their gap per question to PATH (.csv, .parquet, .jsonl).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random.")
@engine_options
@json_option
def calibration(
    sources: tuple[str, ...],
    reading: ReadOptions,
    bins: int,
    binning: str,
    level: float,
    splits: int | None,
    precision: float,
    questions_path: Path | None,
    seed: int,
    engine: str,
    workers: int | None,
    json_path: str | None,
) -> None:
    """Does the model know when it is wrong?

    FILE is a grades table (item, condition, correct, confidence), a draws table (item, condition, draw, answer, and
    if there: question, cluster, correct, reference, confidence), or a run that `richter draw` made. On draws,
    confidence is how often the model repeats its answer: on all draws (Sem1) and on held-out halves (Sem2).

    \b
    richter calibration grades.csv
    richter calibration run1/draws.jsonl --json calibration.json
    richter calibration draws.jsonl --splits 10 --seed 1        the paper's Sem2
    richter calibration draws.jsonl --questions hardest.csv
    """
    files, names = split_sources(sources)
    tables = read_draws(*files, options=reading)
    with open_mapper(engine, workers=workers, label="measuring", local=in_threads) as mapper:
        report = measure_calibration(
            tables.select(names) if names else tables,
            rng=np.random.default_rng(seed),
            bins=bins,
            binning=binning,
            level=level,
            splits=splits,
            precision=precision,
            mapper=mapper,
        )
    if questions_path is not None:
        if questions_path.exists() and any(Path(f).exists() and questions_path.samefile(f) for f in files):
            raise InputError(f"--questions {questions_path} would overwrite the input.", remedy="Choose another path.")
        export_table(question_table(report), questions_path)
    write_json({**report.to_dict(), "notes": tables.notes}, json_path, inputs=[f.partition("=")[2] or f for f in files])
    out = console(json_path)
    for condition in report.conditions:
        out.print(calibration_sentence(condition))
    _table(out, report)
    for condition in report.conditions:
        lines = list(_grades_lines(condition) if isinstance(condition, GradesCondition) else _draws_lines(condition))
        if lines:
            out.print(printable(condition.name, limit=100))
        for line in lines:
            out.print(Padding(f"- {line}", (0, 0, 0, 2), expand=False))
    for note in tables.notes:
        out.print(f"- {printable(note)}", soft_wrap=True)


def _results(condition: GradesCondition | DrawsCondition) -> Iterator[tuple[str, EceResult | None]]:
    if isinstance(condition, GradesCondition):
        yield "given", condition.result
    elif condition.sem is not None:
        yield "Sem1, all draws", condition.sem.sem1
        yield "Sem2, held out", condition.sem.sem2
        if condition.verbalised is not None:
            yield "stated, else 1", condition.verbalised.imputed
            yield "stated only", condition.verbalised.dropped
        yield "token probability", condition.token


def _table(out: Console, report: CalibrationReport) -> None:
    table = Table(box=None, pad_edge=False, header_style="")
    for head in ("condition", "confidence"):
        table.add_column(head, no_wrap=True)
    for head in ("n", "accuracy", "mean", "ECE", "null", "debiased", "interval", "Brier", "AUROC"):
        table.add_column(head, justify="right", no_wrap=True)
    for condition in report.conditions:
        name = printable(condition.name, limit=24)
        for source, result in _results(condition):
            if result is None:
                continue
            table.add_row(
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
            )
            name = ""
    if table.row_count:
        out.print(table)
        out.print("null: the ECE of a calibrated model with these confidences; debiased and interval allow for it.")


def _span(interval: Interval) -> str:
    return f"({interval.low:.3f} to {interval.high:.3f})"


def _advice(advice: RecalibrationAdvice | None, floor: float | None) -> Iterator[str]:
    if advice is None:
        return
    beside = (
        ""
        if floor is None
        else f"; floor of this many labels {floor:.3f} (a rate with constant 1; the interval decides)"
    )
    if advice.advised is None:
        yield f"no recalibration (temperature, Platt, isotonic) is shown to help on held-out halves{beside}."
        return
    best = next(m for m in advice.methods if m.method == advice.advised)
    yield (
        f"{best.method} recalibration, held out, would lower ECE by {best.ece_improvement:.3f} {_span(best.interval)} "
        f"and Brier by {best.brier_improvement:.3f} {_span(best.brier_interval)}{beside}."
    )


def _grades_lines(condition: GradesCondition) -> Iterator[str]:
    if condition.result is not None:
        yield from condition.result.notes
    yield from _advice(condition.recalibration, condition.floor)
    yield from condition.notes


def _draws_lines(condition: DrawsCondition) -> Iterator[str]:
    found = condition.regimes
    yield (
        f"classes {printable(condition.classes)}; questions of large margin: {found.large}, of low margin: {found.low} "
        f"({found.jensen} Jensen-dominated)."
    )
    if condition.verbalised is not None:
        yield f"a confidence is stated in {condition.verbalised.parse_rate:.0%} of the draws."
    gap = condition.gap
    if gap is not None:
        low = gap.low_margin_ece
        yield (
            f"Sem1 - Sem2: confidence {gap.confidence.estimate:.3f} {_span(gap.confidence.interval)}, predicted "
            f"{gap.predicted:.3f}; ECE {gap.ece.estimate:.3f} {_span(gap.ece.interval)}; low-margin ECE "
            + (
                f"undefined with {gap.low_margin_questions} questions."
                if low is None
                else f"{low.estimate:.3f} {_span(low.interval)}."
            )
        )
    curve = condition.convergence
    if curve is not None and curve.slope is not None:
        span = f" {_span(curve.interval)}" if curve.interval else ""
        yield f"the low-margin gap shrinks as n^{curve.slope:.2f}{span}; theory -0.50."
    if len(condition.sensitivity) > 1:
        yield "Sem2-ECE by grouping: " + ", ".join(
            f"{key} {row['sem2']:.3f} ({row['classes_per_question']:.1f} classes)"
            for key, row in condition.sensitivity.items()
            if row["sem2"] is not None
        )
    quality = condition.grouping_quality
    if quality is not None:
        yield (
            f"offline classes against the given ones: pairwise F1 {quality.f1:.3f} "
            f"(precision {quality.precision:.3f}, recall {quality.recall:.3f})."
        )
    if condition.difficulty_auroc is not None:
        yield f"a question's Sem1 - Sem2 gap tells wrong answers with AUROC {condition.difficulty_auroc:.3f}."
    needed = condition.needed
    if needed is not None:
        cost = "" if needed.money_usd is None else f", {money(needed.money_usd)}"
        how = "measured" if needed.measured else "extrapolated"
        yield (
            f"Sem2 and Sem1 bracket the true mean confidence to {needed.bracket:.3f}; {needed.precision:g} needs "
            f"{needed.n:,} draws a question ({how}; {needed.calls:,} calls{cost})."
        )
    stopping = condition.stopping
    if stopping is not None and stopping.accuracy is not None and stopping.accuracy_of_all is not None:
        yield (
            f"stopping once the mode is certain: {stopping.fraction:.0%} of the draws, accuracy "
            f"{stopping.accuracy:.3f} (all draws {stopping.accuracy_of_all:.3f}), same answer on "
            f"{stopping.same_answer:.1%}."
        )
    yield from _advice(condition.recalibration, condition.floor)
    if condition.sem is not None:
        yield from condition.sem.notes
    yield from condition.notes
