"""What each column of a long or wide table is, by what it holds; its name settles what the cells leave open.

With n_i values in the column of items, n_c in that of conditions and p different pairs of them in R rows: items and
conditions cross, p >= 0.8 n_i n_c, and each pair stands once (p = R) or equally often (draws, or measures). What is
nested in items (a domain, a reviewer) has p = n_i and crosses nothing; a number of the row has n_i = R.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from richter.interop import (
    FIELDS,
    MEASURE_NAMES,
    has_no_end,
    hinted_fields,
    known_fields,
    leaf_name,
    less_is_better,
    plain_name,
    stated_range,
)
from richter.records import Note, printable
from richter.tables._words import (
    brief,
    counts_rows,
    holds_grades,
    map_option,
    number_of,
    says_right,
    sure_grades,
    text_of,
)

CROSSED = 0.8  # share of the pairs of items and conditions that are there
MOST = 50  # conditions that a table may have
LONG = 80  # characters of a condition's name
BOTH = "both\0"  # two columns that name the item, or the condition, only together
WITHIN = "within\0"  # two columns that name the group only together
# what a column that bears one of these names may be instead, if the table has no other for it
TEXTS = ("prompt", "reference", "text")
WEAK = (*TEXTS, "group", "domain", "tier", "kind", "layer")
SETTINGS = {"temperature", "temp", "shots", "shot", "decoding", "quantization", "effort", "thinking", "lr", "beam"}
PEOPLE = {"user", "user_id", "userid", "customer", "customer_id", "participant", "participant_id", "visitor_id"}
RATERS = PEOPLE | {"worker", "worker_id", "annotator_id", "rater_id", "reviewer_id", "labeler_id", "completed_by"}
RANKS = ("rank", "ranking")  # a score where nothing else is one
JUDGES = re.compile(
    r"judge|evaluator|grader|annotator|scorer|rater\b", re.IGNORECASE
)  # whose own model is no condition


class Table:
    """A frame with what was already worked out about its columns."""

    def __init__(self, frame: pl.DataFrame, told: Mapping[str, float | None]) -> None:
        self.frame, self.told = frame, told
        self._texts: dict[str, pl.Series] = {}
        self._n: dict[tuple[str, ...], int] = {}
        self._graded: dict[str, bool] = {}
        self.marks: list[str] = []  # columns that tell several rows of an answer apart: who rated, which try

    def text(self, column: str) -> pl.Series:
        if column not in self._texts:
            self._texts[column] = text_of(self.frame[column])
        return self._texts[column]

    def n(self, *columns: str) -> int:
        """How many different values, or pairs of them, there are."""
        if columns not in self._n:
            found = [self.text(c).alias(str(k)) for k, c in enumerate(columns)]
            self._n[columns] = found[0].n_unique() if len(found) == 1 else pl.DataFrame(found).n_unique()
        return self._n[columns]

    def evenly(self, *columns: str) -> bool:
        """Whether every value, or pair of them, stands about equally often."""
        found = pl.DataFrame([self.text(c).alias(str(k)) for k, c in enumerate(columns)])
        counts = found.group_by(pl.all()).len()["len"].to_numpy()
        return bool(counts.min() >= CROSSED * counts.max())

    def graded(self, column: str) -> bool:
        """Whether the cells are grades; of a column whose name says so, most of them."""
        if column not in self._graded:
            cells = self.frame[column]
            some = cells.drop_nulls().head(500)
            mostly = "score" in hinted_fields(column) and cells.dtype == pl.String and len(some) > 5
            self._graded[column] = holds_grades(cells, self.told) or (
                mostly and sum(number_of(text) is not None for text in some) > 0.7 * len(some)
            )
        return self._graded[column]

    def names(self, column: str) -> bool:
        """Whether every cell may be a name: none is empty, none a broken number."""
        kind = self.frame[column].dtype
        blank = kind == pl.String and (self.text(column) == "").any()
        return (
            not (kind.is_float() and not _whole(self.frame[column]))
            and not self.frame[column].null_count()
            and not blank
        )


def _whole(column: pl.Series) -> bool:
    return bool((column.drop_nulls() == column.drop_nulls().round()).all())


def _long(texts: pl.Series) -> bool:
    return bool((texts.str.len_chars() > LONG).any())


def find_roles(
    frame: pl.DataFrame,
    place: dict[str, str],
    fixed: Sequence[str],
    told: Mapping[str, float | None],
    notes: list[str],
    *,
    one: bool = False,
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The table and its places with item, condition, score and draw found as far as the cells tell.

    `fixed` are the columns that the user named; they stay what they are. A table of `one` condition needs no column for
    it: several columns of grades are measures of one answer.
    """
    table, place = Table(frame, told), dict(place)
    people = [c for c in frame.columns if leaf_name(c) in RATERS]
    table.marks = [c for c in (place.get("rater"), place.get("draw"), *people) if c in frame.columns]
    _drop_graded_condition(table, place, fixed)
    _find_score(table, place, fixed, notes, one=one)
    _find_keys(table, place, fixed, notes)
    if "item" not in place:  # rows that a careless join multiplied hide that items and conditions cross
        _find_keys(Table(frame.unique(maintain_order=True), told), place, fixed, notes)
    if "item" not in place and place.get("prompt") in frame.columns and table.n(place["prompt"]) > 2:
        place["item"] = place["prompt"]  # a question is its own name, though some stand more often than others
    _take_nested_draw(table, place, fixed)
    return _tell_rows_apart(table, place, fixed, notes), place


