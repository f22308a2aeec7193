"""Every sentence that the page makes itself, from the claims and facts of a results document.

A figure's sentences are in `_figure_texts.py`, a claim's in `_claim_sentences.py`. Nothing here draws or lays out.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from richter.claims import JUDGE_UNCHECKED, Metric, claim_words, measure_words
from richter.records import DEFAULT_LEVEL, Claim, Interval, Verdict, at_most, plain, printable, refusals
from richter.words._headline import describe_counts, side
from richter.words._spans import (
    among,
    count,
    describe_level,
    describe_span,
    digits_by_width,
    interval_words,
    name,
    number,
    percent,
)

if TYPE_CHECKING:
    from richter.report import Evidence

Document = Mapping[str, Any]
Ends = tuple[float, float]
MOST_BEST = 2  # of those that none beats, whose difference from the nearest other the first screen says
BY_HOW_MUCH = "By how much"
QUESTIONS = "Questions"
SEVERE = "Severe errors"
OTHERS = "Other measures"
SHARED = "Graded questions"  # the line of two that are not compared
ABOUT_RIGHT = 0.05  # a calibration error that is at most this is called about right


def summary_lines(document: Document) -> list[tuple[str, str]]:
    """What a reader asks under the headline, each answered in a line; what has no answer is left out.

    The headline of two says by how much they differ on the main measure: the line then has only what comes beside it.
    """
    claims = document.get("claims") or []
    conditions = document.get("conditions") or []
    first, is_alone = document.get("first_lines") or {}, len(conditions) < 2
    rows = [
        (BY_HOW_MUCH, describe_differences(claims, len(conditions), score_scale(conditions))),
        ("Reason to doubt", printable(str(first.get("doubt") or ""), limit=300)),
        (SEVERE, describe_severe_rates(conditions)),
        ("Confidence", describe_confidence(document) if is_alone else ""),
        ("Inconclusive", _describe_open_claims(claims, board=len(conditions) > 2, said=str(first.get("others") or ""))),
        (QUESTIONS, printable(str(first.get("sizes") or ""), limit=300)),
        (OTHERS, printable(str(first.get("others") or ""), limit=600)),
        ("Most often wrong", _describe_weakest(conditions) if len(conditions) == 2 else ""),
    ]
    return [(term, text) for term, text in rows if text]


def _describe_weakest(conditions: Sequence[Document]) -> str:
    """Where each condition is wrong most often."""
    parts = [
        f"{name(condition.get('name'), limit=40)} in {place}"
        for condition in conditions
        if (place := describe_worst_group(condition))
    ]
    return f"{'; '.join(parts)}." if parts else ""


def describe_worst_group(condition: Document) -> str:
    """The group with the highest error rate and its interval, and how many share that rate; empty without groups."""
    groups = [g for g in condition.get("where") or [] if g.get("group")]
    if not groups or not isinstance(groups[0].get("error_rate"), int | float):
        return ""
    worst = groups[0]
    ties = sum(g.get("error_rate") == worst["error_rate"] for g in groups) - 1
    more = f" and {ties} more" if ties else ""
    span, ends = worst.get("interval") or {}, finite_ends(worst)
    level = f", {describe_level(float(span.get('level') or 0.95))} CI" if ends else ""
    interval = f"{level} {100 * ends[0]:.0f} to {100 * ends[1]:.0f}" if ends else ""
    return f"{name(worst['group'], limit=40)}{more} ({percent(worst['error_rate'])}{interval})"


def first_step(document: Document) -> str:
    """The next step, as a sentence."""
    texts = [printable(str(s), limit=300) for s in document.get("next") or []]
    if not texts:
        return "Nothing is left to do for these claims."
    return texts[0][:1].upper() + texts[0][1:].rstrip(".") + "."


def score_scale(conditions: Sequence[Document]) -> Ends | None:
    """The ends of the scale of scores, where the document says them."""
    for row in conditions:
        ends = (row.get("scored") or {}).get("scale")
        if isinstance(ends, Sequence) and len(ends) == 2 and all(isinstance(e, int | float) for e in ends):
            return (float(ends[0]), float(ends[1]))
    return None


def describe_differences(claims: Sequence[Document], n_conditions: int, scale: Ends | None) -> str:
    """The differences that were shown with their intervals.

    Of two conditions those beside the main one, which the headline has. Of more, those that nothing was shown to be
    better than, on the first measure: against the nearest other first.
    """
    pairs = [c for c in claims if len(c.get("conditions") or ()) == 2 and finite_ends(c) is not None]
    shown = _shown_first(pairs)
    if shown and n_conditions > 2:
        own = [c for c in pairs if c.get("measure") == shown[0].get("measure")]
        return _describe_best(_shown_first(own), scale, is_corrected=any(c.get("labels") for c in own))
    parts = [
        f"{document_words(c, scale).noun} {_describe_interval(c, scale)}" for c in shown if c is not _main_claim(pairs)
    ]
    if not parts:
        return ""
    more = f"; {len(parts) - 3} more below" if len(parts) > 3 else ""
    text = f"{'; '.join(parts[:3])}{more}."
    return text[0].upper() + text[1:]


def describe_leads(claims: Sequence[Claim], n_conditions: int) -> str:
    """By how much the best of several lead the closest one that they beat, from claims on one measure."""
    if n_conditions > 2:  # those that show nothing say no more than that labels corrected them
        claims = [c for c in claims if c.labels or side(c) in ("better", "worse")]
    rows = [{**plain(c), "side": side(c)} for c in claims]
    return describe_differences(rows, n_conditions, None)


def _main_claim(pairs: Sequence[Document]) -> Document | None:
    """The claim that a headline on two conditions speaks of."""
    return next((c for c in pairs if c.get("primary")), pairs[0] if pairs else None)


def _shown_first(pairs: Sequence[Document]) -> list[Document]:
    """The claims that show a difference, those on the main measure first."""
    return sorted((c for c in pairs if c.get("side") in ("better", "worse")), key=lambda c: not c.get("primary"))


def nearest_beaten(shown: Sequence[Document]) -> list[tuple[str, str, Document]]:
    """Those that none is shown to beat, each with the closest one that it beats and the claim on the two, the best
    first: both where there are two, else the best alone."""
    over: dict[str, list[tuple[float, str, Document]]] = {}
    beaten = set()
    for claim in shown:
        other, one = claim["conditions"] if claim["side"] == "better" else reversed(claim["conditions"])
        beaten.add(other)
        over.setdefault(one, []).append((near_distance(claim), name(other, limit=40), claim))
    best = {one: min(found, key=lambda f: f[:2]) for one, found in over.items() if one not in beaten}
    best = best or {one: min(found, key=lambda f: f[:2]) for one, found in over.items()}
    ranked = sorted(best.items(), key=lambda pair: -own_value(pair[1][2]))
    most = MOST_BEST if len(ranked) == MOST_BEST else 1
    return [(one, next(c for c in claim["conditions"] if c != one), claim) for one, (_, _, claim) in ranked[:most]]


def _describe_best(shown: Sequence[Document], scale: Ends | None, *, is_corrected: bool) -> str:
    """Whom the best lead and by how much; where labels corrected some pairs, the others are marked."""
    wins = Counter(claim["conditions"][claim["side"] == "better"] for claim in shown)
    parts: list[str] = []
    for one, other, claim in nearest_beaten(shown):
        nearest = ", the closest one it beats" if wins[one] > 1 else ""
        turned = claim if claim["side"] == "better" else _turned(claim)
        start = "Also, " if parts else ""
        mark = ", as graded" if is_corrected and not claim.get("labels") else ""
        leads = f"{name(one, limit=40)} leads {name(other, limit=40)}{nearest}"
        parts.append(f"{start}{leads}: {_describe_interval(turned, scale)}{mark}")
    size = _number_of_comparisons(shown)
    return f"{'. '.join(parts)}.{f' Intervals are adjusted for {size:,} comparisons.' if size > 1 else ''}"


def board_names(document: Document) -> list[str]:
    """The conditions that the first screen of several names beside those that lead."""
    pairs = [c for c in document.get("claims") or [] if len(c.get("conditions") or ()) == 2 and finite_ends(c)]
    shown = _shown_first(pairs)
    main = [c for c in shown if c.get("measure") == shown[0].get("measure")]
    return [who for one, other, _ in nearest_beaten(main) for who in (one, other)]


def own_value(claim: Document) -> float:
    """The value of the one that a claim shows to be better, the higher the better; 0 where it is not known."""
    value = dict(zip(("worse", "better"), claim.get("values") or (), strict=False)).get(claim["side"])
    sign = -1 if claim.get("better") == "lower" else 1
    return sign * float(value) if isinstance(value, int | float) else 0.0


def _number_of_comparisons(claims: Sequence[Document]) -> int:
    """For how many comparisons the intervals of the claims are adjusted; 1 where they are not."""
    families = [c.get("family") or {} for c in claims if c.get("interval")]
    return max((f["size"] for f in families if isinstance(f.get("size"), int)), default=1)


def _turned(claim: Document) -> Document:
    """A claim on a difference as seen from its first condition."""
    ends, interval = finite_ends(claim) or (0.0, 0.0), claim.get("interval") or claim.get("plain_interval") or {}
    if document_words(claim).suffix == "%":  # a ratio less 1 turns into its inverse less 1
        low, high, middle = (-x / (1 + x) for x in (ends[1], ends[0], float(claim["estimate"])))
    else:
        low, high, middle = -ends[1], -ends[0], -float(claim["estimate"])
    values = tuple(claim.get("values") or ())[::-1]
    return {**claim, "estimate": middle, "values": values, "interval": {**interval, "low": low, "high": high}}


def turn_claim(claim: Document) -> Document:
    """A claim on a difference of two as the first condition sees it: the conditions, the sign and the side turned."""
    sides = {"better": "worse", "worse": "better"}
    turned = {"conditions": list(reversed(claim["conditions"])), "side": sides.get(str(claim.get("side")), "open")}
    return {**_turned(claim), **turned}


def near_distance(claim: Document) -> float:
    """Of the near end of its interval from zero."""
    low, high = finite_ends(claim) or (0.0, 0.0)
    return min(abs(low), abs(high)) if low * high > 0 else 0.0


def _describe_interval(claim: Document, scale: Ends | None = None) -> str:
    """A claim's estimate with its interval and its level."""
    low, high = finite_ends(claim) or (0.0, 0.0)
    interval = claim.get("interval") or claim.get("plain_interval") or {}
    span = Interval(low=low, high=high, level=float(interval.get("level") or DEFAULT_LEVEL), method="")
    words = document_words(claim, scale)
    return f"{describe_span(words, float(claim.get('estimate') or 0.0), span, is_difference=True)}{words.read_on}"


