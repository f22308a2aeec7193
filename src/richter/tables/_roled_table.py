"""A table whose columns have roles: those known by an option or a listed name, and the reading of all of them."""

import dataclasses
import re
import shlex
from collections.abc import Mapping, Sequence

import polars as pl

from richter.interop import (
    BARE_ITEMS,
    CRITERIA,
    FIELDS,
    LISTED,
    LOWER,
    VARYING,
    WORDED,
    is_listed,
    leaf_name,
    less_is_better,
    plain_name,
)
from richter.records import counted, of_kind
from richter.tables._answer_keys import MAX_WORDS, PLAIN_NUMBER, PLAIN_WORDS
from richter.tables._dates import dates_of
from richter.tables._reading import Reading, Role, quoted
from richter.tables._roles import JUDGES
from richter.tables._shapes import LAYOUT, ORDER
from richter.tables._tables import RATERS_APART, ReadOptions
from richter.tables._words import (
    DECLINED,
    MISSING,
    STATUSES,
    brief,
    has_unique_rows,
    marks_rows,
    says_right,
    text_of,
    whole_numbers,
)

# what --map calls a field otherwise
SAME = {
    "correct": "score",
    "question": "item",
    "answer": "text",
    "subject": "domain",
    "model": "condition",
    "id": "item",
}
MIN_ITEMS = 7  # fewer may be categories
MIN_ROWS = 100_000  # that show as many items
# of how many a row's points, or its average, are; with or without a word for "number" before it
TOTAL_NAMES = ("out_of", "max", "max_score", "max_points", "possible", "von", "sur", "de", "possible_points",
               "points_possible", "maximum", "max_punkte", "maximalpunkte", "n", "total", "count", "support", "samples",
               "questions", "tests", "examples", "items", "answers", "anzahl", "gesamt")  # fmt: skip
MISSED_NAMES = ("wrong", "incorrect", "failed", "fail", "failures", "errors", "n_wrong", "num_wrong", "n_incorrect",
                "num_incorrect", "falsch")  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RoledTable:
    """A table with one row per answer: `place` names the column of each field.

    `given` is the table as the file has it. `wide` are its columns that became conditions, `faults` what they count
    where less is better, `steps` the steps of layout that were taken. `known` are fields that the layout itself tells.
    `measures` are further columns of scores. `notes` is what was seen on the way.
    """

    frame: pl.DataFrame
    given: pl.DataFrame
    place: Mapping[str, str]
    wide: Sequence[str] = ()
    faults: Sequence[str] = ()
    steps: Sequence[str] = ()
    known: Sequence[str] = ()
    measures: Sequence[str] = ()
    notes: list[str] = dataclasses.field(default_factory=list)


def known_table(frame: pl.DataFrame, options: ReadOptions, notes: list[str]) -> RoledTable | None:
    """The table with roles that are known, or None where something that decides numbers would have to be inferred.

    Known is a long table with listed or mapped names of item and score, unique keys, and cells that are plain grades.
    """
    if options.layout or options.wide is not None or any(f"{c}_duplicated_0" in frame.columns for c in frame.columns):
        return None
    place = _listed_places(frame, options)
    if place is None or not {"item", "score"} <= place.keys() or {"severity", "human_severity"} & place.keys():
        return None
    if not (_has_sound_keys(frame, place, options) and _has_plain_scores(frame, place, options)):
        return None
    measures = [c for c in frame.columns if is_listed("score", c) and c not in place.values()]
    known = ("item",) if plain_name(place["item"]) in BARE_ITEMS else ()
    return RoledTable(frame=frame, given=frame, place=place, measures=measures, known=known, notes=notes)


def _listed_places(frame: pl.DataFrame, options: ReadOptions) -> dict[str, str] | None:
    """The column of each field by option or listed name; None where two columns claim a field that decides numbers."""
    place = _chosen_places(options)
    if any(f not in FIELDS or (c not in frame.columns and c != ORDER) for f, c in place.items()):
        return None
    if "score" not in place and _has_scores_named_alike(frame):
        return None
    for field in [f for f in FIELDS if f not in place]:
        own = _claiming_columns(frame, field, place)
        if len(own) > 1 and field in ("item", "condition", "draw", "run"):
            return None
        place |= {field: own[0]} if own else {}
    return with_classes_of_draws(_named_by_bare_word(frame, _named_by_question(place)))