def _take_nested_draw(table: Table, place: dict[str, str], fixed: Sequence[str]) -> None:
    """Take what is called a draw for the item where each of its values stands in one item only: that is a category."""
    item, draw = place.get("item", "\0"), place.get("draw", "\0")
    if not {item, draw} <= {*table.frame.columns} or {item, draw} & {*fixed}:
        return
    if 1 < table.n(item) < table.n(draw) == table.n(item, draw):
        del place["draw"]
        place["item"] = draw


def _free(table: Table, place: Mapping[str, str], fixed: Sequence[str], *, weak: Sequence[str] = ()) -> list[str]:
    """Columns that are nothing yet, and after them those that are one of these things by name alone."""
    taken = set(place.values())
    free = [c for c in table.frame.columns if c not in taken and c.strip()]
    return free + [place[f] for f in weak if f in place and place[f] not in fixed and place[f] in table.frame.columns]


def _drop_graded_condition(table: Table, place: dict[str, str], fixed: Sequence[str]) -> None:
    """Take a column of grades that happens to be called `candidate` or `baseline` for a condition's own.

    Two conditions called x and y (no and yes) have as many rows each, of the same items; grades hardly have.
    """
    column = place.get("condition", "\0")
    if column in fixed or "\0" in column or column not in table.frame.columns or {"score", "severity"} & place.keys():
        return
    others = [c for c in _free(table, place, fixed) if table.graded(c) and not hinted_fields(c) & {"other"}]
    if not others or not table.graded(column):
        return
    is_negation = all(number_of(text) is None for text in table.text(column).drop_nulls().unique().head(9))
    if not _has_even_rows(table, column) and not (is_negation and table.n(column) == 2):  # rag, no_rag: names
        del place["condition"]


def _has_even_rows(table: Table, column: str) -> bool:
    """Whether every value of a column has as many rows, of the same items."""
    is_even = table.frame.height > 8 and table.text(column).value_counts()["count"].n_unique() == 1
    return is_even and any(_crosses(table, c, column) for c in table.frame.columns if c != column and table.n(c) > 3)


# ------------------------------------------------------------------ the score


def _find_score(table: Table, place: dict[str, str], fixed: Sequence[str], notes: list[str], *, one: bool) -> None:
    """Find the one column of grades: words that only grade, a name that says so, right or wrong, else the only one."""
    named = place.get("score")
    if "severity" in place or named in fixed or (named is not None and _is_sound_score(table, named)):
        return
    place.pop("score", None)
    graded = _graded_columns(table, place, fixed, named)
    graded = graded or [c for c in _free(table, place, fixed) if leaf_name(c) in RANKS and table.graded(c)]
    weak = _weak_grades(table, place, fixed, graded)
    chosen = _choose_score(table, place, graded, _rank_grades(table, place, graded, weak), weak, notes, one=one)
    if chosen is None:
        if named is not None:
            place["score"] = named  # what is wrong with it is said where it is read
        return
    _drop_places(place, chosen)
    place["score"] = chosen
    note = f"column {brief(chosen)} is taken for the grade"
    if says_right(table.frame[chosen]) or less_is_better(chosen):  # which is said where it is turned over
        notes.append(f"{note} (--map score=COLUMN says which)")
    else:
        notes.append(Note(f"{note}, more being better (--map score=COLUMN, --better lower)", "more is better"))


