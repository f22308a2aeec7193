"""Agreement against Shrout and Fleiss' worked example, other libraries, and tables with known truth."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from helpers.trials import fewest_hits, most_hits, n_trials
from richter.errors import InputError, TooFewErrors
from richter.stats import (
    fleiss_kappa,
    icc,
    krippendorff_alpha,
    leave_one_judge_out,
    leniency,
    missingness,
    overcall_rate,
    screen,
    weighted_kappa,
)

ORACLE = json.loads((Path(__file__).parent / "oracle_agreement.json").read_text())

# Shrout and Fleiss (1979), table 2: six targets by four judges.
SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])


def random_table(seed: int, n: int, k: int) -> NDArray[np.float64]:
    """The same tables as oracle_agreement.py makes."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(2.0, 1.2, size=(n, 1))
    seen = shared + rng.normal(0, 0.8, size=(n, k)) + rng.normal(0, 0.3, size=(1, k))
    return np.clip(np.round(seen * 2) / 2, 0, 4)


def test_icc_against_paper() -> None:
    result = icc(SHROUT_FLEISS)
    # Table 3: between 11.24, between judges 32.49, residual 1.02; table 4: .29 and .62.
    assert result.mean_square_items == pytest.approx(11.24, abs=0.005)
    assert result.mean_square_raters == pytest.approx(32.49, abs=0.005)
    assert result.mean_square_error == pytest.approx(1.02, abs=0.005)
    assert result.single == pytest.approx(0.29, abs=0.005)
    assert result.average == pytest.approx(0.62, abs=0.005)


@pytest.mark.parametrize("row", ORACLE, ids=lambda row: f"{row['n']}x{row['k']}")
def test_icc_against_pingouin(row: dict) -> None:
    result = icc(random_table(row["seed"], row["n"], row["k"]))
    for name in ("single", "average"):
        assert getattr(result, name) == pytest.approx(row[name], abs=1e-6)
        interval = getattr(result, f"{name}_interval")
        assert [interval.low, interval.high] == pytest.approx(row[f"{name}_interval"], abs=1e-6)


@pytest.mark.parametrize("row", ORACLE, ids=lambda row: f"{row['n']}x{row['k']}")
@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_weighted_kappa_against_statsmodels(row: dict, weights: str) -> None:
    table = random_table(row["seed"], row["n"], row["k"])
    result = weighted_kappa(table[:, 0], table[:, 1], weights=weights)
    assert [result.estimate, result.standard_error] == pytest.approx(row[f"kappa_{weights}"], abs=1e-6)


@pytest.mark.parametrize("row", ORACLE, ids=lambda row: f"{row['n']}x{row['k']}")
def test_fleiss_kappa_against_statsmodels(row: dict) -> None:
    assert fleiss_kappa(random_table(row["seed"], row["n"], row["k"])).estimate == pytest.approx(
        row["fleiss"], abs=1e-6
    )


@pytest.mark.parametrize("row", ORACLE, ids=lambda row: f"{row['n']}x{row['k']}")
@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_alpha_against_krippendorff_package(row: dict, metric: str) -> None:
    table = random_table(row["seed"], row["n"], row["k"])
    found = krippendorff_alpha(table, metric=metric, n_resamples=200).estimate
    assert found == pytest.approx(row[f"alpha_{metric}"], abs=1e-6)
    table[np.random.default_rng(row["seed"] + 100).random(table.shape) < 0.2] = np.nan
    found = krippendorff_alpha(table, metric=metric, n_resamples=200).estimate
    assert found == pytest.approx(row[f"alpha_{metric}_holes"], abs=1e-6)


def test_fleiss_kappa_by_hand() -> None:
    # Three raters, four items: aaa, aab, bbb, abb. P = 1, 1/3, 1, 1/3; both categories half: p_e = 1/2.
    result = fleiss_kappa([[0, 0, 0], [0, 0, 1], [1, 1, 1], [0, 1, 1]])
    assert result.observed == pytest.approx(2 / 3)
    assert result.expected == pytest.approx(1 / 2)
    assert result.estimate == pytest.approx(1 / 3)