def _named_by_bare_word(frame: pl.DataFrame, place: dict[str, str]) -> dict[str, str]:
    """The places with a `task` or the like as the item, where no other column is it and the score is right or wrong."""
    own = [c for c in frame.columns if plain_name(c) in BARE_ITEMS]
    if "item" in place or len(own) != 1 or place.get("score") not in frame.columns:
        return place
    words = set(text_of(frame[place["score"]]).drop_nulls().str.to_lowercase().unique().head(MAX_WORDS))
    if not words <= {*PLAIN_WORDS, *MISSING, "0", "1", "0.0", "1.0"}:
        return place
    return {"item": own[0]} | {field: column for field, column in place.items() if column != own[0]}


def _named_by_question(place: dict[str, str]) -> dict[str, str]:
    """The places with the question as the item where no other column is it: a question is its own name."""
    is_listed_question = plain_name(place.get("prompt", "")) in LISTED["item"]
    return {"item": place["prompt"]} | place if is_listed_question and "item" not in place else place


def _chosen_places(options: ReadOptions) -> dict[str, str]:
    """The columns by field that options name."""
    place = {SAME.get(field, field): column for field, column in options.map.items()}
    return place if options.scorer is None else {"score": options.scorer} | place


def with_classes_of_draws(place: Mapping[str, str]) -> dict[str, str]:
    """The columns by field; in a table of draws `cluster` is the class of answers that mean the same, not a group."""
    is_class = "draw" in place and "text" in place and plain_name(place.get("group", "")) == "cluster"
    return {"cluster" if is_class and field == "group" else field: column for field, column in place.items()}


def _has_scores_named_alike(frame: pl.DataFrame) -> bool:
    """Whether two scores have the same last part of their names, as `toxicity/score` and `quality/score`."""
    leaves = [leaf_name(c) for c in frame.columns if is_listed("score", c)]
    return len({*leaves}) < len(leaves)


def _claiming_columns(frame: pl.DataFrame, field: str, place: Mapping[str, str]) -> list[str]:
    """The free columns with a name of a field; of conditions those that vary, of weights those with numbers."""
    own = [c for c in named_columns(frame, field) if c not in place.values()]
    if field == "condition":
        own = [c for c in own if not JUDGES.search(c)]
        return [c for c in own if frame[c].n_unique() > 1] or [c for c in own if plain_name(c) not in VARYING][:1]
    if field == "score":
        return own or [c for c in frame.columns if is_known_column("score", frame[c])]
    return [c for c in own if holds_numbers(frame[c])] if field == "weight" else own


def is_known_column(field: str, column: pl.Series) -> bool:
    """Whether a column is known as a field: by a listed name, or one that words for right and wrong make a score's."""
    if is_listed(field, column.name):
        return True
    if field != "score" or plain_name(column.name) not in WORDED or column.dtype != pl.String:
        return False
    words = {word.strip().lower() for word in column.drop_nulls().unique().head(MAX_WORDS)}
    grades = words - {*MISSING, *STATUSES, *DECLINED}
    return bool(grades) and grades <= PLAIN_WORDS


def holds_numbers(column: pl.Series) -> bool:
    """Whether any cell is a number: an importance may stand in words."""
    return text_of(column).cast(pl.Float64, strict=False).null_count() < len(column)


def named_columns(frame: pl.DataFrame, field: str) -> list[str]:
    """The columns with a name that is acted on for a field, the likelier names first; criteria as the file has them."""
    names = [name for name in FIELDS[field] if field not in LISTED or name in LISTED[field]]
    by_name = {name(c): c for name in (leaf_name, plain_name) for c in reversed(frame.columns)}
    found = list(dict.fromkeys(by_name[n] for n in names if n in by_name))
    criteria = iter([c for c in frame.columns if c in found and leaf_name(c) in CRITERIA])
    return [next(criteria) if leaf_name(c) in CRITERIA else c for c in found]


