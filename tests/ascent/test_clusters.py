import numpy as np
import pytest

from richter.errors import TooFewErrors
from richter_audit.ascent import SearchSettings, cluster_vectors, distinguishing_terms, simulate_search
from richter_audit.ascent._clusters import _nearness, _silhouette
from richter_audit.knowledge import find_similar


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_silhouette_by_hand():
    """Points 0, 1 | 4: (4 - 1) / 4, (3 - 1) / 3, and 0 for the one that is alone."""
    x = np.array([0.0, 1.0, 4.0])
    found = _silhouette(np.abs(x[:, None] - x[None]), np.array([0, 0, 1]))
    assert found == pytest.approx((3 / 4 + 2 / 3 + 0) / 3)


def test_silhouette_against_sklearn(rng):
    metrics = pytest.importorskip("sklearn.metrics")
    x, labels = rng.normal(size=(80, 5)), rng.integers(4, size=80)
    distance = np.linalg.norm(x[:, None] - x[None], axis=2)
    assert _silhouette(distance, labels) == pytest.approx(metrics.silhouette_score(x, labels))


def test_clusters_that_are_there_are_found_with_their_sizes(rng):
    sizes = (60, 30, 20)
    centres = unit(rng.normal(size=(3, 64)))
    truth = np.repeat([2, 0, 1], [20, 60, 30])
    failing = unit(centres[truth] + 0.3 * unit(rng.normal(size=(110, 64))))
    others = unit(rng.normal(size=(110, 64)))
    order = rng.permutation(220)
    fails = order < 110
    found = cluster_vectors(np.vstack([failing, others])[order], fails, np.arange(220) // 20, rng=rng)
    assert found.clusters == 3
    assert np.bincount(found.labels).tolist() == list(sizes)  # the largest first
    assert np.array_equal(found.labels, truth[order[fails]])
    assert found.p_value < 1e-6
    assert found.near > found.near_at_random + 0.2


def test_looking_back_by_hand():
    """Two steps: ten failing and ten right at either end, then four that lie at an end each.

    s is 1, 0, 1, 0 and y is 1, 0, 0, 1: no correlation, z = 0 and p = 0.5; with y = 1, 0, 1, 0 z = 2 and p = 0.023.
    """
    ends = np.repeat([[1.0, 0.0], [0.0, 1.0]], 10, axis=0)
    x = np.vstack([ends, [[1, 0], [0, 1], [1, 0], [0, 1]]]) + 0.0
    first = [True] * 10 + [False] * 10
    steps = np.repeat([1, 2], [20, 4])
    for later, p in (([True, False, False, True], 0.5), ([True, False, True, False], 0.02275)):
        near, at_random, found = _nearness(x, np.array(first + later), steps, np.random.default_rng(0))
        assert found == pytest.approx(p, abs=1e-4)
        assert at_random == 0.5
        assert near == (0.5 if p == 0.5 else 1.0)


def test_a_search_with_errors_at_random_tells_no_clusters():
    """The search goes where errors were; of 60 at most 8 are told: P(Binomial(60, 0.05) > 8) = 0.002."""
    told = 0
    for seed in range(60):
        rng = np.random.default_rng([4, seed])
        vectors = unit(rng.normal(size=(600, 6))).astype(np.float32)
        fails = (rng.random(600) < 0.3).astype(float)
        found = simulate_search(
            vectors,
            np.arange(600) % 5,
            lambda rows, k, used, v=vectors: find_similar(v[rows], v, k, exclude=used),
            lambda rows, f=fails: f[rows],
            SearchSettings(strategy="sea", seed=seed, batch=20, neighbours=8),
            paragraphs=160,
        )
        rows = np.array([row for batch in found.batches for row in batch])
        steps = np.repeat(np.arange(len(found.batches)), [len(batch) for batch in found.batches])
        told += _nearness(vectors[rows].astype(float), fails[rows] > 0, steps, rng)[2] <= 0.05
    assert told <= 8


def test_points_that_are_all_alike_and_points_that_are_too_few(rng):
    alike = cluster_vectors(np.ones((30, 8)), [True] * 30, np.arange(30) // 5, rng=rng)
    assert (alike.clusters, alike.silhouette, alike.p_value) == (1, None, None)
    with pytest.raises(TooFewErrors, match="19 failing paragraphs"):
        cluster_vectors(np.ones((30, 8)), [True] * 19 + [False] * 11, np.arange(30) // 5, rng=rng)


def test_the_same_seed_gives_the_same_clusters(rng):
    x, fails = rng.normal(size=(80, 8)), np.arange(80) % 8 < 5
    one, other = (cluster_vectors(x, fails, np.arange(80) // 10, rng=np.random.default_rng(3)) for _ in range(2))
    assert one == other


def test_terms_by_hand():
    """`mill` in 18 of 20 inside and 6 of 40 outside: the prior adds 24/60 of 10 to either, 22 of 30 and 10 of 50.

    `oak` in 2 of 20 falls short of three texts, whatever its odds.
    """
    inside = ["A mill, a MILL of 1801"] * 18 + ["an oak"] * 2
    outside = ["the mill"] * 6 + ["the ford"] * 34
    (term,) = distinguishing_terms(inside, outside)
    assert (term.term, term.inside, term.outside) == ("mill", 18, 6)
    odds = np.log(22 / 8) - np.log(10 / 40)
    assert term.z == pytest.approx(odds / np.sqrt(1 / 22 + 1 / 8 + 1 / 10 + 1 / 40))


def test_terms_of_every_text_and_of_few_texts_are_left_out():
    inside = ["common alpha"] * 20 + ["common rare"] * 2
    outside = ["common beta"] * 40
    (term,) = distinguishing_terms(inside, outside)
    assert (term.term, term.inside, term.outside) == ("alpha", 20, 0)
