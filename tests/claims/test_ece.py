import itertools

import numpy as np
import pytest
from scipy.special import ndtr

from helpers.trials import fewest_hits, n_trials
from richter.claims import ece_difference, ece_evidence, ece_side, p_value
from richter.stats import bin_gaps, ece


def draw(rng: np.random.Generator, n: int, gaps: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Two simulated conditions on the same items: correlated confidences in [0.5, 1], right less often by their gap."""

    def correlated() -> np.ndarray:
        return ndtr((rng.normal(size=(n, 1)) + rng.normal(size=(n, 2))) / np.sqrt(2))

    c, u = 0.5 + 0.4 * correlated(), correlated()
    return c, (u < c - np.array(gaps)).astype(float)


def repeated(
    rng: np.random.Generator, items: int, draws: int, groups: int | None
) -> tuple[np.ndarray, np.ndarray | None, list[tuple[np.ndarray, np.ndarray]]]:
    """Two identical conditions, 0.1 too sure: errors correlate within an item and within a group."""
    group = None if groups is None else np.arange(items) % groups
    level = rng.normal(size=items)
    if group is not None:
        level = np.sqrt(0.6) * rng.normal(size=groups)[group] + np.sqrt(0.4) * level
    item = np.repeat(np.arange(items), draws)
    sides = []
    for _ in range(2):
        own = np.sqrt(0.5) * (level + rng.normal(size=items))
        u = ndtr(np.sqrt(0.7) * own[item] + np.sqrt(0.3) * rng.normal(size=len(item)))
        c = 0.5 + 0.5 * ndtr(rng.normal(size=items)[item])
        sides.append((c, (u < c - 0.1).astype(float)))
    return item, group, sides


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [(0.0, 0.0), (0.0, 0.08), (0.08, 0.08)])
def test_interval_covers_the_difference_recovers_truth(gaps: tuple[float, float]) -> None:
    rng, trials = np.random.default_rng(1), n_trials(200)
    covered = 0
    for _ in range(trials):
        c, a = draw(rng, 500, gaps)
        covered += (gaps[1] - gaps[0]) in ece_difference(*(ece_side(c[:, k], a[:, k]) for k in (0, 1))).interval(0.95)
    assert covered >= fewest_hits(trials, 0.95)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(("items", "draws", "groups"), [(400, 1, 40), (100, 10, None), (30, 30, None)])
def test_identical_conditions_with_draws_and_groups_recover_the_size(
    items: int, draws: int, groups: int | None
) -> None:
    # 5% is promised: more than 13 of 120 has probability 0.004 at 5%; rows taken as independent give 20 to 60
    rng = np.random.default_rng(2)
    told = plain = 0
    for _ in range(120):
        item, group, sides = repeated(rng, items, draws, groups)
        told += p_value(ece_difference(*(ece_side(c, a, item, group=group) for c, a in sides)), 0.0) <= 0.05
        plain += p_value(ece_difference(*(ece_side(c, a) for c, a in sides)), 0.0) <= 0.05
    assert told <= 13
    if draws > 1:
        assert plain > 13


def test_p_agrees_with_the_interval_and_mirrors(rng: np.random.Generator) -> None:
    for gap in (0.0, 0.04, 0.08, 0.15):
        c, a = draw(rng, 600, (0.0, gap))
        first, second = (ece_side(c[:, k], a[:, k]) for k in (0, 1))
        found, back = ece_difference(first, second), ece_difference(second, first)
        for value in (-0.05, 0.0, 0.05, 0.3):
            p = p_value(found, value)
            assert p == pytest.approx(p_value(back, -value), rel=1e-9)
            if 1e-6 < p < 1:
                assert value not in found.interval(1 - p * 1.001)
                assert value in found.interval(1 - p * 0.999)
        assert found.estimate == -back.estimate
        assert found.interval(0.95).low == pytest.approx(-back.interval(0.95).high)


def test_intervals_of_higher_level_contain_those_of_lower(rng: np.random.Generator) -> None:
    item, group, sides = repeated(rng, 60, 3, 12)
    one, two = (ece_side(c, a, item, group=group) for c, a in sides)
    for evidence in (ece_evidence(one), ece_difference(one, two)):
        intervals = [evidence.interval(level) for level in (0.5, 0.8, 0.9, 0.95, 0.99, 0.9999)]
        assert evidence.estimate in intervals[0]
        assert all(w.low <= n.low and n.high <= w.high for n, w in itertools.pairwise(intervals))


def test_one_row_an_item_is_the_plain_interval() -> None:
    rng = np.random.default_rng(4)
    c, a = draw(rng, 300, (0.1, 0.1))
    plain, evidence = ece(c[:, 0], a[:, 0]), ece_evidence(ece_side(c[:, 0], a[:, 0]))
    assert evidence.estimate == pytest.approx(plain.debiased, abs=1e-9)
    assert evidence.interval(0.95).high == pytest.approx(plain.interval.high, abs=2e-4)  # interpolated between limits
    assert (evidence.n, evidence.units, evidence.unit) == (300, 300, "item")


def test_covariances_from_unit_sums_by_hand() -> None:
    # two items of two draws each, two bins: item 0 has gaps 0.4 (low bin) and -0.2 (high), item 1 -0.6 and 0.8
    gaps = bin_gaps([0.4, 0.8, 0.4, 0.8], [0, 1, 1, 0], bins=2, unit=[0, 0, 1, 1])
    assert gaps.gap == pytest.approx([(0.4 - 0.6) / 4, (-0.2 + 0.8) / 4])
    first, second = np.array([0.1, -0.05]) - gaps.gap / 2, np.array([-0.15, 0.2]) - gaps.gap / 2
    covariance = 2 * (np.outer(first, first) + np.outer(second, second))
    added = ((2 + 1) / 6 * (1 - (2 + 1) / 6) - 0.25) * 0.125  # one of two units right: 3 of 6; nothing is added
    assert added == 0
    assert gaps.standard_error**2 == pytest.approx(np.diag(covariance))
    assert gaps.correlation is not None
    assert gaps.correlation[0, 1] * np.prod(gaps.standard_error) == pytest.approx(covariance[0, 1])


def test_items_count_alike_however_many_draws_they_have() -> None:
    # item 0: four draws, all right; item 1: one draw, wrong. c = 0.8 throughout: |0.8 - 1/2|, not |0.8 - 4/5|
    side = ece_side(np.full(5, 0.8), np.array([1.0, 1, 1, 1, 0]), np.array([0, 0, 0, 0, 1]))
    assert side.plug_in == pytest.approx(0.3)
    weighted = ece_side(
        np.full(5, 0.8), np.array([1.0, 1, 1, 1, 0]), np.array([0, 0, 0, 0, 1]), weight=np.array([3.0, 1.0])
    )
    assert weighted.plug_in == pytest.approx(0.8 - 0.75)


def test_few_units_say_nothing() -> None:
    rng = np.random.default_rng(0)
    c = rng.random(80)
    side = ece_side(c, (rng.random(80) < c).astype(float), np.arange(80), group=np.arange(80) % 4)
    evidence = ece_evidence(side)
    assert (evidence.interval(0.95).low, evidence.interval(0.95).high) == (0.0, 1.0)
    assert p_value(evidence, 0.0) == 1
    assert "4 units" in evidence.notes[0]