def _is_sound_score(table: Table, named: str) -> bool:
    return "\0" in named or (table.graded(named) and (table.n(named) > 1 or len(table.frame) < 4))


def _graded_columns(table: Table, place: Mapping[str, str], fixed: Sequence[str], named: str | None) -> list[str]:
    """The free columns whose cells may be grades; one value for each condition is not."""
    graded = [c for c in _free(table, place, fixed) if c != named and table.graded(c)]
    graded = [c for c in graded if not counts_rows(table.frame[c])]
    graded = [c for c in graded if not (hinted_fields(c) & {"other"} or has_no_end(c)) and leaf_name(c) != "key"]
    graded = [c for c in graded if not less_is_better(c)] or graded  # a loss beside a grade is another measure
    condition = place.get("condition", "\0")
    if condition in table.frame.columns and 1 < table.n(condition) < table.frame.height:
        graded = [c for c in graded if table.n(condition, c) > table.n(condition)]
    return graded


def _varied(table: Table, graded: Sequence[str]) -> list[str]:
    return [c for c in graded if table.n(c) > 1 or "score" in hinted_fields(c)]


def _weak_grades(table: Table, place: Mapping[str, str], fixed: Sequence[str], graded: Sequence[str]) -> list[str]:
    """Columns that are something else by name alone and hold words that only grade; a key that can be none."""
    weak = [place[f] for f in ("reference", "text", "kind") if f in place and place[f] not in fixed]
    weak = [c for c in weak if c in table.frame.columns and sure_grades(table.frame[c]) and table.n(c) <= 3]
    weak = [c for c in weak if table.n(c) > 1] or weak
    key = place.get("reference", "\0")
    is_beside = bool(_varied(table, graded)) and "condition" not in place  # columns of conditions, held against the key
    if weak or is_beside or key not in table.frame.columns or key in fixed:
        return weak
    return [key] if table.graded(key) and _no_key(table, place) and table.n(key) > 1 else []


def _rank_grades(
    table: Table, place: Mapping[str, str], graded: Sequence[str], weak: list[str]
) -> tuple[list[str], ...]:
    """Columns that may be the score, by how surely they are."""
    free = _varied(table, graded)
    fault = place.get("error", "\0")
    is_only_fault = (
        fault in table.frame.columns
        and not {"text", "reference", "confidence"} & place.keys()
        and table.graded(fault)
        and table.n(fault) > 1
    )
    return (
        [c for c in free if sure_grades(table.frame[c])],
        [c for c in free if "score" in hinted_fields(c)],
        [c for c in free if "metric" in hinted_fields(c) or stated_range(c)],
        weak,
        [c for c in free if table.frame[c].dtype == pl.Boolean or not _numbers(table, c)],
        free,
        [fault] if is_only_fault else [],  # no call that failed, but a wrong answer
    )


def _choose_score(
    table: Table,
    place: Mapping[str, str],
    graded: Sequence[str],
    ranks: tuple[list[str], ...],
    weak: Sequence[str],
    notes: list[str],
    *,
    one: bool,
) -> str | None:
    """The column that is the score; None where there is none, or where several are conditions."""
    found = next((own for own in ranks if own), [])
    sure = found in ranks[:3]
    if len(found) > 1:
        found = [c for c in found if not _is_item(table, place, c, graded)] or found
    is_long = one or "condition" in place or _has_condition(table, place, graded, hinted=True)
    if len(found) > 1 and is_long:
        found = _first_measure(table, found, notes) if sure else _two_valued(table, found) or found
    is_wide = len(graded) > 1 and not (is_long or _has_condition(table, place, graded))
    if len(found) != 1 or (is_wide and found[0] not in weak and not _only_measure(graded, found[0])):
        return None
    return found[0]


def _two_valued(table: Table, columns: Sequence[str]) -> list[str]:
    """The one of the columns that has two values, if there is one."""
    found = [c for c in columns if table.n(c) <= 3]
    return found if len(found) == 1 else []


