"""Whose errors are worse? Every pair of conditions, without a law first and by its slope behind a gate."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.claims import METRICS, Evidence, JointTests, Metric, Question, decide, joint_law, p_value
from richter.errors import InputError, TooFewErrors
from richter.records import Claim, Gate, Note, Refused, Shown, Verdict, counted
from richter.severity._b_value import DEFAULT, PAPER, BValue, Recipe, b_from_counts
from richter.severity._difference import BDifference, compare_b
from richter.severity._dominance import Dominance, compare_dominance
from richter.severity._given_error import graver_error, influences, severe_rate, severity_given_error
from richter.severity._grid import POSITIVE, TOP, snap
from richter.severity._recount import Slopes, count_disjoint, slopes
from richter.severity._true_severity import TrueSeverity, true_difference
from richter.stats import Floats, Ints, Mapper, benjamini_hochberg, in_threads

__all__ = ["MEASURES", "Discrimination", "PairCounts", "Unestimated", "discriminate", "estimate_all"]

SEVERE = (2.0, 3.0)
AT = {f"severe_given_error_{at:g}": at for at in SEVERE}
CATASTROPHIC = 3.0
EQUAL_RATES = Note("the error rates are shown equal within the gap", "equal rates")


def _share(at: float) -> Metric:
    base = METRICS["severe_given_error"]
    return dataclasses.replace(
        base,
        name=f"severe_given_error_{at:g}",
        better_word=f"less often at severity {at:g} or more when wrong",
        worse_word=f"more often at severity {at:g} or more when wrong",
        alike_word=f"equally often at severity {at:g} or more when wrong",
        noun=f"share of errors of severity {at:g} or more",
    )


MEASURES: dict[str, Metric] = {
    m.name: m
    for m in (
        METRICS["severity_given_error"],
        METRICS["graver_error"],
        *(_share(at) for at in SEVERE),
        METRICS["catastrophic_rate"],
        METRICS["dominance"],
        METRICS["b"],
    )
}


CORRECTED = dataclasses.replace(
    METRICS["severity_given_error"],
    name="true_severity_given_error",
    better_word="less severe in its errors, judges' errors allowed for,",
    worse_word="graver in its errors, judges' errors allowed for,",
    alike_word="equally severe in their errors, judges' errors allowed for,",
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unestimated(Shown):
    """A condition whose errors cannot carry a slope: why, and how many errors would."""

    n: int
    n_errors: int
    needed: int
    reason: str
    counts: tuple[int, ...]
    derived = ("error_rate",)

    @property
    def error_rate(self) -> float:
        """Errors per rated answer; NaN with no answers."""
        return self.n_errors / self.n if self.n else math.nan


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairCounts:
    """How many of the pairs within `max_error_gap` in error rate each rule calls different.

    `paper`: the paper's intervals of b are disjoint (section 4.1); `paper_min_gap`: and its slopes differ by more than
    the minimum gap (appendix G). `law_free`: the primary claim is verified; `screened`: by measure, each alone at a
    false-discovery rate of 5% (a screening, not a verdict); `law`: of these the slopes b, where the law is adequate on
    both sides; `adequate` counts those pairs. `equal_rates`: the error rates are shown equal within the gap.
    """

    pairs: int
    matched: int
    equal_rates: int
    paper: int
    paper_min_gap: int
    law_free: int
    screened: Mapping[str, int]
    adequate: int
    law: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Discrimination(Shown):
    """All claims on pairs, the slopes behind those on b, and the counts by rule. Slopes are empty on another scale."""

    conditions: Mapping[str, BValue | Unestimated]
    paper: Mapping[str, Mapping[str, float | None]]
    claims: tuple[Claim, ...]
    refused: tuple[Refused, ...]
    counts: PairCounts
    max_error_gap: float
    min_gap: float
    recipe: Recipe
    n_resamples: int
    level: float


def estimate_all(
    counts: Mapping[str, Ints],
    *,
    by_group: Mapping[str, Ints] | None = None,
    recipe: Recipe = DEFAULT,
    n_resamples: int = 2000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> dict[str, BValue | Unestimated]:
    """`b_from_counts` of every condition; one that has too few errors says so and the study goes on.

    Where the law is not adequate from a planned m_min up, from the top down it may be, higher up: then that slope
    stands, with the levels it speaks of.
    """
    out: dict[str, BValue | Unestimated] = {}
    for name, levels in counts.items():
        options: dict[str, Any] = {"n_resamples": n_resamples, "level": level, "rng": rng}
        options["by_group"] = None if by_group is None else by_group[name]
        try:
            out[name] = found = b_from_counts(levels, recipe=recipe, **options)
        except TooFewErrors as error:
            out[name] = Unestimated(
                n=int(levels.sum()),
                n_errors=int(levels[1:].sum()),
                needed=error.needed,
                reason=error.what,
                counts=tuple(int(c) for c in levels),
            )
            continue
        if not found.adequate and not isinstance(recipe.m_min, str):
            fallback = dataclasses.replace(recipe, m_min="top")
            try:
                other = b_from_counts(levels, recipe=fallback, **options)
            except TooFewErrors:
                continue
            if other.adequate and other.m_min > found.m_min:
                out[name] = other
    return out


def m_min_strategies(recipe: Recipe) -> dict[str, Recipe]:
    """The recipe with the three choices of m_min of table 9."""
    return {
        "ks": dataclasses.replace(recipe, m_min="ks"),
        "1.5": dataclasses.replace(recipe, m_min=1.5),
        "clauset": dataclasses.replace(recipe, m_min="clauset"),
    }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Data:
    """What all pairs are tested on; `adequacy` has each condition's fit at every m_min that a pair of it shares."""

    columns: Mapping[str, Floats]
    groups: ArrayLike | None
    fits: Mapping[str, BValue | Unestimated]
    adequacy: Mapping[tuple[str, float], BValue | None]
    recipe: Recipe
    n_resamples: int
    on_grid: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """What the data say of one pair: the evidence by measure, how the slopes stand, and the error rates."""

    names: tuple[str, str]
    evidence: Mapping[str, Evidence]
    rates: Evidence
    dominance: Dominance
    slopes: BDifference | str  # why there are none
    gate: Gate | None