def _has_sound_keys(frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions) -> bool:
    """Whether items stand under conditions, each key once, as a table of single results has them."""
    if ORDER in (place["item"], place.get("draw")) and ORDER not in frame.columns:
        return True
    keys = [place[f] for f in ("item", "condition", "draw", "run", "rater") if f in place]
    numbers = [place[f] for f in ("draw", "run") if f in place and place[f] not in options.map.values()]
    if any(whole_numbers(frame[c]).null_count() for c in numbers):
        return False
    if not has_unique_rows(frame, keys):
        return False
    return _shares_items(frame, place, options)


def _shares_items(frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions) -> bool:
    """Whether some item stands under several conditions, where there are several, and items are no categories."""
    is_chosen, items = place["item"] in options.map.values(), frame[place["item"]]
    if items.head(MIN_ROWS).n_unique() < min(MIN_ITEMS, frame.height) and not is_chosen:
        return False
    if "condition" not in place:
        return _has_one_condition(frame, place)
    n_conditions = frame[place["condition"]].n_unique()
    if n_conditions == 1 and not _has_one_condition(frame, place):
        return False
    if n_conditions == frame.height > 1:
        return False
    return n_conditions == 1 or is_chosen or items.hash().n_unique() < frame.height


def _has_one_condition(frame: pl.DataFrame, place: Mapping[str, str]) -> bool:
    """Whether no column of runs holds words or dates, which may well name conditions."""
    runs = [c for f in ("draw", "run") for c in named_columns_of_runs(frame, f) if c not in place.values()]
    numbers = [whole_numbers(frame[c]) for c in runs]
    return all(n.null_count() < len(n) or len(n) == 0 for n in numbers)


def named_columns_of_runs(frame: pl.DataFrame, field: str) -> list[str]:
    """The columns that are called a draw or a run, listed or not, and vary."""
    return [c for c in frame.columns if {plain_name(c), leaf_name(c)} & {*FIELDS[field]} and frame[c].n_unique() > 1]


def _has_plain_scores(frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions) -> bool:
    """Whether every cell of the score is a number, a plain word for right or wrong, or a word for no grade."""
    cells = frame[place["score"]]
    if cells.dtype == pl.Boolean:
        return True
    if cells.dtype.is_numeric():
        return not _counts_of_many(frame, place, options, cells)
    if cells.dtype != pl.String:
        return False
    numbers = cells.str.strip_chars().cast(pl.Float64, strict=False)
    words = {t.strip().lower() for t in cells.filter(numbers.is_null()).drop_nulls().unique().head(200)}
    words -= {*PLAIN_WORDS, *MISSING, *STATUSES, *DECLINED, *(w.strip().lower() for w in options.grade)}
    if words and not all(re.fullmatch(PLAIN_NUMBER, word) for word in words):
        return False
    if numbers.null_count() == len(numbers) and ("text" in place or not cells.drop_nulls().len()):
        return False  # words of answers, perhaps: the column may be the key
    return not _counts_of_many(frame, place, options, numbers)


def _counts_of_many(frame: pl.DataFrame, place: Mapping[str, str], options: ReadOptions, numbers: pl.Series) -> bool:
    """Whether scores above 1 stand beside a column that says of how many they are, or how many were wrong."""
    if place["score"] in options.map.values() or not (numbers > 1).any():
        return False
    bare = {re.sub("^(n|num|total)_", "", leaf_name(c)) for c in frame.columns if c != place["score"]}
    return bool(bare & {*TOTAL_NAMES, *MISSED_NAMES})


DECIDING = ("item", "condition", "score", "severity", "draw", "run", "confidence", "rater", "human", "human_severity")
MAX_GRADES = 6
# names of which it is known that less is better
LOWER_NAMES = frozenset(
    (*LOWER, *FIELDS["money_usd"], *FIELDS["latency_s"], *FIELDS["tokens_in"], *FIELDS["tokens_out"])
)
MAX_CONDITIONS_SHOWN = 4
METRIC_COLUMNS = ("metric", "metric_name", "measure")  # that name what the values are


