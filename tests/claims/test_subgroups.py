"""One difference in subgroups: own evidence, one test, partial pooling."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import f_oneway, ttest_ind

from helpers.outcomes import outcomes
from helpers.trials import most_hits, n_trials
from richter.claims import Subgroups, decide_heterogeneity, difference_evidence, subgroup_differences
from richter.claims._subgroups import _pool
from richter.errors import InputError
from richter.records import Verdict


def board(rng: np.random.Generator, effects: list[float], size: int) -> tuple[np.ndarray, np.ndarray]:
    code = np.repeat(np.arange(len(effects)), size)
    base = rng.normal(0.5, 0.1, size=len(code))
    return np.stack([base, base + np.array(effects)[code] + rng.normal(0, 0.2, len(code))], axis=1), code


def test_two_subgroups_against_scipy(rng: np.random.Generator) -> None:
    x, code = board(rng, [0.0, 0.05], 60)
    found = subgroup_differences(outcomes(x, "mean_score"), "a", "b", subgroup=code, names=("s", "t"))
    d = x[:, 1] - x[:, 0]
    assert found.p == pytest.approx(ttest_ind(d[code == 0], d[code == 1], equal_var=False).pvalue, rel=1e-9)
    own = difference_evidence(outcomes(x[code == 1], "mean_score"), "a", "b")
    assert found.subgroups[1].interval == own.interval(0.95)
    assert found.subgroups[0].pooled is None  # two are too few to pool


def test_pairs_and_attempts_share_the_level_of_one_effect_by_hand() -> None:
    """Holm over three pairs, of which one cannot be tested: 2 x 0.004, 0.03; with three attempts three times that."""
    one = Subgroups(conditions=("a", "b"), subgroups=(), p=0.004, method="", spread=None, left_out=0)
    found = [one, dataclasses.replace(one, p=None), dataclasses.replace(one, p=0.03)]
    decided = decide_heterogeneity(found)
    assert [x.p_adjusted for x in decided] == [pytest.approx(0.008), None, pytest.approx(0.03)]
    assert [x.verdict for x in decided] == [Verdict.VERIFIED, Verdict.UNTESTABLE, Verdict.VERIFIED]
    assert [x.p for x in decided] == [0.004, None, 0.03]
    thrice = decide_heterogeneity(found, tried=3)
    assert [x.p_adjusted for x in thrice] == [pytest.approx(0.024), None, pytest.approx(0.09)]
    assert [x.verdict for x in thrice] == [Verdict.VERIFIED, Verdict.UNTESTABLE, Verdict.UNDECIDED]
    strict = decide_heterogeneity(found, level=0.99)
    assert [x.verdict for x in strict] == [Verdict.VERIFIED, Verdict.UNTESTABLE, Verdict.UNDECIDED]


def test_amounts_are_compared_by_the_ratio_of_totals_against_scipy(rng: np.random.Generator) -> None:
    """Prices a thousand times apart, each about a third less: one ratio. By plain differences p was 1e-12 and less."""
    code = np.repeat([0, 1, 2], 50)
    base = np.array([0.001, 0.1, 1.0])[code] * np.exp(rng.normal(0, 0.5, 150))
    x = np.stack([base, 0.7 * base * np.exp(rng.normal(0, 0.2, 150))], axis=1)
    x[0, 0] = 0.0  # a free item changes nothing of this
    found = subgroup_differences(outcomes(x[code < 2], "money"), "a", "b", subgroup=code[code < 2], names=("s", "t"))
    own = [x[code == k] / x[code == k].mean(axis=0) for k in range(3)]
    logs = [np.log(x[code == k, 1].sum() / x[code == k, 0].sum()) for k in range(3)]
    values = [log + v[:, 1] - v[:, 0] for log, v in zip(logs, own, strict=True)]
    assert found.p == pytest.approx(ttest_ind(values[0], values[1], equal_var=False).pvalue, rel=1e-9)
    assert found.relative
    assert "the effect (ratio of totals)" in decide_heterogeneity([found])[0].sentence
    assert found.subgroups[0].estimate == pytest.approx(np.exp(logs[0]) - 1)
    three = subgroup_differences(outcomes(x, "money"), "a", "b", subgroup=code, names=tuple("stu"))
    pooled, spans, spread = _pool(np.array(logs), np.array([v.std(ddof=1) / np.sqrt(50) for v in values]), 0.95)
    for s, mean, span in zip(three.subgroups, pooled, spans, strict=True):
        assert s.pooled == pytest.approx(np.exp(mean) - 1)
        assert s.pooled_interval is not None
        assert s.pooled_interval.high == pytest.approx(np.exp(span.high) - 1)
    assert three.spread == pytest.approx(np.exp(spread) - 1)


def test_a_subgroup_without_any_cost_is_left_out(rng: np.random.Generator) -> None:
    code = np.repeat([0, 1, 2], 30)
    x = np.exp(rng.normal(0, 0.5, (90, 2)))
    x[code == 2, 0] = 0.0
    found = subgroup_differences(outcomes(x, "money"), "a", "b", subgroup=code, names=tuple("stu"))
    assert [s.name for s in found.subgroups] == ["s", "t"]
    assert found.left_out == 30


def test_eight_schools_against_the_textbook() -> None:
    # Rubin (1981): posterior means with a flat prior on the spread, as printed in Gelman et al. (BDA, table 5.3)
    d = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    error = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    pooled, _, _ = _pool(d, error, 0.95)
    np.testing.assert_allclose(pooled, [11, 8, 6, 8, 5, 6, 11, 8], atol=0.9)


def test_effects_that_differ_are_told_and_pooled_lie_between(rng: np.random.Generator) -> None:
    x, code = board(rng, [0.0, 0.0, 0.0, 0.0, 0.3], 40)
    found = subgroup_differences(outcomes(x, "mean_score"), "a", "b", subgroup=code, names=tuple("stuvw"))
    assert found.p is not None
    assert found.p < 1e-4
    assert "the effect differs between the 5 subgroups" in decide_heterogeneity([found])[0].sentence
    overall = float(np.mean(x[:, 1] - x[:, 0]))
    for s in found.subgroups:
        low, high = sorted((s.estimate, overall))
        assert s.pooled is not None
        assert low - 0.02 <= s.pooled <= high + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("size", [8, 40])
def test_one_effect_is_called_several_in_five_of_a_hundred(size: int) -> None:
    rng = np.random.default_rng(size)
    runs, false = n_trials(300), 0
    for _ in range(runs):
        x, code = board(rng, [0.1] * 5, size)
        x[:, 1] += rng.normal(0, 0.3, len(code)) * (code == 0)  # one subgroup varies more
        p = subgroup_differences(
            outcomes(x, "mean_score"), "a", "b", subgroup=code, names=tuple("stuvw"), n_resamples=400, rng=rng
        ).p
        assert p is not None
        false += p <= 0.05
    assert false <= most_hits(runs, 0.05)


def test_groups_across_subgroups_and_lone_subgroups_are_refused(rng: np.random.Generator) -> None:
    x, code = board(rng, [0.0, 0.0], 10)
    group = np.arange(20) % 5
    with pytest.raises(InputError, match="several subgroups"):
        subgroup_differences(outcomes(x, "mean_score", group=group), "a", "b", subgroup=code, names=("s", "t"))
    with pytest.raises(InputError, match="1 subgroup with"):
        subgroup_differences(outcomes(x, "mean_score"), "a", "b", subgroup=np.zeros(20, dtype=int), names=("s",))


@pytest.mark.parametrize("size", [29, 30])
def test_three_subgroups_against_scipy(rng: np.random.Generator, size: int) -> None:
    """Welch's F from 30 units in every subgroup on; with one less the same statistic under permuted labels."""
    x, code = board(rng, [0.0, 0.05, 0.1], 40)
    x, code = np.delete(x, slice(size, 40), axis=0), np.delete(code, slice(size, 40))
    found = subgroup_differences(outcomes(x, "mean_score"), "a", "b", subgroup=code, names=tuple("stu"))
    d = x[:, 1] - x[:, 0]
    p = f_oneway(*(d[code == k] for k in range(3)), equal_var=False).pvalue
    assert found.method == ("welch F" if size == 30 else "welch F, 2,000 permutations")
    assert found.p == pytest.approx(p, rel=1e-9 if size == 30 else None, abs=None if size == 30 else 0.05)