def test_weighted_kappa_by_hand() -> None:
    # Levels 0, 1, 2; pairs (0,0) (1,1) (2,2) (0,2): observed disagreement (linear, of range 2) 1/4.
    # Rows 1/2 1/4 1/4, columns 1/4 1/4 1/2: chance = 1/8*0.5 + 1/4*1 + 1/16*.5 + 1/8*.5 + 1/16*1 + 1/16*.5 = 0.5.
    result = weighted_kappa([0, 1, 2, 0], [0, 1, 2, 2], weights="linear")
    assert result.observed == pytest.approx(0.75)
    assert result.estimate == pytest.approx(1 - 0.25 / (1 - result.expected))
    assert result.expected == pytest.approx(0.5)


def test_fleiss_interval_agrees_with_the_bootstrap(rng: np.random.Generator) -> None:
    table = random_table(7, 400, 3)
    levels = np.unique(table)
    counts = (table[:, :, None] == levels).sum(axis=1).astype(float)
    agree = ((counts**2).sum(axis=1) - 3) / 6

    def statistic(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        share = weights @ counts / (3 * weights.sum(axis=1, keepdims=True))
        chance = (share**2).sum(axis=1)
        return (weights @ agree / weights.sum(axis=1) - chance) / (1 - chance)

    drawn = statistic(rng.multinomial(400, np.full(400, 1 / 400), size=4000).astype(float))
    result = fleiss_kappa(table)
    assert result.estimate == pytest.approx(statistic(np.ones((1, 400)))[0])
    # A standard error from 4,000 resamples has a relative Monte-Carlo error of 1 / sqrt(8000) = 1.1%; four of them,
    # and O(1/n) between the two formulas.
    assert result.standard_error == pytest.approx(drawn.std(ddof=1), rel=0.05)


@pytest.mark.slow
def test_intervals_recover_truth(rng: np.random.Generator) -> None:
    """ICC of normal ratings with variances 1, 0.2, 0.8: ICC(2,1) = 0.5; alpha (interval metric) tends to the same."""
    runs, covered_icc, covered_average = 2000, 0, 0
    for _ in range(runs):
        table = rng.normal(size=(60, 1)) + rng.normal(0, 0.2**0.5, size=(1, 4)) + rng.normal(0, 0.8**0.5, size=(60, 4))
        result = icc(table)
        covered_icc += 0.5 in result.single_interval
        covered_average += 0.8 in result.average_interval
    # Binomial error at 0.95 and 2,000 runs is 0.005; Satterthwaite's approximation is within a point of nominal here.
    assert 0.93 < covered_icc / runs < 0.97
    assert covered_average == covered_icc  # Spearman-Brown is monotone


@pytest.mark.slow
def test_alpha_interval_covers(rng: np.random.Generator) -> None:
    """Percentile bootstrap over items, truth from one table of 400,000 items by the same law."""

    def draw(n: int) -> NDArray[np.float64]:
        seen = rng.normal(1.2, 1.2, size=(n, 1)) + rng.normal(0, 0.9, size=(n, 3))
        return np.clip(np.round(seen * 2) / 2, 0, 4)

    truth = krippendorff_alpha(draw(400_000), n_resamples=2).estimate
    runs = n_trials(600)
    hits = sum(truth in krippendorff_alpha(draw(200), n_resamples=500, rng=rng).interval for _ in range(runs))
    # the known percentile shortfall at n = 200 is of about 1%
    assert fewest_hits(runs, 0.935) <= hits <= most_hits(runs, 0.955)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_agreement_ignores_order_of_items_and_raters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.round(rng.uniform(0, 8, size=(12, 3))) / 2
    moved = table[rng.permutation(12)][:, rng.permutation(3)]
    assert icc(moved).single == pytest.approx(icc(table).single)
    assert fleiss_kappa(moved).estimate == pytest.approx(fleiss_kappa(table).estimate)
    before, after = (krippendorff_alpha(t, n_resamples=50).estimate for t in (table, moved))
    assert after == pytest.approx(before)


def test_perfect_agreement() -> None:
    table = np.repeat(np.array([[0.0], [1.0], [2.5]]), 3, axis=1)
    result = icc(table)
    assert (result.single, result.single_interval.low) == (1.0, 1.0)
    assert fleiss_kappa(table).estimate == 1.0
    alpha = krippendorff_alpha(table, n_resamples=500)
    assert alpha.estimate == 1.0
    assert alpha.interval is None  # 1 resample in 9 draws one item only, where alpha does not exist


def test_icc_counts_a_constant_shift_as_disagreement() -> None:
    base = np.array([0.0, 1.0, 2.0, 3.0])
    result = icc(np.column_stack([base, base + 1]))
    # BMS = 2 var = 10/3, JMS = 2, EMS = 0: (10/3) / (10/3 + 2 * 2 / 4)
    assert result.single == pytest.approx((10 / 3) / (10 / 3 + 1))
    assert result.single_interval.low < result.single


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        ([[1.0], [2.0]], TooFewErrors, "two raters"),
        ([[2.0, 2.0], [2.0, 2.0]], InputError, "every rating is 2"),
        ([[1.0, np.nan], [2.0, 2.0]], InputError, "lack a rating"),
        ([1.0, 2.0], InputError, "items x raters"),
        ([[1.0, np.inf], [2.0, 2.0]], InputError, "infinite"),
    ],
)
def test_icc_refuses(table: list, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        icc(table)


def test_alpha_refuses_what_has_no_alpha() -> None:
    with pytest.raises(InputError, match="undefined"):
        krippendorff_alpha([[1.0, 1.0, np.nan], [1.0, np.nan, 1.0], [np.nan, np.nan, 2.0]])
    with pytest.raises(InputError, match="distinct values"):
        krippendorff_alpha(np.random.default_rng(0).normal(size=(300, 2)))
    with pytest.raises(InputError, match="metric"):
        krippendorff_alpha([[1, 2], [2, 1]], metric="ratio")  # type: ignore[arg-type]


def test_screening_by_hand() -> None:
    judge = [2.0, 2.0, 2.0, 0.0, 3.0, 0.5]
    human = [0.0, 0.5, 2.0, 2.5, 3.0, 0.0]
    overcall = overcall_rate(judge, human)
    assert (overcall.k, overcall.n) == (2, 3)
    at_two = screen(judge, human, thresholds=[2.0, 4.0]).rows[0]
    assert (at_two.sensitivity.k, at_two.sensitivity.n) == (2, 3)  # 2.0, 2.5, 3.0 hold; 2.5 is missed
    assert (at_two.ppv.k, at_two.ppv.n) == (2, 4)
    at_four = screen(judge, human, thresholds=[2.0, 4.0]).rows[1]
    assert at_four.sensitivity.estimate is None  # nothing to catch: undefined, not 0 or 1
    assert overcall_rate([1.0, 1.0], [0.0, 1.0]).estimate is None


def test_leniency_recovers_truth(rng: np.random.Generator) -> None:
    """Round-robin cells, and the harsh judge is dealt the easy items: raw means mislead, within-item effects do not."""
    n, true = 3000, np.array([0.4, -0.1, -0.3])
    item = rng.normal(2, 1, size=n)
    table = item[:, None] + true + rng.normal(0, 0.5, size=(n, 3))
    drop = np.where(item > 2, rng.choice([0, 0, 0, 1, 2], size=n), rng.choice([1, 2], size=n))
    table[np.arange(n), drop] = np.nan
    result = leniency(table)
    assert result.effects[0].mean < result.effects[1].mean  # the trap
    for effect, truth in zip(result.effects, true, strict=True):
        assert effect.estimate == pytest.approx(truth, abs=4 * effect.standard_error)
        assert effect.standard_error < 0.03
    assert result.wald_p < 1e-10


@pytest.mark.slow
def test_leniency_size(rng: np.random.Generator) -> None:
    """The joint test keeps its level when judges differ in noise but not in leniency."""
    runs = n_trials(1000)
    rejected = 0
    for _ in range(runs):
        table = rng.normal(size=(150, 1)) + rng.normal(size=(150, 3)) * np.array([0.3, 0.6, 1.0])
        table[np.arange(150), rng.integers(0, 3, 150)] = np.nan
        rejected += leniency(table).wald_p < 0.05
    assert fewest_hits(runs, 0.05) <= rejected <= most_hits(runs, 0.05)


@pytest.mark.parametrize("judges", [2, 3, 4, 7])
def test_leniency_of_complete_tables_by_hand(judges: int, rng: np.random.Generator) -> None:
    """Where all judges score all items, effects are differences of means, and errors those of differences by item.

    The equations have no unique solution. Rounding hid that for some sizes (80 items, 3 judges): errors were NaN.
    """
    for items in range(10, 200, 5):
        table = rng.integers(0, 9, (items, 1)) / 2 + rng.choice([-0.5, 0.0, 0.5], (items, judges))
        from_mean = table - table.mean(axis=1, keepdims=True)
        expected = from_mean.std(axis=0, ddof=1) / np.sqrt(items)
        effects = leniency(table).effects
        assert [e.estimate for e in effects] == pytest.approx(from_mean.mean(axis=0), abs=1e-9)
        assert [e.standard_error for e in effects] == pytest.approx(expected, abs=1e-9)


def test_leniency_refuses_unlinked_judges() -> None:
    table = np.full((8, 4), np.nan)
    table[:4, :2], table[4:, 2:] = np.arange(8).reshape(4, 2), np.arange(8).reshape(4, 2)
    with pytest.raises(TooFewErrors, match="share no item"):
        leniency(table)


def test_leave_one_judge_out_by_hand() -> None:
    table = np.array([[0.0, 1.0, np.nan], [2.0, 2.0, 2.0], [np.nan, np.nan, 3.0]])
    without_first, _, without_third = leave_one_judge_out(table)
    assert (without_first.mean_severity, without_first.n_items) == ((1 + 2 + 3) / 3, 3)
    assert without_first.mean_change == pytest.approx(2 - (0.5 + 2 + 3) / 3)
    assert (without_third.n_items, without_third.n_lost) == (2, 1)


def test_missingness_against_scipy(rng: np.random.Generator) -> None:
    from scipy.stats import fisher_exact

    result = missingness([9, 2], [40, 40], rng=rng)
    exact = fisher_exact([[9, 31], [2, 38]]).pvalue
    assert result.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9999) + 1e-4)
    assert missingness([0, 0], [5, 5]).p_value == 1.0
    with pytest.raises(InputError):
        missingness([6, 0], [5, 5])


