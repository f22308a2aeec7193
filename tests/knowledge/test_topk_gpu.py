import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra gpu)")

from richter_audit.knowledge._topk_gpu import top_k_on_device  # noqa: E402  after the check for torch


@pytest.mark.parametrize("n", [50, 64, 1000, 6401])
@pytest.mark.parametrize("left_out", [0.0, 0.3])
def test_rows_and_scores_by_hand(n: int, left_out: float, rng: np.random.Generator, monkeypatch) -> None:
    monkeypatch.setattr("richter_audit.knowledge._topk_gpu.BLOCK_ROWS", 1280)
    matrix = rng.normal(size=(n, 16))
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float16)
    queries = rng.normal(size=(5, 16)).astype(np.float32)
    exclude = rng.random(n) < left_out
    scores = queries @ matrix.astype(np.float32).T
    scores[:, exclude] = -np.inf
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :20]
    rows, values = top_k_on_device(
        torch.from_numpy(queries), torch.from_numpy(matrix), 20, exclude=torch.from_numpy(exclude), longest=1.01
    )
    np.testing.assert_allclose(values.numpy(), np.take_along_axis(scores, expected, axis=1), atol=1e-5)
    np.testing.assert_array_equal(np.sort(rows.numpy()), np.sort(expected))


def test_ties_go_to_the_lower_row() -> None:
    matrix = torch.ones(200, 4, dtype=torch.float16) / 2
    rows, _ = top_k_on_device(torch.ones(1, 4), matrix, 5)
    assert rows.tolist() == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("free", [3, 20, 400])
def test_the_nearest_may_nearly_all_be_left_out(free: int, rng: np.random.Generator, monkeypatch) -> None:
    """The best groups hold only rows that are left out: more groups, then the groups without them."""
    monkeypatch.setattr("richter_audit.knowledge._topk_gpu.SCORED_FLOATS", 64 * 16 * 100)  # a query at a time
    monkeypatch.setattr("richter_audit.knowledge._topk_gpu.PATIENCE", 4)
    centre = np.ones(16) / 4
    near = centre + 0.01 * rng.normal(size=(12_800, 16))
    far = rng.normal(size=(free, 16))
    matrix = np.concatenate([near, far])
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float16)
    queries = (centre + 0.01 * rng.normal(size=(3, 16))).astype(np.float32)
    exclude = np.arange(len(matrix)) < 12_800
    scores = queries @ matrix.astype(np.float32).T
    scores[:, exclude] = -np.inf
    expected = np.sort(scores, axis=1)[:, ::-1][:, :20]
    rows, values = top_k_on_device(
        torch.from_numpy(queries), torch.from_numpy(matrix), 20, exclude=torch.from_numpy(exclude), longest=1.01
    )
    np.testing.assert_allclose(values.numpy(), expected, atol=1e-5)
    found = np.isfinite(values.numpy())
    assert found.sum(axis=1).tolist() == [min(free, 20)] * 3
    assert not exclude[rows.numpy()[found]].any()
