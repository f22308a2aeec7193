"""The verification tax's formulas, by its tables and by counting."""

import pytest

from tax_formulas import horizon, recalibration_rounds, transfer_labels


def test_table_6_against_paper() -> None:
    for labels, passive, active in ((14_000, 1.4e4, 1.96e8), (500_000, 5e5, 2.5e11), (5_000, 5e3, 2.5e7)):
        assert horizon(labels) == pytest.approx((passive, active))


@pytest.mark.parametrize(
    ("labels", "ece", "rate"), [(14_000, 0.1, 0.05), (1000, 0.1, 0.1), (30, 0.05, 0.1), (200, 0.1, 0.1)]
)
def test_rounds_of_recalibration_that_show_by_counting(labels: int, ece: float, rate: float) -> None:
    """Round by round: 14,000 labels show five halvings of 0.1 (the fifth takes 5,120); the paper prints 4."""
    rounds, left = 0, ece
    while rate / (left / 2) ** 2 <= labels:
        rounds, left = rounds + 1, left / 2
    assert recalibration_rounds(labels, ece, rate) == rounds


def test_a_smaller_shift_costs_more_labels_than_the_appendix_says() -> None:
    saving = transfer_labels(0.002, 0.02, 0.05)  # appendix O: 1,000 times fewer
    assert saving.with_transfer == pytest.approx(1_000 * saving.from_scratch)
