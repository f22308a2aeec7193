import numpy as np
import pytest

from richter.errors import TooFewErrors
from richter_audit.ascent import predict_failures
from richter_audit.ascent._predict import _fit, _with_ones


def test_it_learns_what_can_be_learnt_recovers_truth():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 5))
    chance = 1 / (1 + np.exp(-2 * x[:, 0]))
    fails = rng.random(2000) < chance
    found = predict_failures(x, fails, rng=np.random.default_rng(1))
    # the best any rule can do is to name the likelier kind: accuracy E max(p, 1 - p); 400 held out, 3 standard errors
    best = np.maximum(chance, 1 - chance).mean()
    assert found.accuracy == pytest.approx(best, abs=3 * np.sqrt(best * (1 - best) / 400))
    assert found.auc > 0.75
    assert (found.n_train, found.n_test) == (1600, 400)


def test_noise_teaches_nothing_recovers_truth():
    rng = np.random.default_rng(2)
    aucs = [predict_failures(rng.normal(size=(300, 5)), rng.random(300) < 0.4, rng=rng).auc for _ in range(40)]
    # an AUC over 24 x 36 pairs of noise has a standard deviation of sqrt(61 / (12 x 24 x 36)) = 0.077
    assert np.mean(aucs) == pytest.approx(0.5, abs=3 * 0.077 / np.sqrt(40))


def test_the_fit_is_where_the_gradient_vanishes_by_hand():
    x = _with_ones(np.array([[1.0], [1.0], [-1.0], [-1.0], [1.0]]))
    y = np.array([True, False, False, False, True])
    w = _fit(x, y)
    p = 1 / (1 + np.exp(-(x @ w)))
    np.testing.assert_allclose(x.T @ (p - y) + [w[0], 0.0], 0, atol=1e-4)


def test_too_few_to_learn_from_say_so():
    with pytest.raises(TooFewErrors, match="too few to learn from"):
        predict_failures(np.ones((20, 2)), np.zeros(20, dtype=bool), rng=np.random.default_rng(0))
