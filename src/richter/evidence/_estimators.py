"""From questions to evidence by the one path: every check, then the estimator that the row of the measure names."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

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
    Subgroups,
    as_sample,
    both_ways,
    check_margin,
    difference_evidence,
    joint_tests,
    margin_on,
    mean_evidence,
    measure_words,
    passes,
    select_conditions,
    subgroup_differences,
    subgroups_both_ways,
    total_evidence,
    tries_of,
    unpaired_evidence,
    with_gate_limit,
    with_missing_at,
    within,
    within_rater_difference,
)
from richter.errors import InputError, TooFewErrors
from richter.evidence._calibration_evidence import estimate_ece
from richter.evidence._checks import (
    CHECKS,
    Finding,
    Policy,
    compares_within_raters,
    has_own_items,
    is_unpaired,
    shared_by,
)
from richter.evidence._facts import (
    alignment_of,
    has_all_grades,
    lacking_grades,
    metric_of,
    outcomes_of,
    rated_pair,
    sample_of,
)
from richter.evidence._severity_evidence import estimate_given_error
from richter.records import Gate
from richter.stats import Bools
from richter.tables import Dataset, item_codes

__all__ = [
    "ESTIMATORS",
    "estimate_subgroups",
    "evidence",
    "has_values",
    "joint_law_of",
    "margins_of",
    "run_checks",
    "worst_sample",
]

ENDS: tuple[Literal["worst", "best"], ...] = ("worst", "best")


def estimate_mean(dataset: Dataset, question: Question, policy: Policy) -> Evidence:
    """A condition's mean, or the second's minus the first's, by unit; missing grades both ways.

    A gate has its own limit (`with_gate_limit`), and knows what a comparison shows (`as_compared`). An amount that is
    paid is compared by its totals (`total_evidence`).
    """
    sample = _asked_of(dataset, question, sample_of(dataset, question.measure))
    if sample.metric.is_cost:
        unpaired = is_unpaired(dataset, question, policy)
        return total_evidence(sample, question.conditions, unpaired=unpaired)
    found = _estimate(dataset, question, policy, sample)
    lacking = _counted_as_worst(dataset, question, policy, sample)
    if lacking is not None:
        found = _both_ways(dataset, question, policy, found, lacking)
    if not policy.is_gate:
        return found
    as_compared = estimate_mean(dataset, question, dataclasses.replace(policy, is_gate=False))
    found = dataclasses.replace(found, as_compared=as_compared)
    if sample.metric.worst is None or found.sides or found.labels:
        return found
    if compares_within_raters(dataset, question, policy):
        return found
    lacking = np.zeros_like(sample.draws) if lacking is None else lacking
    others = [k for k, name in enumerate(dataset.conditions) if name != question.conditions[-1]]
    lacking[:, others] = 0  # what the baseline lacks is left out: counted as wrong it would favour the candidate
    ends = [_asked_of(dataset, question, filled_sample(dataset, question.measure, lacking, e)) for e in ENDS]
    return with_gate_limit(found, *ends, conditions=question.conditions)


def _counted_as_worst(dataset: Dataset, question: Question, policy: Policy, sample: Sample) -> np.ndarray | None:
    """The missing grades that a claim must also hold with at the worse end, or None."""
    if not policy.is_both_ways or sample.metric.worst is None or has_all_grades(dataset, question.measure):
        return None
    lacking = lacking_of(dataset, question, policy)
    return lacking if lacking.any() else None


def estimate_subgroups(
    dataset: Dataset, question: Question, policy: Policy, by: str, *, level: float, rng: np.random.Generator
) -> Subgroups:
    """A question's difference in every value of a column, and whether it differs between them; missing both ways."""
    codes, names = item_codes(dataset, by)

    def differences(sample: Sample) -> Subgroups:
        first, second = question.conditions
        return subgroup_differences(
            sample, first, second, subgroup=codes, names=names, level=level, rng=rng, n_resamples=1000
        )

    sample = sample_of(dataset, question.measure)
    lacking, ignoring = _counted_as_worst(dataset, question, policy, sample), differences(sample)
    if lacking is None:
        return ignoring
    return subgroups_both_ways(ignoring, differences(filled_sample(dataset, question.measure, lacking)))


