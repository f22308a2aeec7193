"""`richter watch`: has it got worse since? A series of runs, looked at as often as one likes."""

import math
from collections.abc import Mapping, Sequence

from rich.console import Console

from richter.audit import (
    Day,
    MetricSeries,
    WatchReport,
    describe_false_alarms,
    describe_flipped,
    describe_watch_next,
    noun_of,
    read_series,
    watch_series,
)
from richter.claims import Metric, check_margin, margin_on, measure_words
from richter.cli._io import publish
from richter.records import counted, printable, sparkline
from richter.tables import ReadOptions
from richter.words import describe_note

LARGEST_RELATIVE_CHANGE = 9.0  # of a cost: beyond tenfold the exact size says nothing


def watch(
    sources: tuple[str, ...],
    condition: tuple[str, ...],
    margin: dict[str, float],
    date: str | None,
    reading: ReadOptions,
    independent_days: bool,
    deployed: tuple[str, ...],
    level: float,
    json_path: str | None,
) -> int:
    """Print and write what changed over a series of runs; the exit status."""
    name, days, notes = read_series(*sources, condition=condition or None, date=date, options=reading)
    report = watch_series(
        name,
        days,
        level=level,
        margin=_loss(margin, days),
        independent=independent_days,
        deployed=deployed,
        notes=notes,
    )
    show(publish(report, json_path, inputs=sources), report)
    return report.exit_code


def _loss(given: Mapping[str, float], days: Sequence[Day]) -> float | None:
    """The margin of the measure that leads the series, on its scale; None where none is given for it."""
    lead = next(iter(days[0].metrics), None) if days else None
    if lead is None or not given:
        return None
    names = [n for n in (lead, "accuracy" if lead == "error_rate" else lead, "") if n in given]
    if not names:
        return None
    metric = days[0].metric(lead)
    loss = margin_on(given[names[0]], metric)
    check_margin(metric, loss)
    return loss


def _detects(s: MetricSeries, words: Metric) -> str:
    """The change that a week would show, in few words."""
    if not math.isfinite(s.detectable):
        return "detects no change yet"
    if words.is_cost and s.detectable > LARGEST_RELATIVE_CHANGE:
        return f"detects only changes above {LARGEST_RELATIVE_CHANGE + 1:.0f}-fold"
    amount = f"{100 * s.detectable:.0f}%" if words.is_cost else f"{words.amount(s.detectable)}{words.suffix}"
    return f"detects {amount}"


def show(out: Console, report: WatchReport) -> None:
    """The sentence, a line a metric, what changed beside it, and how long the last verdict holds."""
    out.print(report.sentence, soft_wrap=True)
    wide = max((len(noun_of(s.metric)) for s in report.series), default=0)
    for s in report.series:
        line = sparkline(s.values[-60:], ascii_only=out.options.ascii_only)
        words = measure_words(s.metric)
        mark = f"ALARM {s.alarm}" if s.alarm else f"changed {s.detected}" if s.detected else _detects(s, words)
        out.print(
            f"  {noun_of(s.metric):{wide}} {line} {words.amount(s.values[-1])}{words.unit}  {mark}", soft_wrap=True
        )
    read = [f"Read as: {'; '.join(filter(None, (report.understood, report.basis)))}."] if report.understood else []
    noted = [describe_note(line) for line in (*report.changes, *report.notes)]
    entries, lead = counted(report.n_days, report.step), next(iter(report.series), None)
    lines = [describe_flipped(report.flipped), report.reliance, *noted, *read]
    lines.append(describe_false_alarms(level=report.level, entries=entries, measures=len(report.series)))
    lines.append(describe_watch_next(report.exit_code, None if lead is None else lead.changed))
    for line in filter(None, lines):
        out.print(printable(line), soft_wrap=True)
