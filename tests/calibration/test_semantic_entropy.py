"""Semantic entropy, the usual baseline beside Sem-ECE, over the classes of repeated answers."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import entropy

from richter.calibration import answer_pool, semantic_entropy
from richter.cli import main


def test_entropy_of_uneven_draws_against_scipy() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, size=(30, 20))
    labels[::3, 12:] = -1  # fewer draws
    expected = [entropy(np.unique(row[row >= 0], return_counts=True)[1]) for row in labels]
    assert semantic_entropy(answer_pool(labels)) == pytest.approx(expected)
    assert semantic_entropy(answer_pool(np.zeros((2, 7), dtype=int))).tolist() == [0.0, 0.0]


def test_the_command_shows_it_beside_agreement_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty questions answered alike and rightly, twenty in ten ways: entropy 0 and log 10, AUROC 1."""
    rng = random.Random(0)
    rows = [
        {"item": k, "condition": "m", "draw": d, "answer": "Rome" if k < 20 else f"city{d}", "correct": int(k < 20)}
        for k in range(40)
        for d in range(10)
    ]
    rng.shuffle(rows)
    path = tmp_path / "draws.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(SystemExit):
        main(["calibration", str(path), "--json", str(tmp_path / "c.json")])
    (found,) = json.loads((tmp_path / "c.json").read_text())["conditions"].values()
    assert found["semantic_entropy"]["auroc"] == pytest.approx(1.0)
    assert found["semantic_entropy"]["ece"] == pytest.approx(0.0, abs=1e-9)
    assert "tells wrong answers with AUROC 1.000, agreement (Sem1) with 1.000" in " ".join(
        capsys.readouterr().out.split()
    )
