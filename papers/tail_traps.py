"""The three traps of section 6 as simulations: what a naive analyst would publish, and the gate that stops it.

In every simulated study the claim is false by construction: the conditions have one law (G3), light tails on the
logit scale (G4), or the same shape beyond the 0.995 quantile (G5).
"""

import dataclasses
import math
from collections import Counter

import numpy as np
from scipy.special import expit

from richter.errors import InputError
from richter.records import Interval, Result
from richter.stats import Floats, Mapper, wilson
from richter.tail._tail_plan import TailPlan
from richter.tail._tail_study import compare_conditions
from tail_generators import draw_gpd, draw_severities
from trials import run_trials

TRAPS = ("G3", "G4", "G5")

# what the analyst of each subsection looks at; G5's also picks the threshold of the band that looks best
_LOOKS_AT = {"G3": ("G4", "P2"), "G4": ("P1", "P2"), "G5": ("G1", "G2", "G3", "G4", "P1", "P2")}
_ITEMS = 31_400  # 1,570 exceedances at q = 0.95


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrapStudy(Result):
    """Rates over simulated studies in which the claim is false.

    `naive_rate` is the share in which the naive analyst has a claim to publish; `outcomes` what the protocol says of
    that claim (the gate that blocks it first, `undecided` or `verified`), as shares of all studies; `killed_rate` the
    share in which the trap's own gate blocks it, with an interval.
    """

    gate: str
    trials: int
    naive_rate: float
    killed_rate: float
    interval: Interval
    outcomes: dict[str, float]
    simulated: bool = True


def draw_trap(gate: str, *, rng: np.random.Generator) -> dict[str, Floats]:
    """The conditions of one simulated study that walks into a trap.

    `G3` (section 6.1): four perturbations of 2,000 items that change nothing, with the pilot's heavy tail xi = 0.8,
    100 exceedances each. `G4` (6.2): two classifiers' probabilities, 31,400 each, whose logits are exponential with
    scales 1.6 and 1. `G5` (6.3): as `draw_severities` with xi = 0 against a condition of the same mean, TVaR_0.9 and
    shape beyond the 0.995 quantile, uniform from the 0.90 to the 0.945 quantile and with a local shape of 0.25 between.
    """
    if gate == "G3":
        return {f"noise {k}": draw_gpd(2_000, 0.8, 1.0, rng=rng) for k in ("0", "0.05", "0.25", "0.5")}
    if gate == "G4":
        return {
            name: expit(-5 + draw_gpd(_ITEMS, 0.0, scale, rng=rng)) for name, scale in (("wide", 1.6), ("narrow", 1.0))
        }
    if gate == "G5":
        return {"bent": _bent(_ITEMS, rng), "plain": draw_severities(_ITEMS, 0.0, rng=rng)}
    raise InputError(f"There is no trap {gate!r}.", remedy=f"Use one of {', '.join(TRAPS)}.")


def simulate_trap(
    gate: str, *, rng: np.random.Generator, trials: int = 50, n_resamples: int = 200, mapper: Mapper = map
) -> TrapStudy:
    """How often the naive analysis of a trap has a claim to publish, and what the protocol says of it.

    The analyst of 6.1 accepts a difference of xi above the floor 0.10 if Anderson-Darling passes; that of 6.2 disjoint
    95% intervals and a difference above the floor; that of 6.3 everything but G5, at the threshold of the band that
    shows the largest difference. The tolerances of G1 and G2 are those of the generator in 6.3; in 6.1 and 6.2 they
    play no part (the paper calls them preconditions) and are infinite. Studies have seeds of their own: `mapper` says
    where they run and changes no rate.
    """
    if trials < 1:
        raise InputError(f"{trials} trials give no rate.", remedy="Use at least 1.")
    (outcomes,) = run_trials(_walk_into, [(gate, n_resamples)], trials, rng=rng, mapper=mapper, batch=1)
    counts = Counter(outcome for outcome in outcomes if outcome is not None)
    killed = counts[gate]
    return TrapStudy(
        gate=gate,
        trials=trials,
        naive_rate=counts.total() / trials,
        killed_rate=killed / trials,
        interval=wilson(killed, trials),
        outcomes={name: n / trials for name, n in sorted(counts.items())},
    )


def _walk_into(trap: tuple[str, int], rng: np.random.Generator) -> str | None:
    """One study: what the protocol says of the naive analyst's claim; None where he has none."""
    gate, n_resamples = trap
    tolerances = (0.1, 0.2) if gate == "G5" else (math.inf, math.inf)
    plan = TailPlan(tolerance_mean=tolerances[0], tolerance_tvar=tolerances[1], n_resamples=n_resamples)
    study = compare_conditions(draw_trap(gate, rng=rng), plan, rng=rng, band=gate == "G5")
    claims = [
        pair
        for pairs in study.over_band.values()
        for pair in pairs
        if all(g.passed is not False for g in pair.gates if g.name in _LOOKS_AT[gate])
    ]
    if not claims:
        return None
    best = max(claims, key=lambda pair: abs(pair.estimate or 0.0))
    return best.blocked_by or best.verdict.value


def _bent(n: int, rng: np.random.Generator) -> Floats:
    """The bulk of `draw_severities` under a tail whose local shape is not constant; its mean excess over 3 stays 1."""
    length, xi, bend = 0.9, 0.25, math.log(0.055 / 0.005)  # the bend in units of -log of the survival past 0.945
    rest = math.exp(-(1 - xi) * bend)
    mean = (1 - rest) / (1 - xi) + rest  # of the part past the segment, at sigma = 1
    sigma = (1 - 0.775 * length) / (0.55 * mean)
    e = rng.exponential(size=n)
    below = np.minimum(e, bend)
    past = sigma * (np.expm1(xi * below) / xi + math.exp(xi * bend) * (e - below))
    excess = np.where(rng.random(n) < 0.45, length * rng.random(n), length + past)
    return np.where(rng.random(n) < 0.1, 3 + excess, 3 * rng.beta(2, 3, size=n))
