"""Can I trust the judge? Agreement with labels, scores as people would grade, what else its grades depend on."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from richter.claims import METRICS, Asked, Blocked, Evidence, Metric, Question, decide
from richter.errors import InputError, TooFewErrors
from richter.evidence import evidence
from richter.models import model_identity
from richter.records import DEFAULT_LEVEL, Claim, Interval, Result
from richter.stats import (
    Floats,
    GradeDependence,
    LabelAgreement,
    Share,
    agreement_with_labels,
    grade_dependence,
    position_bias,
    screen,
)
from richter.store import is_run, open_ledger
from richter.tables import KEY, Dataset, judges_of

__all__ = ["JudgeBias", "JudgeStudy", "JudgeTrust", "study_judges"]

MIN_LABELS_AS_REFERENCE = 200
MIN_SHARE = 0.05  # of answers on either side of a quantity, below which it says nothing
FORMATTED = r"(?m)^\s*(?:[-*+] |\d+\. |#{1,6} |\|.*\||```)|\*\*[^*]+\*\*"

SIDES = {
    "length": ("shorter answers", "longer answers"),
    "formatting": ("plain answers", "formatted answers"),
    "family": ("answers of other families", "answers of the judge's own family"),
    "position": ("answers shown second", "answers shown first"),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBias(Result):
    """What a judge's grades depend on among answers of the same correctness.

    `claim` has its size in points of the judge's pass rate; `shifts` say by how much it moves each comparison, by
    "second minus first".
    """

    kind: str
    claim: Claim
    shifts: Mapping[str, float]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JudgeStudy(Result):
    """One judge: against human labels (None without 10 of them), and against a reference for its biases.

    `sensitivity` is the share of answers that people call wrong which the judge calls wrong; `specificity` that of
    right ones which it calls right. `reference` grades correctness for `biases`; where it is another judge only a bias
    that the two do not share is seen (`is_true` false).
    """

    judge: str
    labels: int
    agreement: LabelAgreement | None
    sensitivity: Share | None
    specificity: Share | None
    reference: str
    is_true: bool
    biases: tuple[JudgeBias, ...]
    unmeasured: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedScore(Result):
    """A condition's mean as it was graded and as people would grade all of its answers."""

    condition: str
    measure: str
    estimate: float
    interval: Interval
    labels: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTrust(Result):
    """Every judge of a dataset, and its scores corrected by human labels where there are some.

    `position` is how many points more often than half the answer shown first wins, where pairs of answers were judged
    in both orders; comparisons of such pairs do not move with it.
    """

    judges: tuple[JudgeStudy, ...]
    corrected: tuple[CorrectedScore, ...]
    position: JudgeBias | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Grader:
    """Somebody's right (1) and wrong (0) on answers, by row of the dataset (NaN: none)."""

    name: str
    kind: str
    right: Floats


def study_judges(tables: Dataset, *, level: float = DEFAULT_LEVEL) -> JudgeTrust | None:
    """Whether each judge of a dataset can be trusted; None where no judge graded.

    The model behind a condition, for the judge's own family, is that of its run; elsewhere the condition's name.
    """
    graders = tuple(_graders(tables))
    judges = [g for g in graders if g.kind == "judge"]
    position = _position(tables, level)
    if not judges and position is None:
        return None
    models = _models_of(tables)
    studies = tuple(_study(tables, judge, graders, models, level) for judge in judges)
    return JudgeTrust(judges=studies, corrected=tuple(_corrected(tables, level)), position=position)


def _position(tables: Dataset, level: float) -> JudgeBias | None:
    """Whether the place in which an answer is shown wins, from pairs in both orders; None where there are too few."""
    first = pl.col("shown_first") == 1
    rows = tables.scores.filter(pl.col("metric") == tables.metric).join(tables.answers, on=KEY, how="inner")
    won = rows.filter(first).group_by("item").agg(
        pl.col("value").first().alias("one"), pl.col("value").last().alias("other"),
        pl.col("condition").n_unique().alias("orders"),
    )  # fmt: skip
    both = won.filter(pl.col("orders") == 2)
    try:
        slope = position_bias(both["one"].to_numpy(), both["other"].to_numpy())
    except TooFewErrors:
        return None
    basis = f"{slope.n} pairs of answers in both orders"
    known = Evidence(
        estimate=slope.estimate, interval=slope.interval, values=(0.5 - slope.estimate, 0.5 + slope.estimate),
        n=slope.n, units=slope.units, standard_error=slope.standard_error, freedom=slope.freedom, notes=(basis,),
    )  # fmt: skip
    metric = _metric("position")
    asked = Asked(
        question=Question(measure=metric.name, conditions=SIDES["position"]), metric=metric, evidence=known, basis=basis
    )
    (claim,) = decide([asked], level=level, data_hash=tables.data_hash)
    return JudgeBias(kind="position", claim=claim, shifts={})


def _models_of(tables: Dataset) -> dict[str, str]:
    """The model behind each condition of the runs that were read."""
    models: dict[str, str] = {}
    for place in filter(is_run, tables.places):
        with open_ledger(place) as ledger:
            models |= {condition.name: condition.model for condition in ledger.conditions()}
    return models


