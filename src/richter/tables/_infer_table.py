"""A table's columns by what they are usually called, long or wide, and its cells as numbers."""

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import polars as pl

from richter.errors import InputError
from richter.interop import (
    FIELDS,
    HINTS,
    has_no_end,
    hinted_fields,
    is_listed,
    known_fields,
    leaf_name,
    less_is_better,
    plain_name,
)
from richter.records import Note, counted, of_kind, printable
from richter.tables._answer_keys import item_option
from richter.tables._read_files import drop_totals
from richter.tables._references import answer_columns, are_answers
from richter.tables._roled_table import (
    MISSED_NAMES,
    SAME,
    TOTAL_NAMES,
    RoledTable,
    holds_numbers,
    with_classes_of_draws,
)
from richter.tables._roles import JUDGES, find_roles
from richter.tables._severity_words import worded
from richter.tables._shapes import CONDITION, LAYOUT, ORDER, VALUE, LongForm, long_form, refuse_joined_names
from richter.tables._tables import ReadOptions
from richter.tables._wide_table import MADE_NAMES, as_floats, find_margins, melt_conditions, shared_faults
from richter.tables._words import (
    ANY,
    MISSING,
    TOTALS,
    USUAL_ENDS,
    WORDS,
    brief,
    counts_rows,
    holds_any,
    holds_grades,
    likely_column,
    listed,
    listing,
    map_option,
    marks_rows,
    number_of,
    text_of,
    wide_option,
)  # fmt: skip

_RIGHT = ("correct", "passed", "right", "hits", "solved", "success", "successes", "pass", "richtig")
_PREDICTED = ("pred", "prediction", "predicted", "predicted_answer", "model_answer", "generated_answer")
_WORDS = 8  # different ones in a column that may grade
_GRADES = ("right", *["wrong"] * 2 * _WORDS)  # an example of what they count as
_MANY = 10  # answers behind an average
MAX_DRAW_NAMES = 50  # that are no numbers
MAX_CATEGORIES = 6  # items that may rather be categories
SEGMENTS = ("seg", "doc_seg_id", "seg_id", "segment", "segment_id", "sentence")  # numbered within a document


def infer_table(
    rows: pl.DataFrame,
    options: ReadOptions,
    notes: list[str],
    what: str,
    *,
    named: bool,
) -> RoledTable:
    """The table with one row per answer and a column for each field, as far as names and cells tell."""
    is_settled = bool(options.map) or options.wide is not None
    laid = long_form(rows, notes) if options.layout or not is_settled else LongForm(rows, {}, ())
    made = laid.made
    frame, place = worded(*_segments(laid.frame, _place(laid.frame, options, what, made), options), notes, what)
    _refuse_headless(frame, place, what)
    place = _answer_key(frame, _without_human(place, options), options, notes)
    _named_once(frame, place, options, what)
    fixed = [*options.map.values(), *made.values(), *([options.scorer] if options.scorer else [])]
    place, fixed = _beside_reference(frame, place, fixed)
    if options.wide is None:
        frame, place = find_roles(frame, place, fixed, options.grade, notes, one=named)
    frame = drop_totals(frame, place, notes)
    wide, holds = _wide_columns(frame, place, options, what, notes, named=named)
    if wide:
        if frame.height == 1 and not is_settled:
            raise InputError(
                f"{what} has one row ({listing(wide)}): totals, not the results of single items.",
                remedy="Give the file with a row for each question.",
            )
        frame, place = _melt_wide(frame, place, wide, holds, options, fixed, notes, what)
    steps, before = [*laid.steps], frame
    if not is_settled or "share" in options.layout:
        frame, amount = _shares(frame, place, what, notes)
        steps += ["share"] if frame is not before else []
        _not_averaged(frame, place, what)
        _not_by_category(frame, place, what, amount, notes)
    height = frame.height
    frame, place = _answers(frame, place)
    steps += ["answer-lists"] if frame.height > height else []
    _refuse_without_scores(frame, place, what)
    return RoledTable(
        frame=frame, given=rows, place=place, wide=wide, faults=shared_faults(wide), steps=steps, notes=notes,
        measures=[c for c in frame.columns if is_listed("score", c) and c not in place.values()],
    )  # fmt: skip


