"""Severities answer by answer, with what people say of some: labels with their strata, weights, mechanisms."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from richter import severity as sev
from richter.errors import InputError
from richter.evidence import SeverityRows, outcomes_of, severity_rows
from richter.records import Rating, counted
from richter.stats import Floats, Indices, overcall_rate
from richter.tables import KEY, Dataset, RatingsFile, read_tables

__all__ = ["with_labels"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RatedAnswers:
    """Every draw's severity with what is known of it: conditions x rows (NaN: none), and what people say of some.

    `label` is the median of people's severities, `layer` the stratum that it was drawn from (-1: none known) or
    `chance` that with which it was (NaN: not known); None where nobody labels what others rated. `weights` say, by
    condition, what each answer counts for (its item's weight over the item's draws); None where all count alike.
    `groups` are the units.
    """

    rows: SeverityRows
    label: Floats | None
    layer: Indices | None
    chance: Floats | None
    label_fault: str
    weights: Mapping[str, Floats] | None

    @property
    def is_weighted(self) -> bool:
        """Whether items have weights of their own."""
        return self.rows.weight is not None

    @property
    def overcall_rate(self) -> float | None:
        """The share of judged 2.0s that people call harmless; None without labels on any."""
        if self.label is None:
            return None
        both = ~np.isnan(self.label) & ~np.isnan(self.rows.severity)
        if not both.any():
            return None
        return overcall_rate(sev.snap(self.rows.severity[both]) / 2, self.label[both]).estimate

    def arrays(self, name: str) -> dict[str, Any]:
        """One condition's severities with units, weights, labels and strata."""
        k = self.rows.conditions.index(name)
        return {
            "severity": self.rows.severity[k],
            "groups": self.rows.groups,
            "weights": None if self.weights is None else self.weights[name],
            "label": None if self.label is None else self.label[k],
            "layer": None if self.layer is None else self.layer[k],
            "chance": None if self.chance is None else self.chance[k],
        }


def rated_answers(tables: Dataset, *, trust_labels: bool = False) -> RatedAnswers:
    """Severities, labels, strata and weights of all draws, in the rows of `severity_rows`."""
    rows, rated = severity_rows(tables, False), outcomes_of(tables, "mean_severity")
    draw = 0 if rated.draw is None else rated.draw
    place = (rated.condition, rated.item * rows.width + draw)
    if rated.is_proxy:  # of answers without a label the grade stands there, which labels correct
        severity = np.full(rows.severity.shape, np.nan)
        severity[place] = rated.value
        rows = dataclasses.replace(rows, severity=severity)
    label = layer = chance = None
    if rated.label is not None and not np.isnan(rated.label).all() and (trust_labels or not rated.label_fault):
        label = np.full(rows.severity.shape, np.nan)
        label[place] = rated.label
        if rated.layer is not None:
            layer = np.full(rows.severity.shape, -1, dtype=np.intp)
            layer[place] = rated.layer
        if rated.chance is not None:
            chance = np.full(rows.severity.shape, np.nan)
            chance[place] = rated.chance
    return RatedAnswers(
        rows=rows, label=label, layer=layer, chance=chance, label_fault=rated.label_fault,
        weights=_answer_weights(rows),
    )  # fmt: skip


def _answer_weights(rows: SeverityRows) -> dict[str, Floats] | None:
    """What each answer counts for, by condition: its item's weight over its draws; None where all count alike."""
    has = ~np.isnan(rows.severity)
    draws = np.stack([np.bincount(rows.item, weights=own) for own in has])
    if rows.weight is None and all(len(np.unique(own[own > 0])) <= 1 for own in draws):
        return None
    weight = np.ones(len(rows.item)) if rows.weight is None else rows.weight
    return {
        name: np.where(own, weight / np.maximum(count[rows.item], 1), 0.0)
        for name, own, count in zip(rows.conditions, has, draws, strict=True)
    }


def with_labels(tables: Dataset, source: str | Path | RatingsFile) -> Dataset:
    """The same data with people's ratings of another file, the strata they were drawn from, and their chances.

    A rater's own rating of the same answer is replaced. Ratings of answers that the data do not hold are left out and
    counted.
    """
    ratings, design = _labels_of(source, tables)
    known = tables.answers.select(KEY)
    own = ratings.join(known, on=KEY, how="semi", maintain_order="left")
    lost = ratings.height - own.height
    if own.is_empty():
        raise InputError(
            f"None of the {counted(ratings.height, 'label')} is of an answer in {tables.name}.",
            remedy="Labels name items and conditions as the data do: item, condition, rater, kind, severity.",
        )
    before = tables.ratings.join(own, on=(*KEY, "rater", "kind"), how="anti", maintain_order="left")
    answers = tables.answers
    for column in ("layer", "inclusion"):
        new = design.filter(pl.col(column).is_not_null()).select(*KEY, pl.col(column).alias("new"))
        answers = answers.join(new, on=KEY, how="left", maintain_order="left")
        answers = answers.with_columns(pl.coalesce("new", column).alias(column)).drop("new")
    notes = (f"{counted(lost, 'label')} of answers that the data do not hold are left out.",) if lost else ()
    merged = pl.concat([before, own.select(before.columns)], how="vertical")
    return dataclasses.replace(tables, ratings=merged, answers=answers, notes=(*tables.notes, *notes))


def _labels_of(source: str | Path | RatingsFile, tables: Dataset) -> tuple[pl.DataFrame, pl.DataFrame]:
    """People's ratings, and the stratum and the chance of every answer that the source names."""
    if not isinstance(source, RatingsFile):
        found = read_tables(source)
        return found.ratings.filter(pl.col("kind") == "human"), found.answers.select(*KEY, "layer", "inclusion")
    people = [r for r in source.ratings if r.kind == "human"]
    columns = ("item", "condition", "draw", "rater", "kind", "severity", "mechanism", "reason")
    rows = [(*(getattr(r, c) for c in columns), None) for r in people]
    schema = dict(tables.ratings.schema)
    ratings = pl.DataFrame(rows, schema={c: schema[c] for c in (*columns, "inclusion")}, orient="row")
    layers = [(*key, stratum, None) for key, stratum in source.strata.items()]
    types = {c: schema[c] for c in KEY} | {"layer": pl.String, "inclusion": pl.Float64}
    return ratings, pl.DataFrame(layers, schema=types, orient="row")


def mechanisms_named(ratings: Sequence[Rating], kind: str | None) -> dict[tuple[str, str], tuple[str, float]]:
    """By item and condition the mechanism that most raters of a kind named for a wrong first answer, and their mean
    severity; an empty name where two were named as often.
    """
    given: dict[tuple[str, str], list[Rating]] = defaultdict(list)
    for rating in ratings:
        if rating.kind == kind and rating.draw == 0 and rating.mechanism and rating.severity:
            given[rating.item, rating.condition].append(rating)
    found = {}
    for key, own in given.items():
        first, *second = Counter(r.mechanism for r in own).most_common(2)
        clear = not second or first[1] > second[0][1]
        found[key] = first[0] if clear else "", float(np.mean([r.severity for r in own if r.severity is not None]))
    return found
