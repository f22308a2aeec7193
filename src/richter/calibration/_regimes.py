"""How decided a model is on each question: margins, regimes, the predicted gap and its constants, eqs. (9) and (10)."""

import dataclasses
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from richter._special import ndtr
from richter.calibration._pool import AnswerPool, answer_pool
from richter.records import Result
from richter.stats import Bools, Floats, Ints

__all__ = [
    "Bound",
    "Bounds",
    "Regimes",
    "ece_bounds",
    "ece_gap_constant",
    "jensen_bias",
    "jensen_root",
    "oracle_gap_constant",
    "regimes",
    "selection_bias",
]


def _density(x: Any) -> Any:
    return np.exp(-0.5 * np.square(x)) / np.sqrt(2 * np.pi)


def jensen_bias(half_margin: ArrayLike) -> Floats:
    """J(l) = phi(2l) - 2l Phi(-2l): Sem1 overshoots the oracle by sqrt(p / n) J, eq. (9)."""
    u = 2 * np.asarray(half_margin, dtype=np.float64)
    return np.asarray(_density(u) - u * ndtr(-u))  # eq. (9)


def selection_bias(half_margin: ArrayLike) -> Floats:
    """S(l) = 2l Phi(-2l): Sem2 undershoots the oracle by sqrt(p / n) S, eq. (9)."""
    u = 2 * np.asarray(half_margin, dtype=np.float64)
    return np.asarray(u * ndtr(-u))  # eq. (9)


def ece_gap_constant(half_margin: ArrayLike) -> Floats:
    """g_A(l) = J + S = phi(2l), eq. (10): Sem1-ECE exceeds Sem2-ECE by sqrt(p / n) g_A (Theorem 5.6)."""
    return np.asarray(_density(2 * np.asarray(half_margin, dtype=np.float64)))  # eq. (10)


def oracle_gap_constant(half_margin: ArrayLike) -> Floats:
    """g_B(l) = J - S = phi(2l) - 4l Phi(-2l), eq. (10): positive where Sem2 is nearer to the oracle (Theorem 5.7)."""
    return jensen_bias(half_margin) - selection_bias(half_margin)  # eq. (10)


@cache
def jensen_root() -> float:
    """The positive root of g_B, lambda* = 0.306002; below it a question is Jensen-dominated (Definition 5.5).

    The paper's appendix A.8 prints u* = 2 lambda* as 0.6125; the root is 0.612003.
    """
    return float(scipy.optimize.brentq(lambda x: float(oracle_gap_constant(x)), 0.1, 1.0, xtol=1e-15, rtol=1e-14))


class Bounds(NamedTuple):
    """Worst-case guarantees of both estimators."""

    sem1: "Bound"
    sem2: "Bound"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Regimes(Result):
    """Per question (arrays) and in sum: margin, top-two mass, standardised margin, K, and the regime.

    `large` and `low` partition the questions; `jensen` is the part of `low` below the root of g_B. `n` is the number
    of draws at which the margin is standardised. `predicted_gap` is Theorem 5.6's c1 - c2 with both at n;
    `predicted_gap_halves` has Sem1 on all n draws and Sem2's selection on half of them, as measured.
    """

    derived: ClassVar[tuple[str, ...]] = ("large", "low", "jensen")

    margin: Floats
    top_two: Floats
    standardised_margin: Floats
    classes: Ints
    n: Ints
    is_low: Bools
    is_jensen: Bools
    predicted_gap: Floats
    predicted_gap_halves: Floats

    @property
    def large(self) -> int:
        """Questions with m~^2 >= log K: Sem1 and Sem2 agree."""
        return int(np.sum(~self.is_low))

    @property
    def low(self) -> int:
        """Questions with m~^2 < log K, the Jensen-dominated ones among them."""
        return int(np.sum(self.is_low))

    @property
    def jensen(self) -> int:
        """Questions with m~ / 2 < lambda*: Sem2 is nearer to the oracle too."""
        return int(np.sum(self.is_jensen))


