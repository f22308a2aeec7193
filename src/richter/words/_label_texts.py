"""What the label page says: where the claim stands, what the last label did to it, and what people disagree on."""

import dataclasses

from richter.claims import Metric
from richter.records import Interval
from richter.words._spans import describe_level, describe_span, digits_by_width, unit_of

__all__ = ["ClaimStanding", "describe_label_effect", "describe_standing"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStanding:
    """Where a labelled claim stands: a sentence, and its estimate with its interval once there is one.

    `subject` is what the estimate is of ("new minus old"); `is_difference` says that it is one of two models.
    """

    sentence: str
    metric: Metric
    subject: str
    estimate: float | None = None
    interval: Interval | None = None
    is_difference: bool = True
    is_decided: bool = False


def describe_standing(now: ClaimStanding) -> str:
    """The estimate with its interval: 'Accuracy of new minus old: +7.5 points (95% CI -0.2 to +15.2).'"""
    if now.estimate is None or now.interval is None:
        return now.sentence
    span = describe_span(now.metric, now.estimate, now.interval, is_difference=now.is_difference)
    noun = now.metric.noun
    end = " This decides the claim: it needs no more labels." if now.is_decided else ""
    return f"{noun[:1].upper()}{noun[1:]} of {now.subject}: {span}.{end}"


def describe_label_effect(before: ClaimStanding | None, after: ClaimStanding) -> str:
    """What the last label did: the estimate before and after, and how wide the interval was and is; "" without one."""
    if before is None or after.estimate is None or after.interval is None:
        return ""
    shown = digits_by_width(after.metric, after.interval.low, after.interval.high)
    unit = unit_of(after.metric, is_difference=after.is_difference)
    now = shown.amount(after.estimate, sign=after.is_difference)
    if before.estimate is None or before.interval is None:
        return f"Your last label gave the first estimate: {now}{unit}."
    then = shown.amount(before.estimate, sign=after.is_difference)
    moved = f"left the estimate at {now}{unit}" if now == then else f"moved the estimate from {then} to {now}{unit}"
    was, now_wide = (shown.amount(each.high - each.low) for each in (before.interval, after.interval))
    width = f"is {was}{unit} wide, as before" if was == now_wide else f"was {was}{unit} wide and is now {now_wide}"
    return f"Your last label {moved}. The {describe_level(after.interval.level)} CI {width}."
