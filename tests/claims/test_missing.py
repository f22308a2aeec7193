"""Missing grades: on harder items or not, and the claim under the worst case."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import ttest_ind

from helpers.outcomes import outcomes
from richter.claims import (
    METRICS,
    Evidence,
    Sample,
    as_sample,
    compare_outcomes,
    difference_evidence,
    missing_grades,
    worst_case,
)
from richter.records import Interval, Verdict


def board(rng: np.random.Generator, n: int = 1000, number: int = 4) -> tuple[np.ndarray, np.ndarray]:
    hard = rng.normal(0, 1.5, size=n)
    return (rng.random((n, number)) < 1 / (1 + np.exp(hard[:, None] - 0.8))).astype(float), hard


def test_grades_missing_on_hard_items_are_named_with_the_condition(rng: np.random.Generator) -> None:
    x, hard = board(rng)
    x[np.argsort(hard)[-129:], 2] = np.nan
    (found,) = missing_grades(as_sample(outcomes(x)))
    assert (found.condition, found.n, found.items) == ("c", 129, 1000)
    assert found.others_there == pytest.approx(x[np.isnan(x[:, 2])][:, [0, 1, 3]].mean(), abs=1e-9)
    assert "c has no grade on 129 of 1,000 items, and they are harder ones" in found.sentence


def test_the_p_against_scipy(rng: np.random.Generator) -> None:
    x, _ = board(rng, number=2)
    x[rng.random(1000) < 0.2, 1] = np.nan
    (found,) = missing_grades(as_sample(outcomes(x)))
    gone = np.isnan(x[:, 1])
    want = ttest_ind(x[gone, 0], x[~gone, 0], equal_var=False).pvalue
    assert found.p == pytest.approx(want, rel=0.02)


@pytest.mark.slow
def test_grades_missing_at_random_are_rarely_called_harder() -> None:
    rng = np.random.default_rng(4)
    false = 0
    for _ in range(400):
        x, _ = board(rng, 300)
        x[rng.random(300) < 0.1, 0] = np.nan
        false += sum("ones" in m.sentence for m in missing_grades(as_sample(outcomes(x))))
    assert false / 400 < 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 400)


def test_the_worst_case_by_hand() -> None:
    a = np.r_[np.zeros(60), np.ones(40)]
    b = np.r_[np.ones(60), np.ones(40)]
    b[:10] = np.nan  # 50 fixed of 90 graded: at worst 50 of 100
    x = outcomes(np.stack([a, b], axis=1))
    page = compare_outcomes([x])
    (claim,) = page.claims
    assert claim.verdict is Verdict.VERIFIED
    said = worst_case(as_sample(x), claim)
    assert said is not None
    assert said.holds
    assert said.sentence.startswith("it holds even if all 10 that b lacks were wrong: +50.0 [")
    assert page.fragile == 0
    b[:50] = np.nan  # 10 fixed of 50, and at worst 10 fixed of 100 with 40 more broken
    b[90:] = np.nan
    x = outcomes(np.stack([a, b], axis=1))
    page = compare_outcomes([x], min_shared=0.1)
    (claim,) = page.claims
    said = worst_case(as_sample(x), claim)
    assert said is not None
    assert not said.holds
    assert "it would not hold if all 60 that b lacks were wrong" in said.sentence
    assert page.fragile == 1


def test_where_many_lack_some_grades_one_line_says_it(rng: np.random.Generator) -> None:
    x = (rng.random((200, 8)) < 0.6).astype(float)
    for k in range(6):
        x[rng.choice(200, size=k + 1, replace=False), k] = np.nan
    notes = compare_outcomes([outcomes(x)]).notes
    assert "6 conditions lack grades on 1 to 6 of 200 items, the most of them f" in notes
    assert not any("has no grade" in note for note in notes)


def test_nothing_missing_says_nothing(rng: np.random.Generator) -> None:
    x, _ = board(rng, 100)
    assert missing_grades(as_sample(outcomes(x))) == ()


def test_the_worst_case_about_these_very_items_by_hand(rng: np.random.Generator) -> None:
    """Items differ by +40 or -30 points and draws hardly vary: shown of these items, whatever the missing one says.

    About such items nothing is shown, missing or not; the sentence said that it would not hold for the missing one.
    """
    chance = np.stack([np.full(60, 0.5), np.where(np.arange(60) % 2, 0.9, 0.2)], axis=1)
    x = (np.arange(200) / 200 < chance[:, :, None]).astype(float)
    x[7, 1] = np.nan
    found = compare_outcomes([outcomes(x)], about="these-items")
    assert found.claims[0].verdict is Verdict.VERIFIED
    assert found.fragile == 0
    gap = (29 * 0.4 - 30 * 0.3 - 0.5) / 60  # the missing one of the better condition is wrong
    said = f"it holds even if the one that b lacks was wrong: {100 * gap:+.1f}"
    assert any(note.startswith(said) for note in found.claims[0].notes)
    assert compare_outcomes([outcomes(x)]).claims[0].verdict is Verdict.UNDECIDED


def test_what_other_evidence_shows_is_not_said_to_fail_for_missing_grades(rng: np.random.Generator) -> None:
    x = rng.normal([0.5, 0.5], 0.2, size=(100, 2)).clip(0, 1)
    x[3, 1] = np.nan

    def narrow(sample: Sample, a: str, b: str) -> Evidence:
        own = difference_evidence(sample, a, b)

        def interval(level: float) -> Interval:
            return Interval(low=0.01, high=0.02, level=level, method="by hand")

        return dataclasses.replace(own, p=None, estimate=0.015, interval=interval)

    scores = dataclasses.replace(outcomes(x), metric=dataclasses.replace(METRICS["mean_score"], low=0.0, high=1.0))
    found = compare_outcomes([scores], evidence_of=narrow)
    assert found.claims[0].verdict is Verdict.VERIFIED
    assert found.fragile == 0


def test_own_figures_in_the_other_order_are_explained_by_hand() -> None:
    """On the six items of both 50% and 66.7%; on all of its eleven the first has 72.7%."""
    x = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 1], *[[1, np.nan]] * 5], dtype=float)
    (claim,) = compare_outcomes([outcomes(x)]).claims
    said = "on the 6 items of both: a 50.0% and b 66.7%; each on all of its own they come in the other order"
    assert said in claim.notes
    x[6:, 0] = 0
    (claim,) = compare_outcomes([outcomes(x)]).claims
    assert not any("of both" in note for note in claim.notes)
