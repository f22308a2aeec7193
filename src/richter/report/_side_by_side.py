"""The answers themselves, side by side: which items matter for a verdict, and their answers packed for the page.

What models and raters wrote is untrusted. Here it is only made visible (control, invisible and reordering characters
become escapes, line ends stay); the page and the app show it as text and never as markup.
"""

import base64
import dataclasses
import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from richter.records import Item, printable
from richter.report._visible_text import shorten
from richter.store import RunLike, open_ledger
from richter.tables import Dataset, most_rated, tables_of
from richter.words._spans import name

__all__ = ["Evidence", "read_evidence"]

CUT = 1_000  # characters of an answer, a question or a reason; where that is too much, fewer
MOST_ITEMS = 500  # in a page; the app has all
MOST_BYTES = 1_200_000  # packed
CUTS = (CUT, 300, 120, 60)
APART = 1.0  # two raters who differ by so much disagree

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The packed items and what they hold: `packed` is base64 of gzip of JSON."""

    packed: str
    kind: str | None  # whose ratings say what is wrong; None where nothing is rated
    items: int  # in the run
    shown: int  # ... and in the page
    wrong: int  # wrong answers in the run
    answers: int  # ... of so many that are graded
    cut: int  # characters at which an answer is cut
    is_cut: bool = False  # whether any of them is longer
    repeats: int = 1  # graded answers of a condition to a question, at most
    moved: tuple[int, int, int] | None = None  # questions that the second of a pair has right more often, less, and all


def read_evidence(
    source: Dataset | RunLike | None,
    *,
    pair: Sequence[str] = (),
    most_bytes: int = MOST_BYTES,
    redact: bool = False,
) -> Evidence:
    """The items whose answers differ most in a pair, then between all, then the gravest.

    They are at most `MOST_ITEMS`.

    Whose severities count is the tables' own rule (`severity_of`), so kinds never mix; where nothing is rated, grades
    say what is wrong. `redact` leaves out every question, reference, answer and reason. Without a source there is
    nothing.
    """
    if source is None:
        return Evidence(packed="", kind=None, items=0, shown=0, wrong=0, answers=0, cut=CUT)
    tables = source if isinstance(source, Dataset) else read_run_tables(source)
    judged = judged_answers(tables)
    own = pl.col("bad").filter(pl.col("condition").is_in(list(pair)))
    order = (
        judged.group_by("item", maintain_order=True)
        .agg(
            (own.max() - own.min()).fill_null(0).alias("apart_in_pair"),
            (pl.col("bad").max() - pl.col("bad").min()).fill_null(0).alias("apart"),
            pl.col("bad").max().alias("worst"),
        )
        .sort("apart_in_pair", "apart", "worst", descending=True, nulls_last=True, maintain_order=True)
    )
    ids = order["item"].head(MOST_ITEMS).to_list()
    kind = tables.counting or ("grader" if len(judged) and judged["bad"].null_count() < len(judged) else None)
    repeats = int(judged["repeats"].max() or 1)  # type: ignore[arg-type]
    wrong = int((judged["repeats"] - judged["right"]).sum() if repeats > 1 else judged["wrong"].sum() or 0)
    answers = int((judged["repeats"] if repeats > 1 else judged["wrong"].is_not_null()).sum())
    for cut in CUTS:
        packed = _pack(_table(tables, judged, ids, cut, redact=redact))
        if len(packed) <= most_bytes:
            break
    while len(packed) > most_bytes and len(ids) > 1:
        ids = ids[: int(len(ids) * min(0.9, 0.95 * most_bytes / len(packed)))] or ids[:1]
        packed = _pack(_table(tables, judged, ids, cut, redact=redact))
    is_cut = bool((judged["text"].str.len_chars() > cut).any())
    return Evidence(
        packed=packed,
        kind=kind,
        items=len(order),
        shown=len(ids),
        wrong=wrong,
        answers=answers,
        cut=cut,
        is_cut=is_cut,
        repeats=repeats,
        moved=_moved_items(judged, pair) if len(pair) == 2 else None,
    )


def _moved_items(judged: pl.DataFrame, pair: Sequence[str]) -> tuple[int, int, int]:
    """Of the questions that both were graded on: how many the second has right more often, less often, and all."""
    first, second = (judged.filter(pl.col("condition") == c).select("item", "bad") for c in pair)
    both = first.join(second, on="item", suffix="_second").drop_nulls()
    moved = both["bad_second"] - both["bad"]
    return int((moved < 0).sum()), int((moved > 0).sum()), len(both)


def read_run_tables(run: RunLike, *, tell: Callable[[float], None] | None = None) -> Dataset:
    """A run's tables, also where it holds no answers yet; `tell` hears how much is read, from 0 to 1."""
    with open_ledger(run) as ledger:
        return tables_of(ledger, tell=tell)


