"""What is known of a dataset, each fact computed once: samples, alignment, missing grades, raters, labels."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from richter._special import chdtrc
from richter.claims import (
    MIN_RATED,
    Alignment,
    Metric,
    Outcomes,
    RatedPair,
    Sample,
    as_errors,
    as_sample,
    check_alignment,
    mean_evidence,
    measure_words,
    passes,
    tries_of,
)
from richter.records import Interval, Result
from richter.stats import Bools, Floats, Indices
from richter.tables import KEY, Dataset, chance_of, item_codes, outcomes, question_codes
from richter.tables._tables import draw_codes

__all__ = [
    "GradedRows",
    "GroupShares",
    "LabelConflict",
    "LackingGrades",
    "RaterShares",
    "alignment_of",
    "are_contests",
    "confident_counts",
    "expected_draws",
    "grade_counts",
    "graded_grid",
    "graded_rows",
    "group_shares",
    "has_all_grades",
    "has_shared_items",
    "label_conflicts",
    "lacking_grades",
    "metric_of",
    "once",
    "outcomes_of",
    "rated_pair",
    "rater_shares",
    "row_counts",
    "sample_of",
    "valued_by",
]

T = TypeVar("T")


def once(fact: Callable[..., T]) -> Callable[..., T]:
    """A function of a dataset (and of names) that is computed once for each."""

    @functools.wraps(fact)
    def look_up(dataset: Dataset, *names: Any) -> T:
        key = (fact.__name__, *names)
        if key not in dataset.memory:
            dataset.memory[key] = fact(dataset, *names)
        found: T = dataset.memory[key]
        return found

    return look_up


@once
def outcomes_of(dataset: Dataset, measure: str) -> Outcomes:
    """One measure's values on units; errors and passes are made from the grades that accuracy has."""
    tries = tries_of(measure)
    if tries is not None:
        return passes(outcomes_of(dataset, "accuracy"), tries.number, every=tries.every)
    return as_errors(outcomes_of(dataset, "accuracy")) if measure == "error_rate" else outcomes(dataset, measure)


@once
def sample_of(dataset: Dataset, measure: str) -> Sample:
    """One measure as items x conditions; errors are what accuracy lacks to 1."""
    values = outcomes_of(dataset, measure)
    if measure != "error_rate":
        return as_sample(values)
    right = sample_of(dataset, "accuracy")
    return dataclasses.replace(right, outcomes=values, mean=1 - right.mean)


@once
def describe_out_of_range(dataset: Dataset, measure: str) -> str:
    """The first value of a measure that lies outside the range of its row, with its item and condition; else empty.

    Severities are checked as they are read, on the scale that the user states.
    """
    values = outcomes_of(dataset, measure)
    low, high = (-np.inf if values.metric.low is None else values.metric.low), values.metric.high
    if values.metric.kind == "real" or high is None:
        high = np.inf
    outside = np.flatnonzero((values.value < low) | (values.value > high))
    if values.metric.source == "severity" or not len(outside):
        return ""
    first = outside[0]
    where = f"item {values.items[values.item[first]]} of {values.conditions[values.condition[first]]}"
    span = f"below {low:g}" if np.isinf(high) else f"outside {low:g} to {high:g}"
    more = f", and {len(outside) - 1:,} more" if len(outside) > 1 else ""
    return f"{values.metric.noun} is {values.value[first]:g} in {where}{more}: {span}"


@once
def metric_of(dataset: Dataset, measure: str) -> Metric:
    """The row of a measure; a score has the range and the direction that the data say."""
    row = measure_words(measure)
    return (
        outcomes_of(dataset, measure).metric
        if row.source == "score" and row.estimator == "mean"
        else dataset.on_scale(row)
    )


@once
def alignment_of(dataset: Dataset, trust_ids: bool) -> Alignment:
    """Which conditions share one order of items, told by all conditions of the source."""
    whole = dataset.whole or dataset
    if whole.metric is None:
        return Alignment(sets=(whole.conditions,))
    return check_alignment(
        sample_of(whole, whole.metric), texts=question_codes(whole), chance=chance_of(whole), trust=trust_ids
    )


