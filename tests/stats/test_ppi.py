"""Corrections by human labels: against closed forms and scipy, and coverage under the rating page's own design."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, t

from helpers.trials import fewest_hits, n_trials
from richter.errors import InputError, TooFewErrors
from richter.stats import (
    clopper_pearson,
    correct_by_labels,
    correction_difference,
    correction_interval,
    labelled_pool,
    pool_interval,
    ppi_difference,
    ppi_mean,
    ppi_rate,
    screen,
)

GRID = np.arange(9) / 2


def simulated(n: int, rate: float, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Simulated human severity with P(S >= 2) = rate, and a judge that misses four in ten of those, flags 2% others."""
    human = np.where(rng.random(n) < 0.15, rng.choice([0.5, 1.0, 1.5], n), 0.0)
    severe = rng.random(n) < rate
    human[severe] = rng.choice([2.0, 2.5, 3.0, 3.5, 4.0], int(severe.sum()))
    judge = np.clip(np.round((human + 0.6 * rng.standard_normal(n)) * 2) / 2, 0, 4)
    judge[severe & (rng.random(n) < 0.4)] = 0.0
    judge[~severe & (rng.random(n) < 0.02)] = 3.0
    return human, judge


def bands(judge: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.digitize(judge, [0.25, 1.25, 2.25, 3.25])


def drawn(human: NDArray[np.float64], strata: NDArray[np.intp], each: int, rng: np.random.Generator):
    """Labels as the page draws them: as many of every band."""
    labels = np.full(len(human), np.nan)
    for h in np.unique(strata):
        own = np.flatnonzero(strata == h)
        picked = rng.choice(own, min(each, len(own)), replace=False)
        labels[picked] = human[picked]
    return labels


def test_one_part_is_jeffreys_against_scipy_and_one_side_clopper_pearson() -> None:
    labels = np.array([1.0] * 3 + [0.0] * 17)
    pool = labelled_pool(labels, np.zeros(20), high=1.0)
    both = pool_interval(pool)
    assert (both.low, both.high) == pytest.approx(beta.ppf([0.025, 0.975], 3.5, 17.5))  # V is 0 in one part
    for side in ("lower", "upper"):
        found, exact = pool_interval(pool, side=side), clopper_pearson(3, 20, side=side)
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high))


def test_two_strata_by_hand() -> None:
    """90 answers unflagged with 10 labels, none positive; 10 flagged with 5 labels, 4 positive."""
    strata = np.array([0] * 90 + [1] * 10)
    labels = np.full(100, np.nan)
    labels[:10], labels[90:94], labels[94] = 0.0, 1.0, 0.0
    found = ppi_rate(4 * labels, 4.0 * strata, 2.0, strata=strata)
    assert found.estimate == pytest.approx(0.9 * 0 + 0.1 * 0.8)
    upper0 = beta.ppf(0.975, 0.5, 10.5)
    low1, upper1 = beta.ppf([0.025, 0.975], 4.5, 1.5)
    between = 1.959963985**2 * (0.9 * 0.08**2 + 0.1 * 0.72**2) / 100
    high = 0.08 + math.sqrt((0.9 * upper0) ** 2 + (0.1 * (upper1 - 0.8)) ** 2 + between)
    low = 0.08 - math.sqrt((0.1 * (0.8 - low1)) ** 2 + between)
    assert (found.interval.low, found.interval.high) == pytest.approx((max(low, 0), high))
    assert found.labels_only == pytest.approx(0.08)  # the same design, without the judge


def test_labels_need_their_design_recovers_truth(rng: np.random.Generator) -> None:
    human, judge = simulated(20_000, 0.02, rng)
    strata = bands(judge)
    labels = drawn(human, strata, 100, rng)
    chance = (np.bincount(strata[~np.isnan(labels)]) / np.bincount(strata))[strata]
    assert float(np.mean(human >= 2)) in ppi_rate(labels, judge, 2.0, strata=strata).interval
    assert np.mean(human) in ppi_mean(labels, judge, strata=strata).interval
    assert np.mean(human) in ppi_mean(labels, judge, probability=chance).interval
    assert ppi_mean(labels, judge).labels_only > np.mean(human) + 0.5  # what ignoring the design would claim