def read_item_tables(run: RunLike, items: Sequence[str]) -> list[Dataset]:
    """What a run holds of some items, each alone; whose severities count is the whole run's rule."""
    with open_ledger(run, checked=False) as ledger:
        counting = most_rated(ledger.rated_counts())
    found = []
    for item in items:
        with open_ledger(run, item=item, checked=False) as ledger:
            found.append(dataclasses.replace(tables_of(ledger), counting=counting))  # type: ignore[arg-type]
    return found


def judged_answers(tables: Dataset) -> pl.DataFrame:
    """One row a first answer: `bad` (more is worse), `wrong`, `severe`, `refused`, `disagree` and `mechanism`.

    `bad` is the severity where severities count, else the share of wrong answers (`right` of `repeats` are right), else
    the score with its sign turned where more is better. Raters disagree where their severities are at least 1 apart.
    """
    first = _with_repeats(tables)
    own = tables.ratings.filter(pl.col("draw") == 0)
    by_answer = own.group_by("item", "condition").agg(
        (pl.col("severity").max() - pl.col("severity").min() >= APART).alias("disagree"),
        pl.col("mechanism").filter(pl.col("kind") == (tables.counting or "")).first().alias("mechanism"),
    )
    rows = first.join(by_answer, on=("item", "condition"), how="left", maintain_order="left")
    if tables.counting:
        bad, wrong = pl.col("severity"), pl.col("severity") > 0
    elif first["correct"].null_count() < len(first):
        share = pl.when(pl.col("repeats") > 0).then(pl.col("right") / pl.col("repeats"))
        bad, wrong = 1 - share, pl.col("correct") == 0
    else:
        less = bool(len(tables.scores)) and tables.scores["better"][0] == "lower"
        bad, wrong = pl.col("score") if less else -pl.col("score"), pl.lit(value=None, dtype=pl.Boolean)
    came = pl.col("error").fill_null("") == ""
    return rows.select(
        "item",
        "condition",
        pl.col("text").fill_null(""),
        pl.col("error").fill_null(""),
        pl.when(came).then(bad).alias("bad"),
        pl.when(came).then(wrong).alias("wrong"),
        pl.col("severity"),
        pl.col("score"),
        (pl.col("severity") >= 3).fill_null(value=False).alias("severe"),
        pl.col("refused").fill_null(value=False),
        pl.col("disagree").fill_null(value=False),
        pl.col("mechanism").fill_null(""),
        pl.col("right"),
        pl.when(pl.lit(not tables.counting)).then(pl.col("repeats")).otherwise(1).alias("repeats"),
    )


def _with_repeats(tables: Dataset) -> pl.DataFrame:
    """The first answers, each with how many of a condition's answers to its question were graded and are right."""
    counts = tables.rows.group_by("item", "condition").agg(
        pl.col("correct").sum().alias("right"), pl.col("correct").count().alias("repeats")
    )
    first = tables.rows.filter(pl.col("draw") == 0)
    return first.join(counts, on=("item", "condition"), how="left", maintain_order="left")


