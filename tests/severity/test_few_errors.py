"""Mean severity of few errors: permutations by hand, size and power, and what it is about where error rates differ."""

import itertools
import pickle

import numpy as np
import pytest
import severity_sizes
from driver import mean_figures

from helpers.trials import fewest_hits, n_trials
from richter.severity import severity_given_error


def statistic(a: np.ndarray, b: np.ndarray, pairs: int) -> float:
    """The difference of means over its standard error with the common mean; the first `pairs` are of one item."""
    mean = np.r_[a, b].mean()
    first, second = (a - mean) / len(a), (b - mean) / len(b)
    variance = np.sum((second[:pairs] - first[:pairs]) ** 2) + np.sum(first[pairs:] ** 2) + np.sum(second[pairs:] ** 2)
    return float((b.mean() - a.mean()) / np.sqrt(variance))


def test_the_permutation_test_by_hand() -> None:
    """Three items that both get wrong and two single errors each: 2^3 swaps times 6 ways to label single errors."""
    first = np.array([1.0, 2.0, 1.5, 1.0, 0.5, 0.0, 0.0, 0.0])
    second = np.array([2.0, 2.5, 1.0, 0.0, 0.0, 3.5, 2.0, 0.0])
    pairs, singles = list(zip(first[:3], second[:3], strict=True)), np.array([1.0, 0.5, 3.5, 2.0])
    seen = abs(statistic(np.array([1.0, 2, 1.5, 1, 0.5]), np.array([2.0, 2.5, 1, 3.5, 2]), 3))
    sizes = []
    for swaps in itertools.product((0, 1), repeat=3):
        for chosen in itertools.combinations(range(4), 2):
            own = np.isin(np.arange(4), chosen)
            a = np.r_[[pair[s] for pair, s in zip(pairs, swaps, strict=True)], singles[own]]
            b = np.r_[[pair[1 - s] for pair, s in zip(pairs, swaps, strict=True)], singles[~own]]
            sizes.append(abs(statistic(a, b, 3)))
    exact = np.mean(np.array(sizes) >= seen - 1e-9)
    found = severity_given_error(first, second)
    assert found.p is not None
    assert found.p(0.0) == pytest.approx(exact, abs=0.02)  # 9,999 permutations: four standard errors
    assert found.interval(0.95).method == "permutation of errors"


def draw(shift: float, rng: np.random.Generator, errors: int = 37) -> tuple[np.ndarray, np.ndarray]:
    chance = np.clip(errors / 200 * np.exp(rng.normal(size=200) - 0.5), 0, 1)
    sides = []
    for more in (0.0, shift):
        severity = np.clip(np.round(2 * (1.7 + more + 0.9 * rng.normal(size=200))) / 2, 0.5, 4.0)
        sides.append(np.where(rng.random(200) < chance, severity, 0.0))
    return sides[0], sides[1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("shift", "least", "most"), [(0.0, 0, 11), (0.5, 18, 60)])
def test_few_errors_keep_their_size_and_have_power_recovers_truth(shift: float, least: int, most: int) -> None:
    """Of 60: above 11 at 6% has probability 0.0003; below 18 at 51% 0.0003 (gamma limits had 9%)."""
    rng = np.random.default_rng(11)
    shown = 0
    for _ in range(60):
        found = severity_given_error(*draw(shift, rng))
        assert found.p is not None
        shown += found.p(0.0) <= 0.05
    assert least <= shown <= most


def test_the_interval_is_the_inverted_test() -> None:
    first, second = draw(0.5, np.random.default_rng(3), errors=25)
    found = severity_given_error(first, second)
    assert found.p is not None
    for level in (0.8, 0.95):
        span = found.interval(level)
        assert span.low < found.estimate < span.high
        assert found.p(span.low - 0.01) <= 1 - level < found.p(span.low + 0.01)
        assert found.p(span.high + 0.01) <= 1 - level < found.p(span.high - 0.01)


