"""The cells of the score as numbers: codes that the user settles, words for no answer, ends of calls, all else."""

import dataclasses
import re
import shlex
from collections.abc import Collection, Mapping

import polars as pl

from richter.errors import InputError
from richter.records import Note
from richter.tables._tables import ReadOptions
from richter.tables._words import (
    DECLINED,
    EMPTY,
    FAILURES,
    MISSING,
    PASSES,
    STATUSES,
    WORDS,
    brief,
    listing,
    number_of,
    ordered_words,
    says_right,
    text_of,
    to_numbers,
)

# words that are acted on in a score's column; what any other means is proposed
PLAIN_WORDS = frozenset(
    ["true", "false", "yes", "no", "pass", "fail", "passed", "failed", "correct", "incorrect", "right", "wrong"]
)
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
    _note_words(rest, declined, statuses, notes)
    open_cells = rest if not (declined or statuses) else rest.set(rest.is_in([*declined, *statuses]), None)
    values = to_numbers(frame.with_columns(open_cells.alias(column)), column, "score", what, place, notes)
    is_declined = rest.is_in(declined).fill_null(value=False) if declined else None
    if is_declined is not None:
        values = values.set(is_declined, 0.0)
    return ScoreCells(
        values=_settle(values, texts, by_code, codes),
        is_declined=is_declined,
        inferred=_inferred_words(words, {*declined, *statuses}),
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


def _note_words(cells: pl.Series, declined: Collection[str], statuses: Collection[str], notes: list[str]) -> None:
    """Say how many cells hold words for no answer or for the end of a call, and what they count as."""
    for cell in declined:
        settle = f"--grade {shlex.quote(f'{brief(cell.strip())}=missing')} leaves them out"
        notes.append(f"{(cells == cell).sum():,} graded {brief(cell.strip())!r} count as not right ({settle})")
    for cell in statuses:
        settle = f"--grade {shlex.quote(f'{brief(cell.strip())}=wrong')} counts them as wrong"
        notes.append(
            Note(f"{(cells == cell).sum():,} graded {brief(cell.strip())!r} have no grade ({settle})", "status")
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
