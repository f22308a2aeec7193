"""Answers, scores and ratings: the tables that every source becomes, the one rule for an answer's severity, and views
of them: one metric as outcomes on units, severities as the arrays of the room `severity`, single ratings.
"""

import dataclasses
import functools
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.claims import METRICS, Metric, Outcomes
from richter.errors import InputError
from richter.records import Better, Item, Note, Rating, RatingKind, counted, of_kind, printable
from richter.stats import Floats, Indices, Ints
from richter.tables._words import USUAL_ENDS

if TYPE_CHECKING:
    from richter.tables._reading import Reading

__all__ = [
    "CATASTROPHIC",
    "KEY",
    "RATERS_APART",
    "UNPLANNED_OPTIONS",
    "Dataset",
    "RatingsFile",
    "ReadOptions",
    "SeverityScores",
    "chance_of",
    "is_label_sample",
    "item_codes",
    "judges_of",
    "most_rated",
    "outcomes",
    "question_codes",
    "ratings_of",
    "scores_table",
    "severity_of",
    "severity_scores",
]  # fmt: skip

KEY = ("item", "condition", "draw")
_KEY = {"item": pl.String, "condition": pl.String, "draw": pl.Int64}
ANSWERS: dict[str, type[pl.DataType]] = {
    **_KEY, "run": pl.String, "text": pl.String, "error": pl.String, "refused": pl.Boolean, "tokens_in": pl.Int64,
    "tokens_out": pl.Int64, "money_usd": pl.Float64, "latency_s": pl.Float64, "finish": pl.String, "group": pl.String,
    "group_2": pl.String,
    "domain": pl.String, "tier": pl.String, "weight": pl.Float64, "macro": pl.String,
    "cluster": pl.String, "clustered_by": pl.String, "human_cluster": pl.String,
    "token_probability": pl.Float64, "layer": pl.String, "inclusion": pl.Float64, "human": pl.Float64,
    "shown_first": pl.Float64, "steps": pl.Int64, "failed_calls": pl.Int64,
}  # fmt: skip
RATERS_APART = "raters apart"  # the kind of the note that an answer's several rows are raters, and no repeats
SCORES: dict[str, type[pl.DataType]] = {
    **_KEY, "metric": pl.String, "value": pl.Float64, "kind": pl.String, "low": pl.Float64, "high": pl.Float64,
    "better": pl.String, "confidence": pl.Float64, "confidence_source": pl.String,
}  # fmt: skip
RATINGS: dict[str, type[pl.DataType]] = {
    **_KEY, "rater": pl.String, "kind": pl.String, "severity": pl.Float64, "mechanism": pl.String,
    "reason": pl.String, "inclusion": pl.Float64,
}  # fmt: skip

