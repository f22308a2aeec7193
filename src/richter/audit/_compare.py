"""`richter compare`: what floors says of grades, with severity and its tail beside it where there are severities."""

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
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
    compare,
    decide_gaps,
    mcnemar,
    paired_gap_labels,
    visible_paired_gap,
)
from richter.records import jsonable
from richter.stats import wilson

__all__ = ["CATASTROPHIC", "CompareReport", "compare_grades"]

CATASTROPHIC = 3.0  # ERRORQUAKE, section 4.4: severity 3.0 and above
SEVERITY_GAP = 0.1  # what labels_needed is for when no severity margin is stated


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CompareReport:
    """A comparison with the findings on severity of each pair, keyed (a, b), and warnings on how answers were given."""

    comparison: Comparison
    severity: dict[tuple[str, str], dict[str, GapFinding]]
    warnings: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The comparison's dictionary with the further findings in their pairs."""
        row = self.comparison.to_dict()
        for pair in row["pairs"]:
            for metric, finding in self.severity.get((pair["a"], pair["b"]), {}).items():
                pair[metric] = finding.to_dict()
        for name, more in self.warnings.items():
            row["conditions"][name]["warnings"] += list(more)
        row["notes"] = jsonable(self.notes)
        return row


def compare_grades(
    grades: GradeMatrix,
    *,
    rng: np.random.Generator,
    conditions: Sequence[str] = (),
    margin: float | None = None,
    severity_margin: float | None = None,
    tried: int = 1,
    min_shared: float = 0.5,
    level: float = 0.95,
    n_resamples: int = 2000,
) -> CompareReport:
    """Compare the conditions of a grades matrix; with two named ones the claim "B is better than A" is directed."""
    if conditions:
        grades = grades.select(conditions)
    if len(grades.names) < 2:
        raise InputError(
            f"There is one condition ({grades.names[0]}); a comparison needs two.",
            remedy="Add a second condition, or use `richter floors data` for one.",
        )
    comparison = compare(
        grades.correct,
        rng=rng,
        names=grades.names,
        confidence=grades.confidence,
        failed=grades.failed,
        groups=grades.groups,
        margin=margin,
        tried=tried,
        directed=len(conditions) == 2,
        min_shared=min_shared,
        level=level,
        n_resamples=n_resamples,
    )
    severity = {}
    if grades.severity is not None:
        severity = _severity(
            grades,
            comparison,
            margin=severity_margin,
            rate_margin=margin,
            tried=tried,
            level=level,
            rng=rng,
            directed=len(conditions) == 2,
        )
    return CompareReport(
        comparison=comparison, severity=severity, warnings=_position_warnings(grades, level=level), notes=grades.notes
    )


def _severity(
    grades: GradeMatrix,
    comparison: Comparison,
    *,
    margin: float | None,
    rate_margin: float | None,
    tried: int,
    level: float,
    rng: np.random.Generator,
    directed: bool,
) -> dict[tuple[str, str], dict[str, GapFinding]]:
    """Mean severity (0 where correct) and the rate of catastrophic errors, on the items rated in both."""
    assert grades.severity is not None
    place = {name: k for k, name in enumerate(grades.names)}
    alpha = (1 - level) / max(len(comparison.pairs), 1) / tried
    means: list[Gap] = []
    rates: list[Gap] = []
    for pair in comparison.pairs:
        a, b = grades.severity[:, place[pair.a]], grades.severity[:, place[pair.b]]
        shared = ~np.isnan(a) & ~np.isnan(b) & ~grades.failed[:, place[pair.a]] & ~grades.failed[:, place[pair.b]]
        if int(np.sum(shared)) < 2:
            continue
        units = None if grades.groups is None else grades.groups[shared]
        means.append(_mean_gap(pair.a, pair.b, a[shared], b[shared], units, margin=margin, alpha=alpha, level=level))
        rates.append(_rate_gap(pair.a, pair.b, a[shared], b[shared], margin=rate_margin, alpha=alpha, level=level))
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
    ask = float(ndtri(1 - alpha / 2) + ndtri(0.8)) * error
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
    aim = 0.02 if margin is None else margin
    return Gap(
        a=name_a,
        b=name_b,
        delta=test.delta,
        interval=test.interval,
        p=test.p,
        p_equivalence=test.p_equivalence,
        n=test.n,
        labels_needed=paired_gap_labels(aim, counts.discordance, alpha=alpha),
        labels_needed_for=aim,
        visible=visible_paired_gap(test.n, counts.discordance, alpha=alpha),
        floor=None,
        detail={
            "method": test.method,
            "threshold": CATASTROPHIC,
            "rate_a": float(np.mean(bad_a)),
            "rate_b": float(np.mean(bad_b)),
        },
    )


def _position_warnings(grades: GradeMatrix, *, level: float) -> dict[str, tuple[str, ...]]:
    """Conditions that give one option far more often than it is right: answering by position."""
    if grades.answers is None:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for k, name in enumerate(grades.names):
        given = [x for x in grades.answers[:, k] if x is not None and len(x.strip()) == 1]
        n = len(given)
        if n < 30 or n < 0.9 * len(grades.items) or not 2 <= len(set(given)) <= 10:
            if n >= 30 and len(set(given)) == 1:
                found[name] = (f"answering by position: all {n} answers are {given[0]!r}",)
            continue
        option, times = Counter(given).most_common(1)[0]
        share = 1 / len(set(given))
        if grades.references is not None:
            right = [x for x in grades.references[:, k] if x is not None]
            share = max(share, sum(x.strip() == option for x in right) / len(right)) if right else share
        if wilson(times, n, level=level).low > 1.5 * share:
            found[name] = (f"answering by position: {100 * times / n:.0f}% of answers are {option!r}",)
    return found