def finite_ends(claim: Document) -> Ends | None:
    """The ends of a claim's or a figure's interval; None where one is missing or infinite."""
    interval = claim.get("interval") or claim.get("plain_interval")
    if not isinstance(interval, Mapping):
        return None
    ends = (interval.get("low"), interval.get("high"))
    return ends if all(isinstance(e, int | float) and math.isfinite(e) for e in ends) else None  # type: ignore[return-value]


def describe_severe_rates(conditions: Sequence[Document]) -> str:
    """How often each condition is severely wrong, with its interval; of many those at both ends."""
    known = [(name(c.get("name"), limit=40), c["how_badly"]) for c in conditions if is_measured(c.get("how_badly"))]
    if len(known) > 3:
        low, *_, high = sorted(known, key=lambda k: float(k[1]["estimate"]))
        known = [low, high]
    parts = [_describe_severe_rate(found) + f" for {who}" * (len(conditions) > 1) for who, found in known]
    what = "Severe means 3 or more on a scale of 0 (right) to 4 (dangerous or made up)."
    return f"{'; '.join(parts)}. {what}" if parts else ""


def _describe_severe_rate(found: Document) -> str:
    """One condition's rate of severe answers with its interval; of none seen the most that it may be."""
    span = finite_ends(found)
    if found["estimate"] == 0 and span is not None:
        return f"none seen in {count(found.get('n'), 'question')} (at most {at_most(100 * span[1])}%)"
    return f"{percent(found['estimate'])} {interval_words(found.get('interval'), as_percent=True)}".strip()


