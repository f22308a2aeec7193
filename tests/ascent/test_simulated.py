"""Searches of simulated testees: properties that hold for any field, and what a known truth allows to check."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.simulated_search import simulate_search
from helpers.trials import fewest_hits, most_hits, n_trials
from richter_audit.ascent import SearchSettings, follow
from richter_audit.ascent._error_field import Field
from richter_audit.ascent._surrogate import _fit_kernel, _kernel, _mean, _regions, _spread
from richter_audit.knowledge import find_similar


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
    """Wilson's own lattice puts the coverage up to 0.015 from 0.95."""
    hits, trials = 0, n_trials(600)
    for seed in range(trials):
        chance = np.where(np.random.default_rng(seed).random(3000) < 0.1, min(1.0, 5 * rate), 5 / 9 * rate)
        options = {"strategy": "sea", "uniform": 0.4, "gamma": None, "neighbours": 10}
        found, truth = searched(seed, size=3000, paragraphs=400, chance=chance, **options)
        hits += truth.mean() in found.population.interval
    assert fewest_hits(trials, 0.935) <= hits <= most_hits(trials, 0.965)


def test_spreading_gives_up_errors_only_as_far_as_is_allowed_by_hand():
    mean, region, found = np.array([0.9, 0.8, 0.5, 0.4]), np.array([0, 0, 1, 2]), np.array([3.0, 0.0, 0.0])
    # square returns: 0.9 / 16 < 0.4 / 1, so that the regions without errors come first
    assert _spread(mean, region, found, 2, 0.45).tolist() == [2, 3]
    # 0.6 a place: powers of 0.75 and above give 0.45; with 0.5 the first region has 0.9 / 4 ** 0.5 = 0.45 > 0.4
    assert _spread(mean, region, found, 2, 0.6).tolist() == [2, 0]
    assert _spread(mean, region, found, 2, 0.85).tolist() == [0, 1]  # no spreading at all
    assert _spread(mean, region, found, 2, 0.99).tolist() == [0, 1]  # more than there is: the most errors
    # what a batch's earlier places are expected to find counts too: 0.8 / 1.9 ** 2 < 0.5
    assert _spread(mean, region, np.zeros(3), 2, 0.0).tolist() == [0, 2]


def test_regions_are_categories_or_cells_of_the_vectors_by_hand():
    vectors = np.repeat(np.eye(4, dtype=np.float32), 25, axis=0)
    one = Field(vectors=vectors, codes=np.zeros(100, dtype=np.int64), free=np.ones(100, dtype=bool), find=None)
    region, errors = _regions(one, np.arange(100), np.array([0, 1, 30]))
    cells = region.reshape(4, 25)
    assert (cells == cells[:, :1]).all()
    assert len(set(cells[:, 0])) == 4
    assert errors[cells[0, 0]] == 2
    assert errors[cells[1, 0]] == 1
    many = Field(vectors=vectors, codes=np.arange(100) % 20, free=np.ones(100, dtype=bool), find=None)
    region, errors = _regions(many, np.arange(100), np.array([0, 1, 21]))
    assert region.tolist() == (np.arange(100) % 20).tolist()
    assert errors[:2].tolist() == [1, 2]


def test_modes_finds_more_kinds_than_bayes_and_no_fewer_errors_than_an_ascent_recovers_truth():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, 16))
    codes = np.arange(2000) % 40
    vectors = centres[codes] + 0.7 * rng.normal(size=(2000, 16))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    fails = (rng.random(2000) < np.where(codes < 10, 0.7, 0.1)).astype(float)  # a quarter of the categories is weak
    wrong, effective = {}, {}
    for strategy in ("sea", "bayes", "modes"):
        found = simulate_search(
            vectors,
            codes,
            lambda rows, k, used: find_similar(vectors[rows], vectors, k, exclude=used),
            lambda rows: fails[rows],
            SearchSettings(strategy=strategy),
            paragraphs=240,
        )
        counts = np.bincount([codes[row] for row, error in found.errors.items() if error])
        wrong[strategy], effective[strategy] = counts.sum(), counts.sum() ** 2 / np.square(counts).sum()
    assert effective["modes"] > 1.5 * effective["bayes"]
    assert wrong["modes"] > 0.75 * wrong["sea"]  # for as many questions; it has fewer words to pay for


def small_field(size=90):
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(size, 4))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    codes = rng.integers(4, size=size)
    return Field(vectors=vectors, codes=codes, free=np.ones(size, dtype=bool), find=lambda rows, k, used: rows)


def test_the_cheap_mean_is_that_of_the_kernel_by_hand():
    field, seen = small_field(), np.arange(30)
    pool, weights = np.arange(30, 90), np.random.default_rng(3).normal(size=30) * 10
    a, b = field.vectors[pool].astype(float), field.vectors[seen].astype(float)
    same = field.codes[pool][:, None] == field.codes[seen][None, :]
    by_hand = 0.1 * (0.7 * np.exp((a @ b.T - 1) / 0.3) + 0.3 * same)
    assert _kernel(field, pool, seen, 0.3) == pytest.approx(by_hand)
    assert _mean(field, pool, seen, weights, 0.3) == pytest.approx(by_hand @ weights, abs=1e-4)  # single precision


def test_scale_and_noise_depend_on_how_many_were_seen_and_not_on_the_way_there_by_hand():
    """They are chosen at 1.25^19 = 69.4 (on 69 rows) and again at 1.25^20 = 86.7: in between nothing is computed."""
    fields = small_field(), small_field()
    for field in fields:
        field.errors = {row: float(field.vectors[row, 0] > 0) for row in range(90)}
    for count in (70, 75, 86):
        _fit_kernel(fields[0], np.arange(count))
    assert set(fields[0].fitted) == {69}
    assert _fit_kernel(fields[1], np.arange(80)) == fields[0].fitted[69]
    _fit_kernel(fields[0], np.arange(87))
    assert set(fields[0].fitted) == {69, 86}
