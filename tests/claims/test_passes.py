"""pass@k and pass^k from draws."""

import dataclasses
import itertools

import numpy as np
import pytest

from helpers.outcomes import dataset_of, outcomes
from richter.claims import METRICS, Question, passes, tries_of, unit_means
from richter.errors import InputError
from richter.evidence import evidence


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_passes_by_enumeration(k: int, every: bool) -> None:
    draws = np.array([[[1, 0, 0, 1, 0]], [[0, 0, 0, 0, 0]], [[1, 1, 1, 1, 1]], [[1, 0, 0, 0, 0]]])
    found = unit_means(passes(outcomes(draws), k, every=every)).mean[:, 0]
    rule = all if every else any
    want = [np.mean([rule(row[0][list(c)]) for c in itertools.combinations(range(5), k)]) for row in draws]
    np.testing.assert_allclose(found, want, atol=1e-12)


def test_unbiased_for_fresh_draws_recovers_truth(rng: np.random.Generator) -> None:
    rate = rng.random(4000)
    x = (rng.random((4000, 1, 6)) < rate[:, None, None]).astype(float)
    at3 = unit_means(passes(outcomes(x), 3)).mean
    all3 = unit_means(passes(outcomes(x), 3, every=True)).mean
    # 4,000 items with a spread below 0.5: an error of at most 0.008
    assert at3.mean() == pytest.approx(np.mean(1 - (1 - rate) ** 3), abs=0.03)
    assert all3.mean() == pytest.approx(np.mean(rate**3), abs=0.03)


def test_fewer_draws_than_k_are_refused_with_a_line() -> None:
    x = np.array([[[1.0, 0.0]], [[1.0, np.nan]]])
    with pytest.raises(InputError, match="1 answers of a have fewer than 2 draws"):
        passes(outcomes(x), 2)
    with pytest.raises(InputError, match="not right or wrong"):
        passes(outcomes([[0.5]], "mean_score"), 1)


def test_a_question_on_tries_is_answered_from_draws_by_hand(rng: np.random.Generator) -> None:
    x = (rng.random((200, 2, 4)) < np.array([0.2, 0.7])[None, :, None]).astype(float)
    dataset = dataset_of(outcomes(x))
    asked = evidence(dataset, Question(measure="pass^2", conditions=("a", "b")))
    right = x.sum(axis=2)
    want = np.diff((right * (right - 1) / 12).mean(axis=0))[0]  # C(c, 2) / C(4, 2)
    assert asked.known.estimate == pytest.approx(want)
    assert (asked.metric.name, asked.known.unit, asked.known.n) == ("pass^2", "item", 200)


def test_tries_that_are_missing_are_counted_as_failed_by_hand() -> None:
    """Two of four draws of one item failed: ignoring them nothing can be said of 3 tries, so it is untestable."""
    x = np.ones((20, 2, 4))
    x[0, 1, 2:] = np.nan
    dataset = dataset_of(outcomes(x), failed=[("q0000", "b", 2), ("q0000", "b", 3)])
    asked = evidence(dataset, Question(measure="pass@2", conditions=("a", "b")))
    assert asked.known.as_worst is not None
    assert asked.known.missing == {"a": 0, "b": 2}
    assert asked.known.as_worst.values[1] == pytest.approx((19 + 5 / 6) / 20)  # 1 - C(2, 2) / C(4, 2)
    few = evidence(dataset, Question(measure="pass@3", conditions=("a", "b")))
    assert getattr(few.evidence, "gate", "") is None


def test_a_score_whose_name_begins_like_tries_is_its_own_measure_by_hand() -> None:
    """`pass_rate` of 10 items: a has 0.5 everywhere, b 0.75 but for one failed call, which counts as 0."""
    x = np.tile([0.5, 0.75], (10, 1))
    x[0, 1] = np.nan
    row = dataclasses.replace(METRICS["mean_score"], name="pass_rate", low=0.0, high=1.0)
    values = dataclasses.replace(outcomes(x, "mean_score"), metric=row)
    dataset = dataset_of(values, failed=[("q0000", "b", 0)])
    asked = evidence(dataset, Question(measure="pass_rate", conditions=("a", "b")))
    assert asked.known.missing == {"a": 0, "b": 1}
    assert asked.known.ignoring is not None
    assert asked.known.as_worst is not None
    assert asked.known.ignoring.values == pytest.approx((0.5, 0.75))
    assert asked.known.as_worst.values == pytest.approx((0.5, 0.675))


@pytest.mark.parametrize(
    ("measure", "tries"),
    [("pass@1", (1, False)), ("pass^12", (12, True)), ("pass@0", None), ("pass@", None), ("pass_rate", None),
     ("passed", None), ("pass@1234567", None), ("accuracy", None)],
)  # fmt: skip
def test_tries_are_told_by_the_whole_name(measure: str, tries: tuple[int, bool] | None) -> None:
    assert tries_of(measure) == tries
