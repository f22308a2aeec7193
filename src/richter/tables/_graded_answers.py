"""Answers with the grades that every command uses, as a table that reads back as the same data."""

import polars as pl

from richter.interop import EXPORTS
from richter.store import Ledger
from richter.tables._tables import KEY, Dataset, judges_of

__all__ = ["graded_answers"]

# a column of the dataset and its name in the table: a listed one, so that the table is read at once
_GRADES = {
    "correct": "correct", "score": "score", "severity": "severity", "confidence": "confidence", "refused": "refused",
    "human": "human", "layer": "stratum", "inclusion": "inclusion", "group": "group", "weight": "weight", "run": "run",
}  # fmt: skip


def graded_answers(ledger: Ledger, dataset: Dataset) -> pl.DataFrame:
    """A run's answers with their grades, severities, confidences and labels; columns without a value are left out."""
    graded = dataset.rows.select(*KEY, *(pl.col(name).alias(new) for name, new in _GRADES.items()))
    if dataset.metric == "accuracy":
        graded = graded.drop("score")
    judges = ", ".join(judges_of(dataset, dataset.metric)) if dataset.metric else ""
    if judges:
        graded = graded.with_columns(graded_by=pl.lit(judges))
    if dataset.counting != "human":  # else people's severities are the column of severities
        people = dataset.ratings.filter(pl.col("kind") == "human", pl.col("severity").is_not_null())
        means = people.group_by(KEY).agg(pl.col("severity").mean().alias("human_severity"))
        graded = graded.join(means, on=KEY, how="left", maintain_order="left")
    empty = [c for c in graded.columns if c not in KEY and graded[c].null_count() == graded.height]
    answers = EXPORTS["answers"](ledger).join(graded.drop(empty), on=KEY, how="left", maintain_order="left")
    order = {name: place for place, name in enumerate(dataset.conditions)}  # a table's first rows name its baseline
    return answers.sort(pl.col("condition").replace_strict(order, default=len(order)), maintain_order=True)