@once
def has_shared_items(dataset: Dataset, measure: str) -> bool:
    """Whether any two conditions have a value for the same item."""
    known = ~np.isnan(sample_of(dataset, measure).mean)
    return bool((known.sum(axis=1) > 1).any())


# ------------------------------------------------------------------ confidences


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GradedRows:
    """Every answer graded right or wrong: codes of its item and condition, its grade, and its confidence or NaN."""

    item: Indices
    condition: Indices
    correct: Floats
    confidence: Floats
    group: Indices | None
    weight: Floats | None
    run: Indices | None = None

    def of(self, condition: int) -> tuple[Floats, Floats, Indices]:
        """One condition's confidence, grade and item, row by row."""
        use = self.condition == condition
        return self.confidence[use], self.correct[use], self.item[use]


@once
def graded_rows(dataset: Dataset) -> GradedRows:
    """The rows of right and wrong answers with their confidences, in the order of the dataset's items."""
    right = sample_of(dataset, "accuracy").outcomes
    rows = dataset.scores.filter(pl.col("metric") == "accuracy", pl.col("value").is_in([0.0, 1.0]))
    sure: Floats = np.broadcast_to(np.nan, len(rows))  # of a million rows without one it takes no room
    if rows["confidence"].null_count() < len(rows):
        rows = rows.sort("item", "condition", "draw")
        sure = rows["confidence"].fill_null(float("nan")).to_numpy()
    return GradedRows(
        item=dataset.item_codes(rows["item"]),
        condition=rows["condition"].cast(pl.Enum(dataset.conditions)).to_physical().to_numpy().astype(np.intp),
        correct=rows["value"].to_numpy(),
        confidence=sure,
        group=right.group,
        weight=right.weight,
        run=_run_codes(dataset, rows),
    )


class GradedGrid(NamedTuple):
    """Grades and confidences as conditions x items, NaN where there is none."""

    correct: Floats
    confidence: Floats


@once
def graded_grid(dataset: Dataset) -> GradedGrid | None:
    """The grades of one answer per item and condition; None where there are no grades, or several answers."""
    has_grades = (dataset.scores["metric"] == "accuracy").any()
    if not has_grades or sample_of(dataset, "accuracy").outcomes.draw is not None:
        return None
    graded = graded_rows(dataset)
    correct, confidence = (np.full((len(dataset.conditions), len(dataset.item_ids)), np.nan) for _ in range(2))
    correct[graded.condition, graded.item] = graded.correct
    confidence[graded.condition, graded.item] = graded.confidence
    return GradedGrid(correct, confidence)


def _run_codes(dataset: Dataset, rows: pl.DataFrame) -> Indices | None:
    """The run of each row as a code; None where there are none."""
    answers = dataset.answers
    if answers["run"].null_count() == len(answers):
        return None
    runs = rows.select(KEY).join(answers.select(*KEY, "run"), on=KEY, how="left", maintain_order="left")["run"]
    return (runs.fill_null("").rank("dense") - 1).to_numpy().astype(np.intp)


@once
def confident_counts(dataset: Dataset) -> Indices:
    """Answers with a grade and a confidence, by item and condition."""
    rows = graded_rows(dataset)
    known = ~np.isnan(rows.confidence)
    shape = (len(dataset.item_ids), len(dataset.conditions))
    cell = rows.item[known] * shape[1] + rows.condition[known]
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.intp)


# ------------------------------------------------------------------ groups


LARGE_GROUP = 0.2  # share of the items from which one group is named, where it is also three times the mean share


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GroupShares:
    """One grouping of the items that conditions share: its groups, the largest one's share, and its name if large.

    `large` is empty where no group holds a fifth of the items and three times as many as a group on average.
    """

    number: int
    share: float
    large: str


@once
def group_shares(
    dataset: Dataset, measure: str, names: tuple[str, ...], column: str, part: str
) -> tuple[GroupShares, ...]:  # fmt: skip
    """Of each grouping of the items that a question is about, its groups; none where every item is alone."""
    sample = sample_of(dataset, measure)
    known = ~np.isnan(sample.mean[:, [sample.place(name) for name in names]])
    is_paired = len(names) == 2 and has_shared_items(dataset, measure)
    use: Bools = np.asarray(known.all(axis=1) if is_paired else known.any(axis=1))
    if column:
        codes, parts = item_codes(dataset, column)
        use &= codes == parts.index(part)
    found = (_shares_of(dataset, sample.outcomes, field, use) for field in ("group", "group_2"))
    return tuple(one for one in found if one is not None)


