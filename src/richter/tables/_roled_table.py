"""A table whose columns have roles, and the roles that are known: by an option, or by a listed name and unique keys."""

import dataclasses
import re
from collections.abc import Mapping, Sequence

import polars as pl

from richter.interop import FIELDS, LISTED, is_listed, leaf_name, plain_name
from richter.tables._roles import JUDGES
from richter.tables._score_cells import PLAIN_NUMBER, PLAIN_WORDS
from richter.tables._shapes import ORDER
from richter.tables._tables import ReadOptions
from richter.tables._words import DECLINED, MISSING, STATUSES, has_unique_rows, text_of

# what --map calls a field otherwise
SAME = {"correct": "score", "answer": "text", "subject": "domain", "model": "condition", "id": "item"}
MIN_ITEMS = 7  # fewer may be categories
MIN_ROWS = 100_000  # that show as many items
# of how many a row's points, or its average, are
TOTAL_NAMES = ("out_of", "max", "max_score", "max_points", "possible", "possible_points", "points_possible", "maximum",
               "n", "total", "count", "support", "samples", "questions", "tests", "examples", "items",
               "answers")  # fmt: skip
MISSED_NAMES = ("wrong", "incorrect", "failed", "fail", "failures", "errors", "n_wrong", "num_wrong", "n_incorrect",
                "num_incorrect")  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RoledTable:
    """A table with one row per answer: `place` names the column of each field.

    `given` is the table as the file has it. `wide` are its columns that became conditions, `faults` what they count
    where less is better, `steps` the steps of layout that were taken. `measures` are further columns of scores. `notes`
    is what was seen on the way.
    """

    frame: pl.DataFrame
    given: pl.DataFrame
    place: Mapping[str, str]
    wide: Sequence[str] = ()
    faults: Sequence[str] = ()
    steps: Sequence[str] = ()
    measures: Sequence[str] = ()
    notes: list[str] = dataclasses.field(default_factory=list)


def known_table(frame: pl.DataFrame, options: ReadOptions, notes: list[str]) -> RoledTable | None:
    """The table with roles that are known, or None where something that decides numbers would have to be inferred.

    Known is a long table with listed or mapped names of item and score, unique keys, and cells that are plain grades.
    """
    if options.layout or options.wide is not None or any(f"{c}_duplicated_0" in frame.columns for c in frame.columns):
        return None
    place = _listed_places(frame, options)
    if place is None or not {"item", "score"} <= place.keys() or {"severity", "human_severity"} & place.keys():
        return None
    if not (_has_sound_keys(frame, place, options) and _has_plain_scores(frame, place, options)):
        return None
    measures = [c for c in frame.columns if is_listed("score", c) and c not in place.values()]
    return RoledTable(frame=frame, given=frame, place=place, measures=measures, notes=notes)


def _listed_places(frame: pl.DataFrame, options: ReadOptions) -> dict[str, str] | None:
    """The column of each field by option or listed name; None where two columns claim a field that decides numbers."""
    place = {SAME.get(field, field): column for field, column in options.map.items()}
    if options.scorer is not None:
        place.setdefault("score", options.scorer)
    if any(f not in FIELDS or (c not in frame.columns and c != ORDER) for f, c in place.items()):
        return None
    leaves = [leaf_name(c) for c in frame.columns if is_listed("score", c)]
    if "score" not in place and len({*leaves}) < len(leaves):
        return None  # `toxicity/score` and `quality/score`
    for field in FIELDS:
        if field in place:
            continue
        own = _claiming_columns(frame, field, place)
        if len(own) > 1 and field in ("item", "condition", "draw", "run"):
            return None
        if own:
            place[field] = own[0]
    if "item" not in place and plain_name(place.get("prompt", "")) == "question":
        place["item"] = place["prompt"]  # a question is its own name
    return place


def _claiming_columns(frame: pl.DataFrame, field: str, place: Mapping[str, str]) -> list[str]:
    """The free columns with a name of a field; of conditions those that vary, of weights those with numbers."""
    own = [c for c in named_columns(frame, field) if c not in place.values()]
    if field == "condition":
        own = [c for c in own if not JUDGES.search(c)]
        return [c for c in own if frame[c].n_unique() > 1] or own[:1]
    return [c for c in own if holds_numbers(frame[c])] if field == "weight" else own