def discriminate(
    severity: Mapping[str, ArrayLike],
    *,
    groups: ArrayLike | None = None,
    control: str | None = None,
    primary: str = "severity_given_error",
    recipe: Recipe = DEFAULT,
    max_error_gap: float = 0.05,
    min_gap: float = 0.15,
    margin: float | None = None,
    corrected: Mapping[str, TrueSeverity] | None = None,
    n_resamples: int = 2000,
    level: float = 0.95,
    tried: int = 1,
    basis: str = "",
    judged: str = "",
    seed: int | None = None,
    rng: np.random.Generator,
    mapper: Mapper = in_threads,
) -> Discrimination:
    """Compare the errors of all pairs of conditions, or of all with a `control`, in claims.

    `severity` maps a condition to its scores, in the same order of items for all (NaN where not rated; 0 is correct).
    `groups` names each item's group, which is then the unit. Without a law: the mean severity given an error, the
    chance that an error of the second is graver, the share of errors at 2 and at 3 or more, how often an answer is that
    bad, and worse at every severity. By the law: the slope b from a common m_min up, if the law is adequate there on
    both sides, else blocked. `primary` names the measure whose claims are decided first (Holm over the pairs; against a
    control, means and shares given an error by the law of their largest t); the others only if these are all settled.
    With `corrected` severities (the judges' errors taken into account) their mean given an error is the primary
    measure, and the scores as judged stand beside it. Every sentence says whether the error rates are shown equal
    within `max_error_gap`, else that it is about all errors of each. `margin` (mean severity) and `min_gap` (b) bound
    what counts as equivalent. `basis` says who rated, `judged` that judges did whom nobody checked. Scores above 4
    are of another scale: no slopes, and no shares at its levels. `tried` attempts divide 1 - `level`. `mapper`
    says where pairs are tested and changes no number.
    """
    if not severity:
        raise InputError("There is no condition to compare.", remedy="Give scores of at least one condition.")
    if primary not in MEASURES:
        raise InputError(f"{primary!r} is not a measure.", remedy=f"There are {', '.join(MEASURES)}.")
    columns = {name: np.asarray(scores, dtype=np.float64).ravel() for name, scores in severity.items()}
    if len({x.shape for x in columns.values()}) > 1:
        raise InputError(
            "Conditions need one score per item each, in the same order.", remedy="Use NaN for unrated ones."
        )
    if control is not None and control not in columns:
        raise InputError(f"There is no condition {control!r}.", remedy=f"There are {', '.join(columns)}.")
    on_grid = all(np.nanmax(x, initial=0.0) <= TOP for x in columns.values())
    fits: dict[str, BValue | Unestimated] = {}
    paper, apart = None, None
    if on_grid:
        levels = {name: snap(x) for name, x in columns.items()}
        counts = {name: np.bincount(x[x >= 0], minlength=9) for name, x in levels.items()}
        apart = None if groups is None else {name: counts_by_group(x, groups) for name, x in levels.items()}
        fits = estimate_all(counts, by_group=apart, recipe=recipe, n_resamples=n_resamples, level=level, rng=rng)
        table = np.array(list(counts.values()), dtype=np.float64)
        paper = slopes(table, recipe=PAPER, n_resamples=n_resamples, level=level, rng=rng)
    wrong = {name: int(np.sum(x > 0)) for name, x in columns.items()}
    refused = [
        Refused(
            conditions=(name,),
            reason=f"it has no error in {int(np.sum(~np.isnan(x))):,} rated answers, so nothing can be said of how "
            "grave its errors are; rate more answers",
        )
        for name, x in columns.items()
        if not wrong[name]
    ]
    usable = [name for name in columns if wrong[name]]
    named = [(control, name) for name in usable if name != control] if control in usable else []
    if control is None:
        named = list(combinations(usable, 2))
    data = _Data(
        columns=columns,
        groups=groups,
        fits=fits,
        adequacy=_adequacy(fits, named, apart, n_resamples, level, rng),
        recipe=recipe,
        n_resamples=n_resamples,
        on_grid=on_grid,
    )
    pairs = list(mapper(partial(_test, data), list(zip(named, rng.spawn(len(named)), strict=True))))
    joint = None
    if control is not None and not corrected and (primary == "severity_given_error" or primary in AT):
        joint = _joint(pairs, columns, groups, primary, rng)
    claims = _claims(
        pairs, corrected or {}, joint, primary=primary, margin=margin, min_gap=min_gap, max_error_gap=max_error_gap,
        level=level, tried=tried, basis=basis, judged=judged, seed=seed,
    )  # fmt: skip
    return Discrimination(
        conditions=fits,
        paper={} if paper is None else _paper(list(columns), paper),
        claims=claims,
        refused=tuple(refused),
        counts=_counts(pairs, claims, paper, primary, max_error_gap, min_gap, 1 - level),
        max_error_gap=max_error_gap,
        min_gap=min_gap,
        recipe=recipe,
        n_resamples=n_resamples,
        level=level,
    )


