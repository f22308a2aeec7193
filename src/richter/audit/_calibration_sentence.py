"""What the draws or grades of a condition say of its calibration, in words."""

from richter.audit._calibration import DrawsCondition, GradesCondition
from richter.calibration import EceResult
from richter.records import printable

__all__ = ["calibration_result", "calibration_sentence"]


def calibration_result(condition: GradesCondition | DrawsCondition) -> EceResult | None:
    """The figure that speaks for a condition: of its draws Sem2 (on held-out halves), else Sem1; None if untestable."""
    if isinstance(condition, GradesCondition):
        return condition.result
    return None if condition.sem is None else condition.sem.sem2 or condition.sem.sem1


def calibration_sentence(condition: GradesCondition | DrawsCondition) -> str:
    """One sentence on a condition."""
    name = printable(condition.name, limit=60)
    result = calibration_result(condition)
    if result is None:
        return f"{name}: untestable; {condition.reason}."
    what = "confidence" if isinstance(condition, GradesCondition) else "agreement with itself"
    low, high = result.interval.low, result.interval.high
    if low > 0:
        side = "more" if result.signed_gap > 0 else "less"
        return (
            f"{name}: {what} is miscalibrated: ECE {result.debiased:.3f} debiased ({low:.3f} to {high:.3f}), "
            f"{side} confident than right by {abs(result.signed_gap):.3f} on average."
        )
    return (
        f"{name}: {what} is not shown to be miscalibrated: ECE {result.ece:.3f}, where a calibrated model would show "
        f"{result.null:.3f}; the data allow an ECE of up to {high:.3f}."
    )
