"""Tables with a column for each condition: those whose columns are known, and one row for each of their answers."""

import re
from collections.abc import Mapping, Sequence

import polars as pl

from richter.interop import has_no_end, hinted_fields, is_listed, known_fields, less_is_better, plain_name, rater_of
from richter.tables._answer_keys import MAX_WORDS, PLAIN_WORDS
from richter.tables._roled_table import RoledTable, named_columns
from richter.tables._shapes import CONDITION, ORDER, VALUE, are_raters_of_conditions, factors
from richter.tables._tables import ReadOptions
from richter.tables._words import (
    DECLINED,
    MISSING,
    STATUSES,
    TOTALS,
    USUAL_ENDS,
    counts_rows,
    number_of,
    text_of,
    word_list,
)

_SCORED = "correct|is_correct|score|grade|passed|acc|accuracy|exact_match|answer|response|output"
_ENDS, _STARTS = rf"[_ .:/-]+({_SCORED})$", rf"^({_SCORED})[_ .:/-]+"
_BRACKET = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")  # what explains a name, at its end
ANSWER_WORDS = frozenset(word_list("yes no ja nein oui non sí"))  # cells of these may be answers
GRADE_WORDS = PLAIN_WORDS - ANSWER_WORDS
NO_GRADE = frozenset((*MISSING, *STATUSES, *DECLINED))
QUESTION_FIELDS = frozenset(
    ("item", "prompt", "domain", "group", "group_2", "tier")
)  # that say something of a question
# columns that are made of others: differences, spreads, margins as pandas and others write them
MADE_NAMES = ("diff", "difference", "delta", "gap", "gain", "change", "max", "min", "std", "median",
              "all", "alle", "tous", "todos", "tutti")  # fmt: skip
MARGIN_ERROR = 0.006  # of a rounded sum or mean
_OTHER_ALPHABET = re.compile("[^\u0000-\u024f\u2000-\u2bff\U0001f000-\U0001ffff]")  # no word in it is known
NUMBER_CELL = r"^[-+]?(\d+([.,]\d*)?|[.,]\d+)\s*%?$"


def known_wide(rows: pl.DataFrame, options: ReadOptions, notes: list[str]) -> RoledTable | None:
    """The table with a row for each answer, where its columns are known as conditions; None for any other.

    Known is a table in which a row is a question, and each column but those that say something of the question holds
    plain grades of one kind. Which column names the question then changes no number.
    """
    if _say_layout(options) or any(f"{c}_duplicated_0" in rows.columns for c in rows.columns):
        return None
    item = options.map.get("item") or _row_name(rows)
    if item is None or (item in rows.columns and text_of(rows[item]).n_unique() < rows.height):
        return None
    weight = options.map.get("weight", "\0")
    rest = [c for c in rows.columns if c != item]
    wide = [c for c in rest if c != weight and _is_graded(rows[c]) and not is_listed("reference", c)]
    others = [c for c in rest if c not in wide]
    if not all(c == weight or _tells_of_question(rows, c, wide) for c in others) or not _are_plain(rows, wide):
        return None
    place = {"item": item, "condition": CONDITION, "score": VALUE, **_question_places(rows, others, weight)}
    return RoledTable(
        frame=melt_conditions(rows, [item, *others] if item in rows.columns else others, wide), given=rows,
        place=place, wide=wide, faults=shared_faults(wide), known=("item", "condition"), notes=notes,
    )  # fmt: skip


def _say_layout(options: ReadOptions) -> bool:
    """Whether options say more of the columns than which names the question and which is its weight."""
    is_mapped = bool({*options.map} - {"item", "weight"})
    return is_mapped or bool(options.layout) or options.wide is not None or options.scorer is not None


def _tells_of_question(rows: pl.DataFrame, column: str, wide: Sequence[str]) -> bool:
    """Whether a column beside those of conditions says something of the question, and grades nothing."""
    is_other = bool(known_fields([column]) - QUESTION_FIELDS) or _has_grades(rows[column])
    return not is_other or _is_key(rows, column, wide)