def describe_confidence(document: Document) -> str:
    """Whether confidence fits, in words; of many conditions how many there are of each kind, with the farthest off."""
    conditions = document.get("conditions") or []
    rows = [c for c in conditions if is_measured(c.get("knows"))]
    if not rows:
        return ""
    claims = document.get("claims") or []
    rated = [(name(c.get("name"), limit=60), *confidence_verdict(c, claims), c) for c in rows]
    if len(rated) <= 3:
        return " ".join(
            f"{who}: {kind}{by}{describe_averages(row['knows'], row)}"
            f"{_describe_calibration_error(row['knows']) if by.startswith(' by') else ''}."
            for who, kind, by, row in rated
        )
    kinds: dict[str, list[tuple[str, Document]]] = {}
    for who, kind, _, row in rated:
        kinds.setdefault(kind, []).append((who, row["knows"]))
    parts = []
    for kind, own in sorted(kinds.items(), key=lambda k: -len(k[1])):
        who, found = max(own, key=lambda k: float(k[1]["estimate"]))
        parts.append(f"{kind}: {len(own)} of {len(rated)}, the farthest off {who}{describe_averages(found)}")
    return ". ".join(text[:1].upper() + text[1:] for text in parts) + "."


def _describe_calibration_error(found: Document) -> str:
    """The calibration error with its interval; empty where nothing is shown of it."""
    amount, ends = measure_amount(found, "ece")
    level = _level_of(found)
    return f", calibration error {amount} ({describe_level(level)} CI {ends})" if ends and level else ""


def confidence_verdict(condition: Document, claims: Sequence[Document]) -> tuple[str, str]:
    """Over- or under-confident, about right, or that it cannot be said, and by how much: what was shown is said
    plainly, what was measured and not tested with "seems"."""
    found = condition["knows"]
    ends = finite_ends(found) or (0.0, 1.0)
    of = ([condition.get("name")], [found.get("drawn")])  # draws may have settings of their own
    own = [c for c in claims if c.get("measure") in ("ece", "draws") and c.get("conditions") in of]
    shown = any(c.get("verdict") == Verdict.VERIFIED for c in own)
    tested = any(isinstance(c.get("interval"), Mapping) for c in own)
    if ends[1] <= ABOUT_RIGHT:
        return "about right", f", off by at most {at_most(100 * ends[1])} points"
    if not shown and (tested or ends[0] <= 0):
        return "inconclusive", f", off by anything up to {at_most(100 * ends[1])} points"
    word, off = _direction_of_confidence(found)
    return f"{'' if shown else 'seems '}{word}", f" by about {100 * off:.0f} points{'' if shown else ', not tested'}"


