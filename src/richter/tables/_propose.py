"""The reading of a table as its columns were taken, with what of it is known."""

import dataclasses
from collections.abc import Mapping, Sequence

import polars as pl

from richter.interop import FIELDS, LOWER, hinted_fields, is_listed, less_is_better, plain_name
from richter.records import counted
from richter.tables._reading import Reading, Role, quoted
from richter.tables._roled_table import SAME, RoledTable
from richter.tables._shapes import ORDER
from richter.tables._tables import ReadOptions
from richter.tables._words import USUAL_ENDS, brief, says_right, text_of

DECIDING = ("item", "condition", "score", "severity", "draw", "run", "confidence", "rater", "human", "human_severity")
MAX_GRADES = 6
# names of which it is known that less is better
LOWER_NAMES = frozenset(
    (*LOWER, *FIELDS["money_usd"], *FIELDS["latency_s"], *FIELDS["tokens_in"], *FIELDS["tokens_out"])
)
MAX_CONDITIONS_SHOWN = 4


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
    added = {role.field: columns[role.field] for role in roles if not role.is_known}
    if are_draws:
        roles.append(Role(field="draw", shown="rows of one question, in their order", is_known=False))
        added["draw"] = ORDER
    is_wide_known = not table.wide or options.wide is not None or _is_plain_wide(table.given, table.wide)
    if table.wide:
        roles.append(Role(field="condition", shown=f"columns {quoted(table.wide)}", is_known=is_wide_known))
    if steps:
        roles.append(Role(field="layout", shown=", ".join(steps), is_known={*steps} <= {*options.layout}))
    roles += _grade_role(grades)
    is_lower = options.better is None and _is_lower_by_name(table)
    if is_lower:
        roles.append(Role(field="better", shown="less is better, by a word in the name", is_known=False))
    chosen = dataclasses.replace(
        options,
        map={**options.map, **added},
        wide=options.wide if is_wide_known else tuple(table.wide),
        layout=tuple(dict.fromkeys((*options.layout, *steps))),
        grade={**options.grade, **grades},
        better="lower" if is_lower else options.better,
    )
    used = {*table.place.values(), *table.wide, *table.measures, *also_used}
    unused = () if table.steps else tuple(c for c in table.given.columns if c not in used and c.strip())
    return Reading(source=what, roles=tuple(roles), unused=unused, given=options, options=chosen)


def _decided_columns(table: RoledTable) -> tuple[dict[str, str], list[str]]:
    """The columns of the file that decide numbers, by field, and the steps that made columns which it does not have."""
    place = table.place
    fields = [f for f in DECIDING if f in place]
    if not {"score", "severity"} & place.keys():
        fields += [f for f in ("text", "reference") if f in place]
    made = [f for f in fields if place[f] not in table.given.columns and place[f] != ORDER]
    if "answer-lists" in table.steps:
        made.append("draw")
    return {f: place[f] for f in fields if f not in made}, [*table.steps, *_made_steps(table, made)]


def with_ranks(reading: Reading, ranks: tuple[float, float] | None) -> Reading:
    """The reading of scores that are ranks within every item, of which 1 is taken for the best."""
    if ranks is None:
        return reading
    role = Role(field="better", shown=f"less: the scores of a question are 1 to {ranks[1]:g}, ranks", is_known=False)
    roles = (*(r for r in reading.roles if r.field != "better"), role)
    options = dataclasses.replace(reading.options, better="lower", scale=ranks)
    return dataclasses.replace(reading, roles=roles, options=options)


def _made_steps(table: RoledTable, made: Sequence[str]) -> list[str]:
    """The steps of layout for columns that the file does not have: joined names, or one measure of several."""
    joined = [f"joined-{f}" for f in made if table.place[f] == "both\0"]
    others = [f for f in made if table.place[f] != "both\0"] if not table.steps and not table.wide else []
    return [*joined, *(f"made-{f}" for f in others)]


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
    is_known = is_chosen or is_listed(field, column)
    if field in ("draw", "run") and not is_chosen:
        texts = text_of(frame[column])
        is_known &= texts.cast(pl.Int64, strict=False).null_count() == texts.null_count()
    if is_known:
        return Role(field=field, shown=f'column "{brief(column)}"', is_known=True)
    values = text_of(frame[column]).drop_nulls().unique(maintain_order=True)
    shown = counted(len(values), "value")
    if field in ("condition", "score") and len(values) <= MAX_CONDITIONS_SHOWN:
        shown = ", ".join(brief(value) for value in values)
    return Role(field=field, shown=f'column "{brief(column)}" ({shown})', is_known=is_known)


def _is_plain_wide(frame: pl.DataFrame, wide: Sequence[str]) -> bool:
    """Whether the columns beside a listed item and its texts all hold 0 and 1, or numbers on one usual scale.

    A name that says that it is something of the item (`is_math`, `difficulty`, a measure) is not a condition's.
    """
    fields = ("item", "text", "prompt", "reference", "domain", "group")
    others = [c for c in frame.columns if c not in wide and not any(is_listed(f, c) for f in fields)]
    named = [c for c in wide if plain_name(c).startswith(("is_", "has_")) or hinted_fields(c) & {"other", "metric"}]
    texts = [text_of(frame[c]).str.to_lowercase().replace({"true": "1", "false": "0", "": None}) for c in wide]
    numbers = [text.cast(pl.Float64, strict=False) for text in texts]
    if others or named or any(n.null_count() > t.null_count() for n, t in zip(numbers, texts, strict=True)):
        return False
    tops = [float(n.max() or 0) for n in numbers]  # type: ignore[arg-type]
    return len({next((end for end in USUAL_ENDS if top <= end), 0.0) for top in tops}) == 1


def _is_lower_by_name(table: RoledTable) -> bool:
    """Whether a word within the score's name, which is not a listed one, says that less is better."""
    column, frame = table.place.get("score", ""), table.frame
    if not column or (column in frame.columns and says_right(frame[column])) or ("\0" in column and not table.wide):
        return False
    return all(less_is_better(c) and plain_name(c) not in LOWER_NAMES for c in table.wide or [column])
