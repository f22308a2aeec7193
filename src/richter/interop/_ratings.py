"""Ratings from a file: a ratings table, or a scores table with its two judges' columns."""

import dataclasses
from pathlib import Path

import polars as pl

from richter.errors import InputError
from richter.interop._files import read_frame
from richter.interop._tables import read_table
from richter.records import Rating

__all__ = ["RatingsFile", "read_ratings"]

KINDS = ("human", "judge", "rule")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RatingsFile:
    """Ratings, and the columns beside them that say how to group them and how answers were drawn for rating."""

    ratings: tuple[Rating, ...]
    domains: dict[str, str]  # item -> domain
    strata: dict[tuple[str, str, int], str]  # (item, condition, draw) -> stratum of the label sample


def read_ratings(path: str | Path) -> RatingsFile:
    """Read a ratings table, or the `judge_1` and `judge_2` columns of a scores table as judge ratings.

    An empty severity is a rater that failed to give one. Optional columns: `draw`, `mechanism`, `reason`, `domain`,
    `stratum`; in a scores table `judge_1_name` and `judge_2_name`.
    """
    columns = read_frame(path).columns
    if "rater" not in columns and {"judge_1", "judge_2"} <= set(columns):
        frame = _judge_columns(read_table(path, "scores"))
    else:
        frame = read_table(path, "ratings")
    wrong = frame.filter(pl.col("kind").is_null() | ~pl.col("kind").is_in(KINDS))
    if not wrong.is_empty():
        raise InputError(
            f"{path}: kind {wrong['kind'][0]!r} is not one of {', '.join(KINDS)}.", remedy="Say who rated in `kind`."
        )
    for column, default in (("draw", 0), ("mechanism", ""), ("reason", "")):
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(default).alias(column))
    frame = frame.with_columns(
        pl.col("draw").cast(pl.Int64), pl.col("mechanism", "reason").cast(pl.String).fill_null("").str.strip_chars()
    )
    names = ("item", "condition", "rater", "kind", "severity", "draw", "mechanism", "reason")
    ratings = tuple(Rating(**row) for row in frame.select(names).iter_rows(named=True))
    domains: dict[str, str] = {}
    if "domain" in frame.columns:
        domains = dict(frame.filter(pl.col("domain").is_not_null()).select("item", "domain").iter_rows())
    strata: dict[tuple[str, str, int], str] = {}
    if "stratum" in frame.columns:
        marked = frame.filter(pl.col("stratum").is_not_null()).with_columns(pl.col("stratum").cast(pl.String))
        strata = {(i, c, d): s for i, c, d, s in marked.select("item", "condition", "draw", "stratum").iter_rows()}
    return RatingsFile(ratings=ratings, domains=domains, strata=strata)


def _judge_columns(frame: pl.DataFrame) -> pl.DataFrame:
    keep = [c for c in ("domain", "stratum") if c in frame.columns]
    parts = []
    for column in ("judge_1", "judge_2"):
        name = pl.col(f"{column}_name").cast(pl.String) if f"{column}_name" in frame.columns else pl.lit(column)
        part = frame.select("item", "condition", *keep, name.alias("rater"), pl.col(column).alias("severity"))
        parts.append(part.with_columns(pl.lit("judge").alias("kind")))
    return pl.concat(parts).filter(pl.col("rater").is_not_null())
