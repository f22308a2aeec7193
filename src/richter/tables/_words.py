"""Cells as grades and numbers: words for right and wrong, percentages, thousands, units."""

import json
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from richter.errors import InputError
from richter.interop import has_no_end, hinted_fields, known_fields, less_is_better, plain_name
from richter.records import Note, counted, printable


def word_list(words: str) -> list[str]:
    return words.split()


_RIGHT = word_list(
    "true t yes y correct right pass passed c success successful ok okay ✓ ✔ ✅ ☑ 👍 ○ 〇 ◯ o accept"
    " accepted acceptable approved good resolved solved up ja wahr richtig korrekt bestanden oui vrai juste réussi sí"
    " si verdadero correcto correcta acierto"
)
_WRONG = word_list(
    "false f no n incorrect wrong fail failed i failure nok ✗ ✘ x ❌ ☐ 👎 × ✕ ✖ reject rejected down unacceptable bad"
    " unresolved nein falsch inkorrekt non faux échoué falso incorrecto incorrecta fallo"
)
WORDS = {
    **dict.fromkeys(_RIGHT, 1.0),
    **dict.fromkeys(_WRONG, 0.0),
    **dict.fromkeys(("partial", "partially correct", "p", "partly", "partially"), 0.5),
}
# of these it takes a name besides to know that they are grades
ANY = frozenset(word_list("true t yes y c ja oui si sí o ok false f no n i x nein non p good bad up down"))
# grades of answers that gave none: not right, unless --grade says otherwise; the first are of a model that declined
DECLINED = (
    "not attempted", "not-attempted", "not_attempted", "refused", "refusal", "abstained", "abstain", "abstention",
    "declined", "no answer", "no-answer", "no_answer", "noanswer", "idk", "don't know", "unanswered"
)  # fmt: skip
# words that say how a call or a grader ended: no grade, unless --grade says otherwise
STATUSES = frozenset((
    "error", "errored", "err", "exception", "api error", "api_error", "timeout", "timed out", "timed_out", "time out",
    "crash", "crashed", "unparseable", "unparsable", "unparsed", "parse error", "parse_error", "parsing error",
    "invalid", "malformed", "cancelled", "canceled", "aborted", "rate limit", "rate_limit", "pending", "running",
))  # fmt: skip
# of a column that marks rows which do not count
SKIPPED_NAMES = (
    "skipped",
    "skip",
    "not_run",
    "exclude",
    "excluded",
    "ignore",
    "ignored",
    "not_graded",
    "not_applicable",
)
FAILURES = frozenset(("fail", "failed", "failure"))  # wrong beside these, else the end of a call
PASSES = frozenset(("pass", "passed", "success", "successful", "succeeded", "ok", "okay", "accept", "accepted", "good"))
MISSING = (".", "", "nan", "na", "n/a", "null", "none", "-", "--", "#n/a", "missing", "?", "skip", "skipped", "ignore",
           "ignored", "not applicable", "n.a.", "s.o.", "k.a.", "n.v.t.", "\\n", "(null)", "[null]", "<na>",
           "<null>")  # fmt: skip
