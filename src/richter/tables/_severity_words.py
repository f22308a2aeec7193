"""Severities as annotators write them: words in order, and the worst of several."""

from collections.abc import Mapping

import polars as pl

from richter.errors import InputError
from richter.interop import less_is_better, plain_name
from richter.records import Note, counted, printable
from richter.tables._words import MISSING, brief, text_of

# severities that annotators write as words, in order; an attention check ("HOTW") is no rating
SEVERITIES = {
    **dict.fromkeys(("no-error", "no-errors", "none", "no-issue", "no-issues", "no-harm", "harmless", "no", "0",
                     "keine", "kein", "kein-fehler", "aucune", "ninguna"), 0.0),
    "neutral": 0.5,
    **dict.fromkeys(("minor", "low", "mild", "slight", "gering", "leicht", "niedrig"), 1.0),
    **dict.fromkeys(("moderate", "medium", "mittel"), 2.0),
    **dict.fromkeys(("major", "high", "severe", "serious", "schwer", "hoch"), 3.0),
    **dict.fromkeys(("critical", "catastrophic", "fatal", "extreme", "kritisch"), 4.0),
}  # fmt: skip
FIRST = "first\0"  # the row that names an answer first
CHECKS = ("hotw-test", "hotw")
_NAMES = {"severity", "harm", "damage", "gravity", "schwere", "schweregrad", "gravite", "gravedad"}


