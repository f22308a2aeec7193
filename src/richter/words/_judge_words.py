"""What is said of judges: answers that speak to them, and references beside their grades."""

from richter.records import Interval, counted, printable
from richter.words._spans import describe_level

__all__ = ["describe_bait", "describe_obeyed_orders", "describe_rule_contrast", "describe_rule_level"]


def describe_bait(condition: str, number: int, answers: int, item: str) -> str:
    """How many answers of a condition speak to a judge, and where to read the first of them."""
    who, first = printable(condition, limit=40), printable(item, limit=40)
    verb = "contains" if number == 1 else "contain"
    what = "a judge's reply or instructions to a judge"
    return f"{number:,} of {counted(answers, 'answer')} of {who} {verb} {what} (first: {first})"


def describe_obeyed_orders(condition: str, passed: int, speaking: int, others_passed: int, others: int) -> str:
    """How judges grade a condition's wrong answers that speak to them, beside its other wrong answers."""
    who = printable(condition, limit=40)
    return (
        f"judges pass {passed:,} of {speaking:,} wrong answers of {who} that speak to a judge, "
        f"and {others_passed:,} of {others:,} others"
    )


def describe_rule_contrast(judged: float, ruled: float, interval: Interval, items: int) -> str:
    """A difference by judges and by references, in points of the share of right answers."""
    low, high = (f"{100 * end:+.1f}" for end in (interval.low, interval.high))
    level = describe_level(interval.level)
    return (
        f"judges see {100 * judged:+.1f} points, references {100 * ruled:+.1f} ({level} CI {low} to {high}), "
        f"on {counted(items, 'question')}"
    )


def describe_rule_level(condition: str, judged: float, ruled: float, answers: int) -> str:
    """The share of right answers by judges and by references."""
    who = printable(condition, limit=40)
    shares = f"{100 * judged:.1f}% by the judges, {100 * ruled:.1f}% by references"
    return f"{who} is right in {shares} ({counted(answers, 'answer')})"
