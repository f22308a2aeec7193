"""Two conditions on different items: two independent means, the same verdicts, and nothing false said beside them."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from scipy.stats import beta, binom, norm, ttest_ind

from helpers.normal import ask
from helpers.outcomes import dataset_of, outcomes
from richter.audit import CompareReport, compare_tables
from richter.claims import Evidence, apart_evidence, decide, needed_units, p_value, unpaired_evidence
from richter.claims._unpaired import _score_of_rates, score_interval
from richter.records import Verdict
from richter.stats import wilson
from richter.stats._proportion import effective_size_of


def page(table: np.ndarray, **options: Any) -> CompareReport:
    return compare_tables(dataset_of(outcomes(table)), n_resamples=100, **options)


def apart(*columns: np.ndarray) -> np.ndarray:
    """Conditions one below the other: no item has two."""
    table = np.full((sum(map(len, columns)), len(columns)), np.nan)
    start = 0
    for k, column in enumerate(columns):
        table[start : start + len(column), k] = column
        start += len(column)
    return table


def rate(right: int, n: int) -> np.ndarray:
    return np.repeat([1.0, 0.0], [right, n - right])


def counted(right: int, n: int) -> Evidence:
    return Evidence(estimate=right / n, interval=lambda level: wilson(right, n, level=level), n=n, units=n)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"), [((48, 80), (56, 70), 0.0524, 0.3339), ((3, 10), (9, 10), 0.1705, 0.8090)]
)
def test_two_rates_against_the_published_intervals(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    """Newcombe (1998), table II, method 10: 56/70 - 48/80 and 9/10 - 3/10."""
    found = apart_evidence(counted(*first), counted(*second))
    interval = found.interval(0.95)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert found.sides == (first[1], second[1])


@pytest.mark.parametrize(
    ("first", "second", "low", "high"), [((48, 80), (56, 70), 0.0528, 0.3382), ((3, 10), (9, 10), 0.1700, 0.8406)]
)
def test_the_score_interval_against_the_published_intervals(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    """Newcombe (1998), table II, method 6 (Miettinen and Nurminen): 56/70 - 48/80 and 9/10 - 3/10."""
    interval = score_interval(first[0], second[0], first[1], second[1], level=0.95)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))


def test_the_restricted_rates_maximise_the_likelihood_against_scipy() -> None:
    """The score's variance at the maximum that a search over the first rate finds."""
    for i, j, n, m, value in ((48, 56, 80, 70, 0.1), (3, 9, 10, 10, -0.2), (1, 40, 30, 300, 0.05), (0, 4, 20, 30, 0.1)):

        def loss(one: float, i: int = i, j: int = j, n: int = n, m: int = m, value: float = value) -> float:
            return -float(binom.logpmf(i, n, one) + binom.logpmf(j, m, one + value))

        ends = (max(0.0, -value) + 1e-9, min(1.0, 1 - value) - 1e-9)
        one = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-11}).x
        two = one + value
        variance = (one * (1 - one) / n + two * (1 - two) / m) * (n + m) / (n + m - 1)
        expected = (j / m - i / n - value) / np.sqrt(variance)
        assert _score_of_rates(i, j, n, m, value) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("p", "q", "share"), [(0.5, 0.6, 1), (0.5, 0.7, 1), (0.8, 0.9, 2), (0.02, 0.07, 4)])
def test_the_items_that_are_needed_show_a_gap_of_rates_in_80_percent_by_hand(p: float, q: float, share: int) -> None:
    """All outcomes with their chances, at as many items, the higher rate on either side."""
    pilot = outcomes(apart(rate(round(1000 * p), 1000), rate(round(1000 * share * q), 1000 * share)))
    needed = needed_units(unpaired_evidence(pilot, "a", "b"), q - p, alpha=0.05)
    assert needed is not None
    powers = []
    least = round(needed / (1 + share))
    for n, m in ((least, needed - least), (needed - least, least)):
        i, j = np.arange(n + 1.0)[:, None], np.arange(m + 1.0)[None, :]
        shown = is_shown(i, j, n, m) & (j / m > i / n)
        powers.append(np.sum(shown * binom.pmf(i, n, p) * binom.pmf(j, m, q)))
    assert 0.8 <= min(powers) <= 0.82  # a step of counts moves it by up to two points


