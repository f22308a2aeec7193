"""The section on floors: who differs from whom, by how much, against what these items can show."""

from collections.abc import Sequence
from typing import Any

from richter.audit._compare import CompareReport, compare_tables
from richter.records import Claim
from richter.tables import Tables
from richter.tail import TailPlan


def compare_run(
    tables: Tables,
    *,
    margin: float | None,
    severity_margin: float | None,
    tail_plan: TailPlan | None,
    slopes: Sequence[Claim] | None,
    plan: str | None,
    n_resamples: int,
    level: float,
    seed: int,
) -> CompareReport:
    """`compare_tables` on all conditions; no direction is fixed beforehand: a claim is what its sentence states."""
    return compare_tables(
        tables,
        margin=margin,
        severity_margin=severity_margin,
        tail_plan=tail_plan,
        slopes=slopes,
        plan=plan,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )


def floors_section(report: CompareReport) -> dict[str, Any]:
    """The comparison as `richter compare --json` prints it, and the rows that its figures draw."""
    return {
        "comparison": report.to_dict(),
        "gaps": [_gap(claim) for claim in gap_claims(report)],
        "sets": [list(names) for names in report.groups],
        "flips": [
            {"a": pair.conditions[0], "b": pair.conditions[1], "fixed": pair.fixed, "broken": pair.broken}
            for pair in report.pairs
            if pair.fixed is not None
        ],
    }


def gap_claims(report: CompareReport) -> list[Claim]:
    """The differences of means, pair by pair: shapes have sections of their own."""
    order = {pair.conditions: k for k, pair in enumerate(report.pairs)}
    found = [c for c in report.claims if c.measure not in ("b", "xi") and c.conditions in order]
    return sorted(found, key=lambda c: order[c.conditions])  # type: ignore[index]


def _gap(claim: Claim) -> dict[str, Any]:
    interval = claim.interval or claim.plain_interval
    return {
        "a": claim.conditions[0],
        "b": claim.conditions[1],
        "measure": claim.measure,
        "delta": claim.estimate,
        "interval": None if interval is None else interval.to_dict(),
        "floor": None,
        "smallest_visible": claim.could_show,
        "margin": claim.margin,
        "verdict": claim.verdict.value,
        "n": claim.n,
        "labels_needed": claim.needed,
        "labels_needed_for": claim.needed_for,
    }
