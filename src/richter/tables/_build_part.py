"""A table whose columns have roles into answers, scores and ratings."""

import dataclasses
import re
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from richter.claims import METRICS
from richter.errors import InputError
from richter.interop import (
    FIELDS,
    PEOPLE,
    bears_on_claims,
    has_no_top,
    hinted_fields,
    known_fields,
    leaf_name,
    less_is_better,
    plain_name,
    stated_range,
)
from richter.records import Item, Note, counted, of_kind
from richter.tables._answer_keys import (
    MAX_APART,
    MAX_WORDS,
    ScoreCells,
    answer_keys,
    note_statuses,
    one_row_per_answer,
    read_scores,
    status_cells,
)
from richter.tables._part import GROUPINGS, OTHERS, ROW, Part, find_ranks, frame_of, severities
from richter.tables._roled_table import RoledTable, metric_named, reading_of, with_ranks
from richter.tables._roles import LONG
from richter.tables._shapes import LAYOUT
from richter.tables._tables import KEY, RATINGS, ReadOptions
from richter.tables._words import (
    MISSING,
    SKIPPED_NAMES,
    TOTALS,
    brief,
    holds_grades,
    map_option,
    marks_rows,
    number_of,
    text_of,
    to_numbers,
)

BINARY_NAMES = ("correct", "is_correct", "passed", "pass", "success", "solved", "resolved", "ok")
NUMBERS = ("severity", "confidence", "weight", "inclusion", "money_usd", "latency_s", "tokens_in", "tokens_out",
           "steps", "failed_calls", "token_probability", "shown_first", "human", "human_severity")  # fmt: skip
SPLIT_COLUMNS = ("split", "subset", "fold", "partition")
SPLITS = frozenset({"train", "training", "dev", "val", "valid", "validation", "test", "testing", "holdout"})
TRAINING = frozenset({"train", "training"})  # what a model may have learnt is asked about
TEXTS = ("domain", "tier", "text", "error", "finish", "rater", "mechanism", "reason", "cluster", "clustered_by",
         "human_cluster", "layer")  # fmt: skip
MIN_RETRIED = 5
MIN_GRADES = 2  # that calls which ended well have, or a status only repeats the grade
# names of raters that say who they are; of any other the column decides
_A_MODEL = r"(?i)judge|\bllm\b|^(?:gpt|claude|gemini|gemma|llama|qwen|mistral|deepseek|command|o\d)\b"
_A_PERSON = r"^\p{Lu}\p{Ll}+(?: \p{Lu}[\p{Ll}.]*)*$"  # Kim, Anna Berg
GRADE_HINTS = ({"score"}, {"metric"}, {"score", "metric"})  # what names of grades speak for, and nothing else