def regimes(labels: Any, *, n: int | None = None) -> Regimes:
    """The questions sorted by their standardised margin m~ = margin / sqrt(top-two mass / n) (section 3 of the paper).

    Margin and mass are plug-in values of all draws (the margin's is biased up, so that some truly low-margin
    questions count as large). Low margin is m~^2 < log K (Theorem 5.1), Jensen-dominated m~ / 2 < lambda* (Definition
    5.5); a question with one class is large-margin. `n`, the number of draws, is the question's own unless given.
    The predicted gaps are eq. (9) per question; they hold for classes beyond the second that are far from winning.

    >>> from richter.calibration import regimes
    >>> import numpy as np
    >>> draws = np.array([[0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 0, 0]] * 20)  # 60 questions, 4 answers each, by class
    >>> regimes(draws).margin.shape
    (60,)
    """
    pool = answer_pool(labels)
    draws = pool.draws
    size = draws if n is None else np.full(pool.questions, n, dtype=np.int64)
    top = -np.partition(-np.pad(pool.counts, ((0, 0), (0, 1))), 1, axis=1)[:, :2]
    margin = (top[:, 0] - top[:, 1]) / draws
    mass = (top[:, 0] + top[:, 1]) / draws
    standardised = margin / np.sqrt(mass / size)
    classes = pool.classes
    # with K = 1 log K is 0 and the rule is never met; for K >= 2 the Jensen-dominated set lies inside
    is_low = standardised**2 < np.log(classes)
    is_jensen = is_low & (standardised / 2 < jensen_root())
    scale = np.sqrt(mass / size)
    half = standardised / np.sqrt(2)  # the same margin standardised at n / 2
    return Regimes(
        margin=margin,
        top_two=mass,
        standardised_margin=standardised,
        classes=classes,
        n=size,
        is_low=is_low,
        is_jensen=is_jensen,
        predicted_gap=scale * ece_gap_constant(standardised / 2),  # eq. (11), per question
        predicted_gap_halves=scale * (jensen_bias(standardised / 2) + np.sqrt(2) * selection_bias(half / 2)),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bound(Result):
    """Bounds on confidence error, selection error, and the distance of the ECE from the oracle's (`ece`, at most 1).

    `vacuous` says that the bound on the ECE exceeds 1, as it does until n is in the thousands.
    """

    estimator: Literal["sem1", "sem2"]
    n: int
    confidence_error: float
    selection_error: float
    ece: float
    vacuous: bool


def ece_bounds(pool: AnswerPool, *, n: int, bins: int = 10) -> Bounds:
    """The bounds at n selection (and n evaluation) draws, with each question's plug-in class shares as its truth.

    epsilon_n of Theorem 5.3 (Sem1) and 5.4 (Sem2), delta_n of Theorem 5.3, and Theorem 5.2's
    delta + epsilon + 2 min over eta of (epsilon / eta + P(dist(c*, inner edges) <= eta)), the probability over the
    questions at hand. They are worst-case guarantees, for perspective beside the measured gap.
    """
    margins = regimes(pool, n=n)
    share = pool.counts.max(axis=1) / pool.draws
    wrong = np.minimum((margins.classes - 1) * np.exp(-(margins.standardised_margin**2) / 2), 1.0)  # Lemma A.1
    noise = np.sqrt(share * (1 - share) / n)
    uniform = np.sqrt(np.log(2 * margins.classes) / (2 * n))
    edges = np.arange(1, bins) / bins
    distance = np.min(np.abs(share[:, None] - edges), axis=1)
    widths = np.unique(np.concatenate([distance[distance > 0], [1 / (2 * bins)]]))
    inside = np.searchsorted(np.sort(distance), widths, side="right") / len(distance)
    delta = float(np.mean(wrong))

    def bound(name: Literal["sem1", "sem2"], epsilon: float) -> Bound:
        crossing = float(np.min(epsilon / widths + inside))  # eq. (7); the minimum lies where `inside` steps
        total = delta + epsilon + 2 * crossing
        return Bound(
            estimator=name, n=n, confidence_error=epsilon, selection_error=delta, ece=min(total, 1.0), vacuous=total > 1
        )

    first = float(np.mean(np.minimum(uniform, noise + wrong)))  # Theorem 5.3
    second = float(np.mean(noise + wrong))  # Theorem 5.4
    return Bounds(bound("sem1", first), bound("sem2", second))