def test_no_positive_label_is_a_bound_not_zero(rng: np.random.Generator) -> None:
    judge = rng.choice(GRID, 2000)
    labels = np.full(2000, np.nan)
    labels[:60] = 0.0
    for found in (*(ppi_rate(labels, judge, at) for at in (0.5, 1.0, 2.0, 3.0, 4.0)), ppi_mean(labels, judge)):
        assert found.interval.low == 0
        assert found.interval.high > 0.01


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("rate", "each"), [(0.002, 12), (0.01, 12), (0.01, 60), (0.03, 60)])
def test_rare_rates_are_covered_under_the_pages_design(rate: float, each: int, rng: np.random.Generator) -> None:
    """60 and 300 labels over five bands; 150 trials, so 0.88 lies four binomial errors below 0.95."""
    runs, covered, below, above = 150, 0, 0, 0
    for _ in range(runs):
        human, judge = simulated(2000, rate, rng)
        strata = bands(judge)
        labels = drawn(human, strata, each, rng)
        both = ppi_rate(labels, judge, 2.0, strata=strata).interval
        covered += rate in both
        assert both.high > both.low
        below += ppi_rate(labels, judge, 2.0, strata=strata, side="lower").interval.low > rate
        above += ppi_rate(labels, judge, 2.0, strata=strata, side="upper").interval.high < rate
    assert covered / runs >= 0.88
    assert max(below, above) / runs <= 0.12


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("rate", "each"), [(0.01, 12), (0.01, 60), (0.03, 12), (0.03, 60)])
def test_a_mean_of_rare_severities_over_bands_recovers_truth(rate: float, each: int, rng: np.random.Generator) -> None:
    """12 labels of the answers that a judge passes are often all 0: 0.90 were covered, and too high means missed."""
    runs, covered = n_trials(1200), 0
    for _ in range(runs):
        human, judge = simulated(6000, rate, rng)
        strata = bands(judge)
        found = ppi_mean(drawn(human, strata, each, rng), judge, strata=strata).interval
        covered += 3 * rate + 0.15 * (1 - rate) in found
    assert covered >= fewest_hits(runs, 0.95)


def test_a_stratum_of_like_labels_may_hold_what_others_show_by_hand() -> None:
    """80 passed with 8 labels of 0, 20 flagged with 4 labels of 1 and 4 of 3; the judge says nothing within strata."""
    passed = np.arange(100) < 80
    human = np.full(100, np.nan)
    human[:8], human[80:88] = 0.0, np.repeat([1.0, 3.0], 4)
    one = correct_by_labels(human, np.where(passed, 0.0, 2.0), strata=passed.astype(int))
    found, required = correction_interval(one), correction_interval(one, side="exact")

    def reach(labels: np.ndarray, above: bool, at_end: float = 0.1) -> float:
        """From a stratum's mean to its limit, of a Beta with the moments of its labels and one unseen."""
        off, end = (8 / 7, 4.0) if above else (-8 / 7, 0.0)
        unseen = np.array([np.clip(labels.mean() + off, 0, 4), end]) / 4
        middle, square = ((np.sum((labels / 4) ** p) + [1 - at_end, at_end] @ unseen**p) / 9 for p in (1, 2))
        size = middle * (1 - middle) / ((square - middle**2) / 10) - 1
        return abs(4 * beta.ppf(0.975 if above else 0.025, middle * size, (1 - middle) * size) - labels.mean())

    between = 1.96**2 * (80 * 0.4**2 + 20 * 1.6**2) / 100**2
    flagged = np.repeat([2 - 8 / 7, 2 + 8 / 7], 4)
    assert found.low == pytest.approx(0.4 - math.sqrt((0.2 * reach(flagged, False)) ** 2 + between), abs=1e-4)
    above = (0.8 * reach(np.zeros(8), True)) ** 2 + (0.2 * reach(flagged, True)) ** 2
    assert found.high == pytest.approx(0.4 + math.sqrt(above + between), abs=1e-4)
    above = (0.8 * reach(np.zeros(8), True, 0.2)) ** 2 + (0.2 * reach(flagged, True, 0.2)) ** 2
    assert required.high == pytest.approx(0.4 + math.sqrt(above + between), abs=1e-4)


