"""What `richter size calibration` prints: the labels that a claim needs, and what labels at hand can show."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from richter import floors
from richter.audit import FloorsReport, measure_grades
from richter.cli._calibration_output import size_by_parts
from richter.cli._io import PLAIN, cells, grid, listing, publish, split_sources
from richter.floors import ConditionSummary
from richter.records import DEFAULT_LEVEL, counted, printable
from richter.tables import ReadOptions, read_tables
from richter.words import describe_ci
from richter.words._spans import describe_level

RATE = "a rough rate, constant 1"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a calculation starts from; a question that nobody asked has None."""

    delta: float
    error_rate: float
    lipschitz: float
    n: int | None
    pipeline: str | None
    groups: int
    min_share: float | None
    preset: str | None
    correlation: dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """One answer: its fields in JSON, and what is printed."""

    fields: dict[str, Any]
    shown: Sequence[str | Table]


def size_calibration(
    sources: tuple[str, ...],
    reading: ReadOptions,
    phase: bool,
    runs: int,
    svg_folder: Path | None,
    seed: int,
    level: float,
    json_path: str | None,
    **asked: Any,
) -> None:
    """Print and write how many labels a claim on calibration needs; with data, what they show."""
    if phase:
        if not sources:
            raise click.UsageError("--phase needs data: richter size calibration grades.csv --phase.")
        size_by_parts(sources, reading, runs=runs, level=level, svg_folder=svg_folder, seed=seed, json_path=json_path)
        return
    if sources:
        files, names = split_sources(sources)
        tables = read_tables(*files, options=reading)
        tables = tables.select(names) if names else tables
        report = measure_grades(tables, rng=np.random.default_rng(seed), level=level)
        _print_measured(publish(report, json_path, inputs=files), report)
        return
    correlation = {name: asked.pop(name) for name in ("cluster_size", "intraclass")}
    answers = [*_answers(_Asked(**asked, correlation=correlation))]
    out = publish({name: value for answer in answers for name, value in answer.fields.items()}, json_path)
    for answer in answers:
        for shown in answer.shown:
            out.print(shown)


def _answers(asked: _Asked) -> Iterator[_Answer]:
    """The answers to what is asked: always how many labels are needed, unless a preset says for what."""
    if asked.preset == "all":
        yield _all_presets()
    elif asked.preset is not None or asked.min_share is not None:
        yield _labels_of_groups(asked)
    else:
        yield _labels_needed(asked)
    if asked.n is not None:
        yield _resolved(asked, asked.n)
    if asked.pipeline is not None:
        yield _labels_of_stages(asked)


def _labels_needed(asked: _Asked) -> _Answer:
    """Labels to estimate or detect a calibration error, as many more as correlated labels take."""
    needed = floors.labels_needed(asked.delta, asked.error_rate, lipschitz=asked.lipschitz)
    effective = floors.effective_n(1, **asked.correlation) if any(asked.correlation.values()) else 1.0
    names = ("estimation", "detection_test", "detection_claim")
    counts = {name: count for name in names if (count := getattr(needed, name)) is not None}
    needed = dataclasses.replace(needed, **{name: math.ceil(count / effective) for name, count in counts.items()})
    shown = [
        (
            f"To measure calibration error to {100 * asked.delta:g} points you need about {needed.estimation:,} labels "
            f"at an error rate of {100 * asked.error_rate:g}% (L e / d^3; {RATE})."
        )
    ]
    if needed.detection_claim is not None:
        shown.append(
            f"To see that confidence is off by {100 * asked.delta:g} points everywhere you need "
            f"{needed.detection_claim:,} labels ({100 * needed.power:g}% power). If you know where and in which "
            f"direction it is off: {needed.detection_test:,}."
        )
    shown.append(f"With fewer than {needed.detection_bound:,} labels no method can see it (Le Cam's bound, exact).")
    return _Answer(fields={"labels_needed": needed, "labels": needed.estimation}, shown=shown)


