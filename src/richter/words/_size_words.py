"""The sentences of sizes: what the data at hand can detect, and what smaller differences would take."""

from typing import TYPE_CHECKING

from richter.records import counted

if TYPE_CHECKING:
    from richter.audit import GapSize, PilotSize

__all__ = ["describe_gap_size", "describe_pilot_size"]


def describe_pilot_size(size: "PilotSize") -> list[str]:
    """The answer first, then the ladder of sizes, where the noise comes from, and how the data were read."""
    return [line for line in (*_answer(size), *_ladder(size), *_spread(size), size.understood, *size.notes) if line]


def _answer(size: "PilotSize") -> list[str]:
    words = size.words
    amount = f"{words.amount(size.margin)}{words.suffix}"
    if size.items_of_each is not None:
        one, two = size.items_of_each
        who = f"{one:,} of the first and {two:,} others of the second"
    else:
        who = f"asked of both {counted(size.draws, 'time')}" if size.draws > 1 else "asked of both"
    sure = f"power {size.power:.0%}, {100 * size.level:g}% confidence"
    lines = [f"You need about {size.items:,} questions, {who}, to show a difference of {amount} ({sure})."]
    if not size.stated:
        lines.append(f"No margin is stated, so this is for {amount}. State yours: --margin.")
    return lines


def _ladder(size: "PilotSize") -> list[str]:
    """What these questions detect, and what other differences take."""
    words = size.words
    lines = []
    if size.detectable is not None:
        lines.append(f"You can detect about {words.amount(size.detectable)}{words.suffix} with the questions at hand.")
    others = [f"{step.items:,} for {words.amount(step.difference)}{words.suffix}" for step in size.steps]
    return [*lines, *([f"Questions needed: {', '.join(others)}."] if others else [])]


def _spread(size: "PilotSize") -> list[str]:
    if size.shares is None or size.design is None:
        return []
    return [size.shares.sentence(), size.design.sentence]


def describe_gap_size(size: "GapSize") -> list[str]:
    """The answer first, then what was assumed."""
    points = f"{100 * size.margin:g} points"
    more = f" over {counted(size.pairs, 'pair')}" if size.pairs > 1 else ""
    return [
        f"You need about {size.items:,} questions, asked of both, to settle a difference of {points} either way.",
        f"{size.to_show_the_gap:,} show a true difference of {points}, {size.to_show_equivalence:,} a smaller one.",
        f"Power {size.power:.0%}, {100 * size.level:g}% confidence{more}.",
        f"Exactly one of the two is right on {size.discordance:.1%} of the questions.",
        *(f"Assumed: {line}." for line in size.assumed),
    ]
