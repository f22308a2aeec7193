"""The reading of a table as its columns were taken, with what of it is known."""

import dataclasses
from collections.abc import Mapping, Sequence

import polars as pl

from richter.interop import LOWER, is_listed, less_is_better, plain_name
from richter.records import counted
from richter.tables._reading import Reading, Role, quoted
from richter.tables._shapes import ORDER
from richter.tables._tables import ReadOptions
from richter.tables._words import brief, says_right, text_of

DECIDING = ("item", "condition", "score", "severity", "draw", "run", "confidence", "rater", "human", "human_severity")
MAX_GRADES = 6


def reading_of(
    given: pl.DataFrame,
    frame: pl.DataFrame,
    place: Mapping[str, str],
    wide: Sequence[str],
    steps: Sequence[str],
    grades: Mapping[str, float | None],
    options: ReadOptions,
    what: str,
) -> Reading:
    """The reading of a table: its roles as they were taken, and the options that say the same."""
    fields = [f for f in DECIDING if f in place]
    if not {"score", "severity"} & place.keys():
        fields += [f for f in ("text", "reference") if f in place]
    made = {f: place[f] for f in fields if place[f] not in given.columns and place[f] != ORDER}
    steps = [*steps, *(f"joined-{f}" for f in made if "both" in made[f])]
    roles = [
        _role(field, place[field], frame, options) for field in fields if field not in made
    ]
    if wide:
        known = options.wide is not None or _is_plain_wide(given, wide)
        roles.append(Role(field="condition", shown=f"columns {quoted(wide)}", is_known=known))
    if steps:
        roles.append(Role(field="layout", shown=", ".join(steps), is_known=set(steps) <= set(options.layout)))
    if grades:
        shown = ", ".join(f"{brief(word)} {_value(value)}" for word, value in list(grades.items())[:MAX_GRADES])
        roles.append(Role(field="grade", shown=shown, is_known=False))
    lower = _lower_by_name(frame, place, wide) if options.better is None else False
    if lower:
        roles.append(Role(field="better", shown="less is better, by a word in the name", is_known=False))
    inferred = {role.field for role in roles if not role.is_known}
    mapped = {f: place[f] for f in fields if f in inferred and f not in made}
    chosen = dataclasses.replace(
        options,
        map={**options.map, **mapped},
        wide=tuple(wide) if wide and not options.wide and any(r.field == "condition" and not r.is_known for r in roles)
        else options.wide,
        layout=tuple(steps) if "layout" in inferred else options.layout,
        grade={**options.grade, **grades},
        better="lower" if lower else options.better,
    )  # fmt: skip
    used = {*place.values(), *wide}
    unused = tuple(c for c in given.columns if c not in used and not steps)
    return Reading(source=what, roles=tuple(roles), unused=unused, given=options, options=chosen)


def _value(value: float | None) -> str:
    return {1.0: "is right", 0.0: "is wrong", None: "is missing"}.get(value, f"is {value:g}" if value else "")


def _role(field: str, column: str, frame: pl.DataFrame, options: ReadOptions) -> Role:
    if column == ORDER and column not in frame.columns:
        return Role(field=field, shown="the order of the rows", is_known=options.map.get(field) == ORDER)
    n = text_of(frame[column]).n_unique()
    known = column in options.map.values() or column == options.scorer or is_listed(field, column)
    if known and field in ("draw", "run") and column not in options.map.values():
        known = text_of(frame[column]).cast(pl.Int64, strict=False).null_count() == frame[column].null_count()
    return Role(field=field, shown=f'column "{brief(column)}" ({counted(n, "value")})', is_known=known)


def _is_plain_wide(frame: pl.DataFrame, wide: Sequence[str]) -> bool:
    """Whether all columns beside the listed ones are the conditions, and hold 0 and 1 or numbers of one size."""
    others = [c for c in frame.columns if c not in wide and not any(is_listed(f, c) for f in ("item", "text"))]
    values = [text_of(frame[c]).str.to_lowercase().replace({"true": "1", "false": "0"}) for c in wide]
    numbers = [v.cast(pl.Float64, strict=False) for v in values]
    plain = all(n.null_count() == frame[c].null_count() for n, c in zip(numbers, wide, strict=True))
    return plain and not others


def _lower_by_name(frame: pl.DataFrame, place: Mapping[str, str], wide: Sequence[str]) -> bool:
    """Whether a word within the score's name, which is not a listed one, says that less is better."""
    column = place.get("score", "")
    names = list(wide) if wide else [column]
    if "\0" in column and not wide:
        return False
    if column in frame.columns and says_right(frame[column]):
        return False
    return all(less_is_better(c) and plain_name(c) not in LOWER for c in names if c)  and any(names)
