"""Which answer each row is (item, condition, draw, run), and the cells of its score as numbers."""

import dataclasses
import re
import shlex
from collections.abc import Collection, Container, Mapping

import polars as pl

from richter.errors import InputError
from richter.interop import MEASURE_NAMES, hinted_fields, leaf_name
from richter.records import Note, counted, printable
from richter.tables._dates import dates_of
from richter.tables._shapes import ORDER
from richter.tables._tables import KEY, RATERS_APART, ReadOptions
from richter.tables._words import (
    DECLINED,
    EMPTY,
    FAILURES,
    MISSING,
    PASSES,
    STATUSES,
    WORDS,
    brief,
    counts_rows,
    has_unique_rows,
    holds_grades,
    listing,
    map_option,
    number_of,
    ordered_words,
    row_count,
    says_right,
    text_of,
    to_numbers,
    whole_numbers,
    word_list,
)
from richter.words import describe_merged_names

MAX_APART = 6  # values of a column that may tell rows of an answer apart


def answer_keys(
    frame: pl.DataFrame, place: Mapping[str, str], notes: list[str], *, what: str, stem: str
) -> pl.DataFrame:
    """`item`, `condition`, `draw` (and `run`) of every row; runs follow each other in the numbers of the draws."""
    if "item" not in place:
        raise no_item_error(frame, place, what)
    if "condition" in place:
        named = frame[place["condition"]]
        keys = pl.DataFrame({"condition": text_of(named)})
        notes += _merged_names(named)
    else:
        keys = pl.select(pl.repeat(stem, len(frame)).alias("condition"))
    if place["item"] == ORDER and ORDER not in frame.columns:
        keys = keys.with_columns((pl.int_range(pl.len()).over("condition") + 1).cast(pl.String).alias("item"))
    else:
        keys = keys.with_columns(_same_ids(text_of(frame[place["item"]]), keys["condition"], notes).alias("item"))
    _refuse_empty(keys, place, what)
    keys = keys.select("item", "condition", pl.lit(0, dtype=pl.Int64).alias("draw"))
    return _with_run(frame, place, keys.with_columns(_draws(frame, place, keys)))


def _merged_names(column: pl.Series) -> list[Note]:
    """A note where names of conditions differ only in spaces around them, which are not read."""
    if column.dtype != pl.String:
        return []
    names = column.drop_nulls().unique(maintain_order=True)
    stripped = names.str.strip_chars()
    merged = stripped.filter(stripped.is_duplicated()).unique(maintain_order=True).to_list()
    return [Note(describe_merged_names(name), "look-alike") for name in merged]


def no_item_error(frame: pl.DataFrame, place: Mapping[str, str], what: str) -> InputError:
    """The error of a table that names no item, with the likeliest column."""
    columns = [c for c in frame.columns if "\0" not in c]
    has = f"; it has {listing(columns)}" if columns else ": every column was taken for a condition"
    likely = item_option(frame, place).strip()
    named = f"Say which names the question: {likely}. " if likely != map_option("item", ORDER) else "Add one. "
    return InputError(
        f"{what}: can't find the column with the question IDs{has}.",
        remedy=f"{named}Where the rows are the items, in the same order in every file: --map item=order",
    )


def item_option(frame: pl.DataFrame, place: Mapping[str, str]) -> str:
    """The option that names the item, where that is not known, so that one remedy is enough."""
    names = [c for c in frame.columns if "\0" not in c and c not in place.values()]
    names = [c for c in names if not holds_grades(frame[c]) or counts_rows(frame[c])] or names
    likely = max(names, key=lambda c: ("item" in hinted_fields(c), frame[c].n_unique())) if len(names) > 1 else ORDER
    return "" if "item" in place else f"{map_option('item', likely)} "


def _refuse_empty(keys: pl.DataFrame, place: Mapping[str, str], what: str) -> None:
    for name in ("item", "condition"):
        empty = keys[name].is_null() | (keys[name] == "")
        if empty.any():
            rows = ", ".join(str(r + 1) for r in empty.arg_true().head(3).to_list())
            raise InputError(
                f"{what}: no {name} in {row_count(empty.arg_true())} (data row {rows}{', …' * (empty.sum() > 3)}).",
                remedy=f"Fill in the column {brief(place.get(name, name))!r}, or remove these rows.",
            )


