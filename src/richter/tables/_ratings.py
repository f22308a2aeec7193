"""Single ratings with what says how to group them, for agreement and for corrections by people."""

import dataclasses

import polars as pl

from richter.interop import Source
from richter.records import Rating
from richter.tables._read import read_tables
from richter.tables._tables import KEY, Tables

__all__ = ["RatingsFile", "ratings_of", "read_ratings"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RatingsFile:
    """Ratings, and what stands beside them that says how to group them and how answers were drawn for rating."""

    ratings: tuple[Rating, ...]
    domains: dict[str, str]  # item -> domain
    strata: dict[tuple[str, str, int], str]  # (item, condition, draw) -> stratum of the label sample


def read_ratings(source: Source) -> RatingsFile:
    """The ratings of any source: a table with `rater` and `severity`, judges' columns, a run, a log."""
    return ratings_of(read_tables(source))


def ratings_of(tables: Tables) -> RatingsFile:
    """Every rater's own rating; one without a severity is a rater that failed to give one."""
    names = [f.name for f in dataclasses.fields(Rating) if f.name in tables.ratings.columns]
    rows = tables.ratings.filter(pl.col("kind") != "given").select(names)
    rows = rows.with_columns(pl.col("mechanism", "reason").fill_null(""))
    answers = tables.answers
    layers = answers.filter(pl.col("layer").is_not_null()).select(*KEY, "layer") if "layer" in answers.columns else None
    return RatingsFile(
        ratings=tuple(Rating(**row) for row in rows.iter_rows(named=True)),
        domains=dict(answers.filter(pl.col("domain").is_not_null()).select("item", "domain").iter_rows()),
        strata={} if layers is None else {(i, c, d): layer for i, c, d, layer in layers.iter_rows()},
    )
