"""Severities with known truth: truly different shapes, and pairs that break exactly one gate."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from richter.errors import InputError
from richter.stats import Floats


class DrawnPair(NamedTuple):
    """The severities of two conditions."""

    first: Floats
    second: Floats


GENERATORS = ("positive", "G1", "G2", "G3", "G4", "G5")

_SHARE = 0.1  # of the severities lies in the tail
_START = 3.0  # where the tail starts


def draw_gpd(n: int, xi: float, sigma: float, *, rng: np.random.Generator) -> Floats:
    """A sample of GPD(xi, sigma), eq. (1) inverted."""
    e = rng.exponential(size=n)
    sample: Floats = sigma * e if abs(xi) < 1e-12 else sigma * np.expm1(xi * e) / xi
    return sample


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Law:
    """A bulk 3 Beta(2, 3)^power + shift below a tail of share 0.1 that starts at 3."""

    xi: float
    sigma: float
    power: float = 1.0
    shift: float = 0.0
    ripple: float = 0.0
    segment: float = 0.0


def draw_severities(n: int, xi: float, *, rng: np.random.Generator) -> Floats:
    """Severities whose mean and TVaR_0.9 are the same for every xi < 1.

    With probability 0.9 the bulk 3 Beta(2, 3), else 3 + GPD(xi, 1 - xi), whose mean is 4 whatever xi is: TVaR_0.9 = 4
    and the mean is 1.48. The paper left such a truly positive generator open (appendix E).
    """
    _check_shape(xi)
    return _draw(n, _Law(xi=xi, sigma=1 - xi), rng)


def draw_pair(
    n: int, delta: float, *, rng: np.random.Generator, generator: str = "positive", size: float = 1.0, xi: float = 0.0
) -> DrawnPair:
    """Two conditions of n severities with shapes xi + delta and xi; the first breaks one gate by `size`.

    `positive` breaks none. `G1` bends the bulk (power 1 + 0.25 size: the mean falls, TVaR stays); `G2` stretches the
    tail by 1 + 0.3 size and moves the bulk down so that the mean stays; `G3` draws as `positive`
    (too few exceedances are a matter of the threshold); `G4` ripples the tail, e + 0.9 size sin(2 pi e / 0.1) 0.1 /
    (2 pi); `G5` puts a uniform segment of length 0.9 size between the 0.90 and 0.945 quantiles, so that the shape at
    q = 0.95 is xi + delta and changes just below it, with mean and TVaR_0.9 unchanged.
    """
    shape = xi + delta
    _check_shape(xi)
    _check_shape(shape)
    if generator not in GENERATORS:
        raise InputError(f"The generator {generator!r} is not known.", remedy=f"Use one of {', '.join(GENERATORS)}.")
    if not size >= 0:
        raise InputError(f"A violation of size {size} is not one.", remedy="Use 1 for the reference size.")
    law = _Law(xi=shape, sigma=1 - shape)
    if generator == "G1":
        law = dataclasses.replace(law, power=1 + 0.25 * size)
    elif generator == "G2":
        law = dataclasses.replace(law, sigma=law.sigma * (1 + 0.3 * size), shift=-0.3 * size * _SHARE / (1 - _SHARE))
    elif generator == "G4":
        law = dataclasses.replace(law, ripple=0.9 * size)
    elif generator == "G5":
        length = 0.9 * size
        # 0.45 of the tail on the segment, 0.55 beyond it with mean m: 0.45 L/2 + 0.55 (L + m) = 1 keeps TVaR_0.9 at 4
        beyond = (1 - 0.775 * length) / 0.55
        if not beyond > 0:
            raise InputError(f"A violation of size {size} leaves no tail.", remedy="Use at most 1.4.")
        law = dataclasses.replace(law, segment=length, sigma=beyond * (1 - shape))
    return DrawnPair(_draw(n, law, rng), draw_severities(n, xi, rng=rng))


def _draw(n: int, law: _Law, rng: np.random.Generator) -> Floats:
    tail = rng.random(n) < _SHARE
    e = draw_gpd(n, law.xi, law.sigma, rng=rng)
    if law.ripple:
        e = e + law.ripple * np.sin(2 * math.pi * e / 0.1) * 0.1 / (2 * math.pi)
    if law.segment:
        e = np.where(rng.random(n) < 0.45, law.segment * rng.random(n), law.segment + e)
    bulk = 3 * rng.beta(2, 3, size=n) ** law.power + law.shift
    return np.where(tail, _START + e, bulk)


def _check_shape(xi: float) -> None:
    if not -1 < xi < 1:
        raise InputError(f"A shape of {xi} has no mean to hold fixed.", remedy="Use -1 < xi < 1.")
