"""Tables as people lay them out, brought to one row an answer by what the cells and names have in common.

Each rule looks at the form alone: lines that part a sheet, cells that were merged, lists in cells, two models side by
side with a winner, columns whose names are two things joined, items as columns. Columns that a rule makes end in a zero
byte, so that no column of a file has their name.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from richter.interop import PEOPLE, RaterName, hinted_fields, known_fields, plain_name, rater_of
from richter.records import Note, printable
from richter.tables._tables import RATERS_APART
from richter.tables._words import (
    SPREADS,
    TOTALS,
    brief,
    holds_any,
    holds_grades,
    listed,
    map_option,
    number_of,
    text_of,
    wide_option,
)

ORDER = "order"  # `--map draw=order`: rows of one item are its draws in their order
ITEM, CONDITION, DRAW, VALUE, SECTION = "item\0", "condition\0", "draw\0", "value\0", "section\0"
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
_NAMING = {"item", "condition", "prompt", "reference", "domain", "group", "tier", "layer", "weight", "rater", "draw"}
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


def _sections(frame: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, Made]:
    """Lines with one filled cell that part the rows below them: their text becomes a column."""
    if frame.width < 2 or frame.height < 4:
        return frame, {}
    first = frame.columns[0]
    alone = frame.select(pl.all_horizontal(_blank(frame[c]) for c in frame.columns[1:])).to_series() & ~_blank(
        frame[first]
    )
    if not alone[0] or alone.sum() < 2 or alone.sum() > 0.4 * len(alone) or alone[-1]:
        return frame, {}
    named = pl.select(pl.when(alone).then(text_of(frame[first]))).to_series().forward_fill().alias(SECTION)
    frame = frame.with_columns(named).filter(~alone)
    shown = brief(frame[SECTION][0])
    notes.append(_step(f"{int(alone.sum())} lines between the rows name what is below them, as {shown!r}"))
    return frame, {}


def _merged(frame: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, Made]:
    """Names that stand only in the first row of their block, as merged cells are saved: they hold until the next."""
    if frame.height < 4:
        return frame, {}
    for c in frame.columns:
        empty = _blank(frame[c])
        if not _names_blocks(frame, c, empty):
            continue
        filled = pl.select(pl.when(empty).then(None).otherwise(frame[c])).to_series().forward_fill()
        frame = frame.with_columns(filled.alias(c))
        notes.append(_step(f"empty cells of {brief(c)} are taken as the one above them, as in merged cells"))
    return frame, {}


def _names_blocks(frame: pl.DataFrame, column: str, empty: pl.Series) -> bool:
    """Whether the filled cells of a column name, or number, blocks of rows that begin with them."""
    if empty[0] or not 0.3 * len(empty) <= empty.sum() < len(empty):
        return False
    starts = (~empty).arg_true()
    sizes = {*starts.diff().drop_nulls(), frame.height - starts[-1]}
    numbers = text_of(frame[column]).filter(~empty).cast(pl.Int64, strict=False)
    are_even = len(sizes) == 1
    is_numbered = are_even and len(numbers) > 5 and bool((numbers.diff().drop_nulls() == 1).all())
    is_broken = frame[column].dtype.is_float() and not _whole(frame[column])
    if is_broken or not (_names_rows(frame, column) or (is_numbered and not numbers.null_count())):
        return False
    is_named = bool((known_fields([column]) | hinted_fields(column)) & {"item", "condition"})
    return len(starts) > 1 and (are_even or is_named) and frame[column].drop_nulls().n_unique() >= len(starts)


def _names_rows(frame: pl.DataFrame, column: str) -> bool:
    """Whether a column may name the rows: an empty grade, answer or time is no one's above it, but missing."""
    known, hints = known_fields([column]), hinted_fields(column)
    if known or hints & {"score", "metric"}:
        return bool(known & _NAMING)
    return bool(hints & {"item", "condition"}) or not (hints & {"other"} or holds_grades(frame[column]))


def _whole(column: pl.Series) -> bool:
    return bool((column.drop_nulls() == column.drop_nulls().round()).all())


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
    frame = frame.with_columns(pl.col(c).cast(pl.String) for c in _mixed(frame, own))
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

    def turned(self) -> "Grid":
        return Grid(self.twos, self.ones, {(b, a): name for (a, b), name in self.column.items()})