def test_limits_of_errors_on_two_levels_hold_0_exactly_where_it_is_not_rejected() -> None:
    """p rises where errors tie: a limit sought from the estimate outwards left out 0, which was not rejected."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        sides = [2.0 + 2.0 * (rng.random(25) < 0.1) for _ in range(2)]
        found = severity_given_error(np.r_[sides[0], np.zeros(75)], np.r_[np.zeros(75), sides[1]])
        span = found.interval(0.95)
        if found.p is not None and span.method == "permutation of errors":
            assert (0 in span) == (found.p(0.0) > 0.05)


def test_unequal_error_rates_say_what_it_is_about_with_the_shared_contrast_by_hand() -> None:
    first = np.r_[np.full(10, 2.0), np.zeros(90)]
    second = np.r_[np.tile([2.0, 3.0], 5), np.full(20, 1.0), np.zeros(70)]
    notes = severity_given_error(first, second).notes_at(0.95)
    (note,) = [n for n in notes if "of other questions" in n]
    assert "differ by 20.0 points" in note
    assert "on 10 questions that both get wrong the difference is +0.50" in note
    alike = severity_given_error(first, np.r_[np.tile([2.0, 3.0], 5), np.zeros(90)])
    assert not [n for n in alike.notes_at(0.95) if "of other questions" in n]


@pytest.mark.parametrize("seed", range(3))
def test_limits_turn_with_the_pair_and_not_with_the_order_of_items(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = draw(0.3, rng, errors=25)
    if seed == 2:  # a pair that is even
        first, second = np.r_[first, second], np.r_[second, first]
    order = rng.permutation(len(first))
    found, turned = severity_given_error(first, second), severity_given_error(second, first)
    moved = severity_given_error(first[order], second[order])
    span, back, same = (x.interval(0.95) for x in (found, turned, moved))
    assert {x.method for x in (span, back, same)} == {"permutation of errors"}
    assert (span.low, span.high) == (-back.high, -back.low)
    assert (same.low, same.high) == pytest.approx((span.low, span.high), abs=1e-9)


def test_weights_that_are_alike_change_nothing() -> None:
    first, second = draw(0.3, np.random.default_rng(4), errors=25)
    plain, alike = severity_given_error(first, second), severity_given_error(first, second, weights=np.full(200, 7.0))
    assert alike.interval(0.95) == plain.interval(0.95)


def test_the_evidence_travels_to_another_process() -> None:
    found = severity_given_error(*draw(0.3, np.random.default_rng(4), errors=25))
    interval, p = pickle.loads(pickle.dumps((found.interval, found.p)))
    assert interval(0.9) == found.interval(0.9)
    assert found.p is not None
    assert p(0.1) == found.p(0.1)


@pytest.mark.parametrize("which", [0, 1])
def test_errors_of_one_severity_on_a_side_have_bounded_limits(which: int) -> None:
    """They were all the permutations could see: the interval had no width, whatever the next error may be."""
    varied = np.tile([1.0, 2.0, 3.0, 0.0], 10)
    pair = [varied, varied]
    pair[which] = 2.0 * (varied > 0)
    span = severity_given_error(*pair).interval(0.95)
    assert span.method.endswith("MOVER of exact limits")
    assert span.half_width > 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "questions", "rate"),
    [("even", 200, 0.13), ("even", 400, 0.25), ("two levels", 200, 0.26), ("mostly slight", 400, 0.25),
     ("mostly slight", 1000, 0.2)],
)  # fmt: skip
def test_a_difference_of_the_size_said_is_shown_in_four_of_five_recovers_truth(
    law: str, questions: int, rate: float
) -> None:
    """With 26 to 200 errors; it was 36% of those mostly slight in 400 questions."""
    trials = n_trials(500)
    cell = {"law": law, "questions": questions, "rate": rate}
    found = mean_figures(cell, severity_sizes.trial, trials, np.random.default_rng(7))
    number = round(found["has size %"] * trials)
    assert round(found["shown %"] * number) >= fewest_hits(number, 0.8)
    assert number > 0.95 * trials