# --- real ratings ----------------------------------------------------------------------------------------------------


def segment_scores(shared_data: Path, *, worst: bool, cap: float = 25.0) -> NDArray[np.float64]:
    """Google's three raters per segment: the sum of weights (Minor 1, Major 5), or the worst severity."""
    frame = pl.read_csv(shared_data / "mqm_ende_3raters.tsv", separator="\t", quote_char=None)
    frame = frame.filter(pl.col("severity") != "HOTW-test")
    weight = pl.col("severity").replace_strict({"No-error": 0.0, "Minor": 1.0, "Major": 5.0})
    score = weight.max() if worst else weight.sum().clip(upper_bound=cap)
    segments = frame.group_by("system", "globalSegId", "rater").agg(score.alias("score"))
    rows = (
        segments.group_by("system", "globalSegId").agg(pl.col("score").sort_by("rater")).sort("system", "globalSegId")
    )
    return np.array(rows["score"].to_list())  # a ragged list would raise: every segment has exactly three raters


@pytest.mark.real_data
def test_mqm_raters(shared_data: Path) -> None:
    for worst in (False, True):
        table = segment_scores(shared_data, worst=worst)
        assert table.shape[1] == 3
        reliability, fleiss, alpha = icc(table), fleiss_kappa(table), krippendorff_alpha(table)
        # Three raters who mark what they see agree somewhat and not fully: every measure lies inside (0, 0.9), every
        # interval holds its point, and the average of three is more reliable than one.
        assert 0 < reliability.single < reliability.average < 0.9
        assert reliability.single in reliability.single_interval
        assert fleiss.estimate in fleiss.interval
        assert alpha.estimate in alpha.interval
        # The interval-metric alpha and ICC(2,1) estimate the same ratio; they differ by O(1/n) and rater bias, which
        # alpha also counts.
        assert krippendorff_alpha(table, metric="interval", n_resamples=10).estimate == pytest.approx(
            reliability.single, abs=0.05
        )


