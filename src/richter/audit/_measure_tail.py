"""The section on the tail: the protocol on a continuous column of RUN/scores.csv, with its scan and QQ points."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.audit._measure_run import RunRecords
from richter.audit._plan import Plan, PlanStatus
from richter.audit._tail import TailReport, study_column
from richter.errors import TooFewErrors
from richter.interop import read_frame
from richter.tail import transform_scores

__all__ = ["study_tail", "tail_column", "tail_section"]

SCORES = "scores.csv"
PREFERRED = ("nll", "toxicity")
NOT_TAILS = {"item", "condition", "severity", "domain", "tier", "judge_1", "judge_2", "length", "draw"}
QQ_POINTS = 200


def tail_column(records: RunRecords, plan: Plan | None) -> str | None:
    """The column whose tail is studied: the plan's, else nll, else toxicity, else the first other numeric one."""
    path = records.folder / SCORES
    if not path.exists():
        return None
    schema = read_frame(path).schema
    numeric = [name for name, kind in schema.items() if kind.is_numeric() and name not in NOT_TAILS]
    planned = str(plan.values["column"]) if plan is not None and plan.kind == "tail" else ""
    wanted = (planned, *PREFERRED, *numeric)
    return next((name for name in wanted if name in numeric), None)


def study_tail(
    records: RunRecords,
    column: str,
    *,
    plan: Plan | None,
    status: PlanStatus | None,
    n_resamples: int,
    seed: int,
) -> TailReport:
    """`richter tail test` on the column, with stability scans where the values suffice for them."""
    path = records.folder / SCORES
    options: dict[str, Any] = {"column": column, "status": status, "seed": seed}
    if plan is not None and plan.kind == "tail":
        options["plan_path"] = plan.path
    else:
        options["overrides"] = {"n_resamples": n_resamples}
    try:
        return study_column(path, scan=True, **options)
    except TooFewErrors:  # of the scan, which needs 200 exceedances; the study says itself what is too little
        return study_column(path, **options)


def tail_section(report: TailReport, plan: Plan | None) -> dict[str, Any]:
    """The study as `richter tail test --json` prints it, and the rows that its figures draw."""
    study = report.to_dict() | {"file": Path(report.file).name}
    scans = study.pop("stability")
    return {
        "column": report.column,
        "study": study,
        "stability": [
            {
                "condition": name,
                **{key: point[key] for key in ("q", "threshold", "n_exc", "xi")},
                "low": point["interval"]["low"],
                "high": point["interval"]["high"],
            }
            for name, scan in scans.items()
            for point in scan["points"]
        ],
        "qq": _qq(report, lower_is_worse=plan is not None and bool(plan.values.get("lower_is_worse"))),
    }


def _qq(report: TailReport, *, lower_is_worse: bool) -> list[dict[str, Any]]:
    """Observed exceedances against the quantiles of the fitted GPD, at most 200 a condition, the largest always in.

    The i-th smallest of n is set against the quantile at (i - 1/2) / n.
    """
    frame, plan = read_frame(report.file), report.study.plan
    sign = -1.0 if lower_is_worse else 1.0
    rows = []
    for name, tail in report.study.conditions.items():
        if tail.fit is None:
            continue
        own = frame.filter(pl.col("condition") == name) if "condition" in frame.columns else frame
        raw = own[report.column].cast(pl.Float64, strict=False).fill_nan(None).drop_nulls().to_numpy()
        values = transform_scores(sign * raw, report.study.transform, bounds=plan.bounds, clip=plan.clip).values
        above: NDArray[np.float64] = np.sort(values[values > tail.threshold]) - tail.threshold
        n = len(above)
        kept = np.unique(np.linspace(0, n - 1, min(n, QQ_POINTS)).round().astype(int))
        share = (kept + 0.5) / n
        xi, sigma = tail.fit.xi, tail.fit.sigma
        model = -sigma * np.log1p(-share) if abs(xi) < 1e-9 else sigma / xi * ((1 - share) ** -xi - 1)
        rows += [
            {"condition": name, "model": float(m), "observed": float(o)}
            for m, o in zip(model, above[kept], strict=True)
        ]
    return rows
