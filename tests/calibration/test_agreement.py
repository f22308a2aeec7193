"""Do draws agree more often than they are right? By hand, and on models whose calibration is known."""

import numpy as np
import polars as pl
import pytest

from richter.audit import measure_calibration
from richter.calibration import agreement_gap
from richter.records import Verdict


def test_agreement_and_right_shares_by_hand() -> None:
    """Of four answers A A A B three of six pairs agree; refusals leave both shares; one answer is too few."""
    labels = [[0, 0, 0, 1], [0, 1, -1, -1], [0, -1, -1, -1]]
    correct = [[1.0, 1.0, 1.0, 0.0], [0.0, 0.0, np.nan, np.nan], [1.0, np.nan, np.nan, np.nan]]
    found = agreement_gap(labels, correct)
    assert found.agreement.tolist() == [0.5, 0.0]
    assert found.right.tolist() == [0.75, 0.0]
    assert (found.questions, found.dropped, found.split) == (2, 1, 0)
    assert agreement_gap([[0, 1]], [[1.0, 1.0]]).split == 1


def draws(questions: int, k: int, temperature: float, rng: np.random.Generator, refuse: float = 0.0) -> pl.DataFrame:
    """Answers of a model that is calibrated at temperature 1: the truth is one more draw from its own law."""
    rows = []
    for q in range(questions):
        law = rng.dirichlet(np.full(5, 0.5))
        truth = rng.choice(5, p=law)
        sharp = law**temperature / np.sum(law**temperature)
        for draw, answer in enumerate(rng.choice(5, size=k, p=sharp)):
            is_refused = rng.random() < refuse
            text = "I cannot answer that." if is_refused else f"option {answer}"
            rows.append((f"q{q}", "m", draw, text, str(answer), 0.0 if is_refused else float(answer == truth)))
    return pl.DataFrame(rows, schema=["item", "condition", "draw", "answer", "cluster", "correct"], orient="row")


@pytest.mark.parametrize(("k", "refuse"), [(5, 0.0), (20, 0.0), (5, 0.2)])
def test_calibrated_models_are_seldom_called_too_sure_recovers_truth(k: int, refuse: float) -> None:
    """Of 300 models: above 31 at 6% has probability 0.002. The test that took agreement for known had all of them."""
    rng = np.random.default_rng(5)
    shown = 0
    for _ in range(300):
        law = rng.dirichlet(np.full(5, 0.5), size=60)
        truth = np.array([rng.choice(5, p=p) for p in law])
        answers = np.array([rng.choice(5, size=k, p=p) for p in law])
        labels = np.where(rng.random(answers.shape) < refuse, -1, answers)
        found = agreement_gap(labels, np.where(labels < 0, np.nan, answers == truth[:, None]))
        gap = found.agreement - found.right
        t = gap.mean() / (gap.std(ddof=1) / np.sqrt(len(gap)))
        shown += abs(t) > 2.0
    assert shown <= 31


@pytest.mark.parametrize(("temperature", "verdict"), [(1.0, Verdict.UNDECIDED), (3.0, Verdict.VERIFIED)])
def test_the_claim_of_draws_is_about_agreement(temperature: float, verdict: Verdict) -> None:
    table = draws(120, 5, temperature, np.random.default_rng(2), refuse=0.1)
    report = measure_calibration(table, rng=np.random.default_rng(0))
    (condition,) = report.conditions
    claim = condition.claim
    assert claim is not None
    assert (claim.measure, claim.verdict) == ("draws", verdict)
    assert condition.study is not None
    assert condition.study.miscalibration is None
    assert claim.estimate == pytest.approx(np.mean(condition.agreement.agreement - condition.agreement.right))


def test_one_document_has_one_sem2() -> None:
    table = draws(250, 4, 1.0, np.random.default_rng(3))
    (condition,) = measure_calibration(table, rng=np.random.default_rng(0)).conditions
    assert condition.sem.sem2.ece == condition.study.result.ece
    assert {row.sem2 for row in condition.sensitivity.values()} == {condition.sem.sem2.ece}
    assert {row.questions for row in condition.sensitivity.values()} == {250}


def test_phrasings_left_unmerged_block_the_claim() -> None:
    """Right answers in two classes: agreement is too low by phrasing, and nothing is claimed."""
    rng = np.random.default_rng(4)
    table = draws(80, 6, 1.0, rng)
    second = pl.Series(np.where(rng.random(len(table)) < 0.5, "x", "y"))
    table = table.with_columns(cluster=pl.col("cluster") + second)
    (condition,) = measure_calibration(table, rng=np.random.default_rng(0)).conditions
    assert condition.claim.verdict is Verdict.BLOCKED
    assert condition.claim.blocked_by == "grouping"
