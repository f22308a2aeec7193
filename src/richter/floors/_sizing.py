"""How many labels a claim needs."""

import dataclasses
import functools
import math
import sys
from bisect import bisect_left

import numpy as np

from richter._special import betaincc, chdtri, ndtri
from richter.claims import equivalence_size
from richter.errors import InputError
from richter.floors._check import check_level, check_n, check_positive, check_share
from richter.floors._detection import detection_power, le_cam
from richter.records import Result
from richter.stats import wilson

__all__ = [
    "LabelsNeeded",
    "effective_n",
    "labels_needed",
    "paired_gap_labels",
    "proportion_labels",
    "unpaired_gap_labels",
    "zero_error_labels",
]

_MAX_LABELS = 10**9  # no search goes beyond


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabelsNeeded(Result):
    """Labels to resolve a calibration error of `delta`.

    `estimation`: passive rate L e / delta^3, constant 1. `detection_bound`: what Le Cam's bound makes necessary for
    any method. `detection_test`: what the exact one-sided test needs where the gap is constant and its place is known;
    `detection_claim`: what "is miscalibrated" of `richter calibration` needs there, which knows neither place nor
    direction. None where the error rate cannot rise by delta.
    """

    delta: float
    estimation: int
    detection_bound: int
    detection_test: int | None
    detection_claim: int | None
    error_rate: float
    lipschitz: float
    alpha: float
    power: float


def labels_needed(
    delta: float, error_rate: float, *, lipschitz: float = 1.0, alpha: float = 0.05, power: float = 0.8
) -> LabelsNeeded:
    """Labels to estimate (m >= L e / delta^3) or only detect a calibration error of `delta`.

    The detection bound is c1(e)^2 e / delta^2 with Le Cam's exact constant at 1,000 labels (table 8).

    >>> from richter.floors import labels_needed
    >>> labels_needed(0.05, 0.1).estimation
    800
    """
    check_share(delta=delta, error_rate=error_rate)
    check_positive(lipschitz=lipschitz)
    constant, above = le_cam(1000, error_rate).constant, error_rate + delta > 1
    return LabelsNeeded(
        delta=delta,
        estimation=math.ceil(lipschitz * error_rate / delta**3 - 1e-9),
        detection_bound=math.ceil(constant**2 * error_rate / delta**2),
        detection_test=None if above else _exact_test_labels(error_rate, delta, alpha=alpha, power=power),
        detection_claim=(
            None if above else _exact_test_labels(error_rate, delta, alpha=alpha, power=power, two_sided=True)
        ),
        error_rate=error_rate,
        lipschitz=lipschitz,
        alpha=alpha,
        power=power,
    )


def _exact_test_labels(error_rate: float, delta: float, *, alpha: float, power: float, two_sided: bool = False) -> int:
    """The smallest n from which on the exact test keeps its power (power is a saw-tooth in n)."""
    chance = functools.partial(detection_power, error_rate=error_rate, delta=delta, alpha=alpha, two_sided=two_sided)
    sizes = range(1, _MAX_LABELS)
    place = bisect_left(sizes, power, key=lambda n: float(chance(n)))
    if place == len(sizes):
        raise InputError(f"More than {_MAX_LABELS:,} labels would be needed.", remedy="Ask for a larger delta.")
    n = sizes[place]
    # Power is a saw-tooth in n: it drops where the critical count steps up by one. Two more expected events, 2 / delta
    # labels, make up for a step, so that a step beyond them costs nothing. Go on until power holds over all of that.
    ahead = np.arange(min(math.ceil(2 / delta), 20_000 if two_sided else _MAX_LABELS))
    while (short := np.flatnonzero(chance(n + ahead) < power)).size:
        n += int(short[-1]) + 1
    return n


def proportion_labels(half_width: float, rate: float, *, level: float = 0.95) -> int:
    """Labels for a rate's interval of +- `half_width`: z^2 p (1 - p) / h^2, and more where Wilson's is then wider.

    With few errors it is wider than that says, and not symmetric.
    """
    check_share(half_width=half_width, rate=rate)
    check_level(level)
    n = math.ceil(float(chdtri(1, 1 - level)) * rate * (1 - rate) / half_width**2)
    while wilson(rate * n, n, level=level).half_width > half_width:
        n += 1
    return n