def _paper(names: Sequence[str], found: Slopes) -> dict[str, dict[str, float | None]]:
    rows = zip(names, found.b, found.low, found.high, found.start, strict=True)
    return {
        name: {"b": float(b), "low": float(low), "high": float(high), "m_min": float(POSITIVE[k]) if k >= 0 else None}
        for name, b, low, high, k in rows
        if math.isfinite(b)
    }


def counts_by_group(levels: NDArray[np.int8], groups: ArrayLike) -> Ints:
    """Counts at the nine levels, group by group."""
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    rated = levels >= 0
    table: Ints = np.zeros((int(codes.max()) + 1, 9), dtype=np.int64)
    np.add.at(table, (codes[rated], levels[rated]), 1)
    held: Ints = table[table.sum(axis=1) > 0]
    return held


def _common_start(a: BValue, b: BValue) -> float:
    return max(a.m_min, b.m_min)


def _adequacy(
    fits: Mapping[str, BValue | Unestimated],
    named: Sequence[tuple[str, str]],
    by_group: Mapping[str, Ints] | None,
    n_resamples: int,
    level: float,
    rng: np.random.Generator,
) -> dict[tuple[str, float], BValue | None]:
    """Each condition's fit at every m_min that a pair of it shares."""
    out: dict[tuple[str, float], BValue | None] = {}
    for pair in named:
        a, b = (fits.get(name) for name in pair)
        if not isinstance(a, BValue) or not isinstance(b, BValue):
            continue
        start = _common_start(a, b)
        for name, fit in zip(pair, (a, b), strict=True):
            if (name, start) in out:
                continue
            found: BValue | None = fit
            if fit.m_min != start:
                at = dataclasses.replace(fit.recipe, m_min=start)
                try:
                    found = b_from_counts(
                        np.array(fit.counts), by_group=None if by_group is None else by_group[name], recipe=at,
                        n_resamples=n_resamples, level=level, rng=rng,
                    )  # fmt: skip
                except TooFewErrors:
                    found = None
            out[name, start] = found
    return out


