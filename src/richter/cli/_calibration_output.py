"""`richter calibration`: does the model know when it is wrong?"""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from richter import audit
from richter.audit._calibration_results import Corrected
from richter.calibration import EceResult, Score, SemGap
from richter.cli._io import (
    PLAIN,
    cells,
    grid,
    keep_inputs,
    listing,
    money,
    publish,
    split_sources,
)
from richter.cli._task_progress import counted_mapper
from richter.interop import export_table
from richter.records import DEFAULT_LEVEL, Interval, counted, plain, printable
from richter.stats import in_threads
from richter.tables import ReadOptions, as_options
from richter.words import describe_ci
from richter.words._spans import describe_level


def calibration(
    sources: tuple[str, ...],
    reading: ReadOptions,
    is_pipeline: bool,
    questions_path: Path | None,
    svg_folder: Path | None,
    seed: int,
    json_path: str | None,
    **options: Any,
) -> None:
    """Print and write how far confidences are off, and what may be done with them."""
    files, names = split_sources(sources)
    if is_pipeline:
        _measure_stages(files, seed=seed, level=options["level"], json_path=json_path)
        return
    tables = audit.read_draws(*files, options=reading)
    report = audit.measure_calibration(
        tables.select(names) if names else tables,
        rng=np.random.default_rng(seed),
        mapper=counted_mapper("measuring", local=in_threads),
        **options,
    )
    if questions_path is not None:
        keep_inputs(questions_path, files)
        export_table(audit.question_table(report), questions_path)
    out = publish({**report.to_dict(), "notes": tables.notes}, json_path, inputs=files)
    for condition in report.conditions:
        if condition.claim is not None:
            out.print(condition.claim.sentence)
    _table(out, report)
    for condition in report.conditions:
        lines = [*(_draws_lines(condition) if isinstance(condition, audit.DrawsCondition) else ())]
        lines += [*_study_lines(condition), *condition.json_fields["notes"]]
        if lines:
            out.print(printable(condition.name, limit=100))
        for line in lines:
            out.print(f"  - {line}")
        _scores(out, condition)
        _groups(out, condition)
    _boundaries(out, report)
    for note in tables.notes:
        out.print(f"- {printable(note)}", soft_wrap=True)
    _figures(out, plain(audit.report_section(report)), svg_folder)
    again = " ".join([shlex.join(sources), *as_options(reading)])
    out.print(printable(f"Next: richter report {again} -o page.html"), soft_wrap=True)


def _figures(out: Console, section: dict[str, Any], folder: Path | None) -> None:
    if folder is not None:
        from richter.report import write_figures

        for path in write_figures({"sections": {"calibration": section}}, folder):
            out.print(f"Wrote {path}")


def size_by_parts(
    sources: tuple[str, ...],
    reading: ReadOptions,
    runs: int,
    level: float,
    svg_folder: Path | None,
    seed: int,
    json_path: str | None,
) -> None:
    """Print and write in how many parts of each size, from 10 labels to half of them, miscalibration is shown."""
    files, names = split_sources(sources)
    tables = audit.read_draws(*files, options=reading)
    found = audit.measure_phase(
        tables.select(names) if names else tables, rng=np.random.default_rng(seed), runs=runs, level=level
    )
    out = publish(found, json_path, inputs=files)
    figures = "{r.n:,}|{r.errors:.1f}|{r.shown:.0%}|{r.half_width:.3f}|{r.floor:.3f}"
    rows = [
        ["" if k else printable(name, limit=30), *cells(figures, point)]
        for name, points in found.items()
        for k, point in enumerate(points)
    ]
    out.print(grid("name|labels|errors|shown|ECE half-width|floor*", rows, **PLAIN))
    out.print("shown: the share of parts with so many labels that show miscalibration. * (e / n)^(1/3), a rough rate.")
    _figures(out, {"phase": plain(found)}, svg_folder)


def _measure_stages(files: list[str], *, level: float, seed: int, json_path: str | None) -> None:
    """Print and write the calibration of each stage of a pipeline, and the whole's."""
    if len(files) > 1:
        raise click.UsageError("A pipeline is one table.")
    (file,) = files
    report = audit.measure_pipeline(file, rng=np.random.default_rng(seed), level=level)
    out = publish(report, json_path, inputs=[file])
    columns = (
        "stage: {r.name}|n: {r.result.n:,}|accuracy: {r.result.accuracy:.3f}|confidence: {r.result.mean_confidence:.3f}"
        "|ECE: {r.result.debiased:.3f}|LEVEL CI: {r.result.interval.low:.3f} to {r.result.interval.high:.3f}"
        "|L: {r.lipschitz:.2f}"
    )
    for condition in report.conditions:
        out.print(condition.sentence)
        out.print(listing(columns.replace("LEVEL", describe_level(level)), condition.stages, **PLAIN))
        for note in condition.notes:
            out.print(f"  {note}")