def holds_numbers(column: pl.Series) -> bool:
    """Whether any cell is a number: an importance may stand in words."""
    return text_of(column).cast(pl.Float64, strict=False).null_count() < len(column)


def named_columns(frame: pl.DataFrame, field: str) -> list[str]:
    """The columns with a name that is acted on for a field, the likelier names first."""
    names = [name for name in FIELDS[field] if field not in LISTED or name in LISTED[field]]
    by_name = {name(c): c for name in (leaf_name, plain_name) for c in reversed(frame.columns)}
    return list(dict.fromkeys(by_name[n] for n in names if n in by_name))


def _has_sound_keys(frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions) -> bool:
    """Whether items stand under conditions, each key once, as a table of single results has them."""
    if ORDER in (place["item"], place.get("draw")) and ORDER not in frame.columns:
        return True
    keys = [place[f] for f in ("item", "condition", "draw", "run", "rater") if f in place]
    numbers = [place[f] for f in ("draw", "run") if f in place and place[f] not in options.map.values()]
    if any(text_of(frame[c]).cast(pl.Int64, strict=False).null_count() for c in numbers):
        return False
    if not has_unique_rows(frame, keys):
        return False
    return _shares_items(frame, place, options)


def _shares_items(frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions) -> bool:
    """Whether some item stands under several conditions, where there are several, and items are no categories."""
    is_chosen, items = place["item"] in options.map.values(), frame[place["item"]]
    if items.head(MIN_ROWS).n_unique() < min(MIN_ITEMS, frame.height) and not is_chosen:
        return False
    if "condition" not in place:
        return _has_one_condition(frame, place)
    n_conditions = frame[place["condition"]].n_unique()
    if n_conditions == frame.height > 1:
        return False
    return n_conditions == 1 or is_chosen or items.hash().n_unique() < frame.height


def _has_one_condition(frame: pl.DataFrame, place: Mapping[str, str]) -> bool:
    """Whether no column of runs holds words or dates, which may well name conditions."""
    runs = [c for f in ("draw", "run") for c in named_columns_of_runs(frame, f) if c not in place.values()]
    numbers = [text_of(frame[c]).cast(pl.Int64, strict=False) for c in runs]
    return all(n.null_count() < len(n) or len(n) == 0 for n in numbers)


def named_columns_of_runs(frame: pl.DataFrame, field: str) -> list[str]:
    """The columns that are called a draw or a run, listed or not, and vary."""
    return [c for c in frame.columns if {plain_name(c), leaf_name(c)} & {*FIELDS[field]} and frame[c].n_unique() > 1]


def _has_plain_scores(frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions) -> bool:
    """Whether every cell of the score is a number, a plain word for right or wrong, or a word for no grade."""
    cells = frame[place["score"]]
    if cells.dtype == pl.Boolean:
        return True
    if cells.dtype.is_numeric():
        return not _counts_of_many(frame, place, options, cells)
    if cells.dtype != pl.String:
        return False
    numbers = cells.str.strip_chars().cast(pl.Float64, strict=False)
    words = {t.strip().lower() for t in cells.filter(numbers.is_null()).drop_nulls().unique().head(200)}
    words -= {*PLAIN_WORDS, *MISSING, *STATUSES, *DECLINED, *(w.strip().lower() for w in options.grade)}
    if words and not all(re.fullmatch(PLAIN_NUMBER, word) for word in words):
        return False
    if numbers.null_count() == len(numbers) and ("text" in place or not cells.drop_nulls().len()):
        return False  # words of answers, perhaps: the column may be the key
    return not _counts_of_many(frame, place, options, numbers)


def _counts_of_many(frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, numbers: pl.Series) -> bool:
    """Whether scores above 1 stand beside a column that says of how many they are, or how many were wrong."""
    if place["score"] in options.map.values() or not (numbers > 1).any():
        return False
    bare = {re.sub("^(n|num|total)_", "", leaf_name(c)) for c in frame.columns if c != place["score"]}
    return bool(bare & {*TOTAL_NAMES, *MISSED_NAMES})
