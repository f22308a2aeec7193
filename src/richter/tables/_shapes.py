"""Tables as people lay them out, brought to one row an answer by what the cells and names have in common.

Each rule looks at the form alone: two models side by side with a winner, columns of several raters. Columns that a rule
makes end in a zero byte, so that no column of a file has their name.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from richter.errors import InputError
from richter.interop import PEOPLE, RaterName, hinted_fields, known_fields, plain_name, rater_of
from richter.records import Note
from richter.tables._tables import RATERS_APART
from richter.tables._words import (
    brief,
    holds_any,
    holds_grades,
    map_option,
    number_of,
    text_of,
    wide_option,
)

ORDER = "order"  # `--map draw=order`: rows of one item are its draws in their order
ITEM, CONDITION, DRAW, VALUE = "item\0", "condition\0", "draw\0", "value\0"
FIRST = "shown first\0"
_PART = re.compile(r"[\s_./:|#–—-]+")
_SPACED = re.compile(r"\s+[-–—|/:]\s+|[:|]\s+")
_DRAWN = re.compile(
    r"(?:run|seed|trial|try|epoch|draw|sample|rep|repeat|attempt|pass|iteration|round)?[ _#-]*\d{1,4}", re.I
)
_DECIDED = {"final", "consensus", "adjudicated", "majority", "agreed", "resolved"}
_SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("x", "y"))
_WON = ("winner", "won", "preference", "preferred", "vote", "choice", "better", "result", "verdict", "label",
        "judgment", "judgement")  # fmt: skip
_TIES = ("tie", "draw", "both", "neither", "equal", "same", "none")
LAYOUT = "layout"  # the kind of a note that tells a step
Made = dict[str, str]


class LongForm(NamedTuple):
    """A table with one row per answer, the columns that were made for it, and the names of the steps that did it."""

    frame: pl.DataFrame
    made: Made
    steps: tuple[str, ...]


def long_form(frame: pl.DataFrame, notes: list[str]) -> LongForm:
    """The table with one row per answer as far as its layout tells."""
    made: Made = {}
    steps: list[str] = []
    for name, rule in RULES.items():
        changed, more = rule(frame, notes)
        steps += [name] if changed is not frame or more else []
        frame, made = changed, made | more
        if "score" in made:
            break
    return LongForm(frame, made, tuple(steps))


def _step(text: str) -> Note:
    """The note that tells a step of layout, which a proposal shows."""
    return Note(text, LAYOUT)


def _blank(column: pl.Series) -> pl.Series:
    return column.is_null() if column.dtype != pl.String else column.str.strip_chars().fill_null("") == ""


class Sides(NamedTuple):
    """Two columns that name models side by side, the words for either side, and the column that says who won."""

    first: str
    second: str
    words: tuple[str, str]
    won: str


def _battles(frame: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, Made]:
    """Two models side by side and who won: a row for each, 1 for the winner, 0 for the other, a half for a tie."""
    for sides in _side_columns(frame):
        score = _first_ones_share(frame, sides)
        if score is not None:
            return _two_rows_each(frame, sides, score, notes)
    return frame, {}


def _side_columns(frame: pl.DataFrame) -> Iterator[Sides]:
    """The pairs of columns that may name two models, each with the column that may say who won."""
    plain = {plain_name(c): c for c in frame.columns}
    winners = [c for word in _WON for name, c in plain.items() if word in name.split("_")]
    for (name, column), (one, two) in itertools.product(plain.items(), _SIDES):
        other = plain.get(_other_side(name, one, two) or "\0")
        won = next((c for c in winners if c not in (column, other)), None)
        is_model = "condition" in hinted_fields(column.replace("generator", "model"))
        if other is not None and won is not None and is_model:
            yield Sides(column, other, (one, two), won)


def _other_side(name: str, one: str, two: str) -> str | None:
    """The name with the word for the other side; None where it does not name the one side once."""
    words = name.split("_")
    return "_".join(two if word == one else word for word in words) if words.count(one) == 1 else None


def _first_ones_share(frame: pl.DataFrame, sides: Sides) -> pl.Series | None:
    """The first one's part of every win, by the name or side of who won; None where a cell says neither."""
    texts = (text_of(frame[c]).fill_null("").str.to_lowercase() for c in (sides.won, sides.first, sides.second))
    values = [_won(cell, a, b, *sides.words) for cell, a, b in zip(*texts, strict=True)]
    return None if any(v is None for v in values) else pl.Series(VALUE, values, dtype=pl.Float64)


