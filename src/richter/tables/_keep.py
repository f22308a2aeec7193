"""Tables kept as a run, so that their answers can be judged, rated and drawn again."""

import dataclasses
import re

import msgspec
import polars as pl

from richter.interop import IMPORT_NOTE, imported_call
from richter.records import Answer, Condition, Confidence, Grade, Item, Rating, RatingKind
from richter.store import Call, RunLike, new_run
from richter.tables._kept_facts import facts_of_answers
from richter.tables._tables import KEY, Dataset, ratings_of

__all__ = ["write_tables"]


def write_tables(tables: Dataset, run: RunLike, *, kind: RatingKind | None = None) -> None:
    """Keep answers, scores, confidences and ratings as a new run.

    Severities of the table's own are of `kind`; with none said they stay what they are, given and not judged.
    """
    rows, items = tables.rows, _items(tables)
    with new_run(run) as ledger:
        ledger.add_items(list(items.values()))
        ledger.add_conditions([Condition(name=name, model=name) for name in tables.conditions])
        ledger.add_calls([_call(row) for row in rows.iter_rows(named=True)])
        ledger.add_grades(_grades(tables))
        sure = rows.filter(pl.col("confidence").is_not_null()).select(*KEY, "confidence_source", "confidence")
        ledger.add_confidences(
            Confidence(item=i, condition=c, draw=d, source=source, value=value)
            for i, c, d, source, value in sure.iter_rows()
        )
        own = tables.ratings.filter(pl.col("kind") == "given") if tables.counting == "given" else tables.ratings.clear()
        own = own.with_columns(pl.col("mechanism", "reason").fill_null(""), kind=pl.lit(kind or "judge"))
        given = own.drop("inclusion").iter_rows(named=True)
        ledger.add_ratings([*ratings_of(tables).ratings, *(Rating(**row) for row in given)])
        ledger.set_note(
            IMPORT_NOTE,
            {
                "understood": tables.understood,
                "given": own["rater"].unique().to_list() if kind is None else [],
                "facts": msgspec.to_builtins(facts_of_answers(tables, items)),
            },
        )


def _items(tables: Dataset) -> dict[str, Item]:
    """The items with what the table says of each: domain, tier, group and weight."""
    found = {}
    rows = tables.rows.unique("item", keep="first", maintain_order=True)
    for name, domain, tier, group, weight in rows.select("item", "domain", "tier", "group", "weight").iter_rows():
        item = tables.items.get(name) or Item(id=name, prompt="", reference="", domain=domain or "")
        level = re.fullmatch(r"[Tt]?([1-5])(\.0)?", (tier or "").strip())
        found[name] = dataclasses.replace(
            item,
            group=item.group or group or "",
            weight=item.weight or weight,
            tier=item.tier if item.tier is not None or level is None else int(level[1]),
        )
    return found


def _call(row: dict[str, object]) -> Call:
    names = ("item", "condition", "draw", "tokens_in", "tokens_out", "money_usd", "latency_s")
    texts = {name: row[name] or "" for name in ("text", "error", "finish")}
    answer = Answer(**{name: row[name] for name in names}, **texts)  # type: ignore[arg-type]
    return imported_call(answer, model=answer.condition)


def _grades(tables: Dataset) -> list[Grade]:
    """The scores that the source gave; right and wrong that only follow from severities are not graded again."""
    found = tables.scores.filter(pl.col("value").is_not_null())
    if tables.scored_by == ():
        found = found.filter(pl.col("metric") != "accuracy")
    return [
        Grade(
            item=i, condition=c, draw=d, scorer=metric, value=value, main=metric == tables.metric,
            correct=value == 1 if metric == "accuracy" else None,
        )
        for i, c, d, metric, value in found.select(*KEY, "metric", "value").iter_rows()
    ]  # fmt: skip