@pytest.mark.real_data
def test_biomqm_twice_rated(shared_data: Path) -> None:
    frame = pl.read_csv(shared_data / "biomqm_de2en.tsv", separator="\t", quote_char=None)
    weight = pl.col("severity").replace_strict(
        {"No-error": 0.0, "Neutral": 0.0, "Minor": 1.0, "Major": 5.0, "Critical": 25.0}
    )
    scores = frame.group_by("system", "doc", "seg", "annotator").agg(weight.max().alias("worst"))
    pairs = scores.group_by("system", "doc", "seg").agg(pl.col("worst").sort_by("annotator"))
    table = np.array([r for r in pairs["worst"].to_list() if len(r) == 2])
    assert len(table) == 884
    kappa = weighted_kappa(table[:, 0], table[:, 1], weights="linear")
    assert kappa.estimate in kappa.interval
    assert 0 < kappa.estimate < 1


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_of_weighted_items_against_sklearn(weights: str) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(4)
    first = rng.integers(0, 5, 80)
    second = np.clip(first + rng.integers(-1, 2, 80), 0, 4)
    worth = rng.uniform(0.2, 9.0, 80)
    found = weighted_kappa(first, second, weights=weights, item_weight=worth)  # type: ignore[arg-type]
    named = None if weights == "none" else weights
    wanted = metrics.cohen_kappa_score(first, second, weights=named, sample_weight=worth)
    assert found.estimate == pytest.approx(wanted, abs=1e-12)