def _shares_of(dataset: Dataset, outcomes: Outcomes, field: str, use: Bools) -> GroupShares | None:
    codes = getattr(outcomes, field)
    if codes is None or not use.any():
        return None
    groups, first, place = np.unique(codes[use], return_index=True, return_inverse=True)
    if len(groups) == len(place):
        return None
    sums = np.bincount(place, weights=None if outcomes.weight is None else outcomes.weight[use])
    largest, name = int(np.argmax(sums)), ""
    share = float(sums[largest] / sums.sum())
    if share >= max(LARGE_GROUP, 3 / len(groups)):
        item = outcomes.items[int(np.flatnonzero(use)[first[largest]])]
        name = str(dataset.answers.filter(pl.col("item") == item)[field][0])
    return GroupShares(number=len(groups), share=share, large=name)


# ------------------------------------------------------------------ missing grades


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LackingGrades:
    """How many grades each item lacks by condition, in the order asked for, how many were expected, and by kind.

    Kinds are failed calls, no grade, no row, and rows without a grade where none of the conditions has one: these are
    not expected. Only the columns that were asked for are held: a page of 160 conditions
    remembers 12,720 pairs of them.
    """

    lacking: Indices
    expected: int
    kinds: dict[str, dict[str, int]]

    @property
    def total(self) -> int:
        """All that the conditions lack together."""
        return int(self.lacking.sum())


@once
def expected_draws(dataset: Dataset) -> Indices:
    """How many draws a condition was asked for each item: as many different ones as it has anywhere."""
    code = dataset.answers["condition"].cast(pl.Enum(dataset.conditions)).to_physical()
    draw = draw_codes(dataset.answers["draw"])
    span = int(draw.to_numpy().max(initial=0)) + 1
    seen = (code.cast(pl.Int64) * span + draw).unique().to_numpy()  # one number a row takes a fifth of two columns
    return np.bincount(seen // span, minlength=len(dataset.conditions)).astype(np.intp)


class RowCounts(NamedTuple):
    """Rows and failed calls by item and condition."""

    rows: Indices
    failed: Indices


@once
def row_counts(dataset: Dataset) -> RowCounts:
    """Rows and failed calls by item and condition."""
    shape = (len(dataset.item_ids), len(dataset.conditions))
    failed = (pl.col("error") != "").fill_null(value=False)
    counts = []
    for rows in (dataset.answers, dataset.answers.filter(failed)):
        item = dataset.item_codes(rows["item"])
        condition = rows["condition"].cast(pl.Enum(dataset.conditions)).to_physical().to_numpy().astype(np.intp)
        cell = item * shape[1] + condition
        counts.append(np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.intp, copy=False))
    return RowCounts(*counts)


@once
def are_contests(dataset: Dataset) -> bool:
    """Whether every item is a contest of two of several conditions, shown side by side to whoever said who won."""
    if len(dataset.conditions) < 3 or dataset.answers["shown_first"].null_count():
        return False
    return bool(((row_counts(dataset).rows > 0).sum(axis=1) == 2).all())


@once
def absent_by_design(dataset: Dataset) -> Bools:
    """Items x conditions: whole groups or domains of two items and more of which a condition has no row.

    Of contests: the conditions that did not take part.
    """
    rows = row_counts(dataset).rows
    if are_contests(dataset):
        return np.asarray(rows == 0)
    absent = np.zeros(rows.shape, dtype=bool)
    for column in ("group", "domain"):
        if dataset.answers[column].null_count() == len(dataset.answers):
            continue
        codes = item_codes(dataset, column).codes
        sizes = np.bincount(codes)
        for k in range(rows.shape[1]):
            held = np.bincount(codes, weights=rows[:, k] > 0)
            absent[:, k] |= ((held == 0) & (sizes > 1))[codes]
    return absent


