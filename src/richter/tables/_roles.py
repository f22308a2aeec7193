"""What each column of a long or wide table is, by words in its name and what its cells can be."""

import re
from collections.abc import Mapping, Sequence

import polars as pl

from richter.interop import (
    MEASURE_NAMES,
    has_no_end,
    hinted_fields,
    known_fields,
    leaf_name,
    less_is_better,
    plain_name,
    stated_range,
)
from richter.records import Note
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
BOTH = "both\0"  # two columns that name the item only together
# what a column that bears one of these names may be instead, if the table has no other for it
TEXTS = ("prompt", "reference", "text")
WEAK = (*TEXTS, "group", "domain", "tier", "kind", "layer")
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
    if "item" not in place and place.get("prompt") in frame.columns and table.n(place["prompt"]) > 2:
        place["item"] = place["prompt"]  # a question is its own name, though some stand more often than others
    return _tell_rows_apart(table, place, notes), place


def _tell_rows_apart(table: Table, place: dict[str, str], notes: list[str]) -> pl.DataFrame:
    """The table with what tells several rows of an answer apart: who rated, or a domain in which ids begin again."""
    frame, drawn = table.frame, [place[f] for f in ("draw", "run") if f in place]
    keys = [c for c in (place.get("item", ""), place.get("condition", ""), *drawn) if c in frame.columns]
    has_keys = place.get("item") in keys and {*drawn} <= {*keys}
    if not has_keys or "score" not in place or frame.height < 4 or table.n(*keys) == frame.height:
        return frame
    if "rater" not in place and (people := [c for c in table.marks if table.n(*keys, c) == frame.height]):
        place["rater"] = people[0]
        return frame
    item, outer = place["item"], _find_id_domain(table, place, keys)
    if not outer:
        return frame
    note = f"ids begin again in every {brief(outer)}: {brief(outer)} and {brief(item)} name a question"
    if "group" not in place and table.n(item, outer) == table.n(item) * table.n(outer):  # perhaps translations
        place["group"] = item
        note += f"; those with the same {brief(item)} are one unit"
    place["item"] = BOTH
    notes.append(Note(note, "layout"))
    return frame.with_columns(pl.concat_str(table.text(outer), table.text(item), separator=" ").alias(BOTH))


def _find_id_domain(table: Table, place: Mapping[str, str], keys: Sequence[str]) -> str:
    """The column of domains in each of which the ids begin again; empty where there is none."""
    n_rows, columns = table.frame.height, [place[f] for f in ("domain", "group") if f in place]
    columns = [c for c in columns if c in table.frame.columns and c not in keys]
    return next((c for c in columns if table.n(*keys, c) == n_rows and 1 < table.n(c) < n_rows), "")


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


