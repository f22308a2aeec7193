"""What one source gives, how several are put together (one key, one main score, one kind of rating that counts), and
what looks wrong in the result: scales that differ, a value far off, a code, ids that differ in writing only.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from richter.claims import METRICS, Metric
from richter.errors import InputError
from richter.interop import less_is_better
from richter.records import Better, Item, Note, counted, of_kind, printable, tell_apart
from richter.stats import Indices
from richter.tables._reading import Reading
from richter.tables._tables import (
    ANSWERS,
    KEY,
    KINDS,
    RATERS_APART,
    RATINGS,
    SCORES,
    Dataset,
    ReadOptions,
    count_alike,
    counting_kind,
    order_of_answers,
    severity_of,
)
from richter.tables._words import EMPTY, USUAL_ENDS, brief
from richter.words import describe_look_alike, describe_settings

# an answer with its main score before it is known what that is
ROW: dict[str, type[pl.DataType]] = {
    **ANSWERS, "value": pl.Float64, "confidence": pl.Float64, "confidence_source": pl.String,
}  # fmt: skip
OTHERS: dict[str, type[pl.DataType]] = {name: SCORES[name] for name in (*KEY, "metric", "value")}
GROUPINGS: dict[str, type[pl.DataType]] = {"item": pl.String, "column": pl.String, "value": pl.String}
MAX_GROUPINGS = 2
UNNAMED = "frame"  # the name of a single table that came without one
MAX_NAMED_UNUSED = 20  # columns in the note on those that are not used
SCALES = ((0.0, 1.0), (1.0, 5.0), (0.0, 5.0), (1.0, 7.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0))
TOP = 4.0
SHARED = 10  # items that have one broken score
FAR = 2.0  # times the end of a scale from which a lone value is doubted
CODES = (-1.0, -9.0, -99.0, -999.0, 9.0, 77.0, 88.0, 97.0, 98.0, 99.0, 999.0)  # that people write for "missing"
RARE = 0.1
MAX_CODED = 0.3  # share of scores that may be codes
MAX_IDS_SEEN = 10_000  # that tell how ids are written


@dataclasses.dataclass(slots=True, kw_only=True)
class Part:
    """One source: its answers with their main score, further scores, and ratings. `score` names the main score.

    `measure`: the measure whose row names the column of the main score, so that it counts under that name only.
    `worded`: its grades are words that say themselves which is right, whatever the column is called. `scale`: the range
    of scores that the column's name states. `endless`: its name is that of an amount. `kept`: the scale, the direction
    and the kind of ratings with which a run was imported. `groupings`: what each column that may group items says of
    them, the likelier columns first. `graded_by`: the names of models that graded. `unused`: columns that look as if
    they changed claims and are not used. `measures`: names of further scores of a table. `asked`: the questions of each
    condition, where one id has several texts.
    `is_confirmed`: a run that was made of a table keeps whether its reading was confirmed.
    """

    name: str
    answers: pl.DataFrame
    ratings: pl.DataFrame
    others: pl.DataFrame
    conditions: Sequence[str] = ()
    items: Mapping[str, Item] = dataclasses.field(default_factory=dict)
    asked: Mapping[str, Mapping[str, Item]] = dataclasses.field(default_factory=dict)
    score: str = ""
    measure: str = ""
    worded: bool = False
    scale: tuple[float, float] | None = None
    endless: bool = False
    kept: ReadOptions = dataclasses.field(default_factory=ReadOptions)
    groupings: pl.DataFrame = dataclasses.field(default_factory=lambda: pl.DataFrame(schema=GROUPINGS))
    graded_by: tuple[str, ...] = ()
    unused: Sequence[str] = ()
    measures: Sequence[str] = ()
    is_confirmed: bool = True
    notes: list[str] = dataclasses.field(default_factory=list)
    reading: Reading | None = None  # None where a tool or a run says itself what it holds


def frame_of(rows: pl.DataFrame, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """The same rows with exactly these columns; those missing are null, and a draw that is missing is 0."""
    present = {name for name in schema if name in rows.columns}
    frame = rows.select(
        pl.col(name).cast(kind) if name in present else pl.lit(None, dtype=kind).alias(name)
        for name, kind in schema.items()
    )
    return frame if "draw" in present else frame.with_columns(pl.lit(0, dtype=pl.Int64).alias("draw"))


def rename_conditions(part: Part, names: Mapping[str, str]) -> Part:
    """The same part with its conditions called otherwise."""
    own = pl.col("condition").replace(names)
    part.answers, part.ratings = part.answers.with_columns(own), part.ratings.with_columns(own)
    part.others, part.conditions = part.others.with_columns(own), [names.get(c, c) for c in part.conditions]
    part.asked = {names.get(c, c): items for c, items in part.asked.items()}
    return part


def assemble(parts: Sequence[Part], options: ReadOptions, *, what: str, empty: bool = False) -> Dataset:
    """Put the parts together. What contradicts itself is shown and refused."""
    options = _with_kept(parts, options)
    look_alikes = _tell_conditions_apart(parts)
    answers, ratings, others = (
        pl.concat([getattr(part, name) for part in parts]) for name in ("answers", "ratings", "others")
    )
    notes: list[str] = [*_note_settings(options), *itertools.chain(*(part.notes for part in parts)), *look_alikes]
    if answers.is_empty() and not empty:
        raise InputError(f"{what} holds no answers.", remedy="Give a file with at least one row.")
    conditions = _conditions(answers, parts)
    if len(parts) > 1:
        answers, conditions = _without_yardstick(answers, conditions, parts, notes)
        _no_repeats(answers, parts)
    answers, unused = _with_groups(answers, parts, options, notes)
    if unused := unused | dict.fromkeys((name for part in parts for name in part.unused if name not in unused), ""):
        notes.append(_unused_note(unused))
    answers = _with_macro(answers, options, what)
    (answers, codes), (ratings, _) = _in_order(answers, conditions), _in_order(ratings, conditions)
    ordered = answers["item"]
    if options.as_severity is not None and not (ratings["kind"] == "given").any():
        answers, ratings = _as_ratings(answers, ratings, parts, options.as_severity)
    failed = pl.col("error").fill_null("") != ""
    answers, ratings, others = _without_failures(answers, ratings, others, failed, notes)
    answers, is_lower = _turn_faults(answers, parts, options, notes)
    notes += doubts(answers, conditions, options, what)
    is_labelled = answers["human"].count() > 0 or bool((ratings["kind"] == "human").any())
    is_graded = any(part.score for part in parts)
    counting = counting_kind(ratings, options.ratings, what, has_labelled_grades=is_labelled and is_graded)
    draft = Dataset(
        name=what, answers=answers, scores=pl.DataFrame(schema=SCORES), ratings=ratings, conditions=conditions,
        counting=counting,  # type: ignore[arg-type]
        reading=options,
    )  # fmt: skip
    _keep_codes(draft, ordered, codes)
    answers, by_severity = _graded_by_severity(draft)
    scores = _score_tables(answers.filter(~failed), others, parts, options, notes, is_lower=is_lower)
    names = list(dict.fromkeys(part.score for part in parts if part.score))
    graded = f"grades from {', '.join(names)}" if names and not by_severity else ""
    rated = _rated(counting, ratings)
    found = dataclasses.replace(
        draft,
        answers=_with_refusals(answers.select(*ANSWERS)),
        scores=scores,
        items={name: item for part in parts for name, item in part.items.items()},
        asked={
            name: part.asked.get(name, part.items)
            for part in parts
            for name in part.answers["condition"].unique()
            if part.items
        },
        notes=tuple(dict.fromkeys(notes)),
        understood=_understood(draft, scores, names, rated, notes),
        basis="; ".join(filter(None, (graded, rated))),
        scored_by=() if by_severity else tuple(names),
        graded_by=tuple(dict.fromkeys(name for part in parts for name in part.graded_by)),
        measures=tuple(dict.fromkeys(name for part in parts for name in part.measures)),
        is_confirmed=all(part.is_confirmed for part in parts),
    )
    found.__dict__["answer_codes"] = draft.answer_codes  # of the same rows
    return found


def _with_macro(answers: pl.DataFrame, options: ReadOptions, what: str) -> pl.DataFrame:
    """The answers with the values that count alike, where there are such, and the weights that make them."""
    if options.macro is None:
        return answers
    if answers["macro"].null_count() == len(answers) and options.macro in ("domain", "tier", "group"):
        answers = answers.with_columns(pl.col(options.macro).alias("macro"))
    name, values = brief(options.macro), answers.select("item", "macro").unique()
    if values["macro"].null_count() == len(values):
        raise InputError(f"{what} has no column {name!r}.", remedy="Name a column with one value per question.")
    for faults, has in (
        (values.filter(pl.col("macro").is_null())["item"], f"no {name}"),
        (values.filter(pl.col("item").is_duplicated())["item"], f"several values of {name}"),
    ):
        if number := faults.n_unique():
            raise InputError(
                f"{counted(number, 'question has', 'questions have')} {has}.",
                remedy="Every value counts alike (--macro) only where each question has one: name another column.",
            )
    return count_alike(answers)


def _keep_codes(tables: Dataset, items: pl.Series, codes: Indices) -> None:
    """Keep the places of items, which cost more than all else that is known of answers, where these are the items."""
    if tables.answers["item"].equals(items):
        tables.__dict__["answer_codes"] = codes


def _note_settings(options: ReadOptions) -> list[str]:
    """That `richter.toml` set how the data are read, where it did."""
    return [Note(describe_settings(options.settings), "settings")] if options.settings else []


def _with_kept(parts: Sequence[Part], options: ReadOptions) -> ReadOptions:
    """The options with the scale and direction, and whose ratings count, that all parts know of themselves.

    What the user states goes before: a scale or a direction for both.
    """
    scales, ratings = {(part.kept.scale, part.kept.better) for part in parts}, {part.kept.ratings for part in parts}
    if options.scale is None and options.better is None and len(scales) == 1:
        scale, better = scales.pop()
        options = dataclasses.replace(options, scale=scale, better=better)
    return options if options.ratings or len(ratings) > 1 else dataclasses.replace(options, ratings=ratings.pop())


def _conditions(answers: pl.DataFrame, parts: Sequence[Part]) -> tuple[str, ...]:
    """The conditions in the order given."""
    seen = answers["condition"].unique(maintain_order=True).to_list()
    named = (name for part in parts for name in part.conditions if name in {*seen})
    return tuple(dict.fromkeys((*named, *seen)))


def _tell_conditions_apart(parts: Sequence[Part]) -> list[Note]:
    """A note for each condition whose name looks like another one's; in the parts it is written to be seen apart."""
    seen = (
        name for part in parts for name in (*part.conditions, *part.answers["condition"].unique(maintain_order=True))
    )
    apart = tell_apart(seen)
    for part in parts if apart else ():
        rename_conditions(part, apart)
    return [Note(describe_look_alike(shown, name), "look-alike") for name, shown in apart.items()]


