import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from richter.errors import InputError
from richter.severity import count_levels, snap
from richter.severity._grid import level_index


def test_snapping_by_hand() -> None:
    # nearest level, halves down, a positive score never correct
    scores = [0, 0.01, 0.25, 0.5, 0.75, 0.76, 1.25, 1.5, 3.75, 3.8, 4.0, np.nan]
    assert snap(scores).tolist() == [0, 1, 1, 1, 1, 2, 2, 3, 7, 8, 8, -1]
    assert count_levels(scores).tolist() == [1, 4, 2, 1, 0, 0, 0, 1, 2]


@pytest.mark.parametrize("level", [float("nan"), float("inf"), 0.0, 0.7, 4.5])
def test_what_is_no_level_is_refused(level: float) -> None:
    with pytest.raises(InputError, match="not a level of the grid"):
        level_index(level)


def test_a_quarter_step_off_by_its_last_bit_goes_down() -> None:
    assert snap([0.75 + 1e-12, 1.1 + 0.15]).tolist() == [1, 2]


@given(st.lists(st.floats(0, 4), min_size=1))
def test_snapped_levels_are_within_a_quarter_step(scores: list[float]) -> None:
    index = snap(scores)
    moved = np.abs(index / 2 - np.array(scores))
    assert np.all((moved <= 0.25 + 1e-8) | (index == 1))
    assert np.all((index == 0) == (np.array(scores) == 0))


def test_off_scale_names_rows_and_remedy() -> None:
    with pytest.raises(InputError, match=r"2 severity scores off the 0\.\.4 scale \(row 2: 4\.5, row 4: -1\)"):
        snap([1, 4.5, 2, -1])