def _results(condition: audit.GradesCondition | audit.DrawsCondition) -> Iterator[tuple[str, EceResult | None]]:
    if isinstance(condition, audit.GradesCondition):
        yield "given", condition.result
    else:
        if condition.sem is not None:
            yield "Sem1, all repeats", condition.sem.sem1
            yield "Sem2, held out", condition.sem.sem2
        if condition.stated is not None:
            yield "stated, else 1", condition.stated.imputed
            yield "stated only", condition.stated.dropped
        yield "token probability", condition.token


def _table(out: Console, report: audit.CalibrationReport) -> None:
    figures = (
        "{r.n:,}|{r.accuracy:.3f}|{r.mean_confidence:.3f}|{r.ece:.3f}|{r.null:.3f}|{r.debiased:.3f}|"
        "{r.interval.low:.3f} to {r.interval.high:.3f}|{r.brier:.3f}|{r.auroc:.3f}"
    )
    rows = [
        ["" if k else printable(condition.name, limit=24), source, *cells(figures, result)]
        for condition in report.conditions
        for k, (source, result) in enumerate((s, r) for s, r in _results(condition) if r is not None)
    ]
    headings = f"name|confidence|n|accuracy|mean|ECE|null|debiased|{describe_level(report.level)} CI|Brier|AUROC"
    if rows:
        out.print(grid(headings, rows, right=2, header_style="", **PLAIN))
        out.print("null: the ECE that a calibrated model would show; debiased and its CI allow for it.")


def _span(interval: Interval) -> str:
    return describe_ci(interval, digits=3)


def _number(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}"  # no "-0.000"


def _score(name: str, score: Score) -> str:
    if score.value is None:
        return f"{name} is not known ({score.reason})"
    return f"{name} {_number(score.value)}" + (f" {_span(score.interval)}" if score.interval else "")


def _study_lines(condition: audit.GradesCondition | audit.DrawsCondition) -> Iterator[str]:
    """What both kinds of tables have: the threshold, the scores, refusals, the grader, the floor."""
    study = condition.study
    if study is None:
        return
    yield study.safe.sentence
    s = study.scores
    yield "; ".join(_score(name, x) for name, x in (("AUROC", s.auroc), ("AURC", s.aurc)))
    refusals = condition.refusals
    if refusals is not None:
        kept, left = refusals.kept, refusals.left_out
        yield (
            f"{refusals.refused} of {refusals.of} answers decline and {refusals.empty} are empty ({refusals.used}; "
            f"--refusals chooses): ECE {_debiased(kept)} with them as wrong answers, {_debiased(left)} without."
        )
    if condition.grader is not None:
        yield condition.grader.sentence
    if condition.floor is not None:
        worst = f"with so many labels, some errors below about {condition.floor:.3f} escape every method"
        yield f"{worst} (a rough worst case); the interval above is of the error that was measured."


def _debiased(result: EceResult | None) -> str:
    return "undefined" if result is None else f"{result.debiased:.3f} {_span(result.interval)}"


def _scores(out: Console, condition: audit.GradesCondition | audit.DrawsCondition) -> None:
    """score = miscalibration - resolution + uncertainty."""
    if condition.study is None:
        return
    s = condition.study.scores
    parts = {
        "Brier": (s.brier, s.brier_miscalibration, s.brier_resolution, s.brier_uncertainty),
        "log": (s.log, s.log_miscalibration, s.log_resolution, s.log_uncertainty),
    }
    rows = ([name, *map(_score_cell, own)] for name, own in parts.items())
    level = DEFAULT_LEVEL if s.brier.interval is None else s.brier.interval.level
    headings = f"score|value ({describe_level(level)} CI)|= miscalibration|- resolution|+ uncertainty"
    out.print(grid(headings, rows, **PLAIN))


def _score_cell(score: Score) -> str:
    """A part of a score with its interval, whose level the heading names."""
    if score.value is None:
        return _score("", score).strip()
    span = score.interval
    ends = "" if span is None else f" ({_number(span.low)} to {_number(span.high)})"
    return f"{_number(score.value)}{ends}"


def _groups(out: Console, condition: audit.GradesCondition | audit.DrawsCondition) -> None:
    found = None if condition.study is None else condition.study.by_group
    if found is None:
        return
    columns = (
        "group: {r.group:30}|n: {r.n:,}|wrong: {r.error_rate:.3f}|pooled: {r.pooled_error_rate:.3f}|"
        "LEVEL CI: {r.pooled_error_interval.low:.3f} to {r.pooled_error_interval.high:.3f}|"
        "ECE: {r.ece:.3f}|pooled: {r.pooled_ece:.3f}|"
        "LEVEL CI: {r.pooled_ece_interval.low:.3f} to {r.pooled_ece_interval.high:.3f}"
    )
    level = found.rows[0].pooled_error_interval.level if found.rows else DEFAULT_LEVEL
    out.print(listing(columns.replace("LEVEL", describe_level(level)), found.rows, **PLAIN))
    out.print(
        f"pooled: moved towards the others as far as noise explains it (spread between groups {found.spread_error:.3f} "
        f"of error rates, {found.spread_ece:.3f} of ECE)."
        + (f" {counted(found.joined, 'group')} of under five questions are joined as `others`." if found.joined else "")
    )