def factors(names: Sequence[str]) -> list[Grid]:
    """The ways in which every one of these names is a pair of two lists, more and longer second parts first.

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
    return sorted(found, key=lambda grid: (len(grid.twos), _parted(grid), sum(map(len, grid.twos))), reverse=True)


def _pairs_of_names(names: Sequence[str]) -> tuple[dict[tuple[str, str], str], dict[str, list[str]]]:
    """The name of every pair into which one can be split, and the first parts of each second part."""
    pairs: dict[tuple[str, str], str] = {}
    lefts: dict[str, list[str]] = {}
    for name in names:
        for a, b in _splits(name):
            if pairs.setdefault((a, b), name) == name:
                lefts.setdefault(b, []).append(a)
    return pairs, lefts


def _parted(grid: Grid) -> int:
    """How surely the names are cut where they should be: at a bar or slash, a dot, an underscore or space, a hyphen.

    Of `was it right_zero-shot` the lone underscore is surer than the space, and so is a cut beside a known score.
    """
    cuts = {name.removeprefix(a).removesuffix(b) for (a, b), name in grid.column.items()}
    cut = cuts.pop() if len(cuts) == 1 else "|"
    if cut not in ("_", " ", "-", "."):
        return 4
    if cut in "-.":
        return 3 * (cut == ".")
    alone = cut == "_" and all(name.count("_") == 1 for name in grid.column.values())
    scored = any(len(side) == 1 and "score" in known_fields(side) for side in (grid.ones, grid.twos))
    shared = any(len(side) > 1 == len({name.split(cut)[at] for name in side}) and cut in side[0]
                 for side, at in ((grid.ones, -1), (grid.twos, 0)))  # fmt: skip
    return 1 + (alone or (scored and not shared))


def _scored(names: Sequence[str]) -> bool:
    """Whether one of these is a name of a score."""
    return any("score" in known_fields([n]) or hinted_fields(n) & {"score"} for n in names)


def _survey_or_measures(frame: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, Made]:
    """Columns for each condition and measure, condition and draw, or item and condition (a survey)."""
    names = [c for c in frame.columns if c.strip() and "\0" not in c]
    grids = [found for chosen in _families(frame, names) for found in factors(chosen)]
    for grid in (way for both in grids for way in (both, both.turned())):
        found = _measures_or_draws(frame, grid, notes)
        if found is not None:
            return found
    return (frame, {}) if known_fields(names) & {"item", "score"} else _first_survey(frame, grids, notes)


def _first_survey(frame: pl.DataFrame, grids: Sequence[Grid], notes: list[str]) -> tuple[pl.DataFrame, Made]:
    """The table as a survey by the first grid that is one; there are at least as many items as conditions."""
    for grid in grids:
        items = grid if len(grid.ones) >= len(grid.twos) else grid.turned()
        if _is_survey(frame, items):
            return _survey(frame, items.ones, items.twos, items.column, notes)
    return frame, {}


def _measures_or_draws(frame: pl.DataFrame, grid: Grid, notes: list[str]) -> tuple[pl.DataFrame, Made] | None:
    """The table by condition and measure, or by condition and draw, as the names of its columns tell; else None."""
    ones, twos, column = grid
    if len(ones) < 2 or not any(holds_grades(frame[c]) for c in column.values()) or _is_object(frame, twos):
        return None
    keep = [c for c in frame.columns if c not in column.values()]
    if _scored(twos) and not _scored(ones) and "score" not in known_fields(keep):
        return _columns_of_each(frame, grid, keep, notes)
    if len(twos) < 2 or not all(map(_is_draw, twos)) or all(map(_is_draw, ones)):
        return None
    if any(rater_of(b).word for b in twos):
        shown = ", ".join(printable(b, limit=30) for b in twos)
        notes.append(Note(f"{shown} rate the same answers: an answer's score is the mean of theirs", RATERS_APART))
    return _melted(frame, keep, ones, twos, column), {"condition": CONDITION, "score": VALUE, "draw": DRAW}


def _columns_of_each(frame: pl.DataFrame, grid: Grid, keep: list[str], notes: list[str]) -> tuple[pl.DataFrame, Made]:
    """The table by condition, or by draw, of which each has columns of its own for several measures."""
    ones, twos, column = grid
    are_draws = all(map(_is_draw, ones)) and "condition" in known_fields(keep)
    own = ", ".join(brief(column[one, two]) for one in ones[:2] for two in twos if _scored([two]))
    notes.append(_step(f"each {'epoch' if are_draws else 'model'} has columns of its own, as {own}"))
    return _measured(frame, keep, ones, twos, column), {"draw" if are_draws else "condition": CONDITION}


def _is_object(frame: pl.DataFrame, names: Sequence[str]) -> bool:
    """Whether the one name is that of an object (`results`) whose fields are not all grades: they are no conditions."""
    inside = [c for c in frame.columns if len(names) == 1 and c.startswith(f"{names[0]}.")]
    return not all(holds_grades(frame[c]) for c in inside)


def _is_survey(frame: pl.DataFrame, grid: Grid) -> bool:
    """Whether columns are the grades of items under conditions."""
    if len(grid.ones) < 3 or len(grid.twos) < 2 or not all(map(holds_grades, frame[[*grid.column.values()]])):
        return False
    return not any("other" in hinted_fields(a) for a in grid.ones if len(a.split()) < 4)


def _is_draw(name: str) -> bool:
    """Whether a part of a name numbers a run or a rater."""
    rater = rater_of(name)[0] and re.fullmatch(r"[a-z]+([ _#-]*\d{1,4}|[ _#-]+[a-z])", name, re.I)
    return bool(rater or _DRAWN.fullmatch(name))


def _families(frame: pl.DataFrame, names: list[str]) -> list[list[str]]:
    """The sets of columns that may be pairs: those that share a part of their names, and the graded among them."""
    shared = _names_with_shared_parts(names)
    graded = [n for n in shared if holds_grades(frame[n])]
    lone = [n for n in graded if not known_fields([n])]
    known = [n for n in shared if n in graded or any({*known_fields([b]), *known_fields([a])} for a, b in _splits(n))]
    return [own for own in (shared, known, graded, lone) if len(own) > 1]


def _names_with_shared_parts(names: Sequence[str]) -> list[str]:
    """The names of which some part, as they can be split, is a part of another name too."""
    parts = {name: {part for pair in _splits(name) for part in pair} for name in names}
    counts = Counter(itertools.chain.from_iterable(parts.values()))
    return [name for name in names if any(counts[part] > 1 for part in parts[name])]


def _measured(
    frame: pl.DataFrame, keep: list[str], ones: list[str], twos: list[str], column: Mapping[tuple[str, str], str]
) -> pl.DataFrame:
    names = {b: b if b not in keep else f"{b}\0" for b in twos}
    frame = frame.with_columns(pl.col(c).cast(pl.String) for c in _mixed(frame, list(column.values())))
    parts = [
        frame.select(*keep, pl.lit(a).alias(CONDITION), *(pl.col(column[a, b]).alias(names[b]) for b in twos))
        for a in ones
    ]
    return pl.concat(parts, how="vertical_relaxed")


def _melted(
    frame: pl.DataFrame, keep: list[str], ones: list[str], twos: list[str], column: Mapping[tuple[str, str], str]
) -> pl.DataFrame:
    frame = frame.with_columns(pl.col(c).cast(pl.String) for c in _mixed(frame, list(column.values())))
    return pl.concat(
        [
            frame.select(*keep, pl.lit(a).alias(CONDITION), pl.lit(d).alias(DRAW), pl.col(column[a, b]).alias(VALUE))
            for a in ones
            for d, b in enumerate(twos)
        ],
        how="vertical_relaxed",
    )


def _mixed(frame: pl.DataFrame, columns: list[str]) -> list[str]:
    """All of the columns if some are text and some are not."""
    texts = {frame[c].dtype == pl.String for c in columns}
    return columns if len(texts) > 1 else []


def _survey(
    frame: pl.DataFrame,
    items: list[str],
    conditions: list[str],
    column: Mapping[tuple[str, str], str],
    notes: list[str],
) -> tuple[pl.DataFrame, Made]:
    """A row a person, a column for each item and condition: people are draws."""
    frame = frame.with_columns(pl.col(c).cast(pl.String) for c in _mixed(frame, list(column.values())))
    place = pl.int_range(pl.len(), dtype=pl.Int64).alias(DRAW)
    parts = [
        frame.select(pl.lit(i).alias(ITEM), pl.lit(c).alias(CONDITION), place, pl.col(column[i, c]).alias(VALUE))
        for c in conditions
        for i in items
    ]
    notes.append(
        _step(
            f"each column is one of {len(items)} items under one of {len(conditions)} conditions, each row one person's"
        )
    )
    made = {"item": ITEM, "condition": CONDITION, "score": VALUE, "draw": DRAW}
    return pl.concat(parts, how="vertical_relaxed"), made


# ------------------------------------------------------------------ lists in cells, items as columns


def _drawn_lists(frame: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, Made]:
    """Cells that hold a list of grades: a row for each, its draws, with the other lists of the same length."""
    lists = {c: found for c in frame.columns if (found := listed(frame[c])) is not None}
    if any(kind == pl.Boolean or "score" in known_fields([c]) for c, kind in frame.schema.items() if c not in lists):
        return frame, {}  # graded as a whole
    graded = _graded_lists(frame, lists)
    if not graded:
        return frame, {}
    sizes = [len(cell) for cell in lists[graded[0]]]
    own = [c for c, cells in lists.items() if [len(cell) for cell in cells] == sizes]
    frame = frame.with_columns(
        *(pl.Series(c, [[_said(v) for v in cell] for cell in lists[c]], dtype=pl.List(pl.String)) for c in own),
        pl.Series(DRAW, [list(range(n)) for n in sizes], dtype=pl.List(pl.Int64)),
    )
    notes.append(_step(f"lists in {brief(graded[0])} are draws of one item"))
    return frame.explode(*own, DRAW), {"draw": DRAW} | ({"score": graded[0]} if len(graded) == 1 else {})


def _graded_lists(frame: pl.DataFrame, lists: Mapping[str, list[list[object]]]) -> list[str]:
    """The columns of lists of grades, of which some have several; texts and answer keys are none."""
    graded = [c for c, cells in lists.items() if holds_grades(pl.Series([_said(v) for cell in cells for v in cell]))]
    graded = [c for c in graded if len({v for cell in lists[c] for v in cell}) > 1] or graded
    other = {"score", "text"} if "text" in known_fields(frame.columns) else {"score", "text", "reference"}
    return [c for c in graded if not known_fields([c]) - other and any(len(cell) > 1 for cell in lists[c])]


def _said(value: object) -> str | None:
    return None if value is None else value if isinstance(value, str) else str(value)


def _items_as_columns(frame: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, Made]:
    """A row a condition and a column an item: turned, where many columns of grades are called alike or by numbers."""
    graded = _graded_or_worded(frame)
    summaries = [c for c in graded if TOTALS.fullmatch(c.strip()) or SPREADS.fullmatch(c.strip())]
    summaries = summaries if len(graded) - len(summaries) > 5 else []
    graded = [c for c in graded if "\0" not in c and c not in summaries]
    rest = [c for c in frame.columns if c not in (*graded, *summaries)]
    if not _are_items(frame, graded, rest):
        return frame, {}
    names = [c for c in rest if frame[c].n_unique() == frame.height][:1]
    frame = frame.with_columns(pl.col(c).cast(pl.String) for c in graded)
    long = frame.unpivot(graded, index=names or None, variable_name=ITEM, value_name=VALUE)
    left = f"; {', '.join(brief(c) for c in summaries)} for none" if summaries else ""
    notes.append(_step(f"each of {len(graded)} columns is taken for an item, each row for a condition{left}"))
    return long, {"item": ITEM, "score": VALUE} | ({"condition": names[0]} if names else {})


def _graded_or_worded(frame: pl.DataFrame) -> list[str]:
    """The columns of grades, also those whose few words say it only together."""
    worded = [c for c, kind in frame.schema.items() if kind == pl.String and "\0" not in c][1:]
    words = {text for c in worded for text in frame[c].drop_nulls().unique().head(9)}
    together = len(words) < 9 and holds_grades(pl.Series(list(words), dtype=pl.String))
    return [c for c in frame.columns if (together and c in worded) or holds_grades(frame[c])]


def _are_items(frame: pl.DataFrame, graded: list[str], rest: list[str]) -> bool:
    """Whether columns of grades are items: many, with numbers in their names, beside few that name the rows."""
    is_keyed = rest == ["key"]  # an object's own keys: of two lists of names the longer one is that of the items
    if len(graded) < (2 if is_keyed else 6) or frame.height >= len(graded) or len(rest) > 3:
        return False
    if known_fields(graded) & {"score"}:
        return False
    if is_keyed:
        return True
    named = {f for c in rest for f in (*known_fields([c]), *hinted_fields(c))}
    are_numbered = sum(bool(re.search(r"\d", c)) for c in graded) >= 0.9 * len(graded)
    return are_numbered and not ("item" in named and "condition" not in named)


RULES = {
    "sections": _sections, "merged": _merged, "preferences": _battles, "raters": _raters,
    "column-pairs": _survey_or_measures, "lists": _drawn_lists, "items-as-columns": _items_as_columns,
}  # fmt: skip
