"""Boards of many conditions: the same p-values, levels, ranks and claims as where every pair has a claim."""

import numpy as np
import polars as pl
import pytest

from helpers.outcomes import outcomes
from richter.audit import compare_tables
from richter.claims import Board, as_sample, settle_board
from richter.records import plain
from richter.tables import Dataset, read_tables


def board_of(x: np.ndarray, *, alpha: float = 0.05) -> Board:
    sample = as_sample(outcomes(x))
    counts = sample.right_counts
    assert counts is not None
    return settle_board(sample, counts, alpha=alpha)


def table(rng: np.random.Generator, conditions: int, items: int, gap: float) -> Dataset:
    ease = rng.random((items, 1)) * 0.5 + 0.1 + gap * np.arange(conditions) / conditions
    right = (rng.random((items, conditions)) < ease).astype(int)
    names = [f"m{k}" for k in range(conditions)]
    wide = pl.DataFrame(dict(zip(names, right.T, strict=True))).with_row_index("item")
    return read_tables(wide.unpivot(index="item", variable_name="condition", value_name="correct"))


@pytest.mark.parametrize("measure", ["accuracy", "error_rate"])
@pytest.mark.parametrize("gap", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("tried", [1, 5])
def test_a_settled_board_says_what_the_claims_of_all_pairs_say(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, measure: str, gap: float, tried: int
) -> None:
    data = table(rng, 14, 60, gap)
    every = compare_tables(data, on=[measure], tried=tried)
    monkeypatch.setattr(Board, "LARGE", 5)
    some = compare_tables(data, on=[measure], tried=tried)
    by_pair = {c.conditions: plain(c) for c in every.of(measure)}
    assert [plain(c) for c in some.claims] == [by_pair[c.conditions] for c in some.claims]
    assert some.ranks == every.ranks
    assert len(some.claims) == 13
    assert some.first_lines.headline == every.first_lines.headline
    beaten = {name for name, (best, _) in every.ranks.items() if best > 1}
    losers = set()
    for claim in some.claims:
        is_second = ((claim.estimate or 0) > 0) == (claim.better == "higher")
        losers |= {claim.conditions[not is_second]} if claim.decided else set()
    assert losers == beaten  # whoever any other beats has a claim that shows it
    values = every.measures[measure]
    in_order = sorted(data.conditions, key=lambda name: values[name] or 0.0, reverse=measure == "accuracy")
    assert [name for tier in some.groups for name in tier] == in_order
    told = {frozenset(c.conditions) for c in every.of(measure) if c.decided}
    for tier in some.groups:
        assert not any(pair <= set(tier) for pair in told)
    for above, below in zip(some.groups, some.groups[1:], strict=False):
        assert any(frozenset((name, below[0])) in told for name in above)  # else the tier would go on


def test_levels_of_a_board_by_hand() -> None:
    """Of a, b and c on 40 items a gets all right, b half and c none: a-c and a-b, b-c with 40 and 20 discordant."""
    x = np.zeros((40, 3))
    x[:, 0], x[:20, 1] = 1, 1
    board = board_of(x)
    assert board.n_pairs == 3
    assert [board.settled(*pair).shown for pair in (("a", "b"), ("a", "c"), ("b", "c"))] == [True] * 3
    assert [board.settled(*pair).alpha for pair in (("a", "c"), ("a", "b"), ("b", "c"))] == pytest.approx(
        [0.05 / 3, 0.05 / 2, 0.05]
    )
    assert board.tiers() == (("a",), ("b",), ("c",))
    assert board.pairs() == [("a", "b"), ("a", "c")]
    assert board.ranks() == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}
