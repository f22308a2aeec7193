"""All that one confidence and its grades say: size of the error, whether there is one, and what to do about it."""

import dataclasses
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from richter.calibration._groups import GroupStudy, study_groups
from richter.calibration._omnibus import Miscalibration, miscalibration
from richter.calibration._proper_scores import ConfidenceScores, confidence_scores
from richter.calibration._selective import SafeThreshold, safe_threshold
from richter.claims import METRICS, Asked, Blocked, Evidence, Question, decide, ece_evidence, ece_side
from richter.errors import InputError
from richter.records import Claim, Interval, Result, Verdict
from richter.stats import EceResult, Floats, Indices, ece
from richter.stats._ece import Binning
from richter.words import describe_calibration, describe_repeats, describe_unmeasured_calibration

__all__ = [
    "ConfidenceStudy",
    "calibration_claims",
    "calibration_question",
    "claim_with_sentence",
    "study_confidence",
    "unit_ece",
]

_JUST_ABOVE_0 = 1e-9  # the lower end of a calibration error that is shown to be above 0 and not by how much


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceStudy(Result):
    """One confidence of one condition. `evidence` is of its ECE, 0 being excluded exactly where the omnibus test says.

    What cannot be said is None, and `cannot` says why, one line each.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("evidence",)
    flat: ClassVar[tuple[str, ...]] = ("result",)

    result: EceResult
    evidence: Evidence
    miscalibration: Miscalibration | None
    scores: ConfidenceScores
    safe: SafeThreshold
    by_group: GroupStudy | None = None
    cannot: tuple[str, ...] = ()


def study_confidence(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    item: ArrayLike | None = None,
    group: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    by: ArrayLike | None = None,
    target: float = 0.05,
    bins: int = 10,
    binning: Binning = "width",
    level: float = 0.95,
    n_resamples: int = 9999,
) -> ConfidenceStudy:
    """The study of one confidence: rows are answers, `item` and `group` (one each a row) what varies independently.

    `weight` is what a row's item counts for (draws share it). `by` names a part of the data for each row, for figures
    by group. The threshold counts every draw of an item. `target` is the share of errors that answering
    alone may have.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    rows = _rows(len(c), item, group, weight)
    of: dict[str, Any] = {"unit": rows.unit, "weight": rows.counted}
    result, evidence = _by_unit(confidence, correct, rows, bins=bins, binning=binning, level=level)
    cannot = list(result.notes) + list(evidence.notes)
    test = None
    try:
        test = miscalibration(c, a, rng=rng, bins=bins, n_resamples=n_resamples, **of)
    except InputError as e:
        cannot.append(str(e))
    scores = confidence_scores(c, a, rng=rng, level=level, **of)
    if scores.auroc.reason:
        cannot.append(f"AUROC cannot be said: {scores.auroc.reason}.")
    return ConfidenceStudy(
        result=result,
        evidence=_test_condition(evidence, test),
        miscalibration=test,
        scores=scores,
        safe=safe_threshold(c, a, target=target, rng=rng, unit=rows.unit, weight=rows.given, level=level),
        by_group=None if by is None else study_groups(c, a, by, bins=bins, level=level, **of),
        cannot=tuple(dict.fromkeys(cannot)),
    )


class _Rows(NamedTuple):
    """Each row's item, what varies independently (None: the row), its own weight, and what it counts for."""

    item: Indices
    group: Indices | None
    unit: Indices | None
    given: Floats | None
    counted: Floats | None


def _rows(n: int, item: ArrayLike | None, group: ArrayLike | None, weight: ArrayLike | None) -> _Rows:
    items, groups = (
        None if x is None else np.unique(np.asarray(x), return_inverse=True)[1].astype(np.intp) for x in (item, group)
    )
    if items is not None and int(items.max()) + 1 == n:
        items = None
    if groups is not None and int(groups.max()) + 1 == (n if items is None else int(items.max()) + 1):
        groups = None  # single items
    given = None if weight is None else np.asarray(weight, dtype=np.float64)
    counted = given if items is None else (1.0 if given is None else given) / np.bincount(items)[items]
    return _Rows(np.arange(n) if items is None else items, groups, items if groups is None else groups, given, counted)


