"""A table's columns by what they are usually called, long or wide, and its cells as numbers."""

import json
import math
import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from richter.claims import METRICS
from richter.errors import InputError
from richter.interop import (
    FIELDS,
    HINTS,
    PEOPLE,
    bears_on_claims,
    has_no_end,
    hinted_fields,
    known_fields,
    leaf_name,
    less_is_better,
    plain_name,
    stated_range,
)
from richter.records import Item, Note, counted, of_kind, printable
from richter.tables._part import GROUPINGS, OTHERS, ROW, USUAL, Part, frame_of, severities
from richter.tables._references import answer_columns, are_answers, expert_key
from richter.tables._roles import JUDGES, LONG, find_roles
from richter.tables._severity_words import worded
from richter.tables._shapes import CONDITION, ORDER, VALUE, long_form
from richter.tables._tables import KEY, RATINGS, ReadOptions
from richter.tables._words import (
    ANY,
    DATED,
    DATES,
    DECLINED,
    EMPTY,
    MISSING,
    SPREADS,
    TOTALS,
    UNREADABLE,
    WORDS,
    brief,
    counts_rows,
    holds_any,
    holds_grades,
    likely_column,
    listed,
    listing,
    map_option,
    number_of,
    ordered_words,
    row_count,
    says_right,
    text_of,
    to_numbers,
    wide_option,
)  # fmt: skip

SAME = {"correct": "score", "answer": "text", "subject": "domain", "model": "condition", "id": "item"}
_SCORED = "correct|is_correct|score|grade|passed|acc|accuracy|exact_match|answer|response|output"
_ENDS, _STARTS = rf"[_ .:/-]+({_SCORED})$", rf"^({_SCORED})[_ .:/-]+"
_BRACKET = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")  # what explains a name, at its end
_MADE = ("diff", "difference", "delta", "gap", "gain", "change", "max", "min", "std", "median")  # of other columns
# what a row's points, or its average, are of; with or without a word for "number" before it
_OF = ("out_of", "max", "max_score", "max_points", "possible", "von", "sur", "de", "possible_points",
       "points_possible", "maximum", "max_punkte", "maximalpunkte", "n", "total", "count", "support", "samples",
       "questions", "tests", "examples", "items", "answers", "anzahl", "gesamt")  # fmt: skip
_RIGHT = ("correct", "passed", "right", "hits", "solved", "success", "successes", "pass", "richtig")
_BINARY = ("correct", "is_correct", "passed", "pass", "success", "solved", "resolved", "richtig", "korrekt", "ok")
_PREDICTED = ("pred", "prediction", "predicted", "predicted_answer", "model_answer", "generated_answer")
_MISSED = ("wrong", "incorrect", "failed", "fail", "failures", "errors", "n_wrong", "num_wrong", "n_incorrect",
           "num_incorrect", "falsch")  # fmt: skip
_NOT_RUN = ("skipped", "skip", "not_run", "excluded", "ignored", "not_graded", "not_applicable")
_WORDS = 8  # different ones in a column that may grade
_GRADES = ("right", *["wrong"] * 2 * _WORDS)  # an example of what they count as
_MANY = 10  # answers behind an average
_FEW = 6  # items that may rather be categories
GRADES = ({"score"}, {"metric"}, {"score", "metric"})  # what names of grades speak for, and nothing else
SEGMENTS = ("seg", "doc_seg_id", "seg_id", "segment", "segment_id", "sentence")  # numbered within a document


def common_roles(frames: Mapping[str, pl.DataFrame], options: ReadOptions, notes: list[str]) -> dict[str, str]:
    """What is the item and what the grade in tables of one form, one a condition: an item is what they share."""
    first = next(iter(frames.values()))
    columns = set(first.columns)
    if (
        len(frames) < 2
        or options.map
        or options.wide is not None
        or any(set(f.columns) != columns for f in frames.values())
    ):
        return {}
    joint = pl.concat(
        _without_blanks(frame).select(pl.col(c).cast(pl.String, strict=False) for c in first.columns)
        .with_columns(pl.lit(name).alias(CONDITION))
        for name, frame in frames.items()
    )  # fmt: skip
    if joint.is_empty() or long_form(joint.drop(CONDITION), [])[1]:
        return {}
    joint = joint.drop(c for c in columns if all(f[c].n_unique() == 1 for f in frames.values()))  # facts of a file
    place = _place(joint, options, "", {})
    if {"item", "score"} <= place.keys():
        return {}
    said: list[str] = []
    found, place = find_roles(joint, {"condition": CONDITION, **place}, [CONDITION], options.grade, said)
    items = found[place["item"]].n_unique() if place.get("item") in columns else found.height
    again = found.height > len(frames) * items**2  # more rows of each in a file than there are of them: no items
    dropped = of_kind(said, "item") if again else []
    notes += [note for note in said if note not in dropped]
    return {f: place[f] for f in ("item", "score")[again:] if place.get(f) in columns}


