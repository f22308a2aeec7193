"""What a tail comparison fixes in advance."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from richter.errors import PlanError
from richter.records import Result

__all__ = ["LEAVE_REASONS", "TRANSFORMS", "Step", "TailPlan"]

TRANSFORMS = ("identity", "logit", "log", "cloglog")
LEAVE_REASONS = ("bounded", "gof")

_CHOICES = {
    "gof_method": ("auto", "eigen", "bootstrap"),
    "exceedances": ("both", "floor", "bound"),
    "family": ("bonferroni", "none"),
    "pairing": ("auto", "paired", "independent"),
}

UserTransform = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step(Result):
    """An alternative to the headline scale and threshold, taken when the one before it is left.

    `when` names the reasons for which the step before is left: `bounded` (a pile-up at a bound on any condition),
    `gof` (the GPD is rejected on any condition).
    """

    transform: str | UserTransform = "identity"
    q: float = 0.95
    when: tuple[str, ...] = LEAVE_REASONS


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TailPlan(Result):
    """The choices of the protocol (section 3 of the tail paper), fixed before the data are looked at.

    The two tolerances have no default: what is practically equal in mean and in tail mean depends on the scale.
    `exceedances` names what G3 asks for: `floor` (the paper's 500, `floor_exceedances`), `bound` (those of eq. (2):
    1,570 by default), or `both`: fewer than the floor fail, fewer than the bound are undecided.
    `steps` is the decision tree for the choices the paper made after seeing data: scale and threshold. They are
    tried in order after (`transform`, `q`), so that a change of scale that the data force was declared before.

    >>> TailPlan(tolerance_mean=0.1, tolerance_tvar=0.3).q
    0.95
    """

    tolerance_mean: float
    tolerance_tvar: float
    q: float = 0.95
    transform: str | UserTransform = "identity"
    steps: tuple[Step, ...] = ()
    band: tuple[float, ...] = (0.95, 0.96, 0.97, 0.98, 0.99)
    bounds: tuple[float, ...] = ()
    clip: float = 1e-6
    tvar_q: float = 0.9
    floor_exceedances: int = 500
    exceedances: Literal["both", "floor", "bound"] = "both"
    delta: float = 0.10
    alpha: float = 0.05
    power: float = 0.80
    xi_expected: float = 0.0
    gof_p: float = 0.05
    gof_method: Literal["auto", "eigen", "bootstrap"] = "auto"
    stability_width: float = 0.02
    stability_tolerance: float = 0.05
    family: Literal["bonferroni", "none"] = "bonferroni"
    pairing: Literal["auto", "paired", "independent"] = "auto"
    n_resamples: int = 10_000

    def __post_init__(self) -> None:
        faults = list(self._faults())
        if faults:
            raise PlanError(" ".join(faults), remedy="Correct the plan.")

    def _faults(self) -> Iterator[str]:
        """Each impossible value in a sentence."""
        yield from self._range_faults()
        yield from self._choice_faults()
        if self.bounds and not (len(self.bounds) == 2 and self.bounds[0] < self.bounds[1]):
            yield f"bounds = {list(self.bounds)} is not a range (low, high)."

    def _range_faults(self) -> Iterator[str]:
        for name in ("tolerance_mean", "tolerance_tvar", "delta", "stability_width", "stability_tolerance", "clip"):
            if not getattr(self, name) > 0:
                yield f"{name} = {getattr(self, name)} is not above 0."
        for name in ("q", "tvar_q", "alpha", "power", "gof_p"):
            if not 0 < getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} is not between 0 and 1."
        thresholds = (*self.band, *(step.q for step in self.steps))
        yield from (f"The threshold {q} is not between 0 and 1." for q in thresholds if not 0 < q < 1)
        if not self.xi_expected > -0.5:
            yield f"xi_expected = {self.xi_expected} is not above -0.5."
        for name, least in (("floor_exceedances", 10), ("n_resamples", 100)):
            if getattr(self, name) < least:
                yield f"{name} = {getattr(self, name)} is below {least}."

    def _choice_faults(self) -> Iterator[str]:
        transforms = (self.transform, *(step.transform for step in self.steps))
        choices: list[tuple[str, str, tuple[str, ...]]] = [
            ("transform", x, TRANSFORMS) for x in transforms if isinstance(x, str)
        ]
        choices += [("when", why, LEAVE_REASONS) for step in self.steps for why in step.when]
        choices += [(name, getattr(self, name), known) for name, known in _CHOICES.items()]
        for name, value, known in choices:
            if value not in known:
                yield f"{name} = {value!r} is not one of {', '.join(known)}."


def name_of(transform: str | UserTransform) -> str:
    """A transform's name."""
    return transform if isinstance(transform, str) else getattr(transform, "__name__", "user's transform")
