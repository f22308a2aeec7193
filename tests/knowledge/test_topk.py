import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from richter.errors import InputError
from richter_audit.knowledge import find_similar, measure_recall, top_k


def by_sorting(queries, matrix, k, exclude=None):
    """Every score, a stable sort: the definition."""
    products = queries @ matrix.astype(np.float32).T
    if exclude is not None:
        products[:, exclude] = -np.inf
    order = np.argsort(-products, axis=1, kind="stable")[:, :k]
    scores = np.take_along_axis(products, order, axis=1)
    return np.where(np.isneginf(scores), -1, order), scores


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 300),
    m=st.integers(0, 5),
    k=st.integers(1, 40),
    rows_at_once=st.integers(1, 80),
    seed=st.integers(0, 10**6),
    half=st.booleans(),
)
def test_exact_search_is_a_sort_whatever_the_blocks(n, m, k, rows_at_once, seed, half):
    # small integers: products are exact in float32 in any order of summation, and ties abound
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, size=(n, 3)).astype(np.float16 if half else np.float32)
    queries = rng.integers(-2, 3, size=(m, 3)).astype(np.float32)
    exclude = rng.random(n) < 0.3
    rows, scores = top_k(queries, matrix, k, exclude=exclude, block_bytes=4 * rows_at_once * max(m, 1))
    wanted, wanted_scores = by_sorting(queries, matrix, k, exclude)
    width = min(k, n)
    np.testing.assert_array_equal(rows[:, :width], wanted)
    np.testing.assert_array_equal(scores[:, :width], wanted_scores)
    assert (rows[:, width:] == -1).all()


def test_blocks_stay_inside_the_memory_bound(tmp_path):
    import tracemalloc

    matrix = np.lib.format.open_memmap(tmp_path / "m.npy", mode="w+", dtype=np.float16, shape=(200_000, 16))
    matrix[:] = np.random.default_rng(0).normal(size=matrix.shape)
    queries = np.asarray(matrix[:4], dtype=np.float32)
    tracemalloc.start()
    top_k(queries, matrix, 10, block_bytes=2**20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # scores, converted rows, one comparison mask and one partition copy: a few blocks, not 200,000 x 16 x 4 = 12.8 MB
    assert peak < 4 * 2**20


def test_two_levels_find_what_exact_search_finds_where_documents_are_tight_by_hand():
    centres = np.eye(6, dtype=np.float32)
    rng = np.random.default_rng(0)
    vectors = np.repeat(centres, 30, axis=0) + 0.05 * rng.normal(size=(180, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    first = np.arange(0, 181, 30)
    queries = vectors[[3, 95]]
    near = find_similar(queries, vectors, 20, abstracts=centres, first_rows=first, documents=1)
    np.testing.assert_array_equal(near, find_similar(queries, vectors, 20))


def test_two_levels_take_more_documents_when_the_nearest_are_used_up_by_hand():
    centres = np.eye(3, dtype=np.float32)
    vectors = np.repeat(centres, 4, axis=0)
    first = np.arange(0, 13, 4)
    used = np.zeros(12, dtype=bool)
    used[:4] = True
    near = find_similar(vectors[:1], vectors, 4, abstracts=centres, first_rows=first, documents=1, exclude=used)
    assert set(near[0]) == {4, 5, 6, 7}  # all others tie at 0: the lower rows
    used[:] = True
    assert (find_similar(vectors[:1], vectors, 4, abstracts=centres, first_rows=first, exclude=used) == -1).all()


def test_queries_of_another_model_are_refused():
    with pytest.raises(InputError, match="same model"):
        top_k(np.ones((1, 3), np.float32), np.ones((4, 5), np.float32), 1)


def test_recall_by_hand(rng):
    """Rows a, b | c, d, each nearest to one of the other document: with one document looked at half is found."""
    vectors = np.array([[1, 0, 0.1], [0, 1, 0.1], [1, 0, -0.1], [0, 1, -0.1]], dtype=np.float32)
    abstracts = np.array([[1, 1, 0.5], [1, 1, -0.5]], dtype=np.float32)
    first = np.array([0, 2, 4])
    half = measure_recall(vectors, abstracts, first, queries=4, k=2, documents=1, rng=rng)
    assert (half.recall, half.interval.low, half.interval.high) == (0.5, 0.5, 0.5)
    assert (half.queries, half.k) == (4, 2)
    assert measure_recall(vectors, abstracts, first, queries=9, k=2, documents=2, rng=rng).recall == 1
