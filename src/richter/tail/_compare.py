"""Two conditions behind every gate: the difference of their shapes, the verdict, and the sentence that says it."""

import math
from collections.abc import Sequence

from richter.records import Claim, Family, Gate, Hypothesis, Interval, Verdict
from richter.tail._condition import ConditionTail
from richter.tail._gates import evaluate_gates, verdict_of
from richter.tail._plan import TailPlan
from richter.tail._resample import Resampled, percentile


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
    locked: str | None,
    family: Family,
) -> Claim:
    """The claim that the shapes of two conditions above one threshold differ, b - a, behind every gate."""
    single = 1 - plan.alpha
    fitted = a.fit is not None and b.fit is not None
    x, y = drawn.shapes[:, i, t], drawn.shapes[:, j, t]
    gates = evaluate_gates(
        a,
        b,
        plan,
        mean_difference=percentile(drawn.means[:, j] - drawn.means[:, i], single),
        tvar_difference=percentile(drawn.tvars[:, j] - drawn.tvars[:, i], single),
        shapes=(percentile(x, level), percentile(y, level)) if fitted else None,
        shapes_single=(percentile(x, single), percentile(y, single)) if fitted else None,
    )
    verdict, blocked_by = verdict_of(gates)
    interval = percentile(y - x, single) if fitted else None
    return Claim(
        measure="xi",
        conditions=(a.name, b.name),
        verdict=verdict,
        sentence=_sentence(a, b, plan, gates, verdict, blocked_by),
        estimate=b.xi - a.xi if fitted else None,
        interval=percentile(y - x, level) if fitted else None,
        plain_interval=interval,
        values=(a.xi, b.xi) if fitted else (),
        n=min(a.n, b.n),
        units=min(a.n_exc, b.n_exc),
        needed=_needed(a, gates) if verdict is Verdict.UNDECIDED else None,
        needed_for=plan.delta if verdict is Verdict.UNDECIDED else None,
        hypothesis=Hypothesis(relation="differs", value=0.0),
        margin=plan.delta,
        better="lower",
        family=family,
        gates=gates,
        blocked_by=blocked_by,
        plan=locked,
        notes=_remarks(a, b, plan, interval, notes),
    )


def _needed(a: ConditionTail, gates: Sequence[Gate]) -> int:
    """Items a condition that give the exceedances of eq. (2)."""
    exceedances: int = next(g for g in gates if g.name == "G3").observed["needed"]
    return math.ceil(round(exceedances / (1 - a.q), 6))


def _sentence(
    a: ConditionTail, b: ConditionTail, plan: TailPlan, gates: Sequence[Gate], verdict: Verdict, blocked_by: str | None
) -> str:
    by_name = {g.name: g for g in gates}
    if verdict is Verdict.VERIFIED:
        heavier, lighter = (a, b) if a.xi > b.xi else (b, a)
        return (
            f"{heavier.name} has a heavier tail than {lighter.name}: shape {heavier.xi:.3f} against {lighter.xi:.3f} "
            f"above the {100 * a.q:.4g}% quantile, with mean and tail mean practically equal; every gate holds."
        )
    if blocked_by is not None:
        gate = by_name[blocked_by]
        return f"No claim about the tails of {a.name} and {b.name}: {blocked_by} failed ({gate.rule}: {gate.detail})."
    return (
        f"Undecided whether the tails of {a.name} and {b.name} differ by {plan.delta:g}: "
        f"{by_name['G3'].detail or 'too few exceedances'}."
    )


def _remarks(
    a: ConditionTail, b: ConditionTail, plan: TailPlan, interval: Interval | None, notes: Sequence[str]
) -> tuple[str, ...]:
    remarks = list(notes)
    if interval is not None and -plan.delta <= interval.low and interval.high <= plan.delta:
        remarks.append(
            f"The difference of shape lies within ±{plan.delta:g} "
            f"({100 * interval.level:.4g}% interval {interval.low:+.3f} to {interval.high:+.3f})."
        )
    return (*remarks, *(f"{side.name}: {remark}" for side in (a, b) for remark in remarks_on(side)))


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
