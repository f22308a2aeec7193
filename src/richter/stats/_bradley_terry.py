"""Strengths of contestants from contests of two, by Bradley and Terry (1952)."""

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from richter._special import expit
from richter.errors import InputError
from richter.records import Result
from richter.stats._arrays import Floats

__all__ = ["Strengths", "bradley_terry"]

MAX_STRENGTH = 12.0  # in log odds: a fit beyond it has no finite maximum
STEPS = 60


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Strengths(Result):
    """Strengths in log odds around their mean, what being shown first adds, and the covariance of the strengths.

    `first` is None where the order of the two cannot be told from their strengths.
    """

    values: Floats
    covariance: Floats
    first: float | None
    units: int
    freedom: float

    def error(self, one: int, other: int) -> float:
        """The standard error of the difference of two strengths."""
        contrast = np.zeros(len(self.values))
        contrast[[one, other]] = -1.0, 1.0
        return math.sqrt(max(float(contrast @ self.covariance @ contrast), 0.0))


def bradley_terry(first: ArrayLike, second: ArrayLike, won: ArrayLike, unit: ArrayLike, *, size: int) -> Strengths:
    """The strengths s with logit P(the first wins) = s[first] - s[second] + what being first adds.

    `won` is 1, 0 or a half for a tie. Maximum likelihood, a tie as half a win. The covariance is the sandwich with
    scores summed by `unit`: contests of one question vary together, and a tie varies less than a win. A contestant
    that wins or loses all has no finite strength, nor has a board in two parts that never met: an error says so.
    """
    one, two = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
    y = np.asarray(won, dtype=np.float64)
    codes = np.unique(np.asarray(unit), return_inverse=True)[1]
    design = np.zeros((len(y), size + 1))
    rows = np.arange(len(y))
    design[rows, one] += 1.0
    design[rows, two] -= 1.0
    design[:, size] = 1.0
    columns = [*range(1, size), size]  # the strengths less that of contestant 0, and the order
    if np.linalg.matrix_rank(design[:, columns]) < len(columns):
        columns = columns[:-1]
    x = design[:, columns]
    units = int(codes.max(initial=-1)) + 1
    if units <= len(columns) + 1 or np.linalg.matrix_rank(x) < len(columns):
        raise InputError("The contests do not connect all models.", remedy="Compare those that met, two by two.")
    found = _maximum(x, y)
    chance = expit(x @ found)
    bread = np.linalg.inv((x * (chance * (1 - chance))[:, None]).T @ x)
    scores = np.zeros((units, len(columns)))
    np.add.at(scores, codes, x * (y - chance)[:, None])
    meat = scores.T @ scores * units / (units - len(columns))
    spread = np.zeros((size, size))
    spread[1:, 1:] = (bread @ meat @ bread)[: size - 1, : size - 1]
    values = np.concatenate([[0.0], found[: size - 1]])
    return Strengths(
        values=values - values.mean(),
        covariance=spread,
        first=float(found[size - 1]) if len(columns) == size else None,
        units=units,
        freedom=float(units - len(columns)),
    )


def _maximum(x: Floats, y: Floats) -> Floats:
    """The maximum of the likelihood, by Newton's steps; an error where it lies at infinity."""
    found = np.zeros(x.shape[1])
    for _ in range(STEPS):
        chance = expit(x @ found)
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x
        if np.abs(found).max() > MAX_STRENGTH or np.linalg.cond(curvature) > 1e12:
            break
        step = np.linalg.solve(curvature, x.T @ (y - chance))
        found = found + step
        if np.abs(step).max() < 1e-10:
            return found
    raise InputError(
        "A model, or a group of them, won or lost all its contests: it has no finite strength.",
        remedy="Compare win rates, or add contests.",
    )
