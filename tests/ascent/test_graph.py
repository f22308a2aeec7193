import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from richter_audit.ascent import cumulative_errors, follow


def test_cumulative_error_is_the_mean_over_all_descendants_by_hand():
    #      1 (0.9)
    #     /  \
    #   2     3        errors: 2 -> 1.0, 3 -> 0.2, 4 -> 0.6, 5 -> 0.0
    #    \   / \
    #      4    5
    error = {1: 0.9, 2: 1.0, 3: 0.2, 4: 0.6, 5: 0.0}
    pi = cumulative_errors([1, 2, 3, 4, 5], [(1, 2), (1, 3), (2, 4), (3, 4), (3, 5)], error)
    assert pi[1] == pytest.approx((1.0 + 0.2 + 0.6 + 0.0) / 4)  # 4 is reached twice and counts once
    assert pi[2] == pytest.approx(0.6)
    assert pi[3] == pytest.approx(0.3)
    assert not {4, 5} & set(pi)  # no descendants: undefined, not 0


def test_a_descendant_without_an_error_does_not_count_by_hand():
    pi = cumulative_errors([1, 2, 3], [(1, 2), (1, 3)], {1: 1.0, 2: math.nan, 3: 0.4})
    assert pi == {1: pytest.approx(0.4)}
    assert cumulative_errors([1, 2], [(1, 2)], {1: 1.0, 2: math.nan}) == {}


def test_sources_are_pruned_when_what_they_led_to_is_right_by_hand():
    error = {1: 0.8, 2: 0.6, 3: 0.5, 4: 0.9, 5: 0.1, 6: 0.2, 7: 1.0}
    steps = [[1, 2, 3], [4, 5], [6, 7]]
    edges = [(1, 4), (2, 5), (4, 6), (1, 7)]
    first, second, third = follow(steps, edges, error, xi=0.5, gamma=0.5)
    assert first.sources == (1, 2)  # 3 is at xi, not above it
    assert first.pruned == ()  # no descendants yet: kept
    assert second.sources == (1, 4)  # 2 led to 5 alone, 0.1 < gamma
    assert second.pruned == (2,)
    # 1 led to 4, 7 and through 4 to 6: (0.9 + 1.0 + 0.2) / 3 = 0.7; 4 led to 6: 0.2
    assert third.sources == (1, 7)
    assert third.pruned == (4,)
    unpruned = follow(steps, edges, error, xi=0.5, gamma=None)
    assert unpruned[-1].sources == (1, 2, 4, 7)


def test_a_pruned_source_does_not_come_back_by_hand():
    error = {1: 1.0, 2: 0.0, 3: 1.0, 4: 1.0, 5: 1.0}
    # after step 2 the cumulative error of 1 is 0; a later step adds descendants that err (through an older edge)
    trails = follow([[1], [2], [3, 4, 5]], [(1, 2), (1, 3), (1, 4), (1, 5)], error)
    assert trails[1].pruned == (1,)
    assert 1 not in trails[2].sources


def test_an_edge_that_runs_backwards_is_a_fault():
    with pytest.raises(ValueError, match="backwards"):
        cumulative_errors([1, 2], [(2, 1)], {})


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_cumulative_error_against_a_walk_from_each_node(data):
    n = data.draw(st.integers(2, 12))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=25))
    error = {i: data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])) for i in range(n)}
    pi = cumulative_errors(list(range(n)), edges, error)
    for node in range(n):
        reached, stack = set(), [node]
        while stack:
            here = stack.pop()
            for source, target in edges:
                if source == here and target not in reached:
                    reached.add(target)
                    stack.append(target)
        if reached:
            assert pi[node] == pytest.approx(sum(error[v] for v in reached) / len(reached))
        else:
            assert node not in pi


def test_source_whose_descendants_err_by_gamma_is_kept_by_hand():
    """Ten shares of one tenth are one tenth, though ten such numbers add up to a little less than one."""
    error = {0: 1.0} | dict.fromkeys(range(1, 11), 0.1)
    trails = follow([[0], list(range(1, 11))], [(0, k) for k in range(1, 11)], error, xi=0.5, gamma=0.1)
    assert trails[-1].sources == (0,)