def _resolved(asked: _Asked, labels: int) -> _Answer:
    """What the labels at hand resolve."""
    rate, smooth = asked.error_rate, asked.lipschitz
    n = max(1, int(floors.effective_n(labels, **asked.correlation)))
    passive = floors.passive_floor(n, rate, lipschitz=smooth).value
    accuracy, gap = (floors.accuracy_floor(n, rate, conditions=k) for k in (1, 2))
    active, bound = floors.active_floor(n, rate), floors.le_cam(n, rate)
    bins, limit = floors.bias_variance_bins(n, rate, lipschitz=smooth), floors.detection_limit(n, rate)
    phase = floors.phase(n, rate)
    fields = {
        "n": n,
        "n_labels": labels,
        "error_rate": rate,
        "lipschitz": smooth,
        "passive": passive,
        "active_rate": active,
        "accuracy": accuracy,
        "accuracy_gap": gap,
        "bins": bins,
        "detection_limit": limit,
        "le_cam": bound,
        "phase": phase,
        "constant": 1,
        "note": f"passive and labels_needed.estimation: {RATE}",
    }
    rows = [
        ("calibration floor, random labels", f"{passive:.4f}", f"(L e / n)^(1/3); {RATE}"),
        ("calibration rate, chosen labels", f"{active.value:.4f}", f"sqrt(e / n); {RATE}; not proved"),
        ("accuracy floor", f"{accuracy:.4f}", "2 sqrt(e (1 - e) / n), one model"),
        ("accuracy gap, two separate sets", f"{gap:.4f}", "sqrt 2 times that"),
        ("calibration to accuracy", f"{passive / accuracy:.1f} x", "how much harder calibration is to verify"),
        ("least detectable excess error", "none" if limit is None else f"{limit:.4f}", "exact test, 5%, 80% power"),
        ("no estimate is better than", f"{bound.bound:.5f}", "Le Cam's bound, exact binomial sums"),
        ("bins that balance bias and noise", f"{bins}", "floor((L^2 n / e)^(1/3))"),
        ("expected errors", f"{n * rate:,.1f}", f"{phase} the phase transition at n e = 1"),
    ]
    shown: list[str | Table] = []
    if n < labels:
        shown.append(
            f"{labels:,} correlated labels are worth {n:,} independent ones. The sizes above allow for it, too."
        )
    shown.append(
        f"With {n:,} labels at an error rate of {100 * rate:g}% you can measure calibration error to about "
        f"{passive:.4f} ({RATE}) and accuracy to {accuracy:.4f}."
    )
    shown.append(grid("||", rows, show_header=False, padding=(0, 2), **PLAIN))
    return _Answer(fields=fields, shown=shown)


def _labels_of_stages(asked: _Asked) -> _Answer:
    """Labels to verify a pipeline end to end."""
    try:
        parts = [float(s) for s in str(asked.pipeline).split(",")]
    except ValueError as error:
        raise click.BadParameter(f"{asked.pipeline!r} is not a list of numbers.", param_hint="--pipeline") from error
    result = floors.compose(parts, delta=asked.delta, error_rate=asked.error_rate)
    fields = result.to_dict()
    if result.labels is None:
        return _Answer(
            fields={"pipeline": fields},
            shown=[f"You can't verify this pipeline end to end: {result.note}."],
        )
    shown = [
        (
            f"To verify these {len(parts)} stages to {100 * asked.delta:g} points you need {result.labels:,} labels "
            f"at an error rate of {100 * asked.error_rate:g}% (L at most {result.lipschitz:g}; {result.note})."
        )
    ]
    if asked.n is not None:
        limits = {"labels": asked.n, "delta": asked.delta, "error_rate": asked.error_rate}
        depth = floors.depth_limit(max(s for s in parts if math.isfinite(s)), **limits)
        fields["depth_limit"] = depth
        shown.append(f"{asked.n:,} labels verify {'any depth' if depth is None else f'at most {depth} such stages'}.")
    return _Answer(fields={"pipeline": fields}, shown=shown)


def _labels_of_groups(asked: _Asked) -> _Answer:
    """Labels to verify calibration in every group."""
    if asked.preset is not None:
        result = floors.PRESETS[asked.preset].labels()
    else:
        share, smooth = asked.min_share or 0.0, asked.lipschitz
        result = floors.group_labels(
            asked.delta, asked.error_rate, min_share=share, groups=asked.groups, lipschitz=smooth
        )
    rows = [
        ("until the smallest group has enough", f"{result.smallest_group:,}", f"L e / (share d^3); {RATE}"),
        ("with chosen labels", f"{result.active_rate.value:,}", "a rate that is not proved"),
    ]
    text = f"{result.total:,} labels verify {result.groups} groups one after the other to {result.delta:g} ({RATE})."
    table = grid("||", rows, show_header=False, **PLAIN)
    return _Answer(fields={"groups": result.to_dict(), "labels": result.total}, shown=[text, table])


