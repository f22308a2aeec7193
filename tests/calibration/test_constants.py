import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import binom, multinomial, norm

from richter.calibration import (
    answer_pool,
    ece_gap_constant,
    held_out_confidence,
    jensen_bias,
    jensen_root,
    oracle_gap_constant,
    selection_bias,
)

Law = tuple[float, ...]


def enumerated(law: Law, n: int) -> tuple[float, float]:
    """E[c1] and E[c2] at selection size n with random ties, summed over every outcome of two or three classes."""
    if len(law) == 2:
        i = np.arange(n + 1)
        x, probability = np.stack([i, n - i]), binom.pmf(i, n, law[0])
    else:
        i, j = (a.ravel() for a in np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"))
        i, j = i[i + j <= n], j[i + j <= n]
        x = np.stack([i, j, n - i - j])
        probability = multinomial.pmf(x.T, n, law)
    top = x.max(axis=0)
    tied = x == top
    chosen: NDArray[np.float64] = (tied * np.array(law)[:, None]).sum(axis=0) / tied.sum(axis=0)
    return float(np.sum(probability * top) / n), float(np.sum(probability * chosen))


def scale_and_half_margin(law: Law, n: int) -> tuple[float, float]:
    scale = math.sqrt((law[0] + law[1]) / n)
    return scale, (law[0] - law[1]) / scale / 2


def test_root_against_paper() -> None:
    assert 2 * jensen_root() == pytest.approx(0.612003, abs=5e-7)
    assert jensen_root() == pytest.approx(0.306002, abs=5e-7)
    assert abs(float(oracle_gap_constant(jensen_root()))) < 1e-14


@pytest.mark.parametrize("half_margin", [0.0, 0.2, 0.306, 1.0])
def test_constants_against_scipy(half_margin: float) -> None:
    u = 2 * half_margin
    tail, _ = quad(lambda y: (y - u) * norm.pdf(y), u, np.inf)  # E[(Y - u)+], appendix A.5
    assert float(jensen_bias(half_margin)) == pytest.approx(tail, abs=1e-10)
    assert float(selection_bias(half_margin)) == pytest.approx(u * norm.cdf(-u), abs=1e-12)
    total = float(jensen_bias(half_margin)) + float(selection_bias(half_margin))
    assert float(ece_gap_constant(half_margin)) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("law", [(0.55, 0.45), (0.52, 0.48), (0.45, 0.40, 0.15)])
@pytest.mark.parametrize("n", [25, 50, 100])
def test_bias_expansion_by_enumeration(law: Law, n: int) -> None:
    first, second = enumerated(law, n)
    scale, half_margin = scale_and_half_margin(law, n)
    # eq. (9) neglects o(n^-1/2); the lattice's correction is of order 1 / n: at most 1/2 of a count per n here
    assert abs(first - law[0] - scale * float(jensen_bias(half_margin))) < 0.5 / n
    assert abs(law[0] - second - scale * float(selection_bias(half_margin))) < 0.5 / n


@pytest.mark.parametrize("law", [(0.55, 0.45), (0.45, 0.40, 0.15), (0.36, 0.34, 0.30)])
def test_sem1_above_and_sem2_below_the_oracle_by_enumeration(law: Law) -> None:
    for n in (5, 20, 50):
        first, second = enumerated(law, n)
        assert second < law[0] < first  # eqs. (2) and (5)


@pytest.mark.parametrize("law", [(0.52, 0.48), (0.50, 0.45, 0.05), (0.45, 0.40, 0.15)])
def test_theorem_5_6_within_three_percent_at_400(law: Law) -> None:
    first, second = enumerated(law, 400)
    scale, half_margin = scale_and_half_margin(law, 400)
    assert (first - second) / (scale * float(ece_gap_constant(half_margin))) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("law", [(0.36, 0.34, 0.30), (0.35, 0.35, 0.30)])
def test_theorem_5_6_fails_with_a_near_third_class(law: Law) -> None:
    # the reduction to two classes is not o(n^-1/2) when the third is near: 13 to 19% too small at n = 400
    first, second = enumerated(law, 400)
    scale, half_margin = scale_and_half_margin(law, 400)
    assert 1.13 <= (first - second) / (scale * float(ece_gap_constant(half_margin))) <= 1.19


def test_estimators_recover_the_enumeration_at_50(rng: np.random.Generator) -> None:
    law, n, questions = (0.45, 0.40, 0.15), 50, 6_000
    labels = rng.choice(3, (questions, 2 * n), p=law)
    first = answer_pool(labels[:, :n])
    c1 = first.counts.max(axis=1) / n
    c2 = held_out_confidence(answer_pool(labels))  # all splits of 100 draws into 50 and 50
    want_1, want_2 = enumerated(law, n)
    assert abs(c1.mean() - want_1) < 4 * c1.std() / math.sqrt(questions)
    assert abs(c2.mean() - want_2) < 4 * c2.std() / math.sqrt(questions)
