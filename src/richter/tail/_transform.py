"""Scales on which tails are compared, and scores that cannot leave a range."""

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from richter._special import bdtrc, logit
from richter.errors import InputError
from richter.records import Result
from richter.stats import Floats
from richter.tail._tail_plan import UserTransform, name_of

__all__ = ["Bound", "find_bound", "on_half_steps", "transform_scores"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Transformed:
    """Scores on another scale, and how many were moved away from a bound to be finite there."""

    values: Floats
    name: str
    n_clipped_low: int = 0
    n_clipped_high: int = 0


def transform_scores(
    values: ArrayLike, transform: str | UserTransform, *, bounds: tuple[float, ...] = (), clip: float = 1e-6
) -> Transformed:
    """Severities on the scale of the comparison: identity, logit, log, cloglog, or the user's increasing function.

    logit and cloglog, log(-log(1 - p)), work on p = (s - low) / (high - low) with `bounds` = (low, high), default
    (0, 1); log on s - low. Values nearer to a bound than `clip` (of the range; for log, of the largest value) are
    moved to that distance and counted, since a probability of exactly 0 or 1 is infinite there.
    """
    x = _checked_severities(values, bounds)
    if callable(transform):
        return _transform_by(transform, x)
    if transform == "identity":
        return Transformed(values=x, name=transform)
    low, high = bounds or (0.0, 1.0)
    if transform == "log":
        p, where = x - (low if bounds else 0.0), f"below {low:g}"
        ends = (clip * max(float(p.max()), 0.0), np.inf)
    elif transform in ("logit", "cloglog"):
        p, where = (x - low) / (high - low), f"outside [{low:g}, {high:g}]"
        ends = (clip, 1 - clip)
    else:
        raise InputError(f"The transform {transform!r} is not known.", remedy="Use identity, logit, log or cloglog.")
    outside = int(np.sum((p < 0) | ((p > 1) & (transform != "log"))))
    if outside:
        raise InputError(
            f"{outside} of {len(x)} severities lie {where}, where {transform} is undefined.",
            remedy="Declare the scorer's bounds, or use the identity.",
        )
    clipped = np.clip(p, *ends)
    if not clipped.min() > 0:
        raise InputError("All severities are 0: log is undefined.", remedy="Use the identity.")
    y = {"log": np.log, "logit": logit, "cloglog": lambda v: np.log(-np.log1p(-v))}[transform](clipped)
    return Transformed(
        values=y, name=transform, n_clipped_low=int(np.sum(p < ends[0])), n_clipped_high=int(np.sum(p > ends[1]))
    )


def _checked_severities(values: ArrayLike, bounds: tuple[float, ...]) -> Floats:
    """The severities as numbers, all finite and inside the declared bounds."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise InputError("There are no severities.", remedy="Give one row of numbers.")
    bad = int(np.sum(~np.isfinite(x)))
    if bad:
        raise InputError(f"{bad} of {len(x)} severities are missing or infinite.", remedy="Remove or correct them.")
    if bounds and (x.min() < bounds[0] or x.max() > bounds[1]):
        raise InputError(
            f"Severities from {x.min():g} to {x.max():g} leave the declared bounds [{bounds[0]:g}, {bounds[1]:g}].",
            remedy="Correct the bounds: they are those of the severity, of which higher is worse.",
        )
    return x


def _transform_by(transform: UserTransform, x: Floats) -> Transformed:
    """The severities on the user's own scale, which must be finite and increasing."""
    y = np.asarray(transform(x), dtype=np.float64)
    order = np.argsort(x, kind="stable")
    if y.shape != x.shape or not np.isfinite(y).all() or (np.diff(y[order]) < 0).any():
        raise InputError(
            f"The transform {name_of(transform)} is not finite and increasing on these severities.",
            remedy="Higher must stay worse.",
        )
    return Transformed(values=y, name=name_of(transform))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bound(Result):
    """An upper bound of the scores.

    `kind`: `atom` (many scores exactly at it), `pile-up` (they crowd below it), `declared` (stated by the plan; the
    scores do not crowd there) or `attained` (nobody stated it: the largest score of all is a round number, met
    exactly, and a bound is to be suspected). The first two `contaminate` the tail: no GPD describes it.
    """

    derived: ClassVar = ("contaminates",)

    bound: float
    kind: str
    n_at_bound: int
    share_near: float
    remedy: str

    @property
    def contaminates(self) -> bool:
        """Whether a GPD on this scale is out of the question."""
        return self.kind in ("atom", "pile-up")


def find_bound(
    values: Floats, threshold: float, *, largest: float, bounds: tuple[float, ...] = (), raw: bool = True
) -> Bound | None:
    """The upper bound of these scores, and whether they run into it above the threshold (the paper's appendix A).

    The bound is the declared one (then it is a fact, and reported whether or not a score comes near it), else 1 if all
    scores lie in [0, 1] (`raw` scores only) and come near it, else the `largest` score of all conditions. Evidence: at
    least 3 scores exactly there and 3 times as many as at any other value of the tail's upper half (atom); or more
    than 1% of the exceedances in the last 5% of the unit range; or a density that rises over the last tenth between
    threshold and bound, which no GPD with xi > -1 does (binomial test of the last against the last but one twentieth,
    p < 0.001).
    """
    declared = bounds[1] if bounds else None
    unit = declared is None and raw and 0.95 < largest <= 1 and values.min() >= 0
    bound = declared if declared is not None else 1.0 if unit else largest
    tail = values[values > threshold]
    if len(tail) == 0 or not bound > threshold:
        return None
    width = bound - threshold
    at_bound = int(np.sum(tail >= bound - 1e-9 * max(abs(bound), width)))
    near = float(np.mean(tail > bound - (0.05 if unit else 0.05 * width)))
    if at_bound >= 3 and at_bound >= 3 * _most_repeated(tail, threshold, bound):
        kind = "atom"
    elif _is_rising(tail, threshold, bound) or (unit and near * len(tail) >= 3 and near > 0.01):
        kind = "pile-up"
    elif raw and declared is not None:
        kind = "declared"
    elif raw and _is_round(largest):
        kind = "attained"
    else:
        return None
    low = "0" if unit or values.min() == 0 else "low"
    remedy = _bound_remedy(low, bound, raw=raw, is_declared=declared is not None)
    return Bound(bound=float(bound), kind=kind, n_at_bound=at_bound, share_near=near, remedy=remedy)


def _bound_remedy(low: str, bound: float, *, raw: bool, is_declared: bool) -> str:
    if not raw:
        return "Scores pile up at the clipped end: the scorer saturates, and no transform of it can be trusted there."
    if is_declared:
        return "Compare on the logit scale, which respects it."
    return f"Declare bounds = [{low}, {bound:g}] and compare on the logit scale."


def _most_repeated(tail: Floats, threshold: float, bound: float) -> int:
    """How often the commonest value of the tail's upper half occurs, the bound itself left out."""
    width = bound - threshold
    upper = tail[(tail > threshold + width / 2) & (tail < bound - 1e-9 * max(abs(bound), width))]
    return int(np.unique(upper, return_counts=True)[1].max()) if len(upper) else 1


def _is_rising(tail: Floats, threshold: float, bound: float) -> bool:
    """Whether the density rises over the last tenth before the bound (binomial test, p < 0.001)."""
    width = bound - threshold
    last = int(np.sum(tail > bound - 0.05 * width))
    before = int(np.sum(tail > bound - 0.10 * width)) - last
    return last >= 10 and float(bdtrc(last - 1, last + before, 0.5)) < 0.001


def _is_round(value: float) -> bool:
    """1, 5, 25, 100, ...: a whole number with at most two significant digits, met to the last bit."""
    return value >= 1 and value == int(value) and float(f"{value:.1e}") == value


def on_half_steps(values: Floats) -> bool:
    """Whether these are severities of the half-step grid 0, 0.5, ..., 4, which have no continuous tail."""
    return bool(values.min() >= 0 and values.max() <= 4 and (2 * values == np.round(2 * values)).all())