def _all_presets() -> _Answer:
    """Labels under the paper's illustrative readings of three regulations (its table 7; none of it is law)."""
    fields, rows = {}, []
    columns = "{key}|{r.title}|{r.groups}|{r.min_share:g}|{r.delta:g}|{r.error_rate:g}|{labels.total:,}|"
    for key, preset in floors.PRESETS.items():
        labels = preset.labels()
        fields[key] = labels.to_dict() | {"title": preset.title, "available": preset.available}
        named = {"key": key, "labels": labels, "gap": labels.total / preset.available}
        rows.append(cells(columns + "{labels.active_rate.value:,}|{gap:.1f} x", preset, **named))
    table = grid("preset|framework|groups|share|delta|error|labels|active*|gap", rows, box=None)
    text = f"Labels: {RATE}. gap: labels asked over labels the paper knows of. *: a rate that is not proved."
    return _Answer(fields=fields, shown=[table, text])


def _describe_summary(summary: ConditionSummary) -> str:
    """A condition's error rate and ECE, or why there are none."""
    s = summary
    if s.error_rate is None or s.error_rate_interval is None:
        return f"{printable(s.name)}: {printable('; '.join(s.warnings))}."
    rate = f"{100 * s.error_rate:.1f}%" if s.error_rate else f"under {100 * s.error_rate_interval.high:.2g}%"
    text = f"{printable(s.name)} is wrong in {rate} of {counted(s.n, 'question')}"
    if s.ece_interval is not None:
        text += f"; ECE {s.ece_debiased:.3f} {describe_ci(s.ece_interval, digits=3)}"
    return text + "."


def _print_measured(out: Console, report: FloorsReport) -> None:
    """Print measured values with the floors beside them."""
    for measured in report.conditions:
        out.print(_describe_summary(measured.summary))
    out.print()
    columns = (
        "name: {r.summary.name:30}|ECE half-width: {r.summary.ece_interval.half_width:.4f}|"
        "floor*: {r.summary.floor:.4f}|L (LEVEL CI; noise): {r.summary.lipschitz_detail.estimate:.2f} "
        "({r.summary.lipschitz_detail.interval.low:.2f} to {r.summary.lipschitz_detail.interval.high:.2f}; "
        "{r.summary.lipschitz_detail.noise:.2f})|accuracy floor: {r.accuracy_floor:.4f}|"
        "knows its gap: rho {r.self_evaluation.rho_gap:+.2f} (p {r.self_evaluation.p_gap:.2g}); "
        "right/wrong {r.self_evaluation.rho_accuracy:+.2f} (p {r.self_evaluation.p_accuracy:.2g})"
    )
    spans = [m.summary.lipschitz_detail for m in report.conditions if m.summary.lipschitz_detail is not None]
    level = spans[0].interval.level if spans else DEFAULT_LEVEL
    out.print(listing(columns.replace("LEVEL", describe_level(level)), report.conditions, box=None))
    out.print("  * (L e / n)^(1/3), a rate with constant 1: the measured half-width beside it decides.")
    if report.self_evaluation:
        out.print(printable(report.self_evaluation))
    if report.subjects is not None:
        noise = report.subjects
        out.print(
            f"By subject: {100 * noise.share_below_floor:.0f}% of gaps lie below the accuracy floor, "
            f"{100 * noise.share_undecided:.0f}% of pairs are inconclusive, and {noise.unranked} of "
            f"{len(noise.subjects)} subjects rank no model. The order changes in "
            f"{100 * noise.mean_instability:.0f}% of resamples."
        )
    for measured in report.conditions:
        for warning in measured.summary.warnings:
            out.print(f"  {printable(measured.summary.name)}: {printable(warning)}")
    for note in report.notes:
        out.print(f"  {printable(note)}")
