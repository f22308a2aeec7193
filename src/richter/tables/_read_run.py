"""A run's ledger, opened and read once."""

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import polars as pl

from richter.errors import LedgerCorrupt
from richter.interop import IMPORT_NOTE, describe_interrupted
from richter.records import LOST_END, OPTIONS_SHARE_SOURCE, SAMPLE_NOTE, Grade, Item, Note, Rating
from richter.store import SERVED_NOTE, Ledger
from richter.tables._confidence_source import Key, Texts, confidences
from richter.tables._kept_facts import KeptFacts, restore_facts
from richter.tables._part import GROUPINGS, OTHERS, ROW, Part, frame_of
from richter.tables._tables import KEY, RATINGS, ReadOptions

T = TypeVar("T")
TOLD = 5_000  # answers between two words on how far it is


def part_of_ledger(ledger: Ledger, tell: Callable[[float], None] | None = None) -> Part:
    """The answers of a ledger with grades, confidences and ratings; `tell` hears how much is read, from 0 to 1."""
    total = 0 if tell is None else ledger.spent().answers
    # what refers to something is read before it, so that a run in progress has every item that a rating names
    ratings, grades = ledger.ratings(), ledger.grades()
    sure = first_confidences(ledger)
    note = ledger.note(IMPORT_NOTE) or {}
    kept = _noted(ledger, note.get("score") or {}, _Kept)
    given = _noted(
        ledger, note.get("given") or [], list[str]
    )  # raters that are a table's own column of severities: nobody says who gave them
    answers, texts = _answers(ledger, tell, total, may_lack_texts="understood" in note)
    items = {item.id: item for item in ledger.items()}
    conditions = [c.name for c in ledger.conditions()]
    answers = _with_rated(answers, ratings)
    answers = answers.join(_of_items(items), on="item", how="left", maintain_order="left")
    sample = _noted(ledger, ledger.note(SAMPLE_NOTE) or {}, _Sample)
    layers = pl.DataFrame(sample.strata, schema={**{k: ROW[k] for k in KEY}, "layer": pl.String}, orient="row")
    answers = answers.join(layers, on=KEY, how="left", maintain_order="left")
    chance = _inclusion(sample)
    answers = answers.join(_main_grades(ledger, grades), on=KEY, how="left", maintain_order="left")
    answers = answers.join(confidences(sure, texts), on=KEY, how="left", maintain_order="left")
    scorers = list(dict.fromkeys(g.scorer for g in grades if g.main))
    part = Part(
        name=ledger.name,
        answers=frame_of(answers, ROW),
        ratings=frame_of(_frame(ledger, _rating_rows(ratings, given, chance), RATINGS), RATINGS),
        others=_frame(ledger, [(g.item, g.condition, g.draw, g.scorer, g.value) for g in grades if not g.main], OTHERS),
        conditions=conditions,
        items=items,
        groupings=pl.DataFrame([(i.id, "group", i.group) for i in items.values()], schema=GROUPINGS, orient="row"),
        score=", ".join(scorers),
        kept=ReadOptions(scale=kept.scale, better=kept.better),
        is_confirmed=note.get("is_confirmed") is not False,
        notes=[
            *_lost_end_notes(ledger),
            *_interrupted_notes(ledger, note),
            *_served_notes(ledger),
            *_option_notes(ledger),
            *_search_notes(ledger),
        ],
    )
    return restore_facts(part, _noted(ledger, note.get("facts") or {}, KeptFacts))


def _lost_end_notes(ledger: Ledger) -> list[str]:
    """A line where records of the run are missing, or may be."""
    lost = ledger.describe_lost_end()
    return [Note(lost, LOST_END)] if lost else []


def _interrupted_notes(ledger: Ledger, note: dict[str, Any]) -> list[str]:
    """A line for each log in the run that its tool did not finish, as the log itself has it."""
    files = _noted(ledger, note.get("files") or [], list[_ImportedFile])
    return [describe_interrupted(Path(file.path).name, file.interrupted) for file in files if file.interrupted]


def _served_notes(ledger: Ledger) -> list[str]:
    """A line for each model whose server says that it answered with several."""
    served = _noted(ledger, ledger.note(SERVED_NOTE) or {}, dict[str, list[str]])
    return [
        Note(f"{model} answered as several models: {', '.join(names)}", "served")
        for model, names in served.items()
        if len(names) > 1
    ]


def _search_notes(ledger: Ledger) -> list[str]:
    """A line where a search for errors chose what was asked."""
    text = "a search for errors chose these questions, and judges rate those that failed: rates are not its base's"
    return [Note(text, "search")] if ledger.note("search") is not None else []


def first_confidences(ledger: Ledger) -> dict[Key, tuple[str, float]]:
    """The source and value of each answer's first confidence."""
    first: dict[Key, tuple[str, float]] = {}
    for c in ledger.confidences():
        if c.source != OPTIONS_SHARE_SOURCE:
            first.setdefault((c.item, c.condition, c.draw), (c.source, c.value))
    return first


def _option_notes(ledger: Ledger) -> list[str]:
    """A line for each condition whose confidence is the options' share of probability: how much of it they have."""
    shares: dict[str, list[float]] = {}
    for c in ledger.confidences():
        if c.source == OPTIONS_SHARE_SOURCE:
            shares.setdefault(c.condition, []).append(c.value)
    return [
        Note(
            f"{condition}: confidence is the chosen option's share of the options' probability; the options have "
            f"{statistics.fmean(own):.1%} of all probability on average and at least {min(own):.1%}",
            "options",
        )
        for condition, own in shares.items()
    ]


