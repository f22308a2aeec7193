"""How many labels it takes to see it, on real grades: the paper's phase transition by subsampling."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from richter.calibration._omnibus import miscalibration
from richter.claims import ece_evidence, ece_side
from richter.errors import InputError
from richter.records import Result
from richter.stats import ece

__all__ = ["PhasePoint", "phase_transition"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PhasePoint(Result):
    """Subsamples of n labels: the share in which miscalibration is shown, and how wide the ECE's interval is.

    `errors` is n times the error rate: in the paper nothing can be seen below about 1. `floor` is (e / n)^(1/3).
    """

    n: int
    errors: float
    shown: float
    half_width: float
    floor: float
    runs: int


def phase_transition(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    unit: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    sizes: Sequence[int] | None = None,
    runs: int = 100,
    level: float = 0.95,
) -> tuple[PhasePoint, ...]:
    """For growing n: how often n labels, drawn without replacement from the data, show that it is miscalibrated.

    The test is `miscalibration` at 1 - level (199 tables), the width that of the honest ECE interval. Where all labels
    show nothing, the curve stays at 1 - level. Sizes go up to half of the data, beyond which subsamples are the data.
    Where answers vary together (`unit`, one each) n counts units, which are drawn whole; `weight` is what a row counts
    for.
    """
    ece(confidence, correct)  # checks the input
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    w = np.ones(len(c)) if weight is None else np.asarray(weight, dtype=np.float64)
    of = np.arange(len(c)) if unit is None else np.unique(np.asarray(unit), return_inverse=True)[1].astype(np.intp)
    n = int(of.max()) + 1
    alone = n == len(c)
    if n < 20:
        raise InputError(f"{n} items are too few to take parts of.", remedy="At least 20 are needed.")
    if sizes is None:
        sizes = sorted({round(x) for x in np.geomspace(10, n / 2, 8)})
    wrong = float(np.average(1 - a, weights=w))
    points = []
    for size in sizes:
        shown, widths = 0, []
        for _ in range(runs):
            part = np.flatnonzero(np.isin(of, rng.choice(n, size, replace=False)))
            group = None if alone else np.unique(of[part], return_inverse=True)[1]
            test = miscalibration(c[part], a[part], rng=rng, unit=group, weight=w[part], n_resamples=199)
            shown += test.p <= 1 - level
            side = ece_side(c[part], a[part], group=group, weight=w[part])
            widths.append(ece_evidence(side).interval(level).half_width)
        points.append(
            PhasePoint(
                n=size,
                errors=size * wrong,
                shown=shown / runs,
                half_width=float(np.median(widths)),
                floor=(wrong / size) ** (1 / 3),
                runs=runs,
            )
        )
    return tuple(points)