def _by_unit(
    confidence: ArrayLike, correct: ArrayLike, rows: _Rows, *, bins: int, binning: Binning, level: float
) -> tuple[EceResult, Evidence]:
    result = ece(confidence, correct, unit=rows.unit, weight=rows.counted, bins=bins, binning=binning, level=level)
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    first = np.unique(rows.item, return_index=True)[1]  # a row of each item
    group, weight = rows.group, rows.given
    side = ece_side(
        c, a, rows.item, group=None if group is None else group[first],
        weight=None if weight is None else weight[first], bins=bins, binning=binning,
    )  # fmt: skip
    evidence = ece_evidence(side)
    study = dataclasses.replace(
        result, ece=side.plug_in, null=side.null, debiased=evidence.estimate, interval=evidence.interval(level)
    )
    return study, evidence


def unit_ece(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    item: ArrayLike | None = None,
    group: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    bins: int = 10,
    binning: Binning = "width",
    level: float = 0.95,
) -> EceResult:
    """`ece` of answers of which several are to one `item`, or to items of one `group`: these vary together.

    Every item counts alike, or by its `weight`, and its draws share that. The error, what chance alone would show of it
    and its interval are those of `claims.ece_evidence`, which decide claims.
    """
    rows = _rows(len(np.asarray(confidence)), item, group, weight)
    return _by_unit(confidence, correct, rows, bins=bins, binning=binning, level=level)[0]


def _test_condition(evidence: Evidence, test: Miscalibration | None) -> Evidence:
    """The ECE's evidence with 0 left to the omnibus test: intervals contain 0 exactly where it does not reject."""

    def interval(level: float) -> Interval:
        span = evidence.interval(level)
        if test is None or test.p > 1 - level:
            return dataclasses.replace(span, low=0.0, method=span.method + ", omnibus at 0")
        return dataclasses.replace(span, low=max(span.low, _JUST_ABOVE_0), method=span.method + ", omnibus at 0")

    def p(value: float) -> float:
        own = evidence.p(value) if evidence.p is not None else 1.0
        return own if value > 0 else 1.0 if test is None else test.p

    return dataclasses.replace(evidence, interval=interval, p=p)


def calibration_question(
    name: str,
    study: ConfidenceStudy | None,
    *,
    measure: Literal["ece", "draws"] = "ece",
    reason: str = "",
    basis: str = "",
) -> Asked:
    """ "Is it miscalibrated?" of one condition, with its evidence; untestable without a study, for the reason given."""
    question = Question(measure=measure, conditions=(name,))
    evidence = Blocked(gate=None, reason=reason or "nothing is graded") if study is None else study.evidence
    return Asked(question=question, metric=METRICS[measure], evidence=evidence, basis=basis)


def claim_with_sentence(claim: Claim, study: ConfidenceStudy | None, *, what: str = "") -> Claim:
    """The claim with a sentence in the model's terms; `what` names the confidence that it is about."""
    if study is None or claim.estimate is None:
        return dataclasses.replace(claim, sentence=describe_unmeasured_calibration(claim))
    what = what or ("confidence" if claim.measure == "ece" else "agreement with itself")
    return dataclasses.replace(claim, sentence=_describe_claim(claim.conditions[0], what, study, claim))


def calibration_claims(
    studies: dict[str, ConfidenceStudy | None],
    *,
    level: float = 0.95,
    what: str = "",
) -> dict[str, Claim]:
    """ "Is miscalibrated", of every condition in one family, with a sentence in the model's terms."""
    claims = decide([calibration_question(name, study) for name, study in studies.items()], level=level)
    return {c.conditions[0]: claim_with_sentence(c, studies[c.conditions[0]], what=what) for c in claims}


def _describe_claim(name: str, what: str, study: ConfidenceStudy, claim: Claim) -> str:
    result, found = study.result, study.miscalibration
    if claim.measure == "draws":
        return describe_repeats(claim)
    return describe_calibration(
        name, what, is_shown=claim.verdict is Verdict.VERIFIED and found is not None,
        fault="" if found is None else found.what, plug_in=result.ece, null=result.null, debiased=result.debiased,
        interval=claim.interval or result.interval,
    )  # fmt: skip