def _test(data: _Data, task: tuple[tuple[str, str], np.random.Generator]) -> _Pair:
    names, rng = task
    groups = data.groups
    a, b = (data.columns[name] for name in names)
    dominance = compare_dominance(a, b, groups=groups)
    found = {
        "severity_given_error": severity_given_error(a, b, groups=groups),
        "graver_error": graver_error(a, b, groups=groups),
    }
    if dominance.levels:  # without one no item was rated in both
        found["dominance"] = dominance.evidence
    slope: BDifference | str = "the scores are not on the scale 0 to 4"
    gate = None
    if data.on_grid:
        for at in SEVERE:
            found[f"severe_given_error_{at:g}"] = severity_given_error(a, b, at=at, groups=groups)
        found["catastrophic_rate"] = severe_rate(a, b, at=CATASTROPHIC, groups=groups)
        slope, gate = _slopes(data, names, rng)
    return _Pair(
        names=names,
        evidence=found,
        rates=severe_rate(a, b, groups=groups),
        dominance=dominance,
        slopes=slope,
        gate=gate,
    )


def _slopes(data: _Data, names: tuple[str, str], rng: np.random.Generator) -> tuple[BDifference | str, Gate | None]:
    """The difference of slopes where both are adequate at a common m_min; else why there is none."""
    recipe = data.recipe
    first, second = (data.fits[name] for name in names)
    both = zip(names, (first, second), strict=True)
    short = [f"{n}: {f.reason.rstrip('.')}" for n, f in both if isinstance(f, Unestimated)]
    if not isinstance(first, BValue) or not isinstance(second, BValue):
        return "; ".join(short), None
    start = _common_start(first, second)
    sides = [side for name in names if (side := data.adequacy[name, start]) is not None]
    if len(sides) < 2:
        return f"too few errors at or above {start:g}, where the law of the other begins", None
    gate = Gate(
        name="law",
        rule=f"from {start:g} up the errors of both are within {recipe.tolerance:g} of the law, at the upper limit",
        passed=all(side.adequate for side in sides),
        observed={"m_min": start} | {k: [getattr(s, k) for s in sides] for k in ("misfit", "misfit_limit", "n_above")},
    )
    if not gate.passed:
        far = [
            f"those of {name} by {side.misfit:.2f} (up to {side.misfit_limit:.2f}, {counted(side.n_above, 'error')})"
            for name, side in zip(names, sides, strict=True)
            if not side.adequate
        ]
        why = f"from {start:g} up the errors do not follow the law within {recipe.tolerance:g}: {' and '.join(far)}"
        return why, gate
    chosen = first.recipe.m_min == "top" or second.recipe.m_min == "top"
    used = dataclasses.replace(recipe, m_min="top") if chosen else recipe
    try:
        a, b = (data.columns[name] for name in names)
        return compare_b(a, b, groups=data.groups, recipe=used, n_resamples=data.n_resamples, rng=rng), gate
    except TooFewErrors as error:
        return error.what, gate


def _joint(
    pairs: Sequence[_Pair],
    columns: Mapping[str, Floats],
    groups: ArrayLike | None,
    primary: str,
    rng: np.random.Generator,
) -> JointTests | None:
    """The law of the primary claims against one control together; without those whose counts are too small for t."""
    plain = [pair.names for pair in pairs if pair.evidence[primary].p is not None]
    if not plain:
        return None
    sums = [influences(columns[a], columns[b], at=AT.get(primary), groups=groups) for a, b in plain]
    return joint_law([(primary, names) for names in plain], np.stack(sums, axis=1), rng=rng)


