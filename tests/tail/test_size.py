"""Sizes of claims on tail shape: the paper's, those of disjoint intervals, and of every gate together."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from helpers.trials import fewest_hits, n_trials
from richter.errors import InputError
from richter.tail import TailPlan, pass_chance, required_exceedances, required_for_p1, size_tail
from tail_power import simulate_protocol


@pytest.mark.parametrize(("delta", "expected"), [(0.05, 6280), (0.07, 3204), (0.10, 1570), (0.20, 393), (0.15, 698)])
def test_required_exceedances_against_paper(delta: float, expected: int) -> None:
    assert required_exceedances(delta) == expected  # table 1 and appendix E


@pytest.mark.parametrize(("delta", "expected"), [(0.15, 1343), (0.20, 792)])
def test_disjoint_intervals_against_review(delta: float, expected: int) -> None:
    assert required_for_p1(delta) == expected


def test_size_by_hand() -> None:
    size = size_tail(0.1, q=0.95, usd_per_call=0.01)
    assert size.items_z == 31_400  # table 1
    assert size.true == pytest.approx(0.15)
    assert size.exceedances > size.exceedances_z > size.exceedances_p1 == 1343
    assert size.items == 20 * size.exceedances
    assert size.money_usd == pytest.approx(0.01 * 2 * size.items)
    assert size_tail(0.15, conditions=4).exceedances > size_tail(0.15).exceedances
    assert size_tail(0.1).money_usd is None


def test_the_chance_to_pass_every_gate_by_hand() -> None:
    """2,500 exceedances of shapes 0 and 0.15: sqrt 50. P1 asks for 1.96 x 2.15 / 50 = 0.0843, P2 for 0.1: it binds.

    G5: from 0.95 down to 0.93 there are 3,500, up to 0.97 1,500: noises sqrt(1/2500 - 1/3500), sqrt(1/1500 - 1/2500).
    """
    plan = TailPlan(tolerance_mean=1.0, tolerance_tvar=1.0, delta=0.1)
    stable = 1.0
    for shape in (1.0, 1.15):
        for noise in (math.sqrt(1 / 2500 - 1 / 3500), math.sqrt(1 / 1500 - 1 / 2500)):
            stable *= 2 * norm.cdf(0.05 / (shape * noise)) - 1
    wanted = 0.95**2 * stable * norm.cdf(0.05 * 50 / math.hypot(1.0, 1.15))
    assert float(pass_chance(0.15, 2500, plan)) == pytest.approx(wanted)
    assert float(pass_chance(0.15, 1569, plan)) == 0  # G3 asks for 1,570
    # of six pairs P1 asks for more than P2: z at 1 - 0.05 / 12 is 2.638, and 2.638 x 2.15 / 50 = 0.1134
    six = 0.95**2 * stable * norm.cdf((0.15 * 50 - norm.isf(0.05 / 12) * 2.15) / math.hypot(1.0, 1.15))
    assert float(pass_chance(0.15, 2500, plan, alpha=0.05 / 6)) == pytest.approx(six)


def test_the_size_is_the_first_with_its_power() -> None:
    size = size_tail(0.1, true=0.15)
    plan = TailPlan(tolerance_mean=1.0, tolerance_tvar=1.0, delta=0.1)
    assert 0.8 <= size.chance == pytest.approx(float(pass_chance(0.15, size.exceedances, plan)))
    assert float(pass_chance(0.15, 0.995 * size.exceedances, plan)) < 0.8


@pytest.mark.slow
def test_the_power_said_is_that_of_the_protocol_recovers_truth() -> None:
    size = size_tail(0.1)
    plan = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2, delta=0.1)
    trials = n_trials(200)
    found = simulate_protocol(
        [size.true], [size.exceedances], plan, rng=np.random.default_rng(3), trials=trials, n_resamples=300
    )
    assert found.cells[0].pass_rate * trials >= fewest_hits(trials, 0.8)


@pytest.mark.parametrize(("given", "word"), [({"power": 0.95}, "power of 0.95"), ({"true": 0.1}, "half of studies")])
def test_sizes_that_no_number_of_items_reaches_are_refused(given: dict[str, float], word: str) -> None:
    with pytest.raises(InputError, match=word):
        size_tail(0.1, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad", [{"delta": 0.0}, {"delta": -0.1}, {"delta": 0.1, "xi": -0.5}, {"delta": 0.1, "alpha": 1}]
)
def test_impossible_sizes_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError):
        required_exceedances(bad.pop("delta"), **bad)
