"""Right or wrong from the reference alone, without any model: one grader for each kind of reference."""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from richter.errors import InputError
from richter.records import Item, json_objects, storable
from richter.texts._choices import bare_text, named_letters, reference_names, right_letters, unwrap_answer
from richter.texts._hedges import is_hedged
from richter.texts._normalise import content_words, find_dates, is_denied_at, matches_reference, normalise, same_date
from richter.texts._reply_text import answer_window, remove_thoughts

__all__ = ["GRADERS", "Graders", "choose_grader", "choose_graders", "grade_answer"]

HEDGED = ("says", "number", "date")  # an answer that offers the reference beside another is not right by these
WHOLE = ("exact", "ends", "includes", "regex", "json")  # of these graders a long answer is looked at whole

# ---- numbers and units -----------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"(?<![\w.])([-−+]?(?:\d{1,3}(?:[,\u00a0\u202f' ]\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\d])")
_UNIT = re.compile(r"\s*(%|°?[a-zA-Zµ]+(?:/[a-zA-Z]+|²|³|\d(?![\d.]))?)?")
_SCALE_WORD = re.compile(r"\s*(thousand|million|billion|trillion)\b", re.IGNORECASE)
_MONEY = {"$": "usd", "€": "eur", "£": "gbp"}
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
# unit -> (what it measures, how many of the base)
_UNITS: dict[str, tuple[str, float]] = {
    word: (what, size)
    for what, sizes in {
        "length": {"mm millimetre millimeter": 1e-3, "cm centimetre centimeter": 1e-2, "m metre meter": 1.0,
                   "km kilometre kilometer": 1e3, "in inch inche": 0.0254, "ft foot feet": 0.3048, "yd yard": 0.9144,
                   "mi mile": 1609.344},
        "mass": {"mg milligram": 1e-6, "g gram": 1e-3, "kg kilogram kilo": 1.0, "t tonne": 1e3, "lb pound": 0.45359237,
                 "oz ounce": 0.028349523125},
        "time": {"ms millisecond": 1e-3, "s sec second": 1.0, "min minute": 60.0, "h hr hour": 3600.0, "day": 86400.0,
                 "week": 604800.0},
        "volume": {"ml millilitre milliliter": 1e-3, "l litre liter": 1.0, "gal gallon": 3.785411784},
        "speed": {"km/h kph": 1 / 3.6, "m/s": 1.0, "mph": 0.44704},
        "rate": {"kbit/s kbps": 1e3, "mbit/s mbps": 1e6, "gbit/s gbps": 1e9},
        "share": {"% percent": 1.0},
        "usd": {"usd dollar": 1.0}, "eur": {"eur euro": 1.0}, "gbp": {"gbp": 1.0},
    }.items()
    for words, size in sizes.items()
    for word in words.split()
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class _Quantity:
    value: float
    unit: str  # "" where none is stated; an unknown word is kept as it is
    step: float  # half of the last place that was written
    start: int
    end: int


def _quantities(text: str) -> list[_Quantity]:
    """Numbers in the order they stand, with scale ("3 million") and unit; "6 ft 1 in" is one."""
    quantities: list[_Quantity] = []
    for match in _NUMBER.finditer(text):
        one = _quantity(text, match)
        last = quantities[-1] if quantities else None
        if last is not None and _are_feet_and_inches(last, one) and not text[last.end : one.start].strip(" ,and"):
            quantities[-1] = _Quantity(last.value * 12 + one.value, "in", one.step, last.start, one.end)
        else:
            quantities.append(one)
    return quantities


def _quantity(text: str, match: re.Match[str]) -> _Quantity:
    """A number with the scale and the unit that stand behind it."""
    plain = re.sub(r"[,\u00a0\u202f' ]", "", match.group(1).replace("−", "-"))
    places = len(plain.partition(".")[2]) if "e" not in plain.lower() else 0
    scale = _SCALE_WORD.match(text, match.end())  # from there on: a copy for every number is quadratic
    factor, end = (_SCALES[scale[1].lower()], scale.end()) if scale else (1.0, match.end())
    step = 0.5 * 10.0**-places * factor if places else 0.0
    unit, end = _unit(text, match.start(), end)
    return _Quantity(float(plain) * factor, unit, step, match.start(), end)


def _unit(text: str, start: int, end: int) -> tuple[str, int]:
    """The unit of a number from `start` to `end`, and where it ends."""
    money = _MONEY.get(text[start - 1] if start else "", "")
    after = _UNIT.match(text, end)
    word = (after[1] or "").lower() if after else ""
    if after and word and _base(word) is not None:
        return word, after.end()
    glued = word and not money and text[end : end + 1] not in (" ", "")  # "12x": part of the number
    return (word if glued else money), end


def _are_feet_and_inches(one: _Quantity, other: _Quantity) -> bool:
    return {_base(one.unit), _base(other.unit)} == {("length", 0.3048), ("length", 0.0254)}


def _base(unit: str) -> tuple[str, float] | None:
    return _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s").removesuffix("."))


def _close(answer: _Quantity, wanted: _Quantity, tolerance: float | None) -> bool:
    """Equal by value in the reference's unit: within `tolerance` of it, else as far as the reference was written."""
    value = answer.value
    if answer.unit and wanted.unit:
        a, b = _base(answer.unit), _base(wanted.unit)
        if a is None or b is None:
            if answer.unit != wanted.unit:
                return False
        elif a[0] != b[0]:
            return False
        else:
            value *= a[1] / b[1]
    converted = value != answer.value
    allowed = wanted.step if tolerance is None else tolerance * abs(wanted.value)
    if tolerance is None and converted:
        allowed = max(allowed, 0.005 * abs(wanted.value))  # "185 cm" for 6 ft 1 in
    return math.isclose(value, wanted.value, rel_tol=1e-9, abs_tol=allowed)


_DECADE = re.compile(r"\b[12]\d\d0s\b")
_MARKED = re.compile(r"####\s*|\\boxed\s*\{|\b(?:final answer|answer|result)\s*(?:is|=|:)?[\s*$]*(?=[-−+$€£\d])", re.I)
_RANGE = re.compile(r"\bbetween\s*$|\bbetween\s+\S+\s+and\s*$|\d\s*(?:to|[-–—])\s*$", re.IGNORECASE)


def _number(item: Item, text: str, tolerance: float | None) -> bool:
    asked = {q.value for q in _quantities(item.prompt)}
    text = re.sub(r"\b(\d{4})-\d\d-\d\d\b", r"\1", text)  # of a date the year: it is no range
    text = re.sub(r"(?<![\d)]\s)\bminus\s+(?=\d)", "-", text, flags=re.IGNORECASE)
    if not any(map(_DECADE.search, reference_names(item))):  # the nineties are not 1990
        text = _DECADE.sub("", text)
    stated = _quantities(text)
    if not stated:
        return matches_reference(text, reference_names(item))  # "twelve"
    stated = _final_quantities(text, [q for q in stated if not is_denied_at(text, q.start)], asked)
    wanted = [found[0] for name in reference_names(item) if (found := _quantities(name))]
    return any(_close(q, one, tolerance) for one in wanted for q in stated)


def _final_quantities(text: str, found: list[_Quantity], asked: set[float]) -> list[_Quantity]:
    """The number that is marked as the answer, else the first and the last that the question does not hold."""
    marks = {m.end() for m in _MARKED.finditer(text)}
    marked = [q for q in found if any(q.start - at in marks for at in range(4))]
    own = _without_ranges(text, [q for q in found if q.value not in asked] or found)
    return marked[-1:] or own[:1] + own[-1:]


def _without_ranges(text: str, found: list[_Quantity]) -> list[_Quantity]:
    """The numbers that are no end of a range."""
    ends = [_RANGE.search(text[max(q.start - 40, 0) : q.start]) is not None for q in found]
    return [q for k, q in enumerate(found) if not any(ends[k : k + 2])]


# ---- choices ---------------------------------------------------------------------------------------------------------


def _choice(item: Item, text: str, tolerance: float | None) -> bool:
    letters = named_letters(item, text)
    return bool(letters) and letters == right_letters(item)


# ---- dates, lists, fields, patterns ----------------------------------------------------------------------------------


def _date(item: Item, text: str, tolerance: float | None) -> bool:
    """A date that agrees in every part which the reference states."""
    return any(same_date(find_dates(text), find_dates(name)) for name in reference_names(item))


def _parts(text: str) -> list[str]:
    if text.lstrip().startswith("["):
        body = next(json_objects(f'{{"all": {text}}}'), None) or {}
        if isinstance(body.get("all"), list):
            return [str(part) for part in body["all"]]
    if re.search(r"[;\n]", text.strip()):
        pieces = re.split(r"[;\n]+", text)
    else:
        pieces = re.split(r",\s*(?:and\s+)?|(?<!\s)\s+and\s+", text)
    return [p for piece in pieces if (p := re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", piece).strip(" .")) != ""]


def _list(item: Item, text: str, tolerance: float | None) -> bool:
    """All members, in any order; of an answer that is nothing but a list also no others."""
    for name in reference_names(item):
        wanted = {normalise(part) for part in _parts(name)}
        parts = [normalise(part) for part in _parts(text)]
        if set(parts) == wanted:
            return True
        bare = bool(parts) and all(len(part.split()) <= 6 for part in parts) and len(parts) > 1
        if not bare and all(matches_reference(text, [part]) for part in _parts(name)):
            return True
    return False


def _same(answer: Any, wanted: Any, tolerance: float | None) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(answer, Mapping) and all(
            k in answer and _same(answer[k], v, tolerance) for k, v in wanted.items()
        )
    if isinstance(wanted, list):
        same = isinstance(answer, list) and len(answer) == len(wanted)
        return same and all(_same(a, b, tolerance) for a, b in zip(answer, wanted, strict=True))
    if isinstance(wanted, bool) or wanted is None or isinstance(answer, bool):
        return answer is wanted or (isinstance(answer, str) and answer.lower() == str(wanted).lower())
    if isinstance(wanted, int | float):
        try:
            return math.isclose(float(answer), wanted, rel_tol=max(tolerance or 0.0, 1e-9))
        except (TypeError, ValueError, OverflowError):
            return False
    return normalise(str(answer)) == normalise(str(wanted))


def _json(item: Item, text: str, tolerance: float | None) -> bool:
    """Every field of the reference, with its value, in a JSON object of the answer; other fields do not matter."""
    wanted = next(json_objects(item.reference), None)
    return wanted is not None and any(_same(value, wanted, tolerance) for value in json_objects(text))


def _pattern(reference: str) -> str | None:
    match = re.fullmatch(r"re:(.+)|/(.+)/", reference.strip(), re.DOTALL)
    return None if match is None else match[1] or match[2]


def _regex(item: Item, text: str, tolerance: float | None) -> bool:
    """By an engine whose time is linear in the answer, whatever the pattern; it knows no look-around."""
    import polars as pl

    pattern = _pattern(item.reference) or item.reference
    try:  # "$" is the end, or before a last line's end
        return bool(pl.Series([text, text.removesuffix("\n")]).str.contains(storable(pattern), strict=True).any())
    except pl.exceptions.ComputeError as error:
        why = str(error).partition("error: ")[2].partition("\n\n")[0].rpartition("error: ")[2].strip()
        raise InputError(
            f"The reference of {item.id!r} is not a usable regular expression: {why}.",
            remedy="Write it without look-around, back-references and \\Z, or use another grader.",
        ) from error


# ---- texts -----------------------------------------------------------------------------------------------------------


def _exact(item: Item, text: str, tolerance: float | None) -> bool:
    return text in reference_names(item)


def _equal(item: Item, text: str, tolerance: float | None) -> bool:
    answer = normalise(text)
    return answer != "" and any(normalise(name) == answer for name in reference_names(item))


def _says(item: Item, text: str, tolerance: float | None) -> bool:
    return matches_reference(text, reference_names(item))


def _ends(item: Item, text: str, tolerance: float | None) -> bool:
    return any(bare_text(text).endswith(bare_text(name)) for name in reference_names(item))


def _includes(item: Item, text: str, tolerance: float | None) -> bool:
    return any(name.casefold() in text.casefold() for name in reference_names(item))


# What each grader asks of an answer; the order is that of the help text.
GRADERS: dict[str, tuple[Callable[[Item, str, float | None], bool], str]] = {
    "exact": (_exact, "the reference or an alias, character by character"),
    "text": (_equal, "the same but for case, accents, punctuation, articles and number words"),
    "says": (_says, "says the reference or an alias somewhere, and does not decline"),
    "ends": (_ends, "ends with it, punctuation aside (Inspect's `match`)"),
    "includes": (_includes, "holds it, case aside (Inspect's `includes`)"),
    "number": (_number, "the same number, in any usual unit, within --tolerance"),
    "choice": (_choice, "the right option, by letter or text"),
    "date": (_date, "the same date, as far as the reference states it"),
    "list": (_list, "the same members in any order"),
    "json": (_json, "a JSON object with the reference's fields and values"),
    "regex": (_regex, "matches the reference as a regular expression"),
}


def grade_answer(item: Item, text: str, grader: str | None = None, *, tolerance: float | None = None) -> bool | None:
    """Whether an answer is right by the item's reference; None where the item has none.

    `grader` is one of `GRADERS`, or chosen by the reference (`choose_grader`). `tolerance` is relative (0.01 is one
    percent) and for numbers; without it a number must agree as far as the reference was written. A refusal is wrong.
    """
    if not item.reference.strip():
        return None
    name = grader or choose_grader(item)
    if name not in GRADERS:
        raise InputError(f"There is no grader {name!r}.", remedy=f"There are {', '.join(GRADERS)}.")
    try:
        right = GRADERS[name][0](item, _graded_text(text, name), tolerance)
        return right and not (name in HEDGED and is_hedged(item, text))
    except RecursionError:  # as deep as the reference, which is too deep to compare
        return False


def _graded_text(text: str, grader: str) -> str:
    """What a grader is given of an answer: without its thoughts, of a long one beginning and end, out of its JSON."""
    reply = storable(remove_thoughts(text).text)
    if grader in WHOLE:
        return reply
    return answer_window(reply) if grader == "choice" else unwrap_answer(answer_window(reply))


def choose_grader(item: Item) -> str:
    """The grader that fits an item's reference, by looking at it (and at the options, where there are any)."""
    reference = item.reference.strip()
    if item.options or (re.fullmatch(r"[A-J]", reference) and re.search(r"(?m)^\s*\(?A[).:]", item.prompt)):
        return "choice"
    if reference.startswith("{") and next(json_objects(reference), None) is not None:
        return "json"
    pattern = _pattern(reference)
    if pattern is not None and (reference.startswith("re:") or re.search(r"[\\^$*+?|\[(]", pattern)):
        return "regex"
    quantities = _quantities(reference)
    if (
        len(quantities) == 1
        and reference[: quantities[0].start].strip(" ~≈$€£") == ""
        and not reference[quantities[0].end :].strip()
    ):
        return "number"
    if find_dates(reference) and len(content_words(reference)) <= 4:
        return "date"
    if reference.startswith("[") or (";" in reference and len(_parts(reference)) > 1):
        return "list"
    return "says"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Graders:
    """Which grader each item of a set gets, how many get which, and how many have no reference."""

    by_item: Mapping[str, str]
    counts: Mapping[str, int]
    without: int
    tolerance: float | None = None

    def __str__(self) -> str:
        if not self.counts:
            return "No item has a reference, so nothing is graded."
        parts = [f"{name} for {n:,} item{'s' * (n != 1)}" for name, n in self.counts.items()]
        rest = f"; {self.without:,} without a reference are not graded" if self.without else ""
        return f"Graded without a model: {', '.join(parts)}{rest}."


def choose_graders(items: Sequence[Item], grader: str | None = None, *, tolerance: float | None = None) -> Graders:
    """The grader of every item with a reference: `grader` for all, else by looking at each reference."""
    if grader is not None and grader not in GRADERS:
        raise InputError(f"There is no grader {grader!r}.", remedy=f"There are {', '.join(GRADERS)}.")
    by_item = {item.id: grader or choose_grader(item) for item in items if item.reference.strip()}
    counts = dict(Counter(by_item.values()).most_common())
    return Graders(by_item=by_item, counts=counts, without=len(items) - len(by_item), tolerance=tolerance)
