"""What a search says of the base that it went through, and of the questions that it found."""

from typing import Any

__all__ = ["describe_base_rate", "describe_key_readings", "describe_keys"]

Found = Any  # a frame or a rate, by its fields
_FRAMES = {
    "all": "all {size:,} paragraphs with text",
    "questions": "the {size:,} paragraphs that have questions",
}


def describe_base_rate(frame: Found, rate: Found, *, drawn: bool, whole: bool) -> list[str]:
    """The error rate of the paragraphs of a frame with its interval, or why it is unknown and what to do."""
    if frame.kind == "chosen":
        return [
            "The error rate of the base is unknown.",
            f"Earlier searches chose {frame.chosen:,} of the {frame.size:,} paragraphs that have questions.",
            "Write questions for the other paragraphs with `richter search --only questions`, or add --generator.",
        ]
    if rate.error_rate is None or rate.interval is None:
        if drawn:
            return ["The error rate of the base is unknown: no paragraph that was drawn at random has an answer."]
        return ["The error rate of the base is unknown: no paragraph is drawn at random (--uniform 0)."]
    limits = f"{rate.interval.level:.0%} CI {100 * rate.interval.low:.1f} to {100 * rate.interval.high:.1f}"
    about = _FRAMES[frame.kind].format(size=frame.size)
    wrong = f"Of {about}, the model gets {100 * rate.error_rate:.1f}% wrong ({limits})"
    if whole:
        return [f"{wrong}. All were asked about, and {rate.n:,} have an answer."]
    return [
        f"{wrong}, by {rate.n:,} drawn at random.",
        "The share of errors among the questions asked is higher by design.",
    ]


def describe_key_readings(plan: Found, price: str) -> list[str]:
    """How many calls it takes to read the keys of failing questions again, and the planted ones, and their price."""
    n, readings = len(plan.questions), len(plan.questions) * len(plan.readers)
    readers = ", ".join(plan.readers)
    lines = [f"Reads {n:,} keys again with the paragraph in view: {readings:,} calls to {readers}."]
    if plan.planted:
        lines.append(
            f"Reads {len(plan.planted):,} planted bad keys to see how many are noticed: "
            f"{plan.calls - readings:,} more calls to {', '.join(plan.planted_to)}."
        )
    lines.append(f"Together {plan.calls:,} calls, {price} (--keys all reads none).")
    return lines


def describe_keys(report: Found, label: str) -> list[str]:
    """What came of reading keys again, the expected share of bad keys that are left, and what to do with doubtful ones.

    `label` is the command by which a person settles them.
    """
    counts = f"{report.survived:,} survive, {report.doubtful:,} are doubtful, {report.rejected:,} are rejected"
    lines = [f"{reader} could not read the keys: {why}" for reader, why in report.unreachable.items()]
    lines.append(f"{', '.join(report.readers)} read the keys again with the paragraph in view: {counts}.")
    lines += _describe_bad_share(report)
    if report.doubtful:
        lines.append(f"Settle doubtful keys by hand: {label}")
    elif report.bad_share is None:
        lines.append(f"Label some keys by hand to know it: {label}")
    return lines


def _describe_bad_share(report: Found) -> list[str]:
    """The expected share of bad keys with its interval, and what it rests on."""
    rests_on = f"{report.noticed:,} of {report.planted:,} planted bad keys were noticed"
    if report.bad_share is None:
        why = f": {rests_on}" if report.planted else ""
        return [f"The share of bad keys among those that survive is unknown{why}."]
    limits = f"{report.interval.level:.0%} CI {100 * report.interval.low:.1f} to {100 * report.interval.high:.1f}"
    if report.interval.method.startswith("clopper-pearson"):
        rests_on = f"{report.labelled:,} keys were labelled by people"
    return [f"Expect {100 * report.bad_share:.1f}% bad keys among those that survive ({limits}): {rests_on}."]