def _first_measure(table: Table, columns: list[str], notes: list[str]) -> list[str]:
    """The first of several measures of each answer, or the one of two values; the others are named."""
    first = _two_valued(table, columns) or columns[:1]
    others = ", ".join(map_option("score", c) for c in columns if c not in first)
    notes.append(f"there are other grades than {brief(first[0])}: {others}")
    return first


def _is_item(table: Table, place: Mapping[str, str], column: str, graded: Sequence[str]) -> bool:
    """Whether a column of numbers names items: each stands once, or equally often, under every condition."""
    names = [c for c in _free(table, place, (), weak=WEAK) if c not in graded and table.names(c)]
    named = [place["condition"]] if place.get("condition") in table.frame.columns else names
    return table.n(column) > 2 and any(_crosses(table, column, c) for c in named if c != column)


def _no_key(table: Table, place: Mapping[str, str]) -> bool:
    """Whether the reference can be no answer key: it differs within an item, or no answer has a word of it."""
    answers, item = place.get("text", "\0"), place.get("item", "\0")
    if answers not in table.frame.columns or (
        item in table.frame.columns and table.n(item, place["reference"]) > 1.2 * table.n(item)
    ):
        return True
    words = table.text(place["reference"]).drop_nulls().unique().head(20).str.to_lowercase()
    texts = table.text(answers).drop_nulls().unique().head(200).str.to_lowercase().to_list()
    return len(words) <= 3 and not any(word in text for word in words for text in texts)


def _numbers(table: Table, column: str) -> bool:
    return bool(table.text(column).drop_nulls().str.contains(r"^[-+]?[\d.,]*$").all())


def _other_number(table: Table, column: str) -> bool:
    """Whether a column holds numbers beside a grade: times, lengths, prices."""
    hints = hinted_fields(column)
    return "other" in hints and "item" not in hints and _numbers(table, column)


def _only_measure(graded: Sequence[str], chosen: str) -> bool:
    """Whether the chosen one alone is named as a score, among columns of grades whose names are measures."""
    return all("metric" in hinted_fields(c) or c == chosen for c in graded)


def _has_condition(table: Table, place: Mapping[str, str], graded: Sequence[str], *, hinted: bool = False) -> bool:
    """Whether a column of names, perhaps one that is `hinted` to be a condition, repeats every item: a long table."""
    names = [c for c in _free(table, place, (), weak=WEAK) if c not in graded and table.names(c)]
    names = [c for c in names if not hinted or "condition" in hinted_fields(c)]
    items = [place["item"]] if "item" in place else [c for c in table.frame.columns if table.names(c)]
    return any(_crosses(table, i, c) for c in names for i in items if i != c and i in table.frame.columns)


def _crosses(table: Table, item: str, condition: str) -> bool:
    """Whether most items stand under most conditions, each pair once or equally often."""
    n_i, n_c, rows = table.n(item), table.n(condition), table.frame.height
    most = rows // 2 if _dated(table, condition) else min(MOST, n_i, rows // 2)
    if (
        not 2 <= n_c <= most
        or _dated(table, item)
        or n_i < 2
        or CROSSED * n_i * n_c > rows
        or not table.names(condition)
    ):
        return False
    if _long(table.text(condition)) or not table.names(item):
        return False
    pairs = table.n(item, condition)
    if pairs < CROSSED * n_i * n_c:
        return False
    marks = [c for c in table.marks if c not in (item, condition) and "condition" in hinted_fields(condition)]
    told = any(table.n(item, condition, c) == rows for c in marks)
    return pairs == rows or told or table.evenly(item, condition)


def _rank(table: Table, place: Mapping[str, str], item: str, condition: str) -> tuple[float, ...]:
    """What is likelier: more pairs, names that say so, columns that are nothing else by name, further left."""
    columns = table.frame.columns
    hints = ("item" in hinted_fields(item)) + 1.5 * ("condition" in hinted_fields(condition))
    hints -= ("condition" in hinted_fields(item)) * 0.5 + ("other" in hinted_fields(condition)) * 2
    weak = sum(c in place.values() for c in (item, condition))
    words = table.graded(condition) and not hinted_fields(condition) & {"condition"}
    return (table.n(item, condition), -2.0 * words, hints - weak, -columns.index(item), -columns.index(condition))


