"""Two people disagree: the noise of their labels, their mechanisms, and the order of slopes by people and judges."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from richter.audit import SlopeRanks, measure_agreement
from richter.errors import TooFewErrors
from richter.ratings import Undefined, label_noise, mechanism_kappa
from richter.records import Rating
from richter.stats import correct_by_labels, correction_interval
from richter.tables import RatingsFile

NONE = np.nan


def test_noise_by_hand() -> None:
    """Eight answers alike, one apart by 1, one of three ratings 0, 1, 2: squares 0.5 and 2 over 8 + 1 + 2."""
    pairs = [[1.0, 1.0, NONE]] * 8 + [[0.0, 1.0, NONE], [0.0, 1.0, 2.0], [3.0, NONE, NONE]]
    found = label_noise(np.array(pairs))
    assert (found.answers, found.differ) == (10, 0.2)
    assert found.spread == pytest.approx(np.sqrt(2.5 / 11))
    with pytest.raises(TooFewErrors):
        label_noise(np.array(pairs[:9]))


def test_mechanism_kappa_of_two_is_scotts_pi() -> None:
    """(a - e) / (1 - e) with e the sum of squared mean shares: by counting, not by the table of counts."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 80)
    second = np.where(rng.random(80) < 0.6, first, rng.integers(0, 4, 80))
    table = np.column_stack([first, np.full(80, -1), second])  # the second of three raters named none
    both = [*first.tolist(), *second.tolist()]
    by_chance = sum((both.count(k) / 160) ** 2 for k in range(4))
    agree = sum(a == b for a, b in zip(first.tolist(), second.tolist(), strict=True)) / 80
    assert mechanism_kappa(table).estimate == pytest.approx((agree - by_chance) / (1 - by_chance))


def rated(seed: int, slopes: list[float]) -> list[Rating]:
    """Conditions with tails of their own, rated by two people and a judge that is harsher."""
    rng = np.random.default_rng(seed)
    rows = []
    for k, decay in enumerate(slopes):
        true = np.where(rng.random(400) < 0.6, np.clip(np.round(2 * rng.exponential(decay, 400)) / 2 + 0.5, 0, 4), 0)
        for i in range(400):
            for rater, kind in (("anna", "human"), ("ben", "human"), ("gpt", "judge")):
                off = rng.choice([-0.5, 0.0, 0.0, 0.5]) + 0.5 * (kind == "judge")
                level = float(np.clip(true[i] + off, 0, 4))
                name = "retrieval" if level < 2 else "fabrication"
                rows.append(
                    Rating(item=f"q{i}", condition=f"c{k}", rater=rater, kind=kind, severity=level, mechanism=name)
                )
    return rows


def test_slopes_by_people_and_judges_are_ranked_against_scipy() -> None:
    source = RatingsFile(ratings=tuple(rated(1, [0.4, 0.7, 1.0, 1.4, 2.0])), strata={}, domains={})
    report = measure_agreement(source, rng=np.random.default_rng(0))
    assert isinstance(report.slopes, SlopeRanks)
    people, judges = list(report.slopes.people.values()), list(report.slopes.judges.values())
    assert report.slopes.correlation == pytest.approx(scipy_stats.spearmanr(people, judges).statistic)
    assert report.slopes.correlation > 0.85
    assert report.slopes.p_value < 0.1
    human = report.kinds["human"]
    assert human.noise.differ > 0.3  # type: ignore[union-attr]
    assert human.mechanisms.estimate > 0.5  # type: ignore[union-attr]
    few = RatingsFile(ratings=tuple(rated(1, [0.4, 0.7])), strata={}, domains={})
    assert isinstance(measure_agreement(few, rng=np.random.default_rng(0)).slopes, Undefined)


@pytest.mark.parametrize("double", [0.0, 0.5])
def test_intervals_hold_the_noise_of_labels_recovers_truth(double: float) -> None:
    """Two people who differ in leniency and by chance; some answers have both. 200 tables of 60 labels of 300."""
    rng = np.random.default_rng(int(10 * double))
    held = 0
    for _ in range(200):
        true = rng.exponential(1.0, 300) + 0.5
        judge = true + 0.3 + 0.5 * rng.standard_normal(300)
        person = [true + lenient + 0.6 * rng.standard_normal(300) for lenient in (-0.2, 0.2)]
        who = rng.random(300)
        label = np.where(who < double, (person[0] + person[1]) / 2, np.where(rng.random(300) < 0.5, *person))
        seen = np.where(np.isin(np.arange(300), rng.choice(300, 60, replace=False)), np.clip(label, 0, 10), np.nan)
        held += 1.5 in correction_interval(correct_by_labels(seen, judge, low=0.0, high=10.0))
    assert held >= 180  # of 200 at 95%: fewer have probability 0.001