def _is_key(rows: pl.DataFrame, column: str, wide: Sequence[str]) -> bool:
    """Whether a listed column is the key to answers that are not in the table: it has other cells than 0 and 1."""
    if not is_listed("reference", column) or any(_grade_kind(rows[c]) != 1.0 for c in wide):
        return False
    grades = {cell for c in wide for cell in text_of(rows[c]).str.to_lowercase().drop_nulls().unique().head(MAX_WORDS)}
    return not grades.issuperset(text_of(rows[column]).str.to_lowercase().drop_nulls().unique())


def _question_places(rows: pl.DataFrame, others: Sequence[str], weight: str) -> dict[str, str]:
    """The columns by field that say something of the question, its weight among them."""
    named = {field: named_columns(rows, field) for field in ("prompt", "domain", "group", "tier", "reference")}
    named["weight"] = [weight]
    return {field: own[0] for field, own in named.items() if own and own[0] in others}


def _are_plain(rows: pl.DataFrame, wide: list[str]) -> bool:
    """Whether columns of grades can be nothing but conditions: by their names, on one scale, none made of others."""
    if not 2 <= len(wide) < rows.height or not all(_may_name_condition(rows[c]) for c in wide):
        return False
    are_scores = {"score" in hinted_fields(c) for c in wide}
    if len({_grade_kind(rows[c]) for c in wide}) > 1 or len(are_scores) > 1 or _name_two_things(wide):
        return False
    return not find_margins(rows, wide)


def _name_two_things(columns: list[str]) -> bool:
    """Whether names have two parts: of a condition and who rated or which run it was."""
    if any(" / " in c or rater_of(c).word for c in columns) or are_raters_of_conditions(columns):
        return True
    return any(len(grid.ones) == 1 or len(grid.twos) == 1 for grid in factors(columns))


