"""The severity side of a comparison: mean, catastrophic rate, the slope b and the shape of the tail, pair by pair."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from richter.audit._grades import GradeMatrix
from richter.errors import InputError
from richter.floors import (
    METRICS,
    Comparison,
    Gap,
    GapFinding,
    PairedCounts,
    clustered_test,
    decide_gaps,
    mcnemar,
    paired_gap_labels,
    visible_paired_gap,
)
from richter.records import Claim, plain
from richter.severity import discriminate
from richter.tail import TailPlan, compare_conditions

__all__ = ["CATASTROPHIC", "severity_gaps", "shape_findings"]

CATASTROPHIC = 3.0  # ERRORQUAKE, section 4.4: severity 3.0 and above
RATE_GAP = 0.02  # what labels_needed is for when no margin is stated
SEVERITY_GAP = 0.1
WORST = 4.0
SLOPE_GAP = 0.15  # ERRORQUAKE, appendix G
POWER = 0.8

Shapes = dict[tuple[str, str], dict[str, Mapping[str, Any]]]


def severity_gaps(
    grades: GradeMatrix,
    comparison: Comparison,
    *,
    margin: float | None,
    rate_margin: float | None,
    tried: int,
    level: float,
    directed: bool,
) -> dict[tuple[str, str], dict[str, GapFinding]]:
    """Mean severity (0 where correct) and the rate of catastrophic errors, on the items rated in both."""
    assert grades.severity is not None
    place = {name: k for k, name in enumerate(grades.names)}
    on_scale = float(np.nanmax(grades.severity, initial=0.0)) <= WORST  # 3.0 is catastrophic on the scale 0 to 4 only
    alpha = (1 - level) / max(len(comparison.pairs), 1) / tried
    means: list[Gap] = []
    rates: list[Gap] = []
    for pair in comparison.pairs:
        a, b = grades.severity[:, place[pair.a]], grades.severity[:, place[pair.b]]
        shared = ~np.isnan(a) & ~np.isnan(b) & ~grades.failed[:, place[pair.a]] & ~grades.failed[:, place[pair.b]]
        if int(np.sum(shared)) < 2:
            continue
        units = None if grades.groups is None else grades.groups[shared]
        wide = 1 - (1 - level) / tried
        means.append(_mean_gap(pair.a, pair.b, a[shared], b[shared], units, margin=margin, alpha=alpha, level=wide))
        if on_scale:
            rates.append(_rate_gap(pair.a, pair.b, a[shared], b[shared], margin=rate_margin, alpha=alpha, level=wide))
    options: dict[str, Any] = {"tried": tried, "alpha": 1 - level, "directed": directed}
    found: dict[tuple[str, str], dict[str, GapFinding]] = {}
    for name, gaps, bound in (("mean_severity", means, margin), ("catastrophic_rate", rates, rate_margin)):
        for finding in decide_gaps(gaps, METRICS[name], margin=bound, **options):
            found.setdefault((finding.gap.a, finding.gap.b), {})[name] = finding
    return found


def _mean_gap(
    name_a: str,
    name_b: str,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    units: NDArray[np.intp] | None,
    *,
    margin: float | None,
    alpha: float,
    level: float,
) -> Gap:
    groups = np.arange(len(a)) if units is None else np.unique(units, return_inverse=True)[1].astype(np.intp)
    test = clustered_test(b - a, groups, margin=margin, level=level)
    aim = SEVERITY_GAP if margin is None else margin
    error = test.interval.half_width / float(ndtri(0.5 + level / 2))
    ask = float(ndtri(1 - alpha / 2) + ndtri(POWER)) * error
    return Gap(
        a=name_a,
        b=name_b,
        delta=test.delta,
        interval=test.interval,
        p=test.p,
        p_equivalence=test.p_equivalence,
        n=test.n,
        labels_needed=math.ceil(test.n * (ask / aim) ** 2),
        labels_needed_for=aim,
        visible=ask,
        floor=None,
        detail={"method": test.method, "mean_a": float(np.mean(a)), "mean_b": float(np.mean(b))},
    )


def _rate_gap(
    name_a: str,
    name_b: str,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    *,
    margin: float | None,
    alpha: float,
    level: float,
) -> Gap:
    bad_a, bad_b = a >= CATASTROPHIC, b >= CATASTROPHIC
    both = int(np.sum(bad_a & bad_b))
    counts = PairedCounts(
        both=both,
        only_a=int(np.sum(bad_a)) - both,
        only_b=int(np.sum(bad_b)) - both,
        neither=int(np.sum(~bad_a & ~bad_b)),
    )
    test = mcnemar(counts, margin=margin, level=level)
    aim = RATE_GAP if margin is None else margin
    return Gap(
        a=name_a,
        b=name_b,
        delta=test.delta,
        interval=test.interval,
        p=test.p,
        p_equivalence=test.p_equivalence,
        n=test.n,
        labels_needed=paired_gap_labels(aim, counts.discordance, alpha=alpha, power=POWER),
        labels_needed_for=aim,
        visible=visible_paired_gap(test.n, counts.discordance, alpha=alpha, power=POWER),
        floor=None,
        detail={
            "method": test.method,
            "threshold": CATASTROPHIC,
            "rate_a": float(np.mean(bad_a)),
            "rate_b": float(np.mean(bad_b)),
        },
    )


def shape_findings(
    grades: GradeMatrix,
    comparison: Comparison,
    *,
    tail_plan: TailPlan | None,
    slopes: Sequence[Claim] | None = None,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[Shapes, list[str]]:
    """The slope b (behind its gates) and the tail's shape (with a tail plan) by pair; and what stood in the way."""
    assert grades.severity is not None
    scores = {name: np.where(grades.failed[:, k], np.nan, grades.severity[:, k]) for k, name in enumerate(grades.names)}
    scores = {name: values for name, values in scores.items() if not np.isnan(values).all()}
    found: Shapes = {(pair.a, pair.b): {} for pair in comparison.pairs}
    notes: list[str] = []
    try:
        if slopes is None:
            slopes = discriminate(scores, min_gap=SLOPE_GAP, level=level, n_resamples=n_resamples, rng=rng).claims
        _slopes(found, slopes)
    except InputError as fault:
        notes.append(f"no slope b: {fault.what}")
    if tail_plan is None:
        notes.append("no claim on the tail's shape without a tail plan: richter plan new tail, then --tail-plan")
        return found, notes
    try:
        items = dict.fromkeys(scores, grades.items)
        study = compare_conditions(scores, tail_plan, rng=rng, items=items, band=False)
    except InputError as fault:
        notes.append(f"no tail shape: {fault.what}")
        return found, notes
    for pair in study.claims:
        row, (a, b), sign = pair.to_dict(), pair.conditions, 1.0
        if (a, b) not in found:
            a, b, sign = b, a, -1.0
        if (a, b) in found:
            found[a, b]["tail_shape"] = _turned(row, "estimate", sign)
    return found, notes


def _slopes(found: Shapes, study: Sequence[Claim]) -> None:
    for claim in study:
        (a, b), sign = claim.conditions, 1.0
        if (a, b) not in found:
            a, b, sign = b, a, -1.0
        if claim.measure == "b" and (a, b) in found:
            row = _turned(claim.to_dict(), "estimate", sign)
            row |= {"labels_needed": claim.needed, "labels_needed_for": claim.needed_for, "q": claim.p_adjusted}
            found[a, b]["b_value"] = row


def _turned(row: Mapping[str, Any], name: str, sign: float) -> dict[str, Any]:
    """A finding's row with its difference as `delta`, b minus a, like everything in a comparison."""
    kept = {k: v for k, v in row.items() if k not in ("a", "b", name, "needed")}
    value = row[name]
    if isinstance(row.get("interval"), Mapping):
        kept["interval"] = _ordered(row["interval"], sign)
    turned: dict[str, Any] = plain({"delta": None if value is None else sign * value, **kept})
    return turned


def _ordered(interval: Mapping[str, Any], sign: float) -> dict[str, Any]:
    ends = sorted((sign * interval["low"], sign * interval["high"]))
    return {**interval, "low": ends[0], "high": ends[1]}
