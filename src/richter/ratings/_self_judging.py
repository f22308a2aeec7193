"""What a run's judge ratings say of its judges: who judged themselves, and which replies gave no score."""

import dataclasses
from collections import Counter
from collections.abc import Iterable

from richter.errors import InputError
from richter.models import model_identity
from richter.records import Condition, Rating, Result

__all__ = ["PanelFailures", "SelfJudging", "audit_self_judging", "panel_failures"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SelfJudging(Result):
    """Which ratings were given by the audited model itself, under whatever name. Zero is what a report may rest on."""

    n_judge_ratings: int
    n_self: int
    pairs: tuple[tuple[str, str], ...]  # (judge, condition) that share a model


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PanelFailures(Result):
    """Judges' replies that gave no score: how many, of how many, by judge, and the first with its reason."""

    failed: int
    asked: int
    by_judge: dict[str, int]
    first: str

    def __str__(self) -> str:
        if not self.failed:
            return f"all {self.asked:,} judge replies were read"
        who = ", ".join(f"{name} {n:,}" for name, n in self.by_judge.items())
        every = "; no answer has a verdict" if self.failed == self.asked else ""
        return f"{self.failed:,} of {self.asked:,} judge replies gave no score ({who}){every}. The first: {self.first}"


def panel_failures(ratings: Iterable[Rating]) -> PanelFailures | None:
    """What judges failed to score; None where no judge was asked."""
    given = [r for r in ratings if r.kind == "judge"]
    failed = [r for r in given if r.severity is None]
    if not given:
        return None
    return PanelFailures(
        failed=len(failed),
        asked=len(given),
        by_judge=dict(Counter(r.rater for r in failed).most_common()),
        first=failed[0].reason.removeprefix("no score: ") if failed else "",
    )


def audit_self_judging(
    ratings: Iterable[Rating], conditions: Iterable[Condition], judges: Iterable[Condition]
) -> SelfJudging:
    """Count the judge ratings whose judge and audited condition are the same model; needs every judge to be known."""
    audited = {c.name: model_identity(c.model) for c in conditions}
    judging = {j.name: model_identity(j.model) for j in judges}
    given = [r for r in ratings if r.kind == "judge"]
    unknown = sorted({r.rater for r in given} - set(judging))
    if unknown:
        raise InputError(
            f"The run does not say which model the judge {unknown[0]!r} was.",
            remedy="Without it nobody can prove that no model judged itself. "
            "Judge again with `richter audit --only judge`.",
        )
    own = [r for r in given if judging[r.rater] == audited.get(r.condition)]
    return SelfJudging(
        n_judge_ratings=len(given), n_self=len(own), pairs=tuple(sorted({(r.rater, r.condition) for r in own}))
    )
