"""Whose errors are worse? Every pair of conditions, without a law first and by its slope behind a gate."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from richter.claims import (
    METRICS,
    Asked,
    Blocked,
    Evidence,
    FamilyName,
    JointTests,
    Metric,
    Outcomes,
    Question,
    decide,
    difference_evidence,
    is_within,
    joint_law,
    p_value,
)
from richter.errors import InputError, TooFewErrors
from richter.records import Claim, Gate, Refused, Shown, Verdict, counted
from richter.severity._b_value import DEFAULT, PAPER, BValue, Recipe, b_from_counts
from richter.severity._difference import BDifference, compare_b
from richter.severity._disjoint_intervals import Slopes, count_disjoint, fit_slopes
from richter.severity._dominance import Dominance, compare_dominance
from richter.severity._given_error import graver_error, influences, severe_rate, severity_given_error
from richter.severity._grid import POSITIVE, TOP, snap
from richter.severity._true_severity import TrueSeverity, true_difference
from richter.stats import Floats, Ints, Mapper, benjamini_hochberg, in_threads

__all__ = [
    "MEASURES",
    "Discrimination",
    "PairCounts",
    "PairStudy",
    "SeverityPair",
    "Unestimated",
    "check_primary",
    "discriminate",
    "estimate_all",
    "margin_of",
    "pair_questions",
    "weigh_pairs",
]

# what severities say of a pair; shapes of tails and the judges' errors have commands and options of their own
MEASURES: dict[str, Metric] = {
    name: metric
    for name, metric in METRICS.items()
    if metric.source == "severity" and metric.estimator not in ("tail", "corrected")
}
SEVERE = {name: m.at for name, m in MEASURES.items() if m.at is not None and m.estimator == "given_error"}
CORRECTED = METRICS["true_severity_given_error"]
AS_JUDGED = "severity_given_error"  # the same mean without the judges' errors allowed for


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
    """`b_from_counts` of every condition; one that has too few errors says so and the study goes on."""
    out: dict[str, BValue | Unestimated] = {}
    for name, levels in counts.items():
        options: dict[str, Any] = {"n_resamples": n_resamples, "level": level, "rng": rng}
        options["by_group"] = None if by_group is None else by_group[name]
        try:
            out[name] = b_from_counts(levels, recipe=recipe, **options)
        except TooFewErrors as error:
            out[name] = Unestimated(
                n=int(levels.sum()),
                n_errors=int(levels[1:].sum()),
                needed=error.needed,
                reason=error.what,
                counts=tuple(int(c) for c in levels),
            )
    return out


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _PairInputs:
    """What all pairs are tested on; `adequacy` has each condition's fit at every m_min that a pair of it shares."""

    columns: Mapping[str, Floats]
    groups: ArrayLike | None
    weights: ArrayLike | None
    fits: Mapping[str, BValue | Unestimated]
    adequacy: Mapping[tuple[str, float], BValue | None]
    recipe: Recipe
    n_resamples: int
    on_grid: bool
    max_error_gap: float
    alpha: float
    worst: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeverityPair:
    """What the data say of one pair: the evidence by measure, how the slopes stand, and the error rates."""

    names: tuple[str, str]
    evidence: Mapping[str, Evidence]
    rates: Evidence
    dominance: Dominance
    slopes: BDifference | str  # why there are none
    gate: Gate | None

    def answers(self, measure: str) -> bool:
        """Whether the pair has evidence on a measure, or a reason why its slopes have none."""
        return measure in self.evidence or (measure == "b" and "catastrophic_rate" in self.evidence)

    def of(self, measure: str, judged: str = "") -> Evidence | Blocked:
        """The evidence on a measure, with whose judgement it is; of slopes also why there is none."""
        if measure != "b" or not isinstance(self.slopes, str):
            return dataclasses.replace(self.evidence[measure], judged=judged)
        is_blocked = self.gate is not None and not self.gate.passed
        return Blocked(gate="law" if is_blocked else None, reason=self.slopes)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairStudy:
    """Every pair's evidence, the slopes behind it, and what has no errors to weigh."""

    columns: Mapping[str, Floats]
    groups: ArrayLike | None
    weights: ArrayLike | None
    fits: Mapping[str, BValue | Unestimated]
    paper: Slopes | None
    pairs: tuple[SeverityPair, ...]
    refused: tuple[Refused, ...]
    worst: float

    def joint_law(self, primary: str, rng: np.random.Generator) -> JointTests | None:
        """The law of the claims against one control together; without those whose counts are too small for t."""
        if primary != "severity_given_error" and primary not in SEVERE:
            return None
        tested = [pair for pair in self.pairs if primary in pair.evidence]
        plain = [pair.names for pair in tested if pair.evidence[primary].p is not None]
        if not plain:
            return None
        columns, at, given = self.columns, SEVERE.get(primary), {"groups": self.groups, "weights": self.weights}
        sums = [influences(columns[a], columns[b], at=at, **given) for a, b in plain]
        return joint_law([(primary, names) for names in plain], np.stack(sums, axis=1), rng=rng)

    def paper_slopes(self) -> dict[str, dict[str, float | None]]:
        """The paper's own slope of each condition, with its interval."""
        return {} if self.paper is None else _paper_rows(list(self.columns), self.paper)


