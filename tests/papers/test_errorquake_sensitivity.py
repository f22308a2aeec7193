from pathlib import Path

import numpy as np
import polars as pl
import pytest

from errorquake_mechanisms import couple, mechanisms_by_severity, mechanisms_by_size, severity_band, size_class
from errorquake_prediction import conditional_information, resolution_bound
from errorquake_robustness import coarsen_scale, correct_overcalls, subsample_stability, vary_m_min
from errorquake_scores import Scores
from richter.audit._severity_labels import mechanisms_named
from richter.errors import InputError, TooFewErrors
from richter.records import Rating
from richter.severity import PAPER, Recipe
from severity.studies_by_hand import simulated_scores


def test_coarsening_keeps_b_where_the_law_holds(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.2, 0.6, 1.2], n=20_000)
    five = coarsen_scale(scores, 5)
    assert five.spearman == pytest.approx(1.0)
    with pytest.raises(InputError, match="9 levels"):
        coarsen_scale(scores, 9)


def test_coarsening_to_five_by_hand(rng: np.random.Generator) -> None:
    # 0.5 and 1.0 and 1.5 go to 1, 2.0 and 2.5 to 2, 3.0 and 3.5 to 3, 4.0 to 4 (halves down, never to correct)
    scores = simulated_scores(rng, [0.5, 0.6, 0.7], n=3000)
    found = coarsen_scale(scores, 5, recipe=Recipe(estimator="aki", min_bins=1))
    counts = np.array([np.sum(scores.severity[:, 0] == s) for s in np.arange(1, 9) / 2])
    merged = np.array([counts[:3].sum(), counts[3:5].sum(), counts[5:7].sum(), counts[7]])
    options = []
    for start in range(3):
        n, total = merged[start:].sum(), merged[start:] @ np.arange(4 - start)
        options.append(np.log10(np.e) / (total / n + 0.5))  # a step of one
    assert min(abs(found.b["m0"] - b) for b in options) < 1e-12


def test_the_papers_way_of_joining_levels_by_hand(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.5, 0.6, 0.7], n=3000)
    x = scores.severity[:, 0]
    seven, five = (coarsen_scale(scores, n, as_paper=True, recipe=PAPER).b["m0"] for n in (7, 5))

    def aki(values: np.ndarray) -> list[float]:  # at every m_min; one of them is the KS choice
        return [
            np.log10(np.e) / (values[values >= m].mean() - m + 0.25) for m in np.arange(1, 8) / 2 if (values >= m).any()
        ]

    assert min(abs(seven - b) for b in aki(np.minimum(x, 3.0))) < 1e-12
    assert min(abs(five - b) for b in aki(np.ceil(x))) < 1e-12
    with pytest.raises(InputError, match="of the paper"):
        coarsen_scale(scores, 6, as_paper=True)


@pytest.mark.real_data
def test_s1_and_s2_against_paper(shared_data: Path, rng: np.random.Generator) -> None:
    """Section 4.6: 0.43 and 0.16; 0.847. The two conditions that the paper left out are left out."""
    frame = pl.read_csv(shared_data / "errorquake_4k_judge_scores.csv")
    frame = frame.filter(~pl.col("condition").is_in(["phi-4-mini-flash-reasoning", "llama-3.1-70b-instruct"]))
    wide = frame.pivot(on="condition", index="item", values="severity")
    names = [c for c in wide.columns if c != "item"]
    scores = Scores(items=tuple(wide["item"]), conditions=tuple(names), severity=wide.select(names).to_numpy())
    seven, five = (coarsen_scale(scores, n, as_paper=True, recipe=PAPER).spearman for n in (7, 5))
    assert (seven, five) == (pytest.approx(0.43, abs=0.006), pytest.approx(0.16, abs=0.006))
    told = [correct_overcalls(scores, overcall_rate=r, as_paper=True, recipe=PAPER, rng=rng) for r in (0.33, 0.335)]
    assert told[0].mean_spearman == pytest.approx(0.847, abs=5e-4)
    assert told[0].low == told[0].high  # its 50 trials are one
    assert told[1].stable
    assert not told[0].stable


def test_overcalls_taken_back(rng: np.random.Generator) -> None:
    scores = simulated_scores(rng, [0.3, 0.6, 0.9, 1.2], n=6000)
    found = correct_overcalls(scores, n_trials=10, rng=rng)
    assert found.low <= found.mean_spearman <= found.high
    assert correct_overcalls(scores, overcall_rate=0.0, n_trials=3, rng=rng).mean_spearman == pytest.approx(1.0)
    with pytest.raises(InputError, match="overcall rate"):
        correct_overcalls(scores, overcall_rate=2, rng=rng)


def test_subsampling_shrinks_with_n(rng: np.random.Generator) -> None:
    small = subsample_stability(simulated_scores(rng, [0.6], n=1000), recipe=Recipe(m_min=0.5), rng=rng)
    large = subsample_stability(simulated_scores(rng, [0.6], n=16_000), recipe=Recipe(m_min=0.5), rng=rng)
    # four times smaller in theory; 100 trials know a standard deviation to 7%
    assert small.median / large.median == pytest.approx(4, rel=0.5)


def test_bands_and_sizes_by_hand() -> None:
    assert [severity_band(s) for s in (0, 0.5, 1.0, 1.5, 2.0, 2.5, 4.0)] == [
        "",
        "low",
        "low",
        "mid",
        "mid",
        "high",
        "high",
    ]
    assert [size_class(p) for p in (3e9, 9, 12e9, 24, 671e9)] == ["small", "small", "medium", "large", "large"]


