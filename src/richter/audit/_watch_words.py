"""Sentences of a watched series: what got worse, what changed without a loss, and what could be shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from richter.audit._watch_days import Day
from richter.audit._watch_notes import JUDGE, noun_of
from richter.claims import Metric
from richter.records import counted, printable

__all__ = ["describe_false_alarms", "describe_flipped", "describe_watch_next"]

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
    """How many questions broke and were fixed since a change; empty of a measure that is not right or wrong."""
    if s.broken is None:
        return ""
    fixed = f"{s.fixed or 0:,} {'was' if s.fixed == 1 else 'were'} fixed"
    return f" Since then {counted(s.broken, 'question')} broke and {fixed}."


def describe_alarm(s: MetricSeries, condition: str, row: Metric) -> str:
    """That a series got worse or better, by how much, on how many questions, and when."""
    way = "changed" if s.worse is None else "got worse" if s.worse else "got better"
    noun = noun_of(s.metric)
    return (
        f"{printable(condition)} {way}: {noun} {_span(s, row)} since {s.since}, against the time before. "
        f"It changed about {s.changed} and was first seen on {s.alarm}.{_moved(s)}"
    )


def describe_change(s: MetricSeries, condition: str, row: Metric) -> str:
    """That a series changed and no loss is shown."""
    numbers = f"{noun_of(s.metric)} {_span(s, row)}"
    return f"{printable(condition)} changed about {s.changed}.{_moved(s)} No loss is shown: {numbers}."


def describe_claim(s: MetricSeries, condition: str, row: Metric) -> str:
    """The claim's sentence."""
    if s.alarm is not None:
        return describe_alarm(s, condition, row)
    if s.detected is not None:
        return describe_change(s, condition, row)
    return (
        f"The data show no change in the {noun_of(s.metric)} of {printable(condition)}: the evidence is "
        f"{s.evidence[-1]:.2g}, and an alarm needs {s.limit:.3g}. {describe_reach(s, row)}"
    )


def describe_reach(s: MetricSeries, row: Metric, where: str = "") -> str:
    """The change that a week would show, or two entries where these lie further apart."""
    what = "a drift of the judges" if s.metric == JUDGE else "a change"
    most = math.inf if row.low is None or row.high is None or row.is_cost else row.high - row.low
    if s.detectable > most or not math.isfinite(s.detectable):
        return f"You can't detect {what}{where} yet, however large."
    weeks = round(s.within_days / 7)
    span = "a week" if weeks <= 1 else f"{weeks} weeks"
    return f"You can detect {what} of {_amount(row, s.detectable)}{where} within {span} (80% power)."


def describe_detectable(lead: MetricSeries | None, condition: str, days: Sequence[Day], step: str) -> str:
    """That no change is shown, and which one would be."""
    entries = counted(len(days), step)
    if lead is None:
        return f"There is nothing to watch: no measure of {printable(condition)} can be followed over {entries}."
    reach = describe_reach(lead, days[0].metric(lead.metric), where=f" in the {noun_of(lead.metric)}")
    return f"The data show no change of {printable(condition)} in {entries}. {reach}"


def describe_flipped(items: Sequence[str], shown: int = 8) -> str:
    """The questions that were mostly right and are mostly wrong, the first few by name; empty without any."""
    if not items:
        return ""
    named = ", ".join(printable(item, limit=40) for item in items[:shown])
    return f"Broken: {named}{f' and {len(items) - shown:,} more' if len(items) > shown else ''}."


def describe_false_alarms(*, level: float, entries: str, measures: int) -> str:
    """How often a series like this one raises a false alarm."""
    together = f" in any of its {measures} measures" if measures > 1 else ""
    most = f"at most {100 * (1 - level):.3g}% of cases"
    return f"{entries}. A series without a change raises a false alarm{together} in {most}."


def describe_watch_next(exit_code: int, changed: str | None) -> str:
    """The one thing to do after looking at a series."""
    if exit_code == 4:
        return "Next: add entries. These are too few to show a large change."
    if changed is not None:
        return f"Next: look for what changed about {changed}: model, prompt, judge or questions."
    return "Next: run this again when the next entry is there. You may look as often as you like."


def describe_no_alarm(ignoring: MetricSeries, filled: MetricSeries) -> str:
    """Why missing grades leave no alarm."""
    if ignoring.alarm is not None and filled.alarm is not None:
        return "without them and with all of them wrong, it changed in different directions"
    shown, way = (ignoring, "without them") if ignoring.alarm is not None else (filled, "with all of them wrong")
    return f"{way} it got {'worse' if shown.worse else 'better'} about {shown.changed}, otherwise there is no change"


def describe_slow_variation(noun: str, slow: float, span: float, least: float, row: Metric) -> list[str]:
    """That entries vary slowly by more than false alarms were measured for; nothing where they do not."""
    if slow < least * span:
        return []
    return [f"the {noun} varies by about {_amount(row, slow)} over days without a change: false alarms may exceed 5%"]
