import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest, norm, ttest_rel

from richter.floors import PairedCounts, clustered_test, maximal_sets, mcnemar, misaligned, published_gap, tango


def table(both: int, only_a: int, only_b: int, neither: int) -> PairedCounts:
    return PairedCounts(both=both, only_a=only_a, only_b=only_b, neither=neither)


# statsmodels 0.14.6: mcnemar([[both, only_a], [only_b, neither]], exact=True).pvalue
@pytest.mark.parametrize(
    ("counts", "p"),
    [
        (table(59, 6, 16, 80), 0.052478790283203125),
        (table(101, 121, 59, 33), 4.4344492637551645e-06),
        (table(10, 0, 3, 2), 0.25),
    ],
)
def test_mcnemar_against_statsmodels(counts: PairedCounts, p: float) -> None:
    assert mcnemar(counts).p == pytest.approx(p, rel=1e-10)


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=50, deadline=None)
def test_mcnemar_against_scipy(only_a: int, only_b: int) -> None:
    p = mcnemar(table(20, only_a, only_b, 20)).p
    expected = 1.0 if only_a + only_b == 0 else binomtest(only_a, only_a + only_b, 0.5).pvalue
    assert p == pytest.approx(expected, rel=1e-9)


def profile_score(counts: PairedCounts, delta: float) -> float:
    """The score statistic with the nuisance found by maximising the trinomial likelihood numerically."""
    n = counts.n

    def minus_log_likelihood(q: float) -> float:
        cells = (q, q + delta, 1 - 2 * q - delta)
        seen = (counts.only_a, counts.only_b, n - counts.only_a - counts.only_b)
        return -sum(k * math.log(p) for k, p in zip(seen, cells, strict=True) if k)

    low, high = max(0.0, -delta) + 1e-13, (1 - delta) / 2 - 1e-13
    q = float(minimize_scalar(minus_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x)
    return (counts.only_b - counts.only_a - n * delta) / math.sqrt(n * (2 * q + delta * (1 - delta)))


@pytest.mark.parametrize("counts", [table(43, 1, 9, 16), table(40, 12, 3, 5), table(5, 2, 2, 1), table(80, 0, 4, 16)])
def test_tango_solves_the_score_equation_by_hand(counts: PairedCounts) -> None:
    interval = tango(counts)
    z = norm.isf(0.025)
    assert profile_score(counts, interval.low) == pytest.approx(z, abs=2e-4)
    assert profile_score(counts, interval.high) == pytest.approx(-z, abs=2e-4)


def test_tango_with_no_discordance() -> None:
    interval = tango(table(50, 0, 0, 50))
    assert interval.low == pytest.approx(-interval.high)
    # Both limits solve n d / sqrt(n d (1 - d)) = z, i.e. d = z^2 / (n + z^2).
    z2 = norm.isf(0.025) ** 2
    assert interval.high == pytest.approx(z2 / (100 + z2), rel=1e-6)


@given(st.tuples(*[st.integers(0, 30)] * 4).filter(lambda c: sum(c) > 0))
@settings(max_examples=60, deadline=None)
def test_swapping_the_conditions_mirrors_everything(cells: tuple[int, int, int, int]) -> None:
    both, only_a, only_b, neither = cells
    one = mcnemar(table(both, only_a, only_b, neither), margin=0.05)
    other = mcnemar(table(both, only_b, only_a, neither), margin=0.05)
    assert one.delta == -other.delta
    assert one.p == other.p
    assert one.interval.low == pytest.approx(-other.interval.high, abs=1e-9)
    assert one.p_equivalence == pytest.approx(other.p_equivalence, abs=1e-9)
    assert one.interval.low <= one.delta <= one.interval.high


def test_tango_covers_truth_recovers_truth() -> None:
    # 60 items, P(only a) = 0.02, P(only b) = 0.12, exact coverage by summing over all tables
    n, q, delta = 60, 0.02, 0.10
    covered = 0.0
    from scipy.stats import multinomial

    for a in range(n + 1):
        for b in range(n + 1 - a):
            p = float(multinomial.pmf([a, b, n - a - b], n, [q, q + delta, 1 - 2 * q - delta]))
            if p > 1e-9:
                covered += p * (delta in tango(table(n - a - b, a, b, 0)))
    assert 0.935 < covered < 0.975  # a score interval oscillates about its level; Wald's covers 0.90 here


def test_clustered_with_groups_of_one_is_the_paired_t_against_scipy(rng: np.random.Generator) -> None:
    a, b = rng.random(80), rng.random(80) + 0.1
    test = clustered_test(b - a, np.arange(80), margin=0.3)
    expected = ttest_rel(b, a)
    assert test.p == pytest.approx(expected.pvalue, rel=1e-9)
    interval = expected.confidence_interval(0.95)
    assert (test.interval.low, test.interval.high) == pytest.approx((interval.low, interval.high))


def test_clusters_widen_the_interval(rng: np.random.Generator) -> None:
    groups = np.repeat(np.arange(40), 10)
    effect = rng.normal(size=40)[groups] + 0.1 * rng.normal(size=400)
    single = clustered_test(effect, np.arange(400))
    grouped = clustered_test(effect, groups)
    # Ten copies of each group: the standard error grows by about sqrt(10).
    assert grouped.interval.half_width / single.interval.half_width == pytest.approx(math.sqrt(10), rel=0.1)


def test_misaligned_items_are_seen(rng: np.random.Generator) -> None:
    difficulty = rng.normal(size=2000)
    a = (rng.normal(size=2000) + 1 > difficulty).astype(int)
    b = (rng.normal(size=2000) + 1 > difficulty).astype(int)

    def counts(x: np.ndarray, y: np.ndarray) -> PairedCounts:
        both = int(x @ y)
        return table(both, int(x.sum()) - both, int(y.sum()) - both, int(np.sum((1 - x) * (1 - y))))

    assert not misaligned(counts(a, b))
    assert misaligned(counts(a, np.roll(b, 1)))
    assert not misaligned(counts(a[:100], np.roll(b, 1)[:100]))  # too few to tell


def test_maximal_sets_are_never_chained() -> None:
    alike = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=bool)
    assert maximal_sets(alike) == [[0, 1], [1, 2], [3]]
    assert maximal_sets(np.ones((3, 3), dtype=bool)) == [[0, 1, 2]]
    assert maximal_sets(np.zeros((0, 0), dtype=bool)) == []