def build_part(table: RoledTable, options: ReadOptions, *, what: str, stem: str) -> Part:
    """The answers, scores and ratings of a table; without a column for it the condition is called `stem`."""
    frame, place, notes = table.frame, table.place, table.notes
    keys = answer_keys(frame, place, notes, what=what, stem=stem)
    scores = read_scores(frame, place, options, what, notes) if "score" in place else None
    numbers = _numbers(frame, place, what, notes)
    _check_numbers(numbers, scores, place, options, what)
    rows = keys.with_columns(s.alias(f) for f, s in numbers.items() if f != "severity")
    rows = rows if scores is None else rows.with_columns(scores.values.alias("value"))
    rows = rows.with_columns(text_of(frame[place[f]]).alias(f) for f in TEXTS if f in place)
    if options.macro in (*frame.columns, *place):
        rows = rows.with_columns(text_of(frame[place.get(options.macro, options.macro)]).alias("macro"))
    rows = _with_errors(_with_refusals(rows, frame, place, scores, what, notes))
    rows = _with_statuses(rows, frame, place, options, notes)
    measures = _measures(frame, table, numbers, options, notes)
    rows = rows.with_columns(_measure(frame, c, what, notes).alias(f"measure\0{name}") for name, c in measures.items())
    _note_splits(frame, notes)
    rows = rows.with_columns(numbers["severity"].alias("severity")) if "severity" in numbers else rows
    rows = _without_summary(_without_skipped(frame, _as_probabilities(rows, place, notes), place, notes), notes)
    ratings = _ratings(frame, rows, place, options, what)
    rows = _with_labels_apart(rows, frame, place)
    rows, repeats, are_draws = one_row_per_answer(frame, rows, place, what, rated=len(ratings) > 0)
    notes += repeats
    rows, retries = _first_tries(rows, place, notes)
    score = _describe_score(table)
    ranks = find_ranks(rows) if scores is not None and not (options.better or options.scale) else None
    _note_ranks(score, ranks, notes)
    ranges = {stated_range(c) for c in table.wide or [place.get("score", "")]}
    return Part(
        name=what,
        answers=frame_of(rows, ROW),
        ratings=ratings,
        others=_values_of_measures(rows, list(measures)),
        conditions=rows["condition"].unique(maintain_order=True).to_list(),
        items=_items(frame, keys["item"], place),
        asked=_own_questions(frame, keys, place),
        score=score,
        measure=_measure_of(place),
        scale=ranges.pop() if len(ranges) == 1 else None,
        endless=bool(score) and all(map(has_no_top, table.wide or [place["score"]])),
        worded=scores is not None and scores.is_worded,
        groupings=_groupings(frame, keys["item"], place),
        reading=with_ranks(
            reading_of(
                _without_idle(table),
                {} if scores is None else scores.inferred,
                options,
                what,
                are_draws=are_draws,
                later_steps=retries,
                also_used=[*_grouping_columns(frame, place), *_grader_columns(frame, place)],
            ),
            ranks,
        ),
        graded_by=_grader_names(frame, place),
        unused=_unused(frame, place, table.wide),
        measures=[name for name in measures if name not in METRICS],
        kept=ReadOptions(scale=ranks, better="lower" if ranks or less_is_better(metric_named(table)) else None),
        notes=notes,
    )


def _numbers(frame: pl.DataFrame, place: Mapping[str, str], what: str, notes: list[str]) -> dict[str, pl.Series]:
    """The columns of numbers by field; times in seconds."""
    numbers = {f: to_numbers(frame, place[f], f, what, place, notes) for f in NUMBERS if f in place}
    if plain_name(place.get("latency_s", "")).endswith("_ms"):
        numbers["latency_s"] = numbers["latency_s"] / 1000
    return numbers


def _note_splits(frame: pl.DataFrame, notes: list[str]) -> None:
    """Note that questions of training and of testing count together, where a column tells them apart."""
    for column in (c for c in frame.columns if leaf_name(c) in SPLIT_COLUMNS):
        cells = text_of(frame[column]).str.strip_chars().str.to_lowercase().drop_nulls()
        numbers = dict(cells.value_counts(sort=True).iter_rows())
        if len(numbers) > 1 and numbers.keys() <= SPLITS:
            rows = ", ".join(f"{name} ({number:,} rows)" for name, number in numbers.items())
            note = f"{brief(column)} holds {rows}: all of them count. --by {column} shows each by itself."
            notes.append(Note(note, "splits") if numbers.keys() & TRAINING else note)


def _note_ranks(score: str, ranks: tuple[float, float] | None, notes: list[str]) -> None:
    """Say of scores that are ranks that they are, in place of the note that more of them is better."""
    if ranks is None:
        return
    notes[:] = [note for note in notes if note not in of_kind(notes, "more is better")]
    which = f"each item's scores ({score.removeprefix('column ')}) are the numbers 1 to {ranks[1]:g}"
    notes.append(f"{which}: ranks, of which 1 is the best (--better higher says otherwise)")


def _describe_score(table: RoledTable) -> str:
    """What the score is of, for people: a column, or the columns of conditions with the fault that they count."""
    column = table.place.get("score", "")
    if "\0" in column:
        return " ".join(["the columns", *table.faults])
    return f"column {brief(column)}" if column else ""


