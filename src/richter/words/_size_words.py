"""The sentences of sizes: what the data at hand can detect, and what smaller differences would take."""

from typing import TYPE_CHECKING

from richter.claims._measures import METRICS
from richter.words._claim_sentences import describe_note
from richter.words._spans import SampleSize, describe_ladder, describe_settling, describe_steps, stated_amount

if TYPE_CHECKING:
    from richter.audit import GapSize, PilotSize

__all__ = ["describe_gap_size", "describe_pilot_size"]


def describe_pilot_size(size: "PilotSize") -> list[str]:
    """What `compare` says of sizes, then who answers how often, where the noise comes from, and how data were read."""
    words, sides = size.words, size.items_of_each
    at_hand = SampleSize(items=size.pilot_items, units=size.units, unit=size.unit)
    steps = {step.difference: step.items for step in size.steps}
    if size.stated or size.detectable is None:
        aim = stated_amount(words, size.margin, is_difference=True)
        first = describe_settling(aim, size.items, at_hand, power=size.power)
    else:
        first = describe_ladder(words, size.detectable, steps, at_hand, power=size.power)
    times = "once" if size.draws == 1 else f"{size.draws} times"
    who = f"both answer each question {times}" if sides is None else _describe_sides(sides)
    either = f"{size.to_show_the_gap:,} show a difference that large; {size.items:,} show that there is none."
    lines = [
        first,
        *([either] if size.stated else []),
        f"On {words.noun}, {100 * size.level:g}% level{_pairs(size.pairs)}; {who}.",
    ]
    if size.shares is not None and size.design is not None and size.shares.draws is not None:  # there are repeats
        lines += [size.shares.sentence(), size.design.sentence]
    return [*lines, f"Read as: {size.understood}.", *map(describe_note, size.notes)]


def _describe_sides(sides: tuple[int, int]) -> str:
    """Whose questions they are where each model has its own."""
    one, two = sides
    return "each has half of them" if one == two else f"{one / (one + two):.0%} of them for the first"


def _pairs(number: int) -> str:
    return "" if number == 1 else f" over {number} pairs"


def describe_gap_size(size: "GapSize") -> list[str]:
    """The answer first, then what was assumed."""
    steps = {step.difference: step.items for step in size.steps} or {size.margin: size.items}
    differ, same = f"{size.to_show_the_gap:,}", f"{size.to_show_equivalence:,}"
    either = f"{differ} show a difference that large; {same} show that there is none."
    discordant = f"Exactly one of the two is right on {size.discordance or 0:.1%} of the questions (--discordance)."
    who = _describe_sides(size.items_of_each) if size.items_of_each else "both answer each question once"
    return [
        describe_steps(METRICS["accuracy"], steps, SampleSize(items=0, units=0), noun=True),
        *([either] if size.stated else []),
        f"{size.power:.0%} power, {100 * size.level:g}% level{_pairs(size.pairs)}; {who}.",
        *([] if size.discordance is None else [discordant]),
        *(f"Assumed: {line}." for line in size.assumed),
        *(["Your own answers say it better: richter size old.csv new.csv"] if size.assumed else []),
    ]