def valued_by(dataset: Dataset, measure: str) -> str:
    """The measure whose values say which items another one has: severities for what is computed from them."""
    row = measure_words(measure)
    if row.estimator == "tail":
        return str(dataset.metric)
    if row.source == "severity":
        return "mean_severity"
    is_by_grades = row.source in ("confidence", "draws") or tries_of(measure) is not None
    return "accuracy" if is_by_grades else measure


@once
def grade_counts(dataset: Dataset, measure: str) -> Indices:
    """How many values of a measure each item and condition has."""
    if measure_words(measure).estimator == "ece":
        return confident_counts(dataset)
    return sample_of(dataset, valued_by(dataset, measure)).draws


@once
def lacking_grades(
    dataset: Dataset, measure: str, names: tuple[str, ...], strict: bool, unpaired: bool
) -> LackingGrades:
    """The grades that the conditions `names` lack: the row has none, the call failed, or the row is absent.

    An item that none of them has a value for is left out, unless each has its own items (`unpaired`). A row is absent
    where another of them has the item; not where a whole group or domain is absent, and not where they have their own
    items. With `strict` no absence is a design: groups, domains and draws that another condition of the dataset has are
    absent, of one condition too.
    """
    if has_all_grades(dataset, measure):
        shape = (len(dataset.item_ids), len(names))
        number = math.prod(shape) * int(expected_draws(dataset)[0])
        none = dict[str, dict[str, int]]()
        return LackingGrades(lacking=np.broadcast_to(np.intp(0), shape), expected=number, kinds=none)
    columns = [dataset.conditions.index(name) for name in names]
    all_rows, all_failed = row_counts(dataset)
    rows, failed, graded = (counts[:, columns] for counts in (all_rows, all_failed, grade_counts(dataset, measure)))
    has_value: Bools = np.asarray((graded > 0).any(axis=1))
    has_row = rows > 0
    wanted = has_value[:, None] | (has_row & (unpaired or len(names) == 1))
    if len(names) == 1 and strict and not unpaired:  # a row of another condition is all that tells of a lost one
        wanted = wanted | (all_rows > 0).any(axis=1, keepdims=True)
    if unpaired:
        wanted = wanted & has_row
    elif not strict:
        wanted = wanted & (has_row | ~absent_by_design(dataset)[:, columns])
    asked = expected_draws(dataset)
    # a draw that one of them lacks wholly is absent too
    asked = np.full(len(columns), asked.max()) if strict and not unpaired else asked[columns]
    expected = np.where(wanted, np.maximum(asked, rows), 0)
    if measure_words(measure).source == "failure":  # a failed call is a value there
        failed = np.zeros_like(failed)
    lacking = np.maximum(expected - graded, 0)
    kinds = {}
    for k, name in enumerate(names):
        gone = np.maximum(expected[:, k] - np.maximum(rows[:, k], graded[:, k]), 0)
        lost = np.minimum(failed[:, k], lacking[:, k] - gone)
        kinds[name] = {
            "failed": int(lost[wanted[:, k]].sum()),
            "ungraded": int((lacking[:, k] - gone - lost)[wanted[:, k]].sum()),
            "absent": int(gone.sum()),
            "both": int(np.maximum(rows[:, k] - graded[:, k], 0)[~wanted[:, k]].sum()),
        }
    return LackingGrades(lacking=lacking, expected=int(expected.sum()), kinds=kinds)


@once
def has_all_grades(dataset: Dataset, measure: str) -> bool:
    """Whether all conditions have as many grades of every item as answers, by nobody who is known.

    Then no condition lacks anything, and nothing but its grades tells it from another.
    """
    row = measure_words(measure)
    if row.estimator != "mean" or row.source != "score" or not dataset.ratings.is_empty():
        return False
    sample, (rows, failed) = sample_of(dataset, measure), row_counts(dataset)
    is_whole = np.ptp(rows) == 0 and not failed.any() and np.array_equal(rows, sample.draws)
    by_judges = sample.outcomes.judges or sample.outcomes.label is not None
    return bool(is_whole and not by_judges and (expected_draws(dataset) == rows.flat[0]).all())


# ------------------------------------------------------------------ human labels

