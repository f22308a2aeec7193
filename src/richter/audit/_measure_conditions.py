"""The three numbers that matter for each condition (how often, how badly, does it know), and where it fails."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy

from richter.audit._calibration_results import CalibrationReport
from richter.audit._comparison import measures_of
from richter.audit._measure_run import RunRecords
from richter.audit._results import ConditionResults, Estimated, Figure, Group
from richter.claims import METRICS, Evidence, Sample, mean_evidence, rate_interval
from richter.errors import InputError
from richter.evidence import has_values, metric_of, sample_of
from richter.stats import Bools, Indices, benjamini_hochberg
from richter.tables import CATASTROPHIC, Dataset

SIMULATED = "simulated/"  # models of this provider are no models
LEAST = 10  # items in a pattern, inside and outside
PATTERNS = 10


def measure_conditions(
    records: RunRecords, *, draws: CalibrationReport | None, grades: CalibrationReport | None, level: float
) -> tuple[ConditionResults, ...]:
    """One row a condition. What cannot be had is None, never 0.

    Rates and means are those of the claims: draws of an item are averaged, groups and weights allowed for.
    """
    stated = _confidence_figures(grades, "", records)
    repeated = _confidence_figures(draws, "how often repeated answers agree", records)
    # answers that are themselves the draws and carry confidences are known by these, which the claims are on
    knows = stated | repeated if records.drawn else repeated | stated
    tables = records.tables
    wrong = known_sample(tables, "error_rate")
    often = _figures(wrong, "share of wrong answers", level)
    severe = known_sample(tables, "catastrophic_rate")
    badly = _figures(severe, f"share of answers of severity {CATASTROPHIC:g} or more", level)
    mean = _figures(known_sample(tables, "mean_severity"), "mean severity of all answers, 0 where correct", level)
    where = {} if wrong is None else _where(wrong, _attributes(records, wrong.outcomes.items), level)
    scored, measures = _scored(records, level), _measure_figures(tables, level)
    rated = dict(records.rows.filter(pl.col("correct").is_not_null())["condition"].value_counts().iter_rows())
    badly = {name: dataclasses.replace(figure, mean=mean.get(name)) for name, figure in badly.items()}
    found = []
    for condition in records.conditions:
        asked, name = records.asked[condition.name], condition.name
        found.append(
            ConditionResults(
                name=name,
                model=condition.model,
                decoding=condition.decoding,
                system=condition.system,
                style=condition.style,
                items=len(records.items),
                answered=asked.answered,
                failed=asked.failed,
                refused=asked.refused,
                rated=rated.get(name, 0),
                simulated=condition.model.startswith(SIMULATED),
                spent=asked.spent(),
                how_often=often.get(name),
                how_badly=badly.get(name),
                scored=scored.get(name),
                knows=knows.get(name),
                where=where.get(name, ()),
                measures={measure: figures[name] for measure, figures in measures.items() if name in figures},
            )
        )
    return tuple(found)


def known_sample(tables: Dataset, measure: str) -> Sample | None:
    """One measure as items x conditions, as every claim has it; None where no answer has it."""
    try:
        return sample_of(tables, measure)
    except InputError:
        return None


def _figures(sample: Sample | None, what: str, level: float) -> dict[str, Figure]:
    """Each condition's mean with its interval; as people would grade where some answers have their labels, the mean as
    graded then beside it.
    """
    if sample is None:
        return {}
    figures: dict[str, Figure] = {}
    for name in sample.outcomes.conditions:
        if np.isnan(sample.mean[:, sample.place(name)]).all():
            continue
        evidence = mean_evidence(sample, name)
        span = rate_interval(evidence, level=level)
        figure = Figure(estimate=evidence.estimate, interval=span, n=evidence.n, what=what)
        if evidence.labels:
            own = mean_evidence(without_labels(sample), name)
            figure = dataclasses.replace(
                figure,
                n=own.n,
                what=f"{what}, as people would grade ({evidence.labels:,} labels)",
                labels=evidence.labels,
                graded=Estimated(estimate=own.estimate, interval=rate_interval(own, level=level)),
            )
        figures[name] = figure
    return figures


def _measure_figures(tables: Dataset, level: float) -> dict[str, dict[str, Figure]]:
    """By measure each condition's mean with its interval: all that a comparison of these data asks about, then what
    answers cost, and how often they refuse where any does."""
    found: dict[str, dict[str, Figure]] = {}
    is_graded = tables.metric is not None and has_values(tables, tables.metric)
    asked = measures_of(tables, str(tables.metric)) if is_graded else []
    beside = [m.name for m in METRICS.values() if m.source == "answer" and has_values(tables, m.name)]
    for measure in dict.fromkeys((*asked, *beside)):
        sample = known_sample(tables, measure) if metric_of(tables, measure).estimator == "mean" else None
        if sample is not None:
            found[measure] = _with_scale(_figures(sample, sample.metric.noun, level), sample)
    return {m: figures for m, figures in found.items() if m in asked or any(f.estimate for f in figures.values())}


def _with_scale(figures: Mapping[str, Figure], sample: Sample) -> dict[str, Figure]:
    """Figures that say the ends of their scale, where it has any, and which of them is good."""
    metric = sample.metric
    known = metric.kind != "real" and metric.low is not None and metric.high is not None
    ends = (float(metric.low or 0), float(metric.high or 0)) if known else None  # an amount has only what was seen
    return {name: dataclasses.replace(figure, scale=ends, better=metric.better) for name, figure in figures.items()}


def without_labels(sample: Sample) -> Sample:
    """The values as they were graded."""
    return dataclasses.replace(sample, outcomes=dataclasses.replace(sample.outcomes, label=None))


def _scored(records: RunRecords, level: float) -> dict[str, Figure]:
    """Each condition's mean score with its interval, where answers have a score that is not right or wrong."""
    if records.tables.metric in (None, "accuracy", "mean_severity"):
        return {}
    found = sample_of(records.tables, str(records.tables.metric))
    metric = found.metric
    has_ends = metric.kind != "real" and metric.low is not None and metric.high is not None
    ends = f" from {metric.low:g} to {metric.high:g}" if has_ends else ""
    return _with_scale(_figures(found, f"{metric.noun}{ends}, {metric.better} is better", level), found)