def _check_numbers(
    numbers: Mapping[str, pl.Series],
    scores: ScoreCells | None,
    place: Mapping[str, str],
    options: ReadOptions,
    what: str,
) -> None:
    """Refuse 1 and 2 for right and wrong, people's grades that are neither 0 nor 1, and chances that are none."""
    coded = scores is not None and leaf_name(place["score"]) in BINARY_NAMES and options.scale is None
    if coded and scores is not None and {*scores.values.drop_nulls().unique()} == {1.0, 2.0}:
        raise InputError(
            f"{what}: {brief(place['score'])} holds 1 and 2, of which only you know which is right.",
            remedy="Say it: --grade 1=right --grade 2=wrong; if it is a score: --scale 1:2",
        )
    people = numbers["human"].drop_nulls() if "human" in numbers else pl.Series(dtype=pl.Float64)
    if len(odd := people.filter(~people.is_in([0.0, 1.0]))):
        raise InputError(
            f"{what}: {place['human']} has {counted(len(odd), 'value that is', 'values that are')} "
            f"neither 0 nor 1, as {odd[0]:g}.",
            remedy="It holds people's grades: write 1 for right and 0 for wrong, or call it human_severity if it holds "
            "severities from 0 (right) to 4 (worst).",
        )
    if "inclusion" in numbers and (off := int((~numbers["inclusion"].is_between(0, 1, closed="right")).sum())):
        raise InputError(
            f"{what}: {brief(place['inclusion'])} is not a probability above 0 and up to 1 in {counted(off, 'row')}.",
            remedy="Write the probability with which each answer was drawn for labelling, or leave the cell empty.",
        )


def _with_errors(rows: pl.DataFrame) -> pl.DataFrame:
    if "error" not in rows.columns:
        return rows
    nothing = pl.col("error").str.to_lowercase().is_in(["false", "0", "no", *MISSING])
    return rows.with_columns(pl.when(nothing).then(pl.lit("")).otherwise("error").fill_null("").alias("error"))


def _with_statuses(
    rows: pl.DataFrame, frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, notes: list[str]
) -> pl.DataFrame:
    """The rows with an error where a status beside the score says so, unless the status only repeats the grade."""
    codes = {word.strip().lower() for word in options.grade}
    for c in (c for c in frame.columns if c not in place.values() and _may_be_status(frame[c])):
        cells = text_of(frame[c])
        words = {cell: cell.strip().lower() for cell in cells.drop_nulls().unique(maintain_order=True).head(MAX_WORDS)}
        ended = [cell for cell in status_cells(words, cells) if words[cell] not in codes]
        is_ended = cells.is_in(ended).fill_null(value=False)
        if "value" not in rows.columns or not ended or rows["value"].filter(~is_ended).n_unique() < MIN_GRADES:
            continue
        note_statuses(cells, ended, c, notes)
        own = pl.when(pl.lit(is_ended)).then(pl.lit(cells)).otherwise(pl.lit(""))
        given = pl.col("error") if "error" in rows.columns else pl.lit("")
        rows = rows.with_columns(pl.when(given != "").then(given).otherwise(own).alias("error"))
    return rows


def _may_be_status(column: pl.Series) -> bool:
    """Whether a column in words is called a status."""
    return column.dtype == pl.String and plain_name(column.name).split("_")[-1] in ("status", "state", "outcome")


def _with_refusals(
    rows: pl.DataFrame,
    frame: pl.DataFrame,
    place: Mapping[str, str],
    scores: ScoreCells | None,
    what: str,
    notes: list[str],
) -> pl.DataFrame:
    if "refused" in place:
        refused = to_numbers(frame, place["refused"], "refused", what, place, notes)
        return rows.with_columns((refused == 1).alias("refused"))
    if scores is not None and scores.is_declined is not None:
        return rows.with_columns(scores.is_declined.alias("refused"))
    return rows


# ------------------------------------------------------------------ further measures


def _measure_of(place: Mapping[str, str]) -> str:
    """The measure that the score is by its column: an amount of its own, or who won a contest; else empty."""
    if "shown_first" in place and "score" in place:
        return "win_rate"
    return next((m.name for m in METRICS.values() if m.source == "column" and m.column == place.get("score")), "")