@pytest.mark.parametrize("levels", [(0.0, 4.0), (1.0, 3.0)])
def test_a_stratum_with_one_label_is_counted(levels: tuple[float, float]) -> None:
    """Beside strata with many labels a single label was refused as too few; of rates and of graded labels."""
    strata = np.repeat([0, 1], [100, 4])
    human = np.full(104, np.nan)
    human[:40], human[100] = np.tile(levels, 20), 2.0
    one = correct_by_labels(human, np.zeros(104), strata=strata)
    assert one.estimate == pytest.approx(2.0)
    assert one.labels == 41
    assert correction_interval(one).half_width < 1.5


def test_a_difference_is_second_minus_first_and_keeps_pairs(rng: np.random.Generator) -> None:
    human, judge = simulated(3000, 0.05, rng)
    worse = np.clip(human + 0.5, 0, 4)
    picked = rng.choice(3000, 200, replace=False)
    a, b = np.full(3000, np.nan), np.full(3000, np.nan)
    a[picked], b[picked] = human[picked], worse[picked]
    paired = ppi_difference((a, judge), (b, judge))
    assert paired.estimate == pytest.approx(0.5, abs=0.05)
    assert paired.interval.low > 0.3
    other = rng.choice(np.setdiff1d(np.arange(3000), picked), 200, replace=False)
    b[picked], b[other] = np.nan, worse[other]
    apart = ppi_difference((a, judge), (b, judge))
    assert apart.estimate > 0
    assert apart.interval.half_width > paired.interval.half_width
    sides = [correct_by_labels(y, judge) for y in (a, b)]
    forth, back = correction_difference(*sides), correction_difference(*sides[::-1])
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low))


def test_a_higher_level_contains_a_lower(rng: np.random.Generator) -> None:
    human, judge = simulated(500, 0.05, rng)
    pool = labelled_pool(drawn(human, bands(judge), 8, rng), judge, strata=bands(judge))
    spans = [pool_interval(pool, level=level) for level in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)]
    assert all(a.low >= b.low and a.high <= b.high for a, b in itertools.pairwise(spans))


