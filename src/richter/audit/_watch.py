"""`richter watch`: a series of runs of one audit; has anything changed, when, and was it model, judge or items?"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from richter import floors
from richter._special import ndtri, stdtrit
from richter.audit._series import FEWEST
from richter.audit._watch_days import Day, read_series
from richter.audit._watch_notes import (
    JUDGE,
    data_notes,
    describe_gaps,
    noun_of,
    recorded_changes,
    shared_items,
    step_of,
)
from richter.audit._watch_windows import (
    MIN_WINDOW_ENTRIES,
    WINDOW_DAYS,
    ItemSeries,
    ItemValues,
    canary_values,
    days_of,
    deployments,
    ece_noise,
    ece_window,
    item_values,
    less_drift,
    sampling_noise,
    window_start,
)
from richter.audit._watch_words import (
    describe_alarm,
    describe_change,
    describe_claim,
    describe_detectable,
    describe_no_alarm,
    describe_slow_variation,
)
from richter.claims import (
    METRICS,
    Alarm,
    Evidence,
    Metric,
    check_margin,
    decide_change,
    find_change,
    measure_words,
    watched_measures,
)
from richter.errors import InputError
from richter.records import (
    DEFAULT_LEVEL,
    Claim,
    Family,
    Hypothesis,
    Interval,
    Result,
    Verdict,
    counted,
    plain,
    printable,
)
from richter.stats import bin_gaps
from richter.tables import ReadOptions

__all__ = ["MetricSeries", "WatchReport", "history_of", "noun_of", "watch_series"]

Floats = NDArray[np.float64]

LARGE_JUMP = 0.15  # of the range: where such a jump could not be shown, the series is too short
LARGE_COST = 0.5  # the same of an amount, relative
COST_SPAN = 10.0  # of the logarithm of an amount: what a range is of other measures
SLOW_SHARE = 0.03  # slow variation of this part of the range is said
DEFAULT_MARGIN = 0.05  # of the lead's range: the loss that a verdict's life is computed for


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MetricSeries:
    """One metric over the days: its values, limits that hold on all days at once, and the evidence of a change.

    With fixed answers that were rated anew, judged metrics are less what the judges rated those above their mean.

    `low` and `high` are limits of the mean, as long as nothing changed; none where a value has no bounds. `evidence` is
    how many times likelier a change is than none; it is `detected` when that first reaches the `limit`. An `alarm`
    needs besides that the items of the last week (from `since` on) differ from those before, by an `interval` without
    0 for their `difference`; `broken` counts items that were mostly right and are mostly wrong since it `changed`,
    `fixed` the reverse.
    `detectable` is the shift that would be shown `within_days` (a week, or two entries) in 80% of series (of amounts:
    relative); after a
    change by the entries since, infinite where these are too few.
    `missing` grades are counted over all days; an alarm holds both without them and with them at the worse end.
    """

    metric: str
    days: tuple[str, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    evidence: tuple[float, ...]
    limit: float
    detectable: float
    within_days: float = 7.0
    detected: str | None = None
    alarm: str | None = None
    changed: str | None = None
    changed_between: tuple[str, str] | None = None
    before: float | None = None
    after: float | None = None
    worse: bool | None = None
    since: str | None = None
    difference: float | None = None
    interval: Interval | None = None
    broken: int | None = None
    fixed: int | None = None
    broken_items: tuple[str, ...] = ()
    missing: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WatchReport(Result):
    """What a series shows: a sentence, one claim and one series a metric, and what changed beside it.

    `step` is what an entry is by how far they lie apart: a day, a week, a month, else a run. `understood` says how the
    newest entry was read, `basis` who graded it, and `notes` are those of all entries and of the series.
    `flipped` are the items that the error rate counts as broken: none where nothing changed.
    """

    schema: ClassVar = "richter/watch"

    sentence: str
    exit_code: int
    claims: tuple[Claim, ...]
    series: tuple[MetricSeries, ...]
    condition: str
    n_days: int
    step: str
    n_items: int
    level: float
    changes: tuple[str, ...]
    flipped: tuple[str, ...]
    reliance: str
    notes: tuple[str, ...]
    understood: str = ""
    basis: str = ""

    def __repr__(self) -> str:
        return f"<WatchReport: {printable(self.sentence, limit=100)}>"

    def __str__(self) -> str:
        return printable(self.sentence)

    @property
    def history(self) -> dict[str, Any]:
        """What a page and a pull request show of it."""
        rows = [{"metric": s.metric, "days": s.days, "values": s.values, "changed": s.changed} for s in self.series]
        return {"sentence": self.sentence, "condition": self.condition, "series": plain(rows)}


def history_of(
    *sources: str | Path,
    condition: str | Sequence[str] | None = None,
    options: ReadOptions | None = None,
    level: float = DEFAULT_LEVEL,
) -> dict[str, Any]:
    """What a series shows, for a page or a pull request."""
    name, days, notes = read_series(*sources, condition=condition, options=options)
    return watch_series(name, days, level=level, notes=notes).history


class _Watched(NamedTuple):
    """One measure on the entries that have it: their values, sampling errors, and a window's difference."""

    metric: str
    row: Metric
    days: list[Day]
    values: Floats
    noise: Floats
    difference: Callable[[int, int], Evidence]
    sides: Callable[[int, int], tuple[ItemValues, ItemValues]] | None

    @property
    def is_amount(self) -> bool:
        """Whether changes are relative: values are then followed by their logarithms."""
        return self.row.is_cost and bool((self.values > 0).all())

    @property
    def loss(self) -> Literal["rise", "fall"] | None:
        """Which direction is a loss; neither of the judges' own series."""
        return None if self.metric == JUDGE else "rise" if self.row.better == "lower" else "fall"

    @property
    def span(self) -> float:
        """The range, in parts of which changes and what varies are measured."""
        if self.is_amount or self.row.low is None or self.row.high is None:
            return COST_SPAN if self.is_amount else max(float(np.ptp(self.values)), 1e-9) * 4
        return self.row.high - self.row.low


