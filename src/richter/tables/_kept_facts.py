"""What data say of themselves beside their rows, kept with a run and in every table that is written of them."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import polars as pl

from richter.claims import METRICS
from richter.errors import InputError
from richter.records import Item, Note, RatingKind
from richter.tables._part import GROUPINGS, Part
from richter.tables._tables import KEY, Dataset, ReadOptions

FACTS_COLUMN = "richter_facts"  # of a table that Richter wrote: the facts in every row, the notes in the first
# of every answer, and not of its ledger: that has no column for them
ANSWER_COLUMNS = ("run", "group_2", "human", "inclusion", "layer", "shown_first", "refused", "cluster", "clustered_by",
                  "human_cluster", "token_probability", "steps", "failed_calls")  # fmt: skip


class KeptFacts(msgspec.Struct, omit_defaults=True):
    """Who graded by which score, on what scale, which measures there are, and the notes of reading with their kinds.

    `real`: the scale has no known ends. `ratings`: whose severities count, where somebody said it. `asked`: the texts
    of questions that a condition has otherwise than the run's items. `answers`: the columns of answers, and a row for
    each that has a value: its key and the values.
    """

    score: str = ""
    measure: str = ""
    scale: tuple[float, float] | None = None
    better: Literal["higher", "lower"] | None = None
    real: bool = False
    ratings: RatingKind | None = None
    graded_by: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    is_confirmed: bool = True
    notes: list[tuple[str, str]] = []
    asked: dict[str, dict[str, str]] = {}
    columns: tuple[str, ...] = ()
    answers: list[tuple[Any, ...]] = []


def facts_of(tables: Dataset) -> KeptFacts:
    """What the data say of themselves, without what is said of single answers."""
    main = tables.scores.head(1).to_dicts()
    facts = KeptFacts(
        score=", ".join(tables.scored_by), graded_by=tables.graded_by, measures=tables.measures,
        is_confirmed=tables.is_confirmed, ratings=tables.reading.ratings,
        notes=[(str(note), getattr(note, "kind", "")) for note in tables.notes],
    )  # fmt: skip
    if main and tables.scored_by:
        row = METRICS.get(tables.metric or "")
        facts.measure = row.name if row is not None and row.name not in ("accuracy", "mean_score") else ""
        facts.better = main[0]["better"]  # scores of 0 and 1 are right and wrong already, whatever their column's name
        if tables.metric == "mean_score":
            facts.real = main[0]["kind"] == "real"
            facts.scale = None if facts.real else (main[0]["low"], main[0]["high"])
    return facts


def split_facts(frame: pl.DataFrame) -> tuple[pl.DataFrame, KeptFacts]:
    """A table that Richter wrote without the column of facts, and what that says."""
    facts, notes = KeptFacts(), list[tuple[str, str]]()
    for text in frame[FACTS_COLUMN].cast(pl.String).drop_nulls().unique(maintain_order=True):
        try:
            facts = msgspec.json.decode(text, type=KeptFacts)
        except msgspec.DecodeError as error:
            raise InputError(
                f"The column {FACTS_COLUMN} does not hold what Richter wrote there.",
                remedy="Export the table again; or delete the column, and say yourself who graded and on what scale.",
            ) from error
        notes += facts.notes
    return frame.drop(FACTS_COLUMN), msgspec.structs.replace(facts, notes=notes)


def facts_of_answers(tables: Dataset, items: Mapping[str, Item]) -> KeptFacts:
    """The same with what is said of single answers and of a condition's own questions, which no ledger holds."""
    facts = facts_of(tables)
    facts.columns = tuple(c for c in ANSWER_COLUMNS if tables.answers[c].null_count() < tables.answers.height)
    if facts.columns:
        rows = tables.answers.select(*KEY, *facts.columns)
        facts.answers = rows.filter(pl.any_horizontal(pl.col(facts.columns).is_not_null())).rows()
    for name, own in tables.asked.items():
        texts = {i: item.prompt for i, item in own.items() if i in items and item.prompt != items[i].prompt}
        facts.asked |= {name: texts} if texts else {}
    return facts


def restore_facts(part: Part, facts: KeptFacts) -> Part:
    """The part with what its source kept of the data that it was made of; unchanged where it kept nothing."""
    if facts == KeptFacts():
        return part
    part.notes += [Note(text, kind) if kind else text for text, kind in facts.notes if text not in part.notes]
    part.is_confirmed &= facts.is_confirmed
    part.graded_by, part.measures = facts.graded_by, facts.measures
    part.kept = dataclasses.replace(part.kept, ratings=facts.ratings)
    if facts.score:
        part.score, part.measure, part.endless = facts.score, facts.measure, facts.real
        part.kept = ReadOptions(scale=facts.scale, better=facts.better, ratings=facts.ratings)
    if facts.asked:
        part.asked = {
            name: {
                i: dataclasses.replace(item, prompt=texts[i]) if i in texts else item for i, item in part.items.items()
            }
            for name, texts in facts.asked.items()
        }
    return _with_answers(part, facts)


def _with_answers(part: Part, facts: KeptFacts) -> Part:
    """The part with the columns of its answers that were kept; a later sample's stratum and chance go before."""
    if not facts.answers:
        return part
    kinds = {name: part.answers.schema[name] for name in (*KEY, *facts.columns)}
    kept = pl.DataFrame(facts.answers, schema=kinds, orient="row")
    has_sample = part.answers["layer"].count() > 0
    used = [c for c in facts.columns if not (has_sample and c in ("layer", "inclusion"))]
    order = part.answers.columns
    part.answers = part.answers.drop(used).join(kept.select(*KEY, *used), on=KEY, how="left", maintain_order="left")
    part.answers = part.answers.select(order)
    if "group_2" in used:
        pairs = kept.select("item", pl.lit("group_2").alias("column"), pl.col("group_2").alias("value"))
        part.groupings = pl.concat([part.groupings, pairs.drop_nulls().unique(maintain_order=True).select(*GROUPINGS)])
    if "inclusion" in used:
        chance = kept.select(*KEY, pl.col("inclusion").alias("chance"))
        own = pl.when(pl.col("kind") == "human").then("chance")
        rated = part.ratings.join(chance, on=KEY, how="left", maintain_order="left")
        part.ratings = rated.with_columns(pl.coalesce("inclusion", own).alias("inclusion")).drop("chance")
    return part