def _graders(tables: Dataset) -> Iterator[_Grader]:
    """Everybody who says right or wrong of answers: scores, rules, judges, people."""
    keys = tables.answers.select(KEY)

    def by_row(rows: pl.DataFrame) -> Floats:
        found = keys.join(rows.select(*KEY, "value"), on=KEY, how="left", maintain_order="left")["value"]
        return found.cast(pl.Float64).fill_null(float("nan")).to_numpy()

    if tables.scored_by:
        rows = tables.scores.filter(pl.col("metric") == "accuracy", pl.col("value").is_in([0.0, 1.0]))
        named = judges_of(tables, "accuracy")
        if len(rows):
            name = named[0] if named else tables.scored_by[0]
            yield _Grader(name=name, kind="judge" if named else "reference", right=by_row(rows))
    rated = tables.ratings.filter(pl.col("severity").is_not_null())
    rated = rated.with_columns((pl.col("severity") == 0).cast(pl.Float64).alias("value"))
    for (kind, rater), own in rated.filter(pl.col("kind").is_in(["judge", "rule"])).group_by(
        "kind", "rater", maintain_order=True
    ):
        yield _Grader(name=str(rater), kind=str(kind), right=by_row(own.unique(KEY, keep="last", maintain_order=True)))
    people = rated.filter(pl.col("kind") == "human").group_by(KEY).agg(pl.col("value").mean())
    people = people.filter(pl.col("value") != 0.5).with_columns((pl.col("value") > 0.5).cast(pl.Float64))
    if people.is_empty():
        people = tables.answers.filter(pl.col("human").is_not_null()).select(*KEY, pl.col("human").alias("value"))
    if len(people):
        yield _Grader(name="human labels", kind="human", right=by_row(people))


def _study(
    tables: Dataset, judge: _Grader, graders: tuple[_Grader, ...], models: Mapping[str, str], level: float
) -> JudgeStudy:
    label = next((g.right for g in graders if g.kind == "human"), np.full(len(judge.right), np.nan))
    both = ~np.isnan(label) & ~np.isnan(judge.right)
    agreement, sensitivity, specificity = _against_labels(tables, judge, label, level)
    reference = _reference_for(judge, graders)
    biases: tuple[JudgeBias, ...] = ()
    quantities, unmeasured = _quantities(tables, judge.name, models)
    if reference is None:
        unmeasured = dict.fromkeys(SIDES, "No second grader says which answers are right.")
    else:
        biases = _biases(tables, judge, reference, quantities, unmeasured, level)
    return JudgeStudy(
        judge=judge.name,
        labels=int(both.sum()),
        agreement=agreement,
        sensitivity=sensitivity,
        specificity=specificity,
        reference="" if reference is None else reference.name,
        is_true=reference is not None and reference.kind != "judge",
        biases=biases,
        unmeasured=unmeasured,
    )


def _against_labels(
    tables: Dataset, judge: _Grader, label: Floats, level: float
) -> tuple[LabelAgreement | None, Share | None, Share | None]:
    """The judge against human labels, weighted back to all answers where labels have a design."""
    strata = _label_strata(tables, label)
    weight = None
    if strata is not None:
        graded = ~np.isnan(judge.right)
        parts = int(strata.max()) + 1
        sizes, labels = (np.bincount(strata[use], minlength=parts) for use in (graded, ~np.isnan(label)))
        weight = (sizes / np.maximum(labels, 1))[strata]
    try:
        found = agreement_with_labels(judge.right, label, weight=weight, strata=strata, level=level)
        (row,) = screen(1 - judge.right, 1 - label, thresholds=[1.0], strata=strata, level=level).rows
    except InputError:
        return None, None, None
    return found, row.sensitivity, row.specificity


def _label_strata(tables: Dataset, label: Floats) -> np.ndarray | None:
    """The stratum of every answer, or its chance of a label; None where neither is known of all."""
    for column in ("layer", "inclusion"):
        values = tables.answers[column]
        if values.null_count() == 0 and len(values):
            codes: np.ndarray = (values.rank("dense") - 1).to_numpy().astype(np.intp)
            drawn = np.bincount(codes[~np.isnan(label)], minlength=int(codes.max()) + 1)
            if (drawn >= 2).all():
                return codes
    return None


def _reference_for(judge: _Grader, graders: tuple[_Grader, ...]) -> _Grader | None:
    """Who says what is right: references and rules, many labels, another judge, few labels."""
    labels = next((g for g in graders if g.kind == "human"), None)
    many = labels is not None and int((~np.isnan(labels.right)).sum()) >= MIN_LABELS_AS_REFERENCE
    order = [g for g in graders if g.kind in ("reference", "rule")]
    order += [labels] if labels is not None and many else []
    order += [g for g in graders if g.kind == "judge" and g.name != judge.name]
    order += [labels] if labels is not None else []
    return next((g for g in order if int((~np.isnan(g.right) & ~np.isnan(judge.right)).sum()) > 0), None)


