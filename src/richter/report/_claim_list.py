"""The claims of a page: one line each in their groups, the pair that leads, and all pairs as a matrix."""

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from richter.claims import JUDGE_UNCHECKED
from richter.records import printable
from richter.report._terms import with_names, with_terms
from richter.words import SIDES, describe_sizes, rail, verdict_word
from richter.words._page_texts import (
    best_first,
    claim_numbers,
    claim_parts,
    describe_blocked_row,
    describe_difference_in_cell,
    document_words,
    finite_ends,
    near_distance,
    own_value,
    turn_claim,
    verdict_of,
)
from richter.words._spans import name

EACH = 6  # claims of a group that are listed; the rest unfold
MOST_CLAIMS = 100  # of a group that the page holds; JSON has all
MOST_IN_NUMBERS = 12  # conditions of a matrix whose cells have room for numbers
MOST_IN_MATRIX = 60

Claim = Mapping[str, Any]


def claim_rows(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Each claim as the template shows it."""
    return [_claim(c, k) for k, c in enumerate(claims, start=1)]


def side_of(claim: Claim) -> str:
    """The side that a claim is on for the reader."""
    return str(claim["side"]) if claim.get("side") in SIDES else "open"


def _claim(claim: Claim, place: int, *, from_winner: bool = False) -> dict[str, Any]:
    """A claim for the template; `from_winner`: its line speaks of the better one of two."""
    group, verdict = group_of(claim), verdict_of(claim)
    conditions = [name(c) for c in claim.get("conditions") or ()]
    two = len(conditions) == 2
    if from_winner and two and side_of(claim) == "worse" and finite_ends(claim):
        claim = turn_claim(claim)
    interval = claim.get("interval") or claim.get("plain_interval")
    line, parts = _line(claim, group, from_winner=from_winner)
    return {
        "number": place,
        "verdict": verdict,
        "word": verdict_word(verdict, side_of(claim)),
        "side": "blocked" if group == "blocked" else side_of(claim),
        "is_judged": group == "judge",
        "sentence": with_terms(printable(str(claim.get("sentence") or ""), limit=600)),
        "line": with_names(printable(line, limit=300), [] if parts else conditions),
        "parts": [printable(part, limit=160) for part in parts],
        "sizes": describe_sizes(_as_claim(claim), document_words(claim)) if group == "open" else "",
        "reason": printable(str(claim.get("reason") or ""), limit=300) if group == "blocked" else "",
        "remedy": printable(str(claim.get("remedy") or ""), limit=300) if group == "blocked" else "",
        "numbers": with_terms("; ".join(claim_numbers(claim))),
        "method": printable(str(interval.get("method") or ""), limit=80) if isinstance(interval, Mapping) else "",
        "bar": bar_of(claim.get("estimate"), interval, claim.get("better")) if two else None,
        "pair": {"condition": conditions[0], "other": conditions[1]} if two else None,
    }


def _line(claim: Claim, group: str, *, from_winner: bool) -> tuple[str, Sequence[str]]:
    """A claim in one line; where its group says how it came out, its conditions, measure and numbers as parts too."""
    if group == "blocked":
        return describe_blocked_row(claim), ()
    who, measure, numbers = claim_parts(
        claim, joined_by="over" if from_winner and side_of(claim) == "better" else "against"
    )
    if who and (from_winner or group in ("open", "judge")):
        return f"{who}, {measure}: {numbers}", (who, measure, numbers)
    return str(claim.get("sentence") or ""), ()


def _as_claim(claim: Claim) -> Any:
    """What sentences on sizes read of a claim, from a document."""
    fields = {"margin": None, "needed": None, "min_detectable_difference": None, "units": 0, "unit": "item", "n": 0}
    found = {key: claim.get(key) or otherwise for key, otherwise in fields.items()}
    sizes = [SimpleNamespace(**step) for step in claim.get("sizes") or ()]
    return SimpleNamespace(**found, sizes=sizes, conditions=tuple(claim.get("conditions") or ()))


def bar_of(
    estimate: Any, interval: Any, better: Any, *, ends: tuple[float, float] | None = None
) -> dict[str, Any] | None:
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


# ---- groups ------------------------------------------------------------------------------------------------------


def claim_groups(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """The claims by what they mean for the reader: better or worse, practically the same, and what cannot be said."""
    by_group: dict[str, list[tuple[Claim, int]]] = {}
    for place, claim in enumerate(claims, start=1):
        by_group.setdefault(group_of(claim), []).append((claim, place))
    pairs = [c["conditions"] for c in claims if len(c.get("conditions") or ()) == 2]
    is_board = len({n for pair in pairs for n in pair}) > 2 and len({pair[0] for pair in pairs}) > 1
    return [_group(key, by_group[key], from_winner=is_board) for key in TITLES if key in by_group]


TITLES = {
    "differ": "Better or worse",
    "alike": SIDES["alike"],
    "open": SIDES["open"],
    "judge": "By the judge's grades only",
    "blocked": "Not compared",
}


def group_of(claim: Claim) -> str:
    """The group of the page that a claim stands in: what only an unchecked judge shows stands by itself."""
    if claim.get("verdict") == "blocked" and claim.get("reason"):
        return "blocked"
    found = side_of(claim)
    if claim.get("basis") == JUDGE_UNCHECKED and found != "open":
        return "judge"
    return "differ" if found in ("better", "worse") else found


def _group(key: str, own: Sequence[tuple[Claim, int]], *, from_winner: bool) -> dict[str, Any]:
    """One group: its first claims listed, the others folded; the sizes that would settle the first of them."""
    rows = [_claim(*c, from_winner=from_winner) for c in own[:MOST_CLAIMS]]
    is_of_pairs = any(len(claim.get("conditions") or ()) == 2 for claim, _ in own)
    more = f"{len(own) - EACH:,} more"
    if len(own) > len(rows):
        more += f", {len(rows) - EACH} of them here; JSON has all (richter report .. --json results.json)"
    return {
        "side": key,
        "title": TITLES[key] if is_of_pairs or key != "differ" else "Shown",
        "size": len(own),
        "shown": rows[:EACH],
        "more": rows[EACH:],
        "more_words": more,
    }


# ---- pairs -------------------------------------------------------------------------------------------------------


def lead_pair(document: Mapping[str, Any]) -> list[str]:
    """The two conditions that counts and answers are shown of: of several the best, after the nearest that it beats.

    Where nothing was shown, the pair of the first claim; without claims the first two conditions.
    """
    pairs = pair_claims(document)
    shown = [c for c in pairs if side_of(c) in ("better", "worse")]
    main = [c for c in shown if c.get("primary")] or shown
    if not pairs:
        return [str(c.get("name")) for c in (document.get("conditions") or [])[:2]]
    if not main or len(document.get("conditions") or ()) <= 2 or control_of(document):
        return list((main or pairs)[0]["conditions"])
    return _best_and_nearest(main)


def pair_claims(document: Mapping[str, Any]) -> list[Claim]:
    """The claims on two conditions."""
    return [c for c in document.get("claims") or [] if len(c.get("conditions") or ()) == 2]


def _best_and_nearest(shown: Sequence[Claim]) -> list[str]:
    """The nearest condition that the best one beats, and the best one."""
    beaten = {_in_order(c)[0] for c in shown}
    winners = {_in_order(c)[1]: own_value(c) for c in shown}
    unbeaten = [n for n in winners if n not in beaten] or list(winners)
    best = max(unbeaten, key=winners.__getitem__)
    own = [c for c in shown if _in_order(c)[1] == best]
    return _in_order(min(own, key=lambda c: (near_distance(c), _in_order(c)[0])))


def _in_order(claim: Claim) -> list[str]:
    """The two conditions of a claim that shows a difference, the better one last."""
    first, second = claim["conditions"]
    return [first, second] if side_of(claim) == "better" else [second, first]


def control_of(document: Mapping[str, Any]) -> str | None:
    """The condition that all others are compared with, where one is named; of two that were compared the first."""
    comparison = comparison_of(document)
    control = (comparison.get("options") or {}).get("control")
    if control:
        return str(control)
    names = list(comparison.get("conditions") or ())
    pairs = pair_claims(document)
    return str(pairs[0]["conditions"][0]) if len(names) == 2 and pairs else None


def comparison_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The comparison in a document; empty where it has none."""
    section = (document.get("sections") or {}).get("floors") or {}
    return (section.get("comparison") if isinstance(section, Mapping) else None) or {}


def pair_matrix(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """All pairs of more than two conditions on the main measure: rows and columns best first, a cell for each pair."""
    conditions = [str(c.get("name")) for c in best_first(document.get("conditions") or [])]
    main = _main_pairs(document)
    if not 2 < len(conditions) <= MOST_IN_MATRIX or len(main) < 3:
        return None
    found: dict[tuple[str, str], dict[str, Any]] = {}
    in_numbers = len(conditions) <= MOST_IN_NUMBERS
    for k, claim in main:
        first, second = claim["conditions"]
        found[second, first] = _pair_cell(claim, k, in_numbers=in_numbers, turned=False)
        found[first, second] = _pair_cell(claim, k, in_numbers=in_numbers, turned=True)
    return {
        "noun": document_words(main[0][1]).noun,
        "names": [name(c) for c in conditions],
        "in_numbers": in_numbers,
        "rows": [(name(row), [found.get((row, column)) for column in conditions]) for row in conditions],
    }


def _main_pairs(document: Mapping[str, Any]) -> list[tuple[int, Claim]]:
    """The claims on pairs by the main measure, with their numbers."""
    numbered = [(k, c) for k, c in enumerate(document.get("claims") or [], start=1)]
    pairs = [(k, c) for k, c in numbered if len(c.get("conditions") or ()) == 2]
    main = [(k, c) for k, c in pairs if c.get("primary")] or pairs
    return [(k, c) for k, c in main if c.get("measure") == main[0][1].get("measure")]


SIGNS = {"better": "▲", "worse": "▼", "alike": "≈", "open": "?", "blocked": "×"}
_OTHER = {"better": "worse", "worse": "better"}


def _pair_cell(claim: Claim, place: int, *, in_numbers: bool, turned: bool) -> dict[str, Any]:
    """A pair as seen from the row's condition: how it came out and by how much."""
    side = "blocked" if group_of(claim) == "blocked" else side_of(claim)
    side = _OTHER.get(side, side) if turned else side
    return {
        "side": side,
        "sign": SIGNS[side],
        "amount": describe_difference_in_cell(claim, turned=turned) if in_numbers and side != "blocked" else "",
        "claim": place,
    }
