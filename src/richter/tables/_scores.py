"""Severities as a table for people and other tools: one row a rated answer."""

import polars as pl

from richter.errors import InputError
from richter.tables._tables import Tables, severity_of

__all__ = ["scores_table"]


def scores_table(tables: Tables) -> pl.DataFrame:
    """`item`, `condition`, `severity`, `domain`, `tier` of first answers, and two raters' own where there are two."""
    first = tables.first_draws()
    found = severity_of(first).drop("draw", "raters")
    if found.is_empty():
        raise InputError(f"{tables.name} holds no severities.", remedy="Run `richter judge` or `richter label` first.")
    own = first.answers.select("item", "condition", "domain", pl.col("tier").cast(pl.Int64, strict=False))
    found = found.join(own, on=("item", "condition"), how="left", maintain_order="left")
    ratings = first.ratings.filter(pl.col("kind") == tables.counting)
    ratings = ratings.with_columns(pl.int_range(pl.len()).over("item", "condition").alias("place"))
    for place in (0, 1) if (ratings["place"] > 0).any() else ():
        name = f"judge_{place + 1}"
        of = ratings.filter(pl.col("place") == place).select(
            "item", "condition", pl.col("severity").alias(name), pl.col("rater").alias(f"{name}_name")
        )
        found = found.join(of, on=("item", "condition"), how="left", maintain_order="left")
    return found
