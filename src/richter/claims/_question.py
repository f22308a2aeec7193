"""What is asked, and what the data answer: a question, and the evidence on it or the check that blocks it."""

import dataclasses
from typing import TYPE_CHECKING, Literal

from richter.claims._evidence import UNPAIRED, Evidence
from richter.claims._measures import Metric
from richter.records import Gate

if TYPE_CHECKING:
    from richter.claims._suite import Trade

__all__ = ["AMOUNTS_GIVEN", "JUDGE_UNCHECKED", "Asked", "Blocked", "FamilyName", "Question", "Relation"]

AMOUNTS_GIVEN = "amounts as given"  # the basis of claims on money, tokens and time, which nobody grades
JUDGE_UNCHECKED = "judge, unchecked"  # the basis of claims on grades of a judge that nobody checked

Relation = Literal["above", "below", "differs"]
FamilyName = Literal["main", "other", "subgroup", "requirement"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question about a measure of one condition, or about the second condition minus the first.

    `differs`: is the quantity unlike `value`, on either side? `above` and `below` are directed: the other side refutes.
    With a `margin`, being within it of `value` is asked as well. `family` names the multiple comparisons that it is
    corrected with: the main measure's, all others', the subgroups', or a gate's requirements. `column` and `part` name
    the subset of the items that it is about.
    """

    measure: str
    conditions: tuple[str, ...]
    relation: Relation = "differs"
    value: float = 0.0
    margin: float | None = None
    family: FamilyName = "main"
    column: str = ""
    part: str = ""
    column_name: str = ""  # what the data call the column

    @property
    def name(self) -> str:
        """The measure's name in claims; a subset's stands behind it."""
        return f"{self.measure}:{self.part}" if self.column else self.measure


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """Why a question has no answer: the check (`gate`) that failed, the reason, the remedy, and what overrides it.

    Without a `gate` the data hold nothing to answer with: the question is untestable.
    """

    gate: str | None
    reason: str
    remedy: str = ""
    override: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with the metric it is about and its evidence, or with the check that blocks it."""

    question: Question
    metric: Metric
    evidence: "Evidence | Trade | Blocked"
    basis: str = ""
    gates: tuple[Gate, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def known(self) -> Evidence:
        """The evidence of a question that has some."""
        assert isinstance(self.evidence, Evidence)
        return self.evidence

    @property
    def is_rising(self) -> bool:
        """Whether the estimate lies above the value that is asked about."""
        return self.known.estimate > self.question.value

    @property
    def who_graded(self) -> str:
        """The basis, what is not paired, and that nobody checked the judges."""
        return "; ".join(p for p in (self.basis, UNPAIRED if self.known.sides else "", self.known.judged) if p)

    @property
    def words(self) -> Metric:
        """The metric's words; a ratio speaks in per cent."""
        if not self.known.relative:
            return self.metric
        return dataclasses.replace(self.metric, scale=100.0, suffix="%", digits=1, default_margin=0.05)
