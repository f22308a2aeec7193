"""The three numbers that matter for each condition (how often, how badly, does it know), and where it fails."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import hypergeom
from scipy.stats import t as student

from richter.audit._calibration import CalibrationReport
from richter.audit._measure_run import RunRecords
from richter.audit._results import ConditionResults, Estimated, Figure, Group
from richter.claims import as_sample, mean_evidence
from richter.errors import InputError
from richter.records import Interval
from richter.stats import Bools, Floats, Indices, benjamini_hochberg, clopper_pearson, wilson
from richter.tables import CATASTROPHIC, outcomes

SIMULATED = "simulated/"  # models of this provider are no models
LEAST = 10  # items in a pattern, inside and outside
PATTERNS = 10


def measure_conditions(
    records: RunRecords, *, draws: CalibrationReport | None, grades: CalibrationReport | None, level: float
) -> tuple[ConditionResults, ...]:
    """One row a condition. What cannot be had is None, never 0."""
    graded = records.rows.filter(pl.col("correct").is_not_null())
    parts = {str(name): part for (name,), part in graded.group_by("condition", maintain_order=True)}
    knows = _knows(grades, "", records) | _knows(draws, "how often repeated answers agree", records)
    attributes = _attributes(records)
    place = {item: i for i, item in enumerate(records.items)}
    people = {name: _as_people(records, name, level) for name in ("accuracy", "catastrophic_rate", "mean_severity")}
    scored = _scored(records, level)
    found = []
    for condition in records.conditions:
        asked, part = records.asked[condition.name], parts.get(condition.name)
        rated = records.scores.filter(pl.col("condition") == condition.name)
        severity = rated["severity"].to_numpy()
        wrong = np.empty(0, dtype=np.bool_) if part is None else (part["correct"] == 0).to_numpy()
        rows = np.array([] if part is None else [place[item] for item in part["item"]], dtype=np.intp)
        found.append(
            ConditionResults(
                name=condition.name,
                model=condition.model,
                decoding=condition.decoding,
                system=condition.system,
                style=condition.style,
                items=len(records.items),
                answered=asked.answered,
                failed=asked.failed,
                refused=asked.refused,
                rated=len(wrong),
                simulated=condition.model.startswith(SIMULATED),
                spent=asked.spent(),
                how_often=_often(wrong, people["accuracy"].get(condition.name), level) if len(wrong) else None,
                how_badly=_badly(severity, condition.name, people, level) if len(severity) else None,
                scored=scored.get(condition.name),
                knows=knows.get(condition.name),
                where=_where(wrong, rows, attributes, level),
            )
        )
    return tuple(found)


def _as_people(records: RunRecords, metric: str, level: float) -> dict[str, Figure]:
    """Each condition's figure as people would grade, where some answers have their labels (`n`); else nothing."""
    try:
        sample = as_sample(outcomes(records.tables.first_draws(), metric))
    except InputError:
        return {}
    found: dict[str, Figure] = {}
    for name in sample.outcomes.conditions if sample.outcomes.label is not None else ():
        evidence = mean_evidence(sample, name) if (~np.isnan(sample.mean[:, sample.place(name)])).any() else None
        if evidence is not None and evidence.labels:
            span = evidence.interval(level)
            found[name] = Figure(estimate=evidence.estimate, interval=span, n=evidence.labels, what=metric)
    return found


def _scored(records: RunRecords, level: float) -> dict[str, Figure]:
    """Each condition's mean score with its interval, where answers have a score that is not right or wrong."""
    if records.tables.metric in (None, "accuracy", "mean_severity"):
        return {}
    sample = as_sample(outcomes(records.tables, str(records.tables.metric)))
    metric, found = sample.metric, {}
    what = f"{metric.noun} from {metric.low:g} to {metric.high:g}, {metric.better} is better"
    for name in sample.outcomes.conditions:
        if (~np.isnan(sample.mean[:, sample.place(name)])).any():
            evidence = mean_evidence(sample, name)
            span = evidence.interval(level)
            ends = None if metric.low is None or metric.high is None else (metric.low, metric.high)
            found[name] = Figure(estimate=evidence.estimate, interval=span, n=evidence.n, what=what, scale=ends)
    return found


def _corrected(own: Figure, people: Figure | None) -> Figure:
    """A figure with people's in its place and its own as `graded`."""
    if people is None:
        return own
    return dataclasses.replace(
        own,
        estimate=people.estimate,
        interval=people.interval,
        what=f"{own.what}, as people would grade ({people.n:,} labels)",
        graded=Estimated(estimate=own.estimate, interval=own.interval),
    )


def _often(wrong: Bools, people: Figure | None, level: float) -> Figure:
    if people is not None and people.interval is not None:  # what is wrong is what is not right
        span = dataclasses.replace(people.interval, low=1 - people.interval.high, high=1 - people.interval.low)
        people = dataclasses.replace(people, estimate=1 - people.estimate, interval=span)
    return _corrected(_rate(int(np.sum(wrong)), len(wrong), "share of wrong answers", level), people)


def _share(k: int, n: int, level: float) -> Interval:
    """Wilson's interval of a share; with none seen the exact one-sided upper limit, as zero seen is a bound."""
    return wilson(k, n, level=level) if k else clopper_pearson(0, n, level=level, side="upper")


def _rate(k: int, n: int, what: str, level: float) -> Figure:
    return Figure(estimate=k / n, interval=_share(k, n, level), n=n, what=what)