# ------------------------------------------------------------------ item and condition


def _find_keys(table: Table, place: dict[str, str], fixed: Sequence[str], notes: list[str]) -> None:
    """Find item and condition: as named where that can be, else the pair of columns that cross."""
    item, condition = place.get("item", ""), _usable_condition(table, place, fixed)
    numbers_rows = not _is_item_fixed(table, item, fixed) and _numbers_rows(table, item, condition)
    is_given = _is_condition_given(table, condition, fixed)
    if item and is_given and (not numbers_rows or table.n(condition) == 1):
        return
    is_named = is_given and item in table.frame.columns
    free = _naming_columns(table, place, fixed, TEXTS if is_named else WEAK)
    items = [item] if item and not numbers_rows else _possible_items(table, item, condition, free)
    conditions = [condition] if is_given else _possible_conditions(table, free)
    pairs = _crossing_pairs(table, place, items, conditions, free, is_given=is_given)
    best = max(pairs, key=lambda pair: _rank(table, place, *pair), default=None)
    if best is None and not condition and (hinted := _hinted_condition(table, free)):
        place["condition"] = hinted
    if best is not None and _graded_by(table, place, best):
        _take_pair(place, best, item, notes)
    elif not item:
        _find_single_item(table, place, free, notes)


def _take_pair(place: dict[str, str], pair: tuple[str, str], item: str, notes: list[str]) -> None:
    """Take the pair of columns that cross for item and condition."""
    _take(place, "item", pair[0], item, notes, "it stands once under each condition")
    _take(place, "condition", pair[1], place.get("condition", ""), notes, "each of its values has every item")


def _is_item_fixed(table: Table, item: str, fixed: Sequence[str]) -> bool:
    """Whether the column of items, if there is one, stays it: the user named it, it was made, or there is none."""
    return not item or item in fixed or "\0" in item or item not in table.frame.columns


def _is_condition_given(table: Table, condition: str, fixed: Sequence[str]) -> bool:
    """Whether a column is called the condition and has several, or the user named it."""
    return bool(condition) and (table.n(condition) > 1 or condition in fixed)


def _possible_items(table: Table, item: str, condition: str, free: Sequence[str]) -> list[str]:
    """The columns that may be the item, the one that is called so first; right and wrong name none."""
    others = [c for c in free if c != condition and (c == item or table.n(c) > 2 or not table.graded(c))]
    return [item, *others] if item else others


def _possible_conditions(table: Table, free: Sequence[str]) -> list[str]:
    return [c for c in free if not _measure_names(c) and not _says_right(table, c)]


def _usable_condition(table: Table, place: Mapping[str, str], fixed: Sequence[str]) -> str:
    """The column that is called a condition, unless it has a name of its own for every row."""
    condition = place.get("condition", "")
    if not condition or condition in fixed or "\0" in condition:
        return condition
    return "" if table.n(condition) == table.frame.height > 3 else condition


def _numbers_rows(table: Table, item: str, condition: str) -> bool:
    """Whether a column that is called an item numbers the rows: no value stands under two conditions."""
    if condition in table.frame.columns and table.n(condition) > 1:
        return table.n(item, condition) == table.n(item)
    return table.n(item) == table.frame.height


def _naming_columns(table: Table, place: Mapping[str, str], fixed: Sequence[str], weak: Sequence[str]) -> list[str]:
    free = [c for c in _free(table, place, fixed, weak=weak) if c != place.get("score", "")]
    return [c for c in free if table.names(c) and not _other_number(table, c)]


def _crossing_pairs(
    table: Table,
    place: Mapping[str, str],
    items: Sequence[str],
    conditions: Sequence[str],
    free: Sequence[str],
    *,
    is_given: bool,
) -> list[tuple[str, str]]:
    """The pairs of columns that may be item and condition, since they cross."""
    columns = table.frame.columns
    pairs = [
        (i, c) for c in conditions for i in items if i != c and i in columns and c in columns and _crosses(table, i, c)
    ]
    graded = [c for c in free if table.graded(c)]
    if (
        is_given
        or "score" in place
        or len(graded) < 2
        or not any(table.n(c) == table.frame.height for c in free if c not in graded)
    ):
        return pairs
    # rows have names, models their own columns, and numbers name none
    pairs = [(i, c) for i, c in pairs if table.n(i, c) == table.frame.height]
    return [(i, c) for i, c in pairs if c not in place.values() and not _numbers(table, c)]


