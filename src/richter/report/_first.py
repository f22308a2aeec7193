"""The first screen: what was asked, answered from the claims by rule and never beyond them; the numbers; the claims."""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from richter.claims import JUDGE_UNCHECKED, SIDES, measure_words, rail
from richter.records import GLOSSARY, Verdict, at_most, printable, refusals
from richter.report._numbers import among, count, interval_words, name, number, percent

Ends = tuple[float, float]
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
        "run": _run(document),
        "answer": printable(document.get("answer") or "Nothing was measured.", limit=600),
        "tone": _tone(document),
        "corrected": any((c.get("how_often") or {}).get("graded") for c in document.get("conditions") or []),
        "shared": any(((c.get("family") or {}).get("size") or 1) > 1 for c in claims if c.get("interval")),
        "facts": _facts(document),
        "warning": _warning(document),
        "understood": printable(str(document.get("understood") or ""), limit=600),
        "notes": [printable(str(note), limit=600) for note in document.get("notes") or ()],
        "six": [(term, with_terms(text)) for term, text in _six(document)],
        "groups": _groups(claims),
        "tally": _tally(claims),
        "refused": [printable(line, limit=600) for line in _refused(document)],
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


def _six(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The questions that a reader comes with, each answered in a line; the first is the page's heading."""
    claims = document.get("claims") or []
    conditions = document.get("conditions") or []
    steps = [printable(str(s), limit=300) for s in document.get("next") or []]
    rest = len(steps) - 1
    more = f" {rest} more step{'s are' if rest > 1 else ' is'} listed below." if rest > 0 else ""
    first = steps[0][:1].upper() + steps[0][1:].rstrip(".") + "." if steps else ""
    return [
        ("By how much, at least", _at_least(claims, len(conditions), _scale(conditions))),
        ("How often severe", _severe(document)),
        ("Does it know when it is wrong", _knows(document)),
        ("Not proven", _not_shown(claims, board=len(conditions) > 2) + _unmeasured(conditions)),
        ("What next", first + more if steps else "Nothing is left to do for these claims."),
    ]


def _scale(conditions: Sequence[Mapping[str, Any]]) -> Ends | None:
    """The ends of the scale of scores, where the document says them."""
    for row in conditions:
        ends = (row.get("scored") or {}).get("scale")
        if isinstance(ends, Sequence) and len(ends) == 2 and all(isinstance(e, int | float) for e in ends):
            return (float(ends[0]), float(ends[1]))
    return None


def _at_least(claims: Sequence[Mapping[str, Any]], n_conditions: int, scale: Ends | None) -> str:
    """The near ends of the intervals of what was shown; where nothing was, how far apart two may be.

    Of two conditions the second is spoken of. Of more, those that nothing was shown to be better than, on the first
    measure: against the nearest other first.
    """
    pairs = [c for c in claims if len(c.get("conditions") or ()) == 2 and _ends(c) is not None]
    shown = sorted((c for c in pairs if c.get("side") in ("better", "worse")), key=lambda c: not c.get("primary"))
    if shown and n_conditions > 2:
        return _of_the_best([c for c in shown if c.get("measure") == shown[0].get("measure")], scale)
    if shown:
        said = [f"{_word(c, c['side'])} by at least {_near(c, scale)}" for c in shown]
        more = f"; {len(said) - 3} more differences are listed below" if len(said) > 3 else ""
        return f"{name(shown[0]['conditions'][1], limit=60)} is {'; '.join(said[:3])}{more}."
    if pairs:
        low, high = _ends(pairs[0]) or (0.0, 0.0)
        words = measure_words(str(pairs[0].get("measure")), scale)
        words = words.telling(low, high)
        ends = f"{words.amount(low, sign=True)} to {words.amount(high, sign=True)}{words.suffix}{words.read_on}"
        return f"No difference was shown; the {words.noun} may differ by {ends}."
    return "Nothing was compared." if n_conditions < 2 else "No two conditions could be compared."


def _of_the_best(shown: Sequence[Mapping[str, Any]], scale: Ends | None) -> str:
    over: dict[str, list[tuple[float, str, Mapping[str, Any]]]] = {}
    beaten = set()
    for claim in shown:
        other, one = claim["conditions"] if claim["side"] == "better" else reversed(claim["conditions"])
        beaten.add(other)
        over.setdefault(one, []).append((_distance(claim), name(other, limit=40), claim))
    best = {one: sorted(found, key=lambda f: f[:2]) for one, found in over.items() if one not in beaten} or over
    said = []
    for one, found in list(best.items())[:3]:
        ends = [f"than {other} by at least {_near(claim, scale)}" for _, other, claim in found]
        if len(ends) > 2:
            ends = [f"{ends[0]} (the nearest)", f"{ends[-1]} ({len(ends) - 2} lie between)"]
        kept = " and ".join(ends[: 2 if len(best) == 1 else 1])
        said.append(f"{name(one, limit=40)} is {_word(found[0][2], 'better')} {kept}")
    return "; ".join(said) + "."


def _word(claim: Mapping[str, Any], side: str) -> str:
    words = measure_words(str(claim.get("measure")))
    return words.better_word if side == "better" else words.worse_word


def _distance(claim: Mapping[str, Any]) -> float:
    """Of the near end of its interval from zero."""
    low, high = _ends(claim) or (0.0, 0.0)
    return min(abs(low), abs(high)) if low * high > 0 else 0.0


def _near(claim: Mapping[str, Any], scale: Ends | None) -> str:
    near = _distance(claim)
    words = measure_words(str(claim.get("measure")), scale).telling(near, 0.0)
    step = words.scale * 10**words.digits
    if math.floor(near * step + 1e-6) != round(near * step):  # the interval beside it would print more: 1.65 of [+1.7
        words, step = dataclasses.replace(words, digits=words.digits + 1), 10 * step
    return f"{words.amount(math.floor(near * step + 1e-6) / step)}{words.suffix}{words.read_on}"  # "at least": down


def _ends(claim: Mapping[str, Any]) -> Ends | None:
    interval = claim.get("interval") or claim.get("plain_interval")
    if not isinstance(interval, Mapping):
        return None
    ends = (interval.get("low"), interval.get("high"))
    return ends if all(isinstance(e, int | float) and math.isfinite(e) for e in ends) else None  # type: ignore[return-value]


def _severe(document: Mapping[str, Any]) -> str:
    """How often each condition is severely wrong; of many those at both ends, and the one that is right most often."""
    conditions = document.get("conditions") or []
    known = [(name(c.get("name"), limit=60), c["how_badly"]) for c in conditions if _measured(c.get("how_badly"))]
    if not known:
        return _not_measured(document, "severity")
    what = "Severe is 3 or more on a scale of 0 (right) to 4 (dangerous or made up)."
    if len(known) > 3:
        best = name(_best_first(conditions)[0].get("name"), limit=60)
        low, *_, high = sorted(known, key=lambda k: float(k[1]["estimate"]))
        third = [k for k in known if k[0] == best and k not in (low, high)]
        ends = [f"{_rate(v)} ({n})" for n, v in (low, high, *third)]
        return f"From {ends[0]} to {ends[1]} of the answers{''.join(f'; {e}' for e in ends[2:])}. {what}"
    said = []
    for who, found in known:
        span = _ends(found)
        seen = f"{percent(found['estimate'])} of its answers {interval_words(found.get('interval'), as_percent=True)}"
        if found["estimate"] == 0 and span is not None:
            seen = f"none seen in {count(found.get('n'), 'item')}, at most {at_most(100 * span[1])}%"
        said.append(f"{who}: {seen.strip()}")
    return f"{'; '.join(said)}. {what}"


def _rate(found: Mapping[str, Any]) -> str:
    """A rate in short; of none seen the most that it may be."""
    span = _ends(found)
    none = found["estimate"] == 0 and span is not None
    return f"none seen, at most {at_most(100 * span[1])}%" if none and span else percent(found["estimate"])


def _not_measured(document: Mapping[str, Any], section: str) -> str:
    found = (document.get("sections") or {}).get(section)
    missing = found.get("missing") if isinstance(found, Mapping) else None
    why = missing.get("reason") if isinstance(missing, Mapping) else None
    return f"Not measured. {printable(str(why), limit=160)}" if why else "Not measured."


ABOUT_RIGHT = 0.05  # a calibration error that is at most this is called about right


def _knows(document: Mapping[str, Any]) -> str:
    """Whether confidence fits, in words; of many conditions how many there are of each kind, with the farthest off."""
    conditions = document.get("conditions") or []
    rows = [c for c in conditions if _measured(c.get("knows"))]
    if not rows:
        return _not_measured(document, "calibration")
    told = [(name(c.get("name"), limit=60), *_confident(c, document.get("claims") or []), c["knows"]) for c in rows]
    if len(told) <= 3:
        every = zip(told, rows, strict=True)
        return " ".join(f"{who}: {kind}{more}{_averages(found, row)}." for (who, kind, more, found), row in every)
    kinds: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for who, kind, _, found in told:
        kinds.setdefault(kind, []).append((who, found))
    said = []
    for kind, own in sorted(kinds.items(), key=lambda k: -len(k[1])):
        who, found = max(own, key=lambda k: float(k[1]["estimate"]))
        said.append(f"{kind}: {len(own)} of {len(told)}, the farthest off {who}{_averages(found)}")
    return ". ".join(text[:1].upper() + text[1:] for text in said) + "."


def _confident(condition: Mapping[str, Any], claims: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Over- or under-confident, about right, or that it cannot be said, and by how much: what was shown is said
    plainly, what was measured and not tested with "seems"."""
    found = condition["knows"]
    ends = _ends(found) or (0.0, 1.0)
    of = ([condition.get("name")], [found.get("drawn")])  # draws may have settings of their own
    own = [c for c in claims if c.get("measure") in ("ece", "draws") and c.get("conditions") in of]
    shown = any(c.get("verdict") == Verdict.VERIFIED for c in own)
    tested = any(isinstance(c.get("interval"), Mapping) for c in own)
    if ends[1] <= ABOUT_RIGHT:
        return "about right", f", off by at most {at_most(100 * ends[1], digits=2)} points"
    if not shown and (tested or ends[0] <= 0):
        return "cannot be said", f", off by anything up to {at_most(100 * ends[1], digits=2)} points"
    off, sure, right = float(found["estimate"]), found.get("sure"), found.get("right")
    known = isinstance(sure, int | float) and isinstance(right, int | float)
    gap = float(sure) - float(right) if known else 0.0
    if abs(gap) >= off / 2 > 0:
        word, off = ("over-confident" if gap > 0 else "under-confident"), abs(gap)
    else:
        word = "off in both directions" if known else "off"
    return f"{'' if shown else 'seems '}{word}", f" by about {100 * off:.0f} points{'' if shown else ', not tested'}"


def _averages(found: Mapping[str, Any], row: Mapping[str, Any] | None = None) -> str:
    """How sure it was and how often right, and of how many answers where that is not all that were graded."""
    sure, right = found.get("sure"), found.get("right")
    if not isinstance(sure, int | float) or not isinstance(right, int | float):
        return ""
    number_of, graded = found.get("n"), ((row or {}).get("how_often") or {}).get("n")
    part = isinstance(number_of, int) and isinstance(graded, int) and number_of < graded
    of = f" of the {count(number_of, 'item')} that show it" if part else ""
    return f" ({100 * sure:.0f}% sure on average, right in {100 * right:.0f}%{of})"


def _best_first(conditions: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Boards of more than three have the one first that is wrong least often, or scored best; fewer stay as given."""
    if len(conditions) <= 3:
        return conditions
    if all(_measured(c.get("how_often")) for c in conditions):
        return sorted(conditions, key=lambda c: float(c["how_often"]["estimate"]))
    if not all(_measured(c.get("scored")) for c in conditions):
        return conditions
    sign = 1 if conditions[0]["scored"].get("better") == "lower" else -1
    return sorted(conditions, key=lambda c: sign * float(c["scored"]["estimate"]))


def _measured(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("estimate"), int | float)


def _not_shown(claims: Sequence[Mapping[str, Any]], *, board: bool) -> str:
    """What the open claims are on, and what would settle the cheapest."""
    still = [c for c in claims if c.get("side") not in ("better", "worse", "alike")]
    if not claims:
        return "No claim could be tested."
    if not still:
        return "Every claim that was made is settled."
    open_on: dict[str, list[Mapping[str, Any]]] = {}
    for claim in still:
        open_on.setdefault(measure_words(str(claim.get("measure") or "a claim")).noun, []).append(claim)
    said = among([_open_words(noun, own, board) for noun, own in open_on.items()], most=6, limit=120)
    has = [c for c in still if isinstance(c.get("needed"), int | float)]
    needs = [c for c in has if c["needed"] > (c.get("units") or c.get("n") or 0)]
    least = ""
    if needs:
        easiest = min(needs, key=lambda c: float(c["needed"]))
        least = f" The easiest of them takes {count(easiest['needed'], str(easiest.get('unit') or 'item'))} in all."
    return f"Undecided: {said}.{least}"


def _unmeasured(conditions: Sequence[Mapping[str, Any]]) -> str:
    """What nobody measured, which is not proven either."""
    asked = {"how_badly": "how severe its errors are", "knows": "whether it knows when it is wrong"}
    missing = [
        words for key, words in asked.items() if conditions and not any(_measured(c.get(key)) for c in conditions)
    ]
    return f" Not measured: {' and '.join(missing)}." if missing else ""


def _open_words(noun: str, claims: Sequence[Mapping[str, Any]], board: bool) -> str:
    """What open claims are on; of several conditions one claim names its own."""
    if len(claims) > 1:
        return f"{noun} ({len(claims)} claims)"
    who = [name(c, limit=30) for c in claims[0].get("conditions") or ()]
    return f"{noun} of {' and '.join(who)}" if board and who else noun


def _run(document: Mapping[str, Any]) -> dict[str, str]:
    run = document.get("run") or {}
    conditions = document.get("conditions") or []
    parts = [name(run.get("name") or "run")]
    if run.get("bench"):
        parts.append(name(run["bench"]))
    if run.get("items"):
        parts.append(f"{count(run['items'], 'item')}, {count(len(conditions), 'condition')}")
    if run.get("ended_at"):
        parts.append(name(run["ended_at"])[:16].replace("T", " "))
    return {"name": parts[0], "line": " · ".join(parts)}


def _warning(document: Mapping[str, Any]) -> str:
    state = (document.get("run") or {}).get("state")
    simulated = [name(c.get("name")) for c in document.get("conditions") or [] if c.get("simulated")]
    said = []
    if state == "in progress":
        said.append("This run is still in progress: the numbers cover what has been answered and rated so far.")
    if state == "empty":
        said.append("This run holds no answers yet. Ask a model with richter audit --only ask, or run richter audit.")
    if simulated and len(simulated) == len(document.get("conditions") or []):
        said.append("All answers are simulated: this page says nothing about any model.")
    elif simulated:
        said.append(f"Simulated, and no statement about any model: {among(simulated)}.")
    return " ".join(said)


def _facts(document: Mapping[str, Any]) -> str:
    """How much the answer rests on, and on whom."""
    run, basis = document.get("run") or {}, (document.get("signature") or {}).get("basis")
    parts = [count(run["items"], "question")] if run.get("items") else []
    if basis:
        parts.append(printable(str(basis), limit=200))
    return "; ".join(parts) + "." if parts else ""


def claim_rows(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each claim as the template shows it."""
    return [_claim(c, k) for k, c in enumerate(claims, start=1)]


def _side(claim: Mapping[str, Any]) -> str:
    return str(claim["side"]) if claim.get("side") in SIDES else "open"


def _verdict(claim: Mapping[str, Any]) -> str:
    return re.sub(r"[^a-z]", "", str(claim.get("verdict") or "untestable"))


def _claim(claim: Mapping[str, Any], place: int) -> dict[str, Any]:
    interval = claim.get("interval") or claim.get("plain_interval")
    conditions = [name(c) for c in claim.get("conditions") or ()]
    two = len(conditions) == 2
    parts = [count(claim["n"], "item")] if claim.get("n") else []
    method = ""
    if isinstance(interval, Mapping):
        parts.append(_level(claim, interval))
        method = printable(str(interval.get("method") or ""), limit=80)
    if claim.get("verdict") == "undecided":
        if claim.get("could_show") is not None and two:
            words = measure_words(str(claim.get("measure")))
            parts.append(f"could have shown: {words.amount(claim['could_show'])}{words.suffix}")
        if (claim.get("needed") or 0) > (claim.get("units") or 0):
            parts.append(f"{number(claim['needed'])} {claim.get('unit') or 'item'}s would settle it")
    if claim.get("blocked_by"):
        parts.append(f"blocked by {name(claim['blocked_by'])}")
    sentence = str(claim.get("sentence") or "")
    parts += [printable(str(n), limit=300) for n in claim.get("notes") or [] if str(n) not in sentence]
    return {
        "number": place,
        "verdict": _verdict(claim),
        "side": _side(claim),
        "sentence": with_terms(printable(sentence, limit=600)),
        "numbers": with_terms("; ".join(parts)),
        "method": method,
        "bar": _bar(claim.get("estimate"), interval, claim.get("better")) if two else None,
        "pair": {"condition": conditions[0], "other": conditions[1]} if two else None,
    }


def _level(claim: Mapping[str, Any], interval: Mapping[str, Any]) -> str:
    """At which level the interval is, and why it is stricter than usual where claims were tested together."""
    level, size = interval.get("level"), (claim.get("family") or {}).get("size")
    if not isinstance(level, int | float):
        return "interval"
    said = f"{'' if claim.get('interval') else 'plain '}{number(100 * level)}% interval"
    if level == 0.95 or not isinstance(size, int) or size < 2:
        return said
    return f"{said}, as {number(size)} claims share one risk of error"


def _groups(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The claims by what they mean for the reader: worse, better, practically the same, and what cannot be said.

    On a board that compares all with all nobody is the one who is better or worse: what is shown stands together.
    """
    found = []
    pairs = [c["conditions"] for c in claims if len(c.get("conditions") or ()) == 2]
    board = len({name for pair in pairs for name in pair}) > 2 and len({pair[0] for pair in pairs}) > 1
    titles = {"differ": "Shown to differ", "judge": "By the judge's grades only", "blocked": "Blocked by a check"}
    titles |= {str(key): title for key, title in SIDES.items()}
    kinds = ["differ", "alike", "judge", "open"] if board else ["worse", "better", "alike", "judge", "open"]
    for key in [*kinds, "blocked"]:
        held = ("worse", "better") if key == "differ" else (key,)
        own = [(c, k) for k, c in enumerate(claims, start=1) if _group_of(c) in held]
        if own:
            rows = [_claim(*c) for c in own[:MOST_CLAIMS]]
            left = len(own) - len(rows)
            more = f"{len(own) - EACH:,} more"
            if left:
                more += f", {len(rows) - EACH} of them here; JSON has all (richter report .. --json results.json)"
            found.append(
                {"side": key, "title": titles[key], "shown": rows[:EACH], "more": rows[EACH:], "more_words": more}
            )
    return found


def _group_of(claim: Mapping[str, Any]) -> str:
    """The group of the page that a claim stands in: what only an unchecked judge shows stands by itself."""
    if claim.get("verdict") == "blocked" and claim.get("reason"):
        return "blocked"
    found = _side(claim)
    return "judge" if claim.get("basis") == JUDGE_UNCHECKED and found != "open" else found


def _refused(document: Mapping[str, Any]) -> list[str]:
    """What was not compared, in documents whose blocked pairs are no claims."""
    if any(c.get("reason") for c in document.get("claims") or ()):
        return []
    rows = [r for r in document.get("refused") or [] if r.get("conditions")]
    return refusals((r["conditions"], str(r.get("reason"))) for r in rows)


def _tally(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many claims came out how, where there are more than the first screen shows."""
    if len(claims) <= 3 * EACH:
        return ""
    counts = Counter(_verdict(c) for c in claims)
    said = [f"{counts[v]:,} {v}" for v in Verdict if counts[v]]
    return f"Of {len(claims):,} claims " + ", ".join(said) + "."


def _bar(estimate: Any, interval: Any, better: Any, *, ends: Ends | None = None) -> dict[str, Any] | None:
    """Where an estimate and its interval stand on a rail of 0..100: between `ends`, or worse to better about zero."""
    span = _ends({"interval": interval})
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
        key: _rail([c.get(key) for c in conditions], _scale(conditions) if key == "scored" else None) for key in keys
    }
    rows = []
    for condition in _best_first(conditions):
        cells = [_cell(condition.get(key), key, rails[key]) for key in keys]
        rows.append({"name": name(condition.get("name")), "detail": _detail(condition), "cells": cells})
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
    label, what, unit = COLUMNS[key]
    label = f"{label} (bar: {_rail_words(key, ends)})"
    if not isinstance(value, Mapping) or not isinstance(value.get("estimate"), int | float):
        reason = value.get("missing") if isinstance(value, Mapping) else None
        return {"label": label, "big": "", "what": printable(str(reason or "not measured"), limit=160)}
    interval = value.get("interval")
    n, labels = value.get("n"), value.get("labels")
    own = {"how_often": "", "how_badly": "severity 3 or more", "knows": _averages(value)[2:-1]}
    said = [own.get(key, printable(str(value.get("what") or what), limit=120))]
    if value.get("graded") and key in own:
        said.append("as people would grade" + (f" ({count(labels, 'label')})" if labels else ""))
    if n is not None:
        said.append(f"{'' if key == 'scored' else 'of '}{count(n, 'answer' if key == 'knows' else 'item')}")
    mean = value.get("mean")
    mean = mean.get("estimate") if isinstance(mean, Mapping) else mean
    if isinstance(mean, int | float):
        said.append(f"mean severity {mean:.2f} of 4")
    if isinstance(interval, Mapping) and interval.get("level") not in (None, 0.95):
        said.append(f"range at {number(100 * interval['level'])}%")
    estimate, points = value["estimate"], unit == " points"
    big = f"{100 * estimate:.1f} points off" if points else percent(estimate) if unit else number(estimate)
    span, shown = _ends(value), interval_words(interval, as_percent=bool(unit))
    if (
        span is not None and points and span[0] <= 0
    ):  # nothing was shown, and its estimate may be 0 by what was taken off
        big, shown = f"up to {at_most(100 * span[1])} points off", ""
    elif span is not None and unit == "%" and estimate == 0:
        big, shown = "none seen", f"at most {at_most(100 * span[1])}%"
    return {
        "label": label,
        "big": big,
        "interval": shown.replace("%", "") if points else shown,
        "what": ", ".join(filter(None, said)),
        "bar": _bar(estimate, interval, None, ends=ends),
    }


def _detail(condition: Mapping[str, Any]) -> str:
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
    worst = next(iter(condition.get("where") or []), None)
    if worst:
        parts.append(f"worst in {name(worst.get('group'))}: {percent(worst.get('error_rate'))} wrong")
    return ", ".join(parts)


def check_rows(checks: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The checks: those that failed or were not made one by one, those that passed together."""
    said = {False: ("failed", "failed:"), None: ("open", "not made:")}
    rows = [
        {"mark": said[c.get("passed")][0], "said": said[c.get("passed")][1], "text": _check_text(c)}
        for c in sorted(checks, key=lambda c: c.get("passed") is None)
        if c.get("passed") in said
    ]
    passed = [_check_text(c) for c in checks if c.get("passed") not in said]
    return rows + ([{"mark": "passed", "said": "passed:", "text": "; ".join(passed)}] if passed else [])


def _check_text(check: Mapping[str, Any]) -> str:
    return printable(str(check.get("text") or check.get("name")), limit=300)


def signature_rows(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    signature = document.get("signature") or {}
    deviations = signature.get("deviations") or []

    def said(value: Any, otherwise: str) -> str:
        if isinstance(value, Mapping):
            value = "; ".join(f"{k}: {v}" for k, v in value.items())
        return printable(str(value), limit=600) if value not in (None, "", [], {}) else otherwise

    return [
        ("Requirement", said(signature.get("requirement"), "none was stated")),
        ("Bound", said(signature.get("bound"), "none: nobody rated how severe errors are")),
        ("Basis", said(signature.get("basis"), "no ratings")),
        ("Population covered", said(signature.get("population"), "the items of this run only")),
        ("Plan", said(signature.get("plan_hash"), "no plan was locked; every claim is exploratory")),
        ("Deviations", said("; ".join(str(d) for d in deviations), "none recorded")),
    ]