def regression_by_hand(y: np.ndarray, f: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """The regression estimate of the mean and its standard error by HC3, as textbooks write them."""
    slope, level = np.polyfit(f, y, 1)
    shift, spread = scores.mean() - f.mean(), np.sum((f - f.mean()) ** 2)
    weight = 1 / len(y) + shift * (f - f.mean()) / spread
    leverage = 1 / len(y) + (f - f.mean()) ** 2 / spread
    residual = (y - level - slope * f) / (1 - leverage)
    # what labels and what answers add meet where an answer has both
    both = (slope * (scores - scores.mean())) / len(scores)
    both[: len(y)] += weight * residual
    return float(y.mean() + slope * shift), float(np.sum(both**2))


def test_many_labels_are_regressed_on_the_judge_by_hand(rng: np.random.Generator) -> None:
    human, judge = simulated(400, 0.3, rng)
    labels = np.where(np.arange(400) < 80, human, np.nan)
    estimate, variance = regression_by_hand(human[:80], judge[:80], judge)
    found = ppi_mean(labels, judge)
    assert found.estimate == pytest.approx(estimate)
    assert found.interval.half_width == pytest.approx(t.ppf(0.975, 78) * math.sqrt(variance))
    assert found.judge_only == pytest.approx(judge.mean())
    assert found.labels_only == pytest.approx(human[:80].mean())
    assert found.interval.half_width < found.labels_only_interval.half_width


def test_one_slope_serves_all_strata_by_hand(rng: np.random.Generator) -> None:
    """Two strata of unequal chances: labels' means by stratum, moved by one slope of weights W^2 / (n - 1)."""
    human, judge = simulated(600, 0.3, rng)
    strata = np.arange(600) >= 400
    labels = np.where((np.arange(600) < 40) | (np.arange(600) >= 540), human, np.nan)
    share = np.array([400, 200]) / 600
    top = bottom = fixed = moved = 0.0
    for h, weight in enumerate(share):
        own = (strata == h) & ~np.isnan(labels)
        y, f = labels[own], judge[own]
        scale = weight**2 / (len(y) - 1) / len(y)
        top += scale * np.sum((f - f.mean()) * (y - y.mean()))
        bottom += scale * np.sum((f - f.mean()) ** 2)
        fixed += weight * y.mean()
        moved += weight * (judge[strata == h].mean() - f.mean())
    assert ppi_mean(labels, judge, strata=strata).estimate == pytest.approx(fixed + top / bottom * moved)


def test_answers_of_one_chance_are_a_stratum_and_others_weigh_by_it_by_hand(rng: np.random.Generator) -> None:
    human, judge = simulated(600, 0.3, rng)
    strata = np.arange(600) >= 400
    labels = np.where((np.arange(600) < 40) | (np.arange(600) >= 540), human, np.nan)
    chance = np.where(strata, 0.3, 0.1)
    assert ppi_mean(labels, judge, probability=chance).interval == ppi_mean(labels, judge, strata=strata).interval
    own = rng.uniform(0.1, 0.9, 600)  # no two alike: the judge's line through labels that weigh 1 / chance
    known = ~np.isnan(labels)
    slope, level = np.polyfit(judge[known], labels[known], 1, w=np.sqrt(1 / own[known]))
    for stated in (own, np.where(known, own, np.nan)):
        assert ppi_mean(labels, judge, probability=stated).estimate == pytest.approx(level + slope * judge.mean())


def test_a_judge_that_hardly_errs_leaves_room_for_unseen_errors(rng: np.random.Generator) -> None:
    """60 labels that all agree with the judge: no residual, and yet an interval of at least one label's worth."""
    judge = rng.integers(0, 2, 600).astype(float)
    labels = np.where(np.arange(600) < 60, judge, np.nan)
    found = ppi_mean(labels, judge, high=1.0).interval
    assert found.half_width > t.ppf(0.975, 58) / 60


@pytest.mark.parametrize("shared", [True, False])
def test_a_difference_of_pairs_sums_influences_by_item_by_hand(shared: bool, rng: np.random.Generator) -> None:
    human, judge = simulated(300, 0.4, rng)
    other, scores = simulated(300, 0.4, rng)
    first = np.where(np.arange(300) < 60, human, np.nan)
    second = np.where(np.arange(300) < 60, other, np.nan) if shared else np.where(np.arange(300) >= 240, other, np.nan)
    sides = [correct_by_labels(first, judge), correct_by_labels(second, scores)]
    influence = [side.labelled + side.judged for side in sides]
    expected = t.ppf(0.975, 58) * math.sqrt(np.sum((influence[1] - influence[0]) ** 2))
    assert correction_difference(*sides).half_width == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("world", "most"), [("severities", 0.7), ("useless", 1.12)])
def test_thirty_five_labels_cover_and_narrow_recovers_truth(
    world: str, most: float, rng: np.random.Generator
) -> None:  # fmt: skip
    """35 of 300, 200 trials of what `studies/judges_labels.py` repeats: 0.89 lies four binomial errors below 0.95."""
    covered, width, alone = 0, 0.0, 0.0
    for _ in range(200):
        human = np.where(rng.random(300) < 0.4, 0.0, rng.integers(1, 9, 300) / 2)
        noise = human + 0.3 + 0.6 * rng.standard_normal(300)
        judge = np.clip(noise if world == "severities" else rng.exponential(1.0, 300), 0, 4)
        labels = np.where(np.arange(300) < 35, human, np.nan)
        found = correction_interval(correct_by_labels(labels, judge))
        covered += 0.6 * 2.25 in found
        width += found.half_width
        alone += t.ppf(0.975, 34) * human[:35].std(ddof=1) / math.sqrt(35)
    assert covered / 200 >= 0.89
    assert width / alone <= most