def part_of_frame(
    frame: pl.DataFrame,
    options: ReadOptions,
    *,
    what: str,
    stem: str,
    common: Mapping[str, str] | None = None,
    named: bool = False,
) -> Part:
    """Rows of a table; without a column for it the condition is the file's name (`stem`).

    `common` are the columns that tables beside it have shown to be the item and the grade. A table that the user gave a
    name (`named`) is one condition's: several columns of grades are measures of one answer.
    """
    frame = _without_blanks(_unnested(frame))
    if frame.is_empty():
        raise InputError(f"{what} has a header and no rows.", remedy="It needs at least one row: export it again.")
    notes: list[str] = []
    frame = _without_totals(frame, {}, notes)
    settled_by_user = bool(options.map) or options.wide is not None
    frame, made = (frame, {}) if settled_by_user else long_form(frame, notes)
    made = {**(common or {}), **made}
    frame, place = worded(*_segments(frame, _place(frame, options, what, made), options), options, notes, what)
    headed = place or any("score" in hinted_fields(c) for c in frame.columns)
    if not headed and any(number_of(c) is not None for c in frame.columns if c.lower() not in WORDS):
        raise InputError(
            f"{what}: its first line seems to hold data ({listing(frame.columns)}).",
            remedy="Add a line of names at the top, as item,model,correct",
        )
    graded = {"score", "reference", "severity"} & place.keys()
    if "human" in place and not graded and place["human"] not in options.map.values():
        place = {f: c for f, c in place.items() if f != "human"}  # nothing else grades: what people say is the grade
    place = _answer_key(frame, place, options, notes)
    _named_once(frame, place, options, what)
    fixed = [*options.map.values(), *made.values(), *([options.scorer] if options.scorer else [])]
    place, fixed = _beside_reference(frame, place, fixed)
    if options.wide is None:
        frame, place = find_roles(frame, place, fixed, options.grade, notes, one=named)
    frame = _without_totals(frame, place, notes)
    if not settled_by_user and not {"condition", "score", "severity", "rater", "reference", "text"} & place.keys():
        taken = {c for f, c in place.items() if f != "human"}
        columns = [c for c in frame.columns if c not in taken and holds_grades(frame[c], options.grade)]
        if key := expert_key(frame, columns, notes):
            place = {f: c for f, c in place.items() if c != key} | {"reference": key}
    wide, holds = _wide_columns(frame, place, options, what, notes, named=named)
    if wide and frame.height == 1 and not settled_by_user:
        raise InputError(
            f"{what} has one row ({listing(wide)}): totals, not the results of single items.",
            remedy="Give the file with a row for each question.",
        )
    if wide:
        place = {f: c for f, c in place.items() if c not in wide and f not in ("condition", "score", "severity")}
        if "item" not in place and options.wide is not None:  # else roles were looked for before
            found: list[str] = []
            _, roles = find_roles(frame.drop(wide), place, fixed, options.grade, found)
            if roles.get("item") in frame.columns:
                place["item"] = roles["item"]
                notes += of_kind(found, "item")
        frame = _melted(frame, [c for c in frame.columns if c not in wide], wide)
        place |= {"condition": CONDITION, holds: VALUE}
        if "item" not in place:
            place["item"] = ORDER
            notes.append("no column names the items: each row is taken for one")
        if any(twice := [c for c in wide if re.sub(r"_duplicated_\d+$", "", c) in {*wide} - {c}]):
            raise InputError(
                f"{what}: several columns have the same name, {printable(twice[0].partition('_duplicated')[0])!r}.",
                remedy="Give each its own: the names of the conditions.",
            )
    if not settled_by_user:
        frame, amount = _shares(frame, place, what, notes)
        _not_averaged(frame, place, what)
        _not_by_category(frame, place, what, amount, notes)
    column, told = place.get("score"), {"reference", "confidence"} & place.keys()  # graded by it, or still to label
    if column in frame.columns and not holds_any(frame[column]) and not told:
        raise InputError(
            f"{what}: the column of scores, {brief(column)!r}, is empty in all {counted(frame.height, 'row')}.",
            remedy="Fill it in, or name the column that holds the grades: --map score=COLUMN",
        )
    frame, place = _answers(frame, place)
    if "score" not in place and "severity" not in place and "text" not in place and "confidence" not in place:
        other, by = likely_column(frame, place), place.get("condition", "")
        if other in frame.columns and by in frame.columns and 1 < frame[by].n_unique() == frame.n_unique([by, other]):
            raise InputError(
                f"{what}: {brief(other)} is one number for each {brief(by)}: an average, "
                "not the results of single items.",
                remedy="Give the file with each question's own result (two averages and their n: richter size "
                "published).",
            )
        raise InputError(
            f"{what} has no column that is known as a score; it has {listing(frame.columns)}.",
            remedy=(_of_words(frame, place) if other == "COLUMN" or hinted_fields(other) & {"other"} else "")
            or f"Name it: {_unnamed(frame, place)}{map_option('score', other)}, or {_unnamed(frame, place)}--wide all "
            "if each condition has its own column.",
        )
    keys = _one_spelling(_keys(frame, place, notes, what=what, stem=stem), notes)
    own = {m.name: m.column for m in METRICS.values() if m.source == "column" and m.column in frame.columns}
    if "score" in place and not options.map and options.scorer is None and not wide:
        others = [
            c for c in frame.columns if c not in {*place.values(), *own.values()} and frame[c].n_unique() > 1
            and ("score" in known_fields([c]) or hinted_fields(c) - {"item", "condition", "part"} in GRADES)
        ]  # fmt: skip
        if others := [c for c in others if holds_grades(frame[c]) and not _same_grades(frame, c, place["score"])]:
            shown = ", ".join(map_option("score", c) for c in others[:3])
            notes.append(f"there are other grades than {brief(place['score'])}: {shown}")
    if "score" in place and EMPTY in options.grade:
        filled = text_of(frame[place["score"]]).fill_null("").replace("", EMPTY)
        frame = frame.with_columns(filled.alias(place["score"]))
    settled = _settled(frame[place["score"]], options, notes) if "score" in place else {}
    words = frame[place["score"]] if settled else pl.Series(dtype=pl.String)
    if settled:
        frame = frame.with_columns(words.set(words.is_in(list(settled)), None).alias(place["score"]))
    numbers = {
        f: to_numbers(frame, place[f], f, what, place, notes)
        for f in ("score", "severity", "confidence", "weight", "inclusion", "money_usd", "latency_s", "tokens_in",
                  "tokens_out", "token_probability", "human", "human_severity")
        if f in place
    }  # fmt: skip
    if settled:
        given = words.replace_strict(list(settled), list(settled.values()), default=None, return_dtype=pl.Float64)
        numbers["score"] = numbers["score"].fill_null(given)
    if "score" in numbers and (
        codes := {n: v for word, v in options.grade.items() if (n := _plain_number(word)) is not None}
    ):
        numbers["score"] = numbers["score"].replace(list(codes), list(codes.values()))
    coded = "score" in numbers and leaf_name(place["score"]) in _BINARY and options.scale is None
    if coded and {*numbers["score"].drop_nulls().unique()} == {1.0, 2.0}:
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
    rows = keys.with_columns(s.alias("value" if f == "score" else f) for f, s in numbers.items() if f != "severity")
    rows = rows.with_columns(
        to_numbers(frame, column, name, what, place | {name: column}, notes).alias(f"measure\0{name}")
        for name, column in own.items()
    )
    texts = [f for f in ("domain", "tier", "text", "error", "finish", "rater", "mechanism", "reason",
                         "cluster", "clustered_by", "human_cluster", "layer")
             if f in place]  # fmt: skip
    rows = rows.with_columns(text_of(frame[place[f]]).alias(f) for f in texts)
    if "error" in place:
        rows = rows.with_columns(
            pl.when(pl.col("error").str.to_lowercase().is_in(["false", "0", "no", *MISSING]))
            .then(pl.lit("")).otherwise("error").fill_null("").alias("error")
        )  # fmt: skip
    if "refused" in place:
        refused = to_numbers(frame, place["refused"], "refused", what, place, notes)
        rows = rows.with_columns((refused == 1).alias("refused"))
    elif declined := [c for c, value in settled.items() if value == 0 and c.strip().lower() in DECLINED]:
        rows = rows.with_columns(words.is_in(declined).fill_null(value=False).alias("refused"))
    if "severity" in numbers:
        rows = rows.with_columns(numbers["severity"].alias("severity"))
    rows = _without_summary(_skipped(frame, _probable(rows, place, notes), place, notes), notes)
    ratings = _ratings(frame, rows, place, options, what)
    rows, repeated = _once(frame, rows, place, what, rated=len(ratings) > 0)
    notes += repeated
    rows = _first_tries(rows, place, notes)
    score = (
        ""
        if "score" not in place
        else " ".join(["the columns", *_faults(wide)])
        if "\0" in place["score"]
        else f"column {brief(place['score'])}"
    )
    ranges = {stated_range(c) for c in wide or [place.get("score", "")]}
    return Part(
        name=what,
        answers=frame_of(rows, ROW),
        ratings=ratings,
        others=_measured_columns(rows, list(own)),
        conditions=rows["condition"].unique(maintain_order=True).to_list(),
        items=_items(frame, keys["item"], place),
        score=score,
        scale=ranges.pop() if len(ranges) == 1 else None,
        endless=bool(score) and all(map(has_no_end, wide or [place["score"]])),
        worded="score" in place and says_right(words if settled else frame[place["score"]]),
        groupings=_groupings(frame, keys["item"], place),
        graded_by=_grader_names(frame, place),
        unused=_unused(frame, place, wide),
        notes=notes,
    )


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
    held = {c: frame[c].drop_nulls().n_unique() for c in named if not holds_grades(frame[c])}
    return [c for c, n in held.items() if 0 < n <= _FEW and text_of(frame[c]).str.len_chars().max() <= LONG]  # type: ignore[operator]


