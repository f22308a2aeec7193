"""Answers, scores and ratings: the tables that every source becomes, and the one rule for an answer's severity."""

import dataclasses
import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from richter.errors import InputError
from richter.interop import RatingKind
from richter.records import Better, Item, printable
from richter.store import Place

__all__ = ["KEY", "ReadOptions", "Tables", "most_rated", "severity_of"]

KEY = ("item", "condition", "draw")
_KEY = {"item": pl.String, "condition": pl.String, "draw": pl.Int64}
ANSWERS: dict[str, type[pl.DataType]] = {
    **_KEY, "run": pl.String, "text": pl.String, "error": pl.String, "refused": pl.Boolean, "tokens_in": pl.Int64,
    "tokens_out": pl.Int64, "money_usd": pl.Float64, "latency_s": pl.Float64, "finish": pl.String, "group": pl.String,
    "domain": pl.String, "tier": pl.String, "weight": pl.Float64, "cluster": pl.String, "clustered_by": pl.String,
    "human_cluster": pl.String,
    "token_probability": pl.Float64, "layer": pl.String, "human": pl.Float64,
}  # fmt: skip
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
    takes severities above 4 as they stand, more being worse.
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tables:
    """All that was read: one row per item, condition and draw in `answers`, `scores` and `ratings` on the same key.

    `scores` begins with the main metric: `accuracy` (0 or 1), or `mean_score` where a score has steps or a range; it
    has a row for every answer that came, with a null value where it was not graded. `conditions` stand in the order
    given. `understood` says in one line what was read, `basis` who graded, `scored_by` what the scores are
    of (nothing where right and wrong follow from severities), `counting` the kind of rating that counts.
    `asked` are the items as the source of each condition has them: two sources may have one id for two questions.
    `places` are the files and runs that were read.
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
    counting: Literal["given", "human", "judge", "rule"] | None = None
    reading: ReadOptions = ReadOptions()
    places: tuple[Place, ...] = ()

    @property
    def metric(self) -> str | None:
        """The main metric: of the scores the first, else the severities; None where nothing is graded."""
        if len(self.scores):
            return str(self.scores["metric"][0])
        return "mean_severity" if self.counting else None

    @functools.cached_property
    def item_ids(self) -> tuple[str, ...]:
        """The items by name."""
        return tuple(self.answers["item"].unique().sort().to_list())

    def select(self, conditions: Sequence[str]) -> "Tables":
        """Only these conditions, in this order."""
        unknown = [n for n in conditions if n not in self.conditions]
        if unknown:
            raise InputError(
                f"No condition is named {', '.join(printable(n) for n in unknown)}.",
                remedy=f"There are {', '.join(printable(n) for n in self.conditions)}.",
            )
        if len(set(conditions)) < len(conditions):
            raise InputError("A condition is named twice.", remedy="Name different conditions.")
        kept = {n: getattr(self, n).filter(pl.col("condition").is_in(list(conditions)))
                for n in ("answers", "scores", "ratings")}  # fmt: skip
        return dataclasses.replace(self, conditions=tuple(conditions), **kept)

    def first_draws(self) -> "Tables":
        """The same with one answer an item and condition."""
        kept = {n: getattr(self, n).filter(pl.col("draw") == 0) for n in ("answers", "scores", "ratings")}
        return dataclasses.replace(self, **kept)

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
        items = np.sort(np.asarray(self.item_ids, dtype=object))
        names = sorted(self.conditions)
        digest.update(repr(names).encode() + "\0".join(items).encode())
        enums = {"item": pl.Enum(items.tolist()), "condition": pl.Enum(names)}
        failed = pl.col("error").fill_null("") != ""
        for frame in (
            self.answers.select(*KEY, "run", failed, "group", "domain", "weight", "tokens_out", "money_usd"),
            self.scores.select(*KEY, "metric", "value", "confidence", "low", "high", "better"),
            self.ratings.select(*KEY, "rater", "kind", "severity", "mechanism"),
        ):
            coded = frame.with_columns(
                pl.col("item").cast(enums["item"]).to_physical(), pl.col("condition").cast(enums["condition"])
            )
            order = [c for c in ("condition", "item", "draw", "metric", "kind", "rater") if c in coded.columns]
            for column in coded.sort(order).iter_columns():
                digest.update(column.name.encode())
                if column.null_count() == len(column):
                    continue
                if column.dtype.is_numeric():
                    digest.update(column.cast(pl.Float64).fill_null(float("nan")).to_numpy().tobytes())
                else:
                    once = column.cast(pl.String).fill_null("").rle()
                    digest.update(np.ascontiguousarray(once.struct.field("len").to_numpy()).tobytes())
                    digest.update("\0".join(once.struct.field("value").to_list()).encode())
        return digest.hexdigest()[:16]


def severity_of(tables: Tables) -> pl.DataFrame:
    """The severity of every rated answer: item, condition, draw, severity, raters.

    It is the median over the raters of the kind that counts (of two raters, their mean): the kind named by `ratings`,
    else a table's own column, else the kind that rated most answers (of equals people, judges, rules). Kinds never
    mix. A rater who gave no severity does not count.
    """
    rows = tables.ratings.filter(pl.col("kind") == (tables.counting or ""), pl.col("severity").is_not_null())
    if rows["rater"].n_unique() <= 1:  # one row an answer already
        return rows.select(*KEY, "severity", pl.lit(1, dtype=pl.UInt32).alias("raters"))
    return rows.group_by(KEY, maintain_order=True).agg(pl.col("severity").median(), pl.len().alias("raters"))


def counting_kind(ratings: pl.DataFrame, wanted: str | None, name: str) -> str | None:
    """Whose severities count: the kind named, else the table's own, else the kind that rated most answers."""
    rated = ratings.filter(pl.col("severity").is_not_null())
    counts = dict(rated.group_by("kind").agg(pl.struct(KEY).n_unique()).iter_rows())
    if wanted is not None:
        if counts and wanted not in counts:
            raise InputError(f"{name} holds no {wanted} ratings.", remedy=f"It has {', '.join(sorted(counts))}.")
        if not counts:
            raise InputError(f"{name} holds no {wanted} ratings.", remedy="Leave out --ratings, or rate its answers.")
        return wanted
    return "given" if "given" in counts else most_rated(counts)


def most_rated(counts: Mapping[str, int]) -> str | None:
    """The kind that rated most answers, of equals people, judges, rules; None where nobody did."""
    return max((k for k in KINDS if k in counts), key=lambda k: counts[k], default=None)
