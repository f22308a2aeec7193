import numpy as np
import pytest

from richter.ascent import cluster_vectors, distinguishing_terms
from richter.ascent._clusters import _silhouette
from richter.errors import TooFewErrors


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
    found = cluster_vectors(np.vstack([failing, others]), [True] * 110 + [False] * 110, rng=rng)
    assert found.clusters == 3
    assert np.bincount(found.labels).tolist() == list(sizes)  # the largest first
    assert np.array_equal(found.labels, truth)
    assert found.p_value == pytest.approx(1 / 200)
    assert found.near > 0.9  # each has at least 19 of its own kind near
    assert found.near_at_random == pytest.approx(109 / 219, abs=0.03)


def test_errors_at_random_on_clustered_points_are_no_clusters(rng):
    """The points that were asked about lie in clusters, the errors do not: 5% by the test's construction.

    Of 40 at most 6: P(Binomial(40, 0.05) > 6) = 0.003.
    """
    centres = unit(rng.normal(size=(4, 16)))
    told = 0
    for _ in range(40):
        x = unit(centres[rng.integers(4, size=160)] + 0.4 * unit(rng.normal(size=(160, 16))))
        found = cluster_vectors(x, rng.random(160) < 0.4, n_resamples=99, rng=rng)
        told += found.p_value <= 0.05
    assert told <= 6


def test_points_that_are_all_alike_and_points_that_are_too_few(rng):
    alike = cluster_vectors(np.ones((30, 8)), [True] * 30, rng=rng)
    assert (alike.clusters, alike.silhouette, alike.p_value) == (1, None, None)
    with pytest.raises(TooFewErrors, match="19 failing paragraphs"):
        cluster_vectors(np.ones((30, 8)), [True] * 19 + [False] * 11, rng=rng)


def test_the_same_seed_gives_the_same_clusters(rng):
    x, fails = rng.normal(size=(80, 8)), np.arange(80) < 50
    one, other = (cluster_vectors(x, fails, n_resamples=9, rng=np.random.default_rng(3)) for _ in range(2))
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
