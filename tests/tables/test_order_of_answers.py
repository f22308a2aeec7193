"""Answers by condition, item and draw, sorted by one number a row."""

import polars as pl

from richter.tables._tables import draw_codes, order_of_answers


def test_answers_are_sorted_by_condition_item_and_draw_by_hand() -> None:
    condition, item, draw = pl.Series([1, 0, 0, 1]), pl.Series([2, 1, 1, 2]), pl.Series([0, 1, 0, 1])
    order = order_of_answers(condition, item, draw)
    assert order is not None
    assert order.to_list() == [2, 1, 0, 3]


def test_answers_that_stand_in_order_are_left_as_they_are() -> None:
    assert order_of_answers(pl.Series([0, 0, 1]), pl.Series([0, 1, 0]), pl.Series([3, 0, 0])) is None


def test_draws_that_are_times_in_nanoseconds_do_not_overflow_the_number() -> None:
    times = pl.Series([9_000_000_000_000_000_000, 1_700_000_000_000_000_000, 0])
    assert draw_codes(times).to_list() == [3, 2, 1]
    order = order_of_answers(pl.Series([0, 0, 1]), pl.Series([5, 5, 4]), times)
    assert order is not None
    assert order.to_list() == [1, 0, 2]