def _two_rows_each(frame: pl.DataFrame, sides: Sides, score: pl.Series, notes: list[str]) -> tuple[pl.DataFrame, Made]:
    """The table with a row for each of the two models; a question that was judged in both orders has two draws.

    Other votes on one question are contests of one group.
    """
    rest = frame.drop(sides.first, sides.second, sides.won)
    asked = [c for c in rest.columns if known_fields([c]) & {"item", "prompt"}]
    made = {"condition": CONDITION, "score": VALUE, "shown_first": FIRST}
    told = f"{brief(sides.won)} says who won: 1 for the winner, 0 for the other, 0.5 each for a tie"
    swapped = next((c for c in asked if _is_judged_both_ways(frame, c, sides)), None)
    if swapped is not None:
        order = pl.int_range(pl.len()).over(swapped).alias(DRAW)
        rest, made = rest.with_columns(order), made | {"item": swapped, "draw": DRAW}
        notes.append("questions were judged in both orders: their two judgements are repeats")
    elif all(rest[c].n_unique() < frame.height for c in asked):
        rest = rest.with_columns(pl.int_range(1, frame.height + 1).cast(pl.String).alias(ITEM))
        made |= {"item": ITEM}
        if repeated := max((c for c in asked if rest[c].n_unique() > 1), key=lambda c: rest[c].n_unique(), default=""):
            made |= {"group": repeated}
            told += f"; votes with the same {brief(repeated)} are one unit"
    rows = [
        rest.with_columns(text_of(frame[sides.first]).alias(CONDITION), score, pl.lit(1.0).alias(FIRST)),
        rest.with_columns(
            text_of(frame[sides.second]).alias(CONDITION), (1 - score).alias(VALUE), pl.lit(0.0).alias(FIRST)
        ),
    ]
    notes.append(_step(told))
    return pl.concat(rows), made


