"""Exact top-50 of 40 queries over 28.8 million x 256 vectors in half precision on a GPU, against reading them once.

Also checks that `find_similar` takes the accelerator by itself and gives what the processor gives. Needs torch with
CUDA and numpy, nothing else: the files under test are loaded past their packages, which need more.
"""

import importlib
import sys
import time
import types
from pathlib import Path

import numpy as np

try:
    import torch
except ImportError:
    torch = None

SOURCE = Path(__file__).parents[1] / "src"
N, DIM, QUERIES, K = 28_800_000, 256, 40, 50


def load(name):
    for package in ("richter", "richter_audit", "richter_audit.knowledge"):
        module = types.ModuleType(package)
        module.__path__ = [str(SOURCE / package.replace(".", "/"))]
        sys.modules.setdefault(package, module)
    return importlib.import_module(f"richter_audit.knowledge.{name}")


def median_ms(work, repeats: int = 15) -> float:
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop))
    return sorted(times)[repeats // 2]


def copy_gb_per_s() -> float:
    """Bytes read and written by a large copy."""
    source = torch.empty(2 * 10**9, dtype=torch.float16, device="cuda").normal_()
    target = torch.empty_like(source)
    return 4 * source.numel() / median_ms(lambda: target.copy_(source)) / 1e6


def unit(rows: int) -> "torch.Tensor":
    x = torch.randn(rows, DIM, device="cuda")
    return x / x.norm(dim=1, keepdim=True)


def slow_reference(queries, matrix):
    """Every float32 product, block by block."""
    scores = torch.empty(QUERIES, 0, device="cuda")
    rows = torch.empty(QUERIES, 0, dtype=torch.long, device="cuda")
    for start in range(0, N, 1_000_000):
        block = queries @ matrix[start : start + 1_000_000].float().T
        top = block.topk(K, dim=1)
        scores, rows = torch.cat([scores, top.values], 1), torch.cat([rows, top.indices + start], 1)
        kept = scores.topk(K, dim=1)
        scores, rows = kept.values, rows.gather(1, kept.indices)
    return rows, scores


def check_wiring(size: int = 2_000_000, documents: int = 20_000) -> None:
    """`find_similar` with and without the accelerator on the same arrays: rows, scores and times."""
    find_similar, device = load("_retrieve").find_similar, load("_device")
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((documents, DIM), dtype=np.float32)
    document = np.sort(rng.integers(documents, size=size))
    vectors = centres[document] + 0.8 * rng.standard_normal((size, DIM), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors.astype(np.float16).astype(np.float32)  # as a base gives them
    queries, exclude = vectors[rng.choice(size, QUERIES, replace=False)], rng.random(size) < 0.01
    find_similar(queries, vectors, K, exclude=exclude)  # puts the matrix there
    assert device._resident, "the accelerator was not used"
    found, times = {}, {}
    for on in (True, False):
        started = time.perf_counter()
        found[on] = find_similar(queries, vectors, K, exclude=exclude, accelerator=on)
        times[on] = time.perf_counter() - started
    same = np.mean([len(set(a) & set(b)) / K for a, b in zip(found[True], found[False], strict=True)])
    scores = [np.einsum("qkd,qd->qk", vectors[rows], queries) for rows in found.values()]
    print(
        f"find_similar, {size:,} x {DIM}: {times[True] * 1e3:.1f} ms with the accelerator, {times[False] * 1e3:.0f} ms "
        f"without; the same rows in {same:.4%}, scores within {np.abs(scores[0] - scores[1]).max():.1e}"
    )


def main() -> None:
    if torch is None or not torch.cuda.is_available():
        print("no GPU with torch here")
        return
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    check_wiring()
    top_k_on_device = load("_topk_gpu").top_k_on_device
    matrix = torch.empty(N, DIM, dtype=torch.float16, device="cuda")
    for start in range(0, N, 1_600_000):
        matrix[start : start + 1_600_000] = unit(min(1_600_000, N - start)).half()
    queries = unit(QUERIES)
    bandwidth = copy_gb_per_s()
    once = matrix.numel() * 2 / bandwidth / 1e6
    rows, scores = top_k_on_device(queries, matrix, K, longest=1.001)
    expected, reference = slow_reference(queries, matrix)
    same = float((rows.sort(1).values == expected.sort(1).values).float().mean())
    worst = float((scores - reference).abs().max())
    exclude = torch.rand(N, device="cuda") < 0.01
    plain = median_ms(lambda: top_k_on_device(queries, matrix, K, longest=1.001))
    without = median_ms(lambda: top_k_on_device(queries, matrix, K, exclude=exclude, longest=1.001))
    print(f"{torch.cuda.get_device_name()}: copy {bandwidth:.0f} GB/s, reading the matrix once {once:.2f} ms")
    print(f"top-{K} of {QUERIES} queries: {plain:.2f} ms, {plain / once:.2f}x (goal 2.2x)")
    print(f"with 1% of the rows left out: {without:.2f} ms, {without / once:.2f}x")
    print(f"rows as by all float32 products: {same:.4%}, scores within {worst:.1e}")


if __name__ == "__main__":
    main()