def _both_ways(
    dataset: Dataset, question: Question, policy: Policy, ignoring: Evidence, lacking: np.ndarray
) -> Evidence:  # fmt: skip
    """The evidence that holds with missing grades ignored and with them at the worse end."""

    def fill(some: np.ndarray) -> Evidence:
        filled = filled_sample(dataset, question.measure, some, only=question.conditions)
        sample = _asked_of(dataset, question, filled)
        return _estimate(dataset, question, policy, sample)

    def missing_to_undo(is_shown: Callable[[Evidence], bool]) -> int:
        """How many missing grades, counted as wrong in the order of items, undo what is shown without them."""
        places = np.repeat(np.arange(lacking.size), lacking.ravel())
        low, high = 0, len(places)
        while high - low > 1:
            middle = (low + high) // 2
            some = np.bincount(places[:middle], minlength=lacking.size).reshape(lacking.shape).astype(np.intp)
            holds = is_shown(both_ways(ignoring, fill(some), missing={}))  # it does not where it turns round, either
            low, high = (middle, high) if holds else (low, middle)
        return high

    counts = {name: int(lacking[:, dataset.conditions.index(name)].sum()) for name in question.conditions}
    both = both_ways(ignoring, fill(lacking), missing=counts)
    return dataclasses.replace(both, missing_to_undo=missing_to_undo)


def lacking_of(dataset: Dataset, question: Question, policy: Policy) -> np.ndarray:
    """How many grades each item that a question is about lacks, by condition."""
    apart = has_own_items(dataset, question, policy)
    found = lacking_grades(dataset, question.measure, question.conditions, policy.is_gate, apart)
    lacking = np.zeros((len(dataset.item_ids), len(dataset.conditions)), dtype=np.intp)
    columns = [dataset.conditions.index(name) for name in question.conditions]
    lacking[:, columns] = np.where(_is_asked(dataset, question)[:, None], found.lacking, 0)
    return lacking


def filled_sample(
    dataset: Dataset,
    measure: str,
    lacking: np.ndarray,
    end: Literal["worst", "best"] = "worst",
    *,
    only: Sequence[str] = (),
) -> Sample:
    """The sample of a measure with missing grades at the worse (or better) end, of all or `only` some conditions."""
    tries = tries_of(measure)
    values = outcomes_of(dataset, measure if tries is None else "accuracy")
    if only and values.label is None:  # labels may have been drawn over all conditions
        values = select_conditions(values, only)
        lacking = lacking[:, [name in only for name in dataset.conditions]]
    filled = with_missing_at(values, lacking, end)
    if tries is None:
        return as_sample(filled)
    return as_sample(passes(filled, tries.number, every=tries.every))


def _asked_of(dataset: Dataset, question: Question, sample: Sample) -> Sample:
    """The sample of the items that a question is about."""
    return within(sample, _is_asked(dataset, question)) if question.column else sample


def _is_asked(dataset: Dataset, question: Question) -> Bools:
    """Of every item whether a question is about it."""
    if not question.column:
        return np.ones(len(dataset.item_ids), dtype=bool)
    codes, names = item_codes(dataset, question.column)
    is_part: Bools = codes == names.index(question.part)
    return is_part


def _estimate(dataset: Dataset, question: Question, policy: Policy, sample: Sample) -> Evidence:
    if len(question.conditions) == 1:
        return mean_evidence(sample, question.conditions[0], exact=policy.is_gate)
    first, second = question.conditions
    if compares_within_raters(dataset, question, policy):
        both = shared_by(dataset, question).both
        return within_rater_difference(sample.metric, rated_pair(dataset, question.measure, first, second), n=both)
    if is_unpaired(dataset, question, policy):
        return unpaired_evidence(sample, first, second, exact=policy.is_gate)
    return difference_evidence(sample, first, second, exact=policy.is_gate)


Estimate = Callable[[Dataset, Question, Policy], Evidence | Blocked]

ESTIMATORS: dict[str, Estimate] = {
    "mean": estimate_mean,
    "ece": estimate_ece,
    "given_error": estimate_given_error,
    "dominance": estimate_given_error,
    "slope": estimate_given_error,
}


def evidence(dataset: Dataset, question: Question, policy: Policy | None = None) -> Asked:
    """The evidence on a question, or the check that blocks it: the only way from data to evidence."""
    policy = policy or Policy()
    metric, basis, checked = measure_words(question.measure), dataset.basis, Finding()
    found: Evidence | Blocked
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
    return is_whole and not alignment_of(dataset, policy.trust_ids).apart


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


def joint_law_of(dataset: Dataset, asked: Sequence[Asked], policy: Policy) -> JointTests | None:
    """The law of the main measure's differences from one control together; None where it is not that of t.

    It is of plain paired differences: not of labels, raters or missing grades both ways.
    Its resamples come from the policy's seed alone, so that every command has the same.
    """
    main = [a for a in asked if a.question.family == "main" and isinstance(a.evidence, Evidence)]
    main = [a for a in main if len(a.question.conditions) == 2]
    if len(main) < 2:
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
    """Whether evidence is a paired difference of items: of no labels, two groupings, runs, missing grades or raters."""
    values = outcomes_of(dataset, asked.question.measure)
    if values.label is None and values.group_2 is None and asked.known.unit != "run" and asked.known.as_worst is None:
        question = asked.question
        return not (is_unpaired(dataset, question, policy) or compares_within_raters(dataset, question, policy))
    return False