def _confidence_figures(report: CalibrationReport | None, what: str, records: RunRecords) -> dict[str, Figure]:
    """Debiased ECE by condition; of a grades report the confidence is what the answers themselves carry."""
    found: dict[str, Figure] = {}
    for condition in () if report is None else report.conditions:
        result, name = condition.result, _spoken_for(condition.name, records)
        is_own = name == condition.name
        if result is None or not name or (name in found and not is_own):
            continue
        source = what or records.asked[name].confidence if is_own else f"{what} ({condition.name})"
        found[name] = Figure(
            estimate=result.debiased,
            interval=result.interval,
            n=result.n,
            what=f"debiased calibration error (ECE); {source}",
            sure=result.mean_confidence,
            right=result.accuracy,
            drawn="" if is_own else condition.name,
        )
    return found


def _spoken_for(name: str, records: RunRecords) -> str:
    """The condition that draws speak for: their own, else the one that asked the same model; empty for none.

    Draws under settings of their own ("small t=1") have another name than the condition.
    """
    if name in records.asked:
        return name
    model = records.drawn.get(name, "")
    same = [c.name for c in records.conditions if c.model == model]
    return same[0] if len(same) == 1 and list(records.drawn.values()).count(model) == 1 else ""


@dataclasses.dataclass(frozen=True, slots=True)
class _Attribute:
    """One attribute of all items: its values, and the place of each item's value among them (-1: it has none)."""

    name: str
    values: tuple[str, ...]
    code: Indices