def reading_of(
    table: RoledTable,
    grades: Mapping[str, float | None],
    options: ReadOptions,
    what: str,
    *,
    are_draws: bool,
    later_steps: Sequence[str] = (),
    also_used: Sequence[str] = (),
) -> Reading:
    """The reading of a table: its roles as they were taken, and the options that say the same.

    `grades` are words whose meaning was inferred; `are_draws`: repeated rows were taken for draws of one answer;
    `later_steps` are steps of layout that were taken on the answers, `also_used` columns that group items or grade.
    """
    columns, steps = _decided_columns(table)
    steps = [*steps, *later_steps]
    roles = [_role(field, column, table.frame, options) for field, column in columns.items()]
    roles = [dataclasses.replace(role, is_known=role.is_known or role.field in table.known) for role in roles]
    added = {role.field: columns[role.field] for role in roles if not role.is_known}
    if are_draws:
        roles.append(Role(field="draw", shown="rows of one question, in their order", is_known=False))
        added["draw"] = ORDER
    is_wide_known = not table.wide or options.wide is not None or "condition" in table.known
    if table.wide:
        roles.append(Role(field="condition", shown=f"columns {quoted(table.wide)}", is_known=is_wide_known))
    if steps:
        roles += _layout_roles(table, steps, is_known={*steps} <= {*options.layout})
    roles += _grade_role(grades)
    roles += [Role(field="grade", shown=note, is_known=True) for note in of_kind(table.notes, "status")]
    lower = _lower_role(table) if options.better is None else None
    if lower is not None:
        roles.append(lower)
    elif options.better is None:
        roles = [_with_direction(role, table) for role in roles]
    chosen = dataclasses.replace(
        options,
        map={**options.map, **added},
        wide=options.wide if is_wide_known else tuple(table.wide),
        layout=tuple(dict.fromkeys((*options.layout, *steps))),
        grade={**options.grade, **grades},
        better=options.better if lower is None else "lower",
    )
    unused = () if steps else _unused_columns(table, also_used)
    return Reading(source=what, roles=tuple(roles), unused=unused, given=options, options=chosen)


def _lower_role(table: RoledTable) -> Role | None:
    """That less is better, where a name says so."""
    metric = metric_named(table)
    if not (less_is_better(metric) if metric else _is_lower_by_name(table)):
        return None
    why = f'"{brief(metric)}"' if metric else "a word in the name"
    return Role(field="better", shown=f"less is better, by {why}", is_known=False)


def metric_named(table: RoledTable) -> str:
    """What a column of values holds, where a column beside it names one measure; empty where none does."""
    if plain_name(table.place.get("score", "")) not in ("value", "score", "result", "metric_value"):
        return ""
    names = [table.frame[c] for c in table.frame.columns if plain_name(c) in METRIC_COLUMNS]
    return str(names[0][0]) if len(names) == 1 and names[0].n_unique() == 1 else ""


def _with_direction(role: Role, table: RoledTable) -> Role:
    """An inferred score of more than two numbers, with which end is taken for the good one."""
    column = table.place.get("score", "")
    if role.field != "score" or role.is_known or column not in table.frame.columns or less_is_better(column):
        return role
    numbers = text_of(table.frame[column]).cast(pl.Float64, strict=False).drop_nulls()
    return role if numbers.n_unique() < 3 else dataclasses.replace(role, shown=f"{role.shown}, more is better")


def _unused_columns(table: RoledTable, also_used: Sequence[str]) -> tuple[str, ...]:
    """The columns that have a name and are nothing in this reading."""
    used = {*table.place.values(), *table.wide, *table.measures, *also_used}
    used |= {
        c for c in table.frame.columns if metric_named(table) and plain_name(c) in ("metric", "metric_name", "measure")
    }
    return tuple(c for c in table.given.columns if c not in used and c.strip() and not marks_rows(c))


