"""The sentences of sizes: what the data at hand can detect, and what smaller differences would take."""

from typing import TYPE_CHECKING

from richter.words._claim_sentences import describe_note
from richter.words._spans import round_up_to_two_figures, stated_amount

if TYPE_CHECKING:
    from richter.audit import GapSize, PilotSize

__all__ = ["describe_gap_size", "describe_pilot_size"]


def describe_pilot_size(size: "PilotSize") -> list[str]:
    """A line for each difference, what the data at hand detect, where the noise comes from, and how they were read."""
    words = size.words
    steps = {step.difference: step.items for step in size.steps}
    wanted = {size.margin: size.items} if size.stated else {size.margin: size.items} | steps
    wanted = dict(sorted(wanted.items(), reverse=True))
    lines = []
    for gap, items in wanted.items():
        aim, who = stated_amount(words, gap, is_difference=True), _who(size) if gap == size.margin else ""
        lines.append(f"For {aim} you need about {round_up_to_two_figures(items):,} questions{who}.")
    if size.detectable is not None:
        amount = f"{words.amount(size.detectable)}{words.suffix}"
        lines.append(f"You can detect about {amount} with the questions at hand.")
    lines.append(f"{size.power:.0%} power, {100 * size.level:g}% level, on {words.noun}.")
    if size.shares is not None and size.design is not None and size.shares.draws is not None:  # there are repeats
        lines += [size.shares.sentence(), size.design.sentence]
    return [*lines, f"Read as: {size.understood}.", *map(describe_note, size.notes)]


def _sides(size: "PilotSize | GapSize") -> str:
    if size.items_of_each is None:
        return ""
    one, two = size.items_of_each
    return f" ({one:,} for the first and {two:,} others for the second)"


def _who(size: "PilotSize") -> str:
    if size.items_of_each is not None:
        return _sides(size)
    return f" (asked of both, {size.draws} times each)" if size.draws > 1 else " (asked of both, once each)"


def _pairs(number: int) -> str:
    return "" if number == 1 else f" over {number} pairs"


def describe_gap_size(size: "GapSize") -> list[str]:
    """The answer first, then what was assumed."""
    assumed = [f"Assumed: {line}." for line in size.assumed]
    discordant = f"Exactly one of the two is right on {size.discordance or 0:.1%} of the questions (--discordance)."
    about = f"{round_up_to_two_figures(size.items):,} questions{_sides(size)}"
    return [
        f"For {100 * size.margin:g} points you need about {about}.",
        f"{size.to_show_the_gap:,} show a difference that large; {size.to_show_equivalence:,} show that there is none.",
        f"{size.power:.0%} power, {100 * size.level:g}% level{_pairs(size.pairs)}.",
        *([] if size.discordance is None else [discordant]),
        *assumed,
        *(["Your own answers say it better: richter size old.csv new.csv"] if assumed else []),
    ]
