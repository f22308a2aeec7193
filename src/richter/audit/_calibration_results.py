"""What a grades or draws table shows of each condition's calibration: the types of the results."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypedDict

from richter import calibration as cal
from richter.audit._pictures import Picture, calibration_picture
from richter.claims import Asked
from richter.records import DEFAULT_LEVEL, Claim, Result, Shown, counted
from richter.texts import GroupingQuality

__all__ = ["CalibrationReport", "DrawsCondition", "GradesCondition"]


MOST_MIXED = 0.2  # classes of right and wrong answers, for each question, from which the grouping is doubted


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refusals(Result):
    """Questions whose deployed answer declines or is empty, and the ECE with and without them.

    `used` says which of the two speaks for the condition.
    """

    refused: int
    empty: int
    of: int
    used: Literal["kept", "left out"]
    kept: cal.EceResult | None = None
    left_out: cal.EceResult | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationCondition(Result):
    """What either kind of table shows of a condition; `study` is None where nothing can be tested (`reason`: why)."""

    flat: ClassVar[tuple[str, ...]] = ("json_fields",)
    derived: ClassVar[tuple[str, ...]] = ("json_fields",)

    name: str
    study: cal.ConfidenceStudy | None = None
    refusals: Refusals | None = None
    grader: cal.GraderError | None = None
    floor: float | None = None
    claim: Claim | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def result(self) -> cal.EceResult | None:
        """The figure that speaks for the condition; of draws that of Sem2 (on held-out halves), else of Sem1."""
        return None if self.study is None else self.study.result


class GradedCount(TypedDict, total=False):
    """The number of graded answers, where no study says it."""

    n: int


class GradesFields(GradedCount):
    """Counts and notes of a condition of a grades table."""

    notes: list[str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GradesCondition(CalibrationCondition):
    """One condition of a grades table."""

    unwritten: ClassVar[tuple[str, ...]] = ("name", "notes")
    flat: ClassVar[tuple[str, ...]] = ("study", "json_fields")

    ungraded: int
    without_confidence: int
    failed: int

    @property
    def json_fields(self) -> GradesFields:
        """Counts and notes as JSON has them."""
        if self.study is None:
            return {"n": 0, "notes": [*self.notes]}
        return {"notes": [*self.notes, *self.study.cannot]}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Grouped(Result):
    """What one grouping of the answers reports."""

    sem1: float
    sem2: float | None
    accuracy: float
    classes_per_question: float
    questions: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Corrected(Result):
    """What changes when a person corrects the classes: answers moved, and figures by the classes before and after."""

    moved: int
    answers: int
    questions: int
    deployed: int  # questions whose deployed class has another grade, or other answers
    before: Grouped
    after: Grouped


class Difficulty(TypedDict):
    """How well the Sem1-Sem2 gap of a question tells wrong answers, and the items with the largest gap."""

    auroc: float | None
    hardest: Sequence[str]


class StudyFields(TypedDict, total=False):
    """What a study says of a condition, where there is one."""

    miscalibration: cal.Miscalibration | None
    scores: cal.ConfidenceScores
    safe: cal.SafeThreshold


class DrawsFields(StudyFields):
    """What of a condition of a draws table is written under other names than its fields have."""

    draws: int | list[int]
    accuracy: float | None
    sem1: cal.EceResult | None
    sem2: cal.EceResult | None
    verbalised: cal.Verbalised | None
    regimes: dict[str, int]
    difficulty: Difficulty
    notes: list[str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DrawsCondition(CalibrationCondition):
    """One condition of a draws table. What cannot be had from its draws is None."""

    unwritten: ClassVar[tuple[str, ...]] = (
        "name", "items", "lengths", "margins", "sem", "stated", "study", "notes", "hardest", "difficulty_auroc",
    )  # fmt: skip

    items: tuple[str, ...]
    questions: int
    lengths: tuple[int, int]  # the fewest and the most draws of a question
    classes: str  # how answers were grouped
    margins: cal.Regimes
    sem: cal.SemEce | None = None
    stated: cal.Verbalised | None = None
    token: cal.EceResult | None = None
    gap: cal.SemGap | None = None
    strata: tuple[cal.Stratum, ...] = ()
    bounds: tuple[cal.Bound, ...] = ()
    draws_needed: cal.DrawsNeeded | None = None
    sensitivity: Mapping[str, Grouped] = dataclasses.field(default_factory=dict)
    grouping_quality: GroupingQuality | None = None  # offline classes against the given ones
    agreement: cal.AgreementGap | None = None  # how often answers agree and are right, which decides the claim
    corrected: Corrected | None = None  # by a person, where `human_cluster` says so
    semantic_entropy: cal.EceResult | None = None  # of 1 - entropy / log(draws) as a confidence, the usual baseline
    difficulty_auroc: float | None = None  # how well the Sem1-Sem2 gap of a question tells wrong answers
    hardest: tuple[str, ...] = ()  # the items with the largest gap

    @property
    def json_fields(self) -> DrawsFields:
        """What is written under other names than the fields have."""
        sem, study = self.sem, self.study
        least, most = self.lengths
        fields: DrawsFields = {
            "draws": least if least == most else [least, most],
            "accuracy": None if sem is None else sem.sem1.accuracy,
            "sem1": None if sem is None else sem.sem1,
            "sem2": None if sem is None else sem.sem2,
            "verbalised": self.stated,
            "regimes": {"large": self.margins.large, "low": self.margins.low, "jensen": self.margins.jensen},
            "difficulty": {"auroc": self.difficulty_auroc, "hardest": self.hardest},
            "notes": [*(sem.notes if sem else ()), *(study.cannot if study else ()), *self.notes],
        }
        if study is not None:
            fields |= {"miscalibration": study.miscalibration, "scores": study.scores}
            fields |= {"safe": study.safe}
        return fields


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport(Shown):
    """All conditions of a table; `kind` is `grades` or `draws`. "Is miscalibrated" is one family over all of them."""

    keyed: ClassVar = {"conditions": "name"}
    unwritten: ClassVar[tuple[str, ...]] = ("asked",)

    kind: str
    conditions: tuple[GradesCondition | DrawsCondition, ...]
    level: float = DEFAULT_LEVEL
    understood: str = ""
    notes: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()

    def with_claims(self, claims: Sequence[Claim]) -> CalibrationReport:
        """The same with claims that were decided, in the order of `asked`."""
        conditions = zip(self.conditions, claims, strict=True)
        return dataclasses.replace(
            self,
            conditions=tuple(
                dataclasses.replace(c, claim=_with_doubt(cal.claim_with_sentence(claim, c.study), c))
                for c, claim in conditions
            ),
        )

    @property
    def claims(self) -> tuple[Claim, ...]:
        """ "Is miscalibrated" of every condition."""
        return tuple(c.claim for c in self.conditions if c.claim is not None)

    def _shown(self) -> Picture:
        return calibration_picture(self)


def _with_doubt(claim: Claim, condition: GradesCondition | DrawsCondition) -> Claim:
    """The claim, with what its classes make of it where many of them hold right and wrong answers together."""
    sem = condition.sem if isinstance(condition, DrawsCondition) else None
    if sem is None or sem.mixed_classes <= MOST_MIXED * sem.questions:
        return claim
    mixed = f"{sem.mixed_classes:,} classes in {counted(sem.questions, 'question')} hold right and wrong answers"
    doubt = f"{mixed}: the grouping tells them apart badly, and how often answers agree says little here"
    return dataclasses.replace(claim, sentence=f"{claim.sentence} But {doubt}.")
