"""All measures side by side: a row for each condition, a column for each measure, small bars, and what was shown."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from richter.claims import JUDGE_UNCHECKED
from richter.report._claim_list import bar_of, comparison_of, control_of, side_of
from richter.words._page_texts import (
    Ends,
    best_first,
    describe_condition,
    describe_marks,
    describe_measure_title,
    describe_standing,
    describe_worst_group,
    figure_facts,
    is_measured,
    measure_amount,
    rail_words,
)
from richter.words._spans import name

Document = Mapping[str, Any]


def measure_table(document: Document) -> dict[str, Any]:
    """What the template needs of the table: its columns, its rows and the words over it."""
    conditions = best_first(document.get("conditions") or [])
    measured = {name(c.get("name")): figures_of(c) for c in conditions}
    measures = list(dict.fromkeys(m for figures in measured.values() for m in figures))
    rails = {m: _rail([figures.get(m) for figures in measured.values()]) for m in measures}
    control, standing = control_of(document), _standing(document)
    rows = [_row(c, measured[name(c.get("name"))], rails, standing, control) for c in conditions]
    baseline = (comparison_of(document).get("options") or {}).get("control")
    judged = _judged_measures(document)
    for condition, row in zip(conditions, rows, strict=True):
        row["is_baseline"] = condition.get("name") == baseline
        row["cells"] = [cell | {"is_judged": m in judged} for m, cell in zip(measures, row["cells"], strict=True)]
    is_marked = any(cell["mark"] for row in rows for cell in row["cells"])
    return {
        "columns": [_column(describe_measure_title(m, measured), rail_words(m, rails[m])) for m in measures],
        "rows": rows,
        "has_worst": any(row["worst"] for row in rows),
        "words": describe_marks(
            control, is_marked=is_marked, n_conditions=len(conditions), is_judged=bool(judged & set(measures))
        ),
        "levels": _levels(measured.values()),
    }


def _judged_measures(document: Document) -> set[Any]:
    """The measures that rest on a judge whom nobody has checked."""
    return {c.get("measure") for c in document.get("claims") or [] if c.get("basis") == JUDGE_UNCHECKED}


def _column(title: str, ends: str) -> dict[str, str]:
    """The head of a column; the ends of its scale where the title does not have them."""
    return {"title": title, "rail": "" if f"({ends})" in title else ends}


def _row(
    condition: Document,
    figures: Mapping[str, Any],
    rails: Mapping[str, Ends],
    standing: "Standing",
    control: str | None,
) -> dict[str, Any]:
    """A condition's row: its name and a cell for each measure."""
    who = str(condition.get("name"))
    cells = [_cell(figures.get(m), m, ends) | _mark(who, m, standing, control) for m, ends in rails.items()]
    return {
        "name": name(who),
        "detail": describe_condition(condition),
        "worst": describe_worst_group(condition),
        "cells": cells,
    }


def figures_of(condition: Document) -> dict[str, Mapping[str, Any]]:
    """A condition's figures by measure."""
    known = {m: f for m, f in (condition.get("measures") or {}).items() if is_measured(f)}
    if is_measured(condition.get("knows")):
        known["ece"] = condition["knows"]
    return known


def _levels(figures: Any) -> list[float]:
    """The levels of the intervals in the table."""
    spans = [f.get("interval") for own in figures for f in own.values()]
    return sorted({s["level"] for s in spans if isinstance(s, Mapping) and isinstance(s.get("level"), int | float)})


def _rail(figures: Sequence[Any]) -> Ends:
    """The ends of a column's rail: of a score its own scale, of a rate or an amount from 0 to a round end."""
    known = [f for f in figures if isinstance(f, Mapping)]
    scale = next((f["scale"] for f in known if f.get("scale")), None)
    if scale is not None and tuple(scale) != (0, 1):
        return float(scale[0]), float(scale[1])
    highs = [f["interval"]["high"] for f in known if isinstance(f.get("interval"), Mapping)]
    highs += [f["estimate"] for f in known]
    top = max((float(h) for h in highs if isinstance(h, int | float)), default=1.0)
    size = 10 ** math.floor(math.log10(top)) if top > 0 else 1.0
    return 0.0, next(size * k for k in (1, 2, 2.5, 5, 10) if top <= size * k * (1 + 1e-9))


def _cell(value: Any, measure: str, ends: Ends) -> dict[str, Any]:
    if not is_measured(value):
        return {"amount": "", "value": None}
    amount, interval = measure_amount(value, measure)
    return {
        "amount": amount,
        "interval": interval,
        "facts": figure_facts(value, measure),
        "value": value["estimate"],
        "bar": bar_of(value["estimate"], value.get("interval"), None, ends=ends),
    }


Standing = dict[str, dict[str, dict[str, int]]]


def _standing(document: Document) -> Standing:
    """By measure and condition, the others that it is shown to be better (positive) or worse than, by their claims."""
    found: Standing = {}
    for place, claim in enumerate(document.get("claims") or [], start=1):
        pair = list(claim.get("conditions") or ())
        if len(pair) != 2 or (claim.get("family") or {}).get("name") in ("subgroup", "requirement"):
            continue
        by_condition = found.setdefault(str(claim.get("measure")), {})
        sign = {"better": 1, "worse": -1}.get(side_of(claim), 0)
        for one, other, seen in ((pair[1], pair[0], sign), (pair[0], pair[1], -sign)):
            own = by_condition.setdefault(one, {"": place})
            own[other] = seen * place
    return found


def leaders_on(document: Document, measure: str) -> set[str]:
    """Those that a claim shows to be better than another on a measure, and none to be worse."""
    found = _standing(document).get(measure, {})
    seen = {who: [place for other, place in own.items() if other] for who, own in found.items()}
    return {name(who) for who, places in seen.items() if min(places, default=-1) >= 0 < max(places)}


def _mark(condition: str, measure: str, standing: Standing, control: str | None) -> dict[str, Any]:
    """A cell's mark, what it means, and the number of the claim that it opens."""
    others = dict(standing.get(measure, {}).get(condition, {}))
    first = others.pop("", None)
    if control is not None:
        others = {n: place for n, place in others.items() if control in (n, condition) and condition != control}
    better, worse = ([n for n, place in others.items() if sign * place > 0] for sign in (1, -1))
    decided = next((abs(others[n]) for n in (*better, *worse)), first)
    mark = ""
    if better and not worse:
        mark = "better"
    elif control is not None and worse:
        mark = "worse"
    return {"mark": mark, "mark_words": describe_standing(better, worse) if mark else "", "claim": decided}
