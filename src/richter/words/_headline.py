"""The answer to the question of a page, made from its claims by rule and never beyond them."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Literal

from richter.claims._measures import Metric, Scale, claim_words, measure_words
from richter.records import Claim, Verdict

__all__ = ["SIDES", "Side", "answer", "rail", "side"]

Side = Literal["better", "worse", "alike", "open"]
SIDES: Mapping[Side, str] = {
    "better": "Better",
    "worse": "Worse",
    "alike": "Practically the same",
    "open": "Cannot be said",
}
MOST_NAMED = 4  # beyond, conditions are counted
_SHOWN = (Verdict.VERIFIED, Verdict.REFUTED)


def side(claim: Claim) -> Side:
    """Whether a claim is good or bad news for what it speaks of (the second of two conditions), or neither.

    A difference that was shown is better or worse by its sign and by which end of the measure is good; a requirement
    or a limit is good news where it holds. Everything else is open, or alike where equivalence was shown.
    """
    if claim.verdict is Verdict.EQUIVALENT:
        return "alike"
    if claim.verdict not in _SHOWN or claim.estimate is None or claim.better is None:
        return "open"
    asked = claim.hypothesis
    value = 0.0 if asked is None else asked.value
    if len(claim.conditions) == 1 and asked is not None and asked.relation in ("above", "below"):
        above = (asked.relation == "above") == (claim.verdict is Verdict.VERIFIED)
    else:
        above = claim.estimate > value
    return "better" if above == (claim.better == "higher") else "worse"


def rail(estimate: float, low: float, high: float, *, better: str | None) -> tuple[float, ...]:
    """Where the low end, the estimate and the high end of a difference stand, from 0 (worse) over 0.5 to 1 (better).

    The one rule by which page, terminal and comment turn a bar: right is better for the reader, whatever the measure.
    """
    if better == "lower":
        estimate, low, high = -estimate, -high, -low
    reach = max((abs(v) for v in (estimate, low, high) if v and math.isfinite(v)), default=1.0)
    return tuple(min(max((v / reach + 1) / 2, 0.0), 1.0) for v in (low, estimate, high))


def answer(
    claims: Sequence[Claim],
    *,
    conditions: Sequence[str],
    candidate: str | None = None,
    baseline: str | None = None,
    scale: Scale | None = None,
) -> str:
    """One or two plain sentences that answer "which is better?" from the claims on pairs of these conditions.

    Only claims that were shown are said as facts, the primary ones first; where none was, it says so and how far apart
    the two may be. "Do not ship" is said only of a named candidate that was shown to be worse than a named baseline.
    `scale` holds the ends of the scale of scores.
    """
    pairs = [c for c in claims if len(c.conditions) == 2]
    if len(conditions) < 2:
        return _alone(claims)
    judged = next((f", {c.judged}." for c in pairs if c.decided and c.judged), ".")
    if len(conditions) > 2:
        return _board(pairs, conditions).removesuffix(".") + judged
    first, second = conditions
    own = [c for c in pairs if set(c.conditions) == {first, second}]
    text = _pair(own, first, second, scale).removesuffix(".") + judged
    shown = next((seen for c in _in_order(own) if (seen := _seen_from(c, second)) in ("better", "worse")), "")
    if candidate == second and baseline == first and shown == "worse":
        text += f" Do not ship {second}."
    return text


def _in_order(claims: Sequence[Claim]) -> list[Claim]:
    """What is tested first is said first."""
    return sorted(claims, key=lambda c: not c.primary)


def _pair(claims: Sequence[Claim], first: str, second: str, scale: Scale | None) -> str:
    ordered = _in_order(claims)
    found: dict[Side, list[Claim]] = {}
    for claim in ordered:
        found.setdefault(_seen_from(claim, second), []).append(claim)
    shown = {word: _listed(own, second, scale) for word, own in found.items() if word in ("better", "worse")}
    if len(shown) == 2:
        (word, one), (other, rest) = shown.items()
        return f"{second} is {word} than {first} in some ways and {other} in others: it is {one}, but {rest}."
    for word, one in shown.items():
        return f"{second} is {word} than {first}: it is {one}."
    if alike := found.get("alike"):
        words, margin = measure_words(alike[0].measure, scale), alike[0].margin
        within = "" if margin is None else f" within {words.amount(margin)}{words.suffix}{words.read_on}"
        return f"{second} and {first} are {words.alike_word}{within}."
    return _describe_open_pair(ordered, first, second, scale)


def _describe_open_pair(claims: Sequence[Claim], first: str, second: str, scale: Scale | None) -> str:
    """What is said of a pair of which nothing was shown: how far apart the two may be."""
    tested = [c for c in claims if c.estimate is not None and (c.interval or c.plain_interval)]
    if not tested:
        return f"Whether {second} is better than {first} cannot be said from these data."
    claim = tested[0]
    words, span = claim_words(claim, scale), claim.interval or claim.plain_interval
    assert span is not None
    ends = sorted((span.low, span.high) if claim.conditions[1] == second else (-span.low, -span.high))
    lead = f"These data do not show whether {second} is better than {first}: its {words.noun} may differ by "
    if not all(map(math.isfinite, ends)):
        return f"{lead}anything."
    low, high = (words.telling(*ends).amount(x, sign=True) for x in ends)
    return f"{lead}{low} to {high}{words.suffix}{words.read_on}."


def _board(claims: Sequence[Claim], conditions: Sequence[str]) -> str:
    """Of three or more; a condition that could be compared with none is named, not counted as beaten."""
    lead = [c for c in claims if c.primary]
    if not lead:
        return f"No two of the {len(conditions)} conditions could be compared."
    words = measure_words(lead[0].measure)
    lead = [c for c in lead if c.measure == lead[0].measure]
    beaten = {name for c in lead for name in c.conditions if _seen_from(c, name) == "worse"}
    compared, unbeaten = _ranked(lead, conditions, beaten)
    apart = [name for name in conditions if name not in compared]
    left = f"; {_named(apart)} could not be compared" if apart else ""
    if len(unbeaten) == len(compared):
        return f"By {words.noun} none of the {len(compared)} conditions is shown to be worse than another{left}."
    if not unbeaten:  # possible where pairs share different items
        return f"By {words.noun} no condition is the best: each one is shown to be worse than some other{left}."
    if len(unbeaten) == 1:
        over = _describe_beaten(lead, unbeaten[0], len(compared) - 1, is_all=not apart)
        return f"By {words.noun} {unbeaten[0]} is the best: it is shown to be better than {over}{left}."
    if len(unbeaten) > MOST_NAMED:
        return f"By {words.noun} {_describe_many_unbeaten(compared, unbeaten)}{left}."
    best = f"{_named(unbeaten)} are the best of {len(compared)}"
    return f"By {words.noun} {best}; among them no difference is shown{left}."


def _describe_many_unbeaten(compared: Sequence[str], unbeaten: Sequence[str]) -> str:
    """That many conditions cannot be told apart, and which ones some other beats."""
    rest = [name for name in compared if name not in unbeaten]
    worse = f"{_named(rest)} {'is' if len(rest) == 1 else 'are'} shown to be worse than some other"
    which = f"{', '.join(unbeaten[:MOST_NAMED])} and {len(unbeaten) - MOST_NAMED} more"
    return f"{len(unbeaten)} of {len(compared)} conditions cannot be told apart ({which}); {worse}"


def _ranked(lead: Sequence[Claim], conditions: Sequence[str], beaten: set[str]) -> tuple[list[str], list[str]]:
    """The conditions that were compared, and those that none beats, by their mean value, the best first."""
    seen = {name for c in lead for name in c.conditions}
    own: dict[str, list[float]] = {}
    for name, value in (pair for c in lead for pair in zip(c.conditions, c.values, strict=False)):
        own.setdefault(name, []).extend([] if value is None else [value])
    compared = [name for name in conditions if name in seen]
    means = {name: sum(values) / len(values) for name, values in own.items() if values}
    best_first = sorted((n for n in compared if n in means), key=means.__getitem__, reverse=lead[0].better == "higher")
    return compared, [n for n in dict.fromkeys((*best_first, *compared)) if n not in beaten]


def _describe_beaten(lead: Sequence[Claim], best: str, number: int, *, is_all: bool) -> str:
    """How many of the `number` others the best one is shown to beat; `is_all`: there are no more than these."""
    over = sum(_seen_from(c, best) == "better" for c in lead if best in c.conditions)
    if over < number:
        return f"{over} of {number} others"
    if is_all:
        return "every other"
    return f"the {number} others" if number > 1 else "the other"


def _named(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{len(names)} conditions"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _alone(claims: Sequence[Claim]) -> str:
    said = [c for c in claims if side(c) in ("better", "worse")]
    worst = next((c for c in said if side(c) == "worse"), None)
    if worst is not None:
        return worst.sentence
    return said[0].sentence if said else "There is one condition: its figures are below, nothing is compared."


def _seen_from(claim: Claim, name: str) -> Side:
    """The side of a claim as it is for one of its two conditions."""
    found = side(claim)
    if found in ("alike", "open") or claim.conditions[1] == name:
        return found
    return "worse" if found == "better" else "better"


def _listed(claims: Sequence[Claim], name: str, scale: Scale | None) -> str:
    parts = []
    for claim in claims[:3]:
        words = measure_words(claim.measure, scale)
        word = words.better_word if _seen_from(claim, name) == "better" else words.worse_word
        parts.append(word + _values(claim, words, name))
    if len(claims) > 3:
        parts.append(f"{len(claims) - 3} more")
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _values(claim: Claim, words: Metric, name: str) -> str:
    if len(claim.values) != 2 or any(v is None for v in claim.values):
        return ""
    own, other = claim.values if claim.conditions[0] == name else claim.values[::-1]
    assert own is not None
    assert other is not None
    if (
        words.name == "ece" and min(own, other) <= 0
    ):  # none was found beyond chance, which does not say that there is none
        return ""
    if words.read_on:
        words = dataclasses.replace(words, digits=2)
    words = words.telling(own, other)
    of = "calibration error " if words.name == "ece" else ""
    if claim_words(claim).suffix == "%" and words.kind == "real":
        of = "geometric means "
    return f" ({of}{words.amount(own)}{words.unit} against {words.amount(other)}{words.unit}{words.read_on})"