def _score_tables(
    came: pl.DataFrame,
    others: pl.DataFrame,
    parts: Sequence[Part],
    options: ReadOptions,
    notes: list[str],
    *,
    is_lower: bool,
) -> pl.DataFrame:
    """The scores of all answers that came: the main metric, right or wrong from `pass_at` on, further measures."""
    stated = {part.scale for part in parts if part.score}
    row = _named_measure(parts)
    metric, measured = _main_metric(
        came,
        dataclasses.replace(options, better="lower" if is_lower else "higher"),
        notes if row is None else [],
        stated=stated.pop() if len(stated) == 1 else None,
        endless=any(part.endless for part in parts),
    )
    if metric is not None and row is not None:
        metric, measured = row.name, (_kind_of(row, metric), row.low, row.high, row.better)
    scores = [] if metric is None else [_scores(came, metric, measured)]
    if metric == "mean_score" and options.pass_at is not None and measured[1:3] == (0.0, 1.0):
        enough = pl.col("value") <= options.pass_at if is_lower else pl.col("value") >= options.pass_at
        passed = came.with_columns(enough.cast(pl.Float64).alias("value"))
        scores.insert(0, _scores(passed, "accuracy", ("binary", 0.0, 1.0, "higher")))
    for (name,), rows in others.filter(pl.col("value").is_not_null()).group_by("metric", maintain_order=True):
        better: Better = "lower" if less_is_better(str(name)) else "higher"
        scores.append(_scores(rows, str(name), _measured(rows["value"], ReadOptions(better=better))))
    return pl.concat(scores) if scores else pl.DataFrame(schema=SCORES)


