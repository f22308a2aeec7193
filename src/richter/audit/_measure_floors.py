"""The section on floors: who differs from whom, by how much, against what these items can show."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from richter.audit._compare import CompareReport, compare_grades
from richter.audit._grades import GradeMatrix
from richter.floors import GapFinding
from richter.records import Claim, Verdict
from richter.tail import TailPlan

__all__ = ["compare_run", "floors_section"]


def compare_run(
    grades: GradeMatrix,
    *,
    margin: float | None,
    severity_margin: float | None,
    tail_plan: TailPlan | None,
    slopes: Sequence[Claim] | None,
    n_resamples: int,
    level: float,
    seed: int,
) -> CompareReport:
    """`compare_grades` on all conditions; no direction is fixed beforehand: a claim is what its sentence states."""
    return compare_grades(
        grades,
        rng=np.random.default_rng(seed),
        margin=margin,
        severity_margin=severity_margin,
        tail_plan=tail_plan,
        slopes=slopes,
        level=level,
        n_resamples=n_resamples,
    )


def floors_section(report: CompareReport, *, seed: int) -> dict[str, Any]:
    """The comparison as `richter compare --json` prints it, and the rows that its figures draw."""
    comparison = report.comparison
    return {
        "comparison": report.to_dict() | {"seed": seed},
        "gaps": [
            _gap(measure, finding, comparison.margin)
            for pair in comparison.pairs
            for measure, finding in gap_findings(report, pair.a, pair.b).items()
        ],
        "sets": [list(names) for names in comparison.groups],
        "flips": [
            {
                "a": pair.a,
                "b": pair.b,
                "fixed": int(pair.accuracy.gap.detail["fixed"]),
                "broken": int(pair.accuracy.gap.detail["broken"]),
            }
            for pair in comparison.pairs
        ],
    }


def gap_findings(report: CompareReport, a: str, b: str) -> dict[str, GapFinding]:
    """The decided differences of a pair, by measure."""
    pair = next(p for p in report.comparison.pairs if (p.a, p.b) == (a, b))
    found = {"accuracy": pair.accuracy}
    if pair.calibration is not None:
        found["calibration"] = pair.calibration
    return found | report.severity.get((a, b), {})


def _gap(measure: str, finding: GapFinding, margin: float | None) -> dict[str, Any]:
    gap = finding.gap
    return {
        "a": gap.a,
        "b": gap.b,
        "measure": measure,
        "delta": gap.delta,
        "interval": gap.interval.to_dict(),
        "floor": gap.floor,
        "smallest_visible": gap.visible,
        "margin": margin,
        "verdict": finding.verdict.value,
        "n": gap.n,
        "labels_needed": gap.labels_needed if finding.verdict is Verdict.UNDECIDED else None,
        "labels_needed_for": gap.labels_needed_for,
    }
