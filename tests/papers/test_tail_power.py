"""Pass rates on simulated data of known truth. Larger tables: papers/tail_protocol.py."""

import json
from pathlib import Path

import numpy as np
import pytest

import tail_power
from richter.errors import InputError
from richter.tail import TailPlan, tvar
from richter.tail._tail_size import p1_chance
from tail_generators import draw_gpd, draw_pair, draw_severities
from tail_power import simulate_criteria, simulate_protocol

PLAN = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2)


def within(rate: float, expected: float, trials: int, extra: float = 0.0) -> bool:
    return abs(rate - expected) <= 4 * np.sqrt(expected * (1 - expected) / trials) + extra


def test_generator_holds_mean_and_tail_mean(rng: np.random.Generator) -> None:
    n = 400_000
    for xi in (-0.2, 0.0, 0.3):
        x = draw_severities(n, xi, rng=rng)
        assert x.mean() == pytest.approx(0.9 * 1.2 + 0.1 * 4, abs=5 * x.std() / np.sqrt(n))
        assert tvar(x, q=0.9) == pytest.approx(4.0, abs=5 * 2 / np.sqrt(0.1 * n))


@pytest.mark.parametrize(
    ("gate", "moves_mean", "moves_tvar"), [("G1", True, False), ("G2", False, True), ("G5", False, False)]
)
def test_violators_move_what_they_should(
    gate: str, moves_mean: bool, moves_tvar: bool, rng: np.random.Generator
) -> None:
    n = 400_000
    a, b = draw_pair(n, 0.2, rng=rng, generator=gate)
    assert bool(abs(a.mean() - b.mean()) > 0.1) is moves_mean
    assert (abs(tvar(a) - tvar(b)) > 0.2) is moves_tvar
    if not moves_mean:
        assert abs(a.mean() - b.mean()) < 0.02
    if not moves_tvar:
        assert abs(tvar(a) - tvar(b)) < 0.04


def test_gpd_sample_against_scipy(rng: np.random.Generator) -> None:
    from scipy.stats import genpareto, kstest

    for xi in (-0.4, 0.0, 0.7):
        assert kstest(draw_gpd(4000, xi, 2.0, rng=rng), genpareto(xi, scale=2.0).cdf).pvalue > 1e-4


def test_cost_of_the_family_against_review() -> None:
    # delta 0.15, n_exc 1,570: 0.88 alone, 0.61 at the level of six pairs, both simulated with percentile intervals,
    # which are a few percent narrower than the normal limit used here
    assert p1_chance(0.15, 1570, xi=0.0, alpha=0.05) == pytest.approx(0.88, abs=0.05)
    assert p1_chance(0.15, 1570, xi=0.0, alpha=0.05 / 6) == pytest.approx(0.61, abs=0.05)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("delta", "n", "expected"), [(0.15, 1000, 0.64), (0.20, 500, 0.55), (0.20, 1000, 0.92), (0.0, 500, 0.0)]
)
def test_pass_rates_of_appendix_e_against_paper(delta: float, n: int, expected: float) -> None:
    # the rates of 2,000 trials with 1,000 resamples; here 250 with 300
    study = simulate_criteria([delta], [n], rng=np.random.default_rng(1), trials=250, n_resamples=300)
    assert within(study.cells[0].pass_rate, expected, 250, extra=0.04)


@pytest.mark.slow
def test_all_gates_recover_truth() -> None:
    # algorithms D3: 0.85 at xi 0 against 0.2 with 31,400 items; equal shapes hardly ever
    rng = np.random.default_rng(2)
    study = simulate_protocol([0.2, 0.0], [1570], PLAN, rng=rng, trials=80, n_resamples=300)
    assert within(study.cells[0].pass_rate, 0.85, 80, extra=0.03)
    assert study.cells[1].pass_rate <= 0.04


@pytest.mark.slow
@pytest.mark.parametrize("gate", ["G1", "G2", "G3", "G4", "G5"])
def test_violators_fall_at_their_gate(gate: str) -> None:
    rng = np.random.default_rng(3)
    (cell,) = simulate_protocol([0.2], [1570], PLAN, rng=rng, generator=gate, trials=20, n_resamples=200).cells
    assert cell.failed[gate] >= 0.8
    assert max(cell.blocked_by, key=lambda name: cell.blocked_by[name]) == gate
    others = {name: share for name, share in cell.failed.items() if name not in (gate, "P1", "P2")}
    if gate == "G3":  # too few exceedances leave G5 no threshold above q
        assert others.pop("G5") == 1.0
    assert max(others.values()) <= 0.3


def test_small_study_counts_add_up() -> None:
    rng = np.random.default_rng(4)
    study = simulate_protocol([0.2], [600], PLAN, rng=rng, trials=3, n_resamples=100)
    (cell,) = study.cells
    assert cell.pass_rate == 0  # 600 are fewer than eq. (2) asks for
    assert cell.n_items == 12_000
    assert cell.undecided + sum(cell.blocked_by.values()) == pytest.approx(1)
    assert study.to_dict()["simulated"] is True


def test_the_script_writes_the_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"--generator gpd --delta-xi 0.2 --n-exc 500 --trials 5 --n-resamples 100 --json {tmp_path / 'out.json'}"
    tail_power.main(words.split())
    written = json.loads((tmp_path / "out.json").read_text())
    (expected,) = simulate_criteria([0.2], [500], rng=np.random.default_rng(0), trials=5, n_resamples=100).cells
    assert (written["generator"], written["cells"][0]["trials"]) == ("gpd", 5)
    assert written["cells"][0]["pass_rate"] == expected.pass_rate
    assert "500" in capsys.readouterr().out


def test_the_script_takes_a_plan_and_a_gate_to_violate(tmp_path: Path) -> None:
    given = "--generator G1 --delta-xi 0.2 --n-exc 600 --trials 2 --n-resamples 100 --size 2 --xi -0.1"
    tail_power.main([*given.split(), "--json", str(tmp_path / "out.json")])
    written = json.loads((tmp_path / "out.json").read_text())
    assert (written["generator"], written["size"], written["xi"]) == ("G1", 2.0, -0.1)
    assert written["cells"][0]["failed"]["G1"] == 1.0


def test_bad_input_is_named(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="is not known"):
        draw_pair(100, 0.1, rng=rng, generator="G9")
    with pytest.raises(InputError, match="no mean to hold"):
        draw_pair(100, 1.5, rng=rng)
    with pytest.raises(InputError, match="leaves no tail"):
        draw_pair(100, 0.1, rng=rng, generator="G5", size=2)
    with pytest.raises(InputError, match="cannot give a rate"):
        simulate_criteria([0.1], [100], rng=rng, trials=0)