def _without_failures(
    answers: pl.DataFrame, ratings: pl.DataFrame, others: pl.DataFrame, failed: pl.Expr, notes: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The tables without what was said of failed calls: no grade, no rating and no further score of them is used."""
    keys = answers.filter(failed).select(KEY)
    if keys.is_empty():
        return answers, ratings, others
    rated = ratings.filter(pl.col("severity").is_not_null())
    graded = pl.concat([answers.filter(pl.col("value").is_not_null()).select(KEY), rated.select(KEY)])
    if used := keys.join(graded, on=KEY, how="semi").height:
        notes.append(Note(f"{counted(used, 'failed call')} carried a grade or a severity, which is not used", "failed"))
        answers = answers.with_columns(pl.when(failed).then(None).otherwise("value").alias("value"))
        ratings = ratings.join(keys, on=KEY, how="anti", maintain_order="left")
        others = others.join(keys, on=KEY, how="anti", maintain_order="left")
    return answers, ratings, others


def _with_groups(
    answers: pl.DataFrame, parts: Sequence[Part], options: ReadOptions, notes: list[str]
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The answers with up to two groupings of their items, and the columns that are none, with the reason.

    A grouping gives every item one value at most. A column of one value, unless it is mapped, or of one for every item,
    groups nothing; one that parts the items as another does adds nothing.
    """
    answers = answers.drop("group", "group_2")
    if all(part.groupings.is_empty() for part in parts):
        return frame_of(answers, ROW), {}
    pairs = pl.concat([part.groupings for part in parts]).drop_nulls().filter(pl.col("value") != "")
    pairs = pairs.unique(maintain_order=True).join(answers, on="item", how="semi", maintain_order="left")
    chosen, unused = _choose_groupings(pairs, answers, options)
    return frame_of(_join_groupings(answers, chosen, options, notes), ROW), unused


def _choose_groupings(
    pairs: pl.DataFrame, answers: pl.DataFrame, options: ReadOptions
) -> tuple[dict[str, pl.DataFrame], dict[str, str]]:
    """The columns that group items, each with its value for every item, and those that do not, with the reason."""
    n_items = answers["item"].n_unique()
    chosen, unused = dict[str, pl.DataFrame](), dict[str, str]()
    for (column,), own in pairs.group_by("column", maintain_order=True):
        name, n_groups, n_named = str(column), own["value"].n_unique(), own["item"].n_unique()
        explicit = name in (options.map.get("group"), options.map.get("group_2"))
        if n_named < len(own):
            if explicit:
                raise _no_grouping_error(name, own)
            if n_groups < answers.height:  # else every row has a value of its own
                unused[name] = "a question has several of its values"
        elif n_groups == n_named or any(_same_partition(own, other) for other in chosen.values()):
            continue
        elif n_groups == 1 and n_named == n_items and not explicit:
            unused[name] = "all questions have the same value"
        elif len(chosen) == MAX_GROUPINGS:
            unused[name] = f"{' and '.join(map(brief, chosen))} group the questions"
        else:
            chosen[name] = own.select("item", "value")
    return chosen, unused


def _join_groupings(
    answers: pl.DataFrame, chosen: Mapping[str, pl.DataFrame], options: ReadOptions, notes: list[str]
) -> pl.DataFrame:
    """The answers with the chosen groupings of their items; one that no option names is noted."""
    n_items = answers["item"].n_unique()
    for place, (name, own) in zip(("group", "group_2"), chosen.items(), strict=False):
        answers = answers.join(own.rename({"value": place}), on="item", how="left", maintain_order="left")
        if name not in (place, *options.map.values()) and "\0" not in name:
            why = f"questions with the same value vary together (another column: --map {place}=COLUMN)"
            notes.append(Note(f"column {brief(name)} is read as the {place}: {why}", "group"))
        if alone := n_items - len(own):
            notes.append(f"{counted(alone, 'question names', 'questions name')} no {place}; each is a group of its own")
    return answers


def _no_grouping_error(name: str, pairs: pl.DataFrame) -> InputError:
    items = pairs.filter(pairs["item"].is_duplicated())["item"].n_unique()
    return InputError(
        f"{brief(name)} does not group the questions: {counted(items, 'question has', 'questions have')} "
        "several of its values.",
        remedy="Map a column that has one value per question, or map no group.",
    )


def _same_partition(one: pl.DataFrame, two: pl.DataFrame) -> bool:
    """Whether two groupings part the same items alike."""
    both = one.join(two, on="item", how="inner")
    pairs = both.select("value", "value_right").n_unique()
    return len(both) == len(one) == len(two) and pairs == one["value"].n_unique() == two["value"].n_unique()


def _unused_note(unused: Mapping[str, str]) -> Note:
    """The note that names the columns that look as if they changed claims and are not used."""
    shown = [brief(name) + (f" ({why})" if why else "") for name, why in unused.items()]
    more = f" and {len(shown) - MAX_NAMED_UNUSED} more" if len(shown) > MAX_NAMED_UNUSED else ""
    return Note(f"Columns not used: {', '.join(shown[:MAX_NAMED_UNUSED])}{more}.", "unused columns")


def _turn_faults(
    answers: pl.DataFrame, parts: Sequence[Part], options: ReadOptions, notes: list[str]
) -> tuple[pl.DataFrame, bool]:
    """Faults of 0 and 1 as right and wrong, and whether less of the score is better: as stated, else by its name."""
    scored = [part for part in parts if part.score]
    faults = [part for part in scored if _is_fault(part, options)]
    of_faults = pl.col("condition").is_in([name for part in faults for name in part.conditions])
    given = answers.filter(of_faults)["value"].drop_nulls() if faults else pl.Series(dtype=pl.Float64)
    if options.scale is None and not options.any_scale and len(given) and given.is_in([0.0, 1.0]).all():
        names = ", ".join(dict.fromkeys(brief(part.score.removeprefix("column ")) for part in faults))
        why = "" if options.better else f" by its name, {names}; --better higher says otherwise"
        notes.append(f"Less is better{why}. Every score is 0 or 1: 1 counts as wrong, 0 as right.")
        turned = pl.when(of_faults).then(1 - pl.col("value")).otherwise("value")
        return answers.with_columns(turned.alias("value")), False
    if faults and len(faults) < len(scored):
        raise _two_directions_error(scored, faults)
    return answers, bool(faults)


def _two_directions_error(scored: Sequence[Part], faults: Sequence[Part]) -> InputError:
    less, more = faults[0], next(part for part in scored if not any(part is fault for fault in faults))
    return InputError(
        f"Less of {brief(less.score)} is better ({less.name}), and more of "
        f"{brief(more.score)} ({more.name}): they are not one measure.",
        remedy="Name a column of one measure, --map score=COLUMN, or say which way it goes: --better lower",
    )


def _is_fault(part: Part, options: ReadOptions) -> bool:
    """Whether less of a part's score is better: as stated, else by its name."""
    better = options.better or part.kept.better
    if better is not None:
        return better == "lower"
    return not part.worded and less_is_better(part.score.removeprefix("column "))


def find_ranks(rows: pl.DataFrame) -> tuple[float, float] | None:
    """The range of scores that are, within every item, the order of its n conditions from 1 on: ranks, 1 the best."""
    n = rows["condition"].n_unique()
    if n < 2 or rows.select(pl.col("value").min(), pl.col("value").max().alias("high")).row(0) != (1.0, float(n)):
        return None
    each = rows.group_by("item", "draw").agg(pl.col("value").sort())["value"].to_list()
    if len(each) < SHARED or any(values != list(range(1, n + 1)) for values in each):
        return None
    return 1.0, float(n)


def _in_order(rows: pl.DataFrame, conditions: Sequence[str]) -> tuple[pl.DataFrame, Indices]:
    """By condition as given, then by item and draw, with the places of their items among all by name.

    What is resampled does not depend on the order of rows.
    """
    item, condition = rows["item"].rank("dense"), rows["condition"].cast(pl.Enum(conditions)).to_physical()
    order = order_of_answers(condition, item, rows["draw"])
    codes = item.to_numpy().astype(np.intp) - 1
    return (rows, codes) if order is None else (rows[order], codes[order.to_numpy()])


def severities(
    rows: pl.DataFrame, column: str, scale: tuple[float, float] | None, what: str, *, any_scale: bool = False
) -> pl.Series:
    """A column on a scale from right to worst as severities from 0 to 4; what lies off the scale is refused.

    With `any_scale` and no scale named, severities above 4 stay as they are: 0 is right and more is worse.
    """
    if scale is None and any_scale and not (rows[column] < 0).any():
        return rows[column].alias("severity")
    low, high = scale or (0.0, TOP)
    if low == high:
        raise InputError(
            f"A scale from {low:g} to {high:g} has no length.", remedy="Give --as-severity RIGHT:WORST, as 5:1."
        )
    severity = (rows[column] - low) * (TOP / (high - low))
    off = severity.is_finite() & ((severity < -1e-9) | (severity > TOP + 1e-9))
    if off.any():
        places = off.arg_true().head(3).to_list()
        shown = ", ".join(f"{rows[column][r]:g} for item {brief(str(rows['item'][r]))}" for r in places)
        raise InputError(
            f"{what}: {off.sum()} value{'s lie' if off.sum() > 1 else ' lies'} off the scale {low:g}:{high:g} "
            f"of severities ({shown}).",
            remedy="Severities run from 0 (right) to 4 (worst); another scale is read as --as-severity RIGHT:WORST, "
            f"here perhaps --as-severity {_right_to_worst(rows[column], (low, high))}",
        )
    return severity.clip(0.0, TOP).alias("severity")


def _right_to_worst(values: pl.Series, scale: tuple[float, float]) -> str:
    """A scale that holds every value: from 0, or from the end that is stated to be right."""
    least, most = float(values.min()), float(values.max())  # type: ignore[arg-type]
    right = scale[0]
    return f"{right:g}:{least if abs(least - right) > abs(most - right) else most:g}"


def _as_ratings(
    answers: pl.DataFrame, ratings: pl.DataFrame, parts: Sequence[Part], scale: tuple[float, float]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The main score as a severity that the source gave."""
    scored = answers.filter(pl.col("value").is_not_null())
    if scored.is_empty():
        raise InputError("--as-severity needs a score, and none was read.", remedy="Name it with --map score=COLUMN.")
    what = next((part.score for part in parts if part.score), "score")
    rows = scored.with_columns(severities(scored, "value", scale, what), pl.lit(what).alias("rater"))
    rows = rows.with_columns(pl.lit("given").alias("kind"))
    return answers.with_columns(pl.lit(None, dtype=pl.Float64).alias("value")), pl.concat(
        [ratings, frame_of(rows, RATINGS)]
    )


def _without_yardstick(
    answers: pl.DataFrame, conditions: tuple[str, ...], parts: Sequence[Part], notes: list[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Without the one condition of every part against which each holds its other: its wins are not of one contest."""
    shared = set.intersection(*({*part.answers["condition"]} for part in parts))
    name = next(iter(shared), "")
    if len(shared) != 1 or any(part.answers["condition"].n_unique() != 2 for part in parts):
        return answers, conditions
    if not answers.filter(pl.col("condition") == name).select(pl.struct(KEY).is_duplicated().any()).item():
        return answers, conditions
    notes.append(f"{brief(name)} is what each file holds its other condition against: it is left out")
    return answers.filter(pl.col("condition") != name), tuple(c for c in conditions if c != name)


def _no_repeats(answers: pl.DataFrame, parts: Sequence[Part]) -> None:
    twice = answers.filter(pl.struct(KEY).is_duplicated())
    if twice.is_empty():
        return
    item, condition, draw = twice.select(KEY).row(0)
    own = [p for p in parts if not p.answers.filter(item=item, condition=condition, draw=draw).is_empty()]
    files = " and ".join(p.name for p in own[:2]) + (f" and {len(own) - 2} more" if own[2:] else "")
    raise InputError(
        f"{files} {'all' if own[2:] else 'both'} answer item {brief(item)!r} under {brief(condition)!r} "
        f"({twice.height:,} such rows).",
        remedy="Name the files as different conditions: NAME=PATH."
        if all(len(p.conditions) == 1 for p in own)
        else "Put them into one file, with a column `run` if each is a repetition, `domain` if each has its own items.",
    )


def _graded_by_severity(tables: Dataset) -> tuple[pl.DataFrame, bool]:
    """Answers of conditions without any grade are right where their severity is 0; whether that was done."""
    answers = tables.answers
    if tables.counting is None:
        return answers, False
    graded = answers.filter(pl.col("value").is_not_null())["condition"].unique().to_list()
    bare = [name for name in tables.conditions if name not in graded]
    if not bare:
        return answers, False
    right = severity_of(tables).select(*KEY, (pl.col("severity") == 0).cast(pl.Float64).alias("right"))
    joined = answers.join(right, on=KEY, how="left", maintain_order="left")
    value = pl.when(pl.col("condition").is_in(bare)).then("right").otherwise("value")
    return joined.with_columns(value.alias("value")).drop("right"), not graded


def _named_measure(parts: Sequence[Part]) -> Metric | None:
    """The measure that the scores of all parts are by their columns; None where these do not say it."""
    named = {part.measure for part in parts if part.score}
    return METRICS.get(named.pop()) if len(named) == 1 else None


def _kind_of(row: Metric, metric: str) -> str:
    """The kind of a named measure's values: contests without a tie are 0 or 1."""
    return "binary" if metric == "accuracy" and row.kind == "bounded" else row.kind


Measured = tuple[str, float | None, float | None, Better]


def _main_metric(
    came: pl.DataFrame,
    options: ReadOptions,
    notes: list[str],
    *,
    stated: tuple[float, float] | None,
    endless: bool,
) -> tuple[str | None, Measured]:
    """What is measured, and on which scale: the user's, that which the column's name `stated`, else a usual one.

    An amount, which is `endless`, has none.
    """
    given = came["value"].drop_nulls()
    said = "is taken to run"
    if options.scale is None and stated is not None and (given > 1).any():
        if off := len(given.filter((given < stated[0]) | (given > stated[1]))):
            notes.append(f"{off:,} of {len(given):,} scores lie outside {stated[0]:g} to {stated[1]:g}, which the name "
                         "of their column states")  # fmt: skip
        else:
            measured = _measured(came["value"], dataclasses.replace(options, scale=stated), came)
            said = "runs, as its name says,"
    if said == "is taken to run":
        measured = _measured(came["value"], options, came, endless=endless)
    if came.select(pl.all_horizontal(pl.col("value", "confidence").is_null()).all()).item():
        return None, measured  # neither graded nor sure of anything
    kind, low, high, better = measured
    if kind == "binary":
        return "accuracy", measured
    if options.scale is None:
        run = f"{said} from {low:g} to {high:g}"
        if kind == "real":
            run = f"has no known ends ({low:g} to {high:g} were seen)"
        told = f"The score {run}, {better} is better; --scale LOW:HIGH and --better say otherwise."
        notes.append(Note(told, "scale"))
    return "mean_score", measured


def _measured(
    values: pl.Series, options: ReadOptions, rows: pl.DataFrame | None = None, *, endless: bool = False
) -> Measured:
    """The kind, range and direction of a score: stated, or the first usual scale that holds every value."""
    better: Better = options.better or "higher"
    given = values.drop_nulls()
    if given.is_empty() or (options.scale is None and given.is_in([0.0, 1.0]).all()):
        return "binary", 0.0, 1.0, better
    least, most = float(given.min()), float(given.max())  # type: ignore[arg-type]
    if options.scale is not None:
        _check_scale(given, options.scale, (least, most), rows)
        return "bounded", *options.scale, better
    found = None if endless else next(((a, b) for a, b in SCALES if a <= least and most <= b), None)
    return ("real", least, most, better) if found is None else ("bounded", *found, better)


def _check_scale(
    given: pl.Series, scale: tuple[float, float], ends: tuple[float, float], rows: pl.DataFrame | None
) -> None:
    """Refuse a scale that does not rise, and scores off it."""
    low, high = scale
    if low >= high:
        raise InputError(
            f"A scale from {low:g} to {high:g} does not rise.",
            remedy=f"Give --scale {high:g}:{low:g}, with --better lower if less is better.",
        )
    if ends[0] < low or ends[1] > high:
        raise _outside_scale_error(given, scale, ends, rows)


def _outside_scale_error(
    given: pl.Series, scale: tuple[float, float], ends: tuple[float, float], rows: pl.DataFrame | None
) -> InputError:
    """The refusal of scores off the stated scale, with the first of them where its row is known."""
    low, high = scale
    off, shown = given.filter((given < low) | (given > high)), ""
    if rows is not None:
        first = rows.filter((pl.col("value") < low) | (pl.col("value") > high)).row(0, named=True)
        shown = f": {first['value']:g} for item {brief(first['item'])}"
        shown += f" under {brief(first['condition'])}"
    return InputError(
        f"{len(off):,} of {len(given):,} scores lie outside the scale {low:g}:{high:g}{shown}.",
        remedy="Correct what is mistyped, or give a scale that holds them all: "
        f"--scale={min(low, ends[0]):g}:{max(high, ends[1]):g}",
    )


def _scores(rows: pl.DataFrame, metric: str, measured: Measured) -> pl.DataFrame:
    kind, low, high, better = measured
    return frame_of(
        rows.with_columns(
            pl.lit(metric).alias("metric"), pl.lit(kind).alias("kind"), pl.lit(low).alias("low"),
            pl.lit(high).alias("high"), pl.lit(better).alias("better"),
        ),
        SCORES,
    )  # fmt: skip


def _with_refusals(answers: pl.DataFrame) -> pl.DataFrame:
    """Whether an answer declines, worked out from its text where the source does not say."""
    asked = pl.col("refused").is_null() & pl.col("text").is_not_null() & (pl.col("error").fill_null("") == "")
    texts = answers.filter(asked)["text"].unique()
    if texts.is_empty():
        return answers
    from richter.texts import is_refusal  # only where there are texts to tell

    found = pl.DataFrame({"text": texts, "declines": [is_refusal(text) for text in texts]})
    joined = answers.join(found, on="text", how="left", maintain_order="left")
    return joined.with_columns(pl.when(asked).then("declines").otherwise("refused").alias("refused")).drop("declines")


def _rated(counting: str | None, ratings: pl.DataFrame) -> str:
    """Who gave the severities that count; empty where none do."""
    if counting is None:
        return ""
    raters = ratings.filter(pl.col("kind") == counting)["rater"].n_unique()
    return f"severities {KINDS[counting]}" + (f" ({counted(raters, 'rater')})" if raters > 1 else "")


def _describe_questions(tables: Dataset) -> str:
    """How many questions, and of whom: '300 questions x 2 (old, new)', '400 questions (old 200, new 200 others)'."""
    answers, conditions, codes = tables.answers, tables.conditions, tables.answer_codes
    items, names = int(codes.max(initial=-1)) + 1, [printable(name, limit=30) for name in conditions[:4]]
    more = ", …" if len(conditions) > 4 else ""
    if len(conditions) == 1:
        return counted(items, "question") + (f" x {names[0]}" if names[0] != UNNAMED else "")
    pairs = 1 + int(np.count_nonzero(np.diff(codes)))  # at least so many pairs of a condition and a question
    if pairs <= items:
        pairs = answers.select(pl.struct("condition", "item").rle_id().max() + 1).item()
    if items and pairs == items:  # no two share a question
        own = dict(answers.group_by("condition").agg(pl.col("item").n_unique()).iter_rows())
        first, *others = (f"{name} {own.get(full, 0):,}" for name, full in zip(names, conditions, strict=False))
        return f"{counted(items, 'question')} ({', '.join([first, *(f'{text} others' for text in others)])}{more})"
    return f"{counted(items, 'question')} x {len(conditions)} ({', '.join(names)}{more})"


def _understood(
    tables: Dataset, scores: pl.DataFrame, names: Sequence[str], rated: str, notes: Sequence[str]
) -> str:  # fmt: skip
    answers, said = tables.answers, [_describe_questions(tables)]
    if len(scores):
        said += _describe_scores(scores, names)
    elif not rated:
        said.append("not graded")
    if rated:
        said.append(rated)
    draws = int(answers["draw"].to_numpy().max(initial=0)) + 1
    if draws > 1:
        kind, of = ("rater", "answer") if of_kind(notes, RATERS_APART) else ("repeat", "question")
        said.append(f"up to {counted(draws, kind)} per {of}")
    numbers = [answers[name].drop_nulls().n_unique() for name in ("group", "group_2")]
    if groups := [f"in {counted(number, 'group')}" for number in numbers if number]:
        said.append(f"questions {' and '.join(groups)}")
    if tables.reading.macro is not None:
        said.append(f"each {brief(tables.reading.macro)} counting alike")
    elif answers["weight"].drop_nulls().n_unique() > 1:
        said.append("questions weighted")
    failed = answers.filter(pl.col("error").fill_null("") != "").height
    if failed:
        said.append(f"{failed:,} failed calls")
    return ", ".join(said)


def _describe_scores(scores: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """What the main score is, and that there are confidences."""
    first = scores.row(0, named=True)
    source = f" from {', '.join(names[:3])}" if names else ""
    if scores["value"].null_count() == len(scores):
        graded = "not graded"
    elif first["metric"] == "accuracy":
        graded = f"right or wrong{source}" if names else "right where the severity is 0"
    else:
        graded = f"score {first['low']:g}-{first['high']:g}{source}, {first['better']} is better"
    return [graded, "with confidences"] if scores["confidence"].null_count() < len(scores) else [graded]


# ------------------------------------------------------------------ what looks wrong


def doubts(answers: pl.DataFrame, conditions: tuple[str, ...], options: ReadOptions, what: str) -> list[str]:
    """One line for each doubt. Codes, and fractions beside points, are refused unless a scale is stated."""
    scored = answers.filter(pl.col("value").is_not_null())
    values, same = scored["value"], _averages(scored, what)
    if options.scale is None:
        _one_scale(scored, what)
        same += _no_codes(values, what)
    if len(values) > 9 and values.n_unique() == 1:
        said = f"every one of {len(values):,} scores is {values[0]:g}: nothing varies"
        blank = answers.filter(pl.col("value").is_null() & (pl.col("error").fill_null("") == "")).height
        if blank > RARE * answers.height and EMPTY not in options.grade and options.ratings is None:
            raise InputError(
                f"{what}: {said}, and {blank:,} cells are empty: is what has no mark wrong, or not graded?",
                remedy=f"Say it: --grade {EMPTY}=wrong, or --grade {EMPTY}=missing"
                if values[0]
                else f"Say it: --grade x=right --grade {EMPTY}=wrong if an x is for right, or --grade {EMPTY}=right",
            )
        same += [f"{said}. Is it the right column? --map score=COLUMN"]
    return [
        *same,
        *_off(scored, options),
        *_written(answers, conditions),
        *_shortened(answers),
    ]


def _averages(scored: pl.DataFrame, what: str) -> list[str]:
    """Refuse a number that all items of a condition, or of its domain, share: an average that is written beside each.

    It is broken, or larger than ratings are; where conditions differ in a small whole number, it is pointed out.
    """
    by, value = ("condition", "domain"), pl.col("value")
    if not scored.group_by(by).agg((value.min() == value.max()).alias("same"))["same"].all():
        return []
    each = scored.group_by(by, maintain_order=True).agg(
        value.first(), (value.n_unique() == 1).alias("same"), pl.col("item").n_unique().alias("n")
    )
    if each.is_empty() or not (each["same"] & (each["n"] >= SHARED)).all():
        return []
    no_rating = each.filter((each["value"] != each["value"].round()) | (each["value"] > SCALES[-2][1]))
    if no_rating.is_empty():
        varies = each["value"].n_unique() > 1 and not each["value"].is_in([0.0, 1.0]).all()
        return ["all questions of one model have one score: is it an average? --map score=COLUMN"] if varies else []
    name, domain, value, _, n = no_rating.row(0)
    of = brief(name) + (f" in {brief(domain)}" if domain is not None else "")
    raise InputError(
        f"{what}: all {counted(n, 'item')} of {of} have the score {value:g}: an "
        "average that is written beside each item, not "
        "the results of single items.",
        remedy="Name the column with each item's own result: --map score=COLUMN (two averages and their n: richter "
        "size --published TABLE).",
    )


def _one_scale(scored: pl.DataFrame, what: str) -> None:
    """Refuse conditions of which one is scored in fractions and another in points or percentages."""
    value = pl.col("value")
    ends = scored.group_by("condition", maintain_order=True).agg(
        value.max().alias("most"),
        value.median().alias("middle"),
        (value != value.round()).any().alias("broken"),
        pl.len(),
    )
    small = ends.filter((pl.col("most") <= 1) & pl.col("broken") & (pl.col("len") > 3))
    large = ends.filter((pl.col("middle") > 10) & (pl.col("len") > 3))
    if len(small) and len(large):
        one, two = (brief(own["condition"][0]) for own in (small, large))
        low, high = small["most"][0], large["most"][0]
        raise InputError(
            f"{what}: the scores of {one} run up to {low:g}, those of {two} up to {high:g}: they are not on one scale.",
            remedy=f"Write both alike (85% as 0.85 or as 85). Only if {one} has at most {low:g} of 100: --scale 0:100",
        )


def _off(scored: pl.DataFrame, options: ReadOptions) -> list[str]:
    """A value or two far above all others: mistyped, perhaps."""
    values = scored["value"].sort(descending=True)
    if options.scale is not None or len(values) < 20 or values[0] <= FAR:
        return []
    for k in range(1, 3):
        top = next((end for end in USUAL_ENDS if values[k] <= end), None)
        if top is not None and values[k - 1] > FAR * top and top < 100:
            first = scored.filter(pl.col("value") == values[0]).row(0, named=True)
            said = (
                f"{k} of {len(values):,} scores lies far above the others, which end at {values[k]:g}: {values[0]:g} "
                f"for item {brief(first['item'])} under {brief(first['condition'])}; "
                f"mistyped? (--scale LOW:{top:g} refuses it)"
            )
            return [Note(said, "scale")]
    return []


def _no_codes(values: pl.Series, what: str) -> list[str]:
    """Refuse a number of some rows that people write where there is no grade: 9 or 99 off the scale, or -1."""
    rest = values.filter(~values.is_in(CODES))
    found = _count_codes(values, rest)
    if not found:
        return []
    least, most = float(np.min(rest.to_numpy())), float(np.max(rest.to_numpy()))
    said = " and ".join(f"{n:,} of {len(values):,} scores are {code:g}" for code, n in found.items())
    many, codes = f"{said}, the others {least:g} to {most:g}", [f"{code:g}" for code in found]
    settle = f"--grade {' --grade '.join(f'{code}=missing' for code in codes)} (or =wrong)"
    raise InputError(
        f"{what}: {many}: {'a code' if len(codes) == 1 else 'codes'} for no grade, it seems.",
        remedy=f"Say what {'it counts' if len(codes) == 1 else 'they count'} as: {settle}; if "
        f"{'it is a score' if len(codes) == 1 else 'they are scores'}: "
        f"--scale={min(least, *found):g}:{max(most, *found):g}",
    )


def _count_codes(values: pl.Series, rest: pl.Series) -> dict[float, int]:
    """How often each number stands that may be a code for no grade, off the scale of the `rest` and not common."""
    if rest.is_empty() or (rest < 0).any():
        return {}
    most = float(np.max(rest.to_numpy()))
    is_whole = bool((rest == rest.round()).all())
    top = next((end for end in USUAL_ENDS if most <= end), 0.0)
    codes = [code for code in CODES if is_whole or abs(code) > 9]  # of broken numbers a 9 may be one, and a -1 too
    off = [code for code in codes if (code < 0 and most <= 10) or code > top > 0]
    counts = {code: int((values == code).sum()) for code in off}
    return {code: n for code, n in counts.items() if 0 < n <= MAX_CODED * len(values)}


def _written(answers: pl.DataFrame, conditions: tuple[str, ...]) -> list[str]:
    """Conditions that share no item, and would if capitals, spaces, signs and leading zeros did not count."""
    if not 1 < len(conditions) <= 20:
        return []
    rows = {c: answers.filter(condition=c)["item"] for c in conditions}
    ids: dict[str, pl.Series] = {}
    for one, two in itertools.combinations(conditions, 2):
        if rows[two].is_in(rows[one].head(MAX_IDS_SEEN).implode()).any():
            continue
        ids |= {c: rows[c].unique() for c in (one, two) if c not in ids}
        if ids[one].is_in(ids[two].implode()).any():
            continue
        plain = [_plain(ids[c]) for c in (one, two)]
        shared = plain[0].is_in(plain[1].implode())
        if 2 * shared.sum() > min(len(ids[one]), len(ids[two])):
            first = ids[one].filter(shared)[0]
            other = ids[two].filter(plain[1] == plain[0].filter(shared)[0])[0]
            said = (
                f"the items of {brief(one)} and {brief(two)} differ in writing only "
                f"({printable(first, limit=30)!r} and {printable(other, limit=30)!r}): write them alike to compare"
            )
            return [said]
    return []


def _plain(ids: pl.Series) -> pl.Series:
    letters = ids.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")
    return letters.str.replace_all(r"([^0-9]|^)0+([0-9])", "${1}${2}")


def _shortened(answers: pl.DataFrame) -> list[str]:
    """Long ids that a spreadsheet wrote as 1.23E+10: several may have become one."""
    short = answers["item"].head(MAX_IDS_SEEN).unique().str.contains(r"^\d[.,]\d+[eE]\+\d+$")
    if 2 * short.sum() <= len(short):
        return []
    return [f"a spreadsheet shortened IDs such as {answers['item'][0]}: different questions may have become one"]
