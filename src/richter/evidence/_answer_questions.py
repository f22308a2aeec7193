"""From questions to evidence by the one path: every check, then the measure's estimator."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from richter.claims import (
    AMOUNTS_GIVEN,
    Asked,
    Blocked,
    Evidence,
    JointTests,
    Question,
    Sample,
    Trade,
    check_margin,
    joint_tests,
    margin_on,
    measure_words,
)
from richter.errors import InputError, TooFewErrors
from richter.evidence._checks import CHECKS, Finding, compares_within_raters, is_unpaired
from richter.evidence._estimators import ESTIMATORS, filled_sample, lacking_of
from richter.evidence._facts import alignment_of, has_all_grades, metric_of, outcomes_of, sample_of
from richter.evidence._policy import Policy
from richter.records import Gate
from richter.tables import Dataset

__all__ = [
    "evidence",
    "has_values",
    "joint_law_of",
    "margins_of",
    "run_checks",
    "trade",
    "worst_sample",
]


def evidence(dataset: Dataset, question: Question, policy: Policy | None = None) -> Asked:
    """The evidence on a question, or the check that blocks it: the only way from data to evidence."""
    policy = policy or Policy()
    metric, basis, checked = measure_words(question.measure), dataset.basis, Finding()
    found: Evidence | Trade | Blocked
    gates: tuple[Gate, ...] = ()
    try:
        metric = metric_of(dataset, question.measure)
        basis = AMOUNTS_GIVEN if metric.is_cost else basis
        checked = run_checks(dataset, question, policy)
        found = checked.block or ESTIMATORS[metric.estimator](dataset, question, policy)
        if metric.estimator == "slope" and checked.block is None:
            gates = _gates_of(dataset, question, policy)
    except (InputError, TooFewErrors) as fault:
        found = Blocked(gate=None, reason=fault.what.rstrip("."), remedy=fault.remedy)
    return Asked(question=question, metric=metric, evidence=found, basis=basis, gates=gates, notes=checked.notes)


def margins_of(
    dataset: Dataset, margin: float | Mapping[str, float] | None, main: str | None = None
) -> dict[str, float]:
    """The stated margins by measure, each on its measure's scale; one without a name is the `main` measure's.

    The main measure is that of the data where none is named.
    """
    found: dict[str, float] = {}
    for name, stated in ({} if margin is None else margin if isinstance(margin, Mapping) else {"": margin}).items():
        measure = name or main or dataset.metric or "accuracy"
        if measure in found:
            raise InputError(f"The margin of {measure} is given twice.", remedy="Give it once.")
        found[measure] = margin_on(stated, metric_of(dataset, measure))
        check_margin(metric_of(dataset, measure), found[measure])
    return found


def has_values(dataset: Dataset, measure: str) -> bool:
    """Whether the data hold any value of a measure: of its score, its column, a severity or a confidence."""
    row = measure_words(measure)
    if row.source in ("severity", "failure"):
        return row.source == "failure" or dataset.counting is not None
    if row.source == "answer":
        return bool(dataset.answers[row.column].is_not_null().any())
    is_own = row.source == "column" or (row.source == "score" and row.kind != "binary")
    name = measure if is_own else "accuracy"
    scores = dataset.scores.filter(pl.col("metric") == name, pl.col("value").is_not_null())
    return bool(scores["confidence"].is_not_null().any()) if row.source == "confidence" else not scores.is_empty()


def worst_sample(dataset: Dataset, question: Question) -> Sample:
    """The values of a question's measure, items x conditions, with missing grades at the worse end of its range."""
    return filled_sample(dataset, question.measure, lacking_of(dataset, question, Policy()))


def run_checks(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """The notes of all checks up to the first that blocks the question, and that block.

    Where all conditions have the same answers to grade, what is found of one pair holds for all: a board asks once.
    """
    if len(question.conditions) != 2 or not _are_pairs_alike(dataset, question, policy):
        return _run_each(dataset, question, policy)
    key = ("checks", question.measure, question.column, question.part)
    if key not in dataset.memory or dataset.memory[key][0] is not policy:
        dataset.memory[key] = policy, _run_each(dataset, question, policy)
    found: Finding = dataset.memory[key][1]
    return found


def _are_pairs_alike(dataset: Dataset, question: Question, policy: Policy) -> bool:
    """Whether no check can tell one pair of conditions from another."""
    is_whole = has_all_grades(dataset, question.measure)
    return is_whole and not alignment_of(dataset, policy.trust_ids, policy.chance).apart


def _run_each(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    notes: list[str] = []
    for check in CHECKS:
        finding = check(dataset, question, policy)
        notes += finding.notes
        if finding.block is not None:
            return Finding(notes=tuple(notes), block=finding.block)
    return Finding(notes=tuple(notes))


def _gates_of(dataset: Dataset, question: Question, policy: Policy) -> tuple[Gate, ...]:
    """The gates that slopes stand behind."""
    from richter.evidence._severity_evidence import severity_pairs

    pairs = severity_pairs(dataset, policy.severity).pairs
    return tuple(p.gate for p in pairs if p.names == question.conditions and p.gate is not None)


def trade(quality: Asked, cost: Asked) -> Asked:
    """Is the quality kept within its margin at a lower cost? One question from the evidence on both."""
    for part in (quality, cost):
        if isinstance(part.evidence, Blocked):
            return dataclasses.replace(quality, evidence=part.evidence, notes=part.notes)
    margin = quality.question.margin
    assert margin is not None
    both = Trade(quality=quality.known, cost=cost.known, metric=quality.metric, cost_metric=cost.metric, margin=margin)
    return dataclasses.replace(quality, evidence=both, notes=tuple(dict.fromkeys((*quality.notes, *cost.notes))))


def joint_law_of(dataset: Dataset, asked: Sequence[Asked], policy: Policy) -> JointTests | None:
    """The law of the main measure's differences from one control together; None where it is not that of t.

    It is of plain paired differences: not of labels, raters, missing grades both ways, adjusted or weighted ones.
    Its resamples come from the policy's seed alone, so that every command has the same.
    """
    main = [a for a in asked if a.question.family == "main" and isinstance(a.evidence, Evidence)]
    main = [a for a in main if len(a.question.conditions) == 2]
    if len(main) < 2 or policy.about != "new-items" or policy.adjust or policy.suite is not None:
        return None
    measure, rng = main[0].question.measure, np.random.default_rng(policy.severity.seed)
    if main[0].metric.estimator == "given_error":
        from richter.evidence._severity_evidence import severity_pairs

        return severity_pairs(dataset, policy.severity).joint_law(measure, rng)
    if main[0].metric.estimator != "mean" or not all(_is_plain_difference(dataset, a, policy) for a in main):
        return None
    pairs = [a.question.conditions for a in main]
    return joint_tests(sample_of(dataset, measure), [(a, b) for a, b in pairs], rng=rng)


def _is_plain_difference(dataset: Dataset, asked: Asked, policy: Policy) -> bool:
    """Whether evidence is a paired difference of items: of no labels, two groupings, missing grades or raters."""
    values = outcomes_of(dataset, asked.question.measure)
    if values.label is None and values.group_2 is None and asked.known.as_worst is None:
        question = asked.question
        return not (is_unpaired(dataset, question, policy) or compares_within_raters(dataset, question, policy))
    return False