def _draws(frame: pl.DataFrame, place: Mapping[str, str], keys: pl.DataFrame) -> pl.Series:
    """The number of the draw of every row, from 0 on: by a column, by the order of the rows, or 0 throughout."""
    if "draw" not in place:
        return keys["draw"]
    if place["draw"] == ORDER and ORDER not in frame.columns:
        rater = text_of(frame[place["rater"]]) if "rater" in place else pl.repeat("", len(frame), eager=True)
        named = keys.with_columns(rater.alias("rater"))
        return named.select(pl.int_range(pl.len()).over("item", "condition", "rater").alias("draw")).to_series()
    draw = whole_numbers(frame[place["draw"]])
    if draw.null_count():
        draw = text_of(frame[place["draw"]]).fill_null("").rank("dense").cast(pl.Int64)
    return (draw - draw.min()).alias("draw")


def _with_run(frame: pl.DataFrame, place: Mapping[str, str], keys: pl.DataFrame) -> pl.DataFrame:
    if "run" not in place:
        return keys
    runs = text_of(frame[place["run"]]).fill_null("")
    draws = int(keys["draw"].to_numpy().max()) + 1
    run = (runs.rank("dense").cast(pl.Int64) - 1) * draws
    return keys.with_columns(runs.alias("run"), (keys["draw"] + run).alias("draw"))


def _same_ids(ids: pl.Series, conditions: pl.Series, notes: list[str]) -> pl.Series:
    """Whole numbers that one program wrote as 7 and another as 7.0 are one id, unless one condition has both."""
    decimal = ids.str.contains(r"^\d+\.0+$").fill_null(value=False)
    if not decimal.any() or not ids.str.contains(r"^\d+(\.0+)?$").all():
        return ids
    bare = ids.str.replace(r"\.0+$", "")
    if pl.DataFrame([conditions, bare.alias("id")]).unique().height < pl.DataFrame([conditions, ids]).unique().height:
        return ids
    notes.append(f"ids such as {ids.filter(decimal)[0]} are read as {bare.filter(decimal)[0]}")
    return bare


# ------------------------------------------------------------------ one row per answer


def one_row_per_answer(
    frame: pl.DataFrame, rows: pl.DataFrame, place: Mapping[str, str], what: str, *, rated: bool
) -> tuple[pl.DataFrame, list[str], bool]:
    """The rows, one per answer, with notes, and whether repeated rows were taken as draws without a word for it.

    Rows that say the same count once; rows that differ are refused, unless every item has equally many.
    """
    dropped = [c for c in ("rater", "mechanism", "reason") if c in rows.columns]
    if "inclusion" in rows.columns:  # an answer's, whoever's row has it
        rows = rows.with_columns(pl.col("inclusion").max().over(KEY))
    if "rater" in place and rated:
        rows = rows.drop([*dropped, *(["severity"] if "severity" in rows.columns else [])])
        return rows.unique(KEY, keep="first", maintain_order=True), [], False
    if has_unique_rows(rows, KEY):
        return rows, [], False
    twice = rows.select(pl.struct(KEY).is_duplicated()).to_series()
    number = pl.int_range(pl.len(), dtype=pl.Int64).over("item", "condition").alias("draw")
    if "rater" in place and not rows.select(pl.struct(*KEY, "rater").is_duplicated().any()).item():
        note = f"{brief(place['rater'])} tells several ratings of an answer apart: its score is their mean"
        return rows.with_columns(number).drop(dropped), [Note(note, RATERS_APART)], False
    again = rows.filter(twice)
    distinct = again.unique(maintain_order=True)
    if not distinct.select(pl.struct(KEY).is_duplicated().any()).item():
        note = f"{counted(len(again) - len(distinct), 'row')} repeat another word for word; they count once"
        return rows.unique(KEY, keep="first", maintain_order=True), [note], False
    if "draw" not in place and (count := _count_repeats(frame, rows, place)):
        note = f"every item has {counted(count, 'row')} under each condition, taken as repeated draws"
        return rows.with_columns(number).drop(dropped), [note], True
    raise _repeated_error(frame, rows, distinct, place, what)