def test_few_units_are_permuted_by_enumeration(rng: np.random.Generator) -> None:
    """Three and four units: 35 ways to deal them, of which those count that tell the subgroups apart as far."""
    d = np.array([0.1, 0.3, 0.2, 0.5, 0.9, 0.4, 0.65])
    code = np.array([0, 0, 0, 1, 1, 1, 1])
    x = np.stack([np.zeros(7), d], axis=1)
    found = subgroup_differences(
        outcomes(x, "mean_score"), "a", "b", subgroup=code, names=("s", "t"), n_resamples=20_000, rng=rng
    )

    def apart(chosen: tuple[int, ...]) -> float:
        inside = np.isin(np.arange(7), chosen)
        return abs(float(ttest_ind(d[inside], d[~inside], equal_var=False).statistic))

    every = [apart(chosen) for chosen in itertools.combinations(range(7), 3)]
    exact = np.mean(np.array(every) >= apart((0, 1, 2)) - 1e-9)
    assert found.p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))


def test_what_no_permutation_reaches_is_one_of_all_by_hand(rng: np.random.Generator) -> None:
    code = np.repeat([0, 1], 15)
    x = np.stack([np.zeros(30), np.where(code, 0.9, 0.1) + rng.normal(0, 0.01, 30)], axis=1)
    found = subgroup_differences(
        outcomes(x, "mean_score"), "a", "b", subgroup=code, names=("s", "t"), n_resamples=400, rng=rng
    )
    assert found.p == pytest.approx(1 / 401)