def _layout_roles(table: RoledTable, steps: Sequence[str], *, is_known: bool) -> list[Role]:
    """What the steps of layout do, and the conditions that they make, as a person would say it."""
    told = [*of_kind(table.notes, LAYOUT), *of_kind(table.notes, RATERS_APART)]
    roles = [Role(field="layout", shown=note, is_known=is_known) for note in told]
    if len(told) < len(steps):
        roles.append(Role(field="layout", shown=", ".join(steps), is_known=is_known))
    made = table.place.get("condition", "")
    if made in table.frame.columns and made not in table.given.columns and not table.wide:
        names = table.frame[made].drop_nulls().unique(maintain_order=True).cast(pl.String)
        roles.insert(0, Role(field="condition", shown=quoted(names), is_known=is_known))
    return roles


def _decided_columns(table: RoledTable) -> tuple[dict[str, str], list[str]]:
    """The columns of the file that decide numbers, by field, and the steps that made columns which it does not have."""
    place = table.place
    answers = () if {"score", "severity"} & place.keys() else ("text", "reference")
    fields = [f for f in (*DECIDING, *answers) if f in place]
    made = [f for f in fields if place[f] not in table.given.columns and place[f] != ORDER]
    if "answer-lists" in table.steps:
        made.append("draw")
    steps = list(table.steps) if table.steps or table.wide else [f"made-{f}" for f in made]
    return {f: place[f] for f in fields if f not in made}, steps


def with_ranks(reading: Reading, ranks: tuple[float, float] | None) -> Reading:
    """The reading of scores that are ranks within every item, of which 1 is taken for the best."""
    if ranks is None:
        return reading
    role = Role(field="better", shown=f"less: the scores of a question are 1 to {ranks[1]:g}, ranks", is_known=False)
    roles = (*(r for r in reading.roles if r.field != "better"), role)
    options = dataclasses.replace(reading.options, better="lower", scale=ranks)
    return dataclasses.replace(reading, roles=roles, options=options)


def _grade_role(grades: Mapping[str, float | None]) -> list[Role]:
    if not grades:
        return []
    shown = [f'"{brief(word)}" {_describe_grade(value)}' for word, value in grades.items()]
    more = f" and {len(shown) - MAX_GRADES} more" if len(shown) > MAX_GRADES else ""
    return [Role(field="grade", shown=", ".join(shown[:MAX_GRADES]) + more, is_known=False)]


def _describe_grade(value: float | None) -> str:
    if value is None:
        return "is no grade"
    return {1.0: "is right", 0.0: "is wrong"}.get(value, f"is {value:g}")


def _role(field: str, column: str, frame: pl.DataFrame, options: ReadOptions) -> Role:
    """The role of one column, known by an option or by its name; draws and runs are, if they are numbers."""
    mapped = {SAME.get(f, f): c for f, c in options.map.items()}
    is_chosen = mapped.get(field) == column or (field == "score" and column == options.scorer)
    if column == ORDER and column not in frame.columns:
        return Role(field=field, shown="the order of the rows", is_known=is_chosen)
    is_known = is_chosen or is_known_column(field, frame[column])
    if field in ("draw", "run") and not is_chosen:
        no_number = whole_numbers(frame[column]).null_count()
        is_known &= no_number == 0 or no_number == text_of(frame[column]).null_count()
    if is_known:
        return Role(field=field, shown=f'column "{brief(column)}"', is_known=True)
    values = text_of(frame[column]).drop_nulls().unique(maintain_order=True)
    shown = counted(len(values), "value")
    if field in ("condition", "score") and len(values) <= MAX_CONDITIONS_SHOWN:
        shown = ", ".join(brief(value) for value in values)
    if field == "condition" and (dated := dates_of(frame)) is not None and column == dated[0]:
        shown += f"; to follow one model over time: richter watch FILE --date {shlex.quote(column)}"
    return Role(field=field, shown=f'column "{brief(column)}" ({shown})', is_known=is_known)


def _is_lower_by_name(table: RoledTable) -> bool:
    """Whether a word within the score's name, which is not a listed one, says that less is better."""
    column, frame = table.place.get("score", ""), table.frame
    if not column or (column in frame.columns and says_right(frame[column])) or ("\0" in column and not table.wide):
        return False
    return all(less_is_better(c) and plain_name(c) not in LOWER_NAMES for c in table.wide or [column])
