"""How many exceedances a claim about tail shape needs."""

import dataclasses
import math

from scipy.special import ndtr, ndtri

from richter.errors import InputError
from richter.records import Result

__all__ = ["TailSize", "required_exceedances", "required_for_p1", "size_tail"]


def _check(delta: float, xi: float, alpha: float, power: float) -> None:
    if not delta > 0 or not math.isfinite(delta):
        raise InputError(f"A difference of shape of {delta} is not above 0.", remedy="Give the smallest worth a claim.")
    if not xi > -0.5:
        raise InputError(f"xi = {xi} is not above -0.5, where the normal limit ends.", remedy="Expect a larger xi.")
    if not (0 < alpha < 1 and 0 < power < 1):
        raise InputError(f"alpha = {alpha} and power = {power} must lie between 0 and 1.", remedy="Use 0.05 and 0.8.")


def required_exceedances(delta: float, *, xi: float = 0.0, alpha: float = 0.05, power: float = 0.8) -> int:
    """Exceedances per condition for a two-sided z-test of a difference `delta` of shapes near `xi`: eq. (2).

    n >= 2 (z_{alpha/2} + z_beta)^2 (1 + xi)^2 / delta^2, from sqrt(n)(xi_hat - xi) -> N(0, (1 + xi)^2), xi > -1/2.
    A lower bound: the protocol's own rule, disjoint intervals, needs more (`required_for_p1`).
    """
    _check(delta, xi, alpha, power)
    z = float(ndtri(1 - alpha / 2) + ndtri(power))
    return math.ceil(2 * (z * (1 + xi) / delta) ** 2)  # eq. (2)


def required_for_p1(delta: float, *, xi: float = 0.0, alpha: float = 0.05, power: float = 0.8) -> int:
    """Exceedances per condition for which the intervals of xi and xi + delta are disjoint with this power.

    [z_{alpha/2} (2 + xiA + xiB) + z_beta sqrt((1 + xiA)^2 + (1 + xiB)^2)]^2 / delta^2: disjoint intervals ask for a
    gap of the sum of two half-widths, where a test of the difference asks for the root of the sum of squares.
    """
    _check(delta, xi, alpha, power)
    a, b = 1 + xi, 1 + xi + delta
    z_alpha, z_beta = float(ndtri(1 - alpha / 2)), float(ndtri(power))
    return math.ceil(((z_alpha * (a + b) + z_beta * math.hypot(a, b)) / delta) ** 2)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TailSize(Result):
    """What a claim about a difference of tail shape will cost.

    `items` per condition make `exceedances` above the q quantile: the larger of eq. (2), of what disjoint intervals
    need, and of the floor. `p1_chance` is the chance that the intervals come out disjoint with the exceedances of
    eq. (2) alone, at a true difference of delta, and `p1_chance_family` the same at the family-wise level.
    """

    delta: float
    q: float
    xi: float
    alpha: float
    power: float
    pairs: int
    exceedances_z: int
    exceedances_p1: int
    exceedances_p1_family: int
    exceedances: int
    items: int
    items_z: int
    p1_chance: float
    p1_chance_family: float
    conditions: int
    calls: int
    money_usd: float | None


def p1_chance(delta: float, n: int, *, xi: float, alpha: float) -> float:
    """The chance that intervals of xi and xi + delta from n exceedances each are disjoint (normal limit)."""
    a, b = 1 + xi, 1 + xi + delta
    return float(ndtr((delta * math.sqrt(n) - ndtri(1 - alpha / 2) * (a + b)) / math.hypot(a, b)))


def size_tail(
    delta: float,
    *,
    q: float = 0.95,
    xi: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
    floor: int = 500,
    conditions: int = 2,
    usd_per_call: float | None = None,
) -> TailSize:
    """Items per condition, calls and money for a claim that two shapes differ by `delta` above the q quantile."""
    _check(delta, xi, alpha, power)
    if not 0 < q < 1:
        raise InputError(f"q = {q} is not between 0 and 1.", remedy="Use 0.95 for the worst twentieth.")
    if conditions < 2:
        raise InputError(f"{conditions} condition cannot be compared.", remedy="Give at least 2.")
    pairs = conditions * (conditions - 1) // 2
    z = required_exceedances(delta, xi=xi, alpha=alpha, power=power)
    p1 = required_for_p1(delta, xi=xi, alpha=alpha, power=power)
    family = required_for_p1(delta, xi=xi, alpha=alpha / pairs, power=power)
    exceedances = max(z, family, floor)
    items = math.ceil(round(exceedances / (1 - q), 6))
    return TailSize(
        delta=delta,
        q=q,
        xi=xi,
        alpha=alpha,
        power=power,
        pairs=pairs,
        exceedances_z=z,
        exceedances_p1=p1,
        exceedances_p1_family=family,
        exceedances=exceedances,
        items=items,
        items_z=math.ceil(round(z / (1 - q), 6)),
        p1_chance=p1_chance(delta, z, xi=xi, alpha=alpha),
        p1_chance_family=p1_chance(delta, z, xi=xi, alpha=alpha / pairs),
        conditions=conditions,
        calls=items * conditions,
        money_usd=None if usd_per_call is None else usd_per_call * items * conditions,
    )
