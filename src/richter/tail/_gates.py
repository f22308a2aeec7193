"""The gates G1 to G5 and the pass criteria P1 and P2 (section 3 of the tail paper), one rule each."""

import math
from collections.abc import Sequence

from richter.claims import GatedVerdict, decide_by_gates, is_inside
from richter.records import Gate, Interval, counted
from richter.tail._condition import ConditionTail
from richter.tail._tail_plan import TailPlan
from richter.tail._tail_size import required_exceedances

__all__ = ["GATES", "decide_pair", "evaluate_gates"]


GATES = ("G1", "G2", "G3", "G4", "G5", "P1", "P2")


def evaluate_gates(
    a: ConditionTail,
    b: ConditionTail,
    plan: TailPlan,
    *,
    mean_difference: Interval,
    tvar_difference: Interval,
    shapes: tuple[Interval, Interval] | None,
    shapes_single: tuple[Interval, Interval] | None,
) -> tuple[Gate, ...]:
    """Every gate, whatever the ones before it said: checks of the paper's protocol, from which `decide_pair` concludes.

    `shapes` are the two intervals of xi at the level P1 works at, `shapes_single` at 1 - alpha; None without fits.
    """
    return (
        _equivalence_gate("G1", "mean", mean_difference, b.mean - a.mean, plan.tolerance_mean, min(a.n, b.n)),
        _equivalence_gate(
            "G2", f"TVaR_{plan.tvar_q:g}", tvar_difference, b.tvar - a.tvar, plan.tolerance_tvar, min(a.n, b.n)
        ),
        _exceedances_gate(a, b, plan),
        _fit_gate(a, b, plan),
        _stability_gate(a, b, plan),
        _disjoint_gate(a, b, shapes, shapes_single),
        _difference_gate(a, b, plan),
    )


def _equivalence_gate(name: str, what: str, interval: Interval, estimate: float, tolerance: float, n: int) -> Gate:
    return Gate(
        name=name,
        rule=f"the whole interval of the difference in {what} lies inside ±{tolerance:.3g}",
        passed=is_inside(interval, tolerance),
        n=n,
        observed={"difference": estimate, "interval": interval, "tolerance": tolerance},
        detail=f"{estimate:+.3g} ({100 * interval.level:.4g}% CI {interval.low:+.3g} to {interval.high:+.3g})",
    )


def _exceedances_gate(a: ConditionTail, b: ConditionTail, plan: TailPlan) -> Gate:
    """G3: under the floor blocks; between the floor and eq. (2) is short (None): undecided, not failed.

    With `exceedances` "floor" or "bound" the one or the other alone decides.
    """
    floor = plan.floor_exceedances
    bound = max(floor, required_exceedances(plan.delta, xi=plan.xi_expected, alpha=plan.alpha, power=plan.power))
    least = bound if plan.exceedances == "bound" else floor
    needed = floor if plan.exceedances == "floor" else bound
    n = min(a.apart, b.apart)
    passed = False if n < least else None if n < needed else True
    groups = f"{counted(n, 'group')} with exceedances, each counted once"
    detail = counted(n, "exceedance") if a.n_groups is None else groups
    if not passed:
        detail += (
            f"; {needed:,} are needed, {counted(math.ceil(round(needed / (1 - a.q), 6)), 'question')} for each side"
        )
    return Gate(
        name="G3",
        rule=f"at least {counted(needed, 'exceedance')} on each side; under {least:,} blocks",
        passed=passed,
        n=n,
        observed={"n_exc": [a.n_exc, b.n_exc], "floor": least, "needed": needed},
        detail=detail,
    )