def _attributes(records: RunRecords, ids: Sequence[str]) -> list[_Attribute]:
    """Domain, tier and form of the items, where any has one."""
    of = records.tables.answers.group_by("item").agg(pl.col("domain", "tier").drop_nulls().first())
    texts = {
        "domain": dict(of.select("item", "domain").iter_rows()),
        "tier": {item: (tier or "").removeprefix("T") for item, tier in of.select("item", "tier").iter_rows()},
        "form": {name: str(item.form) for name, item in records.items.items()},
    }
    found = [_attribute(name, [own.get(item) or "" for item in ids]) for name, own in texts.items()]
    return [attribute for attribute in found if attribute.values]


def _attribute(name: str, texts: Sequence[str]) -> _Attribute:
    values = sorted({text for text in texts if text})
    place = {text: i for i, text in enumerate(values)}
    return _Attribute(name, tuple(values), np.array([place.get(text, -1) for text in texts], dtype=np.intp))


def _where(wrong: Sample, attributes: Sequence[_Attribute], level: float) -> dict[str, tuple[Group, ...]]:
    """By condition its error rates by domain and tier, and pairs of attributes that fail more than the rest.

    Surely worst first, by the lower end of the interval: a rate of 100% in two items is not the worst that is known.
    """
    sample = without_labels(wrong)
    by_item = wrong.outcomes.group is None  # patterns take items that do not depend on each other
    found: dict[str, tuple[Group, ...]] = {}
    for name in wrong.outcomes.conditions:
        rows = [group for one in attributes if one.name != "form" for group in _groups(sample, name, one, level)]
        rows += _patterns(sample, name, attributes, level) if by_item else []
        found[name] = tuple(sorted(rows, key=lambda row: (-row.interval.low, -row.n, row.kind, row.group)))
    return found


def _groups(sample: Sample, name: str, attribute: _Attribute, level: float) -> Iterator[Group]:
    """A condition's error rate at each value of an attribute that it has answers at."""
    for k, value in enumerate(attribute.values):
        part = attribute.code == k
        if not np.isnan(sample.mean[part, sample.place(name)]).all():
            label = f"tier {value}" if attribute.name == "tier" else value
            yield _group(label, attribute.name, _part_evidence(sample, part, name), level)


def _group(name: str, kind: Any, evidence: Evidence, level: float) -> Group:
    return Group(
        group=name, kind=kind, error_rate=evidence.estimate, interval=rate_interval(evidence, level=level), n=evidence.n
    )


def _patterns(sample: Sample, name: str, attributes: Sequence[_Attribute], level: float) -> list[Group]:
    """Two attributes together whose items fail more than all others; of several draws an item is wrong if most are.

    The hypergeometric test is the exact form of permuting the errors over the items; all groups are judged together by
    Benjamini-Hochberg. A pair that is all of one of its attributes is left out: that one says it.
    """
    rate = sample.mean[:, sample.place(name)]
    known = ~np.isnan(rate)
    wrong, total = (rate > 0.5) & known, int(known.sum())
    groups: list[tuple[str, Bools]] = []
    for a, b in itertools.combinations(attributes, 2):
        for i, j in np.ndindex(len(a.values), len(b.values)):
            first, second = (a.code == i) & known, (b.code == j) & known
            both = first & second
            n = int(both.sum())
            if LEAST <= n <= total - LEAST and n < min(int(first.sum()), int(second.sum())):
                groups.append((f"{a.name} {a.values[i]}, {b.name} {b.values[j]}", both))
    if not groups:
        return []
    errors = np.array([int((both & wrong).sum()) for _, both in groups])
    sizes = np.array([int(both.sum()) for _, both in groups])
    q = benjamini_hochberg(scipy.stats.hypergeom.sf(errors - 1, total, int(wrong.sum()), sizes))
    kept = [
        _group(pattern, "pattern", _part_evidence(sample, both, name), level)
        for (pattern, both), value in zip(groups, q, strict=True)
        if value <= 1 - level
    ]
    return sorted(kept, key=lambda row: -row.interval.low)[:PATTERNS]


def _part_evidence(sample: Sample, part: Bools, name: str) -> Evidence:
    """A condition's mean over some of the items."""
    return mean_evidence(dataclasses.replace(sample, mean=np.where(part[:, None], sample.mean, np.nan)), name)