def answer_rows(
    tables: Dataset, judged: pl.DataFrame, ids: Iterable[str], *, cut: int = CUT, redact: bool = False
) -> list[Row]:
    """The items in the order given, each with one cell for every condition (None where there is no answer).

    Page and app show these rows by one component.
    """
    wanted = list(dict.fromkeys(ids))
    place = {c: k for k, c in enumerate(tables.conditions)}
    ratings, others = _ratings_by_answer(tables, wanted, cut, redact=redact), _scores_by_answer(tables, wanted)
    cells: dict[str, list[Row | None]] = {i: [None] * len(place) for i in wanted}
    for row in judged.filter(pl.col("item").is_in(wanted)).iter_rows(named=True):
        key = (row["item"], row["condition"])
        cell = _answer_cell(row, cut, redact=redact)
        cell |= {"scores": others[key]} if key in others else {}
        cell |= {mark: True for mark in ("severe", "refused", "disagree") if row[mark]}
        cell |= {"ratings": ratings[key]} if key in ratings else {}
        cells[row["item"]][place[row["condition"]]] = cell
    items = (tables.items.get(one) or Item(id=one, prompt="", reference="") for one in wanted)
    return [_question_row(item, cut, redact=redact) | {"answers": cells[item.id]} for item in items]


def _question_row(item: Item, cut: int, *, redact: bool) -> Row:
    return {
        "item": printable(item.id, limit=200),
        "question": "" if redact else shorten(item.prompt, cut),
        "reference": "" if redact else shorten(item.reference, cut),
        "domain": printable(item.domain, limit=60),
        "tier": item.tier,
    }


def _answer_cell(row: Row, cut: int, *, redact: bool) -> Row:
    """An answer's text, or why it failed, with its grade."""
    cell: Row = {
        "text": "" if redact else shorten(row["error"] or row["text"], cut),
        "severity": row["severity"],
        "bad": row["bad"],
        "state": "failed" if row["error"] else {True: "wrong", False: "right", None: "unrated"}[row["wrong"]],
    }
    if len(row["text"]) > cut:
        cell["length"] = len(row["text"])
    if row["repeats"] > 1:
        cell |= {"right": row["right"], "repeats": row["repeats"]}
    if row["score"] is not None and row["wrong"] is None:
        cell["score"] = row["score"]
    return cell


def _ratings_by_answer(
    tables: Dataset, items: Sequence[str], cut: int, *, redact: bool
) -> dict[tuple[str, str], list[list[Any]]]:
    """Who rated an answer, as what kind, how severe, by which mechanism and why."""
    ratings: dict[tuple[str, str], list[list[Any]]] = defaultdict(list)
    own = tables.ratings.filter(pl.col("draw") == 0, pl.col("item").is_in(items))
    columns = ("item", "condition", "rater", "kind", "severity", "mechanism", "reason")
    for item, condition, rater, kind, severity, mechanism, reason in own.select(columns).iter_rows():
        why = "" if redact else shorten(reason or "", cut)
        ratings[item, condition].append(
            [printable(rater, limit=80), kind, severity, printable(mechanism or "", limit=60), why]
        )
    return ratings


def _scores_by_answer(tables: Dataset, items: Sequence[str]) -> dict[tuple[str, str], dict[str, float]]:
    """The scores of an answer beside the main one."""
    others: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    is_other = (pl.col("metric") != (tables.metric or "")) & (pl.col("metric") != "accuracy")
    own = tables.scores.filter(
        pl.col("draw") == 0, is_other, pl.col("item").is_in(items), pl.col("value").is_not_null()
    )
    for item, condition, metric, value in own.select("item", "condition", "metric", "value").iter_rows():
        others[item, condition][printable(metric, limit=60)] = value
    return others


def _table(tables: Dataset, judged: pl.DataFrame, ids: Sequence[str], cut: int, *, redact: bool) -> Row:
    rows = answer_rows(tables, judged, ids, cut=cut, redact=redact)
    n_items = judged["item"].n_unique()
    return {"conditions": shown_names(tables.conditions), "rows": rows, "n_items": n_items, "redacted": redact}


def shown_names(conditions: Sequence[str]) -> list[str]:
    """The conditions' names as page and app show them, cut, and told apart where the cut makes two alike."""
    cut = [name(c) for c in conditions]
    return [n if n not in cut[:k] else f"{n} ({k + 1})" for k, n in enumerate(cut)]


def _pack(table: Mapping[str, Any]) -> str:
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
