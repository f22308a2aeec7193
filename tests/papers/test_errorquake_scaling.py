import dataclasses

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from errorquake_mechanisms import domain_variation
from errorquake_pairs import pipeline_pairs
from errorquake_prediction import predict_catastrophes
from errorquake_scaling import correlate_ranks, estimate_scaling, partial_spearman
from richter.errors import InputError, TooFewErrors
from richter.severity import PAPER
from severity.studies_by_hand import simulated_scores

# table 9 of the paper: b by KS, at 1.5 and by clauset, in the table's order, which is that of size
TABLE_9 = {
    "llama-3.2-3b": (1.046, 0.469, 0.290),
    "phi-3.5-mini": (1.309, 0.530, 0.298),
    "gemma-3-4b": (0.979, 0.439, 0.243),
    "qwen2.5-7b": (1.257, 0.517, 0.299),
    "llama-3.1-8b": (1.001, 0.737, 0.566),
    "eurollm-9b": (1.067, 0.526, 0.297),
    "solar-10.7b": (0.905, 0.711, 0.562),
    "gemma-3-12b": (0.938, 0.742, 0.555),
    "ministral-14b": (1.122, 0.795, 0.534),
    "mistral-medium-3": (0.906, 0.767, 0.434),
    "mistral-small-24b": (0.999, 0.834, 0.639),
    "gemma-2-27b": (0.619, 0.786, 0.619),
    "gemma-3-27b": (0.956, 0.760, 0.610),
    "seed-oss-36b": (0.574, 0.781, 0.574),
}


@pytest.mark.parametrize(("column", "printed"), [(0, -0.670), (1, 0.837), (2, 0.807)])
def test_the_sign_flips_with_m_min_against_paper(column: int, printed: float, rng: np.random.Generator) -> None:
    # the printed columns of table 9 give these; the text says -0.562, +0.837 and +0.793
    b = [row[column] for row in TABLE_9.values()]
    found = correlate_ranks(np.arange(14), b, names=tuple(TABLE_9), rng=rng)
    assert found.spearman == pytest.approx(printed, abs=5e-4)
    assert len(found.leave_one_out) == 14
    assert found.sign_kept == 14


def test_a_correlation_of_0562_on_14_is_p_0036(rng: np.random.Generator) -> None:
    # the paper prints p = 0.006: ranks with sum of squared differences 710 give rho = 1 - 6 * 710 / (14 * 195) = -0.56
    base = np.arange(14.0)
    while True:
        other = rng.permutation(base)
        if abs(spearmanr(base, other).statistic + 0.562) < 0.003:
            break
    assert correlate_ranks(base, other, rng=rng).spearman_p == pytest.approx(0.036, abs=0.002)


def test_rank_correlations_against_scipy(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=12), rng.normal(size=12)
    y[3] = y[5]
    found = correlate_ranks(np.append(x, np.nan), np.append(y, 1.0), rng=rng)
    assert found.n == 12
    assert found.spearman == pytest.approx(spearmanr(x, y).statistic)
    assert found.spearman_p == pytest.approx(spearmanr(x, y).pvalue)
    assert (found.kendall, found.kendall_p) == pytest.approx(tuple(kendalltau(x, y)))
    # t approximation and permutation agree to about 0.02 at n = 12
    assert found.permutation_p == pytest.approx(found.spearman_p, abs=0.03)
    with pytest.raises(TooFewErrors, match="4 conditions"):
        correlate_ranks([1, 2, 3, 4], [1, 2, 3, 4], rng=rng)


def test_partial_correlation_by_residuals(rng: np.random.Generator) -> None:
    x, y, z = rng.normal(size=(3, 30))
    ranks = [np.argsort(np.argsort(v)).astype(float) for v in (x, y, z)]
    design = np.stack([np.ones(30), ranks[2]], axis=1)
    rest = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in ranks[:2]]
    expected = np.corrcoef(*rest)[0, 1]
    assert partial_spearman(x, y, z)[0] == pytest.approx(expected)


def test_scaling_of_a_study_recovers_truth(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.3, 0.45, 0.6, 0.75, 0.9, 1.05], n=4000)
    scores = dataclasses.replace(scores, length=rng.normal(100, 10, size=scores.severity.shape))
    found = estimate_scaling(scores, [1e9, 2e9, 4e9, 8e9, 16e9, 32e9], n_resamples=200, n_permutations=500, rng=rng)
    assert found.same_sign
    assert found.strategies["clauset"].spearman == 1.0
    assert "steeper severity tails" in found.verdict
    assert set(found.per_tier) == {1, 2, 3, 4, 5}
    assert found.interval.low > 0.7
    assert found.partial_length is not None


