"""Sentences of a watched series: what got worse, what changed without a loss, and what could be shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from richter.audit._watch_days import Day
from richter.audit._watch_notes import JUDGE, noun_of
from richter.claims import Metric
from richter.records import counted, printable

if TYPE_CHECKING:
    from richter.audit._watch import MetricSeries


def _amount(row: Metric, value: float, *, sign: bool = False) -> str:
    """A difference as people read it; of amounts per cent."""
    if row.is_cost:
        return f"{100 * value:{'+' if sign else ''}.1f}%"
    return f"{row.amount(value, sign=sign)}{row.suffix}"


def _span(s: MetricSeries, row: Metric) -> str:
    """The difference of the last window with its interval; empty where there is none."""
    if s.interval is None or s.difference is None:
        return ""
    low, high = (_amount(row, x, sign=True).removesuffix(row.suffix) for x in (s.interval.low, s.interval.high))
    return f"{_amount(row, s.difference, sign=True)} ({100 * s.interval.level:.4g}% CI {low} to {high})"


def _moved(s: MetricSeries) -> str:
    return "" if s.broken is None else f"{s.broken:,} broken, {s.fixed:,} fixed"


def describe_alarm(s: MetricSeries, condition: str, row: Metric) -> str:
    """That a series got worse or better, by how much, when, and on how many items."""
    way = "changed" if s.worse is None else "got worse" if s.worse else "got better"
    moved = f"; {_moved(s)}" if s.broken is not None else ""
    about = f" It changed about {s.changed}"
    about += f" (between {s.changed_between[0]} and {s.changed_between[1]})" if s.changed_between else ""
    return (
        f"{printable(condition)} {way} by {noun_of(s.metric)}: {_span(s, row)} since {s.since}, against the entries "
        f"before{moved}.{about}; shown on {s.alarm}."
    )


def describe_change(s: MetricSeries, condition: str, row: Metric) -> str:
    """That a series changed and no loss is shown."""
    moved = f"{_moved(s)}; " if s.broken is not None else ""
    shown = f"no loss shown by {noun_of(s.metric)}, {_span(s, row)}"
    return f"{printable(condition)} changed about {s.changed}: {moved}{shown}."


def describe_claim(s: MetricSeries, condition: str, row: Metric) -> str:
    """The claim's sentence."""
    if s.alarm is not None:
        return describe_alarm(s, condition, row)
    if s.detected is not None:
        return describe_change(s, condition, row)
    return (
        f"No change of the {noun_of(s.metric)} of {printable(condition)} is shown: the evidence is "
        f"{s.evidence[-1]:.2g}, an alarm needs {s.limit:.3g}. {describe_reach(s, row)}"
    )


def describe_reach(s: MetricSeries, row: Metric) -> str:
    """What would be shown within a week, or within two entries where these lie further apart."""
    what = "A drift of the judges" if s.metric == JUDGE else "A change"
    if not math.isfinite(s.detectable):
        return f"{what} of any size could not be shown yet."
    weeks = round(s.within_days / 7)
    span = "a week" if weeks <= 1 else f"{weeks} weeks"
    return f"{what} of {_amount(row, s.detectable)} would be shown within {span} in 80% of series."


def describe_detectable(lead: MetricSeries | None, condition: str, days: Sequence[Day], step: str) -> str:
    """That no change is shown, and which one would be."""
    entries = counted(len(days), step)
    if lead is None:
        return f"{entries} of {printable(condition)} hold no measure that can be followed."
    reach = describe_reach(lead, days[0].metric(lead.metric))
    reach = reach.replace("A change", f"A change of the {noun_of(lead.metric)}")
    return f"No change of {printable(condition)} is shown in {entries}. {reach}"


def describe_no_alarm(ignoring: MetricSeries, filled: MetricSeries) -> str:
    """Why missing grades leave no alarm."""
    if ignoring.alarm is not None and filled.alarm is not None:
        return "without them and with them at the worse end it changed in different directions"
    shown, way = (ignoring, "without them") if ignoring.alarm is not None else (filled, "with them at the worse end")
    return f"{way} it got {'worse' if shown.worse else 'better'} about {shown.changed}, else no change is shown"


def describe_slow_variation(noun: str, slow: float, span: float, least: float, row: Metric) -> list[str]:
    """That entries vary slowly by more than false alarms were measured for; nothing where they do not."""
    if slow < least * span:
        return []
    return [f"the {noun} varies by about {_amount(row, slow)} over days without a change: false alarms may exceed 5%"]