def _boundaries(out: Console, report: audit.CalibrationReport) -> None:
    """Sem1 - Sem2 near the regimes' boundaries against the theory (the paper's table 2), and the slope over all."""
    rows = []
    for c in report.conditions:
        near = c.gap.boundaries if isinstance(c, audit.DrawsCondition) and c.gap is not None else ()
        for b in near:
            seen, theory = b.observed_confidence, b.predicted_halves
            ratio = None if not theory or seen is None else seen / theory
            numbers = "{name:24}|{r.name}|{r.n:,}|{r.observed_confidence:.3f}|{r.predicted_halves:.3f}|{ratio:.2f}|"
            rows += [cells(numbers + "{r.observed_ece:.3f}", b, name=c.name, ratio=ratio)] if b.n else []
    if rows:
        headings = "name|boundary|questions|Sem1 - Sem2|theory|ratio|of ECEs"
        out.print(grid(headings, rows, right=2, header_style="", **PLAIN))
        out.print("questions within 10% of a boundary; theory: the leading term, Sem2 by half of the repeats.")


def _draws_lines(condition: audit.DrawsCondition) -> Iterator[str]:
    found = condition.margins
    yield (
        f"classes {printable(condition.classes)}; questions of large margin: {found.large}, of low margin: {found.low} "
        f"({found.jensen} Jensen-dominated)."
    )
    if condition.stated is not None:
        yield f"a confidence is stated in {condition.stated.parse_rate:.0%} of the repeats."
    if condition.gap is not None:
        yield _describe_gap(condition.gap)
    if len(condition.sensitivity) > 1:
        yield "Sem2-ECE by grouping: " + ", ".join(
            f"{key} {row.sem2:.3f} ({row.classes_per_question:.1f} classes)"
            for key, row in condition.sensitivity.items()
            if row.sem2 is not None
        )
    quality = condition.grouping_quality
    if quality is not None:
        yield (
            f"offline classes against the given ones: pairwise F1 {quality.f1:.3f} "
            f"(precision {quality.precision:.3f}, recall {quality.recall:.3f}); adjusted Rand index "
            f"{quality.adjusted_rand:.3f}, same most frequent class in {quality.same_mode:.1%} of "
            f"{counted(quality.questions, 'question')}."
        )
    if condition.corrected is not None:
        yield _describe_corrected(condition.corrected)
    entropy, sem = condition.semantic_entropy, condition.sem
    if entropy is not None and sem is not None and entropy.auroc is not None and sem.sem1.auroc is not None:
        yield (
            f"Semantic entropy H, as the confidence 1 - H / log(repeats), has an ECE of {entropy.ece:.3f}. It tells "
            f"wrong answers with AUROC {entropy.auroc:.3f}, agreement (Sem1) with {sem.sem1.auroc:.3f}."
        )
    if condition.difficulty_auroc is not None:
        yield f"a question's Sem1 - Sem2 gap tells wrong answers with AUROC {condition.difficulty_auroc:.3f}."
    needed = condition.draws_needed
    if needed is not None:
        cost = "" if needed.money_usd is None else f", {money(needed.money_usd)}"
        how = "measured" if needed.measured else "extrapolated"
        yield (
            f"Sem2 and Sem1 bracket the true mean confidence to {needed.bracket:.3f}; {needed.precision:g} needs "
            f"{counted(needed.n, 'repeat')} per question ({how}; {counted(needed.calls, 'call')}{cost})."
        )


def _describe_gap(gap: SemGap) -> str:
    low = f"undefined with {counted(gap.low_margin_questions, 'question')}"
    if gap.low_margin_ece is not None:
        low = f"{gap.low_margin_ece.estimate:.3f} {_span(gap.low_margin_ece.interval)}"
    return (
        f"Sem1 - Sem2: confidence {gap.confidence.estimate:.3f} {_span(gap.confidence.interval)}, predicted "
        f"{gap.predicted:.3f}; ECE {gap.ece.estimate:.3f} {_span(gap.ece.interval)}; low-margin ECE {low}."
    )


def _describe_corrected(fixed: Corrected) -> str:
    sems = [
        f"{name} {old:.3f} before, {new:.3f} after"
        for key, name in (("sem1", "Sem1-ECE"), ("sem2", "Sem2-ECE"), ("accuracy", "accuracy"))
        if None not in (old := getattr(fixed.before, key), new := getattr(fixed.after, key))
    ]
    return (
        f"people moved {fixed.moved:,} of {fixed.answers:,} answers to another class, in {fixed.questions:,} "
        f"questions; the deployed class of {fixed.deployed:,} is another one; {'; '.join(sems)}."
    )
