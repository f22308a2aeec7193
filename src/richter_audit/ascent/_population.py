"""The error rate of the whole base, from the part of a search that was drawn with known probabilities."""

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from richter._special import ndtri
from richter.records import Interval, Result

__all__ = ["PopulationRate", "population_rate"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PopulationRate(Result):
    """An error rate of a base (or of a category of it) from n paragraphs drawn at random out of `size`.

    `error_rate` and `interval` are None where nothing was drawn: an unknown rate is not 0.
    """

    error_rate: float | None
    interval: Interval | None
    n: int
    size: int


def population_rate(errors: ArrayLike, *, size: int, level: float = 0.95) -> PopulationRate:
    """The mean paragraph error of a frame from a simple random sample of its paragraphs.

    Wilson's interval on the effective sample size n_e = n p (1 - p) / s^2: s^2 is the sample variance of the
    paragraphs' errors. A paragraph's error is a mean over its questions, so that s^2 lies between 0 and
    p (1 - p) n / (n - 1), which it is with one question a paragraph. Where all errors seen are 0, or all 1, s^2 says
    nothing and n_e = n. There is no correction for drawing without replacement: a paragraph was asked about by one of
    the questions that could be asked, so that even all paragraphs do not make the rate certain.
    Valid for the uniform share of a search only: what the ascent chose is biased on purpose and must be left out.
    """
    values = np.asarray(errors, dtype=np.float64)
    n = len(values)
    if n == 0:
        return PopulationRate(error_rate=None, interval=None, n=0, size=size)
    p = float(values.mean())
    effect = 1.0
    if 0 < p < 1 and n > 1:
        effect = max(float(values.var(ddof=1)) / (p * (1 - p)), 1 / n)
    z = float(ndtri(0.5 + level / 2))
    interval = effective_wilson(p, n / effect, z, level=level, method="wilson, effective sample size")
    return PopulationRate(error_rate=p, interval=interval, n=n, size=size)


def effective_wilson(p: float, n: float, z: float, *, level: float, method: str) -> Interval:
    """Wilson's interval of a share p of an effective number n of units; a share of 0 or 1 keeps that end."""
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2) / (1 + z * z / n)
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Interval(low=0.0 if p == 0 else low, high=1.0 if p == 1 else high, level=level, method=method)