def family_of(name: str) -> str:
    """The first word of a model's name: of `openai/gpt-4o` it is gpt."""
    found = re.match(r"[a-z]+", model_identity(name).lower().rpartition("/")[2])
    return found.group(0) if found else ""


def _quantities(
    tables: Dataset, judge: str, models: Mapping[str, str]
) -> tuple[dict[str, Floats], dict[str, str]]:  # fmt: skip
    """What a grade may depend on, 0 or 1 by answer, and why others are not known."""
    answers = tables.answers
    found: dict[str, Floats] = {}
    why: dict[str, str] = {}
    tokens, text = answers["tokens_out"].cast(pl.Float64), answers["text"]
    length = tokens if tokens.null_count() <= text.null_count() else text.str.len_chars().cast(pl.Float64)
    if length.null_count() < len(length):
        sizes = length.fill_null(float("nan")).to_numpy()
        found["length"] = np.where(np.isnan(sizes), np.nan, sizes > np.nanmedian(sizes))
    else:
        why["length"] = "Answers have no text and no number of tokens."
    if text.null_count() < len(text):
        marks = text.str.contains(FORMATTED).cast(pl.Float64).fill_null(float("nan"))
        found["formatting"] = marks.to_numpy()
    else:
        why["formatting"] = "Answers have no text."
    own = family_of(judge)
    is_own = {c: float(bool(own) and family_of(models.get(c, c)) == own) for c in tables.conditions}
    found["family"] = answers["condition"].replace_strict(is_own, return_dtype=pl.Float64).to_numpy()
    for name, values in list(found.items()):
        share = float(np.nanmean(values))
        if not MIN_SHARE <= share <= 1 - MIN_SHARE:
            del found[name]
            why[name] = f"Fewer than {100 * MIN_SHARE:.0f}% of the answers are {SIDES[name][share < 0.5]}."
    return found, why


def _biases(
    tables: Dataset, judge: _Grader, reference: _Grader, quantities: Mapping[str, Floats], why: dict[str, str],
    level: float,
) -> tuple[JudgeBias, ...]:  # fmt: skip
    """Each quantity's slope as a claim, each a family of its own: a habit is not looked for among several."""
    if not quantities:
        return ()
    item = tables.answers["item"].rank("dense").to_numpy().astype(np.intp)
    if tables.answers["group"].null_count() == 0:
        item = tables.answers["group"].rank("dense").to_numpy().astype(np.intp)
    is_true = reference.kind != "judge"
    try:
        slopes = grade_dependence(judge.right, reference.right, quantities, unit=item, is_true=is_true)
    except InputError as fault:
        why.update(dict.fromkeys(quantities, fault.what))
        return ()
    basis = f"given the same correctness by {reference.name}"
    asked = [_ask(name, slope, judge, quantities[name], basis) for name, slope in slopes.items()]
    return tuple(
        JudgeBias(kind=name, claim=claim, shifts=_shifts(tables, slopes[name], quantities[name]))
        for name, one in zip(slopes, asked, strict=True)
        for claim in decide([one], level=level, data_hash=tables.data_hash)
    )


def _metric(name: str) -> Metric:
    return dataclasses.replace(
        METRICS["accuracy"], name=f"judge_{name}_bias", noun="the judge's pass rate at the same correctness",
        better_word="graded higher", worse_word="graded lower", alike_word="graded alike",
    )  # fmt: skip


def _ask(name: str, slope: GradeDependence, judge: _Grader, quantity: Floats, basis: str) -> Asked:
    """The question whether a judge's grades depend on a quantity."""
    base = float(np.nanmean(np.where(quantity == 0, judge.right, np.nan)))
    known = Evidence(
        estimate=slope.estimate, interval=slope.interval, values=(base, base + slope.estimate), n=slope.n,
        units=slope.units, standard_error=slope.standard_error, freedom=slope.freedom, notes=(basis,),
    )  # fmt: skip
    metric = _metric(name)
    question = Question(measure=metric.name, conditions=SIDES[name])
    return Asked(question=question, metric=metric, evidence=known, basis=basis)


def _shifts(tables: Dataset, slope: GradeDependence, quantity: Floats) -> dict[str, float]:
    """By how much a bias moves the difference of each pair of conditions."""
    of = tables.answers["condition"].to_numpy()
    mean = {name: float(np.nanmean(quantity[of == name])) for name in tables.conditions}
    return {
        f"{second} minus {first}": slope.estimate * (mean[second] - mean[first])
        for first, second in itertools.combinations(tables.conditions, 2)
    }


def _corrected(tables: Dataset, level: float) -> Iterator[CorrectedScore]:
    """Each condition's mean of the main measure as people would grade, by the one path."""
    for name in tables.conditions if tables.metric else ():
        asked = evidence(tables, Question(measure=str(tables.metric), conditions=(name,)))
        if isinstance(asked.evidence, Blocked) or not asked.known.labels:
            continue
        yield CorrectedScore(
            condition=name, measure=str(tables.metric), estimate=asked.known.estimate,
            interval=asked.known.interval(level), labels=asked.known.labels,
        )  # fmt: skip