def _is_judged_both_ways(frame: pl.DataFrame, question: str, sides: Sides) -> bool:
    """Whether rows of one question are the same two models in both orders, each once."""
    first, second = (text_of(frame[c]) for c in (sides.first, sides.second))
    rows = pl.DataFrame({"question": text_of(frame[question]), "first": first, "second": second})
    if rows.n_unique() < rows.height or rows["question"].n_unique() == rows.height:
        return False
    pair = pl.concat_list(pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second"))
    return bool((rows.group_by("question").agg(pair.n_unique().alias("pairs"))["pairs"] == 1).all())


def _won(cell: str, a: str, b: str, one: str, two: str) -> float | None:
    """The first one's part of a win."""
    value = number_of(cell) if re.fullmatch(r"[\d.,]+", cell) else None
    if value is not None and one in "a1" and 1 <= value <= 2:
        return 2.0 - value
    words = set(_PART.split(cell))
    if cell == a or (cell != b and (one in words) != (two in words) and one in words):
        return 1.0
    if cell == b or (one in words) != (two in words):
        return 0.0
    return 0.5 if any(tie in cell for tie in _TIES) else None


def _raters(frame: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, Made]:
    """Columns that say by name who rates the same answers: raters are draws; people beside a judge check it."""
    own = _rater_columns(frame)
    rest = [c for c in frame.columns if c not in own]
    if not own:
        return frame, {}
    decided = [c for c in rest if _DECIDED & {*plain_name(c).split("_")} and holds_grades(frame[c])]
    if decided:
        notes.append(_step(f"{brief(decided[0])} is read, which was settled after the others (--map score=COLUMN)"))
        return frame, {"score": decided[0]}
    if are_raters_of_conditions(list(own)):
        return frame, {}
    words = list(dict.fromkeys(rater.word for rater in own.values()))
    if len(words) == 1 and len(dict.fromkeys(rater.which for rater in own.values() if rater.which)) == len(own):
        return _raters_as_draws(frame, list(own), rest, notes)
    if len(own) == 2 and len({word in PEOPLE for word in words}) == 2:
        return _person_beside_judge(frame, own, notes)
    return frame, {}


def _rater_columns(frame: pl.DataFrame) -> dict[str, RaterName]:
    """The columns of grades that are called by who rates, where there are two and no other grade stands beside them."""
    graded = [c for c in frame.columns if holds_grades(frame[c]) and holds_any(frame[c])]
    own = {c: rater_of(c) for c in graded if rater_of(c).word}
    rest = [c for c in frame.columns if c not in own]
    beside = [c for c in rest if holds_grades(frame[c]) and not known_fields([c]) | hinted_fields(c)]
    return {} if len(own) < 2 or known_fields(rest) & {"score", "severity"} or beside else own


def are_raters_of_conditions(columns: list[str]) -> bool:
    """Whether there is a column for each condition and rater."""
    grids = [grid for grid in factors(columns) if len(grid.ones) > 1 and len(grid.twos) > 1]
    return any(all(map(_is_draw, side)) for grid in grids for side in (grid.ones, grid.twos))


def _raters_as_draws(
    frame: pl.DataFrame, own: list[str], rest: list[str], notes: list[str]
) -> tuple[pl.DataFrame, Made]:
    """A row for each rater's grade; columns of severities stay, as the tables of ratings have them."""
    if all(re.fullmatch(r"judge_\d+", c) for c in own) and not _binary(frame, own) and "text" in known_fields(rest):
        return frame, {}
    if len({frame[c].dtype == pl.String for c in own}) > 1:
        frame = frame.with_columns(pl.col(own).cast(pl.String))
    parts = [frame.select(*rest, pl.lit(k).alias(DRAW), pl.col(c).alias(VALUE)) for k, c in enumerate(own)]
    settle = f"{wide_option(own)} compares them"
    if "condition" in known_fields(rest):
        settle = f"{map_option('score', own[0])} reads one"
    shown = ", ".join(brief(c) for c in own)
    text = f"{shown} rate the same answers: an answer's score is the mean of theirs ({settle})"
    notes.append(Note(text, RATERS_APART))
    return pl.concat(parts, how="vertical_relaxed"), {"score": VALUE, "draw": DRAW}


def _person_beside_judge(
    frame: pl.DataFrame, own: Mapping[str, RaterName], notes: list[str]
) -> tuple[pl.DataFrame, Made]:
    """What a person says of the same answers as a judge: labels where both say right or wrong, else one is read."""
    person, judge = sorted(own, key=lambda c: own[c].word not in PEOPLE)
    if _binary(frame, own):
        notes.append(_step(f"{brief(judge)} grades, and {brief(person)} is what people say of the same answers"))
        return frame, {"score": judge, "human": person}
    main, other = (person, judge) if not _blank(frame[person]).any() else (judge, person)
    settle = f"{map_option('score', other)} reads the other"
    notes.append(_step(f"{brief(person)}, {brief(judge)} grade the same answers: {brief(main)} is read ({settle})"))
    return frame, {"score": main}


def _binary(frame: pl.DataFrame, columns: Iterable[str]) -> bool:
    return all({number_of(v) for v in text_of(frame[c]).drop_nulls().unique()} <= {0.0, 1.0, None} for c in columns)


# ------------------------------------------------------------------ columns whose names are two things joined


LONGEST_JOINED = 1_000


def _splits(name: str) -> set[tuple[str, str]]:
    """Every way to part a name in two: at separators with spaces around them where there are any, else at each.

    A text of `LONGEST_JOINED` letters and more is not a name, and parting it takes time with the square of its length.
    """
    name = name.strip()
    if len(name) >= LONGEST_JOINED:
        return set()
    at = _bracket(name)
    if at and name[at] == "[":
        found = {(name[:at], name[at:])}
    else:
        found = {(name[: m.start()], name[m.end() :]) for m in _SPACED.finditer(name)}
        if at:
            found |= {
                (name[:at], name[at:]),
                *((name[: m.start()], name[m.end() :]) for m in _PART.finditer(name[:at])),
            }
        found = found or {(name[: m.start()], name[m.end() :]) for m in _PART.finditer(name)}
    return {(_bare(a), _bare(b)) for a, b in found if _bare(a) and _bare(b)}


def _bracket(name: str) -> int:
    """Where the bracket opens that ends a name; 0 if none does."""
    depth = 0
    for at in range(len(name) - 1, 0, -1):
        depth += (name[at] in "])}>") - (name[at] in "[({<")
        if depth == 0:
            return at if at < len(name) - 1 else 0
    return 0


def _bare(part: str) -> str:
    """Without brackets around the whole."""
    part = part.strip()
    return part[1:-1].strip() if part[:1] in "([{<" and part[-1:] in ")]}>" else part


class Grid(NamedTuple):
    """Names that are pairs: the first parts, the second ones, and the column of each pair."""

    ones: list[str]
    twos: list[str]
    column: Mapping[tuple[str, str], str]


def factors(names: Sequence[str]) -> list[Grid]:
    """The ways in which every one of these names is a pair of two lists.

    The first list may hold a single name if that is the name of a score.
    """
    pairs, lefts = _pairs_of_names(names)
    alike: dict[frozenset[str], list[str]] = {}
    for b, parts in lefts.items():
        alike.setdefault(frozenset(parts), []).append(b)
    found = []
    for own, twos in alike.items():
        ones = list(dict.fromkeys(a for b in twos[:1] for a in lefts[b]))
        column = {(a, b): pairs[a, b] for a in ones for b in twos}
        several = len(own) > 1 or (len(twos) > 1 and _scored(ones))
        if several and len({*column.values()}) == len(column) >= len(names):
            found.append(Grid(ones, twos, column))
    return found


def _pairs_of_names(names: Sequence[str]) -> tuple[dict[tuple[str, str], str], dict[str, list[str]]]:
    """The name of every pair into which one can be split, and the first parts of each second part."""
    pairs: dict[tuple[str, str], str] = {}
    lefts: dict[str, list[str]] = {}
    for name in names:
        for a, b in _splits(name):
            if pairs.setdefault((a, b), name) == name:
                lefts.setdefault(b, []).append(a)
    return pairs, lefts


def _scored(names: Sequence[str]) -> bool:
    """Whether one of these is a name of a score."""
    return any("score" in known_fields([n]) or hinted_fields(n) & {"score"} for n in names)


def refuse_joined_names(columns: list[str], what: str) -> None:
    """Refuse columns of grades of which each is a model's in one run, by one rater or by one measure."""
    for grid in factors(columns):
        sides = (grid.ones, grid.twos)
        if all(len(side) > 1 for side in sides) and any(_scored(side) or all(map(_is_draw, side)) for side in sides):
            raise InputError(
                f"{what}: columns such as {brief(columns[0])} name a model and what of it they hold.",
                remedy="Write one row per answer (item, model, run, score), or name the models' columns: --wide A,B",
            )


def _is_draw(name: str) -> bool:
    """Whether a part of a name numbers a run or a rater."""
    rater = rater_of(name)[0] and re.fullmatch(r"[a-z]+([ _#-]*\d{1,4}|[ _#-]+[a-z])", name, re.I)
    return bool(rater or _DRAWN.fullmatch(name))


RULES = {"preferences": _battles, "raters": _raters}
