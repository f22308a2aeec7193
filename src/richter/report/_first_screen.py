"""The layout of the first screen: the answer, the numbers of each condition, and the claims in their groups."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from richter.claims import JUDGE_UNCHECKED
from richter.records import Verdict, printable
from richter.words import GLOSSARY, SIDES, rail, verdict_word
from richter.words._numbers import name, number
from richter.words._page_texts import (
    Ends,
    best_first,
    claim_numbers,
    describe_basis,
    describe_condition,
    describe_tally,
    describe_warnings,
    figure_amount,
    figure_facts,
    finite_ends,
    is_measured,
    refused_lines,
    run_title,
    score_scale,
    summary_lines,
    verdict_of,
)

EACH = 3  # claims of a group that are open; the rest unfold
MOST_CLAIMS = 100  # of a group that the page holds; JSON has all
_MARKED = (
    "calibration error",
    "catastrophic",
    "cloze",
    "debiased",
    "ECE",
    "G1",
    "G2",
    "G3",
    "G4",
    "G5",
    "P1",
    "P2",
    "m_min",
    "Sem-ECE",
    "xi",
)
POPOVERS = (*_MARKED, "condition", "exploratory", "interval", *Verdict)
_TERM = re.compile(rf"\b({'|'.join(map(re.escape, sorted(_MARKED, key=len, reverse=True)))})\b")


def with_terms(text: str) -> Markup:
    """The text with a button on the first use of each term that the glossary explains."""
    seen: set[str] = set()

    def button(match: re.Match[str]) -> str:
        word = match[1]
        if word in seen or word not in GLOSSARY:
            return word
        seen.add(word)
        return f'<button type="button" class="word" popovertarget="term-{word.replace(" ", "-")}">{word}</button>'

    return Markup(_TERM.sub(button, str(escape(text))))  # noqa: S704 (escaped before)


def first_screen(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the template needs of the first screen."""
    claims = document.get("claims") or []
    rows, columns = _conditions(document.get("conditions") or [])
    return {
        "run": run_title(document),
        "answer": printable(document.get("answer") or "Nothing was measured.", limit=600),
        "tone": _tone(document),
        "corrected": any((c.get("how_often") or {}).get("graded") for c in document.get("conditions") or []),
        "shared": any(((c.get("family") or {}).get("size") or 1) > 1 for c in claims if c.get("interval")),
        "facts": describe_basis(document),
        "warning": describe_warnings(document),
        "understood": printable(str(document.get("understood") or ""), limit=600),
        "notes": [printable(str(note), limit=600) for note in document.get("notes") or ()],
        "six": [(term, with_terms(text)) for term, text in summary_lines(document)],
        "groups": _groups(claims),
        "tally": describe_tally(claims, most=3 * EACH),
        "refused": [printable(line, limit=600) for line in refused_lines(document)],
        "conditions": rows,
        "columns": columns,
    }


def _tone(document: Mapping[str, Any]) -> str:
    """The side that all that was shown of two conditions is on; open where nothing was, empty where sides differ."""
    if len(document.get("conditions") or []) != 2:
        return ""
    sides = {c.get("side") for c in document.get("claims") or [] if len(c.get("conditions") or ()) == 2}
    found = sides & {"better", "worse"}
    return str(found.pop()) if len(found) == 1 else "" if found else "alike" if "alike" in sides else "open"