@given(st.integers(1, 8), st.integers(0, 2**28 - 1))
@settings(max_examples=60, deadline=None)
def test_maximal_sets_against_brute_force(number: int, bits: int) -> None:
    alike = np.zeros((number, number), dtype=bool)
    pairs = [(i, j) for i in range(number) for j in range(i)]
    for k, (i, j) in enumerate(pairs):
        alike[i, j] = alike[j, i] = bool(bits >> k & 1)
    sets = [
        {i for i in range(number) if mask >> i & 1}
        for mask in range(1, 2**number)
        if all(alike[i, j] for i in range(number) for j in range(i) if mask >> i & 1 and mask >> j & 1)
    ]
    expected = sorted(sorted(s) for s in sets if not any(s < other for other in sets))
    assert maximal_sets(alike) == expected


# statsmodels 0.14.6: confint_proportions_2indep(12132, 14042, 12188, 14042, method="newcomb", compare="diff") and
# proportions_ztest([12132, 12188], [14042, 14042]); its difference is first minus second.
def test_published_gap_against_statsmodels() -> None:
    result = published_gap(12132 / 14042, 12188 / 14042, 14_042, names=("GPT-4", "Claude 3 Opus"))
    assert result.interval.low == pytest.approx(-0.003981994638489311, abs=1e-9)
    assert result.interval.high == pytest.approx(0.011958303000300137, abs=1e-9)
    assert result.p == pytest.approx(0.3266574494811486, rel=1e-9)
    assert result.verdict == "undecided"
    assert "Claude 3 Opus scores 0.4 points higher than GPT-4" in result.sentence


def test_published_gap_sentence_follows_the_sign() -> None:
    worse = published_gap(0.9, 0.7, 1000)
    assert worse.gap < 0
    assert worse.sentence.startswith("A scores higher than B")
    assert published_gap(0.7, 0.9, 1000).sentence.startswith("B scores higher than A")