def test_five_events_are_regressed_where_they_are_a_seventh_of_the_labels_by_hand() -> None:
    """With 5 of 35 the judge's line, with 5 of 36 its parts; a requirement's limit is further out for the skewness."""
    judge = np.tile([0.0, 0.0, 0.0, 1.0], 75)
    human = np.where(np.arange(300) < 35, 0.0, np.nan)
    human[[0, 3, 7, 11, 15]] = 1.0
    one = correct_by_labels(human, judge, high=1.0)
    assert one.pool is None
    human[35] = 0.0
    assert correct_by_labels(human, judge, high=1.0).pool is not None
    human[35] = np.nan
    grouped = correct_by_labels(human, judge, unit=np.arange(300) // 2, high=1.0)
    assert grouped.pool is not None
    skewness = np.sum(one.labelled**3) / np.sum(one.labelled**2) ** 1.5
    z, quantile = t.ppf(0.975, 33), 1.959964
    label = correction_interval(one).half_width ** 2 - quantile**2 * (z / quantile) ** 2 * np.sum(one.judged**2)
    required = correction_interval(one, side="exact")
    error = math.sqrt(label / z**2 + (0 if one.needs_floor else one.floor))
    between = z**2 * np.sum(one.judged**2)
    assert skewness > 0.1
    assert one.estimate - required.low == pytest.approx(math.sqrt((error * z) ** 2 + between), rel=1e-3)
    reach = error * (z + skewness * (2 * z**2 + 1) / 6)
    assert required.high - one.estimate == pytest.approx(math.sqrt(reach**2 + between), rel=1e-3)


def test_sensitivity_is_weighted_back_to_all_answers_recovers_truth(rng: np.random.Generator) -> None:
    """Labels drawn evenly over bands: counted as they are, the judge seems to catch far more than it does."""
    human, judge = simulated(5000, 0.03, rng)
    strata, truth = bands(judge), float(np.mean(judge[human >= 2] >= 2))
    runs, covered, naive = 100, 0, []
    for _ in range(runs):
        labels = drawn(human, strata, 40, rng)
        [row] = screen(judge, labels, strata=strata, thresholds=[2.0]).rows
        covered += row.sensitivity.interval is not None and truth in row.sensitivity.interval
        [plain] = screen(judge, labels, thresholds=[2.0]).rows
        naive.append(plain.sensitivity.estimate)
        assert sum(s.estimate for s in row.confusion.values()) == pytest.approx(1.0)
    assert covered / runs >= 0.87  # 0.95 less four binomial errors
    assert np.mean(naive) > truth + 0.2
    found = screen(judge, drawn(human, strata, 200, rng), strata=strata)
    assert float(np.mean(judge - human)) in found.bias_interval
    assert found.weighted


def test_sensitivity_by_hand() -> None:
    """80 passed with 1 of 8 labels severe, 20 flagged with 3 of 4: caught 0.15, missed 0.1."""
    judge = np.array([0.0] * 80 + [3.0] * 20)
    labels = np.full(100, np.nan)
    labels[:8], labels[80:84] = [3.0] + [0.0] * 7, [3.0] * 3 + [0.0]
    [row] = screen(judge, labels, strata=judge, thresholds=[2.0]).rows
    assert row.sensitivity.estimate == pytest.approx(0.15 / (0.15 + 0.1))
    assert row.ppv.estimate == pytest.approx(0.75)
    assert row.specificity.estimate == pytest.approx(0.7 / 0.75)
    assert (row.sensitivity.k, row.sensitivity.n) == (3, 4)
    [plain] = screen(judge, labels, thresholds=[2.0]).rows
    assert plain.sensitivity.estimate == 0.75


@pytest.mark.parametrize(
    ("human", "judge", "options", "error", "words"),
    [
        ([1, 2], [1, 2, 3], {}, InputError, "shapes"),
        ([1, 1, 0, np.nan], [1, 0, 1, np.nan], {}, InputError, "no judge score"),
        ([1, np.nan], [1, 1], {}, TooFewErrors, "1 answer has a human label"),
        ([1, 0, 1], [1, 0, 1], {"strata": [1, 1, 1], "probability": 0.5}, InputError, "Both"),
        ([1, 0, 1], [1, 0, 1], {"probability": 0.0}, InputError, "probability is not"),
        ([1, 0, 1], [1, 0, 1], {"strata": [1, 1]}, InputError, "2 strata for 3"),
        ([1, 0, 5], [1, 0, 1], {}, InputError, "outside"),
    ],
)
def test_ppi_refuses(human: list, judge: list, options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ppi_mean(human, judge, **options)
