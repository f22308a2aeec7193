"""All that one confidence and its grades say: size of the error, whether there is one, and what to do about it."""

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from richter.calibration._groups import GroupStudy, by_group
from richter.calibration._omnibus import Miscalibration, miscalibration
from richter.calibration._proper_scores import ConfidenceScores, confidence_scores
from richter.calibration._recalibrate import RecalibrationAdvice, recalibrate
from richter.calibration._selective import CurvePoint, SafeThreshold, risk_coverage, safe_threshold
from richter.claims import METRICS, Evidence, Question, decide, ece_evidence, ece_side
from richter.errors import InputError, TooFewErrors
from richter.records import Claim, Interval, Result, Verdict, printable
from richter.stats import EceResult, ece
from richter.stats._ece import Binning

__all__ = ["ConfidenceStudy", "calibration_claims", "study_confidence"]

_ABOVE = 1e-9  # the lower end of a calibration error that is shown to be above 0 and not by how much


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
    curve: tuple[CurvePoint, ...]
    safe: SafeThreshold
    recalibration: RecalibrationAdvice | None
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
    """Measure one confidence: rows are answers, `item` and `group` (one each a row) what varies independently.

    `weight` is what a row's item counts for (draws share it). `by` names a part of the data for each row, for figures
    by group; those count every row alike, the curve and the threshold every draw of an item. `target` is the share of
    errors that answering alone may have.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    items = None if item is None else np.unique(np.asarray(item), return_inverse=True)[1].astype(np.intp)
    if items is not None and int(items.max()) + 1 == len(c):
        items = None
    groups = None if group is None else np.unique(np.asarray(group), return_inverse=True)[1].astype(np.intp)
    unit = items if groups is None else groups
    rows = np.arange(len(c)) if items is None else items
    given = None if weight is None else np.asarray(weight, dtype=np.float64)
    counted = given
    if items is not None:
        counted = (1.0 if given is None else given) / np.bincount(items)[items]
    of_weight = None
    if given is not None:
        of_weight = np.ones(int(rows.max()) + 1)
        of_weight[rows] = given
    of_item = None
    if groups is not None:
        of_item = np.zeros(int(rows.max()) + 1, dtype=np.intp)
        of_item[rows] = groups
    result = ece(confidence, correct, unit=unit, weight=counted, bins=bins, binning=binning, level=level)
    side = ece_side(c, a, rows, group=of_item, weight=of_weight, bins=bins, binning=binning)
    evidence = ece_evidence(side)
    cannot = list(result.notes) + list(evidence.notes)
    test, advice = None, None
    try:
        test = miscalibration(c, a, rng=rng, unit=unit, weight=counted, bins=bins, n_resamples=n_resamples)
    except InputError as e:
        cannot.append(str(e))
    try:
        advice = recalibrate(c, a, rng=rng, unit=unit, weight=counted, level=level, bins=bins)
    except TooFewErrors as e:
        cannot.append(str(e))
    scores = confidence_scores(c, a, rng=rng, unit=unit, weight=counted, level=level)
    if unit is not None or given is not None:
        w = np.full(len(c), 1 / len(c)) if counted is None else counted / np.sum(counted)
        result = dataclasses.replace(
            result,
            ece=side.plug_in,
            null=side.null,
            debiased=evidence.estimate,
            interval=evidence.interval(level),
            accuracy=float(np.sum(w * a)),
            mean_confidence=float(np.sum(w * c)),
            signed_gap=float(np.sum(w * (c - a))),
            brier=scores.brier.value or 0.0,
            auroc=scores.auroc.value,
        )
    if scores.auroc.reason:
        cannot.append(f"AUROC cannot be said: {scores.auroc.reason}.")
    return ConfidenceStudy(
        result=result,
        evidence=_tested(evidence, test),
        miscalibration=test,
        scores=scores,
        curve=risk_coverage(c, a, unit=unit, weight=given, level=level),
        safe=safe_threshold(c, a, target=target, rng=rng, unit=unit, weight=given, level=level),
        recalibration=advice,
        by_group=None if by is None else by_group(c, a, by, unit=unit, bins=bins, level=level),
        cannot=tuple(dict.fromkeys(cannot)),
    )


def _tested(evidence: Evidence, test: Miscalibration | None) -> Evidence:
    """The ECE's evidence with 0 left to the omnibus test: intervals contain 0 exactly where it does not reject."""

    def interval(level: float) -> Interval:
        found = evidence.interval(level)
        if test is None or test.p > 1 - level:
            return dataclasses.replace(found, low=0.0, method=found.method + ", omnibus at 0")
        return dataclasses.replace(found, low=max(found.low, _ABOVE), method=found.method + ", omnibus at 0")

    def p(value: float) -> float:
        own = evidence.p(value) if evidence.p is not None else 1.0
        return own if value > 0 else 1.0 if test is None else test.p

    return dataclasses.replace(evidence, interval=interval, p=p)


def calibration_claims(
    studies: dict[str, ConfidenceStudy | None],
    *,
    level: float = 0.95,
    what: str = "confidence",
    reasons: dict[str, str] | None = None,
    basis: str = "",
    seed: int | None = None,
) -> dict[str, Claim]:
    """ "Is miscalibrated", of every condition in one family, with a sentence in the model's terms.

    A condition without a study is untestable, for the reason given.
    """
    tested = {name: s for name, s in studies.items() if s is not None}
    questions = [
        Question(metric=METRICS["ece"], conditions=(name,), evidence=s.evidence, basis=basis)
        for name, s in tested.items()
    ]
    decided = dict(zip(tested, decide(questions, level=level, seed=seed), strict=True)) if tested else {}
    out = {}
    for name, study in studies.items():
        if study is None:
            why = (reasons or {}).get(name, "nothing is graded")
            out[name] = Claim(
                measure="ece",
                conditions=(name,),
                verdict=Verdict.UNTESTABLE,
                sentence=f"{printable(name, limit=60)}: untestable; {why}.",
            )
        else:
            claim = decided[name]
            out[name] = dataclasses.replace(claim, sentence=_sentence(name, what, study, claim))
    return out


def _sentence(name: str, what: str, study: ConfidenceStudy, claim: Claim) -> str:
    result, who = study.result, printable(name, limit=60)
    high = claim.interval.high if claim.interval is not None else result.interval.high
    if claim.verdict is Verdict.VERIFIED and study.miscalibration is not None:
        said = study.miscalibration.what or "its confidence is not how often it is right"
        low = claim.interval.low if claim.interval is not None else 0.0
        span = f"{low:.3f} to {high:.3f}" if low > 2 * _ABOVE else f"up to {high:.3f}"
        return f"{who}: {what} is miscalibrated: {said}. ECE {result.debiased:.3f} debiased ({span})."
    return (
        f"{who}: {what} is not shown to be miscalibrated: ECE {result.ece:.3f}, where a calibrated model would show "
        f"{result.null:.3f}; the data allow an ECE of up to {high:.3f}."
    )