def worded(
    frame: pl.DataFrame, place: dict[str, str], notes: list[str], what: str
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Severities in words as numbers, which is said; of several errors in one answer the worst counts."""
    place = _of_people(frame, place)
    if (people := place.get("human_severity", "")) in frame.columns and _in_words(frame[people]):
        frame = _numbers(frame, people, notes, what)
    column = place.get("severity") or _of_harm(frame, place)
    if not column:
        return frame, place
    place = {**{f: c for f, c in place.items() if c != column}, "severity": column}
    in_words = _in_words(frame[column])
    frame = _numbers(frame, column, notes, what) if in_words else frame
    _note_empty(frame[column], notes)
    place = _of_errors(frame, place, notes)
    if in_words and place.get("item") in frame.columns and "draw" not in place:
        frame = _keep_worst(frame, place, column, notes)
    return frame, place


def _keep_worst(frame: pl.DataFrame, place: Mapping[str, str], column: str, notes: list[str]) -> pl.DataFrame:
    """The rows with the worst severity of each answer, in the order in which the file names the answers."""
    answer = [place[f] for f in ("item", "condition", "draw", "run", "rater") if place.get(f) in frame.columns]
    named = frame.with_row_index(FIRST).with_columns(pl.col(FIRST).min().over(answer))
    worst = named.sort(column, descending=True, nulls_last=True, maintain_order=True)
    worst = worst.unique(answer, keep="first", maintain_order=True)
    if len(worst) == len(frame):
        return frame
    notes.append(f"{counted(len(frame), 'row')} of {len(worst):,} readings: of several errors in one the worst counts")
    return worst.sort(FIRST).drop(FIRST)


def _in_words(column: pl.Series) -> bool:
    """Whether severities stand in words: no cell is a number but 0, and some are words for one."""
    words = _plain(column)
    sizes = words.cast(pl.Float64, strict=False)
    return (
        column.dtype == pl.String
        and not (sizes != 0).any()
        and words.filter(sizes.is_null()).is_in(list(SEVERITIES)).any()
    )


def _note_empty(column: pl.Series, notes: list[str]) -> None:
    """Note that empty severities are not rated, where no other says that nothing is wrong."""
    texts = text_of(column).fill_null("").str.to_lowercase()
    empty = texts.is_in(MISSING)
    if empty.any() and not empty.all() and not (texts.cast(pl.Float64, strict=False) == 0).any():
        shown = f"{column.name} is empty in {empty.sum():,} of {len(empty):,} rows and nowhere 0: taken as not rated"
        notes.append(f"{shown}; write 0 there if nothing is wrong")


def _of_people(frame: pl.DataFrame, place: dict[str, str]) -> dict[str, str]:
    """The places in which people's labels beside severities, where they are more than right and wrong, are such too."""
    if not {"human", "severity"} <= place.keys() or "human_severity" in place:
        return place
    column = place["human"]
    sizes = _plain(frame[column]).cast(pl.Float64, strict=False)
    if not _only_severities(frame[column]) and not (~sizes.is_in([0.0, 1.0])).any():
        return place
    return {"human_severity" if f == "human" else f: c for f, c in place.items()}


def _of_errors(frame: pl.DataFrame, place: dict[str, str], notes: list[str]) -> dict[str, str]:
    """The places with what describes an answer's error: a category that is not the item's own, texts of `error`.

    Those are no failed calls where they stand beside every severity above 0, of several sizes, and beside no other.
    """
    item, column, fault = (place.get(f, "") for f in ("item", "domain", "error"))
    of_errors = plain_name(column) == "category" and {item, column} <= {*frame.columns}
    if of_errors and (frame[column].n_unique() == 1 or frame.n_unique([item, column]) > frame[item].n_unique()):
        place = {"mechanism": column} | {f: c for f, c in place.items() if f != "domain"}
    if fault and "reason" not in place:
        size = text_of(frame[place["severity"]]).cast(pl.Float64, strict=False)
        named = ~text_of(frame[fault]).fill_null("").str.to_lowercase().is_in(MISSING)
        if size.filter(named).n_unique() > 1 and (named == (size > 0).fill_null(value=False)).all():
            notes.append(
                f"{brief(fault)} stands beside every severity above 0: read as its reason, not as failed calls"
            )
            place = {"reason": fault} | {f: c for f, c in place.items() if f != "error"}
    return place


def _plain(column: pl.Series) -> pl.Series:
    return text_of(column).str.to_lowercase().str.replace_all("[ _]", "-")


def _of_harm(frame: pl.DataFrame, place: Mapping[str, str]) -> str:
    """The column that is called harm or the like and holds words for it, where no column is called a severity."""
    free = [c for c in frame.columns if c not in place.values() or c == place.get("error")]
    named = [c for c in free if _NAMES & set(plain_name(c).split("_")) or less_is_better(c)]
    return next((c for c in named if "score" not in place and _only_severities(frame[c])), "")


def _only_severities(column: pl.Series) -> bool:
    """Whether every cell that says something is a word for a severity, some of them for one above 0."""
    words = set(_plain(column).drop_nulls().unique()) - set(MISSING) - {"none"}
    return words <= SEVERITIES.keys() and any(SEVERITIES[word] for word in words)


def _numbers(frame: pl.DataFrame, column: str, notes: list[str], what: str) -> pl.DataFrame:
    words = _plain(frame[column])
    checks = words.is_in(CHECKS).fill_null(value=False)
    odd = frame.filter(~words.is_in([*SEVERITIES, *CHECKS, *MISSING]))[column].drop_nulls()
    if len(odd):
        known = ", ".join(dict.fromkeys(word for word in words.drop_nulls() if word in SEVERITIES))
        raise InputError(
            f"{what}: a severity of {printable(odd[0], limit=30)!r} (in {counted(len(odd), 'row')}) has no "
            f"place in an order of words; others are known ({known}).",
            remedy="Write one of none, minor or low, moderate or medium, major or high, critical for it, or numbers "
            "from 0 (right) to 4 (worst) throughout.",
        )
    value = words.replace_strict(SEVERITIES, default=None, return_dtype=pl.Float64)
    said = [f"{word} {size:g}" for word, size in SEVERITIES.items() if (words == word).any()]
    meaning = f"severities in words are read as {', '.join(said)}; only their order is the annotators'"
    notes.append(Note(meaning, "severity-words"))
    if checks.any():
        notes.append(
            f"{counted(int(checks.sum()), 'row is', 'rows are')} attention checks and no ratings; they are left out"
        )
    return frame.with_columns(value.alias(column)).filter(~checks)