def zero_error_labels(limit: float, *, errors: int = 0, level: float = 0.95) -> int:
    """Labels that show a rate below `limit` (one-sided exact) if no more than `errors` errors turn up.

    With none it is log(1 - level) / log(1 - limit), about 3 / limit at 95%.
    """
    check_share(limit=limit)
    check_level(level)
    sizes = range(errors + 1, sys.maxsize)
    return sizes[bisect_left(sizes, True, key=lambda n: bool(betaincc(errors + 1, n - errors, limit) <= 1 - level))]


def paired_gap_labels(
    gap: float, discordance: float, *, alpha: float = 0.05, power: float = 0.8, equivalence: bool = False
) -> int:
    """Items asked of both conditions that settle a gap in accuracy, with `power`.

    `discordance` d is the share of items on which exactly one is right. To show a true gap g to be real by
    McNemar's score test, by which `compare` decides (Connor 1987): n = ((z_a/2 sqrt(d) + z_b sqrt(d - g^2)) / g)^2.
    With `equivalence`, to show both to lie within +-g when they
    are equal (two one-sided score tests): n = ((z_a sqrt(v) + z_(1+power)/2 sqrt(d)) / g)^2, v the variance of the
    score test at a gap of g (Tango 1998).
    """
    check_share(gap=gap)
    check_share(zero=True, discordance=discordance)
    check_share(alpha=alpha, power=power)
    d = max(discordance, gap)  # a gap of g needs at least a share g of items to differ
    if equivalence:
        linear = 2 * gap - d
        q = (math.sqrt(linear**2 + 4 * d * gap * (1 - gap)) - linear) / 4
        v = 2 * q + gap * (1 - gap)
        tail, each = equivalence_size(alpha, power)
        reach = float(ndtri(1 - tail)) * math.sqrt(v) + float(ndtri(each)) * math.sqrt(d)
        return math.ceil((reach / gap) ** 2)
    reach = float(ndtri(1 - alpha / 2)) * math.sqrt(d) + float(ndtri(power)) * math.sqrt(d - gap**2)
    return math.ceil((reach / gap) ** 2)


def unpaired_gap_labels(
    gap: float, accuracy: tuple[float, float], *, alpha: float = 0.05, power: float = 0.8, equivalence: bool = False
) -> int:
    """Items of each of two conditions with items of their own that settle a gap in accuracy, with `power`.

    To show a true gap g to be real by the two-sided z-test of two proportions (Fleiss, without continuity), p and q
    expected and m their mean: n = ((z_a/2 sqrt(2 m (1 - m)) + z_b sqrt(p (1 - p) + q (1 - q))) / g)^2. With
    `equivalence`, to show both to lie within +-g when both are m: n = 2 m (1 - m) ((z_a + z_(1+power)/2) / g)^2.
    """
    check_share(gap=gap, alpha=alpha, power=power)
    p, q = accuracy
    check_share(accuracy=p)
    check_share(accuracy=q)
    mean = (p + q) / 2
    pooled = math.sqrt(2 * mean * (1 - mean))
    if equivalence:
        tail, each = equivalence_size(alpha, power)
        reach = (float(ndtri(1 - tail)) + float(ndtri(each))) * pooled
    else:
        reach = float(ndtri(1 - alpha / 2)) * pooled + float(ndtri(power)) * math.sqrt(p * (1 - p) + q * (1 - q))
    return math.ceil((reach / gap) ** 2)


def effective_n(
    n: float,
    *,
    autocorrelation: float | None = None,
    cluster_size: float | None = None,
    intraclass: float | None = None,
) -> float:
    """How many independent labels n correlated ones are worth for a mean.

    A sequence whose correlation at lag k is rho^k: n (1 - rho) / (1 + rho). The paper's Appendix P has n (1 - rho),
    which promises up to twice too much. Clusters of equal size with intraclass correlation r:
    n / (1 + (size - 1) r).
    """
    check_n(n=n)
    worth = float(n)
    if autocorrelation is not None:
        check_share(zero=True, autocorrelation=autocorrelation)
        worth *= (1 - autocorrelation) / (1 + autocorrelation)
    if cluster_size is not None and intraclass is not None:
        check_n(cluster_size=cluster_size)
        check_share(zero=True, intraclass=intraclass)
        worth /= 1 + (cluster_size - 1) * intraclass
    elif cluster_size is not None or intraclass is not None:
        raise InputError("Clusters need both their size and their intraclass correlation.", remedy="Give both.")
    return worth