def _crosses(table: Table, item: str, condition: str) -> bool:
    """Whether most items stand under most conditions: p >= 0.8 n_i n_c of the pairs are there, several in all."""
    n_i, n_c = table.n(item), table.n(condition)
    if not 2 <= n_c <= min(MOST, n_i, table.frame.height // 2) or not (table.names(item) and table.names(condition)):
        return False
    return not _long(table.text(condition)) and table.n(item, condition) >= CROSSED * n_i * n_c


# ------------------------------------------------------------------ the score


def _find_score(table: Table, place: dict[str, str], fixed: Sequence[str], notes: list[str], *, one: bool) -> None:
    """Find the one column of grades: words that only grade, a name that says so, right or wrong, else the only one."""
    named = place.get("score")
    if "severity" in place or named in fixed or (named is not None and _is_sound_score(table, named)):
        return
    place.pop("score", None)
    graded = _graded_columns(table, place, fixed, named)
    graded = graded or [c for c in _free(table, place, fixed) if leaf_name(c) in RANKS and table.graded(c)]
    weak = _weak_grades(table, place, fixed)
    ranks = _rank_grades(table, graded, weak)
    is_long = one or "condition" in place or _crossing_pair(table, {"score": "", **place}, fixed) is not None
    is_long = is_long or bool(_hinted_condition(table, place, fixed))
    chosen = _choose_score(table, graded, ranks, weak, notes, is_long=is_long)
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
    graded = [c for c in _free(table, place, fixed) if c != named and _may_be_score(table, c)]
    graded = [c for c in graded if not less_is_better(c)] or graded  # a loss beside a grade is another measure
    condition = place.get("condition", "\0")
    if condition in table.frame.columns and 1 < table.n(condition) < table.frame.height:
        graded = [c for c in graded if table.n(condition, c) > table.n(condition)]
    return graded


def _may_be_score(table: Table, column: str) -> bool:
    """Whether a column holds grades, and neither its name nor its order says that they are numbers of another kind."""
    hints = hinted_fields(column)
    if not table.graded(column) or counts_rows(table.frame[column]) or "other" in hints or has_no_end(column):
        return False
    return leaf_name(column) != "key" and (table.n(column) <= 3 or "item" not in hints or "score" in hints)


def _varied(table: Table, graded: Sequence[str]) -> list[str]:
    return [c for c in graded if table.n(c) > 1 or "score" in hinted_fields(c)]


def _weak_grades(table: Table, place: Mapping[str, str], fixed: Sequence[str]) -> list[str]:
    """Columns that are something else by name alone and hold words that only grade."""
    weak = [place[f] for f in ("reference", "text", "kind") if f in place and place[f] not in fixed]
    weak = [c for c in weak if c in table.frame.columns and sure_grades(table.frame[c]) and table.n(c) <= 3]
    return [c for c in weak if table.n(c) > 1] or weak


def _rank_grades(table: Table, graded: Sequence[str], weak: list[str]) -> tuple[list[str], ...]:
    """Columns that may be the score, by how surely they are."""
    free = _varied(table, graded)
    return (
        [c for c in free if sure_grades(table.frame[c])],
        [c for c in free if "score" in hinted_fields(c)],
        [c for c in free if "metric" in hinted_fields(c) or stated_range(c)],
        weak,
        [c for c in free if table.frame[c].dtype == pl.Boolean or not _numbers(table, c)],
        free,
    )


def _choose_score(
    table: Table,
    graded: Sequence[str],
    ranks: tuple[list[str], ...],
    weak: Sequence[str],
    notes: list[str],
    *,
    is_long: bool,
) -> str | None:
    """The column that is the score; None where there is none, or where several are conditions."""
    found = next((own for own in ranks if own), [])
    sure = found in ranks[:3]
    if len(found) > 1 and is_long:
        found = _first_measure(table, found, notes) if sure else _two_valued(table, found) or found
    is_wide = len(graded) > 1 and not is_long
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


def _numbers(table: Table, column: str) -> bool:
    return bool(table.text(column).drop_nulls().str.contains(r"^[-+]?[\d.,]*$").all())


def _only_measure(graded: Sequence[str], chosen: str) -> bool:
    """Whether the chosen one alone is named as a score, among columns of grades whose names are measures."""
    return all("metric" in hinted_fields(c) or c == chosen for c in graded)


# ------------------------------------------------------------------ item and condition


def _find_keys(table: Table, place: dict[str, str], fixed: Sequence[str], notes: list[str]) -> None:
    """Find the condition, and the item of a table without one, by words in their names and what their cells can be."""
    condition = place.get("condition", "")
    if condition in table.frame.columns and condition not in fixed and table.n(condition) == table.frame.height > 3:
        return  # it names every row, which is refused later
    if "condition" not in place:
        _find_condition(table, place, fixed, notes)
    item, condition = place.get("item", ""), place.get("condition", "")
    is_several = condition in table.frame.columns and table.n(condition) > 1
    if is_several and (not item or _numbers_rows(table, item, condition, fixed)):
        _find_repeated_item(table, place, fixed, notes)
    elif not is_several and not item:
        _find_single_item(table, place, fixed, notes)


def _find_condition(table: Table, place: dict[str, str], fixed: Sequence[str], notes: list[str]) -> None:
    """Find the condition: with the item that stands under each, else by its name."""
    if pair := _crossing_pair(table, place, fixed):
        if pair[0] != place.get("item", ""):
            _take(place, "item", pair[0], notes, "it stands once under each condition")
        _take(place, "condition", pair[1], notes, "each of its values has every item")
    elif hinted := _hinted_condition(table, place, fixed):
        _take(place, "condition", hinted, notes, "its name says so")


def _find_repeated_item(table: Table, place: dict[str, str], fixed: Sequence[str], notes: list[str]) -> None:
    """Find the item of several conditions: the column of which most values stand under most conditions, else ids."""
    item, condition = place.get("item", ""), place["condition"]
    weak = TEXTS if item else WEAK  # beside a named item a group stays one
    names = [c for c in _free(table, place, fixed, weak=weak) if c not in (place.get("score"), item, condition)]
    names = [c for c in names if hinted_fields(c) & {"item", "other"} != {"other"} and table.n(c) > 2]
    crossing = [c for c in names if _crosses(table, c, condition)]
    if crossing:
        best = max(crossing, key=lambda c: ("item" in hinted_fields(c), table.n(c)))
        _take(place, "item", best, notes, "it stands once under each condition")
    elif not item:
        _find_unpaired_item(table, place, names, notes)


def _crossing_pair(table: Table, place: Mapping[str, str], fixed: Sequence[str]) -> tuple[str, str] | None:
    """The columns that may be item and condition since each value of one stands with most of the other."""
    free, item = _find_names(table, place, fixed), place.get("item", "")
    is_named = item in table.frame.columns and (item in fixed or table.n(item) < table.frame.height)
    items = [item] if is_named else free
    conditions = [c for c in free if not table.graded(c) and plain_name(c) not in MEASURE_NAMES]
    pairs = [(i, c) for c in conditions for i in items if i != c and table.n(i) > 2 and _crosses(table, i, c)]
    pairs = [pair for pair in pairs if "score" in place or any(table.graded(c) for c in free if c not in pair)]

    def rank(pair: tuple[str, str]) -> tuple[float, ...]:
        hints = 1.5 * ("condition" in hinted_fields(pair[1])) + ("item" in hinted_fields(pair[0]))
        weak = sum(c in place.values() for c in pair)
        return (table.n(*pair), hints - weak, *(-table.frame.columns.index(c) for c in pair))

    return max(pairs, key=rank, default=None)


def _find_names(table: Table, place: Mapping[str, str], fixed: Sequence[str]) -> list[str]:
    """The columns whose cells may name items or conditions: no score, no date, nothing else by its name."""
    free = [c for c in _free(table, place, fixed, weak=WEAK) if c != place.get("score", "") and table.names(c)]
    return [c for c in free if hinted_fields(c) & {"item", "other"} != {"other"} and not _dated(table, c)]


def _numbers_rows(table: Table, item: str, condition: str, fixed: Sequence[str]) -> bool:
    """Whether a column that is called an item only numbers the rows: no value stands under two conditions."""
    if item in fixed or "\0" in item or item not in table.frame.columns:
        return False
    return table.n(item, condition) == table.n(item)


def _find_single_item(table: Table, place: dict[str, str], fixed: Sequence[str], notes: list[str]) -> None:
    """Find the item of a single condition: the column with a value of its own for every row, or for each draw."""
    free = _find_names(table, place, fixed)
    free = [c for c in free if not (table.graded(c) and table.text(c).str.contains("[.,%]").any())]
    may = (place.get("prompt"), place.get("draw"), place.get("group"), place.get("domain"))
    draw = place.get("draw", place.get("run", ""))
    each = table.n(draw) if draw in table.frame.columns else 1
    own = [c for c in free if table.n(c) * each == table.frame.height and (c not in place.values() or c in may)]
    if not own:
        return
    best = max(own, key=lambda c: _rank_item(table, place, c))
    is_listed = (
        "item" in known_fields([best]) or not best.strip() or plain_name(best).startswith(("unnamed", "column_1"))
    )
    _take(place, "item", best, [] if is_listed else notes, "no two rows share a value")


def _find_unpaired_item(table: Table, place: dict[str, str], free: Sequence[str], notes: list[str]) -> None:
    """Find the item of several conditions that share none: a column of ids of which no two rows share one."""
    ids = [c for c in free if table.n(c) == table.frame.height]
    ids = [c for c in ids if "item" in hinted_fields(c) or plain_name(c) in PEOPLE]
    if ids and {"score", "severity"} & place.keys():
        _take(place, "item", ids[0], notes, "no two rows share a value, so that nothing is paired")


def _rank_item(table: Table, place: Mapping[str, str], column: str) -> tuple[bool | int, ...]:
    is_free = column not in place.values()
    is_short = table.text(column).str.len_chars().sum() < 40 * table.frame.height
    return (
        "item" in known_fields([column]), "item" in hinted_fields(column), is_free and is_short,
        column == place.get("prompt"), is_free, -table.frame.columns.index(column),
    )  # fmt: skip


def _hinted_condition(table: Table, place: Mapping[str, str], fixed: Sequence[str]) -> str:
    """The one column that is called a model or the like, and has few short names in it.

    A judge's own model is none, nor is what a model put out.
    """
    said = {"output", "outputs", "response", "answer", "text", "generation", "prediction"}
    free = [c for c in _free(table, place, fixed) if table.names(c) and not table.graded(c)]
    own = [c for c in free if hinted_fields(c) & {"condition", "other"} == {"condition"} and not JUDGES.search(c)]
    own = [c for c in own if said.isdisjoint(words := leaf_name(c).split("_")) and len(words) <= 4]  # no question
    own = [c for c in own if table.n(c) <= min(MOST, max(table.frame.height // 2, 1)) and not _long(table.text(c))]
    return own[0] if len(own) == 1 else ""


def _take(place: dict[str, str], field: str, column: str, notes: list[str], why: str) -> None:
    keep = "prompt" if field == "item" else field  # a question may be its own name
    for own in [f for f, c in place.items() if c == column and f != keep]:
        del place[own]
    place[field] = column
    said = f"column {brief(column)} is taken for the {field}: {why} (--map {field}=COLUMN says which)"
    notes.append(Note(said, field))


def _dated(table: Table, column: str) -> bool:
    return bool(
        table.text(column).head(5).str.contains(r"^\d{4}[-/.]\d\d?[-/.]\d\d?\b|^\d\d?[./]\d\d?[./]\d{2,4}").all()
    )


def _drop_places(place: dict[str, str], column: str) -> None:
    """Take a column out of all fields."""
    for field in [f for f, c in place.items() if c == column]:
        del place[field]
