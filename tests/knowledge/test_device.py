"""The wiring of the accelerator, with torch's processor standing in for it (the real one: benchmarks/bench_gpu.py)."""

import gc

import numpy as np
import pytest

from richter_audit.knowledge import _device, find_similar

torch = pytest.importorskip("torch", reason="torch is not installed (extra gpu)")


@pytest.fixture
def accelerator(monkeypatch):
    monkeypatch.setattr(_device, "_device", lambda: torch.device("cpu"))
    monkeypatch.setattr(_device, "SMALLEST_ROWS", 10)
    monkeypatch.setattr(_device, "COPIED_ROWS", 300)
    monkeypatch.setattr(_device, "_free_bytes", lambda: 2**30)
    _device._resident.clear()


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def base(rng, dtype):
    centres = unit(rng.normal(size=(20, 16)))
    vectors = unit(np.repeat(centres, 50, axis=0) + 0.5 * rng.normal(size=(1000, 16))).astype(np.float16)
    return vectors.astype(dtype), centres.astype(np.float32), np.arange(0, 1001, 50)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_same_rows_as_the_processor(accelerator, rng, dtype):
    vectors, abstracts, first = base(rng, dtype)
    queries = np.asarray(vectors[::100], dtype=np.float32)
    used = rng.random(1000) < 0.2
    for options in ({}, {"abstracts": abstracts, "first_rows": first, "documents": 4}):
        for exclude in (None, used):
            with_it, without = (
                find_similar(queries, vectors, 30, exclude=exclude, accelerator=on, **options) for on in (True, False)
            )
            scores = [np.einsum("qkd,qd->qk", vectors[rows].astype(np.float32), queries) for rows in (with_it, without)]
            np.testing.assert_allclose(*scores, atol=1e-6)
            assert (np.sort(with_it) == np.sort(without)).mean() > 0.99  # equal scores may change places
            if exclude is not None:
                assert not used[with_it].any()
    assert _device._resident  # it was really used


def test_fewer_rows_than_neighbours_are_filled_with_minus_one(accelerator, rng):
    vectors, _, _ = base(rng, np.float32)
    used = np.ones(1000, dtype=bool)
    used[[3, 700]] = False
    found = find_similar(vectors[:2], vectors, 5, exclude=used)
    assert [sorted(row) for row in found.tolist()] == [[-1, -1, -1, 3, 700]] * 2


def test_the_matrix_is_put_there_once_and_goes_with_its_array(accelerator, rng, monkeypatch):
    vectors, _, _ = base(rng, np.float16)
    find_similar(vectors[:3].astype(np.float32), vectors, 5)
    held = _device._resident[id(vectors)][1]
    find_similar(vectors[3:6].astype(np.float32), vectors, 5)
    assert _device._resident[id(vectors)][1] is held
    del vectors
    gc.collect()
    assert not _device._resident


def test_a_matrix_that_does_not_fit_or_is_small_stays_with_the_processor(accelerator, rng, monkeypatch):
    vectors, _, _ = base(rng, np.float16)
    monkeypatch.setattr(_device, "_free_bytes", lambda: vectors.size * 2)
    assert find_similar(vectors[:3].astype(np.float32), vectors, 5).shape == (3, 5)
    monkeypatch.setattr(_device, "_free_bytes", lambda: 2**30)
    monkeypatch.setattr(_device, "SMALLEST_ROWS", 2000)
    assert find_similar(vectors[:3].astype(np.float32), vectors, 5).shape == (3, 5)
    assert not _device._resident


def test_an_accelerator_that_others_have_filled_is_left_alone(accelerator, rng, monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError("no room")

    vectors, _, _ = base(rng, np.float16)
    monkeypatch.setattr("richter_audit.knowledge._topk_gpu.top_k_on_device", full)
    found = find_similar(vectors[:3].astype(np.float32), vectors, 5)
    np.testing.assert_array_equal(found[:, 0], [0, 1, 2])
    assert not _device._resident
