"""Two conditions behind every gate: the difference of their shapes, the verdict, and the sentence that says it."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from richter.records import Finding, Gate, Interval, Shown, Verdict
from richter.tail._condition import ConditionTail
from richter.tail._gates import evaluate_gates, verdict_of
from richter.tail._plan import TailPlan
from richter.tail._resample import Resampled, percentile

__all__ = ["TailComparison", "compare_pair", "remarks_on"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TailComparison(Shown):
    """Two conditions above one threshold: their difference of shape a - b, every gate, and the verdict."""

    a: str
    b: str
    q: float
    delta_xi: float
    interval: Interval | None
    gates: tuple[Gate, ...]
    verdict: Verdict
    blocked_by: str | None
    finding: Finding

    def to_dict(self) -> dict[str, Any]:
        """Plain values; gates by name."""
        row = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("gates", "finding")}
        row["interval"] = None if self.interval is None else self.interval.to_dict()
        row["verdict"] = self.verdict.value
        row["gates"] = {g.name: g.to_dict() for g in self.gates}
        return row | {"needed": self.finding.needed, "sentence": self.finding.sentence, "notes": self.finding.notes}


def compare_pair(
    a: ConditionTail,
    b: ConditionTail,
    plan: TailPlan,
    drawn: Resampled,
    i: int,
    j: int,
    t: int,
    level: float,
    notes: Sequence[str],
    exploratory: bool,
) -> TailComparison:
    single = 1 - plan.alpha
    fitted = a.fit is not None and b.fit is not None
    x, y = drawn.shapes[:, i, t], drawn.shapes[:, j, t]
    gates = evaluate_gates(
        a,
        b,
        plan,
        mean_difference=percentile(drawn.means[:, i] - drawn.means[:, j], single),
        tvar_difference=percentile(drawn.tvars[:, i] - drawn.tvars[:, j], single),
        shapes=(percentile(x, level), percentile(y, level)) if fitted else None,
        shapes_single=(percentile(x, single), percentile(y, single)) if fitted else None,
    )
    verdict, blocked_by = verdict_of(gates)
    interval = percentile(x - y, single) if fitted else None
    delta = a.xi - b.xi
    return TailComparison(
        a=a.name,
        b=b.name,
        q=a.q,
        delta_xi=delta,
        interval=interval,
        gates=gates,
        verdict=verdict,
        blocked_by=blocked_by,
        finding=_finding(a, b, plan, gates, verdict, blocked_by, interval, notes, exploratory),
    )


def _finding(
    a: ConditionTail,
    b: ConditionTail,
    plan: TailPlan,
    gates: Sequence[Gate],
    verdict: Verdict,
    blocked_by: str | None,
    interval: Interval | None,
    notes: Sequence[str],
    exploratory: bool,
) -> Finding:
    delta = a.xi - b.xi
    heavier, lighter = (b, a) if delta < 0 else (a, b)
    claim = f"{heavier.name} has a heavier tail than {lighter.name}"
    by_name = {g.name: g for g in gates}
    needed = None
    if verdict is Verdict.VERIFIED:
        sentence = (
            f"{claim}: shape {heavier.xi:.3f} against {lighter.xi:.3f} above the {a.q:.0%} quantile, with mean and "
            "tail mean practically equal; every gate holds."
        )
    elif verdict is Verdict.BLOCKED:
        assert blocked_by is not None
        gate = by_name[blocked_by]
        sentence = (
            f"No claim about the tails of {a.name} and {b.name}: {blocked_by} failed ({gate.rule}: {gate.detail})."
        )
    else:
        needed = math.ceil(round(by_name["G3"].observed["needed"] / (1 - a.q), 6))
        sentence = (
            f"Undecided whether the tails of {a.name} and {b.name} differ by {plan.delta:g}: "
            f"{by_name['G3'].detail or 'too few exceedances'}."
        )
    remarks = list(notes)
    if interval is not None and -plan.delta <= interval.low and interval.high <= plan.delta:
        remarks.append(
            f"The difference of shape lies within ±{plan.delta:g} "
            f"({interval.level:.0%} interval {interval.low:+.3f} to {interval.high:+.3f})."
        )
    remarks += [f"{side.name}: {remark}" for side in (a, b) for remark in remarks_on(side)]
    return Finding(
        claim=claim,
        verdict=verdict,
        sentence=sentence,
        estimate=None if math.isnan(delta) else delta,
        interval=interval,
        n=min(a.n_exc, b.n_exc),
        floor=plan.delta,
        needed=needed,
        gates=tuple(gates),
        blocked_by=blocked_by,
        exploratory=exploratory,
        notes=tuple(remarks),
    )


def remarks_on(side: ConditionTail) -> list[str]:
    """What is to be said of one condition."""
    remarks = []
    if side.bounded is not None and side.bounded.contaminates:
        near = f"{side.bounded.n_at_bound} at it, {side.bounded.share_near:.1%} of the exceedances near it"
        remarks.append(f"{side.bounded.kind} at the bound {side.bounded.bound:g} ({near}). {side.bounded.remedy}")
    elif side.bounded is not None and side.bounded.kind == "declared":
        remarks.append(
            f"no score can exceed the declared bound {side.bounded.bound:g}; they do not pile up there, and G4 says "
            f"whether a GPD fits all the same. {side.bounded.remedy}"
        )
    elif side.bounded is not None:
        remarks.append(
            f"the largest score of all is exactly {side.bounded.bound:g}, which looks like the bound "
            f"{side.bounded.bound:g} of the scorer. If it is one: {side.bounded.remedy}"
        )
    if side.gof is not None and side.gof.note:
        remarks.append(side.gof.note)
    if side.fit is not None and not side.fit.regular:
        remarks.append("xi is not above -0.5, so that its interval is not to be trusted.")
    return remarks