def _direction_of_confidence(found: Document) -> tuple[str, float]:
    """Over- or under-confident, or off in both directions, and by how much."""
    off, sure, right = float(found["estimate"]), found.get("sure"), found.get("right")
    if not isinstance(sure, int | float) or not isinstance(right, int | float):
        return "off", off
    gap = float(sure) - float(right)
    if abs(gap) >= off / 2 > 0:
        return "over-confident" if gap > 0 else "under-confident", abs(gap)
    return "off in both directions", off


def describe_averages(found: Document, row: Document | None = None) -> str:
    """How sure it was and how often right, and of how many answers where that is not all that were graded."""
    sure, right = found.get("sure"), found.get("right")
    if not isinstance(sure, int | float) or not isinstance(right, int | float):
        return ""
    number_of, graded = found.get("n"), ((row or {}).get("how_often") or {}).get("n")
    part = isinstance(number_of, int) and isinstance(graded, int) and number_of < graded
    of = f" of the {count(number_of, 'question')} that show it" if part else ""
    return f" ({100 * sure:.0f}% sure on average, right in {100 * right:.0f}%{of})"


def best_first(conditions: Sequence[Document]) -> Sequence[Document]:
    """Boards have the one first that is wrong least often, or scored best; two stay as given."""
    if len(conditions) <= 2:
        return conditions
    if all(is_measured(c.get("how_often")) for c in conditions):
        return sorted(conditions, key=lambda c: float(c["how_often"]["estimate"]))
    if not all(is_measured(c.get("scored")) for c in conditions):
        return conditions
    sign = 1 if conditions[0]["scored"].get("better") == "lower" else -1
    return sorted(conditions, key=lambda c: sign * float(c["scored"]["estimate"]))


def is_measured(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("estimate"), int | float)


def _describe_open_claims(claims: Sequence[Document], *, board: bool, said: str) -> str:
    """What is inconclusive beside what the headline says of two, and measures whose leaders are `said`; empty where
    nothing is."""
    waiting = [c for c in claims if c.get("verdict") == "undecided" and (board or not c.get("primary"))]
    if not waiting:
        return ""
    by_noun: dict[str, list[Document]] = {}
    for claim in waiting:
        noun = measure_words(str(claim.get("measure") or "a claim")).noun
        if noun not in said:
            by_noun.setdefault(noun, []).append(claim)
    if not by_noun:
        return ""
    measures = among([_open_measure(noun, own, board) for noun, own in by_noun.items()], most=6, limit=120)
    return f"{measures[0].upper()}{measures[1:]}."


def _open_measure(noun: str, claims: Sequence[Document], board: bool) -> str:
    """What inconclusive claims are on; of several conditions one claim names its own."""
    if len(claims) > 1:
        return f"{noun} ({len(claims):,} pairs)" if board else f"{noun} ({len(claims):,} claims)"
    who = [name(c, limit=30) for c in claims[0].get("conditions") or ()]
    return f"{noun} of {' and '.join(who)}" if board and who else noun


def run_title(document: Document) -> dict[str, str]:
    run = document.get("run") or {}
    conditions = document.get("conditions") or []
    parts = [name(run.get("name") or "run")]
    if run.get("bench"):
        parts.append(name(re.split(r"[\\/]", str(run["bench"]))[-1]))
    if run.get("items"):
        parts.append(
            f"{count(run['items'], 'question')} · {_describe_compared(conditions)}"
            if len(conditions) > 1
            else count(run["items"], "question")
        )
    if run.get("ended_at"):
        parts.append(name(run["ended_at"])[:16].replace("T", " "))
    return {"name": parts[0], "line": " · ".join(parts)}


def _describe_compared(conditions: Sequence[Document]) -> str:
    """The names of two conditions; the number of more."""
    if len(conditions) > 2:
        return f"{len(conditions)} models"
    return " and ".join(name(c.get("name"), limit=30) for c in conditions)


def describe_lost_end(lost: str) -> str:
    return f"{lost[:1].upper()}{lost[1:]}."


def describe_warnings(document: Document) -> str:
    run = document.get("run") or {}
    state = run.get("state")
    simulated = [name(c.get("name")) for c in document.get("conditions") or [] if c.get("simulated")]
    warnings = [describe_lost_end(str(run["lost"]))] if run.get("lost") else []
    if state == "in progress":
        warnings.append("This run is still in progress: the numbers cover what is answered and graded so far.")
    if state == "empty":
        warnings.append(
            "This run holds no answers yet. Ask a model with richter audit --only ask, or run richter audit."
        )
    if simulated and len(simulated) == len(document.get("conditions") or []):
        warnings.append("All answers are simulated: this page says nothing about a real model.")
    elif simulated:
        warnings.append(f"Simulated, not real models: {among(simulated)}.")
    return " ".join(warnings)


