"""Claims on judged answers that people labelled in part: the correction decides, the judge's stands beside."""

import numpy as np
import pytest

from richter.claims import METRICS, Outcomes, as_sample, compare_outcomes, difference_evidence, mean_evidence
from richter.records import Verdict
from richter.stats import labelled_pool, pool_difference, pool_interval


def judged(
    rng: np.random.Generator, *, n: int = 400, kinder: float = 0.05, labels: int = 100, gap: float = 0.0
) -> Outcomes:
    """Two conditions right in 70% of the same items (the second in `gap` more); a judge kinder to the second.

    Labels are drawn evenly over conditions and the judge's verdicts.
    """
    hard = rng.random(n)
    right = np.column_stack([hard < 0.7, hard < 0.7 + gap])
    judge = np.where(rng.random((n, 2)) < 0.05, ~right, right)
    judge[:, 1] |= rng.random(n) < kinder / max(1 - judge[:, 1].mean(), 1e-9)
    item, condition = np.divmod(np.arange(2 * n), 2)
    value, truth = judge.reshape(-1).astype(float), right.reshape(-1).astype(float)
    layer = (2 * condition + value).astype(np.intp)
    label = np.full(2 * n, np.nan)
    if labels:
        for h in range(4):
            own = np.flatnonzero(layer == h)
            picked = rng.choice(own, min(labels // 4, len(own)), replace=False)
            label[picked] = truth[picked]
    return Outcomes(
        metric=METRICS["accuracy"],
        items=tuple(f"q{i}" for i in range(n)),
        conditions=("old", "new"),
        item=item,
        condition=condition,
        value=value,
        label=label if labels else None,
        layer=layer if labels else None,
        judged=True,
    )


def test_the_corrected_difference_is_the_pools_by_hand(rng: np.random.Generator) -> None:
    outcomes = judged(rng)
    sample = as_sample(outcomes)
    pools = []
    for k in (0, 1):
        mine = outcomes.condition == k
        pools.append(labelled_pool(outcomes.label[mine], outcomes.value[mine], strata=outcomes.layer[mine], high=1.0))
    found = difference_evidence(sample, "old", "new")
    expected = pool_difference(*pools, level=0.9, same_items=True)
    assert (found.interval(0.9).low, found.interval(0.9).high) == (expected.low, expected.high)
    assert found.estimate == pytest.approx(pools[1].estimate - pools[0].estimate)
    assert found.values == pytest.approx([p.estimate for p in pools])
    assert "corrected by 100 human labels (drawn by stratum)" in found.notes[-1]
    assert "50 more labels would narrow it" in found.notes[-1]
    one = mean_evidence(sample, "new", exact=True)
    assert one.interval(0.9).high == pool_interval(pools[1], level=0.9, side="exact").high


def test_a_judge_kinder_to_one_side_shows_nothing_once_people_label(rng: np.random.Generator) -> None:
    """100 labels, equal conditions, a judge five points kinder to the second: 60 trials of what the study repeats."""
    shown = {0: 0, 100: 0}
    for labels in shown:
        for _ in range(60):
            [claim] = compare_outcomes([judged(rng, n=1000, labels=labels)], conditions=("old", "new")).claims
            shown[labels] += claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED)
    assert shown[0] >= 50  # the judge alone
    assert shown[100] <= 9  # 0.05 and four binomial errors


def test_a_large_difference_is_still_shown_with_labels(rng: np.random.Generator) -> None:
    [claim] = compare_outcomes([judged(rng, gap=0.28, labels=200)], conditions=("old", "new")).claims
    assert claim.verdict is Verdict.VERIFIED
    assert claim.interval is not None
    assert claim.interval.low > 0


def test_without_labels_the_page_says_what_a_kinder_judge_would_do(rng: np.random.Generator) -> None:
    [small] = compare_outcomes([judged(rng, n=2000, labels=0)], conditions=("old", "new")).claims
    assert any("5.0 points kinder to one side, which is usual, would suffice" in note for note in small.notes)
    [large] = compare_outcomes([judged(rng, n=2000, labels=0, gap=0.25)], conditions=("old", "new")).claims
    assert any("would not undo this" in note for note in large.notes)
    [checked] = compare_outcomes([judged(rng, n=400)], conditions=("old", "new")).claims
    assert not any("kinder" in note for note in checked.notes)


def test_two_labels_are_needed_of_each_condition(rng: np.random.Generator) -> None:
    outcomes = judged(rng)
    outcomes.label[outcomes.condition == 0] = np.nan
    found = difference_evidence(outcomes, "old", "new")
    assert not any("corrected" in note for note in found.notes)
