import json
from pathlib import Path

import numpy as np
import pytest

import tax_simulations
from tax_simulations import simulate_active, simulate_composition, simulate_phase, simulate_pseudo, simulate_slope


def test_phase_transition_against_paper() -> None:
    result = simulate_phase(rng=np.random.default_rng(0))
    for row in result.rows:
        powers = [v for k, v in row.items() if k != "n e"]
        assert max(powers) - min(powers) < 0.17  # all error rates fall together up to the teeth of the exact test
        if row["n e"] <= 1:
            assert max(powers) < 0.16
        if row["n e"] >= 30:
            assert min(powers) > 0.99


@pytest.mark.slow
def test_slope_goes_to_one_third_against_paper() -> None:
    slopes = [row["slope"] for row in simulate_slope(rng=np.random.default_rng(1), runs=40).rows]
    # An error averaged over 40 runs has a standard error of 0.75 / sqrt(40) of itself; over seven sizes spread by
    # 1.4 in log n (standard deviation) the slope's is 0.12 / (1.4 sqrt(7)) = 0.03.
    assert slopes[0] == pytest.approx(-0.5, abs=0.12)
    assert slopes[-1] == pytest.approx(-1 / 3, abs=0.09)


@pytest.mark.slow
def test_composition_grows_exponentially_against_paper() -> None:
    rows = simulate_composition(rng=np.random.default_rng(2), runs=30).rows
    labels = np.array([row["labels"] for row in rows], dtype=float)
    growth = np.exp(np.polyfit(np.arange(5), np.log(labels), 1)[0])
    assert 1.5 < growth < 2.3  # L = 2; the paper's fit has 1.73


@pytest.mark.slow
def test_active_choice_saves_labels_on_an_accurate_model() -> None:
    # Mean squared errors over 60 runs are off by sqrt(2 / 60) = 18%, their ratio by 26%, the mean of four by 13%.
    rows = simulate_active(rng=np.random.default_rng(3), runs=60).rows
    assert np.mean([row["label ratio"] for row in rows]) < 0.8 + 2.5 * 0.13


def test_pseudo_classifier_against_paper() -> None:
    """Appendix S: an error rate of about 0.10 and a full-data ECE of about 0.31."""
    found = simulate_pseudo(rng=np.random.default_rng(0), runs=20)
    whole = found.rows[-1]
    assert whole["m e"] / whole["m"] == pytest.approx(0.10, abs=0.005)
    assert whole["ECE"] == pytest.approx(0.31, abs=0.01)
    assert all(row["std"] < row["floor"] for row in found.rows)
    assert found.rows[0]["seen"] < 0.2 < 0.95 < found.rows[4]["seen"]


def test_the_script_writes_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tax_simulations.main(["phase", "--json", str(tmp_path / "out.json")])
    written = json.loads((tmp_path / "out.json").read_text())
    assert (written["name"], written["seed"]) == ("phase", 0)
    assert "Simulated data." in capsys.readouterr().out