def _find_single_item(table: Table, place: dict[str, str], free: Sequence[str], notes: list[str]) -> None:
    """Find the item of a single condition: the column with a value of its own for every row, or equally many rows.

    With several conditions, as in a test with other users on each side, a column of ids of which no two rows share one.
    """
    condition = place.get("condition", "")
    if condition and table.n(condition) > 1 and condition in table.frame.columns:
        _find_unpaired_item(table, place, [c for c in free if c != condition], notes)
        return
    own = _single_items(table, place, free)
    if not own:
        return
    best = max(own, key=lambda c: _rank_item(table, place, c))
    is_listed = (
        "item" in known_fields([best]) or not best.strip() or plain_name(best).startswith(("unnamed", "column_1"))
    )
    _take(place, "item", best, "", [] if is_listed else notes, "no two rows share a value")


def _find_unpaired_item(table: Table, place: dict[str, str], free: Sequence[str], notes: list[str]) -> None:
    """Find the item of several conditions that share none: a column of ids of which no two rows share one."""
    ids = [c for c in free if table.n(c) == table.frame.height]
    ids = [c for c in ids if "item" in hinted_fields(c) or plain_name(c) in PEOPLE]
    if ids and {"score", "severity"} & place.keys():
        _take(place, "item", ids[0], "", notes, "no two rows share a value, so that nothing is paired")


def _single_items(table: Table, place: Mapping[str, str], free: Sequence[str]) -> list[str]:
    """The columns that may be the item of a single condition."""
    rows = table.frame.height
    names = _possible_single_items(table, place, free)
    draw = place.get("draw", place.get("run", ""))
    each = table.n(draw) if draw in table.frame.columns else 1
    own = [c for c in names if table.n(c) * each == rows and table.evenly(c) and not _dated(table, c)]
    if own or each > 1:
        return own
    return [c for c in names if 2 < table.n(c) < rows and rows % table.n(c) == 0 and table.evenly(c)]


def _possible_single_items(table: Table, place: Mapping[str, str], free: Sequence[str]) -> list[str]:
    """The columns whose names and cells do not keep them from naming items."""
    names = [c for c in free if c != place.get("condition") and hinted_fields(c) & {"other", "item"} != {"other"}]
    names = [c for c in names if not (table.graded(c) and table.text(c).str.contains("[.,%/]").any())]
    may = (place.get("prompt"), place.get("draw"), place.get("group"), place.get("domain"))
    return [c for c in names if c not in place.values() or c in may]


def _rank_item(table: Table, place: Mapping[str, str], column: str) -> tuple[bool | int, ...]:
    is_free = column not in place.values()
    is_short = table.text(column).str.len_chars().sum() < 40 * table.frame.height
    return (
        "item" in known_fields([column]), "item" in hinted_fields(column), is_free and is_short,
        column == place.get("prompt"), is_free, -table.frame.columns.index(column),
    )  # fmt: skip


def _graded_by(table: Table, place: Mapping[str, str], pair: tuple[str, str]) -> bool:
    """Whether taking this pair leaves something that is measured."""
    held = {"score", "severity", "text", "confidence"} & place.keys()
    return bool(held) or any(table.graded(c) for c in table.frame.columns if c not in (*pair, *place.values()))


