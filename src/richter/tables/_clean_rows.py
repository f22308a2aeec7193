"""The rows of a file without what is not a row of results: blank rows and columns, repeated headers, totals."""

import re
import unicodedata
from collections.abc import Mapping

import polars as pl

from richter.records import counted
from richter.tables._words import SPREADS, TOTALS, number_of, text_of

MIN_SUMMED_ROWS = 6
FOOT_ROWS = 5
MAX_WORDS = 50  # different cells of a column of grades
MAX_TOTAL_SHARE = 5  # one row in so many may be a total between blocks
# the same as TOTALS as a whole cell, in the syntax of polars
TOTAL_CELL = (
    r"(?i)^((grand )?(total|mean|average|avg|accuracy|sum|overall|summe|gesamt|durchschnitt|mittelwert|moyenne|media"
    r"|promedio|średnia|suma|ortalama|toplam|gemiddelde|totaal|итого|среднее|σ|∑|合計|合计|平均|总计)"
    r"|(sub|sous|zwischen|teil|sotto)[- ]?(total\w*|summe|totaal)\b.*|小计.*|小計.*)$"
)


def unnest(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with a column for each field of an object (`config.model`), as nested JSON has it."""
    while structs := {c: kind for c, kind in frame.schema.items() if isinstance(kind, pl.Struct)}:
        own = (pl.col(c).struct.rename_fields([f"{c}.{f.name}" for f in kind.fields]) for c, kind in structs.items())
        frame = frame.with_columns(own).unnest(*structs)
    return frame


def drop_blanks(frame: pl.DataFrame) -> pl.DataFrame:
    """The table without rows that are empty throughout, and without columns that have neither a name nor a cell."""
    texts = [c for c, kind in frame.schema.items() if kind == pl.String]
    if texts and frame.width:
        filled = [
            pl.col(c).str.strip_chars().fill_null("") != "" if c in texts else pl.col(c).is_not_null()
            for c in frame.columns
        ]
        frame = frame.filter(pl.any_horizontal(filled))
    bare = [c for c in frame.columns if not c.strip() or c.startswith(("_duplicated_", "__UNNAMED__"))]
    return frame.drop(
        [c for c in bare if frame[c].cast(pl.String, strict=False).fill_null("").str.strip_chars().eq("").all()]
    )


def drop_headers(frame: pl.DataFrame) -> pl.DataFrame:
    """The table without rows that repeat the header, and without a survey's further header rows."""
    texts = [c for c, kind in frame.schema.items() if kind == pl.String]
    if len(texts) < 2 or len(texts) < frame.width // 2:
        return frame
    if frame[texts[0]].str.contains(texts[0].strip(), literal=True).any():
        same = frame.select(pl.all_horizontal(pl.col(c).str.strip_chars() == c.strip() for c in texts)).to_series()
        frame = frame.filter(~same.fill_null(value=False))
    marks = next((k for k, row in enumerate(frame.head(3).rows()) if any("ImportId" in str(c) for c in row)), None)
    if frame.height and {str(c or "").strip().lower() for c in frame.row(0)} <= {"", "response", "open-ended response"}:
        marks = 0  # as SurveyMonkey writes it
    return frame if marks is None else frame.slice(marks + 1)


def drop_totals(frame: pl.DataFrame, place: Mapping[str, str], notes: list[str]) -> pl.DataFrame:
    """The table without rows that hold totals: at the foot, and between blocks where the item is called one."""
    rows = frame.head(frame.height - _count_foot(frame, place))
    item = place.get("item", "")
    if item in rows.columns:
        total = text_of(rows[item]).fill_null("").str.contains(TOTAL_CELL)
        rows = rows.filter(~total) if 0 < total.sum() <= max(rows.height // MAX_TOTAL_SHARE, 1) else rows
    if rows.height == frame.height and _last_row_sums_up(frame):
        rows = frame.head(frame.height - 1)
    if rows.height < frame.height:
        notes.append(f"{counted(frame.height - rows.height, 'row is', 'rows are')} totals and are left out")
    return rows


def _count_foot(frame: pl.DataFrame, place: Mapping[str, str]) -> int:
    """How many rows at the foot hold totals: no item, or one that is called a total, beside a word for it."""
    tail = frame.tail(FOOT_ROWS)
    if not any(TOTALS.match(_without_accents(cell)) for row in tail.rows() for cell in row if isinstance(cell, str)):
        return 0
    varied = [c for c in frame.columns if frame[c].n_unique() > 1] or frame.columns  # a word in all rows is no total
    names = [c for c in varied if frame[c].dtype == pl.String or c == place.get("item")]
    item = place["item"] if place.get("item") in names else varied[0]
    count, has_sum = 0, False
    for row in tail.select(text_of(tail[item]).alias("item\0"), *(c for c in names if c != item)).rows()[::-1]:
        cells = [_without_accents(cell or "") for cell in row]
        is_sum = any(map(TOTALS.match, cells))
        names_item = cells[0] and not TOTALS.match(cells[0]) and not SPREADS.fullmatch(cells[0])
        if names_item or not (is_sum or any(map(SPREADS.fullmatch, cells))):
            break
        count, has_sum = count + 1, has_sum or is_sum
    return count if has_sum else 0


def _last_row_sums_up(frame: pl.DataFrame) -> bool:
    """Whether the last row holds, of two columns of grades or more, what those above add up to, or their mean."""
    if frame.height <= MIN_SUMMED_ROWS:
        return False
    found = [_sums_up(frame[c]) for c in frame.columns]
    return False not in found and found.count(True) > 1


def _sums_up(column: pl.Series) -> bool | None:
    """Whether the last cell is the sum or the mean of those above it; None where it is not a number of its own."""
    above, text = column.head(-1), text_of(column.tail(1)).fill_null("").item()
    last = number_of(text)
    if last is None or (above == column[-1]).any():
        return None
    given = _as_numbers(text_of(above)).drop_nulls().drop_nans()
    if len(given) < MIN_SUMMED_ROWS or 2 * len(given) < len(above) or (given == last).any():
        return None
    places = len(re.sub(r"^[^.,]*[.,]?|\D", "", text)) + 2 * text.endswith("%")  # to which it is rounded
    total = float(given.sum())
    return any(abs(last - end) <= 0.51 / 10**places for end in (total, total / len(given)))


def _as_numbers(texts: pl.Series) -> pl.Series:
    """Texts as numbers; of few different ones also those that are words for right and wrong."""
    words = texts.drop_nulls().unique()
    if len(words) > MAX_WORDS:
        return texts.cast(pl.Float64, strict=False)
    values = [number_of(word) for word in words]
    return texts.replace_strict(words, pl.Series(values, dtype=pl.Float64), default=None, return_dtype=pl.Float64)


def _without_accents(text: str) -> str:
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text.strip()))
