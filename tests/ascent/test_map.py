import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from richter.errors import TooFewErrors
from richter_audit.ascent import map_vectors
from richter_audit.ascent._error_map import _directions, _neighbour_shares, _share_kept


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def groups(rng, sizes=(40, 40, 40), dim=32):
    centres = unit(rng.normal(size=(len(sizes), dim)))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return unit(centres[labels] + 0.15 * unit(rng.normal(size=(len(labels), dim)))), labels


def test_components_by_hand():
    """Points on a line in space, and a little across it: (1, 1, 0) carries 8 of 10 of the variance, (0, 0, 1) 2."""
    x = np.array([[1, 1, 0], [-1, -1, 0], [1, 1, 0], [-1, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
    directions, shares = _directions(x, 2)
    scores = (x - x.mean(axis=0)) @ directions
    np.testing.assert_allclose(shares, [0.8, 0.2], atol=1e-12)
    np.testing.assert_allclose(scores[:, 0], np.sqrt(2) * np.array([1, -1, 1, -1, 0, 0]), atol=1e-12)
    np.testing.assert_allclose(scores[:, 1], [0, 0, 0, 0, 1, -1], atol=1e-12)


def test_components_against_a_singular_value_decomposition(rng):
    x = rng.normal(size=(60, 12)) * np.linspace(3, 1, 12)
    directions, shares = _directions(x, 4)
    centred = x - x.mean(axis=0)
    scores = centred @ directions
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(scores), np.abs(left[:, :4] * values[:4]), atol=1e-9)
    np.testing.assert_allclose(shares, values[:4] ** 2 / (values**2).sum(), atol=1e-12)


def test_points_in_a_plane_keep_every_neighbour(rng):
    """Vectors that lie in a plane lose nothing: all distances stay (rounding aside), and two components carry all."""
    plane = np.linalg.qr(rng.normal(size=(16, 2)))[0]
    x = rng.normal(size=(40, 2)) @ plane.T
    found = map_vectors(x, base=x, method="pca", rng=rng)
    assert found.explained == pytest.approx(1)
    assert found.kept_neighbours == 1
    np.testing.assert_allclose(pdist(np.array(found.points)), pdist(x), atol=1e-9)


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_a_place_depends_on_the_base_and_the_vector_alone(rng, method, monkeypatch):
    monkeypatch.setattr("richter_audit.ascent._error_map.LANDMARKS", 60)
    base, _ = groups(rng)
    one = map_vectors(base[:50], base=base, method=method, rng=np.random.default_rng(1)).points
    other = map_vectors(base[20:], base=base, method=method, rng=np.random.default_rng(2)).points
    np.testing.assert_allclose(one[20:], other[:30], atol=1e-9)


def test_the_method_follows_the_size_of_the_base(rng):
    x, _ = groups(rng, (20, 20))
    few = map_vectors(x, base=x, rng=rng)
    assert (few.method, few.why) == ("pca", "40 paragraphs are fewer than t-SNE needs (50)")
    assert map_vectors(x, base=np.repeat(x, 2, axis=0), rng=rng).method == "tsne"
    with pytest.raises(TooFewErrors, match="9 paragraphs"):
        map_vectors(x[:9], base=x, rng=rng)


def test_tsne_keeps_groups_apart(rng):
    x, labels = groups(rng)
    found = map_vectors(x, base=x, rng=np.random.default_rng(5))
    assert found.method == "tsne"
    assert found.explained is None
    points = np.array(found.points)
    nearest = np.argsort(np.linalg.norm(points[:, None] - points[None], axis=2), axis=1)[:, 1:6]
    assert (labels[nearest] == labels[:, None]).all()


def test_tsne_keeps_as_many_neighbours_as_scikit_learn(rng):
    """Within 3 points of scikit-learn's share of ten nearest neighbours that stay, on three overlapping groups."""
    manifold = pytest.importorskip("sklearn.manifold")
    x, _ = groups(rng, (60, 60, 60), dim=24)
    theirs = manifold.TSNE(init="pca", random_state=0, max_iter=500).fit_transform(x)
    ours = map_vectors(x, base=x, rng=np.random.default_rng(5)).kept_neighbours
    assert ours > _share_kept(x, np.asarray(theirs, dtype=float), np.random.default_rng(5)) - 0.03


def test_neighbour_shares_by_hand(rng):
    x, _ = groups(rng)
    shares = _neighbour_shares(squareform(pdist(x)) ** 2)
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(shares, shares.T)
    assert (np.diag(shares) == 0).all()
    equal = _neighbour_shares(1 - np.eye(91))  # all as near: 1/90 each, whatever the perplexity
    np.testing.assert_allclose(equal, (1 - np.eye(91)) / 90 / 91)