USUAL_ENDS = (1.0, 5.0, 7.0, 10.0, 100.0)  # upper ends of scales
EMPTY = "empty"  # what `--grade` calls a cell with nothing in it
# words in order: such a column is a rating from 1 to as many
RANKS = (
    ("very poor", "poor", "fair", "good", "excellent"), ("very bad", "bad", "average", "good", "very good"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"), ("poor", "fair", "good", "excellent"),
    ("terrible", "bad", "okay", "good", "great"), ("very dissatisfied", "dissatisfied", "neutral", "satisfied",
                                                   "very satisfied"),
    ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"),
    ("red", "yellow", "green"), ("red", "amber", "green"), ("poor", "average", "good"), ("bad", "neutral", "good"),
    ("bad", "ok", "good"), ("low", "medium", "high"),
)  # fmt: skip
_NEGATED = re.compile(r"(in|im|un|non|not|no|nicht|ne|dis|pas|non[- ])[\s_-]*")
_PARTLY = re.compile(r"(partially|partly)[\s_-]+")
_NOT = re.compile(r"(not|no|nicht|non|pas)[\s_-]+")
_TOTAL = (
    r"(grand )?(total|mean|average|avg|accuracy|sum|overall|summe|gesamt|durchschnitt|mittelwert|moyenne|media|promedio"
    r"|średnia|suma|ortalama|toplam|gemiddelde|totaal|итого|среднее|σ|∑|合計|合计|平均|总计)"
)
_SUBTOTAL = r"(sub|sous|zwischen|teil|sotto)[- ]?(total\w*|summe|totaal)\b.*|小计.*|小計.*"
TOTALS = re.compile(rf"{_TOTAL}(?![\w-])|{_SUBTOTAL}", re.IGNORECASE)
TOTAL_CELL = rf"(?i)^({_TOTAL}|{_SUBTOTAL})$"  # the same as a whole cell, in the syntax of polars
# beside totals at the foot of a table
SPREADS = re.compile(r"(st\.? ?dev|std|sd|stderr|se|variance|var|n|count|min|max|median|ci|rank)\.?", re.IGNORECASE)
_PLAIN = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)(e[-+]?\d+)?\s*%?", re.IGNORECASE)
# thousands are parted by a point or comma, a fraction by the other one
_THOUSANDS = re.compile(r"\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+|(?:\.\d{3}){2,}|(?:,\d{3}){2,})")
_SIZES = ("money_usd", "latency_s", "tokens_in", "tokens_out", "steps", "failed_calls")
_SIZE = r"^(?:(?<sign>[$€£¥])\s*)?(?<number>[-+]?[\d.,]+(?:e[-+]?\d+)?)\s*(?<unit>[$€£¥]|[a-zµ]+)?$"
_UNITS = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0, "h": 3600.0, "ct": 0.01, "cent": 0.01, "cents": 0.01,
          "k": 1000.0}  # fmt: skip


def text_of(column: pl.Series) -> pl.Series:
    """A column as texts without spaces around them."""
    if column.dtype == pl.String:
        return column.str.strip_chars()
    if column.dtype.is_nested():
        return column.map_elements(_json_of, return_dtype=pl.String)
    if column.dtype.is_float() and (column.drop_nulls() == column.drop_nulls().round()).all():
        column = column.cast(pl.Int64, strict=False)  # 7.0 as another program wrote 7
    return column.cast(pl.String, strict=False)


def whole_numbers(column: pl.Series) -> pl.Series:
    """A column as whole numbers, null where a cell is none."""
    return (column if column.dtype.is_integer() else text_of(column)).cast(pl.Int64, strict=False)


def _json_of(cell: Any) -> str:
    """A list or a record of a cell as JSON, as it stands in a CSV file."""
    value = cell.to_list() if isinstance(cell, pl.Series) else cell
    return json.dumps(value, ensure_ascii=False, default=str)


