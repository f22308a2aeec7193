"""Two conditions behind every gate: items drawn anew, the difference of shapes, the verdict and its sentence."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from richter.claims import is_inside
from richter.records import Claim, Family, Gate, Hypothesis, Interval, Note, Verdict
from richter.stats import Floats, Indices, Mapper
from richter.stats._bootstrap import percentiles
from richter.tail import _gpd_kernels as _kernels
from richter.tail._condition import ConditionTail, exceedances_above
from richter.tail._gates import decide_pair, evaluate_gates
from richter.tail._gpd import seeds_from
from richter.tail._tail_plan import TailPlan

RESAMPLES_PER_TASK = 250  # resamples a task; each has a seed of its own, so that this changes no number


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resampled:
    """Bootstrap replicates: means and tail means (B, C), shapes (B, C, T)."""

    means: Floats
    tvars: Floats
    shapes: Floats

    def pair(self, i: int, j: int, t: int) -> "DrawnPair":
        """Of two conditions at one threshold."""
        means, tvars = (x[:, j] - x[:, i] for x in (self.means, self.tvars))
        return DrawnPair(means, tvars, self.shapes[:, i, t], self.shapes[:, j, t])


class DrawnPair(NamedTuple):
    """Replicates of a pair: differences of means and tail means, and the shapes of the first and of the second."""

    means: Floats
    tvars: Floats
    first: Floats
    second: Floats


def resample(
    scores: Mapping[str, Floats],
    by_q: Mapping[float, Mapping[str, ConditionTail]],
    plan: TailPlan,
    paired: bool,
    rng: np.random.Generator,
    mapper: Mapper = map,
    units: Mapping[str, Indices] | None = None,
) -> Resampled:
    """One bootstrap of items for all conditions together, or one for each; of groups where `units` are their codes."""
    names = list(scores)
    codes = units or {name: np.arange(len(x)) for name, x in scores.items()}
    parts = [
        _kernel_call(
            [scores[n] for n in some], [[by_q[q][n] for q in by_q] for n in some], codes[some[0]], plan, rng, mapper
        )
        for some in ([names] if paired else [[n] for n in names])
    ]
    means, tvars, shapes = (np.concatenate([p[k] for p in parts], axis=1) for k in range(3))
    return Resampled(means=means, tvars=tvars, shapes=shapes)


def _kernel_call(
    values: Sequence[Floats],
    tails: Sequence[Sequence[ConditionTail]],
    unit: Indices,
    plan: TailPlan,
    rng: np.random.Generator,
    mapper: Mapper,
) -> tuple[Floats, ...]:
    stacked = np.stack(values)
    order = np.argsort(-stacked, axis=1, kind="stable").astype(np.int32)
    widest = max(c.n_exc for row in tails for c in row)
    shape = (len(values), len(tails[0]))
    exceedances, scales = np.ones((*shape, max(widest, 1))), np.ones(shape)
    n_exc, starts = np.zeros(shape, dtype=np.int64), np.full(shape, np.nan)
    for i, row in enumerate(tails):
        descending = stacked[i][order[i]]
        for t, c in enumerate(row):
            x = exceedances_above(descending, c.threshold)
            n_exc[i, t] = len(x)
            exceedances[i, t, : len(x)] = x
            if c.fit is not None:
                scales[i, t] = np.median(x)
                starts[i, t] = c.fit.xi / c.fit.sigma
    mass = (1 - plan.tvar_q) * stacked.shape[1]
    seeds = seeds_from(rng, plan.n_resamples)
    rows = partial(_bootstrap_chunk, (stacked, order, exceedances, n_exc, scales, starts, mass, unit))
    parts = mapper(rows, np.split(seeds, range(RESAMPLES_PER_TASK, len(seeds), RESAMPLES_PER_TASK)))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _bootstrap_chunk(given: tuple[Any, ...], seeds: NDArray[np.uint64]) -> tuple[Floats, ...]:
    values, order, exceedances, n_exc, scales, starts, mass, group = given
    result: tuple[Floats, ...] = _kernels.bootstrap_rows(
        values, order, exceedances, n_exc, scales, starts, mass, group, seeds
    )
    return result


def compare_pair(
    a: ConditionTail, b: ConditionTail, plan: TailPlan, drawn: DrawnPair, level: float, family: Family
) -> Claim:
    """The claim that the shapes of two conditions above one threshold differ, b - a, behind every gate."""
    single = 1 - plan.alpha
    fitted = a.fit is not None and b.fit is not None
    x, y = drawn.first, drawn.second
    gates = evaluate_gates(
        a,
        b,
        plan,
        mean_difference=percentiles(drawn.means, level=single),
        tvar_difference=percentiles(drawn.tvars, level=single),
        shapes=(percentiles(x, level=level), percentiles(y, level=level)) if fitted else None,
        shapes_single=(percentiles(x, level=single), percentiles(y, level=single)) if fitted else None,
    )
    verdict, blocked_by = decide_pair(gates)
    interval = percentiles(y - x, level=single) if fitted else None
    return Claim(
        measure="xi",
        conditions=(a.name, b.name),
        verdict=verdict,
        sentence=_describe_verdict(a, b, plan, gates, verdict, blocked_by),
        estimate=b.xi - a.xi if fitted else None,
        interval=percentiles(y - x, level=level) if fitted else None,
        plain_interval=interval,
        values=(a.xi, b.xi) if fitted else (),
        n=min(a.n, b.n),
        units=min(a.apart, b.apart),
        needed=_items_needed(a, gates) if verdict is Verdict.UNDECIDED else None,
        needed_for=plan.delta if verdict is Verdict.UNDECIDED else None,
        hypothesis=Hypothesis(relation="differs", value=0.0),
        margin=plan.delta,
        better="lower",
        family=family,
        gates=gates,
        blocked_by=blocked_by,
        notes=_describe_pair(a, b, plan, interval),
    )


def _items_needed(a: ConditionTail, gates: Sequence[Gate]) -> int:
    """Items a condition that give the exceedances of eq. (2)."""
    exceedances: int = next(g for g in gates if g.name == "G3").observed["needed"]
    return math.ceil(round(exceedances / (1 - a.q), 6))


def _describe_verdict(
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


def _describe_pair(a: ConditionTail, b: ConditionTail, plan: TailPlan, interval: Interval | None) -> tuple[str, ...]:
    remarks = []
    if interval is not None and is_inside(interval, plan.delta):
        remarks.append(
            f"The difference of shape lies within ±{plan.delta:g} "
            f"({100 * interval.level:.4g}% interval {interval.low:+.3f} to {interval.high:+.3f})."
        )
    return (
        *remarks,
        *(Note(f"{side.name}: {remark}", "condition") for side in (a, b) for remark in describe_tail(side)),
    )


def describe_tail(side: ConditionTail) -> list[str]:
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