def discriminate(
    severity: Mapping[str, ArrayLike],
    *,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    control: str | None = None,
    primary: str = "severity_given_error",
    recipe: Recipe = DEFAULT,
    max_error_gap: float = 0.05,
    min_gap: float = 0.15,
    margins: Mapping[str, float] | None = None,
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
    """Claims on the errors of all pairs of conditions, or of all with a `control`.

    `severity` maps a condition to its scores, in the same order of items for all (NaN where not rated; 0 is correct).
    `groups` names each item's group, which is then the unit. Without a law: the mean severity given an error, the
    chance that an error of the second is graver, the share of errors at 2 and at 3 or more, how often an answer is that
    bad, and worse at every severity. By the law: the slope b from a common m_min up, if the law is adequate there on
    both sides, else blocked. `primary` names the main measure, whose claims are one family (Holm over the pairs;
    against a control, means and shares given an error by the law of their largest t); all other claims are a second.
    With `corrected` severities (the judges' errors taken into account) their mean given an error stands in the place
    of the mean as judged, which stands beside it. Every sentence says whether the error rates are shown equal within
    `max_error_gap`, else that it is about all errors of each. `margins` bound, by measure, what counts as equivalent;
    `min_gap` is the paper's, for its count. `basis` says who rated, `judged` that judges did whom nobody checked.
    `weights` say what each item counts for; slopes do not use them. Scores above 4 are of another scale: no slopes,
    and no shares at its levels. `tried` attempts divide 1 - `level`. `mapper` says where pairs are tested and changes
    no number.

    >>> from richter.severity import discriminate
    >>> import numpy as np
    >>> tables = np.random.default_rng(0).choice([0, 1.5, 2, 2.5, 3, 4], (2, 600), p=[0.4, 0.3, 0.15, 0.08, 0.05, 0.02])
    >>> found = discriminate({"a": tables[0], "b": tables[1]}, rng=np.random.default_rng(0), n_resamples=100)
    >>> found.claims[0].verdict.value
    'undecided'
    """
    check_primary(primary)
    study = weigh_pairs(
        severity, groups=groups, weights=weights, control=control, recipe=recipe, max_error_gap=max_error_gap,
        n_resamples=n_resamples, level=level, rng=rng, mapper=mapper,
    )  # fmt: skip
    joint = None if control is None or corrected else study.joint_law(primary, rng)
    asked = pair_questions(
        study.pairs, corrected or {}, primary=primary, margins=margins or {}, basis=basis, judged=judged
    )
    claims = decide(asked, level=level, tried=tried, joint=joint, seed=seed)
    return Discrimination(
        conditions=study.fits,
        paper=study.paper_slopes(),
        claims=claims,
        refused=study.refused,
        counts=pair_counts(
            study, claims, primary=primary, max_error_gap=max_error_gap, min_gap=min_gap, alpha=1 - level
        ),
        max_error_gap=max_error_gap,
        min_gap=min_gap,
        recipe=recipe,
        n_resamples=n_resamples,
        level=level,
    )


def check_primary(primary: str) -> None:
    """Refuse a main measure that severities say nothing of."""
    if primary not in MEASURES:
        raise InputError(f"{primary!r} is not a measure.", remedy=f"There are {', '.join(MEASURES)}.")


def weigh_pairs(
    severity: Mapping[str, ArrayLike],
    *,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    control: str | None = None,
    recipe: Recipe = DEFAULT,
    max_error_gap: float = 0.05,
    n_resamples: int = 2000,
    level: float = 0.95,
    worst: float = TOP,
    rng: np.random.Generator,
    mapper: Mapper = in_threads,
) -> PairStudy:
    """The evidence on every pair of conditions (or of all with a `control`), before anything is decided.

    `worst` is the upper end of the severities' scale.
    """
    columns = _checked_columns(severity, control)
    on_grid = all(np.nanmax(x, initial=0.0) <= TOP for x in columns.values())
    fits: dict[str, BValue | Unestimated] = {}
    paper, by_group = None, None
    if on_grid:
        levels = {name: snap(x) for name, x in columns.items()}
        counts = {name: np.bincount(x[x >= 0], minlength=9) for name, x in levels.items()}
        by_group = None if groups is None else {name: counts_by_group(x, groups) for name, x in levels.items()}
        fits = estimate_all(counts, by_group=by_group, recipe=recipe, n_resamples=n_resamples, level=level, rng=rng)
        table = np.array(list(counts.values()), dtype=np.float64)
        paper = fit_slopes(table, recipe=PAPER, n_resamples=n_resamples, level=level, rng=rng)
    usable = [name for name, x in columns.items() if (x > 0).any()]
    named = _pairs_to_test(usable, control)
    data = _PairInputs(
        columns=columns, groups=groups, weights=weights, fits=fits,
        adequacy=_fits_at_shared_m_min(fits, named, by_group, n_resamples, level, rng), recipe=recipe,
        n_resamples=n_resamples, on_grid=on_grid, max_error_gap=max_error_gap, alpha=1 - level, worst=worst,
    )  # fmt: skip
    refused = tuple(
        Refused(
            conditions=(name,),
            reason=f"it has no error in {int(np.sum(~np.isnan(x))):,} rated answers, so nothing can be said of how "
            "severe its errors are; rate more answers",
        )
        for name, x in columns.items()
        if name not in usable
    )
    pairs = tuple(mapper(partial(_test_pair, data), list(zip(named, rng.spawn(len(named)), strict=True))))
    return PairStudy(
        columns=columns, groups=groups, weights=weights, fits=fits, paper=paper, pairs=pairs, refused=refused,
        worst=worst,
    )  # fmt: skip


def _checked_columns(severity: Mapping[str, ArrayLike], control: str | None) -> dict[str, Floats]:
    """Each condition's severities as numbers, one an item in the same order."""
    if not severity:
        raise InputError("There is no condition to compare.", remedy="Give scores of at least one condition.")
    columns = {name: np.asarray(scores, dtype=np.float64).ravel() for name, scores in severity.items()}
    if len({x.shape for x in columns.values()}) > 1:
        raise InputError(
            "Conditions need one score per item each, in the same order.", remedy="Use NaN for unrated ones."
        )
    if control is not None and control not in columns:
        raise InputError(f"There is no condition {control!r}.", remedy=f"There are {', '.join(columns)}.")
    return columns


def _pairs_to_test(usable: Sequence[str], control: str | None) -> list[tuple[str, str]]:
    """All pairs of conditions with errors, or all of them with the control."""
    if control is None:
        return list(combinations(usable, 2))
    return [(control, name) for name in usable if name != control] if control in usable else []


def _paper_rows(names: Sequence[str], slopes: Slopes) -> dict[str, dict[str, float | None]]:
    rows = zip(names, slopes.b, slopes.low, slopes.high, slopes.start, strict=True)
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


def _fits_at_shared_m_min(
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
            if (name, start) not in out:
                groups = None if by_group is None else by_group[name]
                out[name, start] = _refit_from(start, fit, groups, n_resamples, level, rng)
    return out


def _refit_from(
    start: float, fit: BValue, by_group: Ints | None, n_resamples: int, level: float, rng: np.random.Generator
) -> BValue | None:
    """A condition's fit from another m_min up; None where it has too few errors there."""
    if fit.m_min == start:
        return fit
    recipe = dataclasses.replace(fit.recipe, m_min=start)
    try:
        return b_from_counts(
            np.array(fit.counts), by_group=by_group, recipe=recipe, n_resamples=n_resamples, level=level, rng=rng
        )
    except TooFewErrors:
        return None


def _test_pair(data: _PairInputs, task: tuple[tuple[str, str], np.random.Generator]) -> SeverityPair:
    names, rng = task
    groups, weights = data.groups, data.weights
    a, b = (data.columns[name] for name in names)
    rates = severe_rate(a, b, groups=groups, weights=weights)
    about = _describe_rates(rates, data)
    dominance = compare_dominance(a, b, groups=groups, weights=weights, level=1 - data.alpha)
    given = severity_given_error(a, b, groups=groups, weights=weights, worst=data.worst)
    graver = graver_error(a, b, groups=groups, weights=weights)
    chance = 50 * (1 + graver.estimate)
    means = f"means {given.values[0]:.2f} and {given.values[1]:.2f}"
    evidence = {
        "severity_given_error": dataclasses.replace(given, detail=f"{means}; {about}"),
        "graver_error": dataclasses.replace(
            graver, detail=f"an error of {names[1]} is the more severe of two in {chance:.0f}% of cases; {about}"
        ),
    }
    if dominance.levels:  # without one no item was rated in both
        detail = _describe_levels(dominance)
        evidence["dominance"] = dataclasses.replace(dominance.evidence, p_refuted=dominance.crossing, detail=detail)
    slope: BDifference | str = "the scores are not on the scale 0 to 4"
    gate = None
    if data.on_grid:
        for measure, at in SEVERE.items():
            share = severity_given_error(a, b, at=at, groups=groups, weights=weights)
            evidence[measure] = dataclasses.replace(share, detail=about)
        severe = severe_rate(a, b, at=METRICS["catastrophic_rate"].at or TOP, groups=groups, weights=weights)
        per = " and ".join(f"{1e6 * v:,.0f}" for v in severe.values)
        evidence["catastrophic_rate"] = dataclasses.replace(severe, detail=f"{per} per million answers")
        if (~np.isnan(a) & ~np.isnan(b)).any():
            evidence["mean_severity"] = _mean_difference(a, b, groups, weights)
        slope, gate = _compare_slopes(data, names, rng)
        if isinstance(slope, BDifference):
            start = f"slopes from {slope.m_min:g} up, where the law is adequate for both; {about}"
            unweighted = () if weights is None else ("slopes do not use the weights of items",)
            evidence["b"] = dataclasses.replace(
                slope.evidence, detail=start, notes=(*slope.evidence.notes, *unweighted)
            )
    return SeverityPair(names=names, evidence=evidence, rates=rates, dominance=dominance, slopes=slope, gate=gate)


def _mean_difference(a: Floats, b: Floats, groups: ArrayLike | None, weights: ArrayLike | None) -> Evidence:
    """The second's mean severity of all answers minus the first's, as claims on means have it."""
    rows = [np.flatnonzero(~np.isnan(x)) for x in (a, b)]
    unit = None if groups is None else np.unique(np.asarray(groups).ravel(), return_inverse=True)[1].astype(np.intp)
    both = Outcomes(
        metric=METRICS["mean_severity"], items=("",) * len(a), conditions=("first", "second"),
        item=np.concatenate(rows), condition=np.repeat([0, 1], [len(x) for x in rows]),
        value=np.concatenate([a[rows[0]], b[rows[1]]]), group=unit,
        weight=None if weights is None else np.asarray(weights, dtype=np.float64),
    )  # fmt: skip
    return difference_evidence(both, "first", "second")


def _describe_rates(rates: Evidence, data: _PairInputs) -> str:
    """Whether the error rates are shown equal within the gap: else a claim is about all errors of each."""
    (a, b), gap = rates.values, f"{100 * data.max_error_gap:g} points"
    if is_within(rates, data.max_error_gap, alpha=data.alpha):
        return f"the error rates ({100 * a:.1f}% and {100 * b:.1f}%) are equal within {gap}"
    return f"the error rates ({100 * a:.1f}% and {100 * b:.1f}%) may differ by more than {gap}"


def _describe_levels(dominance: Dominance) -> str:
    where = (
        f"from {dominance.levels[0]:g} to {dominance.levels[-1]:g}"
        if len(dominance.levels) > 1
        else f"at {dominance.levels[0]:g}"
    )
    if dominance.unseen is None or dominance.bound is None:
        return f"levels {where}"
    unknown = (
        f"above {dominance.unseen:g} nobody was seen, which leaves up to {dominance.bound:,.0f} per million unknown"
    )
    return f"levels {where}; {unknown}"


def _compare_slopes(
    data: _PairInputs, names: tuple[str, str], rng: np.random.Generator
) -> tuple[BDifference | str, Gate | None]:
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
        far = _describe_misfits(names, sides)
        return f"from {start:g} up the errors do not follow the law within {recipe.tolerance:g}: {far}", gate
    try:
        a, b = (data.columns[name] for name in names)
        return compare_b(a, b, groups=data.groups, recipe=recipe, n_resamples=data.n_resamples, rng=rng), gate
    except TooFewErrors as error:
        return error.what, gate


def _describe_misfits(names: Sequence[str], sides: Sequence[BValue]) -> str:
    """How far the errors of each condition are from the law, of those that are too far."""
    return " and ".join(
        f"those of {name} by {side.misfit:.2f} (up to {side.misfit_limit:.2f}, {counted(side.n_above, 'error')})"
        for name, side in zip(names, sides, strict=True)
        if not side.adequate
    )


def pair_questions(
    pairs: Sequence[SeverityPair],
    corrected: Mapping[str, TrueSeverity],
    *,
    primary: str,
    margins: Mapping[str, float],
    basis: str,
    judged: str,
) -> list[Asked]:
    """Every question with its evidence, by measure and pair: the main measure's first."""
    true = [pair for pair in pairs if corrected.keys() >= {*pair.names}]
    leads = true if primary == AS_JUDGED else []  # corrected by labels, a pair is in the main family
    asked = []
    for pair in true:
        first, second = (corrected[name] for name in pair.names)
        family: FamilyName = "main" if leads else "other"
        asked.append(_ask(CORRECTED.name, pair, true_difference(first, second), margins, family, first.basis))
    for measure in (primary, *(m for m in MEASURES if m != primary)):
        for pair in (p for p in pairs if p.answers(measure)):
            family = "main" if measure == primary and pair not in leads else "other"
            asked.append(_ask(measure, pair, pair.of(measure, judged), margins, family, basis))
    return asked


def _ask(
    measure: str,
    pair: SeverityPair,
    evidence: Evidence | Blocked,
    margins: Mapping[str, float],
    family: FamilyName,
    basis: str,
) -> Asked:
    """A question on a pair with its evidence; one on slopes has the law's gate."""
    question = Question(measure=measure, conditions=pair.names, margin=margin_of(measure, margins), family=family)
    gates = (pair.gate,) if measure == "b" and pair.gate is not None else ()
    return Asked(question=question, metric=METRICS[measure], evidence=evidence, basis=basis, gates=gates)


def margin_of(measure: str, margins: Mapping[str, float]) -> float | None:
    """The margin that was stated for a measure; that of the mean severity of errors holds for the corrected one too."""
    return margins.get(measure, margins.get(AS_JUDGED) if measure == CORRECTED.name else None)


def pair_counts(
    study: PairStudy,
    claims: Sequence[Claim],
    *,
    primary: str,
    max_error_gap: float,
    min_gap: float,
    alpha: float,
) -> PairCounts:
    """The paper's count and ours on the pairs whose error rates, as seen, are within the gap."""
    pairs, paper = study.pairs, study.paper
    matched = [p for p in pairs if abs(p.rates.estimate) < max_error_gap]
    names = {p.names for p in matched}
    by_measure = {m: [p.evidence[m] for p in matched if m in p.evidence] for m in MEASURES if m != "b"}
    tested = [p.slopes.evidence for p in matched if isinstance(p.slopes, BDifference)]
    recount = None
    if paper is not None:
        recount = count_disjoint("paper", paper, max_error_gap=max_error_gap, min_gap=min_gap)
    return PairCounts(
        pairs=len(pairs),
        matched=len(matched),
        equal_rates=sum(is_within(p.rates, max_error_gap, alpha=alpha) for p in pairs),
        paper=0 if recount is None else recount.disjoint,
        paper_min_gap=0 if recount is None else recount.disjoint_min_gap,
        law_free=sum(c.verdict is Verdict.VERIFIED and c.conditions in names for c in claims if c.measure == primary),
        screened={measure: _count_discoveries(own, alpha) for measure, own in by_measure.items() if own},
        adequate=len(tested),
        law=_count_discoveries(tested, alpha) if tested else 0,
    )


def _count_discoveries(evidence: Sequence[Evidence], alpha: float) -> int:
    """How many differences pass at a false-discovery rate of `alpha` (Benjamini-Hochberg)."""
    return int(np.sum(benjamini_hochberg([p_value(e, 0.0) for e in evidence]) <= alpha))
