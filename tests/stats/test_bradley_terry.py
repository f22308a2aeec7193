"""Strengths from contests: odds worked by hand, a simulated board with known strengths, and what has no strength."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit, stdtrit

from helpers.trials import fewest_hits, most_hits, n_trials
from richter.errors import InputError
from richter.stats import Strengths, bradley_terry

A, B, C = 0, 1, 2


def strengths(contests: list[tuple[int, int, float, int]], size: int = 3) -> Strengths:
    """Of contests (first, second, who won, how often)."""
    rows = [(one, two, won) for one, two, won, times in contests for _ in range(times)]
    one, two, won = zip(*rows, strict=True)
    return bradley_terry(one, two, won, range(len(rows)), size=size)


def test_odds_that_fit_exactly_by_hand() -> None:
    """a beats b 2:1, b beats c 2:1 and a beats c 4:1, in either order: strengths of log 2 times 1, 0 and -1."""
    contests = []
    for one, two, wins, losses in ((A, B, 20, 10), (B, C, 20, 10), (A, C, 24, 6)):
        contests += [(one, two, 1, wins), (one, two, 0, losses), (two, one, 0, wins), (two, one, 1, losses)]
    found = strengths(contests)
    assert found.values == pytest.approx([math.log(2), 0, -math.log(2)])
    assert found.first == pytest.approx(0, abs=1e-9)


def test_what_being_shown_first_adds_by_hand() -> None:
    """a beats b 4:1 when shown first and 1:1 when second: both a's strength and the order are worth odds of 2."""
    found = strengths([(A, B, 1, 40), (A, B, 0, 10), (B, A, 1, 20), (B, A, 0, 20)], size=2)
    assert found.first == pytest.approx(math.log(2))
    assert found.values[A] - found.values[B] == pytest.approx(math.log(2))


def test_the_error_of_two_alone_is_that_of_log_odds_by_hand() -> None:
    """36 wins of 60, always in one order: variance 1/36 + 1/24, times 60/59 for one parameter."""
    found = strengths([(A, B, 1, 36), (A, B, 0, 24)], size=2)
    assert found.first is None
    assert found.values[A] - found.values[B] == pytest.approx(math.log(36 / 24))
    assert found.error(A, B) == pytest.approx(math.sqrt((1 / 36 + 1 / 24) * 60 / 59))


@pytest.mark.parametrize(
    "contests",
    [
        [(A, B, 1.0, 20), (B, A, 0.0, 20), (B, C, 1, 10), (C, B, 1, 10)],  # a wins all
        [(A, B, 1.0, 10), (B, A, 1.0, 10)],  # c is in none
    ],
)
def test_a_board_without_finite_strengths_is_refused(contests: list[tuple[int, int, float, int]]) -> None:
    with pytest.raises(InputError):
        strengths(contests)


@pytest.mark.parametrize("ties", [0.0, 0.6])
def test_intervals_cover_known_strengths(ties: float) -> None:
    """Five models, 300 contests, a judge that favours the first; ties keep the expected win (named as simulated)."""
    truth, order = np.array([0.8, 0.3, 0.0, -0.3, -0.8]), 0.4
    rng, number = np.random.default_rng(8), n_trials(2000)
    pairs = np.array(list(itertools.permutations(range(5), 2)))
    covered = 0
    for _ in range(number):
        one, two = pairs[rng.integers(len(pairs), size=300)].T
        p = expit(truth[one] - truth[two] + order)
        tie = ties * np.minimum(p, 1 - p)
        u = rng.random(300)
        won = np.where(u < p - tie / 2, 1.0, np.where(u < p + tie / 2, 0.5, 0.0))
        found = bradley_terry(one, two, won, np.arange(300), size=5)
        gap = found.values[0] - found.values[1]
        covered += abs(gap - 0.5) <= stdtrit(found.freedom, 0.975) * found.error(0, 1)
    assert fewest_hits(number, 0.94) <= covered <= most_hits(number, 0.96)
