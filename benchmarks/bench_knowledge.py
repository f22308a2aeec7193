"""Exact and two-level retrieval against faiss-cpu's flat index, in one run on one machine.

Vectors are drawn at random around document centres (no download); every side gets the same arrays and both cores.
Wall-clock times, the best of five. `--size` shrinks the base.
"""

import argparse
import importlib
import time

import numpy as np

from richter.knowledge import find_similar, top_k

DIM, K = 256, 50


def best_of(call, *, repeats=5):
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - started)
    return min(times), result


def base(size, documents, rng):
    centres = rng.standard_normal((documents, DIM), dtype=np.float32)
    document = np.sort(rng.integers(documents, size=size))
    vectors = rng.standard_normal((size, DIM), dtype=np.float32)
    vectors *= 0.8
    vectors += centres[document]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return vectors, centres, np.searchsorted(document, np.arange(documents + 1))


def recall(found, exact):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, exact, strict=True)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1_000_000)
    size = parser.parse_args().size
    rng = np.random.default_rng(0)
    vectors, abstracts, first = base(size, size // 100, rng)
    queries = vectors[rng.choice(size, 40, replace=False)]
    levels = {"abstracts": abstracts, "first_rows": first}
    exact_40, (rows, _) = best_of(lambda: top_k(queries, vectors, K))
    exact_1, _ = best_of(lambda: top_k(queries[:1], vectors, K))
    two_1, _ = best_of(lambda: find_similar(queries[:1], vectors, K, **levels))
    two_40, found = best_of(lambda: find_similar(queries, vectors, K, **levels))
    print(f"{size:,} x {DIM} float32, top-{K}")
    print(f"exact, 40 queries      {exact_40 * 1e3:9.1f} ms")
    print(f"exact, 1 query         {exact_1 * 1e3:9.1f} ms")
    print(f"two-level, 1 query     {two_1 * 1e3:9.1f} ms   {exact_1 / two_1:.1f} x faster than exact")
    print(f"two-level, 40 queries  {two_40 * 1e3:9.1f} ms   {exact_40 / two_40:.1f} x faster than exact")
    print(f"two-level recall of the exact top-{K}: {recall(found, rows):.3f}")
    try:
        faiss = importlib.import_module("faiss")
    except ImportError:
        print("faiss-cpu: not installed")
        return
    index = faiss.IndexFlatIP(DIM)
    index.add(vectors)
    peer_40, (_, theirs) = best_of(lambda: index.search(queries, K))
    peer_1, _ = best_of(lambda: index.search(queries[:1], K))
    print(f"faiss-cpu flat, 40     {peer_40 * 1e3:9.1f} ms   exact is {peer_40 / exact_40:.1f} x faster")
    print(f"faiss-cpu flat, 1      {peer_1 * 1e3:9.1f} ms   exact is {peer_1 / exact_1:.1f} x faster")
    print(f"the same rows in {recall(theirs, rows):.4f} of places (ties and rounding aside)")


if __name__ == "__main__":
    main()
