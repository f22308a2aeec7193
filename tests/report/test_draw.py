"""The drawings: marks stand where their numbers say, and axes hold what they must."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.simulated_report import document
from richter.report import figures
from richter.report._svg import HEIGHT, WIDTH, Axis, Mark, Panel, axis, lanes, panel_svg


def test_a_dot_stands_where_its_numbers_say_by_hand() -> None:
    x, y = Axis(low=0.0, high=10.0), Axis(low=0.0, high=1.0)
    text, height = panel_svg(Panel(x=x, y=y, marks=[Mark(kind="dot", at=[(5.0, 0.25)], row=3)]))
    [(cx, cy)] = re.findall(r'<circle cx="([0-9.]+)" cy="([0-9.]+)"', text)
    left, right, top = 38, WIDTH - 8, 4
    assert float(cx) == pytest.approx((left + right) / 2, abs=0.1)
    assert float(cy) == pytest.approx(top + 0.75 * HEIGHT, abs=0.1)
    assert 'data-row="3"' in text
    assert f'viewBox="0 0 {WIDTH} {height}"' in text


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.booleans())
def test_an_axis_holds_its_values_and_few_ticks(values: list[float], zero: bool) -> None:
    made = axis(values, zero=zero)
    assert made.low <= min(values)
    assert made.high >= max(values)
    assert made.low < made.high
    ticks = made.ticks()
    assert len(ticks) <= 7
    assert all(made.low - 1e-6 * abs(made.low) <= t <= made.high + 1e-6 * abs(made.high) for t in ticks)


def test_names_are_text() -> None:
    text, _ = panel_svg(Panel(x=axis([0, 1]), y=lanes(["<b>x</b> & y"]), marks=[], title="</svg><script>"))
    assert "<b>" not in text
    assert "<script>" not in text


def test_every_mark_of_every_figure_lies_in_its_panel_and_names_a_row() -> None:
    for name, figure in figures(document()).items():
        for panel in figure.panels:
            text, height = panel_svg(panel)
            for x, y in re.findall(r'<circle cx="([-0-9.]+)" cy="([-0-9.]+)"', text):
                assert 0 <= float(x) <= WIDTH, name
                assert 0 <= float(y) <= height, name
            rows = [int(k) for k in re.findall(r'data-row="(\d+)"', text)]
            assert rows, name
            assert max(rows) < len(figure.rows), name