def _repeated_error(
    frame: pl.DataFrame, rows: pl.DataFrame, distinct: pl.DataFrame, place: Mapping[str, str], what: str
) -> InputError:
    """The error of an answer with several rows that differ: what tells them apart, or how to settle it."""
    item, condition, draw = distinct.filter(pl.struct(KEY).is_duplicated()).select(KEY).row(0)
    own = rows.filter(item=item, condition=condition, draw=draw)
    where = f" under {brief(condition)!r}" if "condition" in place else ""
    if series := _describe_dates(frame, rows):
        return InputError(
            f"{what}: item {brief(item)!r} has {len(own)} rows{where}, of several dates.",
            remedy=f"{series} If they are repeats of one state: --map draw=order.",
        )
    apart = _find_telling_columns(frame, place, rows.select("item", "condition", "draw"), range(2, MAX_APART + 1))
    if apart and leaf_name(apart[0]) in MEASURE_NAMES:
        return InputError(
            f"{what}: each answer has {len(own)} rows, one for each measure in {brief(apart[0])}.",
            remedy="Give the rows of one measure, or a column for each.",
        )
    if apart:
        shown = ", ".join(brief(str(v)) for v in frame[apart[0]].unique(maintain_order=True)[:4])
        return InputError(
            f"{what}: item {brief(item)!r} has {len(own)} rows{where}, which {brief(apart[0])} tells apart ({shown}).",
            remedy=f"If these are repeated draws: {map_option('draw', apart[0])}; if each has questions of its own, or "
            f"is another setting on the same ones: {map_option('domain', apart[0])}",
        )
    differing = [c for c in own.columns if c not in KEY and own[c].n_unique() > 1]
    shown = " and ".join(
        f"{c} {printable(str(v), limit=30)}" for c in differing[:1] for v in own[c].unique(maintain_order=True)[:3]
    )
    no_model = "" if where else ". No column names the model"
    settle = "add a column `model` that says which model answered" if no_model else "keep one of each"
    count = rows.select(pl.struct(KEY).is_duplicated().sum()).item()
    return InputError(
        f"{what}: item {brief(item)!r} occurs more than once{where} and differs ({shown}; "
        f"{count} such rows){no_model}.",
        remedy=f"If these are repeated draws, say so: --map draw=order. Else {settle}.",
    )


def _describe_dates(frame: pl.DataFrame, rows: pl.DataFrame) -> str:
    """How to follow one model over the dates that tell its rows apart; empty where no column has several dates."""
    dated = dates_of(frame)
    if dated is None or rows.select(KEY).n_unique() == pl.DataFrame([*rows.select(KEY), dated[1]]).n_unique():
        return ""
    return f"One model over time is followed by richter watch FILE --date {shlex.quote(dated[0])}."


def _find_telling_columns(
    frame: pl.DataFrame, place: Mapping[str, str], keys: pl.DataFrame, counts: Container[int]
) -> list[str]:
    """The columns of so many values that tell rows of one key apart: free ones, and a question by name alone."""
    used = {own for field, own in place.items() if field != "prompt"}
    free = [c for c in frame.columns if c not in used and frame[c].n_unique() in counts]
    return [c for c in free if keys.with_columns(frame[c].alias("by")).n_unique() == len(frame)]


def _count_repeats(frame: pl.DataFrame, rows: pl.DataFrame, place: Mapping[str, str]) -> int:
    """How many rows every item has under every condition, where they can be repeated draws and nothing else; else 0.

    They cannot where a tenth of the items or less differ (a copy that was corrected), where a column of as many values
    tells them apart (metrics, perhaps), or where no column names a condition and the rows may be several models'.
    """
    if "value" not in rows.columns or _describe_dates(frame, rows):
        return 0
    each = rows.group_by("item", "condition").agg(pl.len(), pl.col("value").n_unique().alias("values"))
    count = int(each["len"][0])
    if each["len"].n_unique() > 1 or (each["values"] > 1).sum() <= len(each) // 10:
        return 0
    is_block = int((rows["item"] != rows["item"].shift(1)).fill_null(value=True).sum()) == rows["item"].n_unique()
    if not ("condition" in place or (is_block and count > 2)) or rows["item"].n_unique() < 2:
        return 0
    return 0 if _find_telling_columns(frame, place, rows.select("item", "condition"), [count]) else count