def find_margins(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns that are, row by row, the sum or the mean of all others, of which there are two or more."""
    values = {c: as_floats(frame[c]) for c in columns}
    n = len(columns) - 1
    if n < 2:
        return []
    total = pl.select(pl.sum_horizontal(values.values())).to_series()
    return [c for c, own in values.items() if _sums_up(own, total - own.fill_null(0), n) and not _is_copy(c, values)]


def _sums_up(own: pl.Series, rest: pl.Series, n: int) -> bool:
    """Whether a column is the sum or the mean of the rest, which has n columns."""
    if own.null_count() == len(own):
        return False
    return any(((own - end).abs() <= MARGIN_ERROR * (1 + own.abs())).all() for end in (rest, rest / n))


def _is_copy(column: str, values: Mapping[str, pl.Series]) -> bool:
    """Whether another column holds the same: a model may well do as others do."""
    return any((values[column] - other).abs().max() == 0 for c, other in values.items() if c != column)


def as_floats(column: pl.Series) -> pl.Series:
    """The cells as numbers, words for right and wrong among them; null for any other."""
    texts = text_of(column)
    words = texts.drop_nulls().unique()
    values = pl.Series([number_of(word) for word in words], dtype=pl.Float64)
    return texts.replace_strict(words, values, default=None, return_dtype=pl.Float64)


def _row_name(rows: pl.DataFrame) -> str | None:
    """The column that names the rows: a listed one, else the first, else none where every column holds 0 and 1."""
    named = [c for c in (*named_columns(rows, "item"), *named_columns(rows, "prompt")) if c in rows.columns]
    if named:
        return named[0]
    first = rows.columns[0]
    if known_fields([first]) - {"item"}:
        return None
    if not _has_grades(rows[first]) or counts_rows(rows[first]):
        return first
    return ORDER if {_grade_kind(rows[c]) for c in rows.columns} == {1.0} else None


def _is_graded(column: pl.Series) -> bool:
    """Whether every cell is a number, a word that only grades, or one for no grade, and some cell grades."""
    cells = _cells(column)
    return bool(cells) and all(is_grade for is_grade in cells.values())


def _has_grades(column: pl.Series) -> bool:
    return any(_cells(column).values())


def _cells(column: pl.Series) -> dict[str, bool]:
    """The different cells but those for no grade, and whether each is a number or a word that grades."""
    if column.dtype == pl.Boolean or column.dtype.is_numeric():
        return {} if column.null_count() == len(column) else {"0": True}
    if column.dtype != pl.String:
        return {}
    words = text_of(column).str.to_lowercase().drop_nulls().unique()
    grades = words.is_in(list(GRADE_WORDS)) | words.str.contains(NUMBER_CELL)
    return {word: grade for word, grade in zip(words, grades, strict=True) if word not in NO_GRADE}


def _may_name_condition(column: pl.Series) -> bool:
    """Whether a column of grades may be a condition's: its name is no field's, measure's, amount's or total's."""
    name = column.name
    is_attribute = plain_name(name).startswith(("is_", "has_")) or bool(hinted_fields(name) & {"other", "metric"})
    is_attribute = (
        is_attribute
        or bool(_OTHER_ALPHABET.search(name))
        or has_no_end(name)
        or less_is_better(name)
        or plain_name(name) in MADE_NAMES
    )
    return not (is_attribute or known_fields([name]) or TOTALS.fullmatch(name.strip()) or counts_rows(column))


def _grade_kind(column: pl.Series) -> float | str:
    """The end of the usual scale that holds the numbers of a column; 1 for right and wrong, `%` for percentages.

    Numbers below 0 are of no usual scale.
    """
    if column.dtype == pl.Boolean:
        return 1.0
    texts = text_of(column).str.to_lowercase()
    if texts.str.ends_with("%").any():
        return "%"
    words = dict.fromkeys(GRADE_WORDS, "1")
    numbers = texts.replace(words).str.replace(",", ".").cast(pl.Float64, strict=False)
    top = float(numbers.max() or 0)  # type: ignore[arg-type]
    if (numbers < 0).any():
        return "signed"
    return next((end for end in USUAL_ENDS if top <= end), 0.0)


# ------------------------------------------------------------------ a row for each answer


def shared_faults(wide: Sequence[str]) -> list[str]:
    """The word that all columns share where it says that less of what they hold is better."""
    words = [plain_name(c).split("_") for c in wide if less_is_better(c)]
    common = words[0] if words and len(words) == len(wide) else []
    explained = {c[m.start() :] for c in wide if common and (m := _BRACKET.search(c))}
    found = [w for w in common if less_is_better(w) and all(w in own for own in words)][:1]
    return found or [text.strip() for text in explained if len(explained) == 1]


def melt_conditions(frame: pl.DataFrame, keep: list[str], wide: list[str]) -> pl.DataFrame:
    """One row per item and condition. What all names begin or end with (`old_correct`, `new_correct`) is left out."""
    names = {c: leaf_of(c, wide) for c in wide}
    texts = any(frame[c].dtype == pl.String for c in wide)
    frame = frame.with_columns(pl.col(c).cast(pl.String if texts else pl.Float64) for c in wide)
    return pl.concat([frame.select(*keep, pl.lit(names[c]).alias(CONDITION), pl.col(c).alias(VALUE)) for c in wide])


def leaf_of(column: str, wide: Sequence[str]) -> str:
    """A condition's name: without the word for the score that all end or begin with, or the object they were in.

    What all explain alike in a bracket at the end is left out first.
    """
    if bracket := _shared_bracket(wide):
        return leaf_of(column.removesuffix(bracket), [c.removesuffix(bracket) for c in wide])
    words = (rf"[_ .:/-]+{re.escape(w)}$|^{re.escape(w)}[_ .:/-]+" for w in shared_faults(wide))
    for cut in (r"^.+ / ", r"^[^.]+\.", _ENDS, _STARTS, *words):
        short = {c: re.sub(cut, "", c, flags=re.IGNORECASE).strip() for c in wide}
        if _are_short_names(short) and (cut != r"^[^.]+\." or _share_head(short)):
            return short[column]
    return column


def _shared_bracket(wide: Sequence[str]) -> str:
    """The bracket with which all of several columns end; "" without."""
    explained = {match[0] if (match := _BRACKET.search(c)) else "" for c in wide}
    bracket = explained.pop() if len(explained) == 1 and len(wide) > 1 else ""
    return "" if bracket in wide else bracket


def _are_short_names(short: Mapping[str, str]) -> bool:
    """Whether every column has a shorter name, and none has another's."""
    return len(set(short.values())) == len(short) and all(name and name != c for c, name in short.items())


def _share_head(short: Mapping[str, str]) -> bool:
    """Whether the same beginning was cut off every column."""
    return len({c[: len(c) - len(name)] for c, name in short.items()}) == 1
