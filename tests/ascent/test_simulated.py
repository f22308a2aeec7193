"""Searches of simulated testees: properties that hold for any field, and what a known truth allows to check."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from richter.ascent import SearchSettings, follow, simulate_search
from richter.knowledge import find_similar


def searched(seed, *, size, paragraphs, chance=None, **options):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(size, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if chance is None:
        chance = np.clip(vectors[:, 0], 0, 1)
    truth = rng.binomial(2, chance) / 2
    found = simulate_search(
        vectors,
        np.arange(size) % 5,
        lambda rows, k, used: find_similar(vectors[rows], vectors, k, exclude=used),
        lambda rows: truth[rows],
        SearchSettings(seed=seed, **options),
        paragraphs=paragraphs,
    )
    return found, truth


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 120),
    batch=st.integers(1, 30),
    neighbours=st.integers(1, 12),
    uniform=st.sampled_from([0.0, 0.2, 1.0]),
    strategy=st.sampled_from(["sea", "topics", "random"]),
    gamma=st.sampled_from([None, 0.3, 0.5]),
)
def test_any_search_chooses_once_and_its_graph_has_no_loop(seed, size, batch, neighbours, uniform, strategy, gamma):
    options = {"batch": batch, "neighbours": neighbours, "uniform": uniform, "strategy": strategy, "gamma": gamma}
    found, _ = searched(seed, size=size, paragraphs=60, **options)
    rows = [row for b in found.batches for row in b]
    assert len(rows) == len(set(rows)) == min(size, 60)
    step = {row: t for t, b in enumerate(found.batches) for row in b}
    trails = follow(found.batches, found.edges, found.errors, gamma=gamma)
    for source, target in found.edges:
        assert step[source] < step[target]  # every edge runs to a later step: no loop can close
        assert source in trails[step[target] - 1].sources  # and from a source that was still followed
    assert all(len(b) <= batch for b in found.batches)


def test_bayes_and_sea_climb_where_the_field_is_smooth_recovers_truth():
    rates = {
        s: np.mean([searched(seed, size=2000, paragraphs=240, strategy=s)[0].rate for seed in range(2)])
        for s in ("random", "sea", "bayes")
    }
    # the field is the positive part of a coordinate: mean 0.21 over the sphere in 4 dimensions, 0.65 on its best tenth
    assert rates["random"] == pytest.approx(0.21, abs=0.05)
    assert rates["sea"] > 1.5 * rates["random"]
    assert rates["bayes"] > rates["sea"]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.03, 0.3])
def test_the_population_interval_covers_under_search_recovers_truth(rate):
    """600 searches: the standard error of a coverage of 0.95 is 0.009; Wilson's own lattice adds up to 0.015."""
    hits = 0
    for seed in range(600):
        chance = np.where(np.random.default_rng(seed).random(3000) < 0.1, min(1.0, 5 * rate), 5 / 9 * rate)
        options = {"strategy": "sea", "uniform": 0.4, "gamma": None, "neighbours": 10}
        found, truth = searched(seed, size=3000, paragraphs=400, chance=chance, **options)
        hits += truth.mean() in found.population.interval
    assert hits / 600 == pytest.approx(0.95, abs=0.015 + 3 * 0.009)