def claim_rows(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each claim as the template shows it."""
    return [_claim(c, k) for k, c in enumerate(claims, start=1)]


def _side(claim: Mapping[str, Any]) -> str:
    return str(claim["side"]) if claim.get("side") in SIDES else "open"


def _claim(claim: Mapping[str, Any], place: int) -> dict[str, Any]:
    interval = claim.get("interval") or claim.get("plain_interval")
    conditions = [name(c) for c in claim.get("conditions") or ()]
    two = len(conditions) == 2
    return {
        "number": place,
        "verdict": verdict_of(claim),
        "word": verdict_word(verdict_of(claim), _side(claim)),
        "side": _side(claim),
        "sentence": with_terms(printable(str(claim.get("sentence") or ""), limit=600)),
        "numbers": with_terms("; ".join(claim_numbers(claim))),
        "method": printable(str(interval.get("method") or ""), limit=80) if isinstance(interval, Mapping) else "",
        "bar": _bar(claim.get("estimate"), interval, claim.get("better")) if two else None,
        "pair": {"condition": conditions[0], "other": conditions[1]} if two else None,
    }


def _groups(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The claims by what they mean for the reader: worse, better, practically the same, and what cannot be said.

    On a board that compares all with all nobody is the one who is better or worse: what is shown stands together.
    """
    pairs = [c["conditions"] for c in claims if len(c.get("conditions") or ()) == 2]
    board = len({name for pair in pairs for name in pair}) > 2 and len({pair[0] for pair in pairs}) > 1
    shown = ["differ"] if board else ["worse", "better"]
    by_group: dict[str, list[tuple[Mapping[str, Any], int]]] = {}
    for place, claim in enumerate(claims, start=1):
        group = _group_of(claim)
        by_group.setdefault("differ" if board and group in ("worse", "better") else group, []).append((claim, place))
    order = [*shown, "alike", "judge", "open", "blocked"]
    return [_group(key, by_group[key]) for key in order if key in by_group]


def _group(key: str, own: Sequence[tuple[Mapping[str, Any], int]]) -> dict[str, Any]:
    """One group: its first claims open, the others folded."""
    titles = {"differ": "Better or worse", "judge": "By the judge's grades only", "blocked": "Not compared"}
    titles |= {str(side): title for side, title in SIDES.items()}
    rows = [_claim(*c) for c in own[:MOST_CLAIMS]]
    more = f"{len(own) - EACH:,} more"
    if len(own) > len(rows):
        more += f", {len(rows) - EACH} of them here; JSON has all (richter report .. --json results.json)"
    return {"side": key, "title": titles[key], "shown": rows[:EACH], "more": rows[EACH:], "more_words": more}


def _group_of(claim: Mapping[str, Any]) -> str:
    """The group of the page that a claim stands in: what only an unchecked judge shows stands by itself."""
    if claim.get("verdict") == "blocked" and claim.get("reason"):
        return "blocked"
    found = _side(claim)
    return "judge" if claim.get("basis") == JUDGE_UNCHECKED and found != "open" else found


def _bar(estimate: Any, interval: Any, better: Any, *, ends: Ends | None = None) -> dict[str, Any] | None:
    """Where an estimate and its interval stand on a rail of 0..100: between `ends`, or worse to better about zero."""
    span = finite_ends({"interval": interval})
    if span is None or not isinstance(estimate, int | float) or not math.isfinite(estimate):
        return None
    low, at, high = rail(float(estimate), *span, better=better)
    if ends is not None:
        low, at, high = (min(max((v - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0) for v in (span[0], estimate, span[1]))
    return {
        "low": round(100 * low, 2),
        "high": round(100 * high, 2),
        "at": round(100 * at, 2),
        "zero": 50 if ends is None else None,
    }


COLUMNS = {  # of a condition's row: the question, what is measured, the unit of the ends of its rail
    "scored": ("How well does it score?", "mean score", ""),
    "how_often": ("How often is it wrong?", "share of wrong answers", "%"),
    "how_badly": ("How often severely?", "severity 3 and over", "%"),
    "knows": ("Does it know?", "confidence and answers apart", " points"),
}


def _columns(conditions: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns in which some condition has a number; the three of an audit where none has."""
    some = [key for key in COLUMNS if any(isinstance(c.get(key), Mapping) for c in conditions)]
    return some or ["how_often", "how_badly", "knows"]


def _conditions(conditions: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The rows of the table, and its columns with the ends of their rails."""
    keys = _columns(conditions)
    rails = {
        key: _rail([c.get(key) for c in conditions], score_scale(conditions) if key == "scored" else None)
        for key in keys
    }
    rows = []
    for condition in best_first(conditions):
        cells = [_cell(condition.get(key), key, rails[key]) for key in keys]
        rows.append({"name": name(condition.get("name")), "detail": describe_condition(condition), "cells": cells})
    return rows, [{"title": COLUMNS[key][0], "rail": _rail_words(key, rails[key])} for key in keys]


def _rail(cells: Sequence[Any], scale: Ends | None) -> Ends:
    """The ends of a column's rail: those of the scale of scores; else from 0 to the next round end."""
    if scale is not None:
        return scale
    highs = [c["interval"]["high"] for c in cells if isinstance(c, Mapping) and isinstance(c.get("interval"), Mapping)]
    top = max((h for h in highs if isinstance(h, int | float)), default=1.0)
    return 0.0, next((end for end in (0.01, 0.05, 0.1, 0.25, 0.5, 1.0) if top <= end), max(top, 1.0))


def _rail_words(key: str, ends: Ends) -> str:
    unit = COLUMNS[key][2]
    low, high = (number((100 if unit else 1) * end) for end in ends)
    return f"{low}{unit.strip() if unit == '%' else ''} to {high}{unit}"


def _cell(value: Any, key: str, ends: Ends) -> dict[str, Any]:
    title, what, unit = COLUMNS[key]
    label = f"{title} (bar: {_rail_words(key, ends)})"
    if not is_measured(value):
        reason = value.get("missing") if isinstance(value, Mapping) else None
        return {"label": label, "big": "", "what": printable(str(reason or "not measured"), limit=160)}
    amount, interval = figure_amount(value, unit)
    return {
        "label": label,
        "big": amount,
        "interval": interval,
        "what": figure_facts(value, key, what),
        "bar": _bar(value["estimate"], value.get("interval"), None, ends=ends),
    }
