"""The three numbers that matter for each condition (how often, how badly, does it know), and where it fails."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import hypergeom
from scipy.stats import t as student

from richter.audit._calibration import CalibrationReport
from richter.audit._calibration_sentence import calibration_result
from richter.audit._compare_severity import CATASTROPHIC
from richter.audit._measure_run import RunRecords
from richter.records import Interval
from richter.stats import benjamini_hochberg, clopper_pearson, wilson

__all__ = ["SIMULATED", "measure_conditions"]

SIMULATED = "simulated/"  # models of this provider are no models
LEAST = 10  # items in a pattern, inside and outside
PATTERNS = 10

Floats = NDArray[np.float64]


def measure_conditions(
    records: RunRecords,
    *,
    draws: CalibrationReport | None,
    grades: CalibrationReport | None,
    level: float,
) -> list[dict[str, Any]]:
    """One row a condition. What cannot be had is None, never 0."""
    parts = {str(name): part for (name,), part in records.scores.group_by("condition", maintain_order=True)}
    knows = _knows(grades, "", records) | _knows(draws, "agreement with itself over draws", records)
    rows = []
    for condition in records.conditions:
        asked, part = records.asked[condition.name], parts.get(condition.name)
        severity = np.empty(0) if part is None else part["severity"].to_numpy()
        rows.append(
            {
                "name": condition.name,
                "model": condition.model,
                "decoding": condition.decoding.to_dict(),
                "system": condition.system,
                "style": condition.style,
                "items": len(records.items),
                "answered": asked.answered,
                "failed": asked.failed,
                "refused": asked.refused,
                "rated": len(severity),
                "simulated": condition.model.startswith(SIMULATED),
                "spent": asked.spent(),
                "how_often": _rate(severity > 0, "error rate", level) if len(severity) else None,
                "how_badly": _badly(severity, level) if len(severity) else None,
                "knows": knows.get(condition.name),
                "where": [] if part is None else _where(part, records, level),
            }
        )
    return rows


def _rate(event: NDArray[np.bool_], what: str, level: float) -> dict[str, Any]:
    """A share with Wilson's interval; with none seen the exact one-sided upper limit, as zero seen is a bound."""
    n, k = len(event), int(np.sum(event))
    interval = wilson(k, n, level=level) if k else clopper_pearson(0, n, level=level, side="upper")
    return {"estimate": k / n, "interval": interval.to_dict(), "n": n, "what": what}


def _badly(severity: Floats, level: float) -> dict[str, Any]:
    rate = _rate(severity >= CATASTROPHIC, f"rate of severity >= {CATASTROPHIC:g}", level)
    n, mean = len(severity), float(np.mean(severity))
    span: Interval | None = None
    if n > 1:
        half = float(student.ppf(0.5 + level / 2, n - 1)) * float(np.std(severity, ddof=1)) / math.sqrt(n)
        span = Interval(low=max(mean - half, 0.0), high=min(mean + half, 4.0), level=level, method="student t")
    what = "mean severity of all answers, 0 where correct"
    return rate | {
        "mean": {"estimate": mean, "interval": None if span is None else span.to_dict(), "n": n, "what": what}
    }


def _knows(report: CalibrationReport | None, what: str, records: RunRecords) -> dict[str, dict[str, Any]]:
    """Debiased ECE by condition; of a grades report the confidence is what the answers themselves carry."""
    found = {}
    for condition in () if report is None else report.conditions:
        result = calibration_result(condition)
        if result is None or condition.name not in records.asked:
            continue
        source = what or records.asked[condition.name].confidence[1]
        found[condition.name] = {
            "estimate": result.debiased,
            "interval": result.interval.to_dict(),
            "n": result.n,
            "what": f"ECE, debiased; {source}",
        }
    return found


def _where(part: pl.DataFrame, records: RunRecords, level: float) -> list[dict[str, Any]]:
    """Error rates by domain and tier, and pairs of attributes that fail more than the rest; surely worst first.

    Ordered by the lower end of the interval: a rate of 100% in two items is not the worst that is known.
    """
    wrong = part["severity"].to_numpy() > 0
    attributes = [_attributes(records, item) for item in part["item"].to_list()]
    rows = []
    for kind in ("domain", "tier"):
        for value, mask in _groups([(a[kind],) if kind in a else None for a in attributes]).items():
            rows.append(_group(f"tier {value[0]}" if kind == "tier" else value[0], kind, wrong[mask], level))
    rows += _patterns(wrong, attributes, level)
    return sorted(rows, key=lambda row: (-row["interval"]["low"], -row["n"], row["kind"], row["group"]))


def _group(name: str, kind: str, wrong: NDArray[np.bool_], level: float) -> dict[str, Any]:
    rate = _rate(wrong, "", level)
    return {"group": name, "kind": kind, "error_rate": rate["estimate"], "interval": rate["interval"], "n": rate["n"]}


def _attributes(records: RunRecords, item_id: str) -> dict[str, str]:
    item = records.items[item_id]
    pairs = {"domain": item.domain, "tier": "" if item.tier is None else str(item.tier), "form": item.form}
    return {name: value for name, value in pairs.items() if value}


def _groups(values: Sequence[tuple[str, ...] | None]) -> dict[tuple[str, ...], NDArray[np.intp]]:
    rows: dict[tuple[str, ...], list[int]] = {}
    for i, value in enumerate(values):
        if value is not None:
            rows.setdefault(value, []).append(i)
    return {value: np.array(places, dtype=np.intp) for value, places in sorted(rows.items())}


def _patterns(wrong: NDArray[np.bool_], attributes: Sequence[Mapping[str, str]], level: float) -> list[dict[str, Any]]:
    """Two attributes together whose items fail more than all others.

    The hypergeometric test is the exact form of permuting the errors over the items; all groups are judged together by
    Benjamini-Hochberg.
    """
    names = sorted({name for row in attributes for name in row})
    alone = Counter((name, value) for row in attributes for name, value in row.items())
    groups = [
        (pair, value, places)
        for pair in itertools.combinations(names, 2)
        for value, places in _groups(
            [tuple(row[name] for name in pair) if all(n in row for n in pair) else None for row in attributes]
        ).items()
        if LEAST <= len(places) <= len(wrong) - LEAST
        and len(places) < min(alone[one] for one in zip(pair, value, strict=True))  # else one attribute says it all
    ]
    if not groups:
        return []
    size = np.array([len(places) for _, _, places in groups])
    errors = np.array([int(wrong[places].sum()) for _, _, places in groups])
    p = hypergeom.sf(errors - 1, len(wrong), int(wrong.sum()), size)
    kept = [
        _group(", ".join(f"{n} {v}" for n, v in zip(pair, value, strict=True)), "pattern", wrong[places], level)
        for (pair, value, places), q in zip(groups, benjamini_hochberg(p), strict=True)
        if q <= 1 - level
    ]
    return sorted(kept, key=lambda row: -row["interval"]["low"])[:PATTERNS]
