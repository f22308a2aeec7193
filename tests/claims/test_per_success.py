"""The cost per success: totals by hand, an interval against the jackknife of tasks, and what has none."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from richter.claims import METRICS, Outcomes, as_sample, per_success_evidence
from richter.errors import InputError


def sample(values: np.ndarray, measure: str):
    """Tasks x conditions x runs as a sample."""
    task, condition, draw = (index.ravel() for index in np.indices(values.shape))
    return as_sample(
        Outcomes(
            metric=METRICS[measure],
            items=tuple(f"t{k}" for k in range(values.shape[0])),
            conditions=("old", "new")[: values.shape[1]],
            item=task,
            condition=condition,
            value=values.ravel().astype(float),
            draw=draw,
        )
    )


@pytest.fixture
def runs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    chance = rng.uniform(0.1, 0.9, (40, 1, 1))
    return rng.lognormal(0, 0.5, (40, 2, 5)) * np.array([1.0, 0.8])[None, :, None], rng.random((40, 2, 5)) < chance


def test_it_is_the_total_paid_over_the_number_of_successes_by_hand(runs: tuple[np.ndarray, np.ndarray]) -> None:
    paid, right = runs
    found = per_success_evidence(sample(paid, "cost_per_success"), sample(right, "accuracy"), ("old", "new"))
    ratios = paid.sum(axis=(0, 2)) / right.sum(axis=(0, 2))
    assert found.values == pytest.approx(tuple(ratios))
    assert found.estimate == pytest.approx(ratios[1] / ratios[0] - 1)
    assert found.relative
    alone = per_success_evidence(sample(paid, "cost_per_success"), sample(right, "accuracy"), ("new",))
    assert alone.estimate == pytest.approx(ratios[1])


def test_the_interval_is_near_the_jackknife_of_tasks(runs: tuple[np.ndarray, np.ndarray]) -> None:
    paid, right = runs
    m, s = paid.mean(axis=2), right.mean(axis=2)

    def log_ratio(kept: np.ndarray) -> float:
        cost = m[kept].sum(axis=0) / s[kept].sum(axis=0)
        return float(np.log(cost[1] / cost[0]))

    every = np.arange(40)
    left_out = np.array([log_ratio(np.delete(every, k)) for k in every])
    error = math.sqrt(39 / 40 * np.sum((left_out - left_out.mean()) ** 2))
    reach = stats.t.ppf(0.975, 39) * error
    span = per_success_evidence(sample(paid, "cost_per_success"), sample(right, "accuracy"), ("old", "new")).interval(
        0.95
    )
    centre = log_ratio(every)
    assert math.log1p(span.low) == pytest.approx(centre - reach, abs=0.1 * reach)
    assert math.log1p(span.high) == pytest.approx(centre + reach, abs=0.1 * reach)


def test_few_successes_no_amounts_and_negative_ones_have_none(runs: tuple[np.ndarray, np.ndarray]) -> None:
    paid, right = runs
    few = right.copy()
    few[4:, 1] = False
    for amounts, won in ((paid, few), (paid * 0, right), (-paid, right)):
        with pytest.raises(InputError):
            per_success_evidence(sample(amounts, "cost_per_success"), sample(won, "accuracy"), ("old", "new"))


def test_weights_of_tasks_weigh_both_totals(runs: tuple[np.ndarray, np.ndarray]) -> None:
    paid, right = runs
    weight = np.linspace(1, 3, 40)
    amounts = sample(paid, "cost_per_success")
    amounts = dataclasses.replace(amounts, outcomes=dataclasses.replace(amounts.outcomes, weight=weight))
    found = per_success_evidence(amounts, sample(right, "accuracy"), ("old", "new"))
    ratios = (weight @ paid.mean(axis=2)) / (weight @ right.mean(axis=2))
    assert found.values == pytest.approx(tuple(ratios))