def is_shown(i: np.ndarray, j: np.ndarray, n: int, m: int) -> np.ndarray:
    """Whether i of n and j of m differ at 5%: the pooled score, or Newcombe's limits where it expects no event."""
    pooled, z = (i + j) / (n + m), norm.ppf(0.975)
    with np.errstate(invalid="ignore", divide="ignore"):
        score = (j / m - i / n) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m) * (n + m) / (n + m - 1))

    def limits(k: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        rate = k / size
        reach = z * np.sqrt(rate * (1 - rate) / size + z**2 / (4 * size**2))
        return tuple((rate + z**2 / (2 * size) + sign * reach) / (1 + z**2 / size) for sign in (-1, 1))  # type: ignore[return-value]

    (low_i, high_i), (low_j, high_j) = limits(i, n), limits(j, m)
    up = j / m - i / n > np.hypot(j / m - low_j, high_i - i / n)
    down = i / n - j / m > np.hypot(i / n - low_i, high_j - j / m)
    return np.where(min(n, m) * np.minimum(pooled, 1 - pooled) >= 1, np.abs(score) > z, up | down)


def test_rare_rates_in_groups_have_room_for_a_whole_group_recovers_truth() -> None:
    """40 groups of 50 on each side, log-odds of normal law, 0.1 and 2%: by groups seen alone a sixth lay above."""
    rng, group, above = np.random.default_rng(14), np.repeat(np.arange(80), 50), 0
    centre = np.repeat([-12.0, -7.2235], 40)  # the second's mean rate is 2%, the first's below 0.1%
    first = float(np.mean(expit(rng.normal(-12.0, 3, 400_000))))
    for _ in range(200):
        wrong = (rng.random(4000) < expit(rng.normal(centre, 3))[group]).astype(float)
        made = outcomes(apart(wrong[:2000], wrong[2000:]), "error_rate", group=group)
        above += unpaired_evidence(made, "a", "b").interval(0.9).high < 0.02 - first
    assert above / 200 <= 0.05


def test_a_difference_of_rates_by_hand() -> None:
    """0.8 - 0.6: the score interval; in requirements Clopper and Pearson's limits from beta quantiles."""
    made = outcomes(apart(rate(48, 80), rate(56, 70)))
    score = unpaired_evidence(made, "a", "b")
    assert (score.interval(0.95).low, score.interval(0.95).high) == pytest.approx((0.0528, 0.3382), abs=6e-5)
    assert p_value(score, score.interval(0.95).low) == pytest.approx(0.05)
    found = unpaired_evidence(made, "a", "b", exact=True)
    low_b, high_a = beta.ppf(0.025, 56, 15), beta.ppf(0.975, 49, 32)
    assert found.estimate == pytest.approx(0.2)
    assert found.interval(0.95).low == pytest.approx(0.2 - np.hypot(0.8 - low_b, high_a - 0.6))
    assert (found.n, found.units, found.values) == (150, 150, (0.6, 0.8))
    assert found.standard_error == pytest.approx(np.sqrt(0.8 * 0.2 / 70 + 0.6 * 0.4 / 80), rel=0.02)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("n", "m"), [(20, 20), (15, 80), (45, 45)])
def test_equal_rates_are_told_apart_in_about_five_per_cent_exactly(n: int, m: int, exact: bool) -> None:
    """Over all outcomes, at rates from 0.5% to 99.5%: at most 5.7%, and 5% in requirements."""
    shown = np.zeros((n + 1, m + 1), dtype=bool)
    for i, j in np.ndindex(shown.shape):
        made = outcomes(apart(rate(i, n), rate(j, m)))
        interval = unpaired_evidence(made, "a", "b", exact=exact).interval(0.95)
        shown[i, j] = interval.low > 0 or interval.high < 0
    assert shown[0, m]
    assert shown[n, 0]
    most = 0.05 if exact else 0.057
    for p in np.linspace(0.005, 0.995, 199):
        assert binom.pmf(np.arange(n + 1), n, p) @ shown @ binom.pmf(np.arange(m + 1), m, p) <= most


def test_scores_of_like_spread_are_near_welch_against_scipy(rng: np.random.Generator) -> None:
    a, b = rng.normal(0.5, 0.1, 200), rng.normal(0.55, 0.1, 150)
    found = unpaired_evidence(outcomes(apart(a, b), metric="mean_score"), "a", "b").interval(0.95)
    known = ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert found.low <= known.low
    assert found.high >= known.high
    assert found.high - found.low == pytest.approx(known.high - known.low, rel=0.03)


def test_groups_count_once(rng: np.random.Generator) -> None:
    """Ten equal rows of each of 40 users are worth 40 rows."""
    a, b = rng.random(40) < 0.5, rng.random(40) < 0.7
    alone = unpaired_evidence(outcomes(apart(a, b)), "a", "b").interval(0.95)
    rows = apart(np.repeat(a, 10), np.repeat(b, 10))
    group = np.repeat(np.arange(80), 10)
    found = unpaired_evidence(outcomes(rows, group=group), "a", "b")
    assert (found.unit, found.units, found.sides) == ("group", 80, (400, 400))
    together = found.interval(0.95)
    assert together.high - together.low == pytest.approx(alone.high - alone.low, rel=0.1)
    loose = unpaired_evidence(outcomes(rows), "a", "b").interval(0.95)
    assert loose.high - loose.low < 0.4 * (together.high - together.low)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(20, 20), (20, 200)])
