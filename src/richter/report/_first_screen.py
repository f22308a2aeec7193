"""The layout of the first screen: the answer, the counts behind it, what it rests on, and the next step."""

from collections.abc import Mapping
from typing import Any

from richter.records import printable
from richter.report._claim_list import claim_groups, comparison_of, lead_pair
from richter.report._measure_table import measure_table
from richter.report._terms import with_names
from richter.words._numbers import name
from richter.words._page_texts import (
    basis_facts,
    describe_changes,
    describe_lead_counts,
    describe_pill,
    describe_warnings,
    first_step,
    is_blocked,
    is_unchecked,
    refused_lines,
    run_title,
    summary_lines,
)


def first_screen(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the template needs of the first screen."""
    tone, pair = _tone(document), lead_pair(document)
    names = [name(c.get("name")) for c in document.get("conditions") or []]
    return {
        "run": run_title(document),
        "pill": describe_pill(document, tone),
        "answer": with_names(printable(document.get("answer") or "Nothing was measured.", limit=600), names[:60]),
        "is_long": len(str(document.get("answer") or "")) > 140,
        "tone": "open" if is_unchecked(document) else tone,
        "is_blocked": is_blocked(document),
        "counts": with_names(describe_lead_counts(document, pair), names[:60]),
        "changes": changes_of(document, pair),
        "facts": basis_facts(document),
        "warning": describe_warnings(document),
        "lines": [(term, with_names(text, names[:60])) for term, text in summary_lines(document)],
        "step": first_step(document),
        "groups": claim_groups(document.get("claims") or []),
        "refused": [printable(line, limit=600) for line in refused_lines(document)],
        "table": measure_table(document),
    }


def _tone(document: Mapping[str, Any]) -> str:
    """The side that all that was shown of two conditions is on; open where nothing was, empty where sides differ."""
    if len(document.get("conditions") or []) != 2:
        return ""
    sides = {c.get("side") for c in document.get("claims") or [] if len(c.get("conditions") or ()) == 2}
    found = sides & {"better", "worse"}
    return str(found.pop()) if len(found) == 1 else "" if found else "alike" if "alike" in sides else "open"


def changes_of(document: Mapping[str, Any], pair: list[str]) -> dict[str, Any] | None:
    """How many questions were fixed, broken and left as they were from the first to the second of a pair."""
    for note in comparison_of(document).get("pairs") or ():
        fixed, broken = note.get("fixed"), note.get("broken")
        if set(note.get("conditions") or ()) == set(pair) and isinstance(fixed, int) and isinstance(broken, int):
            if list(note["conditions"]) != list(pair):
                fixed, broken = broken, fixed
            n = max(int(note.get("n_paired") or 0), fixed + broken)
            return _changes(pair, fixed, broken, n, words=("fixed", "broken", "unchanged"))
    return None


def moved_changes(pair: list[str], moved: tuple[int, int, int] | None) -> dict[str, Any] | None:
    """Of repeated answers: how many questions are right more often, less often and as often from the first to the
    second of a pair."""
    return _changes(pair, *moved, words=("more often right", "less often right", "as often")) if moved else None


def _changes(pair: list[str], fixed: int, broken: int, n: int, *, words: tuple[str, str, str]) -> dict[str, Any]:
    first, second = (name(c) for c in pair)
    counts = (fixed, broken, n - fixed - broken)
    return {
        "first": first,
        "second": second,
        "fixed": fixed,
        "broken": broken,
        "unchanged": counts[2],
        "n": n,
        "named": dict(zip(("fixed", "broken", "unchanged"), words, strict=True)),
        "words": describe_changes(counts, words),
    }
