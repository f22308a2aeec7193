"""Rates per million as people would rate them: judge scores on all answers, corrected by human labels on some."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError
from richter.records import Interval
from richter.severity._deployment import MILLION, DeploymentRow, DeploymentTable
from richter.severity._grid import LEVELS, snap
from richter.stats import ppi_rate

__all__ = ["human_corrected_table"]


def human_corrected_table(
    severity: ArrayLike, human: ArrayLike, *, strata: ArrayLike | None = None, level: float = 0.95
) -> DeploymentTable:
    """`deployment_table` for human severity: `severity` as judged, `human` the label or NaN, answer by answer.

    At every severity the rate is `stats.ppi_rate`'s: labels weighed by the strata in which they were drawn, Jeffreys'
    limits for both sides together and Clopper and Pearson's for one alone. What judges miss and what they overcall
    both reach the limits. `strata` names the stratum that each answer's label was drawn from; without it labels are
    taken as a simple random sample.
    """
    judged, labels = np.asarray(severity, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if judged.shape != labels.shape:
        raise InputError(f"{labels.size} labels for {judged.size} answers.", remedy="Give NaN where there is none.")
    rated = snap(judged) >= 0
    judge_level = LEVELS[snap(judged[rated])]
    label_index = snap(labels[rated], name="human")
    label_level = np.where(label_index < 0, np.nan, LEVELS[label_index])
    groups = None if strata is None else np.asarray(strata)[rated]
    rows = []
    for k in range(1, 9):
        threshold = float(LEVELS[k])
        both = ppi_rate(label_level, judge_level, threshold, strata=groups, level=level)
        top, bottom = (
            ppi_rate(label_level, judge_level, threshold, strata=groups, level=level, side=side).interval
            for side in ("upper", "lower")
        )
        rows.append(
            DeploymentRow(
                severity=threshold,
                count=int(np.sum(label_level >= threshold)),
                n=both.n_labelled,
                per_million=both.estimate * MILLION if both.estimate > 0 else None,
                interval=Interval(
                    low=both.interval.low * MILLION,
                    high=both.interval.high * MILLION,
                    level=level,
                    method=both.interval.method,
                ),
                upper=top.high * MILLION,
                lower=bottom.low * MILLION,
            )
        )
    labelled = int(np.sum(~np.isnan(label_level)))
    # rates fall with severity but each row is estimated alone: make the limits agree by widening, never narrowing
    upper = np.maximum.accumulate([r.upper for r in rows][::-1])[::-1]
    lower = np.minimum.accumulate([r.lower for r in rows])
    rows = [dataclasses.replace(r, upper=float(u), lower=float(w)) for r, u, w in zip(rows, upper, lower, strict=True)]
    return DeploymentTable(
        rows=tuple(rows),
        n=int(rated.sum()),
        level=level,
        uncovered=0.0,
        uncovered_strata=(),
        weighted=False,
        basis=f"corrected by {labelled} human labels",
    )