def test_skewed_scores_of_equal_mean_are_told_apart_in_at_most_five_per_cent(
    rng: np.random.Generator, n: int, m: int
) -> None:
    """Student's t of each side would tell 7% apart at 20 and 200."""
    shown, times = 0, 2000
    for _ in range(times):
        found = unpaired_evidence(
            outcomes(apart(rng.beta(0.5, 4, n), rng.beta(0.5, 4, m)), metric="mean_score"), "a", "b"
        )
        interval = found.interval(0.95)
        shown += interval.low > 0 or interval.high < 0
    assert shown <= binom.ppf(0.999, times, 0.05)


def test_a_group_that_was_not_seen_has_room_beyond_no_difference_by_hand() -> None:
    """40 groups of 10 on each side, no error in the first and two in each of three groups of the second.

    The upper limit is the MOVER of the first's lower limit and of the second's upper one with room for a whole group;
    the lower one, which would show a difference, is that of what was seen.
    """
    second = np.zeros(400)
    second[[0, 1, 10, 11, 20, 21]] = 1.0
    made = outcomes(apart(np.zeros(400), second), "error_rate", group=np.arange(800) // 10)
    found = unpaired_evidence(made, "a", "b").interval(0.95)
    worth = effective_size_of(second, np.arange(400) // 10)
    own = wilson(worth.rate * worth.at(0.95), worth.at(0.95), level=0.95)
    beyond = worth.allow_unseen_unit(own, 0.975)[1]
    assert beyond > own.high + 1e-3
    gap = 6 / 400
    assert found.high == pytest.approx(gap + (beyond - gap))


def test_conditions_without_a_common_item_are_compared_and_nothing_false_is_said() -> None:
    found = page(apart(rate(60, 100), rate(90, 100)))
    (claim,) = found.of("accuracy")
    assert claim.verdict is Verdict.VERIFIED
    assert claim.estimate == pytest.approx(0.3)
    assert claim.apart
    assert "not paired" in claim.basis
    assert not found.refused
    assert claim.missing == {}  # each has items of its own, and lacks none
    assert not any("lacks" in note for note in (*claim.notes, *found.notes))
    assert any("no graded question in common" in note for note in claim.notes)
    assert found.groups == (("b",), ("a",))
    alike = page(apart(rate(60, 100), rate(61, 100)))
    assert alike.groups == (("b", "a"),)
    assert alike.claims[0].verdict is Verdict.UNDECIDED


def test_a_pair_that_was_refused_is_in_no_set() -> None:
    """a and b share 1 of 3 items: not compared, so neither alike nor told apart."""
    table = np.array([[1, 1, 1], [1, np.nan, 1], [np.nan, 0, 0]] * 20, dtype=float)
    found = page(table, conditions=("a", "b"))
    (claim,) = found.of("accuracy")
    assert (claim.verdict, claim.blocked_by, claim.override) == (Verdict.BLOCKED, "shared", "--min-shared")
    assert [r.conditions for r in found.refused] == [("a", "b")]
    assert found.groups == ()
    again = page(table, conditions=("a", "b"), unpaired=True)
    assert not again.refused
    assert again.claims[0].apart
    assert again.claims[0].n == 80


def test_a_condition_on_another_set_of_items_is_refused_beside_those_that_share_one() -> None:
    """a and b on one benchmark, c on another: harder or easier items are no difference of conditions."""
    table = np.vstack(
        [np.tile([[1.0, 0.0, np.nan], [1.0, 1.0, np.nan]], (30, 1)), apart(rate(0, 0), rate(0, 0), rate(5, 60))]
    )
    found = page(table)
    verdicts = {c.conditions: c.blocked_by for c in found.of("accuracy")}
    assert verdicts == {("a", "b"): None, ("a", "c"): "shared", ("b", "c"): "shared"}
    assert {r.conditions for r in found.refused} == {("a", "c"), ("b", "c")}
    assert not any("c" in members for members in found.groups)
    assert [c.blocked_by for c in page(table, unpaired=True).of("accuracy")] == [None] * 3


def test_unpaired_claims_are_in_the_family_by_hand() -> None:
    """Three pairs, one list: each alone at 5%, the smallest p of three at 5% / 3."""
    table = apart(rate(60, 100), rate(74, 100), rate(75, 100))
    (alone,) = decide([ask(unpaired_evidence(outcomes(table), "a", "c"), "accuracy")])
    claims = page(table).of("accuracy")
    assert alone.p is not None
    assert 0.05 / 3 < alone.p < 0.05
    assert alone.verdict is Verdict.VERIFIED
    assert {c.verdict for c in claims} == {Verdict.UNDECIDED}
    assert {c.family.size for c in claims if c.family is not None} == {3}
