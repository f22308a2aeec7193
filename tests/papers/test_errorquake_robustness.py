import dataclasses
import itertools

import numpy as np
import pytest

from errorquake_counts import counts_of
from errorquake_judges import (
    counts_without_judge,
    hierarchical_bootstrap,
    judge_leniency,
    leave_one_judge_out_counts,
    reweight_judges,
    reweighted_counts,
)
from errorquake_robustness import (
    aggregate_judges,
    aggregation_rules,
    dual_coverage,
    exceedance_sweep,
    leave_one_domain_out,
    recount,
)
from richter.errors import InputError
from richter.severity import PAPER, Recipe, b_from_counts
from richter.severity._disjoint_intervals import fit_slopes
from severity.studies_by_hand import simulated_scores

FAST = {"n_resamples": 300}


@pytest.mark.parametrize("recipe", [PAPER, Recipe(m_min=1.5), Recipe(m_min="clauset"), Recipe(m_min="ks")])
def test_many_slopes_at_once_are_the_single_ones(recipe: Recipe, rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.4, 0.6, 0.9])
    one_by_one = {
        name: b_from_counts(c, recipe=recipe, n_resamples=4000, rng=rng) for name, c in scores.counts().items()
    }
    together = fit_slopes(counts_of(scores.severity), recipe=recipe, n_resamples=4000, rng=rng)
    for i, single in enumerate(one_by_one.values()):
        assert together.b[i] == single.b
        assert together.n_above[i] == single.n_above
        # 2.5% quantiles of 4,000 resamples: Monte-Carlo error about 0.04 standard errors each; five of them
        assert together.low[i] == pytest.approx(single.interval.low, abs=0.3 * single.standard_error)
        assert together.high[i] == pytest.approx(single.interval.high, abs=0.3 * single.standard_error)


def test_recount_agrees_with_the_pairwise_count(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.3, 0.5, 0.7, 0.9, 1.2])
    fits = {name: b_from_counts(c, recipe=PAPER, rng=rng) for name, c in scores.counts().items()}
    disjoint = apart = 0
    for a, b in itertools.combinations(fits.values(), 2):
        separate = a.interval.low > b.interval.high or b.interval.low > a.interval.high
        disjoint += separate
        apart += separate and abs(a.b - b.b) > 0.15
    found = recount("all", counts_of(scores.severity), recipe=PAPER, rng=rng)
    assert (found.n_conditions, found.matched) == (5, 10)
    assert abs(found.disjoint - disjoint) <= 1  # a pair may sit on the edge of two random intervals
    assert abs(found.disjoint_min_gap - apart) <= 1


def test_leaving_a_domain_out_by_hand(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.3, 1.2])
    rows = leave_one_domain_out(scores, recipe=Recipe(m_min="ks"), rng=rng, **FAST)
    assert [r.rule for r in rows] == ["without d0", "without d1", "without d2", "without d3"]
    assert all(r.disjoint == 1 for r in rows)
    with pytest.raises(InputError, match="0 domains"):
        leave_one_domain_out(dataclasses.replace(scores, domain=None), rng=rng)


def test_aggregation_by_hand() -> None:
    judges = np.array([[1.0, 2.0, np.nan, np.nan], [2.0, 1.0, 3.0, np.nan]])
    expected = {
        "primary_only": [1, 2, np.nan, np.nan],
        "secondary_only": [2, 1, 3, np.nan],
        "max_severity": [2, 2, 3, np.nan],
        "min_severity": [1, 1, 3, np.nan],
        "mean": [1.5, 1.5, 3, np.nan],
    }
    for rule, values in expected.items():
        np.testing.assert_array_equal(aggregate_judges(judges, rule), values)
    with pytest.raises(InputError, match="median"):
        aggregate_judges(judges, "median")


def test_aggregation_and_coverage(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.3, 0.3, 1.2])
    assert [r.rule for r in aggregation_rules(scores, rng=rng, **FAST)][:2] == ["primary_only", "secondary_only"]
    judges = scores.judges.copy()
    judges[1, 1000:, 0] = np.nan  # the first condition's second judge failed on most
    rows = dual_coverage(dataclasses.replace(scores, judges=judges), rng=rng, **FAST)
    assert rows[0].n_conditions == 2
    with pytest.raises(InputError, match="judge_1"):
        aggregation_rules(dataclasses.replace(scores, judges=None), rng=rng)


def test_exceedance_sweep_drops_thin_tails(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.4, 0.5, 0.6])
    severity = scores.severity.copy()
    severity[120:, 0] = 0  # few errors
    found = exceedance_sweep(dataclasses.replace(scores, severity=severity), recipe=Recipe(m_min=0.5), rng=rng, **FAST)
    errors = int((severity[:, 0] > 0).sum())
    assert 30 <= errors < 75
    assert "m0" in found[30][1]
    assert found[75][1] == ("m1", "m2")
    assert found[75][0].n_conditions == 2


def test_hierarchical_bootstrap_brackets_a_clear_case(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.25, 0.25, 1.3], noise=0.1)
    found = hierarchical_bootstrap(scores, n_iterations=40, n_resamples=100, rng=rng)
    assert found.low <= 2 <= found.high
    assert found.n_dual == scores.severity.size


def test_judges_with_no_noise_leave_only_item_noise(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.3, 1.2], noise=0.0)
    found = hierarchical_bootstrap(scores, recipe=Recipe(m_min="ks"), n_iterations=30, n_resamples=100, rng=rng)
    assert (found.low, found.high) == (1, 1)


def test_leaving_a_judge_out_by_hand(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.5], n=8, error_rate=1.0, noise=0.0)
    judges = np.zeros((2, 8, 1))
    judges[0, :, 0], judges[1, :, 0] = 1.0, 2.0
    judges[1, 0, 0] = np.nan  # item 0 has its first judge only: judge0
    scores = dataclasses.replace(scores, severity=np.full((8, 1), 1.5), judges=judges)
    counts = counts_without_judge(scores)["judge0"][0]
    # judge0 is first on items 0, 4 and second on items 3, 7: item 0 is lost, 4 takes 2.0, 3 and 7 take 1.0, four stay
    assert counts.tolist() == [0, 0, 2, 4, 1, 0, 0, 0, 0]


def test_judges_weigh_alike_by_hand(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.5], n=4, error_rate=1.0, noise=0.0)
    names = np.array([[["a"], ["a"], ["a"], ["b"]], [["c"], ["c"], ["c"], ["c"]]])
    judges = np.array([[[1.0], [1.0], [1.0], [3.0]], [[2.0], [2.0], [2.0], [2.0]]])
    counts = reweighted_counts(dataclasses.replace(scores, judges=judges, judge_names=names))[0]
    # three judges, a third each of four answers: a at 1.0, b at 3.0, c at 2.0
    np.testing.assert_allclose(counts, [0, 0, 4 / 3, 0, 4 / 3, 0, 4 / 3, 0, 0])


def test_reweighting_and_leniency_run_on_a_study(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.3, 1.2])
    assert reweight_judges(scores, rng=rng, **FAST).disjoint == 1
    assert len(leave_one_judge_out_counts(scores, rng=rng, **FAST)) == 4
    names, effects = judge_leniency(scores)
    assert names == ("judge0", "judge1", "judge2", "judge3")
    assert all(abs(e.estimate) < 5 * e.standard_error for e in effects.effects)
    with pytest.raises(InputError, match="which judge"):
        reweight_judges(dataclasses.replace(scores, judge_names=None), rng=rng)
