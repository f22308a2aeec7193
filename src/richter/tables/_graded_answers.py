"""Answers with the grades that every command uses, as a table that reads back as the same data."""

import msgspec
import polars as pl

from richter.interop import EXPORTS
from richter.store import Ledger
from richter.tables._kept_facts import FACTS_COLUMN, facts_of
from richter.tables._tables import KEY, Dataset, judges_of

__all__ = ["answers_table", "graded_answers"]

# a column of the dataset and its name in the table: a listed one, so that the table is read at once
_GRADES = {
    "correct": "correct", "score": "score", "severity": "severity", "confidence": "confidence", "refused": "refused",
    "human": "human", "layer": "stratum", "inclusion": "inclusion", "group": "group", "group_2": "group_2",
    "weight": "weight", "run": "run", "shown_first": "shown_first", "cluster": "cluster",
    "clustered_by": "clustered_by", "human_cluster": "human_cluster", "token_probability": "token_probability",
}  # fmt: skip
_ANSWERS = {"text": "answer"} | {
    name: name
    for name in ("domain", "tier", "error", "finish", "tokens_in", "tokens_out", "money_usd", "latency_s", "steps",
                 "failed_calls")
}  # fmt: skip


def graded_answers(ledger: Ledger, dataset: Dataset) -> pl.DataFrame:
    """A run's answers with their grades, severities, confidences and labels; columns without a value are left out."""
    return _with_grades(EXPORTS["answers"](ledger), dataset)


def answers_table(dataset: Dataset) -> pl.DataFrame:
    """The same of any other data."""
    answers = dataset.answers.select(*KEY, *(pl.col(name).alias(new) for name, new in _ANSWERS.items()))
    texts = [
        (name, item, own[item].prompt or None, own[item].reference or None)
        for name, own in dataset.asked.items()
        for item in own
    ]
    names = dict.fromkeys(("condition", "item", "prompt", "reference"), pl.String)
    asked = pl.DataFrame(texts, schema=names, orient="row")
    answers = answers.join(asked, on=["item", "condition"], how="left", maintain_order="left")
    return _with_grades(_without_empty(answers), dataset)


def _with_grades(answers: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """Answers with all that is known of each, a row for every rating where raters gave severities."""
    graded = dataset.rows.select(*KEY, *(pl.col(name).alias(new) for name, new in _GRADES.items()))
    if dataset.metric == "accuracy":
        graded = graded.drop("score") if dataset.scored_by else graded.drop("score", "correct")
    judges = ", ".join(judges_of(dataset, dataset.metric)) if dataset.metric and dataset.scored_by else ""
    if judges:
        graded = graded.with_columns(graded_by=pl.lit(judges))
    for name in dataset.measures:
        values = dataset.scores.filter(pl.col("metric") == name).select(*KEY, pl.col("value").alias(name))
        graded = graded.join(values, on=KEY, how="left", maintain_order="left")
    graded = _without_empty(_with_raters(graded, dataset))
    answers = answers.join(graded, on=KEY, how="left", maintain_order="left")
    order = {name: place for place, name in enumerate(dataset.conditions)}  # a table's first rows name its baseline
    answers = answers.sort(pl.col("condition").replace_strict(order, default=len(order)), maintain_order=True)
    facts = facts_of(dataset)
    first = msgspec.json.encode(facts).decode()
    each = msgspec.json.encode(msgspec.structs.replace(facts, notes=[])).decode()
    column = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(first)).otherwise(pl.lit(each))
    return answers.with_columns(column.alias(FACTS_COLUMN))


def _with_raters(graded: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """The grades with each rater's own severities: those of people beside a table's own column as their mean."""
    rated = dataset.ratings.filter(pl.col("severity").is_not_null(), pl.col("kind") != "given")
    people = rated.filter(pl.col("kind") == "human")
    drawn = people.group_by(KEY).agg(pl.col("severity").mean().alias("human_severity"), pl.col("inclusion").max())
    graded = graded.join(drawn, on=KEY, how="left", maintain_order="left")
    graded = graded.with_columns(pl.coalesce("inclusion", "inclusion_right").alias("inclusion")).drop("inclusion_right")
    if rated.is_empty() or dataset.counting == "given":
        return graded
    names = ("rater", "kind", "severity", "mechanism")
    graded = graded.drop("severity", "human_severity")
    return graded.join(rated.select(*KEY, *names), on=KEY, how="left", maintain_order="left")


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame without columns that hold no value."""
    return frame.drop(c for c in frame.columns if c not in KEY and frame[c].null_count() == frame.height)
