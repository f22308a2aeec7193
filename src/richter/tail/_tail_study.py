"""A study: all pairs of conditions, over a band of thresholds, along a plan's decision tree, with one verdict."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from richter.claims import Blocked, block_claim, is_inside, untestable_claim
from richter.errors import InputError
from richter.records import Claim, Family, Gate, Shown, Verdict, counted
from richter.stats import Floats, Indices, Mapper
from richter.stats._bootstrap import percentiles
from richter.tail._condition import ConditionTail, condition_tail
from richter.tail._gates import GATES, decide_pair
from richter.tail._gof import rounding_step
from richter.tail._gpd import interval_by_group
from richter.tail._tail_pairs import compare_pair, describe_tail, resample
from richter.tail._tail_plan import Step, TailPlan, name_of
from richter.tail._transform import Transformed, on_half_steps, transform_scores

__all__ = ["TailStudy", "compare_conditions", "compare_tails", "with_checked_claims"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AtThreshold:
    """A pair at one threshold: its difference of shape, its verdict there, and the gates that failed."""

    conditions: tuple[str, ...]
    estimate: float | None
    verdict: Verdict
    blocked_by: str | None
    failed: tuple[str, ...]


class ToleranceRow(TypedDict):
    """How many pairs are admissible, open at G3 alone, and verified with both tolerances times a factor."""

    factor: float
    tolerance_mean: float
    tolerance_tvar: float
    pairs: int
    admissible: int
    open: int
    verified: int


class StepTaken(TypedDict):
    """A scale and threshold of the plan's decision tree, and which conditions made it be left, by the reason."""

    transform: str
    q: float
    left_because: dict[str, list[str]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TailStudy(Shown):
    """A whole study: conditions and pairs at the headline threshold, the pairs over the band, and one verdict.

    `path` is the way through the plan's decision tree: each scale and threshold tried, and why it was left.
    `sensitivity` counts admissible and verified pairs with half, one and two times the tolerances.
    `probe` is a secondary comparison of one condition with its perturbed copy, outside the family of pairs.
    """

    unwritten: ClassVar = ("over_band",)
    derived: ClassVar = ("band",)

    plan: TailPlan
    transform: str
    q: float
    paired: bool
    conditions: Mapping[str, ConditionTail]
    claims: tuple[Claim, ...]
    over_band: Mapping[float, tuple[Claim, ...]]
    sensitivity: tuple[ToleranceRow, ...]
    path: tuple[StepTaken, ...]
    probe: Claim | None
    claim: Claim
    notes: tuple[str, ...]

    @property
    def band(self) -> dict[float, list[AtThreshold]]:
        """Every pair at every threshold of the band, in short."""
        return {
            q: [
                AtThreshold(
                    conditions=c.conditions,
                    estimate=c.estimate,
                    verdict=c.verdict,
                    blocked_by=c.blocked_by,
                    failed=tuple(g.name for g in c.gates if g.passed is False),
                )
                for c in claims
            ]
            for q, claims in self.over_band.items()
        }


def _list_conditions(who: Sequence[str], names: Sequence[str]) -> str:
    return "all conditions" if len(who) == len(names) > 2 else ", ".join(who)


def compare_tails(
    a: ArrayLike,
    b: ArrayLike,
    plan: TailPlan,
    *,
    rng: np.random.Generator | None = None,
    names: tuple[str, str] = ("a", "b"),
    items: tuple[Sequence[str], Sequence[str]] | None = None,
    locked: str | None = None,
) -> Claim:
    """The claim that the tail shapes of `a` and `b` differ, with mean and tail mean practically equal.

    The protocol of section 3: G1, G2 (equivalence of mean and TVaR by intervals inside a band), G3 (exceedances),
    G4 (the GPD fits), G5 (the shape is stable over nearby thresholds), P1 (disjoint intervals of xi), P2 (a
    difference worth a claim). All gates are evaluated; the first that failed blocks. `items` are the ids behind the
    severities: when both conditions have the same, resampling draws items for both together. Without `rng` the seed
    is 0, so that the same data always give the same result.

    Departures from the paper: G3 has a state between its floor and eq. (2), `undecided`; G5 at thresholds without
    the floor of exceedances uses the highest that has it and fails when none does; a pile-up at a bound fails G4.

    >>> from richter.tail import TailPlan, compare_tails
    >>> import numpy as np
    >>> scores = np.random.default_rng(0).exponential(size=(2, 2000))
    >>> plan = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.3, n_resamples=100)
    >>> compare_tails(*scores, plan, rng=np.random.default_rng(0)).verdict.value
    'blocked'
    """
    if names[0] == names[1]:
        raise InputError(f"Both conditions are called {names[0]!r}.", remedy="Give them two names.")
    given = dict(zip(names, (a, b), strict=True))
    ids = None if items is None else dict(zip(names, items, strict=True))
    return compare_conditions(given, plan, rng=rng, items=ids, band=False, locked=locked).claims[0]


def compare_conditions(
    severities: Mapping[str, ArrayLike],
    plan: TailPlan,
    *,
    rng: np.random.Generator | None = None,
    items: Mapping[str, Sequence[str]] | None = None,
    groups: Mapping[str, str] | None = None,
    probe: tuple[str, str] | None = None,
    band: bool = True,
    locked: str | None = None,
    mapper: Mapper = map,
) -> TailStudy:
    """All pairs of conditions at the headline threshold and over the plan's band, with one study-level verdict.

    The study is `verified` when some pair passes every gate at the headline threshold and its difference keeps its
    sign at every threshold of the band at which G3's floor holds; otherwise it is what its furthest pair is. With
    `probe` = (clean, perturbed) the perturbed condition stays out of the matrix and is compared with the clean one.
    `groups` names the group of each of `items` that is in one: items of a group vary together, so that groups are
    drawn anew, and counted among the exceedances.

    Every resample of the items has a seed of its own: `mapper` says where they are drawn and changes no number.
    """
    rng = rng or np.random.default_rng(0)
    raw, paired, notes = _align_conditions(severities, items, plan)
    conditions_of_matrix = [name for name in raw if probe is None or name != probe[1]]
    couples = list(itertools.combinations(conditions_of_matrix, 2))
    why = _why_no_tail(raw)
    if why:
        return _untestable_study(raw, why, plan, couples, paired, notes, locked)
    scores, step, tails, path = _follow_steps(raw, plan, rng)
    names = list(raw)
    thresholds = list(dict.fromkeys([step.q, *(plan.band if band else ())]))
    by_q = {step.q: tails}
    for q in thresholds[1:]:
        by_q[q] = _fit_tails(scores, raw, q, plan, rng)
    units = None if items is None or not groups else _group_codes(items, groups, paired)
    drawn = resample({name: s.values for name, s in scores.items()}, by_q, plan, paired, rng, mapper, units)
    for name, unit in (units or {}).items():
        shapes = drawn.shapes[:, names.index(name)]
        for t, q in enumerate(thresholds):
            by_q[q][name] = _count_groups(by_q[q][name], scores[name], unit, shapes[:, t], plan)
    family = Family(method=plan.family, size=max(len(couples), 1))
    level = 1 - plan.alpha / (family.size if plan.family == "bonferroni" else 1)

    def pair(i: int, j: int, t: int, at: float) -> Claim:
        a, b = (by_q[thresholds[t]][names[k]] for k in (i, j))
        claim = compare_pair(a, b, plan, drawn.pair(i, j, t), at, family)
        return dataclasses.replace(claim, plan=locked, notes=(*notes, *claim.notes))

    index = {name: i for i, name in enumerate(names)}
    over_band = {q: tuple(pair(index[a], index[b], t, level) for a, b in couples) for t, q in enumerate(thresholds)}
    headline = over_band[step.q]
    probed = None if probe is None else pair(index[probe[0]], index[probe[1]], 0, 1 - plan.alpha)
    return TailStudy(
        plan=plan,
        transform=name_of(step.transform),
        q=step.q,
        paired=paired,
        conditions=tails,
        claims=headline,
        over_band=over_band,
        sensitivity=_sensitivity(headline, plan),
        path=path,
        probe=probed,
        claim=_study_claim(headline, over_band, locked),
        notes=(*notes, *_describe_clipping(scores, step, plan), *_describe_tails(tails)),
    )


def _count_groups(
    tail: ConditionTail, score: Transformed, unit: Indices, shapes: Floats, plan: TailPlan
) -> ConditionTail:
    """A condition whose items come in groups: how many exceed the threshold, and xi's interval by group."""
    above = score.values > tail.threshold
    interval = None
    if tail.fit is not None and tail.fit.regular:
        exceedances = score.values[above] - tail.threshold
        interval = interval_by_group(exceedances, unit[above], tail.fit, level=1 - plan.alpha)
    elif tail.fit is not None:
        interval = percentiles(shapes, level=1 - plan.alpha)
    return dataclasses.replace(tail, n_groups=len(np.unique(unit[above])), interval=interval)


def _describe_clipping(scores: Mapping[str, Transformed], step: Step, plan: TailPlan) -> list[str]:
    """A note on the values that were moved away from a bound, if any were."""
    clipped = {name: s.n_clipped_low + s.n_clipped_high for name, s in scores.items()}
    counts = ", ".join(f"{name} {n}" for name, n in clipped.items() if n)
    if not counts:
        return []
    return [f"Values at a bound were moved by {plan.clip:g} of the range before {name_of(step.transform)}: {counts}."]


def _describe_tails(tails: Mapping[str, ConditionTail]) -> list[str]:
    """What is remarkable of each tail, once for all conditions of which it is true."""
    conditions_by_remark: dict[str, list[str]] = {}
    for name, tail in tails.items():
        for remark in describe_tail(tail):
            conditions_by_remark.setdefault(remark, []).append(name)
    return [f"{_list_conditions(who, list(tails))}: {remark}" for remark, who in conditions_by_remark.items()]


def _group_codes(
    items: Mapping[str, Sequence[str]], groups: Mapping[str, str], paired: bool
) -> dict[str, Indices] | None:
    """The code of each item's group in the order of severities; None where no two items share one."""
    codes, shared = {}, False
    for name, given in items.items():
        ids = np.asarray(given, dtype=object)
        ids = ids[np.argsort(ids, kind="stable")] if paired else ids
        own = [f"group {groups[i]}" if groups.get(i) else f"item {i}" for i in ids]
        codes[name] = np.unique(own, return_inverse=True)[1].astype(np.intp)
        shared = shared or len(set(own)) < len(own)
    return codes if shared else None


def _align_conditions(
    severities: Mapping[str, ArrayLike], items: Mapping[str, Sequence[str]] | None, plan: TailPlan
) -> tuple[dict[str, Floats], bool, list[str]]:
    """The conditions' severities, in one order of items where they are paired."""
    if not severities:
        raise InputError("There are no conditions.", remedy="Give at least one.")
    values = {name: transform_scores(v, "identity").values for name, v in severities.items()}
    for name, ids in (items or {}).items():
        if len(ids) != len(values[name]) or len(set(ids)) != len(ids):
            raise InputError(f"{name}: items and severities do not match one to one.", remedy="Give one row per item.")
    if plan.pairing == "independent" or len(values) < 2:
        return values, False, []
    reason = _why_unpaired(values, items)
    if not reason and (items is not None or plan.pairing == "paired"):
        for name, ids in (items or {}).items():
            values[name] = values[name][np.argsort(np.asarray(ids, dtype=object), kind="stable")]
        return values, True, []
    if plan.pairing == "paired":
        raise InputError(
            f"A paired analysis needs the same items in every condition: {reason}.",
            remedy="Keep the common items, or set pairing = 'independent' or 'auto'.",
        )
    return values, False, [f"Conditions are resampled independently: {reason}."] if reason else []


def _why_unpaired(values: Mapping[str, Floats], items: Mapping[str, Sequence[str]] | None) -> str:
    """Why the conditions do not share all items; empty where they do, or may without ids to tell."""
    if items is None:
        sizes = {len(v) for v in values.values()}
        return f"the conditions have {', '.join(map(str, sorted(sizes)))} rows" if len(sizes) > 1 else ""
    first, *others = (set(ids) for ids in items.values())
    missing = max((len(first ^ ids) for ids in others), default=0)
    return f"{counted(missing, 'item is', 'items are')} not in both conditions" if missing else ""


def _fit_tails(
    scores: Mapping[str, Transformed], raw: Mapping[str, Floats], q: float, plan: TailPlan, rng: np.random.Generator
) -> dict[str, ConditionTail]:
    untouched = all(s.name == "identity" for s in scores.values())
    largest = max(float(s.values.max()) for s in scores.values())
    return {
        name: condition_tail(
            name,
            s.values,
            q,
            plan,
            rng=rng,
            largest=largest,
            raw=untouched,
            grid=None if untouched else _possible_values(raw[name], s, q),
        )
        for name, s in scores.items()
    }


def _possible_values(raw: Floats, score: Transformed, q: float) -> Floats | None:
    """The transformed values that rounded scores can take above the q quantile; None if the scores are not rounded.

    The transform is known at the scores only; between them it is interpolated, which is exact at every score seen.
    """
    threshold = float(np.quantile(raw, q))
    above = raw[raw > threshold]
    step = rounding_step(above - threshold) if len(above) > 1 else None
    if step is None:
        return None
    lattice = float(above.min()) + step * np.arange(round((float(above.max()) - float(above.min())) / step) + 1)
    order = np.argsort(raw, kind="stable")
    possible: Floats = np.interp(lattice, raw[order], score.values[order])
    return possible


def _follow_steps(
    raw: Mapping[str, Floats], plan: TailPlan, rng: np.random.Generator
) -> tuple[dict[str, Transformed], Step, dict[str, ConditionTail], tuple[StepTaken, ...]]:
    """Go through the plan's decision tree until a step is not left."""
    steps = [Step(transform=plan.transform, q=plan.q), *plan.steps]
    path: list[StepTaken] = []
    for here, after in itertools.zip_longest(steps, steps[1:]):
        scores = {
            name: transform_scores(v, here.transform, bounds=plan.bounds, clip=plan.clip) for name, v in raw.items()
        }
        tails = _fit_tails(scores, raw, here.q, plan, rng)
        reasons = _reasons_to_leave(tails, plan)
        left = {} if after is None else {why: reasons[why] for why in after.when if reasons[why]}
        path.append({"transform": name_of(here.transform), "q": here.q, "left_because": left})
        if not left:
            break
    return scores, here, tails, tuple(path)


def _reasons_to_leave(tails: Mapping[str, ConditionTail], plan: TailPlan) -> dict[str, list[str]]:
    """The conditions whose support is bounded, and those on which the GPD is rejected."""
    return {
        "bounded": [n for n, c in tails.items() if c.bounded is not None and c.bounded.contaminates],
        "gof": [n for n, c in tails.items() if c.gof is not None and c.gof.p <= plan.gof_p],
    }


def _sensitivity(pairs: Sequence[Claim], plan: TailPlan) -> tuple[ToleranceRow, ...]:
    """Admissible (G1..G4) and verified pairs when both tolerances are halved, kept and doubled (appendix B)."""
    rows: list[ToleranceRow] = []
    for factor in (0.5, 1.0, 2.0):
        admissible = undecided = verified = 0
        for pair in (p for p in pairs if not _is_blocked_by_data(p)):
            gates = list(pair.gates)
            for k in (0, 1):
                tolerance = gates[k].observed["tolerance"] * factor
                gates[k] = dataclasses.replace(gates[k], passed=is_inside(gates[k].observed["interval"], tolerance))
            admissible += all(g.passed for g in gates[:4])
            undecided += gates[2].passed is None and all(g.passed for g in gates[:4] if g.name != "G3")
            verified += decide_pair(gates).verdict is Verdict.VERIFIED
        rows.append(
            {
                "factor": factor,
                "tolerance_mean": plan.tolerance_mean * factor,
                "tolerance_tvar": plan.tolerance_tvar * factor,
                "pairs": len(pairs),
                "admissible": admissible,
                "open": undecided,
                "verified": verified,
            }
        )
    return tuple(rows)


def _study_claim(headline: Sequence[Claim], over_band: Mapping[float, Sequence[Claim]], locked: str | None) -> Claim:
    """Whether some pair differs in shape: what its furthest pair is, if the difference keeps its sign over the band."""
    if not headline:
        return untestable_claim(
            "xi", (), "There is one model or prompt: its tail is described, and nothing is compared.", plan=locked
        )
    passed = [
        _judge_over_band(pair, [claims[k] for claims in over_band.values() if claims[k].gates[2].passed is not False])
        for k, pair in enumerate(headline)
        if pair.verdict is Verdict.VERIFIED
    ]
    verified = [claim for claim in passed if claim.verdict is Verdict.VERIFIED]
    if passed:
        return verified[0] if verified else passed[-1]
    undecided = [p for p in headline if p.verdict is Verdict.UNDECIDED]
    return undecided[0] if undecided else _furthest_claim(headline, over_band)


def _judge_over_band(pair: Claim, usable: Sequence[Claim]) -> Claim:
    """A pair that passes at the headline threshold, as the usable thresholds of the band leave it."""
    n_same_sign = sum(_sign_of(p) == _sign_of(pair) for p in usable)
    if n_same_sign == len(usable):
        passed = sum(p.verdict is Verdict.VERIFIED for p in usable)
        sentence = (
            f"{pair.sentence} The difference keeps its sign at {n_same_sign} of {len(usable)} usable thresholds, "
            f"and every gate holds at {passed}."
        )
        return dataclasses.replace(pair, sentence=sentence)
    a, b = pair.conditions
    sentence = (
        f"Can't say which of {a} and {b} has the heavier tail: every gate holds at the first threshold, but the "
        f"difference changes its sign at others ({n_same_sign} of {len(usable)} usable ones agree)."
    )
    return block_claim(pair, Blocked(gate="band", reason=""), sentence=sentence)


def _furthest_claim(headline: Sequence[Claim], over_band: Mapping[float, Sequence[Claim]]) -> Claim:
    """The claim of the pair that passes most gates, where none passes all."""
    furthest = max(headline, key=lambda p: GATES.index(p.blocked_by) if p.blocked_by in GATES else -1)
    if all(_is_blocked_by_data(p) or p.verdict is Verdict.UNTESTABLE for p in headline):
        return furthest
    passes = sum(p.verdict is Verdict.VERIFIED for pairs in over_band.values() for p in pairs)
    tail = f" At {counted(passes, 'other threshold')} every gate holds: that alone shows nothing." if passes else ""
    many = f"None of {len(headline)} pairs passes every gate. The furthest: " if len(headline) > 1 else ""
    return dataclasses.replace(furthest, sentence=many + furthest.sentence + tail)


def _is_blocked_by_data(claim: Claim) -> bool:
    """Whether a check of the data blocked a pair, and not a gate of the protocol."""
    return claim.verdict is Verdict.BLOCKED and claim.blocked_by not in GATES


def with_checked_claims(study: TailStudy, check: Callable[[Claim], Claim]) -> TailStudy:
    """The study with every pair's claim as a check of the data leaves it, and the study's claim made from these."""
    if not study.path:  # nothing was tested
        return study
    over_band = {q: tuple(map(check, claims)) for q, claims in study.over_band.items()}
    headline = over_band[study.q]
    return dataclasses.replace(
        study,
        claims=headline,
        over_band=over_band,
        sensitivity=_sensitivity(headline, study.plan),
        probe=None if study.probe is None else check(study.probe),
        claim=_study_claim(headline, over_band, study.claim.plan),
    )


def _sign_of(claim: Claim) -> float:
    return math.nan if claim.estimate is None else math.copysign(1, claim.estimate)


def _why_no_tail(raw: Mapping[str, Floats]) -> str:
    """Why these severities have no continuous tail; empty if they may have one."""
    distinct = {name: len(np.unique(v)) for name, v in raw.items()}
    constant = [name for name, k in distinct.items() if k == 1]
    if constant:
        return f"all severities within {' and within '.join(constant)} are equal, so there is no tail"
    if all(on_half_steps(v) for v in raw.values()):
        return "these severities lie on the half-step grid, which has no continuous tail; use: richter severity"
    few = [name for name, k in distinct.items() if k <= 10 and len(raw[name]) >= 100]
    if few:
        return (
            f"the severities of {', '.join(few)} take at most "
            f"{counted(max(distinct[n] for n in few), 'value')}, not a tail"
        )
    return ""


def _untestable_study(
    raw: Mapping[str, Floats],
    why: str,
    plan: TailPlan,
    couples: Sequence[tuple[str, str]],
    paired: bool,
    notes: list[str],
    locked: str | None,
) -> TailStudy:
    gates = tuple(
        Gate(name=name, rule=rule, passed=None, detail="not run: the data have no continuous tail")
        for name, rule in _RULES.items()
    )
    conditions = {
        name: ConditionTail(
            name=name,
            n=len(v),
            q=plan.q,
            threshold=float(np.quantile(v, plan.q)),
            n_exc=int(np.sum(v > np.quantile(v, plan.q))),
            mean=float(v.mean()),
            tvar=math.nan,
            fit=None,
            gof=None,
            stability=None,
            bounded=None,
        )
        for name, v in raw.items()
    }
    claims = tuple(
        untestable_claim(
            "xi", couple, f"Can't test the shape of the tail: {why}.", gates=gates, plan=locked, notes=tuple(notes)
        )
        for couple in (*couples, ())
    )
    return TailStudy(
        plan=plan,
        transform=name_of(plan.transform),
        q=plan.q,
        paired=paired,
        conditions=conditions,
        claims=claims[:-1],
        over_band={plan.q: claims[:-1]},
        sensitivity=(),
        path=(),
        probe=None,
        claim=claims[-1],
        notes=tuple(notes),
    )


_RULES = {
    "G1": "means practically equal",
    "G2": "tail means practically equal",
    "G3": "enough exceedances",
    "G4": "the GPD fits",
    "G5": "the shape is stable over thresholds",
    "P1": "intervals of xi disjoint",
    "P2": "a difference worth a claim",
}