def basis_facts(document: Document) -> list[str]:
    """What the answer rests on: how many questions, and who graded."""
    run, basis = document.get("run") or {}, (document.get("signature") or {}).get("basis")
    facts = [count(run["items"], "question")] if run.get("items") else []
    if basis:
        text = str(basis).replace("; no human labels", "; not checked by people")
        facts.append(printable(text.replace("; ", ", "), limit=200))
    return facts


def describe_levels(document: Document) -> str:
    """What the intervals of the first screen mean, and why those of several pairs are wider; empty where there are
    none."""
    conditions, claims = document.get("conditions") or [], document.get("claims") or []
    found = [_level_of(c.get(key)) for c in conditions for key in ("how_often", "scored", "how_badly")]
    usual = min(
        filter(None, (*found, *(_level_of({"interval": c.get("plain_interval")}) for c in claims))), default=None
    )
    if usual is None:
        return ""
    misses = number(100 * (1 - usual))
    fits = f"Bars show the {describe_level(usual)} CI: the values that fit the data."
    text = f"{fits} In {number(100 * usual)} of 100 such studies they hold the true value."
    main = [c for c in claims if c.get("primary") and len(c.get("conditions") or ()) == 2 and c.get("interval")]
    wider = {level for c in main if (level := _level_of(c)) is not None and level > usual}
    if len(main) < 2 or not wider:
        return text
    ends = list(dict.fromkeys(describe_level(level) for level in (min(wider), max(wider))))
    wide = f"intervals of differences are wider ({' to '.join(ends)})."
    return f"{text} By Holm's rule all comparisons share one risk of {misses}%, so {wide}"


def _level_of(value: Any) -> float | None:
    """The level of a figure's or a claim's interval."""
    interval = value.get("interval") if isinstance(value, Mapping) else None
    level = interval.get("level") if isinstance(interval, Mapping) else None
    return float(level) if isinstance(level, int | float) else None


def is_settled(document: Document) -> bool:
    """Whether every main claim on two is decided, by grades that are not an unchecked judge's, in a run that ended:
    the next step is then to look at what changed."""
    main = [c for c in document.get("claims") or [] if c.get("primary") and len(c.get("conditions") or ()) == 2]
    decided = (Verdict.VERIFIED, Verdict.REFUTED, Verdict.EQUIVALENT)
    is_running = (document.get("run") or {}).get("state") == "in progress"
    return (
        bool(main) and all(c.get("verdict") in decided for c in main) and not is_running and not is_unchecked(document)
    )


def describe_pill(document: Document, tone: str) -> str:
    """What stands over the headline: how two compare, or how many of all pairs differ and on what."""
    words = {"better": "Better", "worse": "Worse", "alike": "No practical difference", "open": "Inconclusive"}
    if len(document.get("conditions") or []) == 1:
        return "One model: nothing to compare it with"
    pairs = [c for c in document.get("claims") or [] if len(c.get("conditions") or ()) == 2]
    if is_blocked(document):
        return "Not compared"
    main = [c for c in pairs if c.get("primary")]
    text = words.get(tone, "") if pairs else ""
    if len(document.get("conditions") or []) > 2 and main:
        noun = measure_words(str(main[0].get("measure"))).noun
        text = f"{noun[0].upper()}{noun[1:]}: {_describe_differing(main)}"
    return f"Unchecked: {text[0].lower()}{text[1:]}" if text and is_unchecked(document) else text


def _describe_differing(claims: Sequence[Document]) -> str:
    """How many of some pairs were shown to differ."""
    differ = sum(c.get("side") in ("better", "worse") for c in claims)
    return f"{differ:,} of {count(len(claims), 'pair')} {'differs' if differ == 1 else 'differ'}"


def is_blocked(document: Document) -> bool:
    """Whether a check blocked every comparison of two."""
    pairs = [c for c in document.get("claims") or [] if len(c.get("conditions") or ()) == 2]
    return bool(pairs) and all(c.get("verdict") == "blocked" for c in pairs)


def is_unchecked(document: Document) -> bool:
    """Whether the main claims rest on the grades of a judge that nobody checked."""
    return any(c.get("basis") == JUDGE_UNCHECKED for c in document.get("claims") or [] if c.get("primary"))


