"""Names, numbers, amounts, intervals, levels and sizes as people read them: the parts of every sentence."""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from richter.claims._measures import Metric
from richter.records import Claim, Interval, counted, printable

__all__ = [
    "describe_sizes",
    "describe_span",
    "round_up_to_two_figures",
    "stated_amount",
]


def _finite(value: Any) -> float | None:
    """A number, or None where there is none: undefined and infinite values are not numbers to print."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def name(value: Any, *, limit: int = 120) -> str:
    """A name from outside (a condition, a judge, a category) on one line, cut to `limit`."""
    return printable(str(value), limit=limit)


def percent(value: Any) -> str:
    """A share as a percentage with the decimals that its size deserves."""
    share = _finite(value)
    if share is None:
        return "–"
    hundred = 100 * share
    if hundred and abs(hundred) < 0.1:
        return f"{hundred:.2g}%"
    return f"{hundred:.1f}%"


def number(value: Any, *, digits: int = 3) -> str:
    """A number to `digits` significant digits, thousands grouped."""
    finite = _finite(value)
    if finite is None:
        return {"Infinity": "∞", "-Infinity": "−∞"}.get(value, "–") if isinstance(value, str) else "–"
    if finite == int(finite) and abs(finite) < 1e15:
        return f"{int(finite):,}"
    if abs(finite) >= 1000:
        return f"{finite:,.0f}"
    return f"{finite:.{digits}g}"


def signed(value: Any, *, digits: int = 3) -> str:
    """A number with its sign."""
    finite = _finite(value)
    return "–" if finite is None else f"{finite:+.{digits}g}"


def count(value: Any, noun: str, plural: str | None = None) -> str:
    """'1 answer', '1,200 answers'."""
    return f"{number(value)} {noun if value == 1 else plural or noun + 's'}"


def interval_words(interval: Mapping[str, Any] | None, *, as_percent: bool) -> str:
    """'(95% CI 79.9% to 89.0%)' or '(95% CI 0.21 to 0.4)'."""
    if not interval:
        return ""
    show, level = percent if as_percent else number, interval.get("level")
    named = f"{number(100 * level)}% CI " if isinstance(level, int | float) else ""
    return f"({named}{show(interval.get('low'))} to {show(interval.get('high'))})"


def among(names: Sequence[Any], *, most: int = 3, limit: int = 40) -> str:
    """'a, b and c', or 'a, b, c and 4 more'."""
    shown = [name(n, limit=limit) for n in names[:most]]
    rest = len(names) - len(shown)
    if rest > 0:
        shown.append(f"{rest} more")
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1] if shown else "none"


UNIT_NOUNS = {"item": "question"}  # what people call a unit; a group and a run are called so


def describe_rank_span(best: int, worst: int) -> str:
    """The ranks that one of several may have."""
    return str(best) if best == worst else f"{best} to {worst}"


def count_units(number: int, unit: str) -> str:
    """'200 questions', '1 group'."""
    return counted(number, UNIT_NOUNS.get(unit, unit))


def describe_level(level: float) -> str:
    """A level in per cent with the digits that tell it from 100%: '95%', '99.7%'.

    >>> describe_level(0.95), describe_level(1 - 0.05 / 15), describe_level(0.99999)
    ('95%', '99.7%', '99.999%')
    """
    digits = next((d for d in range(3, 12) if float(f"{100 * level:.{d}g}") < 100), 12)
    return f"{100 * level:.{digits}g}%"


def digits_by_width(words: Metric, *ends: float, stated: float | None = None) -> Metric:
    """The words with the digits that an interval's width deserves: two figures of it, at least one decimal of points.

    A limit that somebody stated is printed as it was stated. A sign never adds digits.
    """
    finite = [end * words.scale for end in ends if math.isfinite(end)]
    width = max(finite) - min(finite) if len(finite) > 1 else 0.0
    has_unit = words.suffix in (" points", "%")
    digits = words.digits if width <= 0 else min(max(1 - math.floor(math.log10(width)), int(has_unit)), 8)
    found = _with_digits(words, digits)
    return found if stated is None else found.telling(stated=stated)


@functools.lru_cache(maxsize=256)
def _with_digits(words: Metric, digits: int) -> Metric:
    return dataclasses.replace(words, digits=digits)


def unit_of(words: Metric, *, is_difference: bool) -> str:
    """Differences of rates are in points, rates in per cent."""
    return words.suffix if is_difference else words.unit


def amount_of(words: Metric, value: float, *, sign: bool) -> str:
    """A value as people read it; an end that has no bound in words."""
    if math.isinf(value):
        return "no upper limit" if value > 0 else "no lower limit"
    return words.amount(value, sign=sign)


def describe_span(words: Metric, estimate: float, interval: Interval, *, is_difference: bool, basis: str = "") -> str:
    """An estimate with its interval, which names its level: '+7.5 points (95% CI -0.2 to +15.2, 200 questions)'."""
    shown = digits_by_width(words, interval.low, interval.high)
    middle = f"{shown.amount(estimate, sign=is_difference)}{unit_of(words, is_difference=is_difference)}"
    more = f", {basis}" if basis else ""
    return f"{middle} ({describe_ends(shown, interval, is_difference=is_difference)}{more})"


def describe_ends(words: Metric, interval: Interval, *, is_difference: bool) -> str:
    """The ends of an interval with its level: '95% CI -0.2 to +15.2'."""
    low, high = (amount_of(words, end, sign=is_difference) for end in (interval.low, interval.high))
    lowest = -1.0 if words.suffix == "%" and is_difference else -math.inf  # less than nothing is never paid
    if interval.low <= lowest and math.isinf(interval.high):
        return f"{describe_level(interval.level)} CI: no limits known"
    return f"{describe_level(interval.level)} CI {low} to {high}"


def round_up_to_two_figures(number: float) -> int:
    """A size rounded up to two figures: it is not known better."""
    step = 10 ** max(math.floor(math.log10(max(number, 1))) - 1, 0)
    return int(math.ceil(number / step) * step)


def stated_amount(words: Metric, value: float, *, is_difference: bool) -> str:
    """An amount that somebody stated, as it was stated: '2 points', '5%'."""
    shown, unit = f"{abs(words.scale * value):,.10g}", unit_of(words, is_difference=is_difference)
    return f"{shown}{unit.removesuffix('s') if shown == '1' and unit == ' points' else unit}"


def describe_sizes(claim: Claim, words: Metric) -> str:
    """What an inconclusive claim can detect now, and what smaller differences take; empty where no size is known.

    Only a margin that somebody stated stands alone; else sizes are a ladder.
    """
    at_hand = SampleSize(items=claim.n or claim.units, units=claim.units, unit=claim.unit)
    per_unit = at_hand.items / max(claim.units, 1)
    if claim.margin is not None and claim.needed is not None:
        aim = stated_amount(words, claim.margin, is_difference=len(claim.conditions) == 2)
        return describe_settling(aim, math.ceil(claim.needed * per_unit), at_hand)
    if claim.min_detectable_difference is None or not claim.units:
        return ""
    steps = {step.difference: math.ceil(step.units * per_unit) for step in claim.sizes}
    return describe_ladder(words, claim.min_detectable_difference, steps, at_hand)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SampleSize:
    """The questions at hand (`items`), in `units` that vary independently."""

    items: int
    units: int
    unit: str = "item"

    def describe(self, items: int, *, noun: bool = True) -> str:
        """So many questions, with their groups where there are any: '990 questions in 110 groups'."""
        text = count_units(items, "item") if noun else f"{items:,}"
        if self.unit == "item":
            return text
        units = self.units if items == self.items else round_up_to_two_figures(items * self.units / self.items)
        return f"{text} in {count_units(units, self.unit)}"


def describe_ladder(
    words: Metric, detectable: float, steps: Mapping[float, int], at_hand: SampleSize, *, power: float = 0.8
) -> str:
    """What the questions at hand can detect, and how many smaller differences take: the one sentence on sizes."""
    found = words.scale * detectable
    shown = f"{found:.2g}" if found < 10 else f"{found:,.0f}"
    have = at_hand.describe(at_hand.items)
    text = f"You can detect about {shown}{words.suffix} ({power:.0%} power) with these {have}."
    more = {gap: items for gap, items in steps.items() if items > at_hand.items}
    return f"{text} {describe_steps(words, more, at_hand)}" if more else text


def describe_steps(words: Metric, steps: Mapping[float, int], at_hand: SampleSize, *, noun: bool = False) -> str:
    """The questions that each difference takes: 'For 5 points you need about 1,100, for 2 points about 6,300.'"""
    parts = []
    for k, (gap, items) in enumerate(sorted(steps.items(), reverse=True)):
        aim, size = stated_amount(words, gap, is_difference=True), round_up_to_two_figures(items)
        parts.append(f"for {aim} {'you need ' * (k == 0)}about {at_hand.describe(size, noun=noun and k == 0)}")
    return f"F{', '.join(parts)[1:]}."


def describe_settling(aim: str, items: int, at_hand: SampleSize, *, power: float = 0.8) -> str:
    """The size that settles a difference that somebody stated."""
    if items <= at_hand.items:
        have = at_hand.describe(at_hand.items)
        return f"These {have} were enough for a difference of {aim} ({power:.0%} power)."
    size = at_hand.describe(round_up_to_two_figures(items))
    return f"About {size} would settle a difference of {aim} ({power:.0%} power)."