# whose severities count where as many answers have several: a table's own column says the last word
KINDS = {"given": "as given", "human": "by people", "judge": "by judges", "rule": "by rules"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What a user may settle where a source leaves it open; every command spells them the same.

    `map` names the column of a field, `scale` is the range of a score, `better` which end of it is good, `as_severity`
    (right, worst) turns a score into a severity of 0..4, `wide` names the columns that are conditions (empty: find
    them), `ratings` whose severities count, `scorer` and `filter` which score of a log, `pass_at` from where on a score
    between 0 and 1 counts as right, `grade` what a word among the grades counts as (None: as no grade); `any_scale`
    takes severities above 4 as they stand, more being worse. `layout` names the steps that bring a table to one row per
    answer. `weight` names the column of what a question counts, `macro` one whose values count alike (`count_alike`).
    `confirm` takes a reading that was inferred without asking; the data then say that nobody confirmed it.
    `saved` are the readings of files by the pattern of their names, as `richter.toml` has them. `settings` are the
    options, as a shell takes them, that `richter.toml` settled and nobody typed: the data say so.
    """

    map: Mapping[str, str] = dataclasses.field(default_factory=dict)
    scale: tuple[float, float] | None = None
    better: Better | None = None
    as_severity: tuple[float, float] | None = None
    wide: tuple[str, ...] | None = None
    ratings: RatingKind | None = None
    scorer: str | None = None
    filter: str | None = None
    pass_at: float | None = None
    grade: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    any_scale: bool = False
    layout: tuple[str, ...] = ()
    weight: str | None = None
    macro: str | None = None
    confirm: bool = dataclasses.field(default=False, compare=False)
    saved: Mapping[str, "ReadOptions"] = dataclasses.field(default_factory=dict, compare=False)
    settings: tuple[str, ...] = dataclasses.field(default=(), compare=False)


UNPLANNED_OPTIONS = {"any_scale", "confirm", "saved", "settings"}  # which no plan states


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dataset:
    """All that was read: one row per item, condition and draw in `answers`, `scores` and `ratings` on the same key.

    `scores` begins with the main metric: `accuracy` (0 or 1), or `mean_score` where a score has steps or a range; it
    has a row for every answer that came, with a null value where it was not graded. `conditions` stand in the order
    given. `understood` says in one line what was read, `basis` who graded, `scored_by` what the scores are
    of (nothing where right and wrong follow from severities), `counting` the kind of rating that counts.
    `graded_by` are the models that graded, where a column such as `judge` or `graded_by` names them.
    `asked` are the items as the source of each condition has them: two sources may have one id for two questions.
    `places` are the files and runs that were read, `named_places` those of them that were given as `NAME=PATH`.
    `options` are the reader's options as they were given, `reading` the same with what the data say of themselves.
    `is_confirmed`: nothing of how they were read was inferred, or the user confirmed it. `readings` say how each table
    was read, `measures` are the further scores of tables. `whole` are the tables of
    which these are some conditions.
    """

    name: str
    answers: pl.DataFrame
    scores: pl.DataFrame
    ratings: pl.DataFrame
    conditions: tuple[str, ...]
    items: Mapping[str, Item] = dataclasses.field(default_factory=dict)
    asked: Mapping[str, Mapping[str, Item]] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    understood: str = ""
    basis: str = ""
    scored_by: tuple[str, ...] = ()
    graded_by: tuple[str, ...] = ()
    counting: Literal["given", "human", "judge", "rule"] | None = None
    reading: ReadOptions = ReadOptions()
    places: tuple[Path, ...] = ()
    named_places: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    options: ReadOptions = ReadOptions()
    is_confirmed: bool = True
    readings: "tuple[Reading, ...]" = ()
    measures: tuple[str, ...] = ()
    whole: "Dataset | None" = None

    @functools.cached_property
    def memory(self) -> dict[Any, Any]:
        """Facts of these data that were computed already."""
        return {}

    @property
    def metric(self) -> str | None:
        """The main metric: of the scores the first, else the severities; None where nothing is graded."""
        if len(self.scores):
            return str(self.scores["metric"][0])
        return "mean_severity" if self.counting else None

    @property
    def has_raters(self) -> bool:
        """Whether several rows of an answer are its raters, and no repeats."""
        return bool(of_kind(self.notes, RATERS_APART))

    @functools.cached_property
    def worst_severity(self) -> float:
        """The upper end of the severities' scale: 4, or the usual end that holds all of another scale."""
        most = float((self.whole or self).ratings["severity"].max() or 0.0)  # type: ignore[arg-type]
        return next((end for end in (METRICS["mean_severity"].high or 0.0, *USUAL_ENDS) if most <= end), most)

    def on_scale(self, row: Metric) -> Metric:
        """A measure's row; of severities with the end that their scale has in these data."""
        if row.source != "severity" or row.kind != "ordinal":
            return row
        return dataclasses.replace(row, high=self.worst_severity)

    @functools.cached_property
    def has_texts(self) -> bool:
        """Whether any answer holds what was written: grades alone are nothing that could be read or rated."""
        return bool((self.answers["text"].drop_nulls() != "").any())

    @functools.cached_property
    def item_ids(self) -> tuple[str, ...]:
        """The items by name."""
        return tuple(self.answers["item"].gather(self.first_answers).to_list())

    @functools.cached_property
    def first_answers(self) -> Indices:
        """The place of each item's first answer, by item."""
        first = np.empty(self.answer_codes.max(initial=-1) + 1, dtype=np.intp)
        first[self.answer_codes[::-1]] = np.arange(self.answers.height)[::-1]  # the last one written is the first row
        return first

    @functools.cached_property
    def answer_codes(self) -> Indices:
        """The place of every answer's item in `item_ids`."""
        return self.answers["item"].rank("dense").to_numpy().astype(np.intp) - 1

    def item_codes(self, items: pl.Series) -> Indices:
        """The place of each of these items in `item_ids`; ranks are the places where no item is absent."""
        if items.len() == self.answers.height and items.equals(self.answers["item"]):
            return self.answer_codes
        ranks = items.rank("dense").to_numpy().astype(np.intp) - 1
        if len(ranks) == 0 or ranks.max() + 1 == len(self.item_ids):
            return ranks
        return items.cast(pl.Enum(self.item_ids)).to_physical().to_numpy().astype(np.intp)

    def select(self, conditions: Sequence[str]) -> "Dataset":
        """Only these conditions, in this order."""
        unknown = [n for n in conditions if n not in self.conditions]
        if unknown:
            raise InputError(
                f"No condition is named {', '.join(printable(n) for n in unknown)}.",
                remedy=f"There are {', '.join(printable(n) for n in self.conditions)}.",
            )
        if len(set(conditions)) < len(conditions):
            raise InputError("A condition is named twice.", remedy="Name different conditions.")
        kept = self._filtered(pl.col("condition").is_in(list(conditions)))
        if self.reading.macro is not None:
            kept["answers"] = count_alike(kept["answers"])
        return dataclasses.replace(self, conditions=tuple(conditions), whole=self.whole or self, **kept)

    def first_draws(self) -> "Dataset":
        """The same with one answer an item and condition."""
        return dataclasses.replace(self, **self._filtered(pl.col("draw") == 0))

    def _filtered(self, is_kept: pl.Expr) -> dict[str, Any]:
        """The rows of every table for which this holds."""
        return {name: getattr(self, name).filter(is_kept) for name in ("answers", "scores", "ratings")}

    @functools.cached_property
    def rows(self) -> pl.DataFrame:
        """One row an answer, with `correct`, `score`, `confidence` and `severity`, null where there is none."""
        main = self.scores.filter(pl.col("metric") == self.metric) if len(self.scores) else self.scores
        right = self.scores.filter(pl.col("metric") == "accuracy").select(*KEY, pl.col("value").alias("correct"))
        score = main.select(*KEY, pl.col("value").alias("score"), "confidence", "confidence_source")
        rows = self.answers.join(score, on=KEY, how="left", maintain_order="left")
        rows = rows.join(right, on=KEY, how="left", maintain_order="left")
        return rows.join(severity_of(self), on=KEY, how="left", maintain_order="left")

    @functools.cached_property
    def data_hash(self) -> str:
        """A hash of what is measured: keys, failures, scores, confidences, severities, groups, domains, weights, runs.

        It knows nothing of the order of rows, of names of files or of formats: the same data have the same hash.
        """
        digest = hashlib.sha256()
        names = sorted(self.conditions)
        digest.update(repr(names).encode() + "\0".join(self.item_ids).encode())
        failed = pl.col("error").fill_null("") != ""
        for frame in (
            self.answers.select(
                *KEY,
                "run",
                failed,
                "group",
                "group_2",
                "domain",
                "weight",
                "tokens_out",
                "money_usd",
                "layer",
                "inclusion",
                "human",
                *(name for name in ("steps", "failed_calls") if self.answers[name].count()),
            ),
            self.scores.select(*KEY, "metric", "value", "confidence", "low", "high", "better"),
            self.ratings.select(*KEY, "rater", "kind", "severity", "mechanism"),
        ):
            codes = pl.Series("item", self.item_codes(frame["item"]))
            coded = frame.with_columns(codes, pl.col("condition").cast(pl.Enum(names)))
            order = _key_order(coded)
            for column in coded.iter_columns():
                digest.update(column.name.encode())
                if column.null_count() == len(column):
                    continue
                if order is not None:  # one column at a time: all of them are half of what is held at most
                    column = column.gather(order)
                for part in _hashed_bytes(column):
                    digest.update(part)
        return digest.hexdigest()[:16]


def count_alike(answers: pl.DataFrame) -> pl.DataFrame:
    """The answers with weights by which each value of the column `macro` counts alike.

    Of n items in K values an item weighs n / (K x the items of its value): 1 on average.
    """
    own = answers.select("item", "macro").unique("item")
    weight = len(own) / (own["macro"].n_unique() * pl.len().over("macro"))
    weighed = own.select("item", weight.alias("weight"))
    return answers.drop("weight").join(weighed, on="item", how="left", maintain_order="left").select(answers.columns)


def _hashed_bytes(column: pl.Series) -> Iterator[bytes]:
    """What a hash sees of a column: its numbers, or its texts with how often each follows itself."""
    if column.dtype.is_numeric():
        yield column.cast(pl.Float64).fill_null(float("nan")).to_numpy().tobytes()
        return
    once = (column.cast(pl.String).fill_null("") if column.null_count() else column).rle()
    yield np.ascontiguousarray(once.struct.field("len").to_numpy()).tobytes()
    yield "\0".join(once.struct.field("value").cast(pl.String).to_list()).encode()


def _key_order(coded: pl.DataFrame) -> pl.Series | None:
    """The rows by condition, item (its code) and whatever else tells them apart; None where they stand so already."""
    others = [c for c in ("metric", "kind", "rater") if c in coded.columns and coded[c].n_unique() > 1]
    if others:
        return coded.select(pl.arg_sort_by("condition", "item", "draw", *others)).to_series()
    return order_of_answers(coded["condition"].to_physical(), coded["item"], coded["draw"])


def order_of_answers(condition: pl.Series, item: pl.Series, draw: pl.Series) -> pl.Series | None:
    """The rows by condition, item and draw, from codes; None where they stand so already.

    One number a row is made of the three: it sorts faster.
    """
    codes = [condition.cast(pl.Int64), item.cast(pl.Int64), draw_codes(draw)]
    key = codes[0]
    for code in codes[1:]:
        key = key * (int(code.to_numpy().max(initial=0)) + 1) + code
    if key.is_sorted():
        return None
    return key.to_frame("key").select(pl.arg_sort_by("key", maintain_order=True)).to_series()


def draw_codes(draw: pl.Series) -> pl.Series:
    """Numbers in the order of the draws, below the number of rows: a draw may be a time in nanoseconds."""
    return draw if draw.to_numpy().max(initial=0) < max(len(draw), 1) else draw.rank("dense").cast(pl.Int64)


def severity_of(tables: Dataset) -> pl.DataFrame:
    """The severity of every rated answer: item, condition, draw, severity, raters.

    It is the median over the raters of the kind that counts (of two raters, their mean): the kind named by `ratings`,
    else a table's own column, else the kind that rated most answers (of equals people, judges, rules). Kinds never
    mix. A rater who gave no severity does not count.

    Right or wrong, and severe or not, is decided by each rater, and most decide. Where the two ratings in the middle of
    an even number differ in that, the item's own rater says which of them holds: the one whose place among its
    raters by name the CRC-32 of its id names, for all conditions alike. So two raters find as many errors as one does
    on average, whichever measure asks; by the mean of two, each flag of either would be an error.
    """
    rows = tables.ratings.filter(pl.col("kind") == (tables.counting or ""), pl.col("severity").is_not_null())
    if rows["rater"].n_unique() <= 1:  # one row an answer already
        return rows.select(*KEY, "severity", pl.lit(1, dtype=pl.UInt32).alias("raters"))
    items = rows["item"].unique().to_list()
    turn = pl.DataFrame({"item": items, "turn": [crc32(item.encode()) for item in items]})
    rated = rows.group_by(KEY, maintain_order=True).agg(pl.col("severity").sort_by("rater", maintain_order=True))
    rated = rated.join(turn, on="item", how="left", maintain_order="left")
    given, order = pl.col("severity"), pl.col("severity").list.sort()
    rated = rated.select(
        *KEY,
        given.list.len().alias("raters"),
        given.list.get(pl.col("turn") % given.list.len()).alias("own"),
        order.list.get((given.list.len() - 1) // 2).alias("low"),
        order.list.get(given.list.len() // 2).alias("high"),
    )
    low, high = pl.col("low"), pl.col("high")
    is_even = ((low == 0) & (high > 0)) | ((low < CATASTROPHIC) & (high >= CATASTROPHIC))
    named = pl.when(pl.col("own") >= high).then(high).otherwise(low)
    return rated.select(*KEY, pl.when(is_even).then(named).otherwise((low + high) / 2).alias("severity"), "raters")


def counting_kind(ratings: pl.DataFrame, wanted: str | None, name: str, *, has_labelled_grades: bool) -> str | None:
    """Whose severities count: the kind named, else the table's own, else the kind that rated most answers.

    With `has_labelled_grades` rules or judges may have given grades and no severities: then none count.
    """
    rated = ratings.filter(pl.col("severity").is_not_null())
    counts = dict(rated.group_by("kind").agg(pl.struct(KEY).n_unique()).iter_rows())
    if wanted is not None:
        if has_labelled_grades and wanted != "human" and wanted not in counts:
            return None
        if counts and wanted not in counts:
            raise InputError(f"{name} holds no {wanted} ratings.", remedy=f"It has {', '.join(sorted(counts))}.")
        if not counts:
            raise InputError(f"{name} holds no {wanted} ratings.", remedy="Leave out --ratings, or rate its answers.")
        return wanted
    return "given" if "given" in counts else most_rated(counts)


def most_rated(counts: Mapping[str, int]) -> str | None:
    """The kind that rated most answers, of equals people, judges, rules; None where nobody did."""
    return max((k for k in KINDS if k in counts), key=lambda k: counts[k], default=None)


# ------------------------------------------------------------------ views

CATASTROPHIC = METRICS["catastrophic_rate"].at or 3.0  # the severity from which an answer is catastrophic


def _of_severity(metric: Metric) -> pl.Expr:
    """A measure's value as the severity of an answer says it."""
    if metric.name == "accuracy":
        return pl.col("severity") == 0
    return pl.col("severity") if metric.at is None else pl.col("severity") >= metric.at


def _is_correctable(metric: Metric) -> bool:
    """Whether a severity that people give says the measure's value."""
    return metric.estimator == "mean" and (metric.name == "accuracy" or metric.source == "severity")


def _measures(tables: Dataset) -> list[str]:
    """What outcomes can be had of, to be named to whoever asked for another."""
    found = tables.scores["metric"].unique(maintain_order=True).to_list() or ["no scores"]
    found += ["severities"] if tables.counting else []
    found += ["ece"] if tables.scores["confidence"].null_count() < len(tables.scores) else []
    return found + [m.name for m in METRICS.values() if m.is_cost and tables.answers[m.column].drop_nulls().len()]


def all_failed_error(tables: Dataset) -> InputError | None:
    """The error of a log or run of which every call failed; None of any other."""
    calls = len(tables.answers)
    if not calls or (tables.answers["error"].fill_null("") == "").any():
        return None
    what = "The only call" if calls == 1 else f"All {calls:,} calls"
    return InputError(
        f"{what} in {tables.name} failed, so there is no answer.", remedy="Ask again, or run the eval again."
    )


def outcomes(tables: Dataset, metric: str) -> Outcomes:
    """One metric, a row for every answer that has a value; how many have none is in the notes.

    `accuracy`, `mean_score` and other scores by their name come from the scores; `mean_severity` and
    `catastrophic_rate` (a severity of 3 or more) from `severity_of`; `refusal_rate`, `tokens` (of the answer),
    `latency` and `money` from answers that came, `failure_rate` from all.
    """
    rows, described = _rows(tables, metric)
    have = rows.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    if have.is_empty():
        raise all_failed_error(tables) or InputError(
            f"There are no values of {metric} in {tables.name}.", remedy=f"There are {', '.join(_measures(tables))}."
        )
    names = pl.Enum(tables.conditions)
    runs = tables.answers.select(*KEY, "run") if tables.answers["run"].null_count() < len(tables.answers) else None
    run_names: tuple[str, ...] = ()
    run: Indices | None = None
    if runs is not None:
        own = have.join(runs, on=KEY, how="left", maintain_order="left")["run"].fill_null("")
        run_names = tuple(own.unique(maintain_order=True).to_list())
        run = own.cast(pl.Enum(run_names)).to_physical().to_numpy().astype(np.intp)
    lost = len(rows) - len(have)
    labels, notes = _labels(tables, described, have)
    return Outcomes(
        metric=described,
        items=tables.item_ids,
        conditions=tables.conditions,
        item=tables.item_codes(have["item"]),
        condition=have["condition"].cast(names).to_physical().to_numpy().astype(np.intp),
        value=have["value"].to_numpy(),
        draw=have["draw"].to_numpy().astype(np.intp) if have["draw"].max() else None,
        run=run,
        runs=run_names,
        judges=judges_of(tables, metric),
        notes=(
            *tables.notes,
            *([Note(f"{counted(lost, 'answer has', 'answers have')} no {described.noun}", "no value")] if lost else []),
            *notes,
        ),
        **labels,
        **_of_items(_first_rows(tables)),
    )


def _first_rows(tables: Dataset) -> pl.DataFrame:
    """The first answer of each item, by item, with what is the item's own."""
    return tables.answers.select("item", "group", "group_2", "domain", "weight")[tables.first_answers]


# names of scores that say that a model gave them
_JUDGE = re.compile(
    r"model[-_ ]?graded|\bllm[-_ ]?(?:as|judge|rubric|grad|eval|score)|judge|\bg[-_ ]?eval|rubric|factuality"
    r"|closed[-_ ]?qa|faithfulness|answer[-_ ]?relevan|hallucination|^(?:column )?(?:gpt|claude|gemini)[-_ \d]",
    re.IGNORECASE,
)


def judges_of(tables: Dataset, metric: str) -> tuple[str, ...]:
    """Who graded by this metric, where judge models did: raters of that kind, else scores whose names say it.

    Of a score that joins several (promptfoo's `pass`), its parts are looked at. Right and wrong that follow from
    severities are the raters'.
    """
    row = METRICS.get(metric)
    if (row is not None and row.source == "severity") or (metric == "accuracy" and not tables.scored_by):
        raters = tables.ratings.filter(pl.col("kind") == "judge")["rater"].unique().sort()
        return tuple(raters) if tables.counting == "judge" else ()
    if metric not in ("accuracy", "mean_score", "win_rate"):
        return (metric,) if _JUDGE.search(metric) and (tables.scores["metric"] == metric).any() else ()
    names = (*tables.scored_by, *_joined_scores(tables))
    named = [name.removeprefix("column ") for name in names if _JUDGE.search(name)]
    return tuple(dict.fromkeys((*named, *tables.graded_by)))


def _joined_scores(tables: Dataset) -> list[str]:
    """The scores that the main one joins, without its name before them."""
    main = tuple(f"{own}/" for own in tables.scored_by)
    parts = [name for name in tables.scores["metric"].unique().sort() if name.startswith(main)]
    return [name.partition("/")[2].partition(" ")[2] or name for name in parts]


def _has_labels(tables: Dataset) -> bool:
    """Whether people labelled some answers."""
    return bool((tables.ratings["kind"] == "human").any()) or tables.answers["human"].count() > 0


def is_label_sample(tables: Dataset) -> bool:
    """Whether people rated a drawn sample of answers that something else graded: labels that stand for all answers."""
    if tables.counting != "human" or not tables.scored_by or tables.reading.ratings is not None:
        return False
    people = tables.ratings.filter(pl.col("kind") == "human", pl.col("severity").is_not_null())
    graded = tables.scores.filter(pl.col("metric") == "accuracy", pl.col("value").is_not_null()).select(KEY)
    rated = graded.join(people, on=KEY, how="semi")
    is_drawn = people["inclusion"].null_count() < len(people)
    return is_drawn and 0 < rated.height < graded.height


def _labels(tables: Dataset, metric: Metric, have: pl.DataFrame) -> tuple[dict[str, Any], list[str]]:
    """What people say of the answers, by row, and the strata in which these were drawn; empty where they graded all.

    Of several people the median counts, of severities as of decisions on right or wrong: two who differ make an answer
    half wrong, and a third settles it. Labels are a random sample of each stratum where the stratum of every answer is
    known; else they weigh by the chance of each, where every labelled answer's is known. Without either they are taken
    as one random sample, with a note. Where they were drawn by stratum and some strata are not known, labels stand for
    nothing: `label_fault` says so, and a check blocks what they should correct. Labels of answers that were not drawn
    (given of somebody's own accord) are left out and counted.
    """
    is_theirs = metric.source == "severity" or not tables.scored_by  # values that people gave need no correction
    if not _is_correctable(metric) or (tables.counting == "human" and is_theirs and not is_label_sample(tables)):
        return {}, []
    if tables.reading.ratings is not None:
        return {}, [f"Human labels are left aside (--ratings {tables.reading.ratings})."] * _has_labels(tables)
    people = tables.ratings.filter(pl.col("kind") == "human", pl.col("severity").is_not_null())
    if people.is_empty() and metric.name == "accuracy":  # a column `human`: 1 right, 0 wrong, empty where nobody looked
        graded = tables.answers.filter(pl.col("human").is_not_null())
        people = graded.select(*KEY, (1 - pl.col("human")).alias("severity"), pl.lit(None).alias("inclusion"))
    if people.is_empty():
        return {}, []
    value_of_each = _of_severity(metric).cast(pl.Float64)
    label = people.group_by(KEY).agg(value_of_each.median().alias("severity"), pl.col("inclusion").max().alias("drawn"))
    rows = have.select(*KEY).join(label, on=KEY, how="left", maintain_order="left")
    rows = rows.join(tables.answers.select(*KEY, "layer", "inclusion"), on=KEY, how="left", maintain_order="left")
    rows = rows.with_columns(pl.coalesce("inclusion", "drawn").alias("drawn"))
    has_label = pl.col("severity").is_not_null()
    notes: list[str] = []
    if rows["layer"].null_count() == 0 and rows.filter(has_label)["drawn"].count():
        own = rows.filter(has_label & pl.col("drawn").is_null()).height
        rows = rows.with_columns(pl.when(pl.col("drawn").is_not_null()).then("severity").alias("severity"))
        notes = [f"{counted(own, 'label')} of answers that were not drawn for labelling are left out"] if own else []
    value = rows["severity"].fill_null(float("nan")).to_numpy()
    labels: dict[str, Any] = {"label": value, "is_proxy": metric.source == "severity" and tables.counting == "human"}
    return labels | _label_design(rows, has_label), notes


def _label_design(rows: pl.DataFrame, has_label: pl.Expr) -> dict[str, Any]:
    """How labels were drawn: every answer's stratum, or chance, or why labels stand for nothing; empty: at random."""
    drawn = rows.filter(has_label)
    if rows["layer"].null_count() == 0:
        return {"layer": (rows["layer"].rank("dense") - 1).to_numpy().astype(np.intp)}
    if len(drawn) and drawn["drawn"].null_count() == 0:
        known = rows["inclusion"].null_count() == 0
        if not known and drawn["drawn"].n_unique() == 1:
            return {}
        return {"chance": (rows["inclusion"] if known else rows["drawn"]).fill_null(float("nan")).to_numpy()}
    if drawn["drawn"].n_unique() > 1 or drawn["layer"].n_unique() > 1:
        return {"label_fault": "human labels were drawn by stratum, and of some answers the stratum is not known"}
    return {}


def _rows(tables: Dataset, name: str) -> tuple[pl.DataFrame, Metric]:
    """The rows of one measure with their `value`, and its metric."""
    metric = METRICS.get(name)
    failed = pl.col("error").fill_null("") != ""
    if metric is not None and metric.source == "severity":
        metric = tables.on_scale(metric)
        return _severity_rows(tables, metric), metric
    if metric is not None and metric.source == "failure":
        return tables.answers.select(*KEY, failed.cast(pl.Float64).alias("value")), metric
    if metric is not None and metric.source == "answer":
        came = tables.answers.filter(~failed)
        return came.select(*KEY, pl.col(metric.column).cast(pl.Float64).alias("value")), metric
    rows = tables.scores.filter(pl.col("metric") == name)
    if metric is not None and metric.source == "column":  # its row says its range and its direction
        return rows, metric
    if rows.is_empty() or name == "accuracy":
        return rows, metric or METRICS["mean_score"]
    metric = metric or dataclasses.replace(METRICS["mean_score"], name=name, noun=name)
    kind, low, high, better = rows.select("kind", "low", "high", "better").row(0)
    return rows, dataclasses.replace(metric, kind=kind, low=low, high=high, better=better)


def _severity_rows(tables: Dataset, metric: Metric) -> pl.DataFrame:
    """The rows of a measure of severity with their `value`."""
    if metric.estimator == "mean" and is_label_sample(tables):
        # right or wrong is all that is known of every answer: labels say how severe either is
        wrong = (1 - pl.col("value")) * (1.0 if metric.worst is None else metric.worst)
        return tables.scores.filter(pl.col("metric") == "accuracy").with_columns(wrong.alias("value"))
    return severity_of(tables).select(*KEY, _of_severity(metric).cast(pl.Float64).alias("value"))


def _of_items(first: pl.DataFrame) -> dict[str, Any]:
    """Group, stratum (the domain) and weight of each item; an item that names no group is one of its own."""
    found: dict[str, Any] = {}
    for name in ("group", "group_2"):
        if name in first.columns and first[name].null_count() < len(first):
            found[name] = _codes(first[name], first["item"])
    if first["domain"].null_count() < len(first):
        domain = first["domain"].fill_null("")
        found["strata"] = tuple(domain.unique().sort().to_list())
        found["stratum"] = domain.cast(pl.Enum(found["strata"])).to_physical().to_numpy().astype(np.intp)
    if first["weight"].null_count() < len(first):
        found["weight"] = first["weight"].fill_null(float("nan")).to_numpy()
    return found


class SeverityScores(NamedTuple):
    """Severities of items (rows) under conditions (columns), NaN where not rated; each item's domain and tier."""

    items: tuple[str, ...]
    conditions: tuple[str, ...]
    severity: Floats
    domain: NDArray[np.str_] | None
    tier: Ints | None


def severity_scores(tables: Dataset) -> SeverityScores:
    """The severities of first draws as items x conditions, with the items' domains and tiers."""
    found = severity_of(tables).filter(pl.col("draw") == 0)
    if found.is_empty():
        ends = "RIGHT:WORST"
        if tables.metric == "mean_score":
            low, high, better = tables.scores.select("low", "high", "better").row(0)
            right, worst = (high, low) if better == "higher" else (low, high)
            ends += f", here perhaps --as-severity {right + 0.0:g}:{worst + 0.0:g}"
        raise InputError(
            f"{tables.name} holds no severities.",
            remedy=f"Rate its answers (richter audit --only judge), or say what its scores mean: --as-severity {ends}",
        )
    items = tuple(found["item"].unique().sort().to_list())
    conditions = tuple(name for name in tables.conditions if name in set(found["condition"].unique()))
    row, column = (
        found[name].cast(pl.Enum(order)).to_physical().to_numpy().astype(np.intp)
        for name, order in (("item", items), ("condition", conditions))
    )
    severity = np.full((len(items), len(conditions)), np.nan)
    severity[row, column] = found["severity"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    first = tables.answers.filter(pl.col("draw") == 0).join(found, on=KEY, how="semi", maintain_order="left")
    of_item = pl.DataFrame({"item": items}).join(
        first.unique("item", keep="first"), on="item", how="left", maintain_order="left"
    )
    domain = of_item["domain"]
    return SeverityScores(
        items=items,
        conditions=conditions,
        severity=severity,
        domain=None if domain.null_count() == len(domain) else domain.fill_null("").to_numpy().astype(np.str_),
        tier=_tiers(of_item["tier"], tables.name),
    )


def _codes(group: pl.Series, item: pl.Series) -> Indices:
    """Each item's group as a code; an item that names none is one of its own."""
    named = pl.select(pl.when(group.is_null()).then("item\0" + item).otherwise("group\0" + group)).to_series()
    return (named.rank("dense") - 1).to_numpy().astype(np.intp)


def _tiers(text: pl.Series, name: str) -> Ints | None:
    if text.null_count() == len(text):
        return None
    plain = text.fill_null("").str.strip_chars().str.strip_prefix("T").str.strip_prefix("t")
    tiers = plain.cast(pl.Float64, strict=False)
    bad = text.filter(tiers.is_null() & (plain != ""))
    if len(bad):
        raise InputError(f"{name}: the tier {bad[0]!r} is not a number.", remedy="Tiers run from 1 to 5.")
    return tiers.fill_null(0.0).to_numpy().astype(np.int64)


class ItemCodes(NamedTuple):
    """A code for every item, and the names that they stand for."""

    codes: Indices
    names: tuple[str, ...]


def item_codes(tables: Dataset, column: str) -> ItemCodes:
    """What a column says of every item, as codes in the order of `item_ids`, and the names that they stand for."""
    if column not in ("domain", "tier", "group"):
        raise InputError(f"Items have no {column}.", remedy="Use domain, tier or group, or name a column of the file.")
    first = tables.answers.select("item", column).unique("item", keep="first", maintain_order=True).sort("item")
    values = first[column].cast(pl.String)
    if values.null_count() == len(values):
        raise InputError(
            f"{tables.name} has no {column}.", remedy="Give a table with that column, or say which with --map."
        )
    filled = values.fill_null("(none)")
    names = tuple(filled.unique().sort().to_list())
    return ItemCodes(filled.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.intp), names)


def question_codes(tables: Dataset) -> Indices | None:
    """Items x conditions: a code of the question's text in each condition's own source, -1 where it is not known."""
    if not any(tables.asked.get(name) for name in tables.conditions):
        return None
    found = np.full((len(tables.item_ids), len(tables.conditions)), -1, dtype=np.intp)
    codes: dict[str, int] = {}
    columns: dict[int, int] = {}  # of a source that several conditions share: its first column
    for k, name in enumerate(tables.conditions):
        items = tables.asked.get(name)
        if not items:
            continue
        if id(items) in columns:
            found[:, k] = found[:, columns[id(items)]]
            continue
        columns[id(items)] = k
        for i, item in enumerate(tables.item_ids):
            text = " ".join(items[item].prompt.split()) if item in items else ""
            if text:
                found[i, k] = codes.setdefault(text, len(codes))
    return found if codes else None


def chance_of(tables: Dataset) -> float | None:
    """The share of right answers by guessing, where every item has its options; None where that is not known."""
    if not tables.items:
        return None
    options = [len(tables.items[i].options) for i in tables.item_ids if i in tables.items]
    if len(options) < len(tables.item_ids) or not options or min(options) < 2:
        return None
    return float(np.mean(1 / np.array(options)))


def scores_table(tables: Dataset) -> pl.DataFrame:
    """`item`, `condition`, `severity`, `domain`, `tier` of first answers, and two raters' own where there are two."""
    first = tables.first_draws()
    found = severity_of(first).drop("draw", "raters")
    if found.is_empty():
        raise InputError(
            f"{tables.name} holds no severities.", remedy="Run `richter audit --only judge` or `richter label` first."
        )
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RatingsFile:
    """Ratings, and what stands beside them that says how to group them and how answers were drawn for rating."""

    ratings: tuple[Rating, ...]
    domains: dict[str, str]  # item -> domain
    strata: dict[tuple[str, str, int], str]  # (item, condition, draw) -> stratum of the label sample


def ratings_of(tables: Dataset) -> RatingsFile:
    """Every rater's own rating; one without a severity is a rater that failed to give one."""
    names = [f.name for f in dataclasses.fields(Rating) if f.name in tables.ratings.columns]
    rows = tables.ratings.filter(pl.col("kind") != "given").select(names)
    rows = rows.with_columns(pl.col("mechanism", "reason").fill_null(""))
    answers = tables.answers
    layers = answers.filter(pl.col("layer").is_not_null()).select(*KEY, "layer") if "layer" in answers.columns else None
    if layers is not None and layers.is_empty() and answers["inclusion"].null_count() == 0:
        layers = answers.select(*KEY, pl.col("inclusion").cast(pl.String))  # answers of one chance are a stratum
    return RatingsFile(
        ratings=tuple(Rating(**row) for row in rows.iter_rows(named=True)),
        domains=dict(answers.filter(pl.col("domain").is_not_null()).select("item", "domain").iter_rows()),
        strata={} if layers is None else {(i, c, d): layer for i, c, d, layer in layers.iter_rows()},
    )