def test_sizes_that_do_not_vary_show_no_trend(rng: np.random.Generator) -> None:
    """A rank correlation with a constant is undefined; its p was 1 in 10,000 and the verdict a trend."""
    found = correlate_ranks(np.ones(8), rng.random(8), rng=rng)
    assert np.isnan([found.spearman, found.permutation_p]).all()
    scores = simulated_scores(rng, [0.3, 0.45, 0.6, 0.75, 0.9, 1.05], n=1000)
    scaling = estimate_scaling(scores, [7e9] * 6, n_resamples=50, n_permutations=200, rng=rng)
    assert not scaling.same_sign
    assert scaling.verdict == "Undecided: size, or b, is the same in all 6 conditions."


def test_domain_variation_against_scipy(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.4, 0.5, 0.6, 0.7], n=4000)
    found = domain_variation(scores, recipe=PAPER)
    assert found.n_complete == 4
    assert set(found.b["m0"]) == {"d0", "d1", "d2", "d3"}
    ranks = np.array([[sorted(row.values()).index(v) + 1 for v in row.values()] for row in found.b.values()])
    # Kendall's W from rank sums: 12 S / (m^2 (k^3 - k)), and Friedman = m (k - 1) W
    total = ranks.sum(axis=0)
    w = 12 * np.sum((total - total.mean()) ** 2) / (4**2 * (4**3 - 4))
    assert found.kendall_w == pytest.approx(w)
    assert found.friedman == pytest.approx(4 * 3 * w)
    few = scores.severity.copy()
    few[np.asarray(scores.domain) == "d0", 1:] = 0.0  # one condition alone has a slope everywhere
    part = domain_variation(dataclasses.replace(scores, severity=few), recipe=PAPER)
    assert (part.n_complete, part.friedman) == (1, None)
    assert part.mean_b["d0"] == pytest.approx(found.b["m0"]["d0"])
    assert part.mean_b["d1"] == pytest.approx(found.mean_b["d1"])
    with pytest.raises(InputError, match="errors that a slope needs in any of 4 domains"):
        domain_variation(dataclasses.replace(scores, severity=np.zeros_like(few)), recipe=PAPER)
    with pytest.raises(InputError, match="too few for Friedman"):
        domain_variation(dataclasses.replace(scores, domain=None))


def test_prediction_recovers_the_same_law(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.2, 0.3, 0.4, 0.5, 0.6], n=20_000)
    found = predict_catastrophes(scores, severity=3.0, rng=rng)
    assert (found.n, found.within, found.over, found.under) == (5, 5, 0, 0)
    assert found.correlation.spearman > 0.8
    assert abs(found.mean_slope_gap) < 0.1
    hard = scores.severity.copy()
    lift = np.isin(scores.tier, (4, 5))[:, None] & (hard > 0)
    hard[lift] = np.minimum(hard[lift] + 1, 4)  # hard items are worse at every level: prediction must fall short
    assert predict_catastrophes(dataclasses.replace(scores, severity=hard), rng=rng).under == 5
    alone = predict_catastrophes(dataclasses.replace(scores, severity=scores.severity[:, :2], conditions=("m0", "m1"),
                                                     judges=None), rng=rng)  # fmt: skip
    assert alone.correlation is None
    assert alone.predicted["m1"] == pytest.approx(found.predicted["m1"])
    with pytest.raises(InputError, match="No condition has the 30 errors"):
        predict_catastrophes(dataclasses.replace(scores, severity=np.zeros_like(hard)), rng=rng)
    with pytest.raises(InputError, match="no tiers"):
        predict_catastrophes(dataclasses.replace(scores, tier=None), rng=rng)


def test_the_papers_prediction_by_hand(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.4, 0.5, 0.6, 0.7, 0.8], n=5000)
    found = predict_catastrophes(scores, recipe=PAPER, rng=rng)
    easy = scores.severity[np.isin(scores.tier, (1, 2)), 0]
    hard = scores.severity[np.isin(scores.tier, (4, 5)), 0]
    b = found.b_easy["m0"]
    for m_min in np.arange(0.5, 4, 0.5):
        predicted = np.sum(easy >= m_min) / len(easy) * len(hard) * 10 ** (-b * max(3.0 - m_min, 0))
        if predicted == pytest.approx(found.predicted["m0"]):
            break
    else:
        pytest.fail("no m_min gives the prediction")
    assert found.observed["m0"] == int(np.sum(hard >= 3))


def test_pipeline_pairs(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.4, 0.9, 0.9], n=4000)
    found = pipeline_pairs(scores, [("m0", "m1"), ("m1", "m2")], n_resamples=500, rng=rng)
    assert found[0].delta_b > 0  # the second's slope minus the first's
    assert found[0].p < 0.01
    assert found[1].p > 0.01
    with pytest.raises(InputError, match="no condition 'm9'"):
        pipeline_pairs(scores, [("m0", "m9")], rng=rng)