def _claims(
    pairs: Sequence[_Pair],
    corrected: Mapping[str, TrueSeverity],
    joint: JointTests | None,
    *,
    primary: str,
    margin: float | None,
    min_gap: float,
    max_error_gap: float,
    level: float,
    tried: int,
    basis: str,
    judged: str,
    seed: int | None,
) -> tuple[Claim, ...]:
    """Every claim, by measure and pair: the primary measure's first."""
    questions: list[Question] = []
    about: list[_Pair] = []
    margins = {"severity_given_error": margin, "b": min_gap}
    order = [primary, *(m for m in MEASURES if m != primary)]
    true = [pair for pair in pairs if all(name in corrected for name in pair.names)]
    for pair in true:
        first, second = (corrected[name] for name in pair.names)
        about.append(pair)
        questions.append(
            Question(
                metric=CORRECTED, conditions=pair.names, evidence=true_difference(first, second), margin=margin,
                basis=first.basis,
            )
        )  # fmt: skip
    for measure in order:
        for pair in pairs:
            evidence = pair.evidence.get(measure)
            if measure == "b":
                evidence = pair.slopes.evidence if isinstance(pair.slopes, BDifference) else None
            if evidence is None:
                continue
            about.append(pair)
            in_units = measure not in ("graver_error", "dominance")  # of which a judge may be some kinder
            evidence = dataclasses.replace(evidence, judged=judged if in_units else "")
            questions.append(
                Question(
                    metric=MEASURES[measure], conditions=pair.names, evidence=evidence, margin=margins.get(measure),
                    primary=measure == primary and pair not in true, basis="" if evidence.judged else judged or basis,
                )
            )  # fmt: skip
    made = decide(questions, level=level, tried=tried, joint=joint, seed=seed)
    made = tuple(c if c.measure == CORRECTED.name else dataclasses.replace(c, judged=judged) for c in made)
    claims = [_worded(claim, pair, max_error_gap=max_error_gap) for claim, pair in zip(made, about, strict=True)]
    claims += [
        _no_slopes(pair, basis=judged or basis, seed=seed, primary=primary == "b")
        for pair in pairs
        if isinstance(pair.slopes, str) and "catastrophic_rate" in pair.evidence
    ]
    return tuple(claims)


def _equal(rates: Evidence, gap: float) -> bool:
    """The error rates are shown equal within the gap: two one-sided 5% tests."""
    found = rates.interval(0.9)
    return -gap < found.low and found.high < gap


def _worded(claim: Claim, pair: _Pair, *, max_error_gap: float) -> Claim:
    """The claim with what its sentence must say of levels and of error rates."""
    a, b = pair.rates.values
    rates = f"error rates {100 * a:.1f}% and {100 * b:.1f}%"
    said = claim.sentence.removesuffix(".")
    if claim.measure == "dominance":
        return _dominance_claim(claim, pair)
    if claim.measure == "catastrophic_rate":
        per = [f"{1e6 * v:,.0f}" for v in claim.values if v is not None]
        return dataclasses.replace(claim, sentence=f"{said}; {per[0]} and {per[1]} per million answers.")
    if claim.measure == "b" and isinstance(pair.slopes, BDifference):
        said += f"; slopes from {pair.slopes.m_min:g} up, where the law is adequate for both"
        claim = dataclasses.replace(claim, gates=() if pair.gate is None else (pair.gate,))
    elif claim.measure == "graver_error":
        chance = 50 * (1 + (claim.estimate or 0.0))
        said += f"; an error of {pair.names[1]} is the graver of two in {chance:.0f}% of cases, ties counting half"
    elif claim.measure in ("severity_given_error", CORRECTED.name):
        first, second = claim.values
        said += f"; means {first:.2f} and {second:.2f}"
    if _equal(pair.rates, max_error_gap):
        claim = dataclasses.replace(claim, notes=(EQUAL_RATES, *claim.notes))
        said += f"; at {rates}, equal within {100 * max_error_gap:g} points"
    else:
        said += f"; about all errors of each: {rates} are not shown equal within {100 * max_error_gap:g} points"
    return dataclasses.replace(claim, sentence=f"{said}.")