def _badly(severity: Floats, name: str, people: Mapping[str, Mapping[str, Figure]], level: float) -> Figure:
    n, mean = len(severity), float(np.mean(severity))
    rate = _rate(
        int(np.sum(severity >= CATASTROPHIC)), n, f"share of answers of severity {CATASTROPHIC:g} or more", level
    )
    span: Interval | None = None
    if n > 1:
        half = float(student.ppf(0.5 + level / 2, n - 1)) * float(np.std(severity, ddof=1)) / math.sqrt(n)
        span = Interval(low=max(mean - half, 0.0), high=min(mean + half, 4.0), level=level, method="student t")
    average = Figure(estimate=mean, interval=span, n=n, what="mean severity of all answers, 0 where correct")
    shown = _corrected(rate, people["catastrophic_rate"].get(name))
    return dataclasses.replace(shown, mean=_corrected(average, people["mean_severity"].get(name)))


def _knows(report: CalibrationReport | None, what: str, records: RunRecords) -> dict[str, Figure]:
    """Debiased ECE by condition; of a grades report the confidence is what the answers themselves carry."""
    found = {}
    for condition in () if report is None else report.conditions:
        result = condition.result
        if result is not None and condition.name in records.asked:
            source = (
                f"calibration error (debiased ECE), confidence from {what or records.asked[condition.name].confidence}"
            )
            found[condition.name] = Figure(
                estimate=result.debiased,
                interval=result.interval,
                n=result.n,
                what=source,
                sure=result.mean_confidence,
                right=result.accuracy,
            )
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class _Attribute:
    """One attribute of all items: its values, and the place of each item's value among them (-1: it has none)."""

    name: str
    values: tuple[str, ...]
    code: Indices


def _attributes(records: RunRecords) -> list[_Attribute]:
    items = list(records.items.values())
    columns = {
        "domain": [item.domain for item in items],
        "tier": ["" if item.tier is None else str(item.tier) for item in items],
        "form": [str(item.form) for item in items],
    }
    found = []
    for name, texts in columns.items():
        values = sorted({text for text in texts if text})
        place = {text: i for i, text in enumerate(values)}
        if values:
            found.append(_Attribute(name, tuple(values), np.array([place.get(t, -1) for t in texts], dtype=np.intp)))
    return found


def _where(wrong: Bools, rows: Indices, attributes: Sequence[_Attribute], level: float) -> tuple[Group, ...]:
    """Error rates by domain and tier, and pairs of attributes that fail more than the rest; surely worst first.

    `rows` are the items' places. Ordered by the lower end of the interval: a rate of 100% in two items is not the
    worst that is known.
    """
    found = []
    for one in attributes:
        if one.name not in ("domain", "tier"):
            continue
        size, errors = _tally(one.code[rows], wrong, len(one.values))
        for value, n, k in zip(one.values, size, errors, strict=True):
            if n:
                name = f"tier {value}" if one.name == "tier" else value
                found.append(_group(name, one.name, int(k), int(n), level))
    found += _patterns(wrong, rows, attributes, level)
    return tuple(sorted(found, key=lambda row: (-row.interval.low, -row.n, row.kind, row.group)))


def _tally(code: Indices, wrong: Bools, groups: int) -> tuple[Indices, Indices]:
    """Items and errors in each group; items without a value (-1) in none."""
    known = code >= 0
    return (np.bincount(code[known], minlength=groups), np.bincount(code[known & wrong], minlength=groups))


def _group(name: str, kind: Any, errors: int, n: int, level: float) -> Group:
    return Group(group=name, kind=kind, error_rate=errors / n, interval=_share(errors, n, level), n=n)


def _patterns(wrong: Bools, rows: Indices, attributes: Sequence[_Attribute], level: float) -> list[Group]:
    """Two attributes together whose items fail more than all others.

    The hypergeometric test is the exact form of permuting the errors over the items; all groups are judged together by
    Benjamini-Hochberg. A pair that is all of one of its attributes is left out: that one says it.
    """
    groups: list[tuple[str, int, int]] = []
    for a, b in itertools.combinations(attributes, 2):
        first, second = a.code[rows], b.code[rows]
        both = np.where((first >= 0) & (second >= 0), first * len(b.values) + second, -1)
        size, errors = _tally(both, wrong, len(a.values) * len(b.values))
        alone = [_tally(code, wrong, len(one.values))[0] for code, one in ((first, a), (second, b))]
        for i, j in np.ndindex(len(a.values), len(b.values)):
            n = int(size[i * len(b.values) + j])
            if LEAST <= n <= len(wrong) - LEAST and n < min(int(alone[0][i]), int(alone[1][j])):
                name = f"{a.name} {a.values[i]}, {b.name} {b.values[j]}"
                groups.append((name, int(errors[i * len(b.values) + j]), n))
    if not groups:
        return []
    names, errors_in, sizes = zip(*groups, strict=True)
    p = hypergeom.sf(np.array(errors_in) - 1, len(wrong), int(wrong.sum()), np.array(sizes))
    kept = [
        _group(name, "pattern", k, n, level)
        for name, k, n, q in zip(names, errors_in, sizes, benjamini_hochberg(p), strict=True)
        if q <= 1 - level
    ]
    return sorted(kept, key=lambda row: -row.interval.low)[:PATTERNS]