def describe_lead_counts(document: Document, pair: Sequence[str]) -> str:
    """What two conditions got on the main measure, as everybody counts it; empty where it was not compared."""
    claim = next(
        (c for c in document.get("claims") or [] if c.get("primary") and set(c.get("conditions") or ()) == set(pair)),
        None,
    )
    ends = None if claim is None else finite_ends({"interval": claim.get("plain_interval") or claim.get("interval")})
    if claim is None or ends is None or not claim.get("measure"):
        return ""
    turned = list(claim["conditions"]) != list(pair)
    values = tuple(claim.get("values") or ())
    return describe_counts(
        SimpleNamespace(  # type: ignore[arg-type]
            measure=str(claim.get("measure")),
            conditions=tuple(name(c, limit=60) for c in pair),
            values=values[::-1] if turned else values,
            n=int(claim.get("n") or 0),
            apart=False,
            labels=claim.get("labels"),
            plain_interval=SimpleNamespace(low=ends[0], high=ends[1]),
            scale=_scale_of(str(claim["measure"]), score_scale(document.get("conditions") or [])),
        ),
    )


def describe_example(first: str, second: str) -> str:
    """Of several conditions, from which to which the counts on the first screen go."""
    return f"For example, from {first} to {second}:"


def describe_pair(first: str, second: str, *, n_pairs: int, has_labels: bool) -> str:
    """Of which two the answers are shown; of several pairs, that they are an example; that no label changed them."""
    before = ", before your labels" if has_labels else ""
    if n_pairs < 2:
        return f"From {first} to {second}{before}:"
    return f"One of {n_pairs:,} pairs as an example, from {first} to {second}{before}:"


def document_words(claim: Document, scale: Ends | None = None) -> Metric:
    """The words of a claim's own numbers in a document; see `claim_words`."""
    measure, conditions = str(claim.get("measure") or "a claim"), tuple(claim.get("conditions") or ())
    named = SimpleNamespace(measure=measure, conditions=conditions, scale=_scale_of(measure, scale))
    return claim_words(named)  # type: ignore[arg-type]


def _scale_of(measure: str, scale: Ends | None) -> Ends | None:
    """The scale of scores where a measure is on it; None of one that has ends of its own."""
    return scale if measure_words(measure).low is None else None


def claim_parts(claim: Document, *, joined_by: str = "against") -> tuple[str, str, str]:
    """Of a claim on two conditions the two, its measure, and its numbers; empty texts where it has no numbers."""
    interval, estimate, ends = (
        claim.get("interval") or claim.get("plain_interval"),
        claim.get("estimate"),
        finite_ends(claim),
    )
    if len(claim.get("conditions") or ()) != 2 or ends is None or not isinstance(estimate, int | float):
        return "", "", ""
    words = document_words(claim)
    level = interval.get("level") if isinstance(interval, Mapping) else None
    span = Interval(low=ends[0], high=ends[1], level=float(level or DEFAULT_LEVEL), method="")
    first, second = (name(c, limit=40) for c in claim["conditions"])
    return f"{second} {joined_by} {first}", words.noun, describe_span(words, estimate, span, is_difference=True)


def describe_claim_row(claim: Document) -> str:
    """A claim's measure with its numbers; of one without numbers, or on one condition, its sentence."""
    who, measure, numbers = claim_parts(claim, joined_by="-")
    return f"{measure}, {who}: {numbers}" if who else str(claim.get("sentence") or "")


def describe_blocked_row(claim: Document) -> str:
    """What a blocked claim is on: its measure and its conditions; the reason stands behind it."""
    names = " with ".join(name(c, limit=40) for c in reversed(claim.get("conditions") or ()))
    return f"{document_words(claim).noun}: {names}" if names else str(claim.get("sentence") or "")


def verdict_of(claim: Document) -> str:
    """A claim's verdict in letters alone, whoever wrote the document."""
    return re.sub(r"[^a-z]", "", str(claim.get("verdict") or "untestable"))


def describe_interval_level(claim: Document, interval: Document) -> str:
    """At which level the interval is, and why it is stricter than usual where claims were tested together."""
    level, size = interval.get("level"), (claim.get("family") or {}).get("size")
    if not isinstance(level, int | float):
        return "interval"
    text = f"{number(100 * level)}% CI{'' if claim.get('interval') else ', unadjusted'}"
    if level == 0.95 or not isinstance(size, int) or size < 2:
        return text
    return f"{text}, adjusted for {number(size)} comparisons"


def refused_lines(document: Document) -> list[str]:
    """What was not compared, in documents whose blocked pairs are no claims."""
    if any(c.get("reason") for c in document.get("claims") or ()):
        return []
    rows = [r for r in document.get("refused") or [] if r.get("conditions")]
    return refusals((r["conditions"], str(r.get("reason"))) for r in rows)


def describe_condition(condition: Document) -> str:
    parts = []
    model = condition.get("model")
    if model and model != condition.get("name"):
        parts.append(name(model))
    often = condition.get("how_often") or condition.get("scored")
    if condition.get("answered") not in (None, (often or {}).get("n")):
        parts.append(count(condition["answered"], "answer"))
    parts += [f"{number(condition[key])} {key}" for key in ("failed", "refused") if condition.get(key)]
    if condition.get("simulated"):
        parts.append("simulated")
    return ", ".join(parts)


