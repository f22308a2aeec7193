"""A scores table as the arrays that the room `severity` works on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.errors import InputError
from richter.interop._frames import Source, source_name
from richter.interop._logs import is_log, read_logs
from richter.interop._run import RatingKind, run_ratings
from richter.interop._tables import check_table, read_table
from richter.records import printable
from richter.store import DatabaseRun, is_run, run_place

if TYPE_CHECKING:
    from richter.severity import Scores

__all__ = ["read_scores"]


def read_scores(
    source: Source, *, scale: tuple[float, float] | None = None, ratings: RatingKind | None = None
) -> Scores:
    """Read a scores table (`item`, `condition`, `severity`; `domain`, `tier`, `judge_1`, ... where given), or a run.

    `scale=(low, high)` maps a scale that runs from low (correct) to high (worst) onto 0..4. A severity off the scale
    is refused with its row; an empty one is an answer not rated. Items and conditions keep the order of the file.
    `ratings` says which kind of a run's ratings counts where it holds several.
    """
    from richter.severity import Scores, rescale  # here, since it loads numba, which other tables need not wait for

    path, frame = source_name(source), _scores_frame(source, ratings)
    columns = [c for c in ("severity", "judge_1", "judge_2") if c in frame.columns]
    if scale is not None:
        to_grid = rescale(*scale)
        frame = frame.with_columns(pl.Series(c, to_grid(frame[c].to_numpy()), nan_to_null=True) for c in columns)
    for column in columns:
        off = frame.select(pl.arg_where((pl.col(column) < 0) | (pl.col(column) > 4))).to_series()
        if len(off):
            shown = ", ".join(f"data row {r + 1}: {frame[column][r]:g}" for r in off.head(3).to_list())
            raise InputError(
                f"{path}: {len(off)} {column} value{'s' * (len(off) > 1)} off the 0..4 scale ({shown}"
                f"{', …' * (len(off) > 3)}).",
                remedy="Severities run from 0 (correct) to 4; map another scale with --scale LOW:HIGH.",
            )
    if frame["severity"].null_count() == len(frame):
        raise InputError(f"{path}: no row has a severity.", remedy="Rate at least one answer.")
    items = frame["item"].unique(maintain_order=True)
    conditions = frame["condition"].unique(maintain_order=True)
    row = _positions(frame["item"], items)
    column_of = _positions(frame["condition"], conditions)

    def grid(name: str) -> NDArray[np.float64]:
        out = np.full((len(items), len(conditions)), np.nan)
        out[row, column_of] = frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return out

    def text_grid(name: str) -> NDArray[np.str_]:
        values = frame[name].cast(pl.String).fill_null("").to_numpy().astype(np.str_)
        out = np.full((len(items), len(conditions)), "", dtype=values.dtype)
        out[row, column_of] = values
        return out

    both = {"judge_1", "judge_2"} <= set(frame.columns)
    named = {"judge_1_name", "judge_2_name"} <= set(frame.columns)
    return Scores(
        items=tuple(items.to_list()),
        conditions=tuple(conditions.to_list()),
        severity=grid("severity"),
        domain=_per_item(path, frame, "domain", row, len(items)),
        tier=_tiers(path, _per_item(path, frame, "tier", row, len(items))),
        judges=np.stack([grid("judge_1"), grid("judge_2")]) if both else None,
        judge_names=np.stack([text_grid("judge_1_name"), text_grid("judge_2_name")]) if both and named else None,
        length=grid("length") if "length" in frame.columns and frame.schema["length"].is_numeric() else None,
    )


def _scores_frame(source: Source, ratings: RatingKind | None) -> pl.DataFrame:
    """A scores table, a run's ratings, or a log's severities; of several draws the first."""
    if not isinstance(source, str | Path | DatabaseRun):
        return read_table(source, "scores")
    path = run_place(source)
    if not isinstance(path, Path) or is_run(path):
        frame = run_ratings(path, ratings=ratings)
    elif is_log(path) or path.is_dir():
        frame = read_logs([path]).grades()
        if "severity" not in frame.columns:
            raise InputError(
                f"{path} holds no severities.",
                remedy="Import it with --scale, which says what its scores mean, or rate its answers: richter judge",
            )
        frame = frame.rename({"subject": "domain"}).select("item", "condition", "draw", "severity", "domain")
    else:
        return read_table(path, "scores")
    return check_table(frame.filter(pl.col("draw") == 0).drop("draw"), "scores", str(path))


def _positions(values: pl.Series, unique: pl.Series) -> NDArray[np.int64]:
    order = pl.DataFrame({"key": unique, "at": np.arange(len(unique))})
    return pl.DataFrame({"key": values}).join(order, on="key", how="left", maintain_order="left")["at"].to_numpy()


def _per_item(
    path: str | Path, frame: pl.DataFrame, column: str, row: NDArray[np.int64], size: int
) -> NDArray[np.str_] | None:
    """An item's domain or tier as text; two different ones for one item are refused."""
    if column not in frame.columns:
        return None
    values = frame[column].cast(pl.String).fill_null("").str.strip_chars().to_numpy().astype(np.str_)
    out = np.full(size, "", dtype=values.dtype)
    out[row] = values
    clash = np.flatnonzero(out[row] != values)
    if len(clash):
        item = printable(frame["item"][int(clash[0])], limit=40)
        raise InputError(
            f"{path}: item {item!r} has two different values of {column} (data row {clash[0] + 1}).",
            remedy=f"Give an item one {column}.",
        )
    return out


def _tiers(path: str | Path, text: NDArray[np.str_] | None) -> NDArray[np.int64] | None:
    if text is None or not np.any(text != ""):
        return None
    try:
        return np.array([int(float(t.lstrip("Tt"))) if t else 0 for t in text])
    except ValueError as error:
        bad = next(t for t in text if not t.lstrip("Tt").replace(".", "", 1).isdigit())
        raise InputError(f"{path}: the tier {bad!r} is not a number.", remedy="Tiers run from 1 to 5.") from error