# words that are acted on in a score's column (docs/reference/columns.md lists them); what any other means is proposed
PLAIN_WORDS = frozenset(
    word_list(
        "true false t f yes no pass fail passed failed correct incorrect right wrong success failure ✓ ✗ ✔ ✘ ✅ ❌ ○ ×"
        " richtig falsch korrekt ja nein vrai faux oui non réussi échoué correcto incorrecto acierto fallo sí"
    )
)
MAX_UNKNOWN, MAX_UNKNOWN_SHARE = 5, 0.2  # words among grades that are proposed as no grade
MAX_WORDS = 100  # different ones that are looked at
PLAIN_NUMBER = r"[-+\d.,%/ eE]+"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCells:
    """A column of grades as numbers.

    `is_declined` marks answers whose word says that none was given. `inferred` are the words whose meaning neither the
    user nor the short list of words says, with what they are taken for. `is_worded`: words such as `pass` and `fail`
    say themselves which is right.
    """

    values: pl.Series
    is_declined: pl.Series | None
    inferred: Mapping[str, float | None]
    is_worded: bool


def read_scores(
    frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, what: str, notes: list[str]
) -> ScoreCells:
    """The column of the score as numbers; every cell is settled once, by the user's code or by what it says."""
    column = place["score"]
    cells, codes = frame[column], {word.strip().lower(): value for word, value in options.grade.items()}
    texts = _lower(cells, EMPTY in codes) if codes else None
    by_code = texts.is_in(list(codes)).fill_null(value=False) if codes and texts is not None else None
    rest = cells if by_code is None else pl.select(pl.when(~by_code).then(cells)).to_series().alias(column)
    words = _words(rest)
    _refuse_letters(words if by_code is None else _words(cells), codes)
    declined = [cell for cell, word in words.items() if word in DECLINED] if _has_grade(words, rest) else []
    statuses = status_cells(words, rest)
    unknown = _unknown_cells(words, rest, {*declined, *statuses})
    settled = [*declined, *statuses, *unknown]
    open_cells = rest if not settled else rest.set(rest.is_in(settled), None)
    values = to_numbers(frame.with_columns(open_cells.alias(column)), column, "score", what, place, notes)
    is_right_or_wrong = not (values > 1).any()  # on a rating's scale who gives no rating says nothing of the answer
    _note_words(rest, declined, statuses, notes, is_right_or_wrong=is_right_or_wrong)
    is_declined = rest.is_in(declined).fill_null(value=False) if declined and is_right_or_wrong else None
    if is_declined is not None:
        values = values.set(is_declined, 0.0)
    return ScoreCells(
        values=_settle(values, texts, by_code, codes),
        is_declined=is_declined,
        inferred=_inferred_words(words, {*settled}) | dict.fromkeys((cell.strip() for cell in unknown), None),
        is_worded=says_right(rest),
    )


def _lower(cells: pl.Series, fill_empty: bool) -> pl.Series:
    texts = text_of(cells).str.to_lowercase()
    return texts.fill_null("").replace("", EMPTY) if fill_empty else texts


def _settle(
    values: pl.Series, texts: pl.Series | None, by_code: pl.Series | None, codes: Mapping[str, float | None]
) -> pl.Series:
    """The values with the user's codes: of a cell that is the word itself, or of the number that a code is."""
    if by_code is None or texts is None:
        return values
    numbers = {number: value for word, value in codes.items() if (number := _as_number(word)) is not None}
    values = values.replace_strict(numbers, default=values, return_dtype=pl.Float64) if numbers else values
    given = texts.replace_strict(dict(codes), default=None, return_dtype=pl.Float64)
    return given.zip_with(by_code, values).alias(values.name)


def _as_number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _words(cells: pl.Series) -> dict[str, str]:
    """The different cells that are not numbers, each with its word."""
    if cells.dtype != pl.String:
        return {}
    odd = cells.filter(cells.str.strip_chars().cast(pl.Float64, strict=False).is_null())
    return {cell: cell.strip().lower() for cell in odd.drop_nulls().unique(maintain_order=True).head(MAX_WORDS)}


