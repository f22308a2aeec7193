"""`richter watch`: has it got worse since? A series of runs, looked at as often as one likes."""

from collections.abc import Mapping, Sequence

import click
from rich.console import Console

from richter.audit import Day, WatchReport, noun_of, read_series, watch_series
from richter.claims import check_margin, margin_on, measure_words
from richter.cli._io import json_option, publish, reading_options
from richter.cli._margins import level_option, margin_option
from richter.records import counted, printable, sparkline
from richter.tables import ReadOptions

__all__ = ["watch"]


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SERIES..")
@click.option(
    "--condition",
    multiple=True,
    metavar="NAME",
    help="The condition that is watched, where runs hold several. Again: a name that it had on other days.",
)
@margin_option
@click.option("--date", metavar="COLUMN", help="The column of dates, where one table holds the whole series.")
@reading_options
@click.option("--independent-days", is_flag=True, help="No day depends on the day before: a change is told sooner.")
@level_option
@click.option("--seed", type=click.IntRange(0), default=0)
@json_option
@click.pass_context
def watch(
    ctx: click.Context,
    sources: tuple[str, ...],
    condition: tuple[str, ...],
    margin: dict[str, float],
    date: str | None,
    reading: ReadOptions,
    independent_days: bool,
    level: float,
    seed: int,
    json_path: str | None,
) -> None:
    """Follow a model over a SERIES of runs: a folder of them, a database, logs and tables by date, or one table with a
    column of dates.

    Error rate, severity, calibration, refusals and cost, a point a run. False alarms stay under 1 - level over the
    whole life of the watch and all metrics together, however often one looks. The margin is the loss that would
    matter: it says how long the last verdict may be relied on (5 points where none is given). It only reads. Exit 0
    no change shown, 3 worse, 4 too few days to tell.

    \b
    Examples:
      richter watch runs/                          a folder of runs
      richter watch logs/2026-*.eval --condition new
      richter watch weekly/                        week_2026-W01.csv, week_2026-W02.csv, ..
      richter watch results.csv --date day         one table, an entry a date
      richter watch postgresql://host/evals --json watch.json
    """
    name, days, notes = read_series(*sources, condition=condition or None, date=date, options=reading)
    report = watch_series(
        name, days, level=level, margin=_loss(margin, days), seed=seed, independent=independent_days, notes=notes
    )
    show(publish(report, json_path, inputs=sources), report)
    ctx.exit(report.exit_code)


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


def show(out: Console, report: WatchReport) -> None:
    """The sentence, a line a metric, what changed beside it, and how long the last verdict holds."""
    out.print(report.sentence, soft_wrap=True)
    wide = max((len(noun_of(s.metric)) for s in report.series), default=0)
    for s in report.series:
        line = sparkline(s.values[-60:], ascii_only=out.options.ascii_only)
        mark = f"ALARM {s.alarm}" if s.alarm else f"evidence {s.evidence[-1]:.2g} of {s.limit:.3g}"
        words = measure_words(s.metric)
        out.print(
            f"  {noun_of(s.metric):{wide}} {line} {words.amount(s.values[-1])}{words.unit}  {mark}", soft_wrap=True
        )
    lines = [*report.changes]
    if report.flipped:
        shown = ", ".join(printable(item, limit=40) for item in report.flipped[:8])
        more = f" and {len(report.flipped) - 8} more" if len(report.flipped) > 8 else ""
        lines.append(f"right before, wrong now: {shown}{more}")
    lines += [*([report.reliance] if report.reliance else []), report.understood, report.basis, *report.notes]
    chance, series = f"{100 * (1 - report.level):.3g}%", len(report.series)
    entries = counted(report.n_days, report.step)
    lines.append(f"{entries}; false alarms over the whole life and all {counted(series, 'metric')}: at most {chance}.")
    for line in filter(None, lines):
        out.print(f"  {printable(line)}", soft_wrap=True)
