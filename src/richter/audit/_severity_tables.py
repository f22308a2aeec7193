"""The small tables beside severities: a traffic mix, the judges' errors, and the sizes of models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from richter import severity as sev
from richter.errors import InputError
from richter.interop import read_frame
from richter.stats import Floats


def read_traffic(path: str | Path, scores: sev.Scores) -> sev.Traffic:
    """Read a mix: `share` per `domain`, per `tier`, or per both; matched to the items by these columns."""
    frame = read_frame(path)
    keys = [c for c in ("domain", "tier") if c in frame.columns]
    if "share" not in frame.columns or not keys:
        raise InputError(
            f"{path}: a traffic mix needs `share` and `domain` or `tier`; it has {', '.join(frame.columns)}.",
            remedy="Give one row per stratum of your traffic.",
        )
    parts = []
    for key in keys:
        values = scores.domain if key == "domain" else scores.tier
        if values is None:
            raise InputError(f"The scores have no `{key}`, by which {path} weights.", remedy=f"Add a {key} column.")
        parts.append(values.astype(np.str_))
    strata = [" / ".join(p) for p in zip(*parts, strict=True)]
    shares = frame["share"].cast(pl.Float64, strict=False)
    if shares.null_count() or not shares.is_finite().all() or (shares < 0).any():
        raise InputError(f"{path}: a share is empty, negative or not a number.", remedy="Shares are 0 or more.")
    names = frame.select(pl.concat_str([pl.col(k).cast(pl.String).str.strip_chars() for k in keys], separator=" / "))
    labels = names.to_series().fill_null("").to_list()
    if len(set(labels)) < len(labels):
        raise InputError(f"{path}: a stratum has two rows.", remedy="Give each stratum one share.")
    return sev.Traffic(shares=dict(zip(labels, shares.to_list(), strict=True)), strata=strata)


def read_judge_errors(path: str | Path) -> Floats:
    """A stated table of judges' errors: `true`, `judged`, `share`; levels that it leaves out are judged rightly."""
    frame = read_frame(path)
    missing = [c for c in ("true", "judged", "share") if c not in frame.columns]
    if missing:
        raise InputError(
            f"{path}: a table of judges' errors needs {', '.join(missing)}; it has {', '.join(frame.columns)}.",
            remedy="Give true, judged and share: how an answer of a true level is judged.",
        )
    columns = [frame[c].cast(pl.Float64, strict=False).to_numpy() for c in ("true", "judged", "share")]
    if any(np.isnan(c).any() for c in columns):
        raise InputError(f"{path}: a value is empty or not a number.", remedy="Levels are 0, 0.5, .. 4, shares 0..1.")
    true, judged = sev.snap(columns[0], name="true"), sev.snap(columns[1], name="judged")
    table = np.zeros((9, 9))
    np.add.at(table, (true, judged), columns[2])
    silent = table.sum(axis=1) == 0
    table[silent, silent] = 1.0
    return table
