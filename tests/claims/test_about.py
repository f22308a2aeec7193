"""Calibration and the severity of errors, about these very items and about such runs."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import richter
from helpers.outcomes import outcomes
from richter.claims import difference_evidence, ece_difference, ece_side, mean_evidence
from richter.records import Verdict
from richter.severity import severity_given_error
from richter.stats import bin_gaps
from richter.tables import ReadOptions


def test_only_draws_vary_by_hand(rng: np.random.Generator) -> None:
    """Two bins, three items of four draws: the covariance of the gaps is the sum over items of that of a mean."""
    confidence, correct = rng.random((3, 4)), rng.integers(0, 2, (3, 4)).astype(float)
    found = bin_gaps(confidence.ravel(), correct.ravel(), bins=2, within=np.repeat(np.arange(3), 4))
    x = (confidence - correct)[:, :, None] * (np.floor(2 * confidence)[:, :, None] == [0, 1])
    expected = sum(np.cov(x[i].T) / 4 for i in range(3)) / 9
    between = found.correlation[0, 1] * found.standard_error[0] * found.standard_error[1]
    assert between == pytest.approx(expected[0, 1])
    assert (found.standard_error**2 >= np.diag(expected) - 1e-12).all()  # Agresti and Coull add to it


def test_a_draw_that_never_varies_adds_nothing_by_hand(rng: np.random.Generator) -> None:
    """These items, each graded alike in every draw: nothing but severities that vary within items counts."""
    severity = np.repeat(rng.choice([0.0, 1.0, 2.0], 50), 4)
    item = np.repeat(np.arange(50), 4)
    shifted = np.where(severity > 0, severity + rng.choice([0.0, 0.5], 200), 0.0)
    found = severity_given_error(severity, shifted, groups=item, items=item)
    wrong = severity > 0
    gap = (shifted - severity)[wrong]
    by_item = gap.reshape(-1, 4)
    variance = np.sum(np.var(by_item, axis=1, ddof=1) * 4) / wrong.sum() ** 2
    assert found.estimate == pytest.approx(gap.mean())
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=0.01)
    assert found.unit == "draw"


def test_draws_that_are_all_alike_bound_what_others_may_be_by_hand() -> None:
    """Ten items of two draws, all right in both conditions: 20 draws of one may hide 1 - 0.025^(1 / 20), not half."""
    long = outcomes(np.ones((10, 2, 2)))
    one, two = mean_evidence(long, "a", about="these-items"), difference_evidence(long, "a", "b", about="these-items")
    assert one.interval(0.95).low == pytest.approx(0.025 ** (1 / 20))
    assert two.interval(0.95).high == pytest.approx(1 - 0.025 ** (1 / 20))
    weighted = dataclasses.replace(long, weight=np.repeat([1.0, 3.0], 5))  # worth 40^2 / 100 = 16 draws
    assert mean_evidence(weighted, "a", about="these-items").interval(0.95).low == pytest.approx(0.025 ** (1 / 16))


def test_alike_draws_of_the_same_items_are_told_apart_rarely_recovers_truth(rng: np.random.Generator) -> None:
    """120 worlds of 40 items x 8 draws; at 5% more than 15 of 120 have probability below 0.001."""
    false = {"ece": 0, "severity": 0}
    for _ in range(120):
        hard = rng.beta(2, 4, 40)
        item = np.repeat(np.arange(40), 8)
        wrong = rng.random((2, 320)) < hard[item]
        sure = np.clip(0.95 - hard[item] + rng.normal(0, 0.1, (2, 320)), 0, 1)
        severity = np.where(
            wrong, np.clip(np.round(2 * (1 + 4 * hard[item] + rng.normal(0, 0.7, (2, 320)))), 1, 8) / 2, 0
        )
        sides = [ece_side(sure[k], 1.0 - wrong[k], item, these=True) for k in (0, 1)]
        false["ece"] += 0.0 not in ece_difference(*sides).interval(0.95)
        false["severity"] += 0.0 not in severity_given_error(*severity, groups=item, items=item).interval(0.95)
    assert max(false.values()) <= 15


def test_runs_that_differ_are_what_varies_recovers_truth(rng: np.random.Generator) -> None:
    """60 worlds of 6 runs whose calibration differs, alike on average: items alone would tell them apart often."""
    runs = items_alone = 0
    for _ in range(60):
        item, run = np.repeat(np.arange(150), 6), np.tile(np.arange(6), 150)
        shift = rng.normal(0, 0.12, (2, 6))
        right = rng.random((2, 900)) < 0.6
        sure = np.clip(0.7 + shift[:, run], 0, 1)
        options = [
            [ece_side(sure[k], right[k].astype(float), item, **more) for k in (0, 1)] for more in ({"run": run}, {})
        ]
        runs += 0.0 not in ece_difference(*options[0]).interval(0.95)
        items_alone += 0.0 not in ece_difference(*options[1]).interval(0.95)
    assert runs <= 9  # 5% and a probability below 0.001
    assert items_alone > 15


def grades(rng: np.random.Generator, draws: int, runs: int = 0) -> pl.DataFrame:
    rows = [
        {"item": f"q{i}", "condition": c, "draw": d, "correct": int(rng.random() < 0.7), "confidence": rng.random()}
        | ({"run": f"r{d % runs}"} if runs else {})
        for i in range(40)
        for c in "ab"
        for d in range(draws)
    ]
    return pl.DataFrame(rows)


def test_ece_is_asked_about_these_items_and_new_runs(rng: np.random.Generator) -> None:
    these = richter.open(grades(rng, 4)).compare(about="these-items", on=["ece"]).of("ece")[0]
    assert (these.measure, these.unit, these.units) == ("ece", "draw", 160)
    run = (
        richter.open(grades(rng, 6, runs=6), options=ReadOptions(map={"run": "run"}))
        .compare(about="new-runs", on=["ece"])
        .of("ece")[0]
    )
    assert (run.measure, run.unit, run.units) == ("ece", "run", 6)
    for about, draws, why in (("these-items", 1, "40 of 40 items have one draw"), ("new-runs", 2, "one run")):
        (claim,) = richter.open(grades(rng, draws)).compare(about=about, on=["ece"]).of("ece")
        assert claim.verdict is Verdict.UNTESTABLE
        assert why in claim.reason


def test_runs_of_other_names_are_not_crossed_though_as_many(rng: np.random.Generator) -> None:
    """Runs 0-3 of one and 4-7 of the other are independent: which is listed beside which changes nothing."""
    level = rng.normal(0, 0.1, size=4)
    x = rng.normal(0.5, 0.1, size=(40, 2, 4)) + level  # runs of the same number move together
    run = np.broadcast_to(np.array([[0, 1, 2, 3], [4, 5, 6, 7]]), x.shape).ravel()
    turned = x.copy()
    turned[:, 1] = x[:, 1, ::-1]
    ends = [
        difference_evidence(outcomes(y, "mean_score", run=run, runs=tuple("abcdefgh")), "a", "b", about="new-runs")
        for y in (x, turned)
    ]
    assert ends[0].interval(0.95).low == pytest.approx(ends[1].interval(0.95).low, rel=1e-9)
    same = np.broadcast_to(np.arange(4), x.shape).ravel()
    crossed = difference_evidence(outcomes(x, "mean_score", run=same, runs=tuple("abcd")), "a", "b", about="new-runs")
    assert crossed.units == 4
    assert ends[0].units == 8