def _dominance_claim(claim: Claim, pair: _Pair) -> Claim:
    """The claim in its own words, refuted where each of the two is shown worse at some level.

    That is its other way to be decided, and no data show both: it takes the level that the list gave this claim, and is
    not tested where its turn did not come.
    """
    found = pair.dominance
    first, second = pair.names
    where = f"from {found.levels[0]:g} to {found.levels[-1]:g}" if len(found.levels) > 1 else f"at {found.levels[0]:g}"
    beyond = ""
    if found.unseen is not None and found.bound is not None:
        beyond = (
            f"; above {found.unseen:g} nobody was seen, which leaves up to {found.bound:,.0f} per million answers of "
            "each unknown"
        )
    if claim.verdict is Verdict.VERIFIED and claim.estimate is not None:
        worse, better = (second, first) if claim.estimate > 0 else (first, second)
        text = (
            f"{worse} is worse than {better} at every severity {where}: {better} is to be preferred whatever these "
            f"levels cost{beyond}."
        )
    elif claim.interval is not None and found.crossing <= 1 - claim.interval.level:
        claim = dataclasses.replace(claim, verdict=Verdict.REFUTED, needed=None, needed_for=None)
        text = (
            f"Neither of {first} and {second} is worse at every severity: each is shown worse at some level {where}; "
            f"which to prefer depends on what levels cost{beyond}."
        )
    elif claim.interval is None:
        text = f"Whether one of {first} and {second} is worse at every severity {where} was not tested{beyond}."
    else:
        text = f"Whether one of {first} and {second} is worse at every severity {where} is undecided{beyond}."
    return dataclasses.replace(claim, sentence=text)


def _no_slopes(pair: _Pair, *, basis: str, seed: int | None, primary: bool) -> Claim:
    first, second = pair.names
    gate = pair.gate
    blocked = gate is not None and not gate.passed
    return Claim(
        measure="b",
        conditions=pair.names,
        verdict=Verdict.BLOCKED if blocked else Verdict.UNDECIDED,
        sentence=f"The slopes of {first} and {second} are not compared: {pair.slopes}.",
        blocked_by="law" if blocked else None,
        n=pair.rates.n,
        units=pair.rates.units,
        unit=pair.rates.unit,
        better="higher",
        primary=primary,
        gates=() if gate is None else (gate,),
        basis=basis,
        seed=seed,
    )


def _counts(
    pairs: Sequence[_Pair],
    claims: Sequence[Claim],
    paper: Slopes | None,
    primary: str,
    max_error_gap: float,
    min_gap: float,
    alpha: float,
) -> PairCounts:
    """The paper's count and ours on the pairs whose error rates, as seen, are within the gap."""
    matched = [p for p in pairs if abs(p.rates.estimate) < max_error_gap]
    names = {p.names for p in matched}
    screened = {}
    for measure in MEASURES:
        found = [p.evidence[measure] for p in matched if measure in p.evidence]
        if found:
            screened[measure] = int(np.sum(benjamini_hochberg([p_value(e, 0.0) for e in found]) <= alpha))
    tested = [p.slopes.evidence for p in matched if isinstance(p.slopes, BDifference)]
    recount = None
    if paper is not None:
        recount = count_disjoint("paper", paper, max_error_gap=max_error_gap, min_gap=min_gap)
    return PairCounts(
        pairs=len(pairs),
        matched=len(matched),
        equal_rates=sum(_equal(p.rates, max_error_gap) for p in pairs),
        paper=0 if recount is None else recount.disjoint,
        paper_min_gap=0 if recount is None else recount.disjoint_min_gap,
        law_free=sum(c.verdict is Verdict.VERIFIED and c.conditions in names for c in claims if c.measure == primary),
        screened=screened,
        adequate=len(tested),
        law=int(np.sum(benjamini_hochberg([p_value(e, 0.0) for e in tested]) <= alpha)) if tested else 0,
    )