def _measures(
    frame: pl.DataFrame, table: RoledTable, numbers: Mapping[str, pl.Series], options: ReadOptions, notes: list[str]
) -> dict[str, str]:
    """The further measures of a table by name: those with a column in the table of measures, and listed scores.

    Columns that only may be grades are named, with the option that reads them.
    """
    rows = {m.name: m.column for m in METRICS.values() if m.source == "column" and m.column in frame.columns}
    own = {name: column for name, column in rows.items() if column != table.place.get("score")}
    if "score" not in table.place or table.wide or options.scorer is not None:
        return own
    score, taken = table.place["score"], {*table.place.values(), *own.values()}
    listed = [c for c in table.measures if c not in taken and _is_other_grade(frame, c, score)]
    if listed:
        settle = f"{map_option('score', listed[0])} makes it the main score"
        notes.append(Note(f"Also measured: {', '.join(map(brief, listed))}. {settle}.", "scores"))
    _note_costs(table.place, numbers, notes)
    if not options.map:
        _note_other_grades(frame, [c for c in frame.columns if c not in (*taken, *listed)], score, notes)
    return own | {c if c not in METRICS else f"{c} (column)": c for c in listed}


def _note_costs(place: Mapping[str, str], numbers: Mapping[str, pl.Series], notes: list[str]) -> None:
    """Name the costs that the file holds: they are compared where they are asked for."""
    held = [f for f in place if f in numbers and numbers[f].count()]
    costs = [m for m in METRICS.values() if m.is_cost and m.estimator == "mean" and m.column in held]
    if costs:
        options = ", ".join(f"--on {m.name}" for m in costs)
        notes.append(
            Note(
                f"The file also has {' and '.join(brief(place[str(m.column)]) for m in costs)}. To compare: {options}.",
                "costs",
            )
        )


def _may_grade(column: str) -> bool:
    """Whether a name may be that of a grade."""
    hints = hinted_fields(column) - {"item", "condition"}
    return "\0" not in column and ("score" in known_fields([column]) or hints in GRADE_HINTS)


def _is_other_grade(frame: pl.DataFrame, column: str, score: str) -> bool:
    """Whether a column holds grades that vary and are not those of the score again."""
    return frame[column].n_unique() > 1 and holds_grades(frame[column]) and not _same_grades(frame, column, score)


def _note_other_grades(frame: pl.DataFrame, free: Sequence[str], score: str, notes: list[str]) -> None:
    """Note the free columns that may be grades, with the options that read them."""
    columns = [c for c in free if _may_grade(c) and _is_other_grade(frame, c, score)]
    if columns:
        shown = ", ".join(map_option("score", c) for c in columns[:3])
        notes.append(Note(f"there are other grades than {brief(score)}: {shown}", "scores"))


def _same_grades(frame: pl.DataFrame, one: str, two: str) -> bool:
    pairs = pl.DataFrame([text_of(frame[one]), text_of(frame[two])]).unique().head(100).rows() if one != two else []
    return all(number_of(a or "") == number_of(b or "") for a, b in pairs)


def _measure(frame: pl.DataFrame, column: str, what: str, notes: list[str]) -> pl.Series:
    return to_numbers(frame, column, "score", what, {"score": column}, notes)


