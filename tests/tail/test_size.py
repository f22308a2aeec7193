import pytest

from richter.errors import InputError
from richter.tail import required_exceedances, required_for_p1, size_tail


@pytest.mark.parametrize(("delta", "expected"), [(0.05, 6280), (0.07, 3204), (0.10, 1570), (0.20, 393), (0.15, 698)])
def test_required_exceedances_against_paper(delta: float, expected: int) -> None:
    assert required_exceedances(delta) == expected  # table 1 and appendix E


@pytest.mark.parametrize(("delta", "expected"), [(0.15, 1343), (0.20, 792)])
def test_disjoint_intervals_against_review(delta: float, expected: int) -> None:
    assert required_for_p1(delta) == expected


def test_size_by_hand() -> None:
    size = size_tail(0.1, q=0.95, usd_per_call=0.01)
    assert size.items_z == 31_400  # table 1
    assert size.exceedances == size.exceedances_p1 > size.exceedances_z
    assert size.items == 20 * size.exceedances
    assert size.money_usd == pytest.approx(0.01 * 2 * size.items)
    assert size_tail(0.15, conditions=4).exceedances_p1_family > size_tail(0.15).exceedances
    assert size_tail(0.1).money_usd is None


@pytest.mark.parametrize(
    "bad", [{"delta": 0.0}, {"delta": -0.1}, {"delta": 0.1, "xi": -0.5}, {"delta": 0.1, "alpha": 1}]
)
def test_impossible_sizes_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError):
        required_exceedances(bad.pop("delta"), **bad)
