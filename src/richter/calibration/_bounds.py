"""What the paper's theorems guarantee for a set of questions: Theorems 5.2 to 5.4 with the data's own margins."""

import dataclasses
from typing import Literal

import numpy as np

from richter.calibration._pool import AnswerPool
from richter.calibration._regimes import regimes
from richter.records import Result

__all__ = ["Bound", "ece_bounds"]


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


def ece_bounds(pool: AnswerPool, *, n: int, bins: int = 10) -> tuple[Bound, Bound]:
    """The bounds at n selection (and n evaluation) draws, with each question's plug-in class shares as its truth.

    epsilon_n of Theorem 5.3 (Sem1) and 5.4 (Sem2), delta_n of Theorem 5.3, and Theorem 5.2's
    delta + epsilon + 2 min over eta of (epsilon / eta + P(dist(c*, inner edges) <= eta)), the probability over the
    questions at hand. They are worst-case guarantees, for perspective beside the measured gap.
    """
    found = regimes(pool, n=n)
    share = pool.counts.max(axis=1) / pool.draws
    wrong = np.minimum((found.classes - 1) * np.exp(-(found.standardised_margin**2) / 2), 1.0)  # Lemma A.1
    noise = np.sqrt(share * (1 - share) / n)
    uniform = np.sqrt(np.log(2 * found.classes) / (2 * n))
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
    return bound("sem1", first), bound("sem2", second)
