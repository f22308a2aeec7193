import math

import numpy as np
import pytest
from scipy.stats import binomtest, fisher_exact

from errorquake_counts import count_joint
from errorquake_robustness import catastrophe_tests, summarise_tails, tail_ratio, upper_slope
from richter.severity import snap
from richter.stats import benjamini_hochberg
from severity.laws import geometric
from severity.studies_by_hand import simulated_scores


def test_slope_and_ratio_by_hand() -> None:
    counts = np.array([5, 9, 8, 7, 6, 1000, 100, 10, 1.0])
    assert upper_slope(counts) == pytest.approx(2.0)  # a decade every half step
    assert tail_ratio(counts) == pytest.approx(111 / 1132)
    assert math.isnan(upper_slope(np.array([5, 9, 8, 7, 6, 10, 0, 0, 1.0])))
    assert math.isnan(tail_ratio(np.array([5, 9, 0, 0, 0, 0, 0, 0, 0.0])))


def test_slope_of_the_law_is_b() -> None:
    for b in (0.3, 1.1):
        assert upper_slope(np.concatenate([[0], geometric(b)])) == pytest.approx(b)


def test_pairs_counted_by_loops(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.3, 0.5, 0.7, 1.0])
    found = summarise_tails(scores, max_error_gap=1.0)
    ratios = list(found.tail_ratio.values())
    apart = sum(abs(x - y) > 0.01 for i, x in enumerate(ratios) for y in ratios[i + 1 :])
    assert found.pairs_by_ratio["0.01"] == apart
    assert found.matched == 6
    assert found.ratio_against_b == pytest.approx(-1.0)


def test_catastrophes_against_scipy(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.3, 0.35, 1.2])
    found = catastrophe_tests(scores, severity=2.5, max_error_gap=1.0)
    bad = scores.severity >= 2.5
    fisher, mcnemar = [], []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        x, y = bad[:, i], bad[:, j]
        fisher.append(fisher_exact([[x.sum(), (~x).sum()], [y.sum(), (~y).sum()]]).pvalue)
        only = int((x & ~y).sum())
        mcnemar.append(binomtest(only, only + int((~x & y).sum())).pvalue)
    np.testing.assert_allclose([p[2] for p in found.pairs], benjamini_hochberg(fisher))
    np.testing.assert_allclose([p[3] for p in found.pairs], benjamini_hochberg(mcnemar), rtol=1e-9)
    assert (found.matched, found.fisher, found.mcnemar) == (3, 2, 2)


def test_joint_table_counts_items_that_both_have() -> None:
    joint = count_joint(snap([0, 0.5, np.nan, 4]), snap([1, 0.5, 2, 4]))
    assert joint.sum() == 3
    assert joint[0, 2] == joint[1, 1] == joint[8, 8] == 1