def check_rows(checks: Sequence[Document]) -> list[dict[str, str]]:
    """The checks: those that failed or were not made one by one, those that passed together."""
    marks = {False: ("failed", "failed:"), None: ("open", "not made:")}
    rows = [
        {"mark": marks[c.get("passed")][0], "said": marks[c.get("passed")][1], "text": _check_text(c)}
        for c in sorted(checks, key=lambda c: c.get("passed") is None)
        if c.get("passed") in marks
    ]
    passed = [_check_text(c) for c in checks if c.get("passed") not in marks]
    return rows + ([{"mark": "passed", "said": "passed:", "text": "; ".join(passed)}] if passed else [])


def _check_text(check: Document) -> str:
    return printable(str(check.get("text") or check.get("name")), limit=300)


REQUIREMENT_WORDS = {"verified": "met", "refuted": "violated"}


def signature_rows(document: Document) -> list[tuple[str, str]]:
    """What can be signed, by heading."""
    signature = document.get("signature") or {}
    verdicts = signature.get("verdicts") or []

    def or_else(value: Any, otherwise: str) -> str:
        if isinstance(value, Mapping):
            value = "; ".join(f"{k}: {v}" for k, v in value.items())
        return printable(str(value), limit=600) if value not in (None, "", [], {}) else otherwise

    return [
        ("Requirement", or_else(signature.get("requirement"), "none")),
        *([("Outcome", "; ".join(REQUIREMENT_WORDS.get(v, "not shown") for v in verdicts))] if verdicts else []),
        ("Bound", or_else(signature.get("bound"), "none: severity not measured")),
        ("Basis", or_else(signature.get("basis"), "no ratings")),
        ("Population covered", or_else(signature.get("population"), "the questions of this run only")),
        ("Plan", or_else(signature.get("plan_hash"), "none: nothing is pre-registered")),
    ]


def claim_numbers(claim: Document) -> list[str]:
    """What stands under a claim's sentence: how its interval was adjusted, and its notes."""
    interval = claim.get("interval") or claim.get("plain_interval")
    parts = [describe_interval_level(claim, interval)] if isinstance(interval, Mapping) else []
    if claim.get("blocked_by"):
        parts.append(f"stopped by the check of {name(claim['blocked_by'])}")
    sentence = str(claim.get("sentence") or "")
    return parts + [printable(str(n), limit=300) for n in claim.get("notes") or [] if str(n) not in sentence]


def figure_facts(value: Document, measure: str) -> str:
    """What stands behind a figure of a condition: of how many answers it is, whose grades, and how sure it was."""
    n, labels = value.get("n"), value.get("labels")
    facts = []
    if value.get("graded"):
        facts.append("corrected by human labels" + (f" ({count(labels, 'label')})" if labels else ""))
    if n is not None:
        facts.append(f"of {count(n, 'answer' if measure == 'ece' else 'question')}")
    if measure == "ece":
        facts.append(describe_averages(value)[2:-1])
    return ", ".join(filter(None, facts))


def measure_amount(value: Document, measure: str) -> tuple[str, str]:
    """A figure's number and the ends of its interval; where nothing was seen or shown, the most that it may be."""
    estimate, span = float(value["estimate"]), finite_ends(value)
    words = measure_words(measure)
    words = words if span is None else digits_by_width(words, *span)
    unit = words.unit
    if measure == "ece":
        if span is not None and span[0] <= 0:  # nothing was shown, and its estimate may be 0 by what was taken off
            return f"up to {at_most(100 * span[1])} points", ""
        unit = " points"
    if unit == "%" and span is not None and estimate == 0:
        return "none seen", f"at most {at_most(100 * span[1])}%"
    ends = "" if span is None else f"{words.amount(span[0])} to {words.amount(span[1])}"
    return f"{words.amount(estimate)}{unit}", ends


def rail_words(measure: str, ends: Ends) -> str:
    """The ends of a column's small bars."""
    words = measure_words(measure)
    low, high = (number(end * words.scale) for end in ends)
    return f"{low} to {high}{' points' if measure == 'ece' else words.unit}"


def describe_measure_title(measure: str, measured: Mapping[str, Mapping[str, Document]]) -> str:
    """The head of a measure's column; of a score on a scale of its own with its ends."""
    words = measure_words(measure)
    figures = [found[measure] for found in measured.values() if measure in found]
    scale = next((f["scale"] for f in figures if f.get("scale")), None)
    title = f"{words.noun[0].upper()}{words.noun[1:]}"
    if scale is None or words.unit == "%" or measure == "ece":
        return title
    return f"{title} ({number(scale[0])} to {number(scale[1])})"


def describe_standing(better: Sequence[str], worse: Sequence[str]) -> str:
    """Whom a condition is shown to be better or worse than, behind a mark."""
    return f"better than {among(better)}" if better else f"worse than {among(worse)}"