def test_coupling_against_scipy(rng: np.random.Generator) -> None:
    from scipy.stats import chi2_contingency

    kinds = rng.choice(["retrieval", "fabrication", "reasoning"], size=600)
    groups = np.where(rng.random(600) < 0.5, "a", "b")
    found = couple(list(kinds), list(groups), rng=rng)
    expected = chi2_contingency(np.array(found.counts), correction=False)
    assert (found.chi_square, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.method == "chi-square"


def test_small_cells_use_tables_with_the_same_margins(rng: np.random.Generator) -> None:
    from scipy.stats import fisher_exact

    mechanism = ["x"] * 8 + ["y"] * 2 + ["x"] * 1 + ["y"] * 5
    group = ["low"] * 10 + ["high"] * 6
    found = couple(mechanism, group, n_resamples=20_000, rng=rng)
    assert found.method == "tables with the same margins"
    # in a 2 x 2 table both tests order tables alike here; Monte-Carlo error of 20,000 draws is 0.0011
    exact = fisher_exact([[8, 2], [1, 5]]).pvalue
    assert found.p == pytest.approx(exact, abs=5 * 0.0011)


def test_the_mechanism_of_an_answer_is_that_of_most_raters_by_hand() -> None:
    def rated(item: str, rater: str, mechanism: str, severity: float, draw: int = 0) -> Rating:
        return Rating(
            item=item, condition="c", rater=rater, kind="human", severity=severity, mechanism=mechanism, draw=draw
        )

    ratings = [rated("1", "a", "x", 1.0), rated("1", "b", "x", 2.0), rated("1", "c", "y", 3.0)]
    ratings += [rated("2", "a", "x", 1.0), rated("2", "b", "y", 1.0)]  # a tie
    ratings += [rated("1", "a", "y", 4.0, draw=1), rated("1", "b", "y", 4.0, draw=1)]  # another answer to it
    ratings += [rated("3", "a", "x", 0.0)]  # right
    assert mechanisms_named(ratings, "human") == {("1", "c"): ("x", 2.0), ("2", "c"): ("", 1.0)}
    assert mechanisms_named(ratings, None) == {}


def test_mechanisms_by_severity_and_size(rng: np.random.Generator) -> None:
    severity = np.repeat([0.5, 2.0, 3.5], 50)
    mechanism = (
        ["retrieval"] * 45 + ["fabrication"] * 5 + ["retrieval"] * 25 + ["fabrication"] * 25 + ["fabrication"] * 50
    )
    found = mechanisms_by_severity(mechanism, severity, rng=rng)
    assert found.groups == ("low", "mid", "high")
    assert found.shares[0][found.mechanisms.index("retrieval")] == pytest.approx(0.9)
    assert found.p < 1e-9
    assert 0.6 < found.cramers_v < 1
    sized = mechanisms_by_size(mechanism, ["s"] * 75 + ["l"] * 75, {"s": 3e9, "l": 30e9}, rng=rng)
    assert sized.groups == ("small", "large")
    with pytest.raises(TooFewErrors, match="cannot be coupled"):
        couple(["x", "x"], ["a", "b"], rng=rng)


def test_unrelated_tables_have_no_v(rng: np.random.Generator) -> None:
    v = [
        couple(list(rng.choice(["x", "y", "z"], 200)), list(rng.choice(["a", "b", "c"], 200)), rng=rng).cramers_v
        for _ in range(50)
    ]
    assert np.mean(v) < 0.06  # uncorrected it averages 0.1


def test_information_by_hand(rng: np.random.Generator) -> None:
    # two bins of the error rate with 4 and 2 conditions; b takes 2 equal bins in the first, 1 in the second
    rate = np.array([0.1, 0.1, 0.1, 0.1, 0.9, 0.9])
    b = np.array([0.2, 0.2, 0.8, 0.8, 0.8, 0.8])
    found = conditional_information(b, rate, np.full(6, 1e-6), n_bins=2, rng=rng)
    assert found.bits == pytest.approx(4 / 6)
    assert found.r_squared == pytest.approx(np.corrcoef(b, rate)[0, 1] ** 2)


@pytest.mark.slow
def test_noise_alone_carries_information(rng: np.random.Generator) -> None:
    # 21 identical models with the paper's median SE of 0.064: the plug-in bits are the noise's
    p = [
        conditional_information(
            rng.normal(0.9, 0.064, 21), rng.uniform(0.2, 0.7, 21), np.full(21, 0.064), n_resamples=200, rng=rng
        )
        for _ in range(40)
    ]
    assert np.mean([x.bits for x in p]) > 1.0
    assert np.mean([x.bits for x in p]) == pytest.approx(np.mean([x.noise_bits for x in p]), abs=0.1)


def test_resolution_against_paper() -> None:
    # proposition 2: a median SE of 0.064 gives 0.253, which is 3.96 SE and not 2.80 SE
    found = resolution_bound([0.57, 0.9, 1.31], [0.064] * 3, [100, 200, 300])
    assert found.minimum_detectable == pytest.approx(0.253, abs=5e-4)
    assert found.observed_range == pytest.approx(0.74)
    half = resolution_bound([0.57, 0.9, 1.31], [0.064] * 3, [100, 200, 300], reliability=0.25)
    assert half.minimum_detectable == pytest.approx(2 * found.minimum_detectable)


def test_m_min_strategies_side_by_side(rng: np.random.Generator) -> None:
    found = vary_m_min(simulated_scores(rng, [0.2, 0.6, 1.2], n=8000))
    assert found.spearman_with_ks == pytest.approx({"1.5": 1.0, "clauset": 1.0})
    assert found.b["m0"]["clauset"] == pytest.approx(0.2, abs=0.05)