def test_kappa_of_weighted_items_by_hand() -> None:
    """Both right 30 of 40 answers, one of ten where they differ: drawn 3 of 30 and all 10.

    Weighted: p_yes-yes 30/40, the rest 10/40. p_o = 30/40 + 4/40 (both no), rows yes 33/40, columns yes 33/40.
    """
    first = np.array([1, 1, 1, *[0] * 4, *[1] * 3, *[0] * 3])
    second = np.array([1, 1, 1, *[0] * 4, *[0] * 3, *[1] * 3])
    worth = [10.0] * 3 + [1.0] * 10
    observed, expected = 34 / 40, (33 / 40) ** 2 + (7 / 40) ** 2
    kappa = (observed - expected) / (1 - expected)
    for found in (
        weighted_kappa(first, second, weights="none", item_weight=worth),
        fleiss_kappa(np.column_stack([first, second]), item_weight=worth),  # both use "yes" as often: the same kappa
    ):
        assert found.estimate == pytest.approx(kappa)
        assert found.observed == pytest.approx(observed)
    assert weighted_kappa(first, second, weights="none").estimate < 0.1  # of the drawn ones: 7 of 13 agree
    with pytest.raises(InputError, match="Item weights"):
        weighted_kappa(first, second, item_weight=worth[:-1])
    with pytest.raises(InputError, match="Item weights"):
        fleiss_kappa(np.column_stack([first, second]), item_weight=[0.0] * 13)


def test_equal_item_weights_change_nothing() -> None:
    rng = np.random.default_rng(5)
    table = rng.integers(0, 4, (60, 2))
    plain, same = (weighted_kappa(*table.T, item_weight=w) for w in (None, np.full(60, 7.0)))
    assert (plain.estimate, plain.standard_error) == pytest.approx((same.estimate, same.standard_error))
    plain, same = (fleiss_kappa(table, item_weight=w) for w in (None, np.full(60, 7.0)))
    assert (plain.estimate, plain.standard_error) == pytest.approx((same.estimate, same.standard_error))


def test_intervals_of_kappa_of_items_drawn_unequally_recover_truth() -> None:
    """Of 20,000 answers the rare severe ones are drawn twenty times as often: cover of the kappa of all."""
    rng = np.random.default_rng(6)
    severe = rng.random(20_000) < 0.05
    truth = np.where(severe, rng.integers(2, 5, 20_000), rng.integers(0, 2, 20_000))
    first, second = (np.clip(truth + rng.integers(-1, 2, 20_000) * (rng.random(20_000) < 0.5), 0, 4) for _ in range(2))
    of_all = weighted_kappa(first, second).estimate
    chance = np.where(severe, 0.2, 0.01)
    hits = [0, 0]
    for _ in range(300):
        drawn = rng.random(20_000) < chance
        for k, worth in enumerate((1 / chance[drawn], None)):
            hits[k] += of_all in weighted_kappa(first[drawn], second[drawn], item_weight=worth).interval
    assert hits[0] / 300 > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300)
    assert hits[1] / 300 < 0.2  # of the drawn answers, which agree far better