def describe_marks(control: str | None, *, is_marked: bool, n_conditions: int, is_judged: bool = False) -> str:
    """What the marks in the table of measures mean; `is_judged`: some rest on an unchecked judge alone."""
    if n_conditions < 2:
        return ""
    if not is_marked:
        return "No difference between them is shown on any of these measures."
    amber = " Amber: by an unchecked judge's grades only." if is_judged else ""
    if control is not None:
        return f"▲ and ▼ mark differences from {name(control, limit=60)} that are shown.{amber}"
    return f"▲ marks a model that is shown to beat another and that none is shown to beat.{amber}"


def describe_difference_in_cell(claim: Document, *, turned: bool) -> str:
    """A pair's difference with its sign, without its unit."""
    ends, words = finite_ends(claim), document_words(claim)
    if ends is None or not isinstance(claim.get("estimate"), int | float):
        return ""
    shown = digits_by_width(words, *ends)
    found = _turned(claim) if turned else claim
    return shown.amount(float(found["estimate"]), sign=True)


def describe_changes(counts: Sequence[int], words: Sequence[str]) -> str:
    """What became of the questions that two were graded on."""
    return ", ".join(f"{n:,} {word}" for n, word in zip(counts, words, strict=True))


def describe_shared_questions(conditions: Sequence[Document], n_shared: int | None) -> str:
    """Of two that are not compared how many questions each was graded on, and how many are the same; empty where the
    document does not say."""
    sizes = [
        ((c.get("how_often") or c.get("scored") or {}).get("n"), name(c.get("name"), limit=40)) for c in conditions
    ]
    if len(sizes) != 2 or not all(isinstance(n, int) for n, _ in sizes):
        return ""
    each = " and ".join(f"{n:,} for {who}" for n, who in sizes)
    return f"{each}{'' if n_shared is None else f'; {n_shared:,} are the same'}."


def describe_repeats(repeats: int) -> str:
    """How often each question was answered."""
    return f"up to {repeats} answers per question"


def describe_absent(sections: Sequence[str]) -> str:
    """What was not measured, in one line."""
    return f"Not measured: {', '.join(sections)}" if sections else ""


def describe_rest(sections: Sequence[str]) -> str:
    """What heads the ways to measure what was not."""
    return f"How to measure the rest: {', '.join(sections)}"


def describe_evidence(evidence: "Evidence | None", *, redact: bool, most: int) -> str:
    """How many answers are wrong and which are shown; of a document alone that it holds none."""
    if evidence is None:
        return "This page comes from a results document, which holds no answers. Use the run to see them."
    if evidence.kind is None:
        return "No answer is graded yet. Grade them: richter audit --only judge, or richter label."
    who = {"given": "severities given", "grader": "grades"}.get(evidence.kind, f"{evidence.kind} ratings")
    verb, by = "is" if evidence.wrong == 1 else "are", "" if who == "grades" else f" by the {who}"
    text = f"{evidence.wrong:,} of {count(evidence.answers, 'answer')} {verb} wrong{by}. "
    if evidence.shown < evidence.items:
        text += (
            f"This page shows {number(evidence.shown)} questions (at most {most}): first those whose answers differ "
            "most, then the most severe. "
        )
    if evidence.repeats > 1:
        text += f"Grades count up to {evidence.repeats} answers per question; the text is the first of them. "
    if redact:
        return text + "Questions, references, answers and reasons are left out of this page."
    cut = f"Answers are cut to {number(evidence.cut)} characters; richter view shows everything."
    return f"{text}{cut if evidence.is_cut else ''}".rstrip()


def method_rows(document: Document) -> list[tuple[str, str]]:
    """With what the document was made, by heading."""
    methods = document.get("methods") or {}
    plan = methods.get("plan") or {}
    spent = methods.get("spent") or {}
    rows = [
        *([("Plan", f"{plan.get('hash')}, locked {plan.get('locked_at')}")] if plan else []),
        *([("Lock", str(plan["vouched"]))] if plan.get("vouched") else []),
        ("Seed", number(methods.get("seed"))),
        ("Versions", ", ".join(f"{k} {v}" for k, v in (methods.get("versions") or {}).items()) or "not recorded"),
        ("Cost", describe_cost(spent)),
        ("Results document", f"version {document.get('version')}, made by Richter {document.get('richter')}"),
    ]
    return [(term, printable(value, limit=2000)) for term, value in rows]


def describe_cost(spent: Document) -> str:
    """What was asked and paid; of a table, which says neither, nothing."""
    money = spent.get("money_usd")
    if not spent.get("tokens") and not money:
        return "not recorded"
    counts = ", ".join(f"{number(spent[key])} {key}" for key in ("calls", "answers", "tokens") if key in spent)
    if money is None:
        return f"{counts}, at a price that is not known"
    part = f" and {number(spent['unpriced'])} answers without a price" if spent.get("unpriced") else ""
    return f"{counts}, ${money:.4g}{part}"
