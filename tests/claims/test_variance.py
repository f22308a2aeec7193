"""Shares of variance, and the cheaper way to a standard error."""

import numpy as np
import pytest

from helpers.outcomes import outcomes
from richter.claims import cheapest_design, difference_evidence, mean_evidence, variance_shares


def nested(rng: np.random.Generator, groups: int, size: int, draws: int, sds: tuple[float, float, float]) -> np.ndarray:
    g = np.repeat(rng.normal(0, sds[0], groups), size)
    i = g + rng.normal(0, sds[1], groups * size)
    return i[:, None, None] + rng.normal(0, sds[2], (groups * size, 1, draws))


def test_components_recovers_truth(rng: np.random.Generator) -> None:
    x = nested(rng, 400, 5, 4, (0.3, 0.5, 1.0))
    found = variance_shares(outcomes(x, "mean_score", group=np.repeat(np.arange(400), 5)), "a")
    assert found.groups == pytest.approx(0.09, rel=0.3)
    assert found.items == pytest.approx(0.25, rel=0.15)
    assert found.draws == pytest.approx(1.0, rel=0.05)
    assert "% from groups" in found.sentence()


def test_components_of_two_crossed_groupings_recovers_truth() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 60, 3000), rng.integers(0, 80, 3000)
    x = 0.4 * rng.normal(size=60)[first] + 0.6 * rng.normal(size=80)[second] + rng.normal(size=3000)
    board = outcomes(x[:, None], "mean_score", group=first, group_2=second)
    found = variance_shares(board, "a")
    assert found.groups == pytest.approx(0.16, rel=0.5)  # of 60 groups: a standard error of a fifth
    assert found.groups_2 == pytest.approx(0.36, rel=0.5)
    assert found.items == pytest.approx(1.0, rel=0.1)
    assert found.error(3000, 1) == pytest.approx(mean_evidence(board, "a").standard_error, rel=0.05)
    assert "of the second grouping" in found.sentence()
    nested = variance_shares(outcomes(x[:, None], "mean_score", group=first, group_2=first // 6), "a")
    assert (nested.n_groups, nested.groups_2) == (10, None)  # the coarser one counts


def test_the_error_of_this_design_is_the_one_seen(rng: np.random.Generator) -> None:
    x = np.concatenate([nested(rng, 300, 1, 3, (0, 0.5, 0.7)), nested(rng, 300, 1, 3, (0, 0.5, 0.7))], axis=1)
    board = outcomes(x, "tokens")
    found = variance_shares(board, "a", "b")
    seen = difference_evidence(board, "a", "b").standard_error
    assert found.error(300, 3) == pytest.approx(seen, rel=1e-3)


@pytest.mark.parametrize(("cost_item", "cost_draw"), [(0.0, 1.0), (1.0, 1.0), (10.0, 1.0), (100.0, 0.1)])
def test_the_design_is_the_cheapest_by_search(rng: np.random.Generator, cost_item: float, cost_draw: float) -> None:
    shares = variance_shares(outcomes(nested(rng, 200, 1, 3, (0, 0.3, 1.0)), "mean_score"), "a")
    found = cheapest_design(shares, 0.02, cost_item=cost_item, cost_draw=cost_draw)
    fixed, noise = shares.items, shares.draws or 0.0
    costs = [np.ceil((fixed + noise / r) / 0.02**2) * (cost_item + r * cost_draw) for r in range(1, 400)]
    assert found.cost == pytest.approx(min(costs), rel=0.01)  # items are whole, so neighbours differ by little
    assert shares.error(found.items, found.draws) <= 0.02 + 1e-9


def test_the_next_step_breaks_even_where_the_design_does(rng: np.random.Generator) -> None:
    shares = variance_shares(outcomes(nested(rng, 300, 1, 3, (0, 0.7, 1.0)), "mean_score"), "a")
    worth = float(shares.next_step().split("at most ")[-1].split(" repeats")[0])
    below = cheapest_design(shares, 0.02, cost_item=0.9 * worth, cost_draw=1)
    above = cheapest_design(shares, 0.02, cost_item=1.1 * worth, cost_draw=1)
    assert (below.cheaper, above.cheaper) == ("items", "draws")


def test_items_that_seem_to_add_nothing_are_not_taken_for_nothing(rng: np.random.Generator) -> None:
    """Coin tosses: draws are all that varies, and 120 items do not show that so surely that eleven would do."""
    shares = variance_shares(outcomes(rng.integers(0, 2, size=(120, 2, 3)).astype(float)), "a", "b")
    assert cheapest_design(shares, 0.01, cost_item=1.0, cost_draw=0.1).draws < 50
