"""A base's vectors on the accelerator, where there is one and they fit: put there once, searched from then on."""

import weakref
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALLEST_ROWS = 100_000  # below, a processor is done before torch is loaded
COPIED_ROWS = 1_000_000  # at a time
ROOM = 1.25  # device memory wanted, as a multiple of the vectors: products of a block and the best of groups
LONGEST = 1.001  # a unit vector after rounding to half precision

_resident: dict[int, tuple["weakref.ref[NDArray[np.floating]]", Any]] = {}


@cache
def _device() -> Any:
    """The accelerator that torch can use, or None."""
    if find_spec("torch") is None:
        return None
    import torch

    return torch.device("cuda") if torch.cuda.is_available() else None


def top_k_on_accelerator(
    queries: NDArray[np.float32], matrix: NDArray[np.floating], k: int, exclude: NDArray[np.bool_] | None
) -> NDArray[np.int64] | None:
    """The rows that `top_k` gives, to rounding; None where there is no accelerator or no room on it.

    The matrix is kept there in half precision, which is how bases keep it on disk, until the array itself goes.
    """
    if len(matrix) < max(SMALLEST_ROWS, k) or not len(queries) or _device() is None:
        return None
    import torch

    from richter_audit.knowledge._topk_gpu import top_k_on_device

    try:
        held = _hold(matrix)
        if held is None:
            return None
        left_out = None if exclude is None else torch.from_numpy(np.ascontiguousarray(exclude)).to(_device())
        asked = torch.from_numpy(np.ascontiguousarray(queries, dtype=np.float32)).to(_device())
        rows, scores = top_k_on_device(asked, held, k, exclude=left_out, longest=LONGEST)
    except torch.OutOfMemoryError:  # others use the accelerator too
        _resident.pop(id(matrix), None)
        return None
    nearest: NDArray[np.int64] = torch.where(scores.isneginf(), -1, rows).cpu().numpy()
    return nearest


def _hold(matrix: NDArray[np.floating]) -> Any:
    known = _resident.get(id(matrix))
    if known is not None and known[0]() is matrix:
        return known[1]
    import torch

    if matrix.size * 2 * ROOM > _free_bytes():
        return None
    held = torch.empty(matrix.shape, dtype=torch.float16, device=_device())
    for start in range(0, len(matrix), COPIED_ROWS):
        block = np.array(matrix[start : start + COPIED_ROWS], dtype=np.float16)
        held[start : start + len(block)] = torch.from_numpy(block).to(held.device)
    key = id(matrix)
    _resident[key] = weakref.ref(matrix, lambda _: _resident.pop(key, None)), held
    return held


def _free_bytes() -> int:
    import torch

    return int(torch.cuda.mem_get_info()[0])