def has_unique_rows(frame: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Whether no two rows have the same values in these columns; hashes that all differ show it fast."""
    keys = frame.select(columns)
    return keys.hash_rows().n_unique() == frame.height or keys.n_unique() == frame.height


def number_of(text: str) -> float | None:
    """A cell as a number: words for right and wrong, percentages, a decimal comma."""
    plain = text.strip().lower()
    if plain in WORDS:
        return WORDS[plain]
    if _THOUSANDS.fullmatch(plain):
        return _without_groups(plain)
    if _PLAIN.fullmatch(plain):
        value = float(plain.rstrip("% ").replace(",", "."))
        return value / 100 if plain.endswith("%") else value
    return _grade_in_words(plain)


def _without_groups(plain: str) -> float:
    """A number whose thousands are parted."""
    *whole, last = re.split("[.,]", plain)
    is_broken = plain[-len(last) - 1] not in plain[: -len(last) - 1]  # the last sign is another one
    return float("".join(whole) + ("." if is_broken else "") + last)


def _grade_in_words(plain: str) -> float | None:
    """What a negated word, or several words for the same grade say; None for any other text."""
    if (match := _NOT.match(plain)) and WORDS.get(word := plain[match.end() :]) in (0.0, 1.0):
        return 1 - WORDS[word]
    parts = [part for part in re.split(r"[\s()\[\],;:/|-]+", plain) if part]
    grades = {WORDS[part] for part in parts if part in WORDS}
    rest = "".join(part for part in parts if part not in WORDS)
    return grades.pop() if len(grades) == 1 and not re.search(r"\w", rest) else None


def ordered_words(cells: Collection[str]) -> dict[str, float]:
    """Words of a column that only together say what they mean: a word and its negation, or ranks from bad to good."""
    words = {cell: cell.strip().lower() for cell in cells if cell.strip().lower() not in MISSING}
    return _negated_words(words) or _ranked_words(words, cells)


def _negated_words(words: Mapping[str, str]) -> dict[str, float]:
    """A word and its negation as 1 and 0, `partly` that word as a half."""
    different = set(words.values())
    halves = {word: word[match.end() :] for word in different if (match := _PARTLY.match(word))}
    if len(different - halves.keys()) != 2:
        return {}
    short, long = sorted(different - halves.keys(), key=len)
    match = _NEGATED.match(long)
    if match is None or long[match.end() :] != short or not {*halves.values()} <= {short}:
        return {}
    return {cell: 0.5 if word in halves else float(word == short) for cell, word in words.items()}


def _ranked_words(words: Mapping[str, str], cells: Collection[str]) -> dict[str, float]:
    """Words of one list from bad to good as 1, 2, ..; `none` below `low` as 0."""
    different = set(words.values())
    fits = (ranks for ranks in RANKS if different <= set(ranks))
    ranks = next(fits, None) if len(different) > 1 and not different <= WORDS.keys() else None
    if ranks is None:
        return {}
    lowest = {cell: 0.0 for cell in cells if ranks[0] == "low" and cell.strip().lower() == "none"}
    return {cell: 1.0 + ranks.index(word) for cell, word in words.items()} | lowest


def holds_grades(column: pl.Series, told: Mapping[str, float | None] | None = None) -> bool:
    """Whether every cell can be read as a grade or a number."""
    if column.dtype == pl.Boolean or column.dtype.is_numeric():
        return True
    if column.dtype != pl.String:
        return False
    some = column.drop_nulls().unique().head(50)
    empty = {*MISSING, *DECLINED, *STATUSES, *(word.strip().lower() for word in told or {})}
    rest = [text for text in some if text.strip().lower() not in empty]
    if not rest:
        return len(some) > 0
    return all(number_of(text) is not None for text in rest) or bool(ordered_words(rest))


def marks_rows(name: str) -> bool:
    """Whether a column is called by a word for rows that do not count, as `excluded` and `is_skipped`."""
    return plain_name(name).removeprefix("is_") in SKIPPED_NAMES


def holds_any(column: pl.Series) -> bool:
    """Whether any cell holds something."""
    texts = column.drop_nulls().unique().head(20)
    return len(texts) > 0 if column.dtype != pl.String else any(t.strip().lower() not in MISSING for t in texts)


def sure_grades(column: pl.Series) -> bool:
    """Words that nobody writes but to grade."""
    if column.dtype != pl.String:
        return False
    words = {text.strip().lower() for text in column.drop_nulls().unique().head(20)} - set(MISSING)
    worded = {word for word in words if not _PLAIN.fullmatch(word)}
    graded = worded and all(number_of(word) is not None for word in words) and not words <= ANY
    return bool(graded or (words and ordered_words(words)))


def says_right(column: pl.Series) -> bool:
    """Whether the cells are words such as `pass` and `fail`, which mean the same under any name of the column."""
    if column.dtype != pl.String:
        return False
    words = {text.strip().lower() for text in column.drop_nulls().unique().head(50)} - set(MISSING)
    return bool(words & WORDS.keys() - ANY)


def listed(column: pl.Series) -> list[list[object]] | None:
    """Cells that are JSON lists; None where none is, or one is something else."""
    if column.dtype != pl.String or not column.str.starts_with("[").any():
        return None
    cells = column.fill_null("[]").to_list()
    found: list[list[object]] = []
    for cell in cells:
        try:
            values = json.loads(cell) if cell.startswith("[") else [cell]  # a list of one may stand without brackets
        except (ValueError, RecursionError):
            return None
        if not isinstance(values, list) or any(isinstance(v, dict | list) for v in values):
            return None
        found.append(values)
    return found if any(found) else None


def map_option(field: str, column: str) -> str:
    """The option that names a column, as a shell takes it: whole, for a name that is cut names nothing."""
    return f"--map {shlex.quote(f'{field}={printable(column)}')}"


def wide_option(columns: Iterable[str]) -> str:
    """The option that names the columns of conditions; a name with a comma or quotes is in quotes, as CSV has it."""
    cells = [printable(column) for column in columns]
    quoted = ['"' + c.replace('"', '""') + '"' if re.search('[,"]', c) else c for c in cells]
    return f"--wide {shlex.quote(','.join(quoted))}"


# ------------------------------------------------------------------ a column as numbers, and what is said of it


def brief(name: str) -> str:
    """A name as it may be printed."""
    return printable(name.rstrip("\0"), limit=40)


def listing(columns: Sequence[str]) -> str:
    return ", ".join(printable(c, limit=30) for c in columns[:12]) + (", …" if len(columns) > 12 else "")


def row_count(rows: pl.Series) -> str:
    return counted(len(rows), "row")


def counts_rows(values: pl.Series) -> bool:
    """Whether a column only numbers its rows (1, 2, ...; 1.1, 1.2, ...), or holds numbers too large for a grade."""
    if values.dtype == pl.String:
        if values.str.contains(r"[^0-9.]").any():
            return False
        values = values.cast(pl.Float64, strict=False)
    if not values.dtype.is_numeric():
        return False
    if len(values) > 5 and not values.null_count() and bool((values.diff().drop_nulls() > 0).all()):
        return True
    if (values.drop_nulls() != values.drop_nulls().round()).any():
        return False
    often = values.drop_nulls().value_counts(name="rows").sort(values.name)
    steps, rows = often[values.name].diff().drop_nulls(), often["rows"]
    numbered = len(often) > 5 and (steps == 1).all() and rows.n_unique() == 1
    return bool(numbered or (values.cast(pl.Float64) > 1000).any())


def likely_column(frame: pl.DataFrame, place: Mapping[str, str]) -> str:
    """The likeliest grade that a remedy can name: by its name, of two values, any other number that numbers no rows."""
    rest = [c for c in frame.columns if c not in place.values()]
    rest = rest if "item" in place else rest[1:] or rest  # the first is taken for the item
    rest += [place["refused"]] if place.get("refused") in frame.columns else []
    rest = [c for c in rest if not has_no_end(c)]  # a time, a price or a count of tokens is no grade
    return max((c for c in rest if holds_grades(frame[c])), key=lambda c: _likely(frame[c]), default="COLUMN")


def _likely(column: pl.Series) -> tuple[bool, ...]:
    hints, n = hinted_fields(column.name), column.drop_nulls().n_unique()
    known = bool(hints & {"score", "metric"}) or less_is_better(column.name) or "score" in known_fields([column.name])
    other = bool(hints & {"other"})
    return not counts_rows(column) and n > 1, known and not other, n == 2, not other, "condition" not in hints


def to_numbers(
    frame: pl.DataFrame, column: str, field: str, what: str, place: Mapping[str, str], notes: list[str]
) -> pl.Series:
    """A column as numbers: words for right and wrong, percentages; anything else is refused."""
    series = frame[column]
    if series.dtype == pl.Boolean or series.dtype.is_numeric() or series.dtype == pl.Null:
        return series.cast(pl.Float64).fill_nan(None)
    if series.dtype != pl.String:
        other = likely_column(frame, {**place, field: column})
        raise InputError(
            f"{what}: the column {brief(column)!r} holds no numbers.",
            remedy=f"Name another: {map_option(field, other)}",
        )
    if field in _SIZES:
        return _sizes(series, column, notes)
    series = _without_thousands(series, what)
    values = series.str.strip_chars().cast(pl.Float64, strict=False).fill_nan(None)
    is_odd = values.is_null() & series.is_not_null()
    if not is_odd.any():
        return values
    cells = series.filter(is_odd).unique(maintain_order=True)
    if field == "confidence" and (words := [c for c in cells if c in ordered_words(cells) or c.lower() in WORDS]):
        notes.append(_worded_confidence_note(column, words))
        return values
    known = _cell_values(series, cells, field, notes)
    bad = [cell for cell, value in known.items() if value is None and cell.strip().lower() not in MISSING]
    if bad:
        raise _no_number_error(frame, column, field, what, place, bad)
    _one_kind(series, values, column, what, notes)
    old, new = pl.Series(known.keys(), dtype=pl.String), pl.Series(known.values(), dtype=pl.Float64)
    return values.zip_with(~is_odd, series.replace_strict(old, new, default=None, return_dtype=pl.Float64))


def _without_thousands(series: pl.Series, what: str) -> pl.Series:
    """The cells without points between thousands, where a comma elsewhere shows that points are such; else refused.

    A lone `1.099` beside whole numbers of three digits may be one thousand and ninety-nine.
    """
    pointed = series.str.contains(r"^\s*\d{1,3}(\.\d{3})+\s*$").fill_null(value=False)
    if not pointed.any():
        return series
    if series.str.contains(r"^\s*\d{1,3}(\.\d{3})+,\d+\s*$").any():
        return pl.select(
            pl.when(pointed).then(series.str.replace_all(".", "", literal=True)).otherwise(series)
        ).to_series()
    others = series.filter(~pointed).str.strip_chars()
    if others.str.contains(r"^[1-9]\d\d$").any() and not others.str.contains(".", literal=True).any():
        cell = series.filter(pointed)[0]
        raise InputError(
            f"{what}: {brief(series.name)} holds {cell!r} beside whole numbers: "
            f"{float(cell):g} or {cell.strip().replace('.', '')}?",
            remedy="Write the numbers without a point between thousands, or with a comma before the fraction.",
        )
    return series


def _cell_values(series: pl.Series, cells: pl.Series, field: str, notes: list[str]) -> dict[str, float | None]:
    """What each cell that is not a plain number stands for; None for no value, and for what is not known."""
    known = {cell: None if cell.strip().lower() in MISSING else number_of(cell) for cell in cells}
    if field not in ("score", "human", "refused"):  # right and wrong are no sizes
        known |= {cell: None for cell in cells if cell.strip().lower() in WORDS}
    ranks = ordered_words(cells)
    if not ranks or len(cells) < series.n_unique() - (series.null_count() > 0):
        return known
    order = sorted(ranks.items(), key=lambda pair: pair[1])
    notes.append(f"{brief(series.name)}: {', '.join(f'{printable(w, limit=30)} {value:g}' for w, value in order)}")
    return known | ranks


def _worded_confidence_note(column: str, words: Sequence[str]) -> Note:
    shown = ", ".join(printable(word, limit=20) for word in sorted(words))
    reason = f"{brief(column)} holds words ({shown}), and what they mean as probabilities only you can say."
    return Note(f"{reason} They are left out. Write a number from 0 to 1 for each.", "no confidence")


def _no_number_error(
    frame: pl.DataFrame, column: str, field: str, what: str, place: Mapping[str, str], bad: Sequence[str]
) -> InputError:
    series, other = frame[column], likely_column(frame, {**place, field: column})
    rows = series.is_in(bad).arg_true()
    shown = ", ".join(f"{printable(series[r], limit=20)!r} in data row {r + 1}" for r in rows.head(3).to_list())
    return InputError(
        f"{what}: {brief(column)} is not a number in {row_count(rows)} ({shown}).",
        remedy=_other_column(frame, place, field, other, bad[0], all_text=len(rows) == len(series)),
    )


def _sizes(series: pl.Series, column: str, notes: list[str]) -> pl.Series:
    """Costs, times and counts of tokens with their units; what is unreadable is left out, which is said."""
    found = series.str.strip_chars().str.to_lowercase().str.extract_groups(_SIZE)
    number, unit, sign = (found.struct.field(name) for name in ("number", "unit", "sign"))
    thousands = number.str.contains(r"^\d{1,3}(,\d{3})+(\.\d+)?$")
    plain = pl.select(pl.when(thousands).then(number.str.replace_all(",", "")).otherwise(number.str.replace(",", ".")))
    values = plain.to_series().cast(pl.Float64, strict=False) * unit.fill_null("").replace_strict(
        _UNITS, default=1.0, return_dtype=pl.Float64
    )
    name, odd = brief(column), values.is_null() & ~series.fill_null("").str.to_lowercase().is_in(MISSING)
    if odd.any():
        rows = odd.arg_true()
        shown = ", ".join(f"{printable(series[r], limit=20)!r} in data row {r + 1}" for r in rows.head(3).to_list())
        notes.append(f"{name} is not a number in {row_count(rows)} ({shown}): left out")
    foreign = [own for own in {*sign.unique(), *unit.unique()} if own in ("€", "£", "¥", "eur", "gbp", "chf")]
    if foreign:
        notes.append(f"{name} is in {foreign[0]}, not in dollars: the numbers are read as they stand")
    return values.alias(column)


def _other_column(
    frame: pl.DataFrame, place: Mapping[str, str], field: str, other: str, odd: str, *, all_text: bool
) -> str:
    """What to do about a column that should hold numbers and holds texts."""
    if all_text and field == "score" and place.get("item") in frame.columns and holds_grades(frame[place["item"]]):
        swapped = f"{map_option('item', place['score'])} {map_option('score', place['item'])}"
        return f"Item and grade seem to have changed places: {swapped}"
    if field == "score" and not all_text and len(odd) <= 40:
        word = shlex.quote(f"{brief(odd.strip())}=wrong")
        return f"Say what it counts as: --grade {word} (or =right, =missing, a number)."
    if other != "COLUMN":
        return f"Correct these cells, or name another column: {map_option(field, other)}"
    if all_text and field == "score":
        cells = frame[place["score"]].drop_nulls().cast(pl.String) if field in place else pl.Series([], dtype=pl.String)
        return _describe_word_remedy(sorted(cells.str.strip_chars().unique()))
    return "Correct these cells."


def _describe_word_remedy(words: Sequence[str]) -> str:
    """What to do about a score that holds only these words: few and short ones may be grades."""
    if not (1 < len(words) <= 6 and max(map(len, words)) <= 40):
        return "These look like answers: grade them first, and write 1 or 0 beside each."
    grades = [f"{word}={'wrong' if k else 'right'}" for k, word in enumerate(words)]
    said = " ".join(f"--grade {shlex.quote(grade)}" for grade in grades)
    return f"If these are grades, say what each counts as: {said} (or =missing, a number); else grade them first."


def _one_kind(series: pl.Series, plain: pl.Series, column: str, what: str, notes: list[str]) -> None:
    """Words beside numbers other than 0 and 1 are refused; percentages beside fractions are pointed out."""
    lower = series.str.strip_chars().str.to_lowercase()
    worded = series.filter(lower.is_in(list(WORDS))).drop_nulls()
    graded = series.filter(plain.is_not_null() & ~plain.is_in([0.0, 1.0]))
    name = brief(column)
    if len(worded) and len(graded):
        raise InputError(
            f"{what}: the column {name!r} mixes kinds of grades: {worded[0]!r} in {row_count(worded)}, {graded[0]!r} "
            f"in {row_count(graded)}.",
            remedy="Write one kind: right and wrong, or a number from 0 to 1.",
        )
    percent = lower.str.ends_with("%").fill_null(value=False)
    if percent.any() and plain.is_not_null().any():
        if (plain > 1).any():
            raise InputError(
                f"{what}: the column {name!r} has percentages ({series.filter(percent)[0]}) beside numbers without "
                f"a sign ({series.filter(plain > 1)[0]}).",
                remedy="Write all of them as percentages, or all as fractions.",
            )
        notes.append(
            f"column {name} mixes percentages ({int(percent.sum())} cells) with fractions "
            f"({int(plain.is_not_null().sum())}); 85% is read as 0.85"
        )