def _values_of_measures(rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    parts = [rows.select(*KEY, pl.lit(n).alias("metric"), pl.col(f"measure\0{n}").alias("value")) for n in names]
    return pl.concat([pl.DataFrame(schema=OTHERS), *parts], how="vertical_relaxed")


# ------------------------------------------------------------------ rows that do not count, and confidences


def _without_summary(rows: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """The rows without a condition that is called an average or total and is one of the others; others are named."""
    names = rows["condition"].unique(maintain_order=True).to_list()
    for name in [n for n in names if TOTALS.fullmatch(n.strip())] if "value" in rows.columns else []:
        own, value = pl.col("condition") == name, pl.col("value")
        others = rows.filter(~own).group_by("item").agg(value.mean().alias("mean"), value.sum().alias("sum"))
        both = rows.filter(own).join(others, on="item").drop_nulls("value")
        far = [(both["value"] - both[c]).abs() / (1e-9 + both["value"].abs()) for c in ("mean", "sum")]
        if len(names) > 2 and len(both) > 0 and any((gap < 0.02).all() for gap in far):
            left_out = f"{name!r} is the mean or sum of the other conditions, item by item: it is left out"
            notes.append(Note(left_out, "totals"))
            rows = rows.filter(~own)
        else:
            notes.append(f"a condition is called {name!r}: if it is a summary, name the others after the file")
    return rows


def _without_skipped(
    frame: pl.DataFrame, rows: pl.DataFrame, place: Mapping[str, str], notes: list[str]
) -> pl.DataFrame:
    """The rows without the grades of those that a column marks as skipped: they did not fail."""
    named = [c for c in frame.columns if c not in place.values() and _marks_skipped(frame[c])]
    for c in named if "value" in rows.columns else []:
        marked = (
            _is_marked(frame[c])
            if marks_rows(c)
            else text_of(frame[c]).str.to_lowercase().str.replace_all("[ -]", "_").is_in(SKIPPED_NAMES)
        )
        if 0 < marked.sum() < len(rows):
            count = counted(int(marked.sum()), "row is", "rows are")
            notes.append(Note(f"{count} marked as skipped by {brief(c)}: they have no grade", "status"))
            value = pl.when(pl.lit(marked).fill_null(value=False)).then(None).otherwise("value")
            rows = rows.with_columns(value.alias("value"))
    return rows


def _first_tries(
    rows: pl.DataFrame, place: Mapping[str, str], notes: list[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The first try of each item where it was tried again after failures alone, since the mean of all is not a rate."""
    if not {"draw", "score"} <= place.keys() or rows["draw"].n_unique() < 2:
        return rows, ()
    value, keys = pl.col("value"), ("item", "condition")
    early = rows.filter(value > 0, pl.col("draw") < pl.col("draw").max()).head(1)
    for item, condition, draw in early.select(*keys, "draw").iter_rows():
        if not rows.filter(pl.col("item") == item, pl.col("condition") == condition, pl.col("draw") > draw).is_empty():
            return rows, ()  # it was tried again after a success: all that ordinary repeats need to show
    each = rows.sort("draw").group_by(keys).agg(value.head(pl.len() - 1).max(), value.last().alias("last"), pl.len())
    stopped = each.filter(pl.col("len") < each["len"].max())
    few = min(len(stopped), int((each["len"] > 1).sum())) < MIN_RETRIED  # draws that came out so by chance
    if few or (each["value"] > 0).any() or not (stopped["last"] == 1).all():
        return rows, ()
    tried = f"items were tried again only after a failure ({brief(place['draw'])})"
    notes.append(Note(f"{tried}: the first try counts, for the mean of all tries is not a rate", LAYOUT))
    return rows.filter(pl.col("draw") == pl.col("draw").min().over(keys)), ("first-tries",)


def _marks_skipped(column: pl.Series) -> bool:
    """Whether a column may mark rows as skipped: by its name, or as a status in words."""
    if marks_rows(column.name):
        return holds_grades(column)
    return column.dtype == pl.String and plain_name(column.name) in (
        "status",
        "state",
        "outcome",
        "verdict",
        "result",
        "note",
        "notes",
    )


def _is_marked(column: pl.Series) -> pl.Series:
    """Whether each cell is a mark: an x, or any other but empty ones, 0 and words for no."""
    texts = text_of(column).str.to_lowercase()
    empty = [word for word in texts.drop_nulls().unique() if word in MISSING or (number_of(word) == 0 and word != "x")]
    return texts.is_not_null() & ~texts.is_in(empty)


def _as_probabilities(rows: pl.DataFrame, place: Mapping[str, str], notes: list[str]) -> pl.DataFrame:
    """The rows with the confidences of each condition as probabilities: another may well state percentages."""
    if "confidence" not in rows.columns:
        return rows
    values = rows["confidence"].fill_null(float("nan")).to_numpy().copy()
    low, high = stated_range(place["confidence"]) or (0.0, 1.0)
    if low == 0 and high > 1 and np.nanmin(values, initial=0.0) >= 0 and np.nanmax(values, initial=0.0) <= high:
        values = values / high
        notes.append(f"{brief(place['confidence'])} states its range: divided by {high:g}")
    if np.nanmax(values, initial=0.0) > 1 or np.nanmin(values, initial=0.0) < 0:
        for name in rows["condition"].unique(maintain_order=True):
            own = (rows["condition"] == name).to_numpy()
            values[own] = _condition_probabilities(values[own], name, notes, is_graded="score" in place)
    return rows.with_columns(
        pl.Series("confidence", values).fill_nan(None), pl.lit(place["confidence"]).alias("confidence_source")
    )


def _condition_probabilities(values: np.ndarray, name: str, notes: list[str], *, is_graded: bool) -> np.ndarray:
    from richter.calibration import as_probability

    try:
        found, note = as_probability(values)
    except InputError as error:
        if not is_graded or not 2 <= np.nanmax(values) <= 10:  # else a rater's own, on a scale
            raise
        notes.append(Note(f"{brief(name)}: {error.what} They are left out. {error.remedy}", "no confidence"))
        return np.full(len(values), np.nan)
    if note:
        notes.append(f"{brief(name)}: {note}")
    return found


# ------------------------------------------------------------------ ratings, items, groupings, graders


def _ratings(
    frame: pl.DataFrame, rows: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, what: str
) -> pl.DataFrame:
    """The column of severities as given, or one rating a row where a column names the rater, and judges' columns."""
    found = [_severity_column(frame, rows, place, options, what)] if "severity" in rows.columns else []
    for column in (c for c in frame.columns if re.fullmatch(r"judge_\d+", c)):
        own = f"{column}_name"
        named = text_of(frame[own]) if own in frame.columns else pl.lit(column)
        values = rows.with_columns(
            to_numbers(frame, column, "severity", what, place, []).alias("severity"), named.alias("rater")
        )
        values = values.with_columns(_severities(values, "severity", options, what))
        found.append(values.filter(pl.col("rater").is_not_null()).with_columns(pl.lit("judge").alias("kind")))
    if "human_severity" in rows.columns:
        people = rows.with_columns(
            _severities(rows, "human_severity", options, what),
            pl.lit(brief(place["human_severity"])).alias("rater"), pl.lit("human").alias("kind"),
        )  # fmt: skip
        found.append(people.filter(pl.col("severity").is_not_null()))
    if not found:
        return pl.DataFrame(schema=RATINGS)
    ratings = pl.concat([frame_of(part, RATINGS) for part in found])
    ratings = ratings.with_columns(pl.when(pl.col("kind") == "human").then("inclusion").alias("inclusion"))
    _refuse_clashes(ratings, what)
    return ratings.unique([*KEY, "rater"], keep="first", maintain_order=True)


def _people_among_judges(frame: pl.DataFrame, place: Mapping[str, str]) -> pl.Series | None:
    """Which rows people graded, where `kind` says whose each grade is and others graded too; else None."""
    if not {"rater", "kind", "score"} <= place.keys():
        return None
    kind = text_of(frame[place["kind"]]).str.to_lowercase()
    people = kind == "human"
    return people if kind.is_in(["human", "judge", "rule"]).all() and people.any() and not people.all() else None


def _with_labels_apart(rows: pl.DataFrame, frame: pl.DataFrame, place: Mapping[str, str]) -> pl.DataFrame:
    """The rows of judges with people's grades of right and wrong beside them, on the first row of an answer."""
    by_people = _people_among_judges(frame, place)
    if by_people is None or not rows["value"].drop_nulls().is_in([0.0, 1.0]).all():
        return rows
    drawn = [c for c in ("layer", "inclusion") if c in rows.columns]
    people = rows.filter(by_people).group_by(KEY).agg(pl.col("value").median().alias("human"), pl.col(drawn).first())
    beside = rows.filter(~by_people).drop("human", strict=False).join(people, on=KEY, how="left", maintain_order="left")
    once = pl.when(pl.int_range(pl.len()).over(KEY) == 0).then("human")
    return beside.with_columns(once.alias("human"), *(pl.coalesce(c, f"{c}_right").alias(c) for c in drawn))


def _severities(rows: pl.DataFrame, column: str, options: ReadOptions, what: str) -> pl.Series:
    return severities(rows, column, options.as_severity, what, any_scale=options.any_scale)


def _severity_column(
    frame: pl.DataFrame, rows: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, what: str
) -> pl.DataFrame:
    checked = rows.with_columns(_severities(rows, "severity", options, what))
    if "rater" not in place:
        checked = checked.with_columns(pl.lit("severity").alias("rater"), pl.lit("given").alias("kind"))
        return checked.filter(pl.col("severity").is_not_null())
    if "kind" in place:
        kind = pl.lit(text_of(frame[place["kind"]]).str.to_lowercase())
    else:  # beside a column of people's own severities nobody else is a person
        is_model = "human_severity" in rows.columns or are_models(checked["rater"], default=False)
        kind = pl.when(pl.lit(is_model)).then(pl.lit("judge")).otherwise(pl.lit("human"))
    checked = checked.with_columns(kind.alias("kind"))
    checked = checked.filter(pl.col("rater").is_not_null() | pl.col("severity").is_not_null())
    wrong = checked.filter(~pl.col("kind").is_in(["human", "judge", "rule"]) | pl.col("kind").is_null())
    if len(wrong):
        raise InputError(
            f"{what}: kind {wrong['kind'][0]!r} is not one of human, judge, rule.", remedy="Say who rated in `kind`."
        )
    return checked


def are_models(raters: pl.Series, *, default: bool = True) -> pl.Series:
    """Whether each rater is a model, by its name; `default` is for names that say neither."""
    if default:
        return raters.str.contains(_A_MODEL) | ~raters.str.contains(_A_PERSON)
    return raters.str.contains(_A_MODEL)


def _refuse_clashes(ratings: pl.DataFrame, what: str) -> None:
    twice = ratings.filter(pl.struct(*KEY, "rater").is_duplicated())
    clash = twice.group_by(*KEY, "rater").agg(pl.col("severity").n_unique()).filter(pl.col("severity") > 1)
    if len(clash):
        item, condition, _, rater, _ = clash.row(0)
        raise InputError(
            f"{what}: rater {brief(rater)!r} gave item {brief(item)!r} under "
            f"{brief(condition)!r} different severities ({len(clash)} such answers).",
            remedy="Keep one, or say which draw each belongs to: --map draw=COLUMN (or --map draw=order).",
        )


def _own_questions(frame: pl.DataFrame, keys: pl.DataFrame, place: Mapping[str, str]) -> dict[str, dict[str, Item]]:
    """The questions of each condition, where they differ under one id: whether it means the same is looked at later."""
    if "prompt" not in place or keys["condition"].n_unique() < 2:
        return {}
    texts = keys.select("item", "condition").with_columns(text_of(frame[place["prompt"]]).fill_null("").alias("prompt"))
    if texts.select("item", "prompt").n_unique() == texts["item"].n_unique():
        return {}
    where = keys["condition"]
    return {
        name: _items(frame.filter(where == name), keys["item"].filter(where == name), place)
        for name in where.unique(maintain_order=True)
    }


def _items(frame: pl.DataFrame, ids: pl.Series, place: Mapping[str, str]) -> dict[str, Item]:
    """Questions and references where the table has them."""
    fields = [f for f in ("prompt", "reference", "domain") if f in place]
    if not {"prompt", "reference"} & {*fields}:
        return {}
    texts = {f: text_of(frame[place[f]]).fill_null("") for f in fields}
    first = pl.DataFrame({"item": ids, **texts}).unique("item", keep="first", maintain_order=True)
    blank = pl.Series("", [""]).new_from_index(0, len(first))
    columns = (first.get_column(name, default=blank) for name in ("item", "prompt", "reference", "domain"))
    return {
        name: Item(
            id=name, prompt=prompt, reference=(parts := reference.split("|"))[0], aliases=tuple(parts[1:]),
            domain=domain,
        )
        for name, prompt, reference, domain in zip(*columns, strict=True)
    }  # fmt: skip


def _grouping_columns(frame: pl.DataFrame, place: Mapping[str, str]) -> list[str]:
    """The columns that may say which items belong together: those mapped or made, then by name, the likelier first."""
    own = [place[f] for f in ("group", "group_2") if place.get(f) in frame.columns]
    other = {c for f, c in place.items() if f not in ("group", "group_2")}
    named = {name(c): c for name in (leaf_name, plain_name) for c in reversed(frame.columns) if c not in other}
    return list(dict.fromkeys([c for c in own if c not in other] + [named[n] for n in FIELDS["group"] if n in named]))


def _groupings(frame: pl.DataFrame, items: pl.Series, place: Mapping[str, str]) -> pl.DataFrame:
    """What each column that may group items says of every item."""
    found = [
        pl.DataFrame({"item": items, "value": text_of(frame[c])}).unique(maintain_order=True)
        .with_columns(pl.lit(c).alias("column")).select(*GROUPINGS)
        for c in _grouping_columns(frame, place)
    ]  # fmt: skip
    return pl.concat(found) if found else pl.DataFrame(schema=GROUPINGS)


def _grader_columns(frame: pl.DataFrame, place: Mapping[str, str]) -> list[str]:
    """Columns beside a score that name the models that graded; people and scores are none."""
    if "score" not in place:
        return []
    fields = ("graded_by",) if "severity" in place else ("graded_by", "rater")  # who rated, beside severities
    named = [place[f] for f in fields if place.get(f) in frame.columns]
    named = [c for c in named if leaf_name(c) in (*FIELDS["graded_by"], "judge", "grader")]
    counts = {c: frame[c].drop_nulls().n_unique() for c in named if not holds_grades(frame[c])}
    return [c for c, n in counts.items() if 0 < n <= MAX_APART and text_of(frame[c]).str.len_chars().max() <= LONG]  # type: ignore[operator]


def _grader_names(frame: pl.DataFrame, place: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the models that graded, by a column that says so; a `grader` may be a person by its name."""
    by_people = _people_among_judges(frame, place)
    if by_people is not None:
        return tuple(text_of(frame[place["rater"]]).filter(~by_people).drop_nulls().unique(maintain_order=True))
    cells = {c: text_of(frame[c]).drop_nulls().unique(maintain_order=True) for c in _grader_columns(frame, place)}
    cells = {c: own.filter(are_models(own)) if leaf_name(c) == "grader" else own for c, own in cells.items()}
    names = dict.fromkeys(name for own in cells.values() for name in own if name.lower() not in MISSING)
    return tuple(name for name in names if PEOPLE.isdisjoint(plain_name(name).split("_")))


def _unused(frame: pl.DataFrame, place: Mapping[str, str], wide: Sequence[str]) -> list[str]:
    """The columns that are called like something that changes claims, vary, and are not used.

    A stratum and a chance of being drawn are used beside people's labels only, a rater beside severities or where it
    tells several rows of an answer apart. What may group items is looked at where all sources are put together.
    """
    used = {c for f, c in place.items() if f not in _idle_fields(frame, place)}
    used |= {*wide, *_grader_columns(frame, place), *_grouping_columns(frame, place)}
    used |= {c for c in frame.columns if re.fullmatch(r"judge_\d+(_name)?", c)}
    rest = [c for c in frame.columns if c not in used and "\0" not in c and bears_on_claims(c) and _tells(frame[c])]
    runs = [place[f] for f in ("draw", "run") if place.get(f) in frame.columns]
    return [c for c in rest if not any(_numbers_alike(frame, c, run) for run in runs)]


def _without_idle(table: RoledTable) -> RoledTable:
    """The table as it is read: a column that changes nothing plays no part."""
    idle = _idle_fields(table.frame, table.place)
    return dataclasses.replace(table, place={f: c for f, c in table.place.items() if f not in idle})


def _tells(column: pl.Series) -> bool:
    """Whether a column varies, and does not only name every row."""
    return text_of(column).n_unique() > 1 and (column.n_unique() < len(column) or holds_grades(column))


def _numbers_alike(frame: pl.DataFrame, one: str, two: str) -> bool:
    """Whether two columns tell the same rows apart, as a number of the run and its seed."""
    return frame[one].n_unique() == frame[two].n_unique() == frame.n_unique([one, two])


def _idle_fields(frame: pl.DataFrame, place: Mapping[str, str]) -> set[str]:
    """The fields that have a column and change nothing in this table."""
    idle = set() if {"human", "human_severity", "rater"} & place.keys() else {"layer", "inclusion"}
    keys = [place[f] for f in ("item", "condition", "run") if f in place and place[f] in frame.columns]
    is_alone = "draw" not in place and place.get("item") in frame.columns and "rater" in place
    if "severity" not in place and is_alone and not frame.select(keys).is_duplicated().any():
        idle.add("rater")
    return idle