def _hinted_condition(table: Table, free: Sequence[str]) -> str:
    """A column that crosses nothing but is called a model or the like, and has one or few short names in it.

    A judge's own model is none, nor is what a model put out.
    """
    said = {"output", "outputs", "response", "answer", "text", "generation", "prediction"}
    own = [c for c in free if hinted_fields(c) & {"condition", "other"} == {"condition"} and not JUDGES.search(c)]
    own = [c for c in own if said.isdisjoint(words := leaf_name(c).split("_")) and len(words) <= 4]  # no question
    own = [c for c in own if table.n(c) <= min(20, max(table.frame.height // 5, 1)) and not table.graded(c)]
    own = [c for c in own if not _long(table.text(c))]
    return own[0] if len(own) == 1 else ""


def _says_right(table: Table, column: str) -> bool:
    """Whether a column holds grades in words or truths: it names nothing, unless its own name says so."""
    words = table.frame[column].dtype in (pl.String, pl.Boolean) and table.graded(column)
    return words and ("condition" not in hinted_fields(column) or sure_grades(table.frame[column]))


def _measure_names(column: str) -> bool:
    return plain_name(column) in MEASURE_NAMES


def _take(place: dict[str, str], field: str, column: str, before: str, notes: list[str], why: str) -> None:
    if column == before:
        return
    keep = "prompt" if field == "item" else field  # a question may be its own name
    for own in [f for f, c in place.items() if c == column and f != keep]:
        del place[own]
    place[field] = column
    if "\0" not in column:
        said = f"column {brief(column)} is taken for the {field}: {why} (--map {field}=COLUMN says which)"
        notes.append(Note(said, field))


def _dated(table: Table, column: str) -> bool:
    return bool(
        table.text(column).head(5).str.contains(r"^\d{4}[-/.]\d\d?[-/.]\d\d?\b|^\d\d?[./]\d\d?[./]\d{2,4}").all()
    )


# ------------------------------------------------------------------ several rows of an item under a condition


class Rows(NamedTuple):
    """Rows that item, condition and draw do not tell apart: the columns of these, and how many rows each pair has."""

    keys: list[str]
    each: float


def _tell_rows_apart(table: Table, place: dict[str, str], fixed: Sequence[str], notes: list[str]) -> pl.DataFrame:
    """The table with what tells several rows of an answer apart: a rater, a part, a measure, a setting, a draw."""
    frame = table.frame
    drawn = [place[f] for f in ("draw", "run") if f in place]
    keys = [c for c in (place.get("item", ""), place.get("condition", ""), *drawn) if c in frame.columns]
    has_keys = place.get("item") in keys and {*drawn} <= {*keys}
    if not has_keys or "score" not in place or frame.height < 4 or table.n(*keys) == frame.height:
        return frame
    rows = Rows(keys, frame.height / table.n(*keys))
    if "rater" not in place and (people := [c for c in table.marks if table.n(*keys, c) == frame.height]):
        place["rater"] = people[0]
        return frame
    free = _columns_within(table, rows, _free(table, place, fixed, weak=("prompt",)))
    for rule in (_join_parts, _choose_measure, _join_settings, _take_dates):
        found = rule(table, place, rows, free, fixed, notes)
        if found is not None:
            return found
    if not drawn:
        _take_draw(table, place, free, notes)
    return frame


def _columns_within(table: Table, rows: Rows, free: Sequence[str]) -> list[str]:
    """The columns of few values, or settings, that tell the rows apart."""
    few = [c for c in free if 1 < table.n(c) <= max(2 * rows.each, 2)]
    few = [c for c in few if table.names(c) or _is_setting(c)]
    return [c for c in few if table.n(*rows.keys, c) == table.frame.height]


def _take_draw(table: Table, place: dict[str, str], free: Sequence[str], notes: list[str]) -> None:
    """Take the first column of whole numbers for the draw."""
    frame = table.frame
    counts = [c for c in free if frame[c].dtype.is_integer() or not table.text(c).str.contains(r"\D").any()]
    if counts and not frame[counts[0]].dtype.is_float():
        place["draw"] = counts[0]
        notes.append(f"column {brief(counts[0])} is read as the repeat: it tells the rows of a question apart")


def _join_parts(
    table: Table, place: dict[str, str], rows: Rows, free: Sequence[str], fixed: Sequence[str], notes: list[str]
) -> pl.DataFrame | None:
    """Items named by their part and their id, where ids begin again in every part."""
    item = place["item"]
    for outer in _outer(table, place, fixed, rows.keys):
        if table.n(*rows.keys, *outer) < table.frame.height or table.n(item, *outer) <= table.n(item):
            continue
        together = pl.concat_str([table.text(c) for c in outer], separator=" ")
        if len(outer) > 1 and place.get("group") in outer:
            place["group"] = WITHIN
        place["item"] = BOTH
        shown = " and ".join(map(brief, outer))
        note = f"ids begin again in every {shown}: {shown} and {brief(item)} name a question"
        if "group" not in place and table.n(item, *outer) == table.n(item) * table.n(*outer):  # perhaps translations
            place["group"] = item
            note += f"; those with the same {brief(item)} are one unit"
        notes.append(Note(note, "layout"))
        both = pl.concat_str(together, table.text(item), separator=" ")
        return table.frame.with_columns(both.alias(BOTH), together.alias(WITHIN))
    return None


def _choose_measure(
    table: Table, place: dict[str, str], rows: Rows, free: Sequence[str], fixed: Sequence[str], notes: list[str]
) -> pl.DataFrame | None:
    """The rows of one measure, where a column names the measure of its row."""
    measures = [c for c in free if _measure_names(c) or any(_is_measure(v) for v in table.text(c).unique().head(20))]
    return _one_measure(table, place, measures[0], notes) if measures else None


def _join_settings(
    table: Table, place: dict[str, str], rows: Rows, free: Sequence[str], fixed: Sequence[str], notes: list[str]
) -> pl.DataFrame | None:
    """Conditions named by a further setting."""
    condition = place.get("condition", "")
    is_named = condition in table.frame.columns
    settings = [c for c in free if _is_setting(c)]
    further = [c for c in free if "condition" in known_fields([c]) | hinted_fields(c) and not table.graded(c)]
    found = settings or further if is_named else settings
    if len(found) != 1:
        return None
    own = table.text(found[0])
    own = f"{leaf_name(found[0])} " + own if found == settings else own
    own = table.text(condition) + " + " + own if is_named and table.n(condition) > 1 else own
    _drop_places(place, found[0])
    place["condition"] = BOTH
    shown = " and ".join(brief(c.strip("\0")) for c in (condition, found[0]) if c in table.frame.columns)
    notes.append(Note(f"each value of {shown}{' together' if is_named else ''} is compared as one model", "layout"))
    return table.frame.with_columns(own.alias(BOTH))


def _drop_places(place: dict[str, str], column: str) -> None:
    """Take a column out of all fields."""
    for field in [f for f, c in place.items() if c == column]:
        del place[field]


def _take_dates(
    table: Table, place: dict[str, str], rows: Rows, free: Sequence[str], fixed: Sequence[str], notes: list[str]
) -> pl.DataFrame | None:
    """Runs named by their dates."""
    dates = [c for c in free if _dated(table, c)]
    if "run" in place or not dates:
        return None
    place["run"] = dates[0]
    notes.append(f"column {brief(dates[0])} tells the rows of a question apart: each date is a run")
    return table.frame


def _outer(
    table: Table, place: Mapping[str, str], fixed: Sequence[str], keys: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Columns within which ids may begin again: a domain, a group, a part of a whole, or two or three of them."""
    rows = table.frame.height
    named = [c for f in ("domain", "group") if (c := place.get(f, "\0")) in table.frame.columns and c not in keys]
    named += [
        c for c in _free(table, place, fixed) if table.names(c) and hinted_fields(c) & {"part", "score"} == {"part"}
    ]
    named = [c for c in named if 1 < table.n(c) < rows]  # with one row in each nothing begins again there
    for size in (1, 2, 3):
        yield from itertools.combinations(named, size)


def _is_setting(column: str) -> bool:
    return not SETTINGS.isdisjoint(leaf_name(column).split("_"))


def _is_measure(name: str) -> bool:
    return plain_name(name) in FIELDS["score"] or leaf_name(name) in FIELDS["score"]


def _one_measure(table: Table, place: dict[str, str], column: str, notes: list[str]) -> pl.DataFrame:
    """A row for each measure: the rows of the likeliest, the others being named; the score is called by its name."""
    names = table.text(column).unique(maintain_order=True).to_list()
    order = {name: k for k, name in enumerate(FIELDS["score"])}
    best = min(
        names,
        key=lambda name: (
            less_is_better(name), order.get(plain_name(name), 999), "other" in hinted_fields(name), names.index(name)
        ),
    )  # fmt: skip
    others = ", ".join(printable(name, limit=30) for name in names if name != best)
    notes.append(f"of the measures in {brief(column)} {brief(best)} is read (others: {others})")
    own = pl.col(place["score"]).alias(best)
    place["score"] = best
    return table.frame.filter(table.text(column) == best).with_columns(own)