def _refuse_headless(frame: pl.DataFrame, place: Mapping[str, str], what: str) -> None:
    headed = place or any("score" in hinted_fields(c) for c in frame.columns)
    if not headed and any(number_of(c) is not None for c in frame.columns if c.lower() not in WORDS):
        raise InputError(
            f"{what}: its first line seems to hold data ({listing(frame.columns)}).",
            remedy="Add a line of names at the top, as item,model,correct",
        )


def _without_human(place: dict[str, str], options: ReadOptions) -> dict[str, str]:
    """The places without people's labels where nothing else grades: what people say is then the grade."""
    if {"score", "reference", "severity"} & place.keys() or place.get("human") in options.map.values():
        return place
    return {f: c for f, c in place.items() if f != "human"}


def _melt_wide(
    frame: pl.DataFrame,
    place: dict[str, str],
    wide: list[str],
    holds: str,
    options: ReadOptions,
    fixed: Sequence[str],
    notes: list[str],
    what: str,
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The table with a row for each item and condition, where conditions have columns of their own."""
    twice = [c for c in wide if re.sub(r"_duplicated_\d+$", "", c) in {*wide} - {c}]
    if twice:
        raise InputError(
            f"{what}: several columns have the same name, {printable(twice[0].partition('_duplicated')[0])!r}.",
            remedy="Give each its own: the names of the conditions.",
        )
    place = {f: c for f, c in place.items() if c not in wide and f not in ("condition", "score", "severity")}
    if "item" not in place and options.wide is not None:  # else roles were looked for before
        found: list[str] = []
        _, roles = find_roles(frame.drop(wide), place, fixed, options.grade, found)
        if roles.get("item") in frame.columns:
            place["item"] = roles["item"]
            notes += of_kind(found, "item")
    frame = melt_conditions(frame, [c for c in frame.columns if c not in wide], wide)
    place |= {"condition": CONDITION, holds: VALUE}
    if "item" not in place:
        place["item"] = ORDER
        notes.append("no column names the items: each row is taken for one")
    return frame, place


def _refuse_without_scores(frame: pl.DataFrame, place: Mapping[str, str], what: str) -> None:
    """Refuse a table without anything that is measured, with the likeliest column."""
    column, can_grade = place.get("score"), {"reference", "confidence"} & place.keys()
    if column in frame.columns and not holds_any(frame[column]) and not can_grade:
        raise InputError(
            f"{what}: the column of scores, {brief(column)!r}, is empty in all {counted(frame.height, 'row')}.",
            remedy="Fill it in, or name the column that holds the grades: --map score=COLUMN",
        )
    if {"score", "severity", "text", "confidence"} & place.keys():
        return
    other, by = likely_column(frame, place), place.get("condition", "")
    if other in frame.columns and by in frame.columns and 1 < frame[by].n_unique() == frame.n_unique([by, other]):
        raise InputError(
            f"{what}: {brief(other)} is one number for each {brief(by)}: an average, not the results of single items.",
            remedy="Give the file with each question's own result (averages with n: richter size --published TABLE).",
        )
    item = item_option(frame, place)
    raise InputError(
        f"{what}: can't find the column with the scores; it has {listing(frame.columns)}.",
        remedy=(_of_words(frame, place) if other == "COLUMN" or hinted_fields(other) & {"other"} else "")
        or f"Name it: {item}{map_option('score', other)}, or {item}--wide all if each condition has its own column.",
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
    if "score" not in place or "text" not in place or "reference" in place:
        return place
    column = place["score"]
    if column in frame.columns and column not in options.map.values():
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
    # a row without an answer stays a row
    texts: list[list[str | None]] = [[str(text) for text in own] or [None] for own in lists]
    frame = frame.with_columns(pl.Series(column, texts, dtype=pl.List(pl.String))).explode(column)
    return frame, place if alone else {**place, "draw": ORDER}


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
    mapped = _checked_map(frame, options, what)
    by_name = _columns_by_name(frame)
    place = {**made, **mapped}
    if options.scorer in frame.columns:
        place.setdefault("score", str(options.scorer))
    for field in FIELDS:
        if field not in place and (own := _columns_of_field(frame, field, by_name, place)):
            place[field] = own[0]
    if "weight" in place and "weight" not in mapped and not holds_numbers(frame[place["weight"]]):
        del place["weight"]  # an importance in words
    return _settle(frame, place, by_name, mapped)


def _columns_of_field(
    frame: pl.DataFrame, field: str, by_name: Mapping[str, str], place: Mapping[str, str]
) -> list[str]:
    """The free columns with a name of a field; of items and scores those that vary."""
    own = [by_name[n] for n in FIELDS[field] if n in by_name and by_name[n] not in place.values()]
    fits: dict[str, Callable[[str], bool]] = {
        "condition": lambda c: not JUDGES.search(c),
        "draw": lambda c: _may_number_draws(frame[c]),
    }
    if field in fits:
        return list(filter(fits[field], own))
    if field == "run" and _names_every_row(frame, place.get("item", "")):
        return [c for c in own if not _names_every_row(frame, c)]  # a name for every answer tells no repeats apart
    return _varied(frame, own) if len(own) > 1 and frame.height > 1 and field in ("item", "score") else own


def _varied(frame: pl.DataFrame, columns: list[str]) -> list[str]:
    """The columns that vary; all of them where none does."""
    return [c for c in columns if frame[c].n_unique() > 1] or columns


def _names_every_row(frame: pl.DataFrame, column: str) -> bool:
    return column in frame.columns and frame[column].n_unique() == frame.height


def _may_number_draws(column: pl.Series) -> bool:
    """Whether a column may number draws: it holds whole numbers, or few names."""
    texts = text_of(column)
    return texts.cast(pl.Int64, strict=False).null_count() == texts.null_count() or texts.n_unique() <= MAX_DRAW_NAMES


def _checked_map(frame: pl.DataFrame, options: ReadOptions, what: str) -> dict[str, str]:
    """The user's map by field; refused where a field or a column is not there."""
    mapped = {SAME.get(field, field): column for field, column in options.map.items()}
    unknown = [f for f in mapped if f not in FIELDS]
    if unknown:
        raise InputError(
            f"There is no field {brief(unknown[0])} to map.",
            remedy=f"Use question, model, score, confidence, severity, group or another of: {', '.join(FIELDS)}.",
        )
    absent = [c for f, c in mapped.items() if c not in frame.columns and not (c == ORDER and f in ("draw", "item"))]
    if absent:
        raise InputError(f"{what} has no column {brief(absent[0])!r}.", remedy=f"It has {listing(frame.columns)}.")
    return mapped


def _columns_by_name(frame: pl.DataFrame) -> dict[str, str]:
    """The columns by their names, whole and last part; of scores that end alike those that vary, and the likelier."""
    leaves = {c: leaf_name(c) for c in frame.columns}
    alike = [c for c in frame.columns if leaves[c] in FIELDS["score"] and [*leaves.values()].count(leaves[c]) > 1]
    varied = {leaves[c] for c in alike if frame[c].n_unique() > 1}
    dull = [c for c in alike if leaves[c] in varied and frame[c].n_unique() == 1]  # one for the file, beside each's own
    found: dict[str, str] = {}
    for name in (plain_name, leaf_name):
        for column in sorted((c for c in frame.columns if c not in dull), key=lambda c: _unlikely(c)):
            found.setdefault(name(column), column)
    return found


def _unlikely(column: str) -> tuple[bool, ...]:
    """Of nested scores that end alike `toxicity/v1/score` comes after others."""
    *around, leaf = re.split(r"[./]", column)
    if not around or plain_name(leaf) not in FIELDS["score"]:
        return False, False
    return less_is_better(column), "score" not in known_fields(around)


def _settle(
    frame: pl.DataFrame, place: dict[str, str], lower: Mapping[str, str], mapped: Mapping[str, str]
) -> dict[str, str]:
    """Names that mean different things in different tables: `prompt`, `sample`, `cluster`, an index without a name."""
    place = _runs_as_conditions(frame, place, mapped)
    blank = next((lower[n] for n in ("", "unnamed:_0", "unnamed_0", "column_1") if n in lower), None)
    if "item" not in place and blank is not None and blank not in place.values():
        place["item"] = blank
    place = with_classes_of_draws(place)
    predicted = next((lower[n] for n in _PREDICTED if n in lower), None)
    if predicted and "reference" not in place and place.get("text") == lower.get("answer", ""):
        place["reference"], place["text"] = place["text"], predicted  # what was predicted is held against the answer
    if "rater" in place and "severity" not in place and "score" in place and "kind" in place:
        place["severity"] = place.pop("score")
    return place


def _runs_as_conditions(frame: pl.DataFrame, place: dict[str, str], mapped: Mapping[str, str]) -> dict[str, str]:
    """The places with a column of runs as the condition, where it holds words or dates and no column names one."""
    named = place.get("condition", "")
    if "condition" in mapped or (named and (named not in frame.columns or frame[named].n_unique() > 1)):
        return place
    for field in ("run", "draw"):
        column = place.get(field, "\0")
        if field in mapped or column not in frame.columns or not 1 < frame[column].n_unique() < frame.height:
            continue  # a name for every row names no condition
        if text_of(frame[column]).cast(pl.Int64, strict=False).null_count() == frame.height:
            return {f: c for f, c in place.items() if f not in (field, "condition")} | {"condition": column}
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


Holds = Literal["score", "text"]


def _wide_columns(
    frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, what: str, notes: list[str], *, named: bool
) -> tuple[list[str], Holds]:
    """The columns that are conditions, and what they hold: those named, or all that hold grades where no column names a
    condition, or all that hold other texts beside a question and a reference.
    """
    if options.wide:
        return _named_wide(frame, place, options, what, notes)
    taken = {c for f, c in place.items() if f != "human" or f in options.map}  # beside models: people's own answers
    rest = [c for c in frame.columns if c not in taken and c.strip() and not marks_rows(c)]
    graded = [c for c in rest if holds_grades(frame[c], options.grade)]
    if options.wide is not None:
        return _all_wide(frame, graded, what), "score"
    if {"condition", "score", "severity"} & place.keys():
        return [], "score"
    return _inferred_wide(frame, place, rest, graded, what, notes, named=named)


def _all_wide(frame: pl.DataFrame, graded: list[str], what: str) -> list[str]:
    """The columns of grades, as `--wide all` takes them; a time is not a condition beside grades."""
    measures = [c for c in graded if not (hinted_fields(c) & {"other"} or (less_is_better(c) and has_no_end(c)))]
    graded = measures if len(measures) > 1 else graded
    if len(graded) < 2:
        raise InputError(
            f"{what} has no two columns of grades beside its item; it has {listing(frame.columns)}.",
            remedy="Name the columns that are conditions: --wide A,B",
        )
    return graded


def _named_wide(
    frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, what: str, notes: list[str]
) -> tuple[list[str], Holds]:
    """The columns that the user named; they hold answers where a reference says so."""
    wide = list(options.wide or ())
    absent = [c for c in wide if c not in frame.columns]
    if absent:
        commas = [c for c in frame.columns if "," in c and absent[0] in c]
        inside = f" A name with a comma stands in quotes: {wide_option(commas)}." if commas else ""
        raise InputError(f"{what} has no column {absent[0]!r}.", remedy=f"It has {listing(frame.columns)}.{inside}")
    hold_texts = "reference" in place and (
        not any(holds_grades(frame[c], options.grade) for c in wide)
        or are_answers(frame, wide, place["reference"], notes, named="reference" in options.map)
    )
    return wide, "text" if hold_texts else "score"


def _inferred_wide(
    frame: pl.DataFrame,
    place: Mapping[str, str],
    rest: list[str],
    graded: list[str],
    what: str,
    notes: list[str],
    *,
    named: bool,
) -> tuple[list[str], Holds]:
    """The columns that may be conditions, where no column names one: of answers beside a key, of grades, of texts."""
    graded, others = _without_other_numbers(frame, graded)
    key = place.get("reference", "\0")
    same = answer_columns(frame, rest, key) if key in frame.columns else []
    if len(same) > 1 and "text" not in place:
        notes.append(f"{listing(same)} hold what {brief(key)} does: answers, not grades")
        return same, "text"
    if len(graded) > 1 and ("item" in place or frame.height > len(graded)):
        _refuse_measures(frame, graded, what, named=named)
        refuse_joined_names(graded, what)
        _refuse_turned(frame, graded, what)
        return _without_made(frame, graded, others, notes), "score"
    worded = [c for c in rest if frame[c].dtype == pl.String]
    if {"prompt", "reference"} <= place.keys() and "text" not in place and len(worded) == len(rest) > 1:
        return worded, "text"
    return [], "score"


def _without_other_numbers(frame: pl.DataFrame, graded: list[str]) -> tuple[list[str], list[str]]:
    """The columns of grades without times, lengths and numbers of rows, and these; all where nothing else is left."""
    others = [c for c in graded if hinted_fields(c) & {"other"} or has_no_end(c) or counts_rows(frame[c])]
    return (graded, []) if len(others) == len(graded) else ([c for c in graded if c not in others], others)


def _refuse_measures(frame: pl.DataFrame, graded: list[str], what: str, *, named: bool) -> None:
    """Refuse columns of which each is another measure of one answer, by its name or since the file is one condition."""
    measures = {frozenset(HINTS["metric"].intersection(plain_name(c).split("_"))) for c in graded}
    if not named and len(measures - {frozenset()}) < len(graded):  # else each has its own word
        return
    best = map_option("score", likely_column(frame.select(graded), {"item": ""}))
    why = "a file with a name is one condition." if named else "no column names a condition."
    settle = "give the file without a name if each is a condition." if named else "--wide all if each is one."
    raise InputError(
        f"{what}: {listing(graded)} are measures of one answer, and {why}",
        remedy=f"Name the one that counts: {best}, or {settle}",
    )


def _refuse_turned(frame: pl.DataFrame, graded: list[str], what: str) -> None:
    """Refuse a table with more columns of grades than rows: each column is a question, it seems."""
    if frame.height < len(graded):
        raise InputError(
            f"{what} has {counted(frame.height, 'row')} and {len(graded)} columns of grades: is each a question?",
            remedy="Turn the table, so that each row is a question; if each column is a model: --wide all",
        )


def _without_made(frame: pl.DataFrame, graded: list[str], others: list[str], notes: list[str]) -> list[str]:
    """The columns without what is made of others (a mean, a difference), and what is no grade beside right or wrong.

    What is left out is named, with `others`: times, lengths, difficulties, which are known by name.
    """
    made = [c for c in graded if TOTALS.fullmatch(c.strip()) or plain_name(c) in MADE_NAMES]
    made += [c for c in find_margins(frame, graded) if c not in made]
    rest = [c for c in graded if c not in made]
    off = _off_scale({c: as_floats(frame[c]).drop_nulls().unique().to_list() or [0.0] for c in rest})
    conditions = [c for c in rest if c not in off]
    left, conditions = ([*others, *made, *off], conditions) if len(conditions) > 1 else (others, graded)
    if left:
        notes.append(
            f"{listing(left)}: taken for no condition beside {listing(conditions)} (name the conditions: --wide)"
        )
    return conditions


def _off_scale(values: Mapping[str, list[float]]) -> list[str]:
    """The columns that are on another scale than the others: counts beside right and wrong, ages beside ratings."""
    binary = [c for c, own in values.items() if {*own} <= {0.0, 1.0}]
    if len(binary) > 1 and (off := [c for c, own in values.items() if any(not 0 <= v <= 1 for v in own)]):
        return off
    tops = {c: next((end for end in USUAL_ENDS if max(own) <= end), math.inf) for c, own in values.items()}
    below = {c: [top for top in tops.values() if top < tops[c]] for c in tops}
    return [c for c, own in values.items() if len(below[c]) > 1 and min(own) > max(below[c])]


def _holds_numbers_only(column: pl.Series) -> bool:
    texts = text_of(column)
    return texts.cast(pl.Float64, strict=False).null_count() == texts.null_count()


def _of_words(frame: pl.DataFrame, place: Mapping[str, str]) -> str:
    """How to say what words count as: of the likeliest column of few words, or of several that share some; "" without.

    Likelier is what is called a grade, holds a word that is known as one, shares its words, or stands further right.
    """
    held = _words_held(frame, place)
    few = list(held)
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
    named = f"{item_option(frame, place)}{map_option('score', own[0])} " if len(own) == 1 else ""
    said = (
        f"If {listing(own)} {'is the grade' if named else 'are grades'}, say what each word counts as (right, wrong, "
    )
    return f"{said}missing or a number): {named}{' '.join(told)}" if own else ""


def _words_held(frame: pl.DataFrame, place: Mapping[str, str]) -> dict[str, set[str]]:
    """The words in each free column that holds few and short ones."""
    texts = [c for c, kind in frame.schema.items() if kind == pl.String and c not in place.values()]
    texts = [c for c in texts if "condition" not in hinted_fields(c)] or texts
    texts = [c for c in texts if not _holds_numbers_only(frame[c])]  # ranks and counts are no words
    held = {c: {w for w in text_of(frame[c]).drop_nulls().unique() if w.lower() not in MISSING} for c in texts}
    most = min(_WORDS, frame.height // 2)
    return {c: words for c, words in held.items() if 1 < len(words) <= most and max(map(len, words)) <= 40}


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


def _shares(frame: pl.DataFrame, place: Mapping[str, str], what: str, notes: list[str]) -> tuple[pl.DataFrame, str]:
    """Points beside the points that were possible (3 of 5 tests) as a share, which is said; the column that counts."""
    bare = {c: re.sub("^(n|num|total)_", "", leaf_name(c)) for c in frame.columns}
    totals = _total_columns(frame, bare)
    column = place.get("score", "")
    points = _whole(frame, column) if column in frame.columns and "\0" not in column else None
    if points is None or not (points > 1).any():
        return frame, next(iter(totals), "")
    for c, total in totals.items():
        is_whole = bare[c] in TOTAL_NAMES[: TOTAL_NAMES.index("n")] or bare[column] in _RIGHT
        if c != column and is_whole and (total >= points).all() and (total > 0).all():
            notes.append(Note(f"{brief(column)} of {brief(c)} is read as a share", LAYOUT))
            return frame.with_columns((points / total).alias(column)), c
    wrong = [c for c in frame.columns if c != column and leaf_name(c) in MISSED_NAMES and _whole(frame, c) is not None]
    if wrong and not less_is_better(column):
        raise InputError(
            f"{what}: {brief(column)} and {brief(wrong[0])} are counts of answers, not the results of single items.",
            remedy="Give the file with a row for each question, or say that it is a score: "
            f"{map_option('score', column)}",
        )
    return frame, next(iter(totals), "")


def _total_columns(frame: pl.DataFrame, bare: Mapping[str, str]) -> dict[str, pl.Series]:
    """The columns that say of how many a row's points are; a size of the table itself is none."""
    totals = {c: n for c in bare if bare[c] in TOTAL_NAMES and (n := _whole(frame, c)) is not None and (n > 1).any()}
    sizes = [c for c, n in totals.items() if bare[c] in TOTAL_NAMES[TOTAL_NAMES.index("n") :] and n.n_unique() == 1]
    return {c: n for c, n in totals.items() if c not in sizes or bare[c] == "total"}


def _not_by_category(frame: pl.DataFrame, place: Mapping[str, str], what: str, amount: str, notes: list[str]) -> None:
    """Averages by category, one row each: refused where a column says of how many answers, else pointed out."""
    item = place.get("item", "")
    is_category = "domain" in known_fields([item]) or leaf_name(item) in ("key", "outer_key")
    are_few = item in frame.columns and frame[item].n_unique() <= MAX_CATEGORIES
    column = place.get("domain", "\0") if item == ORDER else item if is_category or are_few else "\0"
    if not _has_averages(frame, place, column):
        return
    name, n = brief(column), frame[column].n_unique()
    if amount and (is_category or column != item) and _counts_many(frame, amount):
        raise InputError(
            f"{what}: each row is an average of many answers ({brief(amount)} says of how many) for one "
            f"of {counted(n, 'value')} of {name}, not the result of a single item.",
            remedy="Give the file with a row for each question (averages and their n: richter size --published TABLE); "
            f"if each is to count as one item: {map_option('item', column)}",
        )
    if are_few or "key" not in leaf_name(column):
        of = "columns" if "\0" in column else f"values of {name}"
        notes.append(f"each of {n} {of} counts as one item: if it stands for many answers, give those")


def _counts_many(frame: pl.DataFrame, column: str) -> bool:
    """Whether a column says of every row that it stands for many answers."""
    counts = _whole(frame, column)
    return counts is not None and bool((counts >= _MANY).all())


def _has_averages(frame: pl.DataFrame, place: Mapping[str, str], column: str) -> bool:
    """Whether every value of a column has one row under a condition, with scores that are not right or wrong."""
    if column not in frame.columns or place.get("score") not in frame.columns:
        return False
    keys = [c for c in (column, place.get("condition")) if c in frame.columns]
    scores = {number_of(v) for v in text_of(frame[place["score"]]).drop_nulls().unique()}
    is_single = not frame.select(keys).is_duplicated().any() and frame[column].n_unique() > 1
    return is_single and not scores <= {0.0, 1.0, None}


def _whole(frame: pl.DataFrame, column: str) -> pl.Series | None:
    """A column of whole numbers from 0 on; None for any other."""
    values = text_of(frame[column]).cast(pl.Float64, strict=False)
    whole = values.null_count() == 0 and (values >= 0).all() and (values == values.round()).all()
    return values if whole else None