def watch_series(
    condition: str, days: Sequence[Day], *, level: float = DEFAULT_LEVEL, margin: float | None = None,
    independent: bool = False, deployed: Sequence[str] = (), notes: Sequence[str] = (),
) -> WatchReport:  # fmt: skip
    """Has a metric changed over the days? All metrics and all days together raise a false alarm in at most 1 - level.

    An alarm needs two things: evidence of a change by the sizes of the days' values, with slow variation and sampling
    error allowed for (`floors.change_evidence`), and an interval without 0 for the difference between the last week and
    the time before, on the items. The window is fixed by the calendar, and by deployments that the runs record or that
    are stated (`deployed`, dates): an equally good model that replaces another flips items and changes nothing. Items
    that every day has are compared with themselves; where days have other items, these are samples of their own.

    Where fixed answers were rated anew each day, what the judges' drift did to them is taken out of judged metrics, and
    shown as a series of its own. Items count by their weights, and vary together by their groups. With missing grades
    an alarm must hold both without them and with them at the worse end. `margin` is the loss that would matter, on the
    scale of the first measure: a verdict may be relied on for as long as no drift that the days do not exclude reaches
    it (else 5% of that scale).
    """
    if not days:
        raise InputError("No entry of the series holds this model.", remedy="Check --condition, or leave it out.")
    items, said, days = shared_items(days)
    found = [*notes, *data_notes(days), *said, *describe_gaps(days)]
    watched = _watched_measures(days, items)
    alpha = 1 - level
    limit = len(watched) / alpha  # all metrics together raise a false alarm in at most alpha
    series, step = [], step_of(days)
    for one in watched:
        row, more = _watch_metric(one, items, limit=limit, independent=independent, deployed=deployed)
        found += more
        series.append(row)
    rows = {one.metric: one.row for one in watched}
    claims = tuple(_claim(s, rows[s.metric], condition, len(series), days) for s in series)
    changes = recorded_changes(days)
    judge = next((s for s in series if s.metric == JUDGE and s.alarm is not None), None)
    if judge is not None:
        changes.insert(0, f"the judges rate the same answers otherwise since {judge.changed}: judges drifted")
    code, sentence = _verdict_on(series, rows, condition, days, step)
    return WatchReport(
        sentence=sentence,
        exit_code=code,
        claims=claims,
        series=tuple(series),
        condition=condition,
        n_days=len(days),
        step=step,
        n_items=len(items) if items is not None else 0,
        level=level,
        changes=tuple(changes),
        flipped=next((s.broken_items for s in series if s.metric == "error_rate"), ()),
        reliance=_reliance(series, rows, margin, level),
        notes=tuple(dict.fromkeys(found)),
        understood=days[-1].understood,
        basis=days[-1].basis,
    )