def test_groups_of_several_sizes_are_units_against_scipy(rng: np.random.Generator) -> None:
    """80 groups of one to three items in two subgroups: a group's value is the mean plus its residual sum, scaled."""
    sizes = np.resize([1, 2, 3], 80)
    group, code = np.repeat(np.arange(80), sizes), np.repeat(np.arange(80) // 40, sizes)
    x = rng.normal(0.5, 0.2, (len(group), 2))
    found = subgroup_differences(outcomes(x, "mean_score", group=group), "a", "b", subgroup=code, names=("s", "t"))
    d, units = x[:, 1] - x[:, 0], []
    for k in (0, 1):
        mean, own = d[code == k].mean(), group[code == k]
        units.append([
            mean + (d[group == g] - mean).sum() * len(np.unique(own)) / len(own) for g in np.unique(own)
        ])  # fmt: skip
    assert found.p == pytest.approx(ttest_ind(*units, equal_var=False).pvalue, rel=1e-9)


def test_pooled_figures_against_quadrature() -> None:
    """Three figures with their errors; the spread is flat from 0 to three of the larger of 5 and the median error 4."""
    d, error = np.array([0.0, 5.0, 10.0]), np.array([3.0, 4.0, 6.0])
    pooled, spans, spread = _pool(d, error, 0.9)

    def posterior(tau: float) -> tuple[float, float, np.ndarray, np.ndarray]:
        v = error**2 + tau**2
        precision = float(np.sum(1 / v))
        centre = float(np.sum(d / v)) / precision
        density = float(np.prod(1 / np.sqrt(v)) / np.sqrt(precision) * np.exp(-np.sum((d - centre) ** 2 / v) / 2))
        keep = tau**2 / v
        mean, var = keep * d + (1 - keep) * centre, keep * error**2 + (1 - keep) ** 2 / precision
        return density, tau, mean, np.sqrt(var)

    def expect(value: object) -> float:
        top = quad(lambda t: posterior(t)[0] * value(*posterior(t)[1:]), 0, 15)[0]  # type: ignore[operator]
        return float(top / quad(lambda t: posterior(t)[0], 0, 15)[0])

    assert spread == pytest.approx(expect(lambda tau, mean, sd: tau), rel=1e-3)
    for k in range(3):
        assert pooled[k] == pytest.approx(expect(lambda tau, mean, sd, k=k: mean[k]), rel=1e-3)
        for end, share in ((spans[k].low, 0.05), (spans[k].high, 0.95)):
            below = expect(lambda tau, mean, sd, k=k, end=end: ndtr((end - mean[k]) / sd[k]))
            assert below == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize(("size", "left_out"), [(1, 1), (2, 0)])
def test_a_subgroup_of_two_units_is_told_and_of_one_left_out(size: int, left_out: int) -> None:
    x, code = board(np.random.default_rng(1), [0.0, 0.1, 0.2], 30)
    kept = np.arange(60 + size)
    found = subgroup_differences(outcomes(x[kept], "mean_score"), "a", "b", subgroup=code[kept], names=tuple("stu"))
    assert found.left_out == left_out
    assert [s.name for s in found.subgroups] == list("stu")[: 3 - left_out]
