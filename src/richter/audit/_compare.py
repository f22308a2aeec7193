"""`richter compare`: what floors says of grades, with severity and its tail beside it where there are severities."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from richter.audit._compare_severity import Shapes, severity_gaps, shape_findings
from richter.audit._grades import GradeMatrix
from richter.audit._pictures import compare_picture
from richter.errors import InputError
from richter.floors import Comparison, GapFinding, compare
from richter.records import Claim, jsonable
from richter.stats import wilson
from richter.tail import TailPlan

__all__ = ["CompareReport", "compare_grades"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CompareReport:
    """A comparison with the findings on severity of each pair, keyed (a, b), and warnings on how answers were given.

    `shapes` holds the rows on the slope b and the tail's shape, which other rooms judge behind gates of their own.
    """

    comparison: Comparison
    severity: dict[tuple[str, str], dict[str, GapFinding]]
    shapes: Shapes
    warnings: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The comparison's dictionary with the further findings in their pairs."""
        row = self.comparison.to_dict()
        for pair in row["pairs"]:
            for metric, finding in self.severity.get((pair["a"], pair["b"]), {}).items():
                pair[metric] = finding.to_dict()
            pair |= self.shapes.get((pair["a"], pair["b"]), {})
        for name, more in self.warnings.items():
            row["conditions"][name]["warnings"] += list(more)
        row["notes"] = jsonable(self.notes)
        return row

    def _repr_html_(self) -> str:
        return compare_picture(self)


def compare_grades(
    grades: GradeMatrix,
    *,
    rng: np.random.Generator,
    conditions: Sequence[str] = (),
    margin: float | None = None,
    severity_margin: float | None = None,
    tail_plan: TailPlan | None = None,
    slopes: Sequence[Claim] | None = None,
    tried: int = 1,
    min_shared: float = 0.5,
    level: float = 0.95,
    n_resamples: int = 2000,
) -> CompareReport:
    """Compare the conditions of a grades matrix; with two named ones the claim "B is better than A" is directed.

    `slopes` are the tests of b where they were made before on the same severities.
    """
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
    severity: dict[tuple[str, str], dict[str, GapFinding]] = {}
    shapes: Shapes = {}
    notes = list(grades.notes)
    if grades.severity is not None:
        severity = severity_gaps(
            grades,
            comparison,
            margin=severity_margin,
            rate_margin=margin,
            tried=tried,
            level=level,
            directed=len(conditions) == 2,
        )
        shapes, found = shape_findings(
            grades, comparison, tail_plan=tail_plan, slopes=slopes, level=level, n_resamples=n_resamples, rng=rng
        )
        notes += found
    return CompareReport(
        comparison=comparison,
        severity=severity,
        shapes=shapes,
        warnings=_position_warnings(grades, level=level),
        notes=tuple(notes),
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