def _answers(
    ledger: Ledger, tell: Callable[[float], None] | None, total: int, *, may_lack_texts: bool
) -> tuple[pl.DataFrame, list[Texts]]:
    """The answers of a ledger, and the texts of those that have one with their tokens.

    An empty text is no answer's where the ledger `may_lack_texts`, as one that was made of a table.
    """
    rows, texts = [], list[Texts]()
    for number, a in enumerate(ledger.answers()):
        if tell is not None and number % TOLD == 0:
            tell(min(1.0, number / max(1, total)))
        key = (a.item, a.condition, a.draw)
        text = None if a.error or (may_lack_texts and not a.text) else a.text
        rows.append((*key, text, a.error, a.tokens_in, a.tokens_out, a.money_usd, a.latency_s, a.finish))
        if text is not None:
            texts.append((key, text, a.tokens, a.logprobs))
    names = (*KEY, "text", "error", "tokens_in", "tokens_out", "money_usd", "latency_s", "finish")
    return _frame(ledger, rows, {name: ROW[name] for name in names}), texts


def _main_grades(ledger: Ledger, grades: Sequence[Grade]) -> pl.DataFrame:
    """The value of each answer's main grade."""
    main = [(g.item, g.condition, g.draw, g.value, g.correct) for g in grades if g.main]
    graded = _frame(ledger, main, {**{k: ROW[k] for k in KEY}, "value": pl.Float64, "correct": pl.Float64})
    # an import that was told what its scores mean (--pass-at, --as-severity) holds another grade than the value says
    plain = pl.when(pl.col("value").is_between(0, 1)).then((pl.col("value") == 1).cast(pl.Float64))
    if graded.filter(pl.col("correct").is_not_null() & pl.col("correct").ne_missing(plain)).height:
        graded = graded.with_columns(pl.col("correct").alias("value"))
    return graded.drop("correct")


def _rating_rows(ratings: Sequence[Rating], given: Sequence[str], chance: Mapping[Key, float]) -> list[tuple[Any, ...]]:
    """The ratings as rows; people's have the chance with which their answer was drawn."""
    return [
        (
            r.item,
            r.condition,
            r.draw,
            r.rater,
            "given" if r.rater in given and r.kind == "judge" else r.kind,
            r.severity,
            r.mechanism or None,
            r.reason or None,
            chance.get((r.item, r.condition, r.draw)) if r.kind == "human" else None,
        )
        for r in ratings
    ]


class _Kept(msgspec.Struct):
    """How an import read its score."""

    scale: tuple[float, float] | None = None
    better: Literal["higher", "lower"] | None = None


class _ImportedFile(msgspec.Struct):
    """A log that was imported, and why it was not finished."""

    path: str = ""
    interrupted: str = ""


class _Sample(msgspec.Struct):
    """How answers were drawn for people."""

    strata: list[tuple[str, str, int, str]] = []
    chosen: list[tuple[str, str, int]] = []


def _noted(ledger: Ledger, note: object, kind: type[T]) -> T:
    """A note of a ledger as what it is; in one that somebody else made it may be anything."""
    try:
        return msgspec.convert(note, kind)
    except msgspec.ValidationError as error:
        raise LedgerCorrupt(
            f"{ledger.name} is damaged or was not written by Richter: a note in it cannot be read.",
            remedy="Restore it from a copy, or use a new run folder.",
        ) from error


def _frame(ledger: Ledger, rows: Sequence[Any], schema: Mapping[str, Any]) -> pl.DataFrame:
    """Rows of a ledger by their types; one that somebody else made may hold anything in a cell."""
    try:
        return pl.DataFrame(rows, schema=schema, orient="row")
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise LedgerCorrupt(
            f"{ledger.name} is damaged or was not written by Richter: a cell is not of its column's type.",
            remedy="Restore it from a copy, or use a new run folder.",
        ) from error


def _inclusion(sample: _Sample) -> dict[Key, float]:
    """The chance with which each chosen answer was drawn for people: of its stratum, the share that was."""
    layer = {(i, c, d): s for i, c, d, s in sample.strata}
    size, drawn = Counter(layer.values()), Counter(layer[key] for key in sample.chosen if key in layer)
    return {key: drawn[layer[key]] / size[layer[key]] for key in sample.chosen if key in layer}


def _with_rated(answers: pl.DataFrame, ratings: Sequence[Rating]) -> pl.DataFrame:
    """And a row for every rated answer whose text the run does not hold."""
    keys = pl.DataFrame([(r.item, r.condition, r.draw) for r in ratings], schema={k: ROW[k] for k in KEY}, orient="row")
    bare = keys.unique(maintain_order=True).join(answers, on=KEY, how="anti", maintain_order="left")
    return pl.concat([answers, bare], how="diagonal") if len(bare) else answers


def _of_items(items: dict[str, Item]) -> pl.DataFrame:
    names = ("domain", "tier", "weight")
    rows = [(i.id, i.domain or None, None if i.tier is None else str(i.tier), i.weight) for i in items.values()]
    return pl.DataFrame(rows, schema={"item": pl.String, **{name: ROW[name] for name in names}}, orient="row")
