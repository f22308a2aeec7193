"""What a search says of the base that it went through, and of the questions that it found."""

from typing import Any

__all__ = ["describe_base_rate", "describe_keys"]

Found = Any  # a frame or a rate, by its fields
_FRAMES = {
    "all": "all {size:,} paragraphs with text",
    "questions": "the {size:,} paragraphs that have questions",
}


def describe_base_rate(frame: Found, rate: Found, *, drawn: bool) -> list[str]:
    """The error rate of the paragraphs of a frame with its interval, or why it is unknown and what to do."""
    if frame.kind == "chosen":
        return [
            "The error rate of the base is unknown.",
            f"Earlier searches chose {frame.chosen:,} of the {frame.size:,} paragraphs that have questions.",
            "Write questions for the other paragraphs with `richter search questions`, or add --generator.",
        ]
    if rate.error_rate is None or rate.interval is None:
        if drawn:
            return ["The error rate of the base is unknown: no paragraph that was drawn at random has an answer."]
        return ["The error rate of the base is unknown: no paragraph is drawn at random (--uniform 0)."]
    limits = f"{rate.interval.level:.0%} CI {100 * rate.interval.low:.1f} to {100 * rate.interval.high:.1f}"
    about = _FRAMES[frame.kind].format(size=frame.size)
    return [
        f"Of {about}, the model gets {100 * rate.error_rate:.1f}% wrong ({limits}), by {rate.n:,} drawn at random.",
        "The share of errors among the questions asked is higher by design.",
    ]


def describe_keys(report: Found, label: str) -> list[str]:
    """What came of reading keys again, the expected share of bad keys that are left, and what to do with doubtful ones.

    `label` is the command by which a person settles them.
    """
    counts = f"{report.survived:,} survive, {report.doubtful:,} are doubtful, {report.rejected:,} are rejected"
    lines = [f"{reader} could not read the keys: {why}" for reader, why in report.unreachable.items()]
    lines.append(f"{', '.join(report.readers)} read the keys again with the paragraph in view: {counts}.")
    if report.interval is None or report.bad_share is None:
        lines.append("The share of bad keys among those that survive is unknown.")
    else:
        limits = f"{report.interval.level:.0%} CI {100 * report.interval.low:.1f} to {100 * report.interval.high:.1f}"
        lines.append(f"Expect {100 * report.bad_share:.1f}% bad keys among those that survive ({limits}).")
    if report.doubtful:
        lines.append(f"Settle doubtful keys by hand: {label}")
    elif report.interval is None:
        lines.append(f"Label some keys by hand to know it: {label}")
    return lines
