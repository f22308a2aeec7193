"""Selective answering: from which confidence on few answers are wrong."""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from richter._special import betainc, betaincinv
from richter.errors import InputError
from richter.records import Interval, at_most, counted
from richter.stats import Bools, Floats, ece, effective_sample_size, unit_rate

__all__ = ["SafeThreshold", "safe_threshold"]

_MAX_THRESHOLDS = 40  # thresholds tried, at most


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SafeThreshold:
    """The lowest confidence from which errors are shown to stay under `target`; None where none is, and `reason` why.

    `error` and `upper` (one-sided, at `level`) are of the held-out answers above it, `n` of them and `wrong` wrong;
    `coverage` is the share of all answers above it. Over repetitions the true error above the threshold exceeds the
    target in at most 1 - level.
    """

    target: float
    level: float
    threshold: float | None = None
    coverage: Interval | None = None
    share: float | None = None
    error: float | None = None
    upper: float | None = None
    n: int
    wrong: int
    held_out: int
    tested: int
    needed: int
    reason: str = ""

    @property
    def sentence(self) -> str:
        """What a user may do."""
        if self.threshold is None or self.share is None or self.upper is None:
            return f"No confidence threshold is sure to keep errors under {100 * self.target:g}%: {self.reason}."
        return (
            f"From a confidence of {self.threshold:.6g} on it can answer alone: errors stay under "
            f"{100 * self.target:g}% (shown at {100 * self.level:g}% on {self.n:,} held-out answers, {self.wrong} "
            f"wrong); that keeps {100 * self.share:.0f}% of answers."
        )


def _thresholds(c: Floats) -> Floats:
    """Observed confidences, the highest first; where there are many, those at even steps of the share kept."""
    values = np.unique(c)[::-1]
    if len(values) <= _MAX_THRESHOLDS:
        return values
    ranks = np.quantile(c, np.linspace(1, 0, _MAX_THRESHOLDS + 1)[1:], method="lower")
    chosen: Floats = np.unique(ranks)[::-1]
    return chosen


def safe_threshold(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    target: float,
    rng: np.random.Generator,
    unit: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    level: float = 0.95,
) -> SafeThreshold:
    """The confidence from which on the model may answer alone, with at most `target` of those answers wrong.

    Units are split in two at random. On one half the threshold is sought at which errors under the target are the
    surest; on the other "the error above this threshold exceeds the target" is tested there, and if that is
    rejected at the next lower threshold, and so on down to the first that is not (fixed-sequence testing: every
    test at 1 - level, because the order was fixed on other items). The test is the exact binomial tail; with units
    of several answers at n / d and k / d, n / d as many answers as these are worth (`stats.effective_sample_size`,
    as Korn and Graubard do) and at most n. With weights (of each answer) the share of errors is the weighted one,
    and the test that of n answers with sum w e / max w errors against target x mean w / max w: sums of values in
    [0, 1] stray no further than binomial ones (Hoeffding), wherever the errors are.

    >>> from richter.calibration import safe_threshold
    >>> import numpy as np
    >>> confidence, correct = [0.6] * 50 + [0.9] * 50, [1, 0] * 25 + [1] * 45 + [0] * 5
    >>> safe_threshold(confidence, correct, target=0.3, rng=np.random.default_rng(0)).threshold
    0.6
    """
    if not 0 < target < 1:
        raise InputError(f"A target of {target} is not a share.", remedy="Use 0.02 for 2% errors.")
    if not 0 < level < 1:
        raise InputError(f"A confidence level of {level} is not between 0 and 1.", remedy="Use 0.95 for 95%.")
    ece(confidence, correct)  # checks the input
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    of = np.arange(len(c)) if unit is None else np.unique(np.asarray(unit), return_inverse=True)[1]
    w = np.ones(len(c)) if weight is None else np.asarray(weight, dtype=np.float64) / np.max(weight)
    alone = len(np.unique(of)) == len(c)
    units = int(of.max()) + 1
    first = (rng.permutation(units) < units // 2)[of]
    thresholds = _thresholds(c)
    needed = math.ceil(math.log(1 - level) / math.log1p(-target * float(np.mean(w))))

    def tested(part: Bools, threshold: float) -> tuple[float, int, int, float, float]:
        """p, the answers kept and those wrong, and the weighted share of errors with its upper limit."""
        answered = part & (c >= threshold)
        n, wrong = int(np.sum(answered)), w[answered] * (1 - a[answered])
        if n == 0:
            return 1.0, 0, 0, 1.0, 1.0
        size = 1.0 if alone else max(n / effective_sample_size(wrong, of[answered], level=level, side="upper"), 1.0)
        k, share = float(np.sum(wrong)), float(np.mean(w[answered]))
        p = float(betainc(k / size + 1, max((n - k) / size, 1e-9), target * share))
        limit = float(betaincinv(k / size + 1, max((n - k) / size, 1e-9), level)) / share
        return 1 - p, n, int(np.sum(1 - a[answered])), k / (n * share), min(limit, 1.0)

    best = min(range(len(thresholds)), key=lambda k: tested(first, float(thresholds[k]))[0])
    lowest, tests = None, 0
    for threshold in thresholds[best:].tolist():
        tests += 1
        p, n, wrong, error, upper = tested(~first, threshold)
        if p > 1 - level:
            break
        lowest = (float(threshold), n, wrong, error, upper)
    held_out = int(np.sum(~first))
    common: dict[str, Any] = {"target": target, "level": level, "held_out": held_out, "tested": tests, "needed": needed}
    if lowest is None:
        _, n, wrong, error, upper = tested(~first, float(thresholds[best]))
        reason = (
            f"{counted(held_out, 'held-out answer is', 'held-out answers are')} too few, even without an error; "
            f"{needed:,} are needed above it"
        )
        if held_out >= needed:
            reason = (
                f"above the best one, {thresholds[best]:.6g}, {wrong} of {n} held-out answers are wrong, so up to "
                f"{at_most(100 * upper)}% may be"
            )
        return SafeThreshold(n=n, wrong=wrong, reason=reason, **common)
    threshold, n, wrong, error, upper = lowest
    return SafeThreshold(
        threshold=threshold,
        coverage=unit_rate(c >= threshold, unit, weight=weight, level=level),
        share=float(np.sum(w[c >= threshold]) / np.sum(w)),
        error=error,
        upper=min(upper, target),
        n=n,
        wrong=wrong,
        **common,
    )
