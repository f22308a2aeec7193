"""How many exceedances a claim about tail shape needs."""

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from richter._special import ndtr, ndtri
from richter.errors import InputError
from richter.records import Result
from richter.stats import Floats
from richter.tail._tail_plan import TailPlan

__all__ = ["TailSize", "pass_chance", "required_exceedances", "required_for_p1", "size_tail"]


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

    `delta` is the smallest difference worth a claim, the plan's: P2's floor, and what eq. (2) and so G3 are for.
    `items` per condition make `exceedances` above the q quantile, with which a difference of `true` is verified in
    `power` of studies (`chance` of them, at least): past G3, G4, G5, P1 and P2. `p1_chance` is the chance that the
    intervals come out disjoint with the exceedances of eq. (2) alone, and `p1_chance_family` the same at the
    family-wise level.
    """

    delta: float
    true: float
    q: float
    xi: float
    alpha: float
    power: float
    pairs: int
    exceedances_z: int
    exceedances_p1: int
    exceedances_p1_family: int
    exceedances: int
    chance: float
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


def pass_chance(true: float, n: ArrayLike, plan: TailPlan, *, alpha: float | None = None) -> Floats:
    """The chance that a pair of shapes xi and xi + `true`, of one mean and tail mean, is verified with n exceedances.

    Of G4, (1 - gof_p)^2, which a true law fails so often; of G5, that neither shape moves by its tolerance through
    noise; and of P1 and P2 together, that the difference of the estimates exceeds both the sum of the half-widths and
    the floor: normal limits, as if the three were independent. 0 below what G3 asks for. `alpha` is P1's, of one of
    several pairs. G1 and G2 rest on the scores and are taken as passed.
    """
    n, xi = np.asarray(n, dtype=float), plan.xi_expected
    shapes = (1 + xi, 1 + xi + true)
    reach = float(ndtri(1 - (plan.alpha if alpha is None else alpha) / 2)) * sum(shapes) / np.sqrt(n)
    chance = (1 - plan.gof_p) ** 2 * ndtr((true - np.maximum(reach, plan.delta)) * np.sqrt(n) / math.hypot(*shapes))
    below, above = (n * (1 - plan.q + side * plan.stability_width) / (1 - plan.q) for side in (1, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        for shape in shapes:
            for gap in (1 / n - 1 / below, 1 / np.maximum(above, plan.floor_exceedances) - 1 / n):
                noise = shape * np.sqrt(np.maximum(gap, 0))
                chance = chance * np.where(noise > 0, 2 * ndtr(plan.stability_tolerance / noise) - 1, 1.0)
    least = required_exceedances(plan.delta, xi=xi, alpha=plan.alpha, power=plan.power)
    return np.where(n >= max(least, plan.floor_exceedances + 2), chance, 0.0)  # G5 looks above q, at the floor or more


def size_tail(
    delta: float,
    *,
    true: float | None = None,
    q: float = 0.95,
    xi: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
    floor: int = 500,
    conditions: int = 2,
    usd_per_call: float | None = None,
) -> TailSize:
    """Items per condition, calls and money for a claim that two shapes differ above the q quantile.

    `delta` is the smallest difference worth a claim, as in the plan, `true` the one that is to be shown, 1.5 times as
    large unless stated: of one as large as `delta` P2 passes half at most. The size is the smallest at which all gates
    that rest on it pass with `power` (`pass_chance`), which G4 alone keeps below 90%.
    """
    _check(delta, xi, alpha, power)
    true = 1.5 * delta if true is None else true
    if not 0 < q < 1:
        raise InputError(f"q = {q} is not between 0 and 1.", remedy="Use 0.95 for the worst twentieth.")
    if conditions < 2:
        raise InputError(f"{conditions} condition cannot be compared.", remedy="Give at least 2.")
    if not true > delta:
        raise InputError(
            f"A true difference of {true:g} passes P2's floor of {delta:g} in half of studies at most.",
            remedy=f"Expect a larger one ({1.5 * delta:g}), or claim a smaller.",
        )
    plan = TailPlan(
        tolerance_mean=1.0, tolerance_tvar=1.0, q=q, delta=delta, alpha=alpha, power=power, xi_expected=xi,
        floor_exceedances=floor,
    )  # fmt: skip
    most = (1 - plan.gof_p) ** 2
    pairs = conditions * (conditions - 1) // 2
    z = required_exceedances(delta, xi=xi, alpha=alpha, power=power)
    tried = np.unique(np.ceil(max(z, floor + 2) * 1.001 ** np.arange(20_000)))
    chances = pass_chance(true, tried, plan, alpha=alpha / pairs)
    if not (chances >= power).any():
        raise InputError(
            f"No number of items gives a power of {power:g}: G4 rejects a law that holds in {100 * plan.gof_p:g}% on "
            f"either side, so that at most {100 * most:.0f}% pass.",
            remedy="Ask for a power of 0.85 or less.",
        )
    first = int(np.argmax(chances >= power))
    exceedances = int(tried[first])
    items = math.ceil(round(exceedances / (1 - q), 6))
    return TailSize(
        delta=delta,
        true=true,
        q=q,
        xi=xi,
        alpha=alpha,
        power=power,
        pairs=pairs,
        exceedances_z=z,
        exceedances_p1=required_for_p1(true, xi=xi, alpha=alpha, power=power),
        exceedances_p1_family=required_for_p1(true, xi=xi, alpha=alpha / pairs, power=power),
        exceedances=exceedances,
        chance=float(chances[first]),
        items=items,
        items_z=math.ceil(round(z / (1 - q), 6)),
        p1_chance=p1_chance(true, z, xi=xi, alpha=alpha),
        p1_chance_family=p1_chance(true, z, xi=xi, alpha=alpha / pairs),
        conditions=conditions,
        calls=items * conditions,
        money_usd=None if usd_per_call is None else usd_per_call * items * conditions,
    )
