"""The layout of the first screen: the answer, the counts behind it, what it rests on, and the next step."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from richter.records import printable
from richter.report._claim_list import claim_groups, comparison_of, lead_pair, pair_claims
from richter.report._measure_table import measure_table
from richter.report._terms import LEVEL_TERMS, with_names, with_terms
from richter.words._page_texts import (
    basis_facts,
    describe_changes,
    describe_example,
    describe_lead_counts,
    describe_levels,
    describe_pair,
    describe_pill,
    describe_warnings,
    first_step,
    is_blocked,
    is_settled,
    is_unchecked,
    refused_lines,
    run_title,
    summary_lines,
)
from richter.words._spans import name


def first_screen(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the template needs of the first screen."""
    tone, pair = _tone(document), lead_pair(document)
    names = [name(c.get("name")) for c in document.get("conditions") or []]
    return {
        "run": run_title(document),
        "pill": describe_pill(document, tone),
        "answer": with_names(printable(document.get("answer") or "Nothing was measured.", limit=600), names[:60]),
        "is_long": len(str(document.get("answer") or "")) > 140,
        "tone": "unchecked" if is_unchecked(document) else tone,
        "is_blocked": is_blocked(document),
        "counts": with_names(describe_lead_counts(document, pair), names[:60]),
        "changes": changes_of(document, pair),
        "is_labelled": _is_labelled(document, pair),
        "example": with_names(describe_example(*map(name, pair)), names[:60]) if len(names) > 2 else "",
        "is_settled": is_settled(document),
        "facts": basis_facts(document),
        "levels": with_terms(describe_levels(document), words=LEVEL_TERMS),
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
            words = ("fixed", "broken", "unchanged")
            return _changes(fixed, broken, n, words=words, shows=words[:2], lead=_lead_words(document, pair))
    return None


def moved_changes(
    document: Mapping[str, Any], pair: list[str], moved: tuple[int, int, int] | None
) -> dict[str, Any] | None:
    """Of repeated answers: how many questions are right more often, less often and as often from the first to the
    second of a pair."""
    if moved is None:
        return None
    words, lead = ("more often right", "less often right", "as often"), _lead_words(document, pair)
    return _changes(*moved, words=words, shows=("better", "worse"), lead=lead)


def _is_labelled(document: Mapping[str, Any], pair: list[str]) -> bool:
    """Whether labels corrected the main claim on a pair: its answers are then counted as they were graded."""
    main = [c for c in pair_claims(document) if c.get("primary") and set(c["conditions"]) == set(pair)]
    return any(c.get("labels") for c in main)


def _lead_words(document: Mapping[str, Any], pair: list[str]) -> Markup:
    """Of which two the answers are shown, and that they are one pair of several."""
    first, second = (name(c) for c in pair)
    n_pairs = len({frozenset(c["conditions"]) for c in pair_claims(document)})
    has_labels = _is_labelled(document, pair)
    return with_names(describe_pair(first, second, n_pairs=n_pairs, has_labels=has_labels), [first, second])


def _changes(
    fixed: int,
    broken: int,
    n: int,
    *,
    words: tuple[str, str, str],
    shows: tuple[str, ...],
    lead: Markup,
) -> dict[str, Any]:
    """The counts of a pair for the template; `shows` are the filters that list what was fixed and broken."""
    counts = (fixed, broken, n - fixed - broken)
    return {
        "lead": lead,
        "shows": dict(zip(("fixed", "broken"), shows, strict=True)),
        "fixed": fixed,
        "broken": broken,
        "unchanged": counts[2],
        "n": n,
        "named": dict(zip(("fixed", "broken", "unchanged"), words, strict=True)),
        "words": describe_changes(counts, words),
    }
