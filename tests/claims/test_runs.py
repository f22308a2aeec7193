"""Runs crossed with questions."""

import numpy as np
import pytest

from helpers.outcomes import outcomes
from richter.claims import difference_evidence, ece_difference, ece_side


def test_runs_that_differ_are_what_varies_recovers_truth(rng: np.random.Generator) -> None:
    """60 worlds of 6 runs whose calibration differs, alike on average: items alone would tell them apart often."""
    runs = items_alone = 0
    for _ in range(60):
        item, run = np.repeat(np.arange(150), 6), np.tile(np.arange(6), 150)
        shift = rng.normal(0, 0.12, (2, 6))
        right = rng.random((2, 900)) < 0.6
        sure = np.clip(0.7 + shift[:, run], 0, 1)
        options = [
            [ece_side(sure[k], right[k].astype(float), item, **more) for k in (0, 1)] for more in ({"run": run}, {})
        ]
        runs += 0.0 not in ece_difference(*options[0]).interval(0.95)
        items_alone += 0.0 not in ece_difference(*options[1]).interval(0.95)
    assert runs <= 9  # 5% and a probability below 0.001
    assert items_alone > 15


def test_runs_of_other_names_are_not_crossed_though_as_many(rng: np.random.Generator) -> None:
    """Runs 0-3 of one and 4-7 of the other are independent: which is listed beside which changes nothing."""
    level = rng.normal(0, 0.1, size=4)
    x = rng.normal(0.5, 0.1, size=(40, 2, 4)) + level  # runs of the same number move together
    run = np.broadcast_to(np.array([[0, 1, 2, 3], [4, 5, 6, 7]]), x.shape).ravel()
    turned = x.copy()
    turned[:, 1] = x[:, 1, ::-1]
    ends = [
        difference_evidence(outcomes(y, "mean_score", run=run, runs=tuple("abcdefgh")), "a", "b") for y in (x, turned)
    ]
    assert ends[0].interval(0.95).low == pytest.approx(ends[1].interval(0.95).low, rel=1e-9)
    same = np.broadcast_to(np.arange(4), x.shape).ravel()
    crossed = difference_evidence(outcomes(x, "mean_score", run=same, runs=tuple("abcd")), "a", "b")
    assert crossed.units == 4
    assert ends[0].units == 8
