"""The small inputs of `richter severity`: a scale, costs, a traffic mix."""

import numpy as np
import polars as pl

from richter.errors import InputError
from richter.interop import read_frame
from richter.records import printable
from richter.severity import Scores, Traffic

__all__ = ["parse_costs", "parse_scale", "read_traffic"]


def parse_scale(text: str | None) -> tuple[float, float] | None:
    """Read LOW:HIGH, the correct and the worst end of a scale."""
    if text is None:
        return None
    low, colon, high = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return float(low), float(high)
    except ValueError as error:
        raise InputError(
            f"--scale {printable(text, limit=40)} is not LOW:HIGH.", remedy="As --scale 0:100, correct end first."
        ) from error


def parse_costs(texts: tuple[str, ...]) -> dict[float, float]:
    """Read LEVEL=COST, several times."""
    out = {}
    for text in texts:
        level, equals, cost = text.partition("=")
        try:
            if not equals:
                raise ValueError
            out[float(level)] = float(cost)
        except ValueError as error:
            raise InputError(
                f"--cost {printable(text, limit=40)} is not LEVEL=COST.", remedy="As --cost 3=2000."
            ) from error
    return out


def read_traffic(path: str, scores: Scores) -> Traffic:
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
    return Traffic(shares=dict(zip(labels, shares.to_list(), strict=True)), strata=strata)