CONFLICT_SIZE = 0.05  # of the scale, which begins at 0: what grades and labels may differ by without contradicting
CONFLICT_LEVEL = 0.99


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabelConflict(Result):
    """Grades that human labels contradict: a condition's mean as graded, and as people would grade all its answers."""

    condition: str
    measure: str
    graded: float
    corrected: float
    interval: Interval
    labels: int


@once
def label_conflicts(dataset: Dataset) -> tuple[LabelConflict, ...]:
    """The conditions whose grades by the main measure human labels contradict.

    Grades lie outside of the labels' 99% interval, by a twentieth of the scale or more.
    """
    if dataset.metric is None or metric_of(dataset, dataset.metric).estimator != "mean":
        return ()
    sample = sample_of(dataset, dataset.metric)
    rows, metric = sample.outcomes, sample.metric
    if rows.label is None or rows.label_fault or metric.high is None:
        return ()
    found = []
    for k, name in enumerate(dataset.conditions):
        if np.isnan(sample.mean[:, k]).all() or not (one := mean_evidence(sample, name)).labels:
            continue
        weight = np.ones(len(sample.mean)) if rows.weight is None else rows.weight
        known = ~np.isnan(sample.mean[:, k])
        graded = float(np.average(sample.mean[known, k], weights=weight[known]))
        span = one.interval(CONFLICT_LEVEL)
        if graded not in span and abs(graded - one.estimate) >= CONFLICT_SIZE * metric.high:
            found.append(LabelConflict(condition=name, measure=dataset.metric, graded=graded, corrected=one.estimate,
                                       interval=span, labels=one.labels))  # fmt: skip
    return tuple(found)


# ------------------------------------------------------------------ raters


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RaterShares:
    """Who rated two conditions: the raters of each with their numbers of ratings."""

    first: dict[str, int]
    second: dict[str, int]

    @property
    def independence_p(self) -> float:
        """Pearson's chi-square p-value of raters having the same shares of both conditions."""
        names = sorted({*self.first, *self.second})
        table = np.array([[of.get(name, 0) for name in names] for of in (self.first, self.second)], dtype=float)
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
        return float(chdtrc(max(len(names) - 1, 1), float(np.sum((table - expected) ** 2 / expected))))

    @property
    def comparable(self) -> tuple[str, ...]:
        """The raters who rated enough answers of both conditions to be compared within."""
        return tuple(sorted(n for n in self.first if min(self.first[n], self.second.get(n, 0)) >= MIN_RATED))


@once
def rater_shares(dataset: Dataset, kind: str, first: str, second: str) -> RaterShares | None:
    """Who of a kind gave severities of two conditions; None where no single raters are known."""
    rows = dataset.ratings.filter(pl.col("kind") == kind, pl.col("severity").is_not_null())
    if kind == "given" or rows.is_empty():
        return None
    table = {}
    for name in (first, second):
        own = rows.filter(pl.col("condition") == name)
        table[name] = dict(own.group_by("rater").len().iter_rows())
    if not table[first] or not table[second]:
        return None
    return RaterShares(first=table[first], second=table[second])


@once
def rated_pair(dataset: Dataset, measure: str, first: str, second: str) -> RatedPair:
    """Every rater's own ratings of two conditions as values of a measure, on the items that both have."""
    names = (first, second)
    sample = sample_of(dataset, measure)
    shared: Bools = np.asarray(~np.isnan(sample.mean[:, [sample.place(name) for name in names]]).any(axis=1))
    rows = dataset.ratings.filter(
        pl.col("kind") == (dataset.counting or ""), pl.col("severity").is_not_null(), pl.col("condition").is_in(names)
    )
    item = dataset.item_codes(rows["item"])
    rows, item = rows.filter(pl.Series(shared[item])), item[shared[item]]
    raters = tuple(rows["rater"].unique().sort().to_list())
    group = sample.outcomes.group
    return RatedPair(
        value=sample.metric.of_severity(rows["severity"].to_numpy()),
        rater=rows["rater"].cast(pl.Enum(raters)).to_physical().to_numpy().astype(np.intp),
        side=(rows["condition"] == second).to_numpy().astype(np.intp),
        unit=item if group is None else group[item],
        unit_name="item" if group is None else "group",
        raters=raters,
    )
