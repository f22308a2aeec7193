"""What a first screen says: headline, counts and sizes, from claims by rule and never beyond them."""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Literal

from richter.claims._measures import Metric, claim_words, measure_words
from richter.records import Claim, Result, Verdict
from richter.words._claim_sentences import (
    INCONCLUSIVE,
    as_sentence,
    describe_gap,
    describe_judge_bias,
    describe_label_change,
)
from richter.words._spans import describe_ends, describe_sizes, describe_span, digits_by_width, stated_amount

__all__ = ["SIDES", "FirstLines", "Side", "answer", "describe_counts", "first_lines", "lines_below", "rail", "side"]

Side = Literal["better", "worse", "alike", "open"]
SIDES: Mapping[Side, str] = {
    "better": "Better",
    "worse": "Worse",
    "alike": "No practical difference",
    "open": "Inconclusive",
}
MOST_NAMED = 4  # beyond, conditions are counted
_SHOWN = (Verdict.VERIFIED, Verdict.REFUTED)


def side(claim: Claim) -> Side:
    """Whether a claim is good or bad news for what it speaks of (the second of two conditions), or neither.

    A difference that was shown is better or worse by its sign and by which end of the measure is good; a requirement,
    a limit is good news where it holds. Everything else is open, or alike where equivalence was shown.
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FirstLines(Result):
    """What a first screen says: the `headline`, who leads on `others` (measures beside the main one), the `counts`
    behind it, the `sizes` that would settle it, a `doubt`."""

    headline: str
    others: str = ""
    counts: str = ""
    sizes: str = ""
    doubt: str = ""


def first_lines(
    claims: Sequence[Claim],
    *,
    conditions: Sequence[str],
    changed: Mapping[tuple[str, ...], tuple[int, int]] | None = None,
    control: str | None = None,
    candidate: str | None = None,
    baseline: str | None = None,
) -> FirstLines:
    """The headline, the counts and the sizes of a comparison; `changed` has the fixed and broken items of pairs."""
    headline = answer(claims, conditions=conditions, control=control, candidate=candidate, baseline=baseline)
    main = [c for c in claims if c.primary and len(c.conditions) == 2]
    is_board = len(conditions) > 2
    sizes = _describe_nearest_sizes(main, is_board=is_board)
    if is_board:
        own = [c for c in claims if len(c.conditions) == 2 and not c.primary and ":" not in c.measure]
        others = _describe_other_leaders(own, conditions, control)
        return FirstLines(headline=headline, others=others, sizes=sizes)
    if not main:
        return FirstLines(headline=headline)
    return FirstLines(
        headline=headline,
        counts=describe_counts(main[0], (changed or {}).get(main[0].conditions)),
        sizes=sizes,
        doubt=describe_judge_bias(main[0], claim_words(main[0])),
    )


def _describe_nearest_sizes(main: Sequence[Claim], *, is_board: bool) -> str:
    """The sizes of the best pair that is inconclusive; empty where missing answers come first."""
    waiting = [c for c in main if c.verdict is Verdict.UNDECIDED and c.min_detectable_difference is not None]
    if not waiting or any(c.without_missing is not None for c in main):
        return ""
    nearest = best_pair(waiting)
    sizes = describe_sizes(nearest, claim_words(nearest))
    return f"Between {_named(nearest.conditions)}, {sizes[:1].lower()}{sizes[1:]}" if is_board else sizes


def lines_below(first: Mapping[str, str]) -> list[str]:
    """What a first screen says under its headline, from the fields of `FirstLines`."""
    others = f"Other measures: {first['others']}" if first.get("others") else ""
    return [line for line in (others, *(first.get(key, "") for key in ("counts", "sizes", "doubt"))) if line]


def best_pair(claims: Sequence[Claim]) -> Claim:
    """Of claims on one measure the one on the best two: the pair that is said first to need more questions."""
    best = min if claims[0].better == "lower" else max
    return best(claims, key=lambda c: sum(filter(None, c.values)))


def describe_counts(claim: Claim, changed: tuple[int, int] | None = None) -> str:
    """What two conditions got, as everybody counts it; `changed` are the questions fixed and broken."""
    values = [v for v in claim.values if v is not None and math.isfinite(v)]
    words = claim_words(claim)
    if len(values) != 2 or words.is_cost:
        return ""
    if claim.measure in ("accuracy", "error_rate"):
        return _describe_right(claim, values, changed)
    span = claim.plain_interval
    words = words if span is None else digits_by_width(words, span.low, span.high)
    other, own = (f"{words.amount(value)}{words.unit}" for value in values)
    first, second = claim.conditions
    return f"{words.noun[0].upper()}{words.noun[1:]}: {own} for {second}, {other} for {first}{words.read_on}."


def _describe_right(claim: Claim, values: Sequence[float], changed: tuple[int, int] | None) -> str:
    """How many questions each got right; shares where these are not counts of the same questions, as labels left them
    after a correction."""
    first, second = claim.conditions
    low, high = values if claim.measure == "accuracy" else (1 - v for v in values)
    right = [value * claim.n for value in (low, high)]
    if claim.apart or claim.labels or any(abs(x - round(x)) > 1e-6 for x in right):
        return f"{second} is right in {100 * high:.1f}% of its answers, {first} in {100 * low:.1f}%."
    more = "" if changed is None else f": {changed[0]:,} fixed, {changed[1]:,} broken"
    return f"{second} got {round(right[1]):,} of {claim.n:,} right, {first} {round(right[0]):,}{more}."


def answer(
    claims: Sequence[Claim],
    *,
    conditions: Sequence[str],
    control: str | None = None,
    candidate: str | None = None,
    baseline: str | None = None,
) -> str:
    """One or two sentences that answer "which is better?" from the claims on pairs of these conditions.

    Only claims that were shown are said as facts, the primary ones first; where none was, it says so and how far apart
    the two may be. "Do not ship" is said only of a named candidate that was shown to be worse than a named baseline.
    """
    pairs = [c for c in claims if len(c.conditions) == 2]
    if len(conditions) < 2:
        return _alone(claims)
    lead = [c for c in pairs if c.primary] or pairs  # what a judge gave beside the main measure is no part of it
    judged = next((c.judged for c in lead if c.judged), "")
    if judged:  # said once of the whole headline, so not again of its parts
        pairs = [dataclasses.replace(c, judged="") for c in pairs]
    if len(conditions) > 2:
        text = _several(pairs, conditions, control)
    else:
        text = _both(pairs, conditions, is_candidate=[*conditions] == [baseline, candidate])
    text = f"By the judge's grades, {_lowered(text)} {as_sentence(judged)}" if judged else text
    return f"{_describe_changed_by_labels(pairs)} {text}{_describe_apart(pairs)}".lstrip()


def _describe_apart(pairs: Sequence[Claim]) -> str:
    """That conditions are compared on questions of their own: of several pairs how many; empty where none is."""
    main = [c for c in pairs if c.primary and c.estimate is not None]
    apart = sum(c.apart for c in main)
    if not apart:
        return ""
    who = "They" if apart == len(main) else f"{apart} of {len(main)} pairs"
    return f" {who} are compared as on different questions."


def _both(claims: Sequence[Claim], conditions: Sequence[str], *, is_candidate: bool) -> str:
    """What the claims show of two conditions; where the candidate for shipping is worse, not to ship it."""
    first, second = conditions
    own = _in_order([c for c in claims if set(c.conditions) == {first, second}])
    is_worse = is_candidate and _first_shown(own, second) == "worse"
    return _pair(own, first, second) + (f" Do not ship {second}." if is_worse else "")


def _describe_changed_by_labels(pairs: Sequence[Claim]) -> str:
    """That human labels changed the answer on the main measure; of several pairs how many."""
    main = [c for c in pairs if c.primary and c.estimate is not None]
    changes = [text for c in main if (text := describe_label_change(c, claim_words(c)))]
    if len(main) > 1 and changes:
        uncorrected = sum(not c.labels for c in main)
        rest = f"; too few labels for {uncorrected}, which are as graded" if uncorrected else ""
        return f"Your labels change {len(changes)} of {len(main)} comparisons{rest}."
    return "".join(changes)


def _first_shown(claims: Sequence[Claim], name: str) -> str:
    """The side of the first claim that shows a difference, as it is for a condition; empty where none does."""
    sides = [_seen_from(c, name) for c in claims]
    return next((seen for seen in sides if seen in ("better", "worse")), "")


def _lowered(text: str) -> str:
    """A headline after a comma: its own first word in small letters, a name as it is written."""
    own = ("Inconclusive", "On ", "No practical", "Can't", "Compared")
    return text[0].lower() + text[1:] if text.startswith(own) else text


def _in_order(claims: Sequence[Claim]) -> list[Claim]:
    """What is tested first is said first."""
    return sorted(claims, key=lambda c: not c.primary)


# ------------------------------------------------------------------ two conditions


def _pair(claims: Sequence[Claim], first: str, second: str) -> str:
    """The main measure with its interval, then what else was shown."""
    ordered = _in_order(claims)
    tested = [c for c in ordered if c.interval or c.plain_interval]
    if not tested:
        return _describe_blocked_pair(ordered, first, second)
    return f"{_describe_main(tested[0], first, second)}{_describe_others(tested[1:], second)}"


def _describe_blocked_pair(claims: Sequence[Claim], first: str, second: str) -> str:
    """Why a pair has no answer."""
    reason = next((c.reason for c in claims if c.reason), "")
    return f"Can't compare {second} with {first}: {reason.rstrip('.') or 'there is nothing to compare them by'}."


def _describe_main(claim: Claim, first: str, second: str) -> str:
    """The claim on the main measure as a headline, spoken of the second condition."""
    words, span = claim_words(claim), claim.interval or claim.plain_interval
    assert span is not None
    assert claim.estimate is not None
    estimate, interval = claim.estimate, span
    if claim.conditions[1] != second:
        estimate, interval = -estimate, dataclasses.replace(span, low=-span.high, high=-span.low)
    numbers = describe_span(words, estimate, interval, is_difference=True)
    seen = _seen_from(claim, second)
    if seen == "alike":
        margin = "" if claim.margin is None else f" (margin {stated_amount(words, claim.margin, is_difference=True)})"
        return f"No practical difference between {first} and {second}{margin}: {numbers}{words.read_on}."
    if seen in ("better", "worse"):
        return f"{second} is {_headline_word(words, seen)} than {first}: {numbers}{words.read_on}."
    if claim.without_missing is not None and claim.missing_as_worst is not None:
        return _describe_missing_headline(claim, words, second)
    shown = digits_by_width(words, interval.low, interval.high)
    gap = describe_gap(shown, (first, second), estimate)
    return f"{INCONCLUSIVE}: {gap} ({describe_ends(shown, interval, is_difference=True)}){words.read_on}."


def _headline_word(words: Metric, seen: Side) -> str:
    """Better or worse in quality; what is paid and what is not a score keeps its own word."""
    if words.source == "score" and words.name in ("accuracy", "error_rate", "mean_score"):
        return seen
    return words.better_word if seen == "better" else words.worse_word


def _describe_missing_headline(claim: Claim, words: Metric, second: str) -> str:
    """That the answer depends on missing grades: first the figure to quote, then what they may change it to."""
    assert claim.without_missing is not None
    assert claim.missing_as_worst is not None
    sign = 1 if claim.conditions[1] == second else -1
    lacking = {name: n for name, n in claim.missing.items() if n}
    whose = f"{sum(lacking.values()):,} missing answers"
    if len(lacking) == 1:
        ((who, number),) = lacking.items()
        whose = f"the {number:,} answers that {who} is missing"
    ways = []
    for way in (claim.without_missing, claim.missing_as_worst):
        ends = (way.interval.low, way.interval.high) if sign > 0 else (-way.interval.high, -way.interval.low)
        interval = dataclasses.replace(way.interval, low=ends[0], high=ends[1])
        shown = digits_by_width(words, *ends)
        is_better = (sign * way.estimate > 0) == (words.better == "higher")
        amount = f"{shown.amount(abs(way.estimate))}{words.suffix} {'better' if is_better else 'worse'}"
        ways.append(f"{amount} ({describe_ends(shown, interval, is_difference=True)})")
    on = "Without them" if claim.apart else f"On the {claim.n:,} questions that both answered"
    return (
        f"{INCONCLUSIVE}: it depends on {whose}. {on}, {second} is {ways[0]}. "
        f"If the missing ones all count as wrong, it is {ways[1]}."
    )


def _describe_others(claims: Sequence[Claim], second: str) -> str:
    """What else was shown of two conditions, without its numbers."""
    gains = [c for c in claims if _seen_from(c, second) == "better" and ":" not in c.measure]
    losses = [c for c in claims if _seen_from(c, second) == "worse" and ":" not in c.measure]
    better = [claim_words(c).better_word + _judge_mark([c]) for c in gains]
    worse = [claim_words(c).worse_word + _judge_mark([c]) for c in losses]
    return _listed("Other gains", better) + _listed("Other losses", worse)


def _judge_mark(claims: Sequence[Claim]) -> str:
    """What stands behind a measure beside the main one that rests on a judge whom nobody has checked."""
    return " (unchecked judge)" if any(c.judged for c in claims) else ""


def _listed(title: str, words: Sequence[str]) -> str:
    """A sentence that lists words, three at most; empty where there are none."""
    if len(words) > 3:
        return f" {title}: {', '.join(words[:3])} and {len(words) - 3} more."
    return f" {title}: {_named(words)}." if words else ""


# ------------------------------------------------------------------ several conditions


def _several(pairs: Sequence[Claim], conditions: Sequence[str], control: str | None) -> str:
    """Three or more conditions: all against one, or all with all."""
    if control in conditions:
        return _against_control([c for c in pairs if c.primary], conditions, control)
    return _board(pairs, conditions)


def _describe_other_leaders(claims: Sequence[Claim], conditions: Sequence[str], control: str | None) -> str:
    """Who is shown to lead, or to be better or worse than the control, on measures besides the main one."""
    by_measure = {c.measure: [own for own in claims if own.measure == c.measure] for c in claims}
    describe = _leaders_on if control not in conditions else functools.partial(_sides_of_control, control=str(control))
    nouns: dict[str, list[str]] = {}
    for measure, own in by_measure.items():
        for who in describe(own, conditions):
            nouns.setdefault(who, []).append(measure_words(measure).noun + _judge_mark(own))
    found = [f"{who} on {_named(on)}" for who, on in nouns.items()]
    more = f"; {len(found) - 3} more" if len(found) > 3 else ""
    return f"{'; '.join(found[:3])}{more}." if found else ""


def _leaders_on(claims: Sequence[Claim], conditions: Sequence[str]) -> list[str]:
    beaten = {name for c in claims for name in c.conditions if _seen_from(c, name) == "worse"}
    unbeaten = _ranked(claims, conditions, beaten)[1] if beaten else []
    return [f"{_named(unbeaten)} {'is best' if len(unbeaten) == 1 else 'lead'}"] if unbeaten else []


def _sides_of_control(claims: Sequence[Claim], conditions: Sequence[str], control: str) -> list[str]:
    better = [n for n in conditions if _beats(claims, n, control)]
    worse = [n for n in conditions if _beats(claims, control, n)]
    sides = ((better, "better"), (worse, "worse"))
    return [f"{_named(names)} {'is' if len(names) == 1 else 'are'} {word}" for names, word in sides if names]


def _against_control(lead: Sequence[Claim], conditions: Sequence[str], control: str | None) -> str:
    """How each condition came out against the control."""
    assert control is not None
    seen = {name: _seen_from(c, name) for c in lead if c.estimate is not None for name in c.conditions}
    found: dict[str, list[str]] = {}
    for name in (name for name in conditions if name != control):
        found.setdefault(seen.get(name, "blocked"), []).append(name)
    verbs = {
        "better": ("is better", "are better"), "worse": ("is worse", "are worse"),
        "alike": ("shows no practical difference", "show no practical difference"),
        "open": ("is inconclusive", "are inconclusive"), "blocked": ("could not be compared", "could not be compared"),
    }  # fmt: skip
    parts = [f"{_named(found[key])} {verbs[key][len(found[key]) > 1]}" for key in verbs if key in found]
    on = f"On {measure_words(lead[0].measure).noun}, compared" if lead else "Compared"
    return f"{on} with {control}: {'; '.join(parts)}."


def _board(claims: Sequence[Claim], conditions: Sequence[str]) -> str:
    """Of three or more; a condition that could be compared with none is named, not counted as beaten."""
    lead = [c for c in claims if c.primary]
    if not lead:
        return f"Can't compare any two of the {len(conditions)}."
    lead = [c for c in lead if c.measure == lead[0].measure]
    noun = measure_words(lead[0].measure).noun
    beaten = {name for c in lead for name in c.conditions if _seen_from(c, name) == "worse"}
    compared, unbeaten = _ranked(lead, conditions, beaten)
    if not compared:
        return _describe_blocked_board(lead, conditions)
    apart = [name for name in conditions if name not in compared]
    left = f" Can't compare {_named(apart)}." if apart else ""
    return f"{_describe_leaders(lead, noun, compared, unbeaten)}{left}"


def _describe_blocked_board(lead: Sequence[Claim], conditions: Sequence[str]) -> str:
    reason = next((c.reason for c in lead if c.reason), "")
    return f"Can't compare any two of the {len(conditions)}: {reason.rstrip('.') or 'nothing is shared'}."


def _describe_leaders(lead: Sequence[Claim], noun: str, compared: Sequence[str], unbeaten: Sequence[str]) -> str:
    """Which conditions none is shown to beat, and whom they beat."""
    rest = [name for name in compared if name not in unbeaten]
    if not rest:
        return f"{INCONCLUSIVE}: on {noun} we can't tell the {len(compared)} apart."
    if not unbeaten:  # possible where pairs share different items
        return f"On {noun} there is no best one: each is worse than some other."
    if len(unbeaten) == 1:
        return f"On {noun}, {unbeaten[0]} is best: it beats {_describe_beaten(lead, unbeaten[0], rest)}."
    if len(unbeaten) > MOST_NAMED:
        named = f"{', '.join(unbeaten[:MOST_NAMED])} and {len(unbeaten) - MOST_NAMED} more"
        return f"On {noun}, {len(unbeaten)} of {len(compared)} lead; we can't tell them apart: {named}."
    both = "both beat" if len(unbeaten) == 2 else "all beat"
    if len(rest) <= 2 and all(_beats(lead, one, other) for one in unbeaten for other in rest):
        return f"On {noun}, {_named(unbeaten)} {both} {_named(rest)}. We can't tell them apart."
    return f"On {noun}, {_named(unbeaten)} lead; we can't tell them apart."


def _beats(lead: Sequence[Claim], one: str, other: str) -> bool:
    return any(set(c.conditions) == {one, other} and _seen_from(c, one) == "better" for c in lead)


def _describe_beaten(lead: Sequence[Claim], best: str, rest: Sequence[str]) -> str:
    """Whom the best one is shown to beat; the others could not be told from it."""
    over = [name for name in rest if _beats(lead, best, name)]
    if len(over) == len(rest):
        return _named(rest) if len(rest) <= 2 else f"all {len(rest)} others"
    return f"{len(over)} of {len(rest)} others"


def _ranked(lead: Sequence[Claim], conditions: Sequence[str], beaten: set[str]) -> tuple[list[str], list[str]]:
    """The conditions that were compared, and those that none beats, by their mean value, the best first."""
    tested = [c for c in lead if c.estimate is not None]
    seen = {name for c in tested for name in c.conditions}
    own: dict[str, list[float]] = {}
    for name, value in (pair for c in tested for pair in zip(c.conditions, c.values, strict=False)):
        own.setdefault(name, []).extend([] if value is None else [value])
    compared = [name for name in conditions if name in seen]
    means = {name: sum(values) / len(values) for name, values in own.items() if values}
    best_first = sorted((n for n in compared if n in means), key=means.__getitem__, reverse=lead[0].better == "higher")
    return compared, [n for n in dict.fromkeys((*best_first, *compared)) if n not in beaten]


def _named(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[: MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


# ------------------------------------------------------------------ one condition


def _alone(claims: Sequence[Claim]) -> str:
    shown = [c for c in claims if side(c) in ("better", "worse")]
    worst = next((c for c in shown if side(c) == "worse"), None)
    if worst is not None:
        return worst.sentence
    return shown[0].sentence if shown else "There is one model or prompt: nothing is compared."


def _seen_from(claim: Claim, name: str) -> Side:
    """The side of a claim as it is for one of its two conditions."""
    found = side(claim)
    if found in ("alike", "open") or claim.conditions[1] == name:
        return found
    return "worse" if found == "better" else "better"