def _grader_names(frame: pl.DataFrame, place: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the models that graded, by a column that says so."""
    cells = (text_of(frame[c]).drop_nulls().unique(maintain_order=True) for c in _grader_columns(frame, place))
    names = dict.fromkeys(name for own in cells for name in own if name.lower() not in MISSING)
    return tuple(name for name in names if PEOPLE.isdisjoint(plain_name(name).split("_")))


def _unused(frame: pl.DataFrame, place: Mapping[str, str], wide: Sequence[str]) -> list[str]:
    """The columns that are called like something that changes claims, vary, and are not used.

    A stratum and a chance of being drawn are used beside people's labels only, a rater beside severities or where it
    tells several rows of an answer apart. What may group items is looked at where all sources are put together.
    """
    idle = set() if {"human", "human_severity", "rater"} & place.keys() else {"layer", "inclusion"}
    alone = "draw" not in place and place.get("item") in frame.columns
    keys = [place[f] for f in ("item", "condition", "run") if f in place and place[f] in frame.columns]
    if "severity" not in place and alone and not frame.select(keys).is_duplicated().any():
        idle.add("rater")
    used = {c for f, c in place.items() if f not in idle} | {*wide, *_grader_columns(frame, place)}
    used |= {own for c in frame.columns if re.fullmatch(r"judge_\d+", c) for own in (c, f"{c}_name")}
    used |= {*_grouping_columns(frame, place)}
    rest = [c for c in frame.columns if c not in used and "\0" not in c and bears_on_claims(c)]
    rest = [c for c in rest if text_of(frame[c]).n_unique() > 1]
    return [c for c in rest if frame[c].n_unique() < frame.height or holds_grades(frame[c])]


def _same_grades(frame: pl.DataFrame, one: str, two: str) -> bool:
    pairs = pl.DataFrame([text_of(frame[one]), text_of(frame[two])]).unique().rows() if one != two else []
    return all(number_of(a or "") == number_of(b or "") for a, b in pairs)


def _unnested(frame: pl.DataFrame) -> pl.DataFrame:
    """With a column for each field of an object (`config.model`), as nested JSON has it."""
    while structs := {c: kind for c, kind in frame.schema.items() if isinstance(kind, pl.Struct)}:
        own = (pl.col(c).struct.rename_fields([f"{c}.{f.name}" for f in kind.fields]) for c, kind in structs.items())
        frame = frame.with_columns(own).unnest(*structs)
    return frame


def _without_blanks(frame: pl.DataFrame) -> pl.DataFrame:
    """Without rows that are empty throughout, and without columns that have neither a name nor a cell."""
    texts = [c for c, kind in frame.schema.items() if kind == pl.String]
    if texts and frame.width:
        held = [
            pl.col(c).str.strip_chars().fill_null("") != "" if c in texts else pl.col(c).is_not_null()
            for c in frame.columns
        ]
        frame = frame.filter(pl.any_horizontal(held))
    bare = [c for c in frame.columns if not c.strip() or c.startswith(("_duplicated_", "__UNNAMED__"))]
    return frame.drop(
        [c for c in bare if frame[c].cast(pl.String, strict=False).fill_null("").str.strip_chars().eq("").all()]
    )


def _beside_reference(frame: pl.DataFrame, place: dict[str, str], fixed: list[str]) -> tuple[dict[str, str], list[str]]:
    """Columns that often equal the reference hold answers: one is the text, and beside several it is no grade."""
    column = place.get("reference", "\0")
    if column not in frame.columns or {"score", "severity"} & place.keys():
        return place, fixed
    found = answer_columns(frame, [c for c in frame.columns if c not in place.values() and c.strip()], column)
    if len(found) > 1 and "condition" not in place and not answer_columns(frame, [place.get("text", column)], column):
        place = {"prompt": place["text"]} | {f: c for f, c in place.items() if f != "text"}  # what was classed
    if "text" in place:
        return place, fixed
    if len(found) == 1:
        return {**place, "text": found[0]}, fixed
    return place, [*fixed, column] if found else fixed


def _answer_key(frame: pl.DataFrame, place: dict[str, str], options: ReadOptions, notes: list[str]) -> dict[str, str]:
    """A column named as a grade that holds what the answers do is the answer key, which is said."""
    place = dict(place)
    column = place.get("score", "")
    if "reference" not in place and "text" in place and column in frame.columns and column not in options.map.values():
        cells, texts = (set(text_of(frame[c]).drop_nulls().unique()) for c in (column, place["text"]))
        if cells and texts <= cells and all(text.lower() in ANY for text in cells):  # yes and no, asked and graded
            notes.append(
                f"column {brief(column)} may be the answer key, for it holds the words of "
                f"{brief(place['text'])}: {map_option('reference', column)} compares the two"
            )
        if cells and all(len(c) > 0 for c in cells) and cells <= texts | {""} and not holds_grades(frame[column]):
            place["reference"] = place.pop("score")
            notes.append(
                f"column {brief(column)} holds what {brief(place['text'])} does, so it is "
                "taken for the answer key, not for grades"
            )
    return place


def _answers(frame: pl.DataFrame, place: dict[str, str]) -> tuple[pl.DataFrame, dict[str, str]]:
    """Cells that hold a list of answers as one row an answer: its draws. A list of references is alternatives."""
    if (column := place.get("reference")) in frame.columns and (lists := listed(frame[column])) is not None:
        frame = frame.with_columns(pl.Series(column, ["|".join(map(str, texts)) for texts in lists]))
    if (column := place.get("text")) not in frame.columns or (lists := listed(frame[column])) is None:
        return frame, place
    alone = all(len(texts) <= 1 for texts in lists)
    if not alone and {"score", "severity", "draw"} & place.keys():
        return frame, place  # graded as a whole
    texts = [[str(text) for text in own] for own in lists]
    frame = frame.with_columns(pl.Series(column, texts, dtype=pl.List(pl.String))).explode(column)
    return frame, place if alone else {**place, "draw": ORDER}


def _without_totals(frame: pl.DataFrame, place: Mapping[str, str], notes: list[str]) -> pl.DataFrame:
    """Without rows at the foot that hold totals: no item, or one that is called a total, beside a word for it."""
    varied = [c for c in frame.columns if frame[c].n_unique() > 1] or frame.columns  # a word in all rows is no total
    names = [c for c in varied if frame[c].dtype == pl.String or c == place.get("item")]
    item = place["item"] if place.get("item") in names else varied[0]
    foot, sums = 0, False
    for row in (
        frame.select(text_of(frame[item]).alias("item\0"), *(c for c in names if c != item)).tail(5).rows()[::-1]
    ):
        cells = [_plain_letters(cell or "") for cell in row]
        summed = any(map(TOTALS.match, cells))
        if cells[0] and not TOTALS.match(cells[0]) and not SPREADS.fullmatch(cells[0]):
            break
        if not summed and not any(map(SPREADS.fullmatch, cells)):
            break
        foot, sums = foot + 1, sums or summed
    kept = frame.head(frame.height - (foot if sums else 0))
    if place.get("item") in kept.columns:  # also between the blocks of conditions
        total = (
            text_of(kept[item]).fill_null("").map_elements(lambda t: bool(TOTALS.fullmatch(t)), return_dtype=pl.Boolean)
        )
        kept = kept.filter(~total) if 0 < total.sum() <= max(kept.height // 5, 1) else kept
    if kept.height == frame.height and _sums_up(frame):
        kept = frame.head(frame.height - 1)
    if kept.height < frame.height:
        notes.append(f"{counted(frame.height - kept.height, 'row is', 'rows are')} totals and are left out")
    return kept


def _sums_up(frame: pl.DataFrame) -> bool:
    """Whether the last row holds, of two columns of grades or more, what those above add up to, or their mean."""
    sums = 0
    for c in frame.columns if frame.height > _FEW else []:
        above, text = frame[c].head(-1), text_of(frame[c].tail(1)).fill_null("").item()
        last = number_of(text)
        if last is None or (above == frame[c][-1]).any():  # of a million rows nearly always
            continue
        if above.dtype.is_numeric():
            given = above.drop_nulls().cast(pl.Float64).drop_nans().to_list()
        else:
            given = [value for value in map(number_of, text_of(above).fill_null("")) if value is not None]
        if len(given) < _FEW or 2 * len(given) < len(above) or last in given:
            continue
        places = len(re.sub(r"^[^.,]*[.,]?|\D", "", text)) + 2 * text.endswith("%")  # to which it is rounded
        if not any(abs(last - end) <= 0.51 / 10**places for end in (sum(given), sum(given) / len(given))):
            return False
        sums += 1
    return sums > 1


def _plain_letters(text: str) -> str:
    """Without spaces around it, and without accents."""
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text.strip()))


def _named_once(frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, what: str) -> None:
    """Refuse a name that two columns bear and that would be read, unless the user settles it."""
    for field, column in place.items():
        twice = f"{column}_duplicated_0"  # so the reader of tables calls the second
        if twice in frame.columns and column not in options.map.values() and not frame[column].equals(frame[twice]):
            raise InputError(
                f"{what}: two columns have the same name, {brief(column)!r}, and differ.",
                remedy=f"Rename or remove one of them, or take the first: {map_option(field, column)}",
            )


def _place(frame: pl.DataFrame, options: ReadOptions, what: str, made: Mapping[str, str]) -> dict[str, str]:
    """Which column is which field: as mapped or made, else by its name."""
    mapped = {SAME.get(field, field): column for field, column in options.map.items()}
    unknown = [f for f in mapped if f not in FIELDS]
    if unknown:
        raise InputError(
            f"--map {brief(unknown[0])}=...: there is no such field.",
            remedy=f"Fields: {', '.join(FIELDS)}.",
        )
    absent = [c for f, c in mapped.items() if c not in frame.columns and not (c == ORDER and f in ("draw", "item"))]
    if absent:
        raise InputError(f"{what} has no column {brief(absent[0])!r}.", remedy=f"It has {listing(frame.columns)}.")
    lower: dict[str, str] = {}
    leaves = {c: leaf_name(c) for c in frame.columns}
    alike = [c for c in frame.columns if leaves[c] in FIELDS["score"] and [*leaves.values()].count(leaves[c]) > 1]
    varied = {leaves[c] for c in alike if frame[c].n_unique() > 1}
    dull = [c for c in alike if leaves[c] in varied and frame[c].n_unique() == 1]  # one for the file, beside each's own
    for name in (plain_name, leaf_name):
        for column in sorted((c for c in frame.columns if c not in dull), key=lambda c: _unlikely(c)):
            lower.setdefault(name(column), column)
    taken, place = {*mapped.values(), *made.values()}, {**made, **mapped}
    if options.scorer is not None and options.scorer in frame.columns and "score" not in place:
        place["score"] = options.scorer
        taken.add(options.scorer)
    for field, names in FIELDS.items():
        own = [lower[n] for n in names if n in lower and lower[n] not in taken]
        own = [c for c in own if field != "condition" or not JUDGES.search(c)]
        several = frame.height > 1 and len(own) > 1 and field in ("item", "score")
        found = next((c for c in own if not several or frame[c].n_unique() > 1), next(iter(own), None))
        if field not in place and found is not None:
            place[field] = found
            taken.add(found)
    if "weight" in place and "weight" not in mapped and not _holds_numbers(frame[place["weight"]]):
        del place["weight"]  # an importance in words
    return _settle(frame, place, lower)


def _holds_numbers(column: pl.Series) -> bool:
    return text_of(column).cast(pl.Float64, strict=False).null_count() < len(column)


def _unlikely(column: str) -> tuple[bool, ...]:
    """Of nested scores that end alike `toxicity/v1/score` comes after others."""
    *around, leaf = re.split(r"[./]", column)
    if not around or plain_name(leaf) not in FIELDS["score"]:
        return False, False
    return less_is_better(column), "score" not in known_fields(around)


def _settle(frame: pl.DataFrame, place: dict[str, str], lower: Mapping[str, str]) -> dict[str, str]:
    """Names that mean different things in different tables: `prompt`, `sample`, `cluster`, an index without a name."""
    blank = next((lower[n] for n in ("", "unnamed:_0", "unnamed_0", "column_1") if n in lower), None)
    if "item" not in place and blank is not None and blank not in place.values():
        place["item"] = blank
    if "draw" in place and "text" in place and place.get("group") == lower.get("cluster", ""):
        place["cluster"] = place.pop("group")  # a table of draws: its clusters are of answers that mean the same
    predicted = next((lower[n] for n in _PREDICTED if n in lower), None)
    if predicted and "reference" not in place and place.get("text") == lower.get("answer", ""):
        place["reference"], place["text"] = place["text"], predicted  # what was predicted is held against the answer
    if "rater" in place and "severity" not in place and "score" in place and "kind" in place:
        place["severity"] = place.pop("score")
    return place


def _segments(frame: pl.DataFrame, place: dict[str, str], options: ReadOptions) -> tuple[pl.DataFrame, dict[str, str]]:
    """Segments that are numbered anew in every document: the item is both, and the document the group."""
    names = {plain_name(c): c for c in frame.columns}
    number = next((names[n] for n in SEGMENTS if n in names), None)
    of = next((names[n] for n in ("doc", "document", "doc_id") if n in names), None)
    if number is None or of is None or {"item", "group"} & options.map.keys():
        return frame, place
    place = {**place, "group": place.get("group", of)}
    if place.get("item", of) not in (of, number):  # numbered throughout
        return frame, place
    both = pl.concat_str(text_of(frame[of]), text_of(frame[number]), separator=" ")
    return frame.with_columns(both.alias("item\0")), {**place, "item": "item\0"}


def _wide_columns(
    frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, what: str, notes: list[str], *, named: bool
) -> tuple[list[str], Literal["score", "text"]]:
    """The columns that are conditions, and what they hold: those named, or all that hold grades where no column names a
    condition, or all that hold other texts beside a question and a reference.
    """
    if options.wide:
        absent = [c for c in options.wide if c not in frame.columns]
        if absent:
            commas = [c for c in frame.columns if "," in c and absent[0] in c]
            inside = f" A name with a comma stands in quotes: {wide_option(commas)}." if commas else ""
            raise InputError(f"{what} has no column {absent[0]!r}.", remedy=f"It has {listing(frame.columns)}.{inside}")
        texts = "reference" in place and (
            not any(holds_grades(frame[c], options.grade) for c in options.wide)
            or are_answers(frame, options.wide, place["reference"], notes, named="reference" in options.map)
        )
        return list(options.wide), "text" if texts else "score"
    taken = {c for f, c in place.items() if f != "human" or f in options.map}  # beside models: people's own answers
    rest = [c for c in frame.columns if c not in taken and c.strip()]
    graded = [c for c in rest if holds_grades(frame[c], options.grade)]
    if options.wide is not None:
        if len(graded) < 2:
            raise InputError(
                f"{what} has no two columns of grades beside its item; it has {listing(frame.columns)}.",
                remedy="Name the columns that are conditions: --wide A,B",
            )
        return graded, "score"
    alone = "condition" not in place and not {"score", "severity"} & place.keys()
    others = [c for c in graded if hinted_fields(c) & {"other"} or counts_rows(frame[c])]
    graded, others = (graded, []) if len(others) == len(graded) else ([c for c in graded if c not in others], others)
    column = place.get("reference", "\0")
    same = answer_columns(frame, rest, column) if column in frame.columns else []
    if alone and len(same) > 1 and "text" not in place:
        notes.append(f"{listing(same)} hold what {brief(place['reference'])} does: answers, not grades")
        return same, "text"
    if alone and len(graded) > 1 and ("item" in place or frame.height > len(graded)):
        measures = {frozenset(HINTS["metric"].intersection(plain_name(c).split("_"))) for c in graded}
        if named or len(measures - {frozenset()}) == len(graded):  # each has its own word
            best = map_option("score", likely_column(frame.select(graded), {"item": ""}))
            raise InputError(
                f"{what}: {listing(graded)} are measures of one answer, and "
                + ("a file with a name is one condition." if named else "no column names a condition."),
                remedy=f"Name the one that counts: {best}, or "
                + ("give the file without a name if each is a condition." if named else "--wide all if each is one."),
            )
        return _of_conditions(frame, graded, others, notes), "score"
    worded = [c for c in rest if frame[c].dtype == pl.String]
    if alone and {"prompt", "reference"} <= place.keys() and "text" not in place and len(worded) == len(rest) > 1:
        return worded, "text"
    return [], "score"


def _faults(wide: Sequence[str]) -> list[str]:
    """The word that all columns share where it says that less of what they hold is better."""
    words = [plain_name(c).split("_") for c in wide if less_is_better(c)]
    common = words[0] if words and len(words) == len(wide) else []
    explained = {c[m.start() :] for c in wide if common and (m := _BRACKET.search(c))}
    found = [w for w in common if less_is_better(w) and all(w in own for own in words)][:1]
    return found or [text.strip() for text in explained if len(explained) == 1]


def _measured_columns(rows: pl.DataFrame, measures: list[str]) -> pl.DataFrame:
    """The values of measures that have a column of their own in the table of measures."""
    parts = [
        rows.select(*KEY, pl.lit(name).alias("metric"), pl.col(f"measure\0{name}").alias("value")) for name in measures
    ]
    return pl.concat([pl.DataFrame(schema=OTHERS), *parts], how="vertical_relaxed")


def _of_conditions(frame: pl.DataFrame, graded: list[str], others: list[str], notes: list[str]) -> list[str]:
    """Without what is made of other columns (a mean, a difference), and what is no grade beside right or wrong.

    What is left out is named, with `others`: times, lengths, difficulties, which are known by name.
    """
    made = [c for c in graded if TOTALS.fullmatch(c.strip()) or plain_name(c) in _MADE]
    rest = [c for c in graded if c not in made]
    values = {c: [number_of(text) for text in text_of(frame[c]).drop_nulls().unique()] for c in rest}
    binary = [c for c in rest if {*values[c]} <= {0.0, 1.0}]
    off = [c for c in rest if len(binary) > 1 and any(v is not None and not 0 <= v <= 1 for v in values[c])]
    if not off:
        ends = {c: [v for v in values[c] if v is not None] or [0.0] for c in rest}
        tops = {c: next((end for end in USUAL if max(ends[c]) <= end), math.inf) for c in rest}
        below = {c: [tops[o] for o in rest if tops[o] < tops[c]] for c in rest}
        off = [c for c in rest if len(below[c]) > 1 and min(ends[c]) > max(below[c])]  # ages beside ratings
    kept = [c for c in rest if c not in off]
    left, kept = ([*others, *made, *off], kept) if len(kept) > 1 else (others, graded)
    if left:
        notes.append(f"{listing(left)}: taken for no condition beside {listing(kept)} (--wide names the conditions)")
    return kept


def _settled(column: pl.Series, options: ReadOptions, notes: list[str]) -> dict[str, float | None]:
    """Words among the grades that are no numbers: as the user settles them; those for no answer as not right."""
    if column.dtype != pl.String:
        return {}
    cells = {cell: cell.strip().lower() for cell in column.drop_nulls().unique(maintain_order=True)}
    told = {word.strip().lower(): value for word, value in options.grade.items()}
    known = {cell: told[word] for cell, word in cells.items() if word in told}
    letters = {cell.strip() for cell, word in cells.items() if len(word) == 1 and word.isalpha()}
    untold = sorted(letter for letter in letters if letter.lower() not in told)
    if untold and any(letter.lower() not in WORDS for letter in letters) and not ordered_words(cells):
        shown = " ".join(f"--grade {letter}=wrong" for letter in untold)
        raise InputError(
            f"The grades are letters ({listing(sorted(letters))}), of which only you know what they mean.",
            remedy=f"Say what each counts as: {shown} (or =right, =missing, a number).",
        )
    if any(number_of(cell) is not None for cell in cells):  # else these are texts
        for cell in [c for c, word in cells.items() if word in (*DECLINED, *UNREADABLE) and word not in told]:
            known[cell], word = 0.0, brief(cell.strip())
            notes.append(
                f"{int((column == cell).sum()):,} graded {word!r} count as not right "
                f"(--grade {shlex.quote(f'{word}=missing')} leaves them out)"
            )
    return known


def _plain_number(word: str) -> float | None:
    """A code that is a number: 99, -1."""
    try:
        return float(word)
    except ValueError:
        return None


def _melted(frame: pl.DataFrame, keep: list[str], wide: list[str]) -> pl.DataFrame:
    """One row per item and condition. What all names begin or end with (`old_correct`, `new_correct`) is left out."""
    names = {c: leaf_of(c, wide) for c in wide}
    texts = any(frame[c].dtype == pl.String for c in wide)
    frame = frame.with_columns(pl.col(c).cast(pl.String if texts else pl.Float64) for c in wide)
    return pl.concat([frame.select(*keep, pl.lit(names[c]).alias(CONDITION), pl.col(c).alias(VALUE)) for c in wide])


def leaf_of(column: str, wide: Sequence[str]) -> str:
    """A condition's name: without the word for the score that all end or begin with, or the object they were in.

    What all explain alike in a bracket at the end is left out first.
    """
    explained = {match[0] if (match := _BRACKET.search(c)) else "" for c in wide}
    if len(explained) == 1 and len(wide) > 1 and (bracket := explained.pop()) and bracket not in wide:
        return leaf_of(column.removesuffix(bracket), [c.removesuffix(bracket) for c in wide])
    words = (rf"[_ .:/-]+{re.escape(w)}$|^{re.escape(w)}[_ .:/-]+" for w in _faults(wide))
    for cut in (r"^.+ / ", r"^[^.]+\.", _ENDS, _STARTS, *words):
        short = {c: re.sub(cut, "", c, flags=re.IGNORECASE).strip() for c in wide}
        if len(set(short.values())) == len(wide) and all(short[c] and short[c] != c for c in wide):
            heads = {c[: len(c) - len(short[c])] for c in wide}
            if cut != r"^[^.]+\." or len(heads) == 1:
                return short[column]
    return column


def _of_words(frame: pl.DataFrame, place: Mapping[str, str]) -> str:
    """How to say what words count as: of the likeliest column of few words, or of several that share some; "" without.

    Likelier is what is called a grade, holds a word that is known as one, shares its words, or stands further right.
    """
    texts = [c for c, kind in frame.schema.items() if kind == pl.String and c not in place.values()]
    texts = [c for c in texts if not hinted_fields(c) & {"condition", "part"}] or texts
    held = {c: {w for w in text_of(frame[c]).drop_nulls().unique() if w.lower() not in MISSING} for c in texts}
    few = [c for c in texts if 1 < len(held[c]) <= min(_WORDS, frame.height // 2) and max(map(len, held[c])) <= 40]
    if any(DATES.fullmatch(word) for c in few for word in held[c]):
        return DATED
    best = max(
        few,
        key=lambda c: (
            bool(hinted_fields(c) & {"score", "metric"}),
            any(number_of(word) is not None for word in held[c]),
            sum(bool(held[c] & held[other]) for other in few),
            frame.columns.index(c),
        ),
        default="",
    )
    own = [c for c in few if held[c] & held[best]]
    words = sorted(set().union(*(held[c] for c in own)), key=lambda word: (-(number_of(word) or 0), word))
    told = [f"--grade {shlex.quote(f'{word}={value}')}" for word, value in zip(words, _GRADES, strict=False)]
    named = f"{_unnamed(frame, place)}{map_option('score', own[0])} " if len(own) == 1 else ""
    said = (
        f"If {listing(own)} {'is the grade' if named else 'are grades'}, say what each word counts as (right, wrong, "
    )
    return f"{said}missing or a number): {named}{' '.join(told)}" if own else ""


def _unnamed(frame: pl.DataFrame, place: Mapping[str, str]) -> str:
    """What names the item too, where that is not known either, so that one remedy is enough."""
    names = [c for c in frame.columns if "\0" not in c and c not in place.values()]
    names = [c for c in names if not holds_grades(frame[c]) or counts_rows(frame[c])] or names
    likely = max(names, key=lambda c: ("item" in hinted_fields(c), frame[c].n_unique())) if len(names) > 1 else ORDER
    return "" if "item" in place else f"{map_option('item', likely)} "


def _keys(frame: pl.DataFrame, place: Mapping[str, str], notes: list[str], *, what: str, stem: str) -> pl.DataFrame:
    """`item`, `condition`, `draw` (and `run`) of every row; runs follow each other in the numbers of the draws."""
    if "item" not in place:
        own = [c for c in frame.columns if "\0" not in c]
        has = f"; it has {listing(own)}" if own else ": every column was taken for a condition"
        raise InputError(
            f"{what} has no column that is known as the item{has}.",
            remedy=(
                f"Say which names the question: {told}. "
                if (told := _unnamed(frame, place).strip()) != map_option("item", ORDER)
                else "Add one. "
            )
            + "Where the rows are the items, in the same order in every file: --map item=order",
        )
    named = {"condition": _settings(text_of(frame[place["condition"]]))} if "condition" in place else {}
    keys = pl.DataFrame(named) if named else pl.select(pl.repeat(stem, len(frame)).alias("condition"))
    if place["item"] == ORDER and ORDER not in frame.columns:
        keys = keys.with_columns((pl.int_range(pl.len()).over("condition") + 1).cast(pl.String).alias("item"))
    else:
        keys = keys.with_columns(_ids(text_of(frame[place["item"]]), keys["condition"], notes).alias("item"))
    for name in ("item", "condition"):
        empty = keys[name].is_null() | (keys[name] == "")
        if empty.any():
            rows = ", ".join(str(r + 1) for r in empty.arg_true().head(3).to_list())
            raise InputError(
                f"{what}: no {name} in {row_count(empty.arg_true())} (data row {rows}{', …' * (empty.sum() > 3)}).",
                remedy=f"Fill in the column {brief(place.get(name, name))!r}, or remove these rows.",
            )
    keys = keys.select("item", "condition", pl.lit(0, dtype=pl.Int64).alias("draw"))
    if place.get("draw") == ORDER and ORDER not in frame.columns:
        rater = pl.lit(text_of(frame[place["rater"]])) if "rater" in place else pl.lit("")
        over = keys.with_columns(rater.alias("rater"))
        keys = keys.with_columns(over.select(pl.int_range(pl.len()).over("item", "condition", "rater").alias("draw")))
    elif "draw" in place:
        column = frame[place["draw"]]
        whole = text_of(column).cast(pl.Int64, strict=False)
        draw = whole if whole.null_count() == 0 else text_of(column).fill_null("").rank("dense").cast(pl.Int64)
        keys = keys.with_columns((draw - int(draw.to_numpy().min())).alias("draw"))  # draws count from 0
    if "run" in place:
        runs = text_of(frame[place["run"]]).fill_null("")
        draws = int(keys["draw"].to_numpy().max()) + 1
        run = (runs.rank("dense").cast(pl.Int64) - 1) * draws
        keys = keys.with_columns(runs.alias("run"), (keys["draw"] + run).alias("draw"))
    return keys


def _settings(names: pl.Series) -> pl.Series:
    """Names that are objects of settings by what differs between them: `temperature 0`; any others as they are."""
    found: dict[str, dict[str, object]] = {}
    for name in names.drop_nulls().unique(maintain_order=True):
        try:
            own = json.loads(name) if name.startswith("{") else None
        except (ValueError, RecursionError):
            own = None
        if not isinstance(own, dict):
            return names
        found[name] = own
    keys = dict.fromkeys(key for own in found.values() for key in own)
    differ = [k for k in keys if len({json.dumps(own.get(k)) for own in found.values()}) > 1]
    said = {name: ", ".join(_setting(k, own[k]) for k in differ if k in own) for name, own in found.items()}
    return names.replace(said) if len(set(said.values())) == len(said) > 1 else names


def _setting(name: str, value: object) -> str:
    return value if isinstance(value, str) and not value.replace(".", "").isdigit() else f"{name} {json.dumps(value)}"


def _not_averaged(frame: pl.DataFrame, place: Mapping[str, str], what: str) -> None:
    """Refuse a table of averages: a row for each model, and nothing that names an item."""
    condition = place.get("condition", "")
    if condition not in frame.columns or "\0" in condition or frame[condition].is_duplicated().any():
        return
    numbers = [c for c in frame.columns if c != condition and holds_grades(frame[c])]
    item = place.get("item", "")
    if "item" not in place or (item in numbers and frame.height > 3):
        shown = listing([c for c in numbers if c != item][:4])
        raise InputError(
            f"{what} has one row for each of {frame.height} models ({shown}): averages, not results of single items.",
            remedy="Give the file with a row for each question and model; most tools have an option that keeps it.",
        )
    if frame.height > 3 and item in frame.columns:
        raise InputError(
            f"{what}: the column {brief(condition)!r} has another value in each of {frame.height} rows, "
            "so it names no model.",
            remedy="Name the column that does: --map condition=COLUMN, or remove it if the file is one model's.",
        )


def _whole(frame: pl.DataFrame, column: str) -> pl.Series | None:
    """A column of whole numbers from 0 on; None for any other."""
    values = text_of(frame[column]).cast(pl.Float64, strict=False)
    whole = values.null_count() == 0 and (values >= 0).all() and (values == values.round()).all()
    return values if whole else None


def _shares(frame: pl.DataFrame, place: Mapping[str, str], what: str, notes: list[str]) -> tuple[pl.DataFrame, str]:
    """Points beside the points that were possible (3 of 5 tests) as a share, which is said; the column that counts."""
    bare = {c: re.sub("^(n|num|total)_", "", leaf_name(c)) for c in frame.columns}
    totals = {c: n for c in bare if bare[c] in _OF and (n := _whole(frame, c)) is not None and (n > 1).any()}
    sizes = {
        c for c, n in totals.items() if bare[c] in _OF[_OF.index("n") :] and bare[c] != "total" and n.n_unique() == 1
    }
    totals = {c: n for c, n in totals.items() if c not in sizes}  # of the table itself
    column = place.get("score", "")
    points = _whole(frame, column) if column in frame.columns and "\0" not in column else None
    if points is None or not (points > 1).any():
        return frame, next(iter(totals), "")
    for c, total in totals.items():
        of = bare[c] in _OF[: _OF.index("n")] or bare[column] in _RIGHT
        if c != column and of and (total >= points).all() and (total > 0).all():
            notes.append(f"{brief(column)} of {brief(c)} is read as a share")
            return frame.with_columns((points / total).alias(column)), c
    wrong = [c for c in frame.columns if c != column and leaf_name(c) in _MISSED and _whole(frame, c) is not None]
    if wrong and not less_is_better(column):
        raise InputError(
            f"{what}: {brief(column)} and {brief(wrong[0])} are counts of answers, not the results of single items.",
            remedy="Give the file with a row for each question, or say that it is a score: "
            f"{map_option('score', column)}",
        )
    return frame, next(iter(totals), "")


def _not_by_category(frame: pl.DataFrame, place: Mapping[str, str], what: str, amount: str, notes: list[str]) -> None:
    """Averages by category, one row each: refused where a column says of how many answers, else pointed out."""
    item = place.get("item", "")
    named = "domain" in known_fields([item]) or leaf_name(item) in ("key", "outer_key")
    few = item in frame.columns and frame[item].n_unique() <= _FEW
    column = place.get("domain", "\0") if item == ORDER else item if named or few else "\0"
    if column not in frame.columns or place.get("score") not in frame.columns:
        return
    keys = [c for c in (column, place.get("condition")) if c in frame.columns]
    scores = [number_of(v) for v in text_of(frame[place["score"]]).drop_nulls().unique()]
    alone = not frame.select(keys).is_duplicated().any() and frame[column].n_unique() > 1
    if not alone or {*scores} <= {0.0, 1.0, None}:
        return
    name, n = brief(column), frame[column].n_unique()
    behind = _whole(frame, amount) if amount and (named or column != item) else None
    if behind is not None and (behind >= _MANY).all():
        raise InputError(
            f"{what}: each row is an average of many answers ({brief(amount)} says of how many) for one "
            f"of {counted(n, 'value')} of {name}, not the result of a single item.",
            remedy="Give the file with a row for each question (two averages and their n: richter size published); "
            f"if each is to count as one item: {map_option('item', column)}",
        )
    if few or "key" not in leaf_name(column):
        of = "columns" if "\0" in column else f"values of {name}"
        notes.append(f"each of {n} {of} counts as one item: if it stands for many answers, give those")


def _one_spelling(keys: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Names of conditions that differ only in capitals or spaces and share no item are one, which is said."""
    names = keys["condition"].unique(maintain_order=True).to_list()
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(" ".join(name.lower().split()), []).append(name)
    for spelled in (own for own in alike.values() if len(own) > 1):
        items = keys.filter(pl.col("condition").is_in(spelled)).select("item", "condition").unique()
        said = " and ".join(repr(brief(name)) for name in spelled)
        if items["item"].is_duplicated().any():
            notes.append(f"{said} differ in capitals or spaces only: are they the same?")
            continue
        notes.append(f"{said} differ in capitals or spaces only and share no item: taken as one, {spelled[0]!r}")
        keys = keys.with_columns(pl.col("condition").replace(spelled, [spelled[0]] * len(spelled)))
    return keys


def _ids(ids: pl.Series, conditions: pl.Series, notes: list[str]) -> pl.Series:
    """Whole numbers that one program wrote as 7 and another as 7.0 are one id, unless one condition has both."""
    decimal = ids.str.contains(r"^\d+\.0+$").fill_null(value=False)
    if not decimal.any() or decimal.all() or not ids.str.contains(r"^\d+(\.0+)?$").all():
        return ids
    bare = ids.str.replace(r"\.0+$", "")
    if pl.DataFrame([conditions, bare.alias("id")]).unique().height < pl.DataFrame([conditions, ids]).unique().height:
        return ids
    notes.append(f"ids such as {ids.filter(decimal)[0]} are read as {bare.filter(decimal)[0]}")
    return bare


def _without_summary(rows: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Without a condition that is called an average or total and is one of the others; any other such is named."""
    names = rows["condition"].unique(maintain_order=True).to_list()
    for name in [n for n in names if TOTALS.fullmatch(n.strip())] if "value" in rows.columns else []:
        own, value = pl.col("condition") == name, pl.col("value")
        others = rows.filter(~own).group_by("item").agg(value.mean().alias("mean"), value.sum().alias("sum"))
        both = rows.filter(own).join(others, on="item").drop_nulls("value")
        far = [(both["value"] - both[c]).abs() / (1e-9 + both["value"].abs()) for c in ("mean", "sum")]
        same = len(both) > 0 and any((gap < 0.02).all() for gap in far)
        if same and len(names) > 2:
            notes.append(f"{name!r} is the mean or sum of the other conditions, item by item: it is left out")
            rows = rows.filter(~own)
        else:
            notes.append(f"a condition is called {name!r}: if it is a summary, name the others after the file")
    return rows


def _probable(rows: pl.DataFrame, place: Mapping[str, str], notes: list[str]) -> pl.DataFrame:
    """Confidences of each condition as probabilities: another condition may well state percentages."""
    if "confidence" not in rows.columns:
        return rows
    values = rows["confidence"].fill_null(float("nan")).to_numpy().copy()
    low, high = stated_range(place["confidence"]) or (0.0, 1.0)
    if low == 0 and high > 1 and np.nanmin(values, initial=0.0) >= 0 and np.nanmax(values, initial=0.0) <= high:
        values = values / high
        notes.append(f"{brief(place['confidence'])} states its range: divided by {high:g}")
    if np.nanmax(values, initial=0.0) > 1 or np.nanmin(values, initial=0.0) < 0:
        from richter.calibration import as_probability

        for name in rows["condition"].unique(maintain_order=True):
            own = (rows["condition"] == name).to_numpy()
            try:
                values[own], said = as_probability(values[own])
            except InputError as error:
                if "score" not in place or not 2 <= np.nanmax(values[own]) <= 10:  # else a rater's own, on a scale
                    raise
                values[own], said = np.nan, ""
                notes.append(Note(f"{brief(name)}: {error.what} They are left out. {error.remedy}", "no confidence"))
            if said:
                notes.append(f"{brief(name)}: {said}")
    return rows.with_columns(
        pl.Series("confidence", values).fill_nan(None), pl.lit(place["confidence"]).alias("confidence_source")
    )


def _skipped(frame: pl.DataFrame, rows: pl.DataFrame, place: Mapping[str, str], notes: list[str]) -> pl.DataFrame:
    """Without the grades of rows that a column marks as skipped, by its name or a word: they did not fail."""
    for c in [c for c in frame.columns if c not in place.values()]:
        named = plain_name(c).removeprefix("is_") in _NOT_RUN and holds_grades(frame[c])
        marked = (
            to_numbers(frame, c, "refused", "", {}, []) == 1
            if named
            else text_of(frame[c]).str.to_lowercase().str.replace_all("[ -]", "_").is_in(_NOT_RUN)
        )
        if "value" in rows.columns and 0 < marked.sum() < len(rows):
            told = counted(int(marked.sum()), "row is", "rows are")
            notes.append(f"{told} marked as skipped by {brief(c)}: they have no grade")
            value = pl.when(pl.lit(marked).fill_null(value=False)).then(None).otherwise("value")
            rows = rows.with_columns(value.alias("value"))
    return rows


def _first_tries(rows: pl.DataFrame, place: Mapping[str, str], notes: list[str]) -> pl.DataFrame:
    """Only the first try of each item where it was tried again after failures alone: the mean of all is no rate."""
    if not {"draw", "score"} <= place.keys() or rows["draw"].n_unique() < 2:
        return rows
    value, keys = pl.col("value"), ("item", "condition")
    each = rows.sort("draw").group_by(keys).agg(value.head(pl.len() - 1).max(), value.last().alias("last"), pl.len())
    stopped = each.filter(pl.col("len") < each["len"].max())
    few = min(len(stopped), int((each["len"] > 1).sum())) < 5  # draws that came out so by chance
    if few or (each["value"] > 0).any() or not (stopped["last"] == 1).all():
        return rows
    notes.append(
        f"items were tried again only after a failure ({brief(place['draw'])}): the first try counts, for the mean of "
        "all tries is no rate"
    )
    return rows.filter(pl.col("draw") == pl.col("draw").min().over(keys))


def _ratings(
    frame: pl.DataFrame, rows: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, what: str
) -> pl.DataFrame:
    """The column of severities as given, or one rating a row where a column names the rater, and judges' columns."""
    found = []
    if "severity" in rows.columns:
        checked = rows.with_columns(
            severities(rows, "severity", options.as_severity, what, any_scale=options.any_scale)
        )
        if "rater" in place:
            kind = text_of(frame[place["kind"]]).str.to_lowercase() if "kind" in place else pl.lit("human")
            checked = checked.with_columns(kind.alias("kind"))
            wrong = checked.filter(~pl.col("kind").is_in(["human", "judge", "rule"]) | pl.col("kind").is_null())
            if len(wrong):
                raise InputError(
                    f"{what}: kind {wrong['kind'][0]!r} is not one of human, judge, rule.",
                    remedy="Say who rated in `kind`.",
                )
        else:
            checked = checked.with_columns(pl.lit("severity").alias("rater"), pl.lit("given").alias("kind"))
            checked = checked.filter(pl.col("severity").is_not_null())
        found.append(checked)
    judges = [c for c in frame.columns if re.fullmatch(r"judge_\d+", c)]
    for column in judges:
        own = f"{column}_name"
        named = text_of(frame[own]) if own in frame.columns else pl.lit(column)
        values = rows.with_columns(
            to_numbers(frame, column, "severity", what, place, []).alias("severity"), named.alias("rater")
        )
        values = values.with_columns(
            severities(values, "severity", options.as_severity, what, any_scale=options.any_scale)
        )
        found.append(values.filter(pl.col("rater").is_not_null()).with_columns(pl.lit("judge").alias("kind")))
    if "human_severity" in rows.columns:
        people = rows.with_columns(
            severities(rows, "human_severity", options.as_severity, what, any_scale=options.any_scale),
            pl.lit(brief(place["human_severity"])).alias("rater"), pl.lit("human").alias("kind"),
        )  # fmt: skip
        found.append(people.filter(pl.col("severity").is_not_null()))
    if not found:
        return pl.DataFrame(schema=RATINGS)
    ratings = pl.concat([frame_of(part, RATINGS) for part in found])
    ratings = ratings.with_columns(pl.when(pl.col("kind") == "human").then("inclusion").alias("inclusion"))
    twice = ratings.filter(pl.struct(*KEY, "rater").is_duplicated())
    clash = twice.group_by(*KEY, "rater").agg(pl.col("severity").n_unique()).filter(pl.col("severity") > 1)
    if len(clash):
        item, condition, _, rater, _ = clash.row(0)
        raise InputError(
            f"{what}: rater {brief(rater)!r} gave item {brief(item)!r} under "
            f"{brief(condition)!r} different severities ({len(clash)} such answers).",
            remedy="Keep one, or say which draw each belongs to: --map draw=COLUMN (or --map draw=order).",
        )
    return ratings.unique([*KEY, "rater"], keep="first", maintain_order=True) if len(twice) else ratings


def _repeats(frame: pl.DataFrame, rows: pl.DataFrame, place: Mapping[str, str]) -> int:
    """How many rows every item has under every condition, where they can be repeated draws and nothing else; else 0.

    They cannot where a tenth of the items or less differ (a copy that was corrected), where a column of as many words
    tells them apart (metrics, perhaps), or where no column names a condition and the rows may be several models'.
    """
    if "value" not in rows.columns:
        return 0
    each = rows.group_by("item", "condition").agg(pl.len(), pl.col("value").n_unique().alias("values"))
    count = int(each["len"][0])
    apart = int((rows["item"] != rows["item"].shift(1)).fill_null(value=True).sum()) == rows["item"].n_unique()
    words = [c for c, kind in frame.schema.items() if kind == pl.String and c not in place.values()]
    words = [c for c in words if frame[c].n_unique() == count]
    told = any(pl.DataFrame([rows["item"], rows["condition"], frame[c]]).n_unique() == len(rows) for c in words)
    few = (each["values"] > 1).sum() <= len(each) // 10
    named = ("condition" in place or (apart and count > 2)) and rows["item"].n_unique() > 1
    return count if each["len"].n_unique() == 1 and named and not told and not few else 0


def _once(
    frame: pl.DataFrame, rows: pl.DataFrame, place: Mapping[str, str], what: str, *, rated: bool
) -> tuple[pl.DataFrame, list[str]]:
    """One row an answer. Rows that say the same count once; rows that differ are shown and refused."""
    dropped = [c for c in ("rater", "mechanism", "reason") if c in rows.columns]
    if "inclusion" in rows.columns:  # an answer's, whoever's row has it
        rows = rows.with_columns(pl.col("inclusion").max().over(KEY))
    if "rater" in place and rated:
        rows = rows.drop([*dropped, *(["severity"] if "severity" in rows.columns else [])])
        return rows.unique(KEY, keep="first", maintain_order=True), []
    twice = rows.select(pl.struct(KEY).is_duplicated()).to_series()
    if not twice.any():
        return rows, []
    number = pl.int_range(pl.len(), dtype=pl.Int64).over("item", "condition").alias("draw")
    if "rater" in place and not rows.select(pl.struct(*KEY, "rater").is_duplicated().any()).item():
        raters = brief(place["rater"])
        apart = f"{raters} tells several ratings of an answer apart: its score is their mean"
        return rows.with_columns(number).drop(dropped), [apart]
    again = rows.filter(twice)
    distinct = again.unique(maintain_order=True)
    if distinct.select(pl.struct(KEY).is_duplicated().any()).item():
        if "draw" not in place and (count := _repeats(frame, rows, place)):
            return rows.with_columns(number).drop(dropped), [
                f"every item has {counted(count, 'row')} under each condition, taken as repeated draws"
            ]
        item, condition, draw = distinct.filter(pl.struct(KEY).is_duplicated()).select(KEY).row(0)
        own = rows.filter(item=item, condition=condition, draw=draw)
        said = [c for c in own.columns if c not in KEY and own[c].n_unique() > 1]
        shown = " and ".join(
            f"{c} {printable(str(v), limit=30)}" for c in said[:1] for v in own[c].unique(maintain_order=True)[:3]
        )
        where, settle = f" under {brief(condition)!r}", "keep one of each"
        if "condition" not in place:
            where, settle = "", "add a column `model` that says which model answered"
        keys = [rows["item"], rows["condition"], rows["draw"]]
        few = [c for c in frame.columns if c not in place.values() and 1 < frame[c].n_unique() <= _FEW]
        for c in [c for c in few if pl.DataFrame([*keys, frame[c].alias("by")]).n_unique() == len(rows)][:1]:
            shown = ", ".join(brief(str(v)) for v in frame[c].unique(maintain_order=True)[:4])
            raise InputError(
                f"{what}: item {brief(item)!r} has {len(own)} rows{where}, which {brief(c)} tells apart ({shown}).",
                remedy=f"If these are repeated draws: {map_option('draw', c)}; if each has questions of its own, or is "
                f"another setting on the same ones: {map_option('domain', c)}",
            )
        raise InputError(
            f"{what}: item {brief(item)!r} occurs more than once{where} and differs ({shown}; "
            f"{again.height} such rows){'' if where else '. No column names the model'}.",
            remedy=f"If these are repeated draws, say so: --map draw=order. Else {settle}.",
        )
    lost = len(again) - len(distinct)
    return rows.unique(KEY, keep="first", maintain_order=True), [
        f"{counted(lost, 'row')} repeat another word for word; they count once"
    ]


def _items(frame: pl.DataFrame, ids: pl.Series, place: Mapping[str, str]) -> dict[str, Item]:
    """Questions and references where the table has them."""
    fields = [f for f in ("prompt", "reference") if f in place]
    if not fields:
        return {}
    texts = {f: text_of(frame[place[f]]).fill_null("") for f in fields}
    first = pl.DataFrame({"item": ids, **texts}).unique("item", keep="first", maintain_order=True)
    blank = pl.Series("", [""]).new_from_index(0, len(first))
    domains = dict(zip(ids, text_of(frame[place["domain"]]).fill_null(""), strict=True)) if "domain" in place else {}
    return {
        name: Item(
            id=name, prompt=prompt, reference=(parts := reference.split("|"))[0], aliases=tuple(parts[1:]),
            domain=domains.get(name, ""),
        )
        for name, prompt, reference in zip(
            first["item"], first.get_column("prompt", default=blank), first.get_column("reference", default=blank),
            strict=True,
        )
    }  # fmt: skip
