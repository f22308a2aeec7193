"""The section on the tail: the protocol on a continuous column of RUN/scores.csv, with its scan and QQ points."""

import contextlib
from collections.abc import Mapping
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
from richter.store import run_file
from richter.tail import stability_scan, transform_scores

SCORES = "scores.csv"
PREFERRED = ("nll", "toxicity")
NOT_TAILS = {"item", "condition", "severity", "domain", "tier", "judge_1", "judge_2", "length", "draw"}
QQ_POINTS = 200

Floats = NDArray[np.float64]


def tail_column(records: RunRecords, plan: Plan | None) -> str | None:
    """The column whose tail is studied: the plan's, else nll, else toxicity, else the first other numeric one."""
    path = None if records.place is None else run_file(records.place, SCORES)
    if path is None:
        return None
    schema = read_frame(path).schema
    numeric = [name for name, kind in schema.items() if kind.is_numeric() and name not in NOT_TAILS]
    planned = str(plan.values["column"]) if plan is not None and plan.kind == "tail" else ""
    wanted = (planned, *PREFERRED, *numeric)
    return next((name for name in wanted if name in numeric), None)


def study_tail(
    records: RunRecords, column: str, *, plan: Plan | None, status: PlanStatus | None, n_resamples: int, seed: int
) -> TailReport:
    """`richter tail test` on the column."""
    assert records.folder is not None  # `tail_column` found it there
    path = records.folder / SCORES
    if plan is not None and plan.kind == "tail":
        return study_column(path, column=column, plan_path=plan.path, status=status)
    return study_column(path, column=column, overrides={"n_resamples": n_resamples}, status=status, seed=seed)


def tail_section(report: TailReport, plan: Plan | None) -> dict[str, Any]:
    """The study as `richter tail test --json` prints it, and the rows that its figures draw."""
    study = report.to_dict() | {"file": Path(report.file).name}
    del study["stability"]  # empty: the scan is beside it, as rows
    values = _transformed(report, {} if plan is None or plan.kind != "tail" else plan.values, plan)
    return {"column": report.column, "study": study, "stability": _scan(values), "qq": _qq(report, values)}


def _transformed(report: TailReport, fields: Mapping[str, Any], plan: Plan | None) -> dict[str, Floats]:
    """Each condition's severities on the scale of the study; `fields` are those of a tail plan."""
    if not report.study.path:  # no continuous tail: nothing was transformed
        return {}
    frame, used = read_frame(report.file), report.study.plan
    sign = -1.0 if fields.get("lower_is_worse") else 1.0
    found = {}
    for name in report.study.conditions:
        own = frame.filter(pl.col("condition") == name) if "condition" in frame.columns else frame
        own = own.with_columns(pl.col(report.column).cast(pl.Float64, strict=False).fill_nan(None))
        own = own.drop_nulls(report.column)
        if plan is not None and fields.get("items_per_condition"):
            kept = plan.order(own["item"].cast(pl.String).to_list())[: fields["items_per_condition"]]
            own = own.filter(pl.col("item").cast(pl.String).is_in(kept))
        raw = sign * own[report.column].to_numpy()
        found[name] = transform_scores(raw, report.study.transform, bounds=used.bounds, clip=used.clip).values
    return found


def _scan(values: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """The shape over thresholds, of conditions with enough values for it (200 exceedances)."""
    rows = []
    for name, x in values.items():
        with contextlib.suppress(TooFewErrors):
            rows += [
                {
                    "condition": name,
                    "q": point.q,
                    "threshold": point.threshold,
                    "n_exc": point.n_exc,
                    "xi": point.xi,
                    "low": point.interval.low,
                    "high": point.interval.high,
                }
                for point in stability_scan(x).points
            ]
    return rows


def _qq(report: TailReport, values: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """Observed exceedances against the quantiles of the fitted GPD, at most 200 a condition, the largest always in.

    The i-th smallest of n is set against the quantile at (i - 1/2) / n.
    """
    rows = []
    for name, tail in report.study.conditions.items():
        if tail.fit is None:
            continue
        x = values[name]
        above = np.sort(x[x > tail.threshold]) - tail.threshold
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
