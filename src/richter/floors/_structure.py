"""Labels for structured claims: every group, a pipeline of stages, a fitted temperature."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError
from richter.floors._check import check_n, check_positive, check_share
from richter.floors._rates import Unproved
from richter.records import Result

__all__ = [
    "PRESETS",
    "Groups",
    "Pipeline",
    "Preset",
    "Temperature",
    "compose",
    "depth_limit",
    "group_labels",
    "temperature_rate",
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Groups(Result):
    """Labels to verify calibration to `delta` in every group; rates, constant 1."""

    smallest_group: int
    total: int
    active_rate: Unproved
    groups: int
    min_share: float
    delta: float
    error_rate: float
    lipschitz: float


def group_labels(
    delta: float, error_rate: float, *, min_share: float, groups: int = 1, lipschitz: float = 1.0
) -> Groups:
    """Labels when each of `groups` must be verified, the smallest holding `min_share` of the items.

    The smallest group alone: L e / (pi delta^3) (Corollary 15: 1 / pi times the full population's). All, audited
    one after the other: K times that (section 7, Appendix D). One sample serves all groups at once, so the total is
    an upper figure for groups that do not overlap; the paper prints it and so does table 7.
    """
    check_share(delta=delta, error_rate=error_rate)
    check_share(zero=True, min_share=min_share)
    check_positive(min_share=min_share, lipschitz=lipschitz)
    check_n(groups=groups)
    one = lipschitz * error_rate / (min_share * delta**3)
    return Groups(
        smallest_group=_round_up(one),
        total=_round_up(groups * one),
        active_rate=Unproved(value=_round_up(groups * error_rate / (min_share * delta**2))),
        groups=groups,
        min_share=min_share,
        delta=delta,
        error_rate=error_rate,
        lipschitz=lipschitz,
    )


def _round_up(x: float) -> int:
    """Round up, but not over a rounding error in the last digits."""
    return math.ceil(x * (1 - 1e-12))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The paper's illustrative reading of a regulation (table 7); nothing of it is law."""

    title: str
    groups: int
    min_share: float
    delta: float
    error_rate: float
    available: int

    def labels(self) -> Groups:
        """What the formulas ask for."""
        return group_labels(self.delta, self.error_rate, min_share=self.min_share, groups=self.groups)


PRESETS = {
    "eu-ai-act": Preset(
        title="EU AI Act, Annex III", groups=10, min_share=0.05, delta=0.02, error_rate=0.05, available=707_000
    ),
    "nist-rmf": Preset(title="NIST AI RMF", groups=5, min_share=0.10, delta=0.01, error_rate=0.03, available=500_000),
    "fda-samd": Preset(title="FDA SaMD", groups=8, min_share=0.05, delta=0.01, error_rate=0.02, available=707_000),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline(Result):
    """A pipeline of stages: its Lipschitz bound and the labels for end-to-end verification.

    `verifiable` is False, and `labels` None, when a stage is discontinuous (retrieval, tool use, an arg max).
    """

    stages: tuple[float, ...]
    lipschitz: float
    labels: int | None
    verifiable: bool
    delta: float
    error_rate: float
    note: str


def compose(stages: Sequence[float], *, delta: float, error_rate: float) -> Pipeline:
    """L_sys <= prod L_k + 1 and m = L_sys e / delta^3 (Theorem 13; rate, constant 1).

    The + 1 is kept (the gap is eta(p) - p): K equal stages cost L^K + 1. `math.inf` marks a discontinuous stage.
    The bound is the worst case: stages that contract (L_k < 1) lower it, and dependent stages may do either.
    """
    if not stages or any(math.isnan(s) or s <= 0 for s in stages):
        raise InputError(
            f"Stages of {list(stages)} are not Lipschitz constants.", remedy="Give one number above 0 a stage, or inf."
        )
    check_share(delta=delta, error_rate=error_rate)
    known = math.inf not in stages
    total = math.prod(stages) + 1
    return Pipeline(
        stages=tuple(stages),
        lipschitz=total,
        labels=_round_up(total * error_rate / delta**3) if known else None,
        verifiable=known,
        delta=delta,
        error_rate=error_rate,
        note="rate, constant 1; worst case over stages"
        if known
        else "a discontinuous stage: no number of labels verifies the pipeline end to end; audit its stages",
    )


def depth_limit(lipschitz: float, *, labels: float, delta: float, error_rate: float) -> int | None:
    """The deepest pipeline of equal stages that `labels` verify to `delta`; None where every depth is.

    Largest K with L^K + 1 <= M delta^3 / e. The paper's floor(log_L(M delta^3 / e)) drops the + 1. 0 where not even
    one stage is verifiable.
    """
    check_positive(lipschitz=lipschitz)
    check_n(labels=labels)
    check_share(delta=delta, error_rate=error_rate)
    room = labels * delta**3 / error_rate - 1
    if lipschitz <= 1:
        return None if room >= lipschitz else 0
    if room < lipschitz:
        return 0
    return math.floor(math.log(room) / math.log(lipschitz) + 1e-12)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Temperature(Result):
    """What fitting one temperature leaves: the mean calibration error from the noise of the fit itself.

    `information` I(1) and `sensitivity` kappa are averages over the scores; `residual` is kappa sqrt(2 / (pi n I)).
    """

    residual: float
    standard_error: float
    information: float
    sensitivity: float
    n: int


def temperature_rate(confidence: ArrayLike, *, n: int | None = None) -> Temperature:
    """The parametric rate of temperature scaling, 1 / sqrt(n), with its constant (Appendix N).

    If one temperature is all that is wrong: I(1) = E[p (1 - p) logit(p)^2] (eq. (16)), the fitted temperature errs
    by 1 / sqrt(n I) (eq. (14)), and calibration error by kappa |T - 1| with kappa = E[p (1 - p) |logit p|] (eq.
    (19)), on average kappa sqrt(2 / (pi n I)). Appendix N says that I grows as errors get rarer; e log^2(1/e) (eq.
    (17)) falls, from e = 0.135 down. Scores of exactly 0 or 1 carry no information and count as such.
    """
    p = np.asarray(confidence, dtype=np.float64).ravel()
    if len(p) == 0 or np.isnan(p).any() or (p < 0).any() or (p > 1).any():
        raise InputError("Confidences must be numbers in [0, 1].", remedy="Leave missing ones out.")
    inner = p[(p > 0) & (p < 1)]
    logit = np.log(inner / (1 - inner))
    information = float(np.sum(inner * (1 - inner) * logit**2)) / len(p)  # eq. (16)
    sensitivity = float(np.sum(inner * (1 - inner) * np.abs(logit))) / len(p)  # eq. (19)
    if information <= 0:
        raise InputError(
            "These confidences carry no information on a temperature (all are 0, 1/2 or 1).",
            remedy="Use scores before they are rounded.",
        )
    size = len(p) if n is None else n
    check_n(n=size)
    error = 1 / math.sqrt(size * information)  # eq. (14)
    return Temperature(
        residual=sensitivity * error * math.sqrt(2 / math.pi),
        standard_error=error,
        information=information,
        sensitivity=sensitivity,
        n=size,
    )