def _fit_gate(a: ConditionTail, b: ConditionTail, plan: TailPlan) -> Gate:
    p_values = [math.nan if side.gof is None else side.gof.p for side in (a, b)]
    bounds = [side for side in (a, b) if side.bounded is not None and side.bounded.contaminates]
    if any(math.isnan(p) for p in p_values):
        passed, detail = None, "not run: too few exceedances to fit"
    else:
        passed = min(p_values) > plan.gof_p and not bounds
        detail = "p = " + ", ".join(f"{p:.3g}" for p in p_values)
    for side in bounds:
        assert side.bounded is not None
        detail += f"; {side.name}: {side.bounded.kind} at {side.bounded.bound:g}"
    return Gate(
        name="G4",
        rule=f"a fitted GPD has p > {plan.gof_p:g} (Anderson-Darling) on both sides, and no scores pile up at a bound",
        passed=passed,
        n=min(a.n_exc, b.n_exc),
        observed={
            "p": p_values,
            "method": [None if side.gof is None else side.gof.method for side in (a, b)],
            "tied": [math.nan if side.gof is None else side.gof.tied for side in (a, b)],
            "bounded": [side.bounded for side in (a, b)],
        },
        detail=detail,
    )


def _stability_gate(a: ConditionTail, b: ConditionTail, plan: TailPlan) -> Gate:
    rule = (
        f"xi moves by less than {plan.stability_tolerance:g} from q to q ± {plan.stability_width:g} on both sides "
        "(upwards as far as there are enough exceedances)"
    )
    sides = (a.stability, b.stability)
    if sides[0] is None or sides[1] is None:
        return Gate(name="G5", rule=rule, passed=None, n=min(a.n_exc, b.n_exc), detail="not run: too few exceedances")
    moves = [side.largest_move for side in sides if side is not None]
    complete = all(side.low is not None and side.high is not None for side in sides if side is not None)
    chance = math.prod(side.chance for side in sides if side is not None)
    detail = "moves " + ", ".join(f"{m:.3f}" for m in moves) + f"; noise alone lets {chance:.0%} pass"
    if not complete:
        detail = "no threshold in the band has enough exceedances on either side of q"
    return Gate(
        name="G5",
        rule=rule,
        passed=complete and max(moves) < plan.stability_tolerance,
        n=min(a.n_exc, b.n_exc),
        observed={"moves": moves, "chance_if_stable": chance, "stability": [a.stability, b.stability]},
        detail=detail,
    )


def _disjoint_gate(
    a: ConditionTail,
    b: ConditionTail,
    shapes: tuple[Interval, Interval] | None,
    single: tuple[Interval, Interval] | None,
) -> Gate:
    if shapes is None or single is None:
        return Gate(
            name="P1",
            rule="the intervals of xi do not overlap",
            passed=None,
            n=min(a.n_exc, b.n_exc),
            detail="not run: no fit",
        )
    (at, _), (alone, _) = shapes, single  # both of a pair have one level
    apart, apart_single = (pair[0].low > pair[1].high or pair[1].low > pair[0].high for pair in (shapes, single))
    detail = " and ".join(f"{100 * at.level:.4g}% CI {i.low:+.3f} to {i.high:+.3f}" for i in shapes)
    if at.level != alone.level:
        detail += f"; at {100 * alone.level:.4g}% they are {'disjoint' if apart_single else 'not disjoint'}"
    return Gate(
        name="P1",
        rule="the intervals of xi by resampling do not overlap",  # a condition's own is by its likelihood
        passed=apart,
        n=min(a.n_exc, b.n_exc),
        observed={
            "intervals": list(shapes),
            "level": at.level,
            "passed_single": apart_single,
            "level_single": alone.level,
        },
        detail=detail,
    )


def _difference_gate(a: ConditionTail, b: ConditionTail, plan: TailPlan) -> Gate:
    difference = b.xi - a.xi
    known = not math.isnan(difference)
    return Gate(
        name="P2",
        rule=f"the shapes xi differ by more than {plan.delta:g}",
        passed=abs(difference) > plan.delta if known else None,
        n=min(a.n_exc, b.n_exc),
        observed={"difference": difference, "floor": plan.delta},
        detail=f"{difference:+.3f}" if known else "not run: no fit",
    )


def decide_pair(gates: Sequence[Gate]) -> GatedVerdict:
    """The verdict and what blocked it: G1 to G5 admit a pair, and it must pass P1 and P2."""
    return decide_by_gates(gates[:5], gates[5:])