# ------------------------------------------------------------------ measures by entry


def _watched_measures(days: Sequence[Day], items: set[str] | None) -> list[_Watched]:
    """Every measure that most entries have; of amounts money rather than tokens; the judges' own series last."""
    found: dict[str, _Watched] = {}
    for metric in watched_measures():
        is_ece = measure_words(metric).estimator == "ece"
        one = _ece_series(days, items) if is_ece else _mean_series(days, metric, items)
        if one is not None and len(one.values) >= max(2, len(days) // 2):
            found[metric] = one
    for cheaper in [m for m in found if METRICS[m].is_cost][:-1]:
        del found[cheaper]
    canaries = canary_values(days, "mean_severity")
    if canaries is not None and len(canaries) >= 2:
        row = METRICS["mean_severity"]
        found[JUDGE] = _Watched(
            JUDGE, row, [day for day in days if day.judge], np.array([entry.mean for entry in canaries]),
            sampling_noise(canaries, paired=True, least=_half_range(row)),
            ItemSeries(metric=row, entries=canaries, paired=True).difference, None,
        )  # fmt: skip
    return [*found.values()]


def _is_judged(metric: str) -> bool:
    """Whether a judge's severity of an answer says the measure's value, so that judges' drift is in it."""
    row = METRICS.get(metric)
    return row is not None and row.estimator == "mean" and (
        row.source == "severity" or (row.source == "score" and row.kind == "binary")
    )  # fmt: skip


def _half_range(row: Metric) -> float:
    """Half of a measure's range, by which a single answer may move; 0 where it has none."""
    return 0.0 if row.kind == "real" or row.low is None or row.high is None else 0.5 * (row.high - row.low)


def _mean_series(days: Sequence[Day], metric: str, items: set[str] | None, *, worst: bool = False) -> _Watched | None:
    """A measure that is a mean of items; judged ones less the judges' drift. None where no entry has it."""
    canaries = canary_values(days, metric) if all(day.judged for day in days) and _is_judged(metric) else None
    kept = [(day, item_values(_frame_of(day, worst=worst), metric, items)) for day in days]
    kept = [(day, entry) for day, entry in kept if len(entry.value) and (canaries is None or day.judge)]
    if not kept:
        return None
    row = days[0].metric(metric)
    entries = [entry for _, entry in kept]
    own = ItemSeries(metric=row, entries=entries, paired=items is not None)
    values = np.array([entry.mean for entry in entries])
    noise = sampling_noise(entries, paired=items is not None, least=_half_range(row))
    found = _Watched(metric, row, [day for day, _ in kept], values, noise, own.difference, own.sides)
    return found if canaries is None else _less_drift_of(found, canaries)


def _frame_of(day: Day, *, worst: bool) -> pl.DataFrame:
    """An entry's values, with missing grades at the worse end where that is asked."""
    return day.worst if worst and day.worst is not None else day.values


def _less_drift_of(found: _Watched, canaries: Sequence[ItemValues]) -> _Watched:
    """A judged measure less what the judges rated fixed answers above their mean, with the noise of both."""
    fixed = ItemSeries(metric=found.row, entries=canaries, paired=True)
    drift = np.array([entry.mean for entry in canaries])
    return found._replace(
        values=found.values - (drift - drift.mean()),
        noise=found.noise + sampling_noise(canaries, paired=True, least=_half_range(found.row)),
        difference=lambda start, last: less_drift(found.difference(start, last), fixed.difference(start, last)),
    )


def _ece_series(days: Sequence[Day], items: set[str] | None) -> _Watched | None:
    """The binned ECE by entry (the plug-in: its upward bias is alike on days of alike size)."""
    kept = [day for day in days if day.graded is not None and _ece(day, items) is not None]
    if not kept:
        return None
    values = np.array([_ece(day, items) for day in kept], dtype=np.float64)
    noise = np.maximum(np.array([ece_noise(day, items) for day in kept]), 1e-9)
    running = np.cumsum(noise) / np.arange(1, len(noise) + 1)
    return _Watched(
        "ece", METRICS["ece"], kept, values, running, lambda start, last: ece_window(kept, start, last, items), None
    )


def _ece(day: Day, items: set[str] | None) -> float | None:
    assert day.graded is not None
    known = day.graded if items is None else day.graded.filter(pl.col("item").is_in(list(items)))
    if not known["weight"].sum():
        return None
    gaps = bin_gaps(known["confidence"], known["correct"], weight=known["weight"])
    return float(np.abs(gaps.gap).sum())


# ------------------------------------------------------------------ changes


def _watch_metric(
    one: _Watched, items: set[str] | None, *, limit: float, independent: bool, deployed: Sequence[str]
) -> tuple[MetricSeries, list[str]]:
    """One metric's series, with an alarm that missing grades do not explain, and notes."""
    found = _follow(one, limit=limit, independent=independent, deployed=deployed)
    notes = []
    if found.series.detected is None:
        notes = describe_slow_variation(noun_of(one.metric), found.slow, one.span, SLOW_SHARE, one.row)
    missing = sum(day.missing.get(one.metric, 0) for day in one.days)
    if not missing:
        return found.series, notes
    held = dataclasses.replace(found.series, missing=missing)
    other = _mean_series(one.days, one.metric, items, worst=True)
    assert other is not None
    filled = _follow(other, limit=limit, independent=independent, deployed=deployed).series
    smaller = np.minimum(np.maximum.accumulate(held.evidence), np.maximum.accumulate(filled.evidence))
    held = dataclasses.replace(held, evidence=tuple(smaller.tolist()))
    note = f"{counted(missing, 'grade is', 'grades are')} missing in {noun_of(one.metric)}"
    if held.alarm is None and filled.alarm is None:
        return held, [*notes, note]
    verdict = decide_change(Alarm(held.alarm, held.worse), Alarm(filled.alarm, filled.worse))
    if verdict is Verdict.VERIFIED:
        both = dataclasses.replace(held, alarm=max(str(held.alarm), str(filled.alarm)))
        return both, [*notes, f"{note}: the alarm holds both ways"]
    return dataclasses.replace(held, alarm=None, worse=None), [*notes, f"{note}: {describe_no_alarm(held, filled)}"]


class _Followed(NamedTuple):
    series: MetricSeries
    slow: float


def _followed_values(one: _Watched) -> tuple[Floats, Floats]:
    """The values as they are followed, amounts by their logarithms, and the variance of each by sampling."""
    values = np.log(one.values) if one.is_amount else one.values
    return values, np.maximum(one.noise / one.values**2 if one.is_amount else one.noise, 1e-9 * one.span**2)


def _follow(one: _Watched, *, limit: float, independent: bool, deployed: Sequence[str]) -> _Followed:
    """The series with its evidence; where that reaches the limit, with the first window that shows a difference."""
    at, when = tuple(day.at for day in one.days), days_of([day.at for day in one.days])
    values, noise = _followed_values(one)
    known, step = deployments(one.days, deployed), float(np.median(np.diff(when)))
    ahead = max(MIN_WINDOW_ENTRIES, round(WINDOW_DAYS / max(step, 1.0)))
    change = floors.change_evidence(
        values, noise, span=one.span, days=when, deployed=known,
        independent=independent, limit=limit, ahead=ahead, loss=one.loss,
    )  # fmt: skip
    first, shown = find_change(change.evidence, lambda look: _window_difference(one, look, when, known), limit=limit)
    look = len(at) - 1 if shown is None else shown
    more: dict[str, Any] = {}
    if first is not None:
        more |= _window_fields(one, look, when, known, limit, is_shown=shown is not None)
        more |= {"detected": at[first], "alarm": None if shown is None else at[shown]} | _change_fields(one, at)
        more |= _moved_fields(one, at.index(more["changed"]))
    low, high = _mean_limits(one, limit)
    settled = change.detectable
    if first is not None:
        since = at.index(more["changed"])
        settled = math.inf
        if len(at) - since >= MIN_WINDOW_ENTRIES:
            settled = floors.change_evidence(
                values[since:], noise[since:], span=one.span, days=when[since:], independent=independent, limit=limit,
                ahead=ahead, loss=one.loss,
            ).detectable  # fmt: skip
    reach = _detectable(one, settled, when, known, limit)
    return _Followed(
        MetricSeries(
            metric=one.metric, days=at, values=tuple(one.values.tolist()), low=low, high=high,
            evidence=tuple(change.evidence.tolist()), limit=limit, detectable=reach,
            within_days=max(ahead * step, float(WINDOW_DAYS)), **more,
        ),
        change.slow_variation,
    )  # fmt: skip


def _window_difference(one: _Watched, look: int, when: Floats, known: Sequence[int]) -> Evidence | None:
    """How the window of a look differs from the entries before it; None where there are none."""
    start = window_start(when, look, known)
    return one.difference(start, look) if start > 0 else None


def _window_fields(
    one: _Watched, look: int, when: Floats, known: Sequence[int], limit: float, *, is_shown: bool
) -> dict[str, Any]:
    """What the window of a look says: its difference, and whether that is a loss."""
    found = _window_difference(one, look, when, known)
    if found is None:
        return {}
    since = one.days[window_start(when, look, known)].at
    fields: dict[str, Any] = {
        "since": since, "difference": found.estimate, "interval": found.interval(1 - 1 / limit)
    }  # fmt: skip
    if is_shown and one.metric != JUDGE:
        fields["worse"] = (found.estimate > 0) is (one.row.better == "lower")
    return fields


def _moved_fields(one: _Watched, start: int) -> dict[str, Any]:
    """How many items broke and were fixed from the change on, and which broke; empty of what is not right or wrong."""
    if one.sides is None or one.row.kind != "binary" or start == 0:
        return {}
    broken, fixed = _moved_items(one, start, len(one.days) - 1)
    return {"broken": len(broken), "fixed": len(fixed), "broken_items": tuple(broken)}


def _moved_items(one: _Watched, start: int, look: int) -> tuple[list[str], list[str]]:
    """Items that were mostly right before an entry and are mostly wrong from it on, and the reverse."""
    assert one.sides is not None
    before, after = one.sides(start, look)
    then = dict(zip(before.item, before.value, strict=True))
    both = [(item, then[item], float(now)) for item, now in zip(after.item, after.value, strict=True) if item in then]
    up = sorted((a - b, item) for item, a, b in both if a < 0.5 < b)
    down = sorted((b - a, item) for item, a, b in both if b < 0.5 < a)
    rising, falling = [item for _, item in up], [item for _, item in down]
    return (rising, falling) if one.row.better == "lower" else (falling, rising)


def _change_fields(one: _Watched, at: Sequence[str]) -> dict[str, Any]:
    """When the values changed, with an interval, and their means before and after."""
    if len(at) < 3:
        return {"changed": at[-1]}
    there = floors.change_point(one.values)
    return {
        "changed": at[there.day + 1], "changed_between": (at[there.low + 1], at[there.high + 1]),
        "before": there.before, "after": there.after,
    }  # fmt: skip


def _mean_limits(one: _Watched, limit: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Limits of the mean that hold on all days at once, as long as nothing changed; NaN where values have no bounds."""
    none = (math.nan,) * len(one.values)
    low, high = one.row.low, one.row.high
    if one.metric == JUDGE or one.row.kind == "real" or low is None or high is None:
        return none, none
    if not (low <= one.values.min() and one.values.max() <= high):
        return none, none
    sequence = floors.mean_sequence(one.values, low=low, high=high, level=1 - 1 / limit)
    return tuple(sequence.low), tuple(sequence.high)


def _detectable(one: _Watched, reach: float, when: Floats, known: Sequence[int], limit: float) -> float:
    """The shift that both the evidence and the window's interval would show in 80% of series; of amounts relative."""
    window = _window_difference(one, len(when) - 1, when, known)
    error = None if window is None else window.standard_error
    by_items = (float(ndtri(1 - 0.5 / limit)) + float(ndtri(0.8))) * error if error is not None else 0.0
    return max(math.expm1(min(reach, 700.0)) if one.is_amount else reach, by_items)


# ------------------------------------------------------------------ what is said


def _is_too_short(lead: MetricSeries, row: Metric) -> bool:
    """Whether a large jump of the first measure could not be shown, or entries are too few to tell what varies."""
    if len(lead.days) < FEWEST:
        return True
    if row.low is None or row.high is None or row.is_cost:
        return lead.detectable > LARGE_COST
    return lead.detectable > LARGE_JUMP * (row.high - row.low)


def _verdict_on(
    series: Sequence[MetricSeries], rows: Mapping[str, Metric], condition: str, days: Sequence[Day], step: str
) -> tuple[int, str]:
    """The exit status and the sentence: got worse, too short to tell, got better, changed, or no change shown."""
    model = [s for s in series if s.metric != JUDGE]
    worse = [s for s in model if s.worse]
    if worse:
        return 3, " ".join(describe_alarm(s, condition, rows[s.metric]) for s in worse)
    changed = " ".join(
        describe_alarm(s, condition, rows[s.metric]) if s.alarm is not None
        else describe_change(s, condition, rows[s.metric])
        for s in model if s.detected is not None
    )  # fmt: skip
    if changed:
        return 0, changed
    lead = model[0] if model else None
    is_short = lead is None or _is_too_short(lead, rows[lead.metric])
    return 4 if is_short else 0, describe_detectable(lead, condition, days, step)


def _claim(s: MetricSeries, row: Metric, condition: str, size: int, days: Sequence[Day]) -> Claim:
    """That the metric has changed; with an alarm it is shown."""
    return Claim(
        measure=f"change:{s.metric}",
        conditions=(condition,),
        verdict=decide_change(Alarm(s.alarm, s.worse)),
        sentence=describe_claim(s, condition, row),
        estimate=s.difference,
        interval=s.interval,
        plain_interval=s.interval,
        values=(s.before, s.after),
        n=len(s.values),
        units=len(s.values),
        unit="run",
        hypothesis=Hypothesis(relation="differs", value=0.0),
        better=None if s.metric == JUDGE else row.better,
        missing={condition: s.missing} if s.missing else {},
        basis=days[-1].basis,
        family=Family(method="evidence and level shared by the metrics, all days", size=size),
        notes=tuple(dict.fromkeys(note for day in days for note in day.notes)),
    )


def _reliance(series: Sequence[MetricSeries], rows: Mapping[str, Metric], margin: float | None, level: float) -> str:
    """How long the last verdict may be relied on: the margin over the fastest drift that days do not exclude."""
    lead = series[0] if series else None
    if lead is None or lead.metric == JUDGE or len(lead.values) < FEWEST:
        return ""
    words = rows[lead.metric]
    if words.low is None or words.high is None:
        return ""
    loss = DEFAULT_MARGIN * (words.high - words.low) if margin is None else margin
    check_margin(words, loss)
    if lead.alarm is not None:
        return f"Your last result is from before this change: check again with data since {lead.changed}."
    day = days_of(lead.days)
    if float(np.ptp(day)) < 1:
        return ""
    line = scipy.stats.linregress(day, np.array(lead.values))
    reach = float(stdtrit(len(day) - 2, (1 + level) / 2)) * float(line.stderr)
    fastest = max(abs(float(line.slope)) + float(np.nan_to_num(reach)), 1e-9)  # days that are all alike have no error
    span = words.high - words.low
    holds = floors.half_life(loss / span, fastest / span).expires_after
    return (
        f"A result with a margin of {words.scale * loss:.3g}{words.suffix} holds for about {holds:,.0f} days: "
        f"the data allow a drift of up to {words.scale * fastest:.2g}{words.suffix} per day."
    )
