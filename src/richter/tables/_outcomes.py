"""One metric of the tables as outcomes on units, and severities as the arrays that the room `severity` works on."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.claims import METRICS, Outcomes, passes
from richter.errors import InputError
from richter.stats import Floats, Indices, Ints
from richter.tables._tables import KEY, Tables, severity_of

if TYPE_CHECKING:
    from richter.severity import Scores

__all__ = ["CATASTROPHIC", "chance_of", "item_codes", "judges_of", "outcomes", "question_codes", "severity_scores"]

CATASTROPHIC = 3.0  # the severity from which an answer is catastrophic, on 0..4
_OF_ANSWERS = {"tokens": "tokens_out", "latency": "latency_s", "money": "money_usd"}


# how a severity that people give speaks of each metric
_LABELLED = {
    "accuracy": pl.col("severity") == 0,
    "mean_severity": pl.col("severity"),
    "catastrophic_rate": pl.col("severity") >= CATASTROPHIC,
}


def outcomes(tables: Tables, metric: str) -> Outcomes:
    """One metric, a row for every answer that has a value; how many have none is in the notes.

    `accuracy`, `mean_score` and other scores by their name come from the scores; `mean_severity` and
    `catastrophic_rate` (a severity of 3 or more) from `severity_of`; `refusal_rate`, `tokens` (of the answer),
    `latency` and `money` from answers that came, `failure_rate` from all; `pass@K` and `pass^K` from draws.
    """
    tries = re.fullmatch(r"pass([@^])([1-9]\d{0,5})", metric)
    if tries:
        return passes(outcomes(tables, "accuracy"), int(tries[2]), every=tries[1] == "^")
    rows, described = _rows(tables, metric)
    have = rows.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    if have.is_empty():
        there = ", ".join(tables.scores["metric"].unique(maintain_order=True).to_list()) or "no scores"
        raise InputError(
            f"{tables.name} has no values of {metric}.",
            remedy=f"It has {there}{' and severities' if tables.counting else ''}.",
        )
    items, names = pl.Enum(tables.item_ids), pl.Enum(tables.conditions)
    first = tables.answers.unique("item", keep="first", maintain_order=True).sort("item")
    runs = tables.answers.select(*KEY, "run") if tables.answers["run"].null_count() < len(tables.answers) else None
    run_names: tuple[str, ...] = ()
    run: Indices | None = None
    if runs is not None:
        own = have.join(runs, on=KEY, how="left", maintain_order="left")["run"].fill_null("")
        run_names = tuple(own.unique(maintain_order=True).to_list())
        run = own.cast(pl.Enum(run_names)).to_physical().to_numpy().astype(np.intp)
    lost = len(rows) - len(have)
    labels, said = _labels(tables, metric, have)
    return Outcomes(
        metric=described,
        items=tables.item_ids,
        conditions=tables.conditions,
        item=have["item"].cast(items).to_physical().to_numpy().astype(np.intp),
        condition=have["condition"].cast(names).to_physical().to_numpy().astype(np.intp),
        value=have["value"].to_numpy(),
        draw=have["draw"].to_numpy().astype(np.intp) if have["draw"].max() else None,
        run=run,
        runs=run_names,
        judges=judges_of(tables, metric),
        notes=(*tables.notes, *([f"{lost:,} answers have no {described.noun}"] if lost else []), *said),
        **labels,
        **_of_items(first),
    )


# names of scores that say that a model gave them
_JUDGE = re.compile(
    r"model[-_ ]?graded|\bllm[-_ ]?(?:as|judge|rubric|grad|eval|score)|judge|\bg[-_ ]?eval|rubric|factuality"
    r"|closed[-_ ]?qa|faithfulness|answer[-_ ]?relevan|hallucination|^(?:column )?(?:gpt|claude|gemini)[-_ \d]",
    re.IGNORECASE,
)


def judges_of(tables: Tables, metric: str) -> tuple[str, ...]:
    """Who graded by this metric, where judge models did: raters of that kind, else scores whose names say it.

    Of a score that joins several (promptfoo's `pass`), its parts are looked at. Right and wrong that follow from
    severities are the raters'.
    """
    if metric in ("mean_severity", "catastrophic_rate") or (metric in _LABELLED and not tables.scored_by):
        if tables.counting != "judge":
            return ()
        return tuple(tables.ratings.filter(pl.col("kind") == "judge")["rater"].unique().sort().to_list())
    if metric not in ("accuracy", "mean_score"):
        return (metric,) if _JUDGE.search(metric) and (tables.scores["metric"] == metric).any() else ()
    parts = [name.partition("/")[2].partition(" ")[2] or name for name in tables.scores["metric"].unique().sort()
             if name.startswith(tuple(f"{own}/" for own in tables.scored_by))]  # fmt: skip
    named = [name.removeprefix("column ") for name in (*tables.scored_by, *parts) if _JUDGE.search(name)]
    return tuple(dict.fromkeys(named))


def _labels(tables: Tables, metric: str, have: pl.DataFrame) -> tuple[dict[str, Any], list[str]]:
    """What people say of the answers, by row, and the strata in which these were drawn; empty where they graded all.

    Of several people the median counts. Where it is known how answers were drawn for people, labels of others (given
    of somebody's own accord) stand for none but themselves: they are left out and counted.
    """
    if metric not in _LABELLED or tables.counting == "human":
        return {}, []
    people = tables.ratings.filter(pl.col("kind") == "human", pl.col("severity").is_not_null())
    if people.is_empty() and metric == "accuracy":  # a column `human`: 1 right, 0 wrong, empty where nobody looked
        graded = tables.answers.filter(pl.col("human").is_not_null())
        people = graded.select(*KEY, (1 - pl.col("human")).alias("severity"), pl.lit(None).alias("inclusion"))
    if people.is_empty():
        return {}, []
    label = people.group_by(KEY).agg(pl.col("severity").median(), pl.col("inclusion").max())
    layer = tables.answers.select(*KEY, "layer")
    rows = have.select(*KEY).join(label, on=KEY, how="left", maintain_order="left")
    rows = rows.join(layer, on=KEY, how="left", maintain_order="left")
    drawn, said = rows["layer"].null_count() == 0, []
    if not drawn and rows.filter(pl.col("severity").is_not_null())["inclusion"].n_unique() > 1:
        why = "people's labels were drawn with different chances, and of some answers the stratum is not known"
        return {}, [f"{why}: labels correct nothing"]
    if drawn:
        own = int((rows["severity"].is_not_null() & rows["inclusion"].is_null()).sum())
        rows = rows.with_columns(pl.when(pl.col("inclusion").is_not_null()).then(pl.col("severity")).alias("severity"))
        said = [f"{own:,} labels of answers that were not drawn for labelling are left out"] if own else []
    value = rows.select(_LABELLED[metric]).to_series().cast(pl.Float64).fill_null(float("nan")).to_numpy()
    found: dict[str, Any] = {"label": value}
    if drawn:
        found["layer"] = (rows["layer"].rank("dense") - 1).to_numpy().astype(np.intp)
    return found, said


def _rows(tables: Tables, metric: str) -> tuple[pl.DataFrame, Any]:
    answers = tables.answers
    came = answers.filter(pl.col("error").fill_null("") == "")
    if metric in ("mean_severity", "catastrophic_rate"):
        value = (
            pl.col("severity") if metric == "mean_severity" else (pl.col("severity") >= CATASTROPHIC).cast(pl.Float64)
        )
        return severity_of(tables).select(*KEY, value.alias("value")), METRICS[metric]
    if metric == "failure_rate":
        return answers.select(*KEY, (pl.col("error").fill_null("") != "").cast(pl.Float64).alias("value")), METRICS[
            metric
        ]
    if metric == "refusal_rate":
        return came.select(*KEY, pl.col("refused").cast(pl.Float64).alias("value")), METRICS[metric]
    if metric in _OF_ANSWERS:
        return came.select(*KEY, pl.col(_OF_ANSWERS[metric]).cast(pl.Float64).alias("value")), METRICS[metric]
    rows = tables.scores.filter(pl.col("metric") == metric)
    if rows.is_empty():
        return rows, METRICS.get(metric, METRICS["mean_score"])
    known = METRICS.get(metric) or dataclasses.replace(METRICS["mean_score"], name=metric, noun=metric)
    if metric == "accuracy":
        return rows, known
    kind, low, high, better = rows.select("kind", "low", "high", "better").row(0)
    return rows, dataclasses.replace(known, kind=kind, low=low, high=high, better=better)


def _of_items(first: pl.DataFrame) -> dict[str, Any]:
    """Group, stratum (the domain) and weight of each item; an item that names no group is one of its own."""
    found: dict[str, Any] = {}
    if first["group"].null_count() < len(first):
        # an item's own name, marked, keeps the unnamed apart from every named group
        alone = pl.concat_str(pl.lit("item\0"), "item")
        named = first.select(
            pl.when(pl.col("group").is_null()).then(alone).otherwise(pl.concat_str(pl.lit("group\0"), "group"))
        )
        found["group"] = (named.to_series().rank("dense") - 1).to_numpy().astype(np.intp)
    if first["domain"].null_count() < len(first):
        domain = first["domain"].fill_null("")
        found["strata"] = tuple(domain.unique().sort().to_list())
        found["stratum"] = domain.cast(pl.Enum(found["strata"])).to_physical().to_numpy().astype(np.intp)
    if first["weight"].null_count() < len(first):
        found["weight"] = first["weight"].fill_null(float("nan")).to_numpy()
    return found


def severity_scores(tables: Tables) -> Scores:
    """The severities of first draws as items x conditions, with groups, domains, tiers and all raters' own scores."""
    from richter.severity import Scores  # here, since it loads numba, which other tables need not wait for

    found = severity_of(tables).filter(pl.col("draw") == 0)
    if found.is_empty():
        ends = "RIGHT:WORST"
        if tables.metric == "mean_score":
            low, high, better = tables.scores.select("low", "high", "better").row(0)
            right, worst = (high, low) if better == "higher" else (low, high)
            ends += f", here perhaps --as-severity {right + 0.0:g}:{worst + 0.0:g}"
        raise InputError(
            f"{tables.name} holds no severities.",
            remedy=f"Rate its answers (richter judge), or say what its scores mean: --as-severity {ends}",
        )
    items = tuple(found["item"].unique().sort().to_list())
    conditions = tuple(name for name in tables.conditions if name in set(found["condition"].unique()))
    shape = (len(items), len(conditions))

    def place(frame: pl.DataFrame) -> tuple[Indices, Indices]:
        return tuple(  # type: ignore[return-value]
            frame[name].cast(pl.Enum(order)).to_physical().to_numpy().astype(np.intp)
            for name, order in (("item", items), ("condition", conditions))
        )

    def grid(frame: pl.DataFrame, column: str) -> Floats:
        out = np.full(shape, np.nan)
        out[place(frame)] = frame[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return out

    first = tables.answers.filter(pl.col("draw") == 0).join(found, on=KEY, how="semi", maintain_order="left")
    of_item = pl.DataFrame({"item": items}).join(
        first.unique("item", keep="first"), on="item", how="left", maintain_order="left"
    )
    judges, judge_names = _judges(tables, items, conditions, place)
    group = of_item["group"]
    domain = of_item["domain"]
    return Scores(
        items=items,
        conditions=conditions,
        severity=grid(found, "severity"),
        domain=None if domain.null_count() == len(domain) else domain.fill_null("").to_numpy().astype(np.str_),
        tier=_tiers(of_item["tier"], tables.name),
        judges=judges,
        judge_names=judge_names,
        groups=None if group.null_count() == len(group) else _codes(group, of_item["item"]),
        length=grid(first, "tokens_out") if first["tokens_out"].null_count() < len(first) else None,
    )


def _judges(
    tables: Tables, items: tuple[str, ...], conditions: tuple[str, ...], place: Any
) -> tuple[Floats | None, NDArray[np.str_] | None]:
    kind = "judge" if tables.counting == "given" else tables.counting
    rows = tables.ratings.filter(
        pl.col("kind") == (kind or ""), pl.col("draw") == 0, pl.col("item").is_in(list(items))
    ).with_columns(pl.int_range(pl.len()).over(KEY).alias("place"))
    if not (rows["place"] > 0).any():
        return None, None
    raters = int(rows["place"].max()) + 1  # type: ignore[arg-type]
    shape = (raters, len(items), len(conditions))
    scores, names = np.full(shape, np.nan), np.full(shape, "", dtype=object)
    for k in range(raters):
        own = rows.filter(pl.col("place") == k)
        scores[k][place(own)] = own["severity"].fill_null(float("nan")).to_numpy()
        names[k][place(own)] = own["rater"].to_numpy()
    return scores, names.astype(np.str_)


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


def item_codes(tables: Tables, column: str) -> tuple[Indices, tuple[str, ...]]:
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
    return filled.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.intp), names


def question_codes(tables: Tables) -> Indices | None:
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


def chance_of(tables: Tables) -> float | None:
    """The share of right answers by guessing, where every item has its options; None where that is not known."""
    options = [len(tables.items[i].options) for i in tables.item_ids if i in tables.items]
    if len(options) < len(tables.item_ids) or not options or min(options) < 2:
        return None
    return float(np.mean(1 / np.array(options)))
