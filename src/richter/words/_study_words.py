"""The sentences of single studies: calibration, tails and the severity of errors."""

from collections.abc import Callable, Mapping, Sequence

from richter.records import Claim, Gate, Interval, Verdict, at_least, at_most, counted, printable
from richter.words._spans import describe_level

__all__ = [
    "GATE_FAILURES",
    "describe_calibration",
    "describe_ci",
    "describe_repeats",
    "describe_severity_board",
    "describe_severity_next",
    "describe_tail_next",
    "describe_tail_verdict",
    "describe_unmeasured_calibration",
]

ABOVE_ZERO_ONLY = 2e-9  # a lower end at or below it says that there is an error, not how large it is
GATE_FAILURES = {  # what it means that a gate of the tail protocol failed
    "G1": "their means may differ",
    "G2": "the means of their worst tenth may differ",
    "G3": "there are too few extreme scores",
    "G4": "the fitted tail does not describe the scores",
    "G5": "the tail's shape moves with the threshold",
    "P1": "the intervals of the two shapes overlap",
    "P2": "the two shapes differ by too little",
}


def describe_ci(interval: Interval | None, *, digits: int = 2, sign: bool = False) -> str:
    """An interval in brackets with its level: '(95% CI 0.02 to 0.19)'; that there is none."""
    if interval is None:
        return "(no interval)"
    low, high = (f"{round(end, digits) + 0.0:{'+' if sign else ''}.{digits}f}" for end in (interval.low, interval.high))
    return f"({describe_level(interval.level)} CI {low} to {high})"


# ------------------------------------------------------------------ calibration


def describe_calibration(
    name: str,
    what: str,
    *,
    is_shown: bool,
    fault: str,
    plug_in: float,
    null: float,
    debiased: float,
    interval: Interval,
) -> str:
    """Whether a confidence says how often the model is right, by how much it is off, and how sure that is."""
    who, high, level = (
        printable(name, limit=60),
        _points(at_most, interval.high),
        f"{describe_level(interval.level)} CI",
    )
    if is_shown:
        span = f"{_points(at_least, interval.low)} to {high}" if interval.low > ABOVE_ZERO_ONLY else f"up to {high}"
        fault = fault or "it is not how often the model is right"
        return (
            f"{who}: {what} is miscalibrated: {fault}. Calibration error {100 * debiased:.1f} points ({level} {span})."
        )
    return (
        f"Inconclusive: the data do not show that the {what} of {who} is miscalibrated. Calibration error "
        f"{100 * plug_in:.1f} points; a calibrated model would show {100 * null:.1f}. "
        f"Values up to {high} points fit the data ({level})."
    )


def _points(rounded: Callable[..., str], share: float) -> str:
    """An end of an interval of shares in points, never rounded towards the estimate."""
    return rounded(100 * share, digits=3 if share >= 0.1 else 2)


def describe_unmeasured_calibration(claim: Claim) -> str:
    """Why a model's calibration has no answer."""
    return f"Can't measure the calibration of {printable(claim.conditions[0], limit=60)}: {claim.reason.rstrip('.')}."


def describe_repeats(claim: Claim) -> str:
    """Whether repeated answers agree more often than they are right, in points with the interval that decided."""
    who, interval = printable(claim.conditions[0], limit=60), claim.interval or claim.plain_interval
    points, span = 100 * (claim.estimate or 0.0), ""
    if interval is not None:
        scaled = Interval(low=100 * interval.low, high=100 * interval.high, level=interval.level, method="")
        span = f" {describe_ci(scaled, digits=1, sign=True)}"
    found = f"agree {abs(points):.1f} points {'more' if points > 0 else 'less'} often than they are right{span}."
    found = found if abs(points) >= 0.05 else f"agree as often as they are right{span}."
    return f"{who}: repeats {found}" if claim.verdict is Verdict.VERIFIED else f"Inconclusive: repeats of {who} {found}"


# ------------------------------------------------------------------ tails


def describe_tail_verdict(
    names: tuple[str, str],
    shapes: tuple[float, float],
    *,
    quantile: float,
    difference: float,
    gates: Sequence[Gate],
    verdict: Verdict,
    blocked_by: str | None,
) -> str:
    """Which of two has the heavier tail, or which gate stands in the way."""
    by_name, (a, b) = {gate.name: gate for gate in gates}, names
    if verdict is Verdict.VERIFIED:
        heavier, lighter = (0, 1) if shapes[0] > shapes[1] else (1, 0)
        return (
            f"{names[heavier]} has a heavier tail than {names[lighter]}: shape {shapes[heavier]:.3f} against "
            f"{shapes[lighter]:.3f} above the {100 * quantile:.4g}% quantile. Mean and tail mean are practically "
            "equal, and every gate holds."
        )
    if blocked_by is not None:
        gate = by_name[blocked_by]
        return (
            f"Can't say which of {a} and {b} has the heavier tail: {GATE_FAILURES[blocked_by]} ({blocked_by}). "
            f"Required: {gate.rule}. Found: {gate.detail}."
        )
    found = by_name["G3"].detail or "there are too few extreme scores"
    return f"Inconclusive: the data can't tell if the tails of {a} and {b} differ by {difference:g}. Found: {found}."


TAIL_STEPS = {  # what to do where a gate failed
    "G1": "compare the means first: tails are compared only where these are equal",
    "G2": "compare the worst tenth first: shapes are compared only where its means are equal",
    "G3": "add questions; richter size tail says how many",
    "G4": "look at the scores: this tail has no shape that could be compared",
    "G5": "look at the scores: this tail has no stable shape to compare",
}


def describe_tail_next(claim: Claim, *, again: str) -> str:
    """The one thing to do after a study of tails."""
    if claim.remedy:
        return f"Next: {claim.remedy.rstrip('.')}."
    gate = "G3" if claim.verdict is Verdict.UNDECIDED else claim.blocked_by or ""
    return f"Next: {TAIL_STEPS.get(gate, f'richter report {again} -o page.html')}"


# ------------------------------------------------------------------ severity


def describe_severity_board(pairs: Sequence[Claim], means: Mapping[str, float], noun: str) -> str:
    """How many pairs differ in the main measure, and whose errors are the most and the least severe."""
    differ = sum(c.verdict in (Verdict.VERIFIED, Verdict.REFUTED) for c in pairs)
    text = f"{differ} of {counted(len(pairs), 'pair')} differ in {noun}."
    if len(means) < 3:
        return text
    worst, best = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    return (
        f"{text} The errors of {worst} are the most severe (mean {means[worst]:.2f} of 4), "
        f"those of {best} the least ({means[best]:.2f})."
    )


def describe_severity_next(claims: Sequence[Claim], *, again: str) -> str:
    """The one thing to do after weighing errors."""
    main = [c for c in claims if c.primary]
    if main and all(c.verdict is Verdict.UNDECIDED for c in main):
        return "Next: add questions, and rate their wrong answers: only errors count here."
    return f"Next: read the most severe errors: richter report {again} -o page.html"