def _has_grade(words: Mapping[str, str], cells: pl.Series) -> bool:
    """Whether some cell grades, so that others may say that there was no answer."""
    return len(words) < cells.drop_nulls().n_unique() or any(number_of(word) is not None for word in words.values())


def status_cells(words: Mapping[str, str], cells: pl.Series) -> list[str]:
    """The cells that say how a call ended; `failed` is one unless another word says that something passed."""
    held = set(words.values())
    others = held - FAILURES - set(MISSING)
    fails_grade = bool(held & PASSES) or (not others and len(words) == cells.drop_nulls().n_unique())
    return [cell for cell, word in words.items() if word in STATUSES or (word in FAILURES and not fails_grade)]


def _unknown_cells(words: Mapping[str, str], cells: pl.Series, settled: Collection[str]) -> list[str]:
    """The few and rare words of which nothing says what they count as, among grades: they may well be no grade."""
    if cells.dtype != pl.String or ordered_words(list(words)):
        return []
    open_words = {cell: word for cell, word in words.items() if cell not in settled and word not in MISSING}
    unknown = [cell for cell, word in open_words.items() if number_of(word) is None and len(word) > 1]
    is_rare = cells.is_in(unknown).sum() <= MAX_UNKNOWN_SHARE * cells.drop_nulls().len()
    return unknown if len(unknown) <= MAX_UNKNOWN and is_rare and _has_grade(words, cells) else []


def _note_words(
    cells: pl.Series, declined: Collection[str], statuses: Collection[str], notes: list[str], *, is_right_or_wrong: bool
) -> None:
    """Say how many cells hold words for no answer or for the end of a call, and what they count as."""
    for cell in declined:
        word, number = brief(cell.strip()), f"{(cells == cell).sum():,}"
        if is_right_or_wrong:
            settle = f"--grade {shlex.quote(f'{word}=missing')} leaves them out"
            notes.append(f"{number} graded {word!r} count as not right ({settle})")
        else:
            notes.append(f"{number} graded {word!r} have no grade (--grade {shlex.quote(f'{word}=NUMBER')} says one)")
    note_statuses(cells, statuses, "", notes)


def note_statuses(cells: pl.Series, statuses: Collection[str], column: str, notes: list[str]) -> None:
    """Say how many cells, of the score or of a status `column`, hold a word for the end of a call, not a grade."""
    told = f"with {brief(column)}" if column else "graded"
    as_given = "keeps their grades" if column else "counts them as wrong"
    for cell in statuses:
        settle = f"--grade {shlex.quote(f'{brief(cell.strip())}=wrong')} {as_given}"
        notes.append(
            Note(f"{(cells == cell).sum():,} {told} {brief(cell.strip())!r} have no grade ({settle})", "status")
        )


def _refuse_letters(words: Mapping[str, str], codes: Collection[str]) -> None:
    """Refuse single letters of which some are not known as grades."""
    letters = {cell.strip() for cell, word in words.items() if len(word) == 1 and word.isalpha()}
    unsettled = sorted(letter for letter in letters if letter.lower() not in codes)
    if not unsettled or all(letter.lower() in WORDS for letter in letters) or ordered_words(list(words)):
        return
    shown = " ".join(f"--grade {letter}=wrong" for letter in unsettled)
    raise InputError(
        f"The grades are letters ({listing(sorted(letters))}), of which only you know what they mean.",
        remedy=f"Say what each counts as: {shown} (or =right, =missing, a number).",
    )


def _inferred_words(words: Mapping[str, str], settled: Collection[str]) -> dict[str, float | None]:
    """What words are taken for, where neither the user nor the short list of words says it."""
    ranks = ordered_words(list(words))
    cells = [cell for cell, word in words.items() if word not in PLAIN_WORDS and (cell in ranks or word not in MISSING)]
    cells = [cell for cell in cells if cell not in settled and not re.fullmatch(PLAIN_NUMBER, cell.strip())]
    return {cell.strip(): ranks.get(cell, number_of(cell)) for cell in cells}
