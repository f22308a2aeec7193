"""Exact and two-level retrieval against faiss-cpu's flat index, in one run on one machine.

Vectors are drawn at random around document centres (no download); every side gets the same arrays and all cores. The
best of five: wall-clock time, and processor time over all threads, which says more on a machine that is not idle. The
sides take turns, so that a disturbance does not fall on one of them. `--size` shrinks the base.
"""

import argparse
import importlib
import time

import numpy as np

from richter_audit.knowledge import find_similar, top_k

DIM, K = 256, 50


def best_of(calls, *, repeats=5):
    """For each named call its best wall-clock and processor times in ms, and its result; the calls take turns."""
    wall, processor = ({name: float("inf") for name in calls} for _ in range(2))
    results = {}
    for _ in range(repeats):
        for name, call in calls.items():
            started, used = time.perf_counter(), time.process_time()
            results[name] = call()
            wall[name] = min(wall[name], 1e3 * (time.perf_counter() - started))
            processor[name] = min(processor[name], 1e3 * (time.process_time() - used))
    return wall, processor, results


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
    calls = {
        "exact, 40 queries": lambda: top_k(queries, vectors, K)[0],
        "exact, 1 query": lambda: top_k(queries[:1], vectors, K)[0],
        "two-level, 40 queries": lambda: find_similar(queries, vectors, K, accelerator=False, **levels),
        "two-level, 1 query": lambda: find_similar(queries[:1], vectors, K, accelerator=False, **levels),
    }
    try:
        index = importlib.import_module("faiss").IndexFlatIP(DIM)
        index.add(vectors)
        calls["faiss-cpu flat, 40 queries"] = lambda: index.search(queries, K)[1]
        calls["faiss-cpu flat, 1 query"] = lambda: index.search(queries[:1], K)[1]
    except ImportError:
        print("faiss-cpu: not installed")
    wall, processor, results = best_of(calls)
    print(f"{size:,} x {DIM} float32, top-{K}          wall ms   processor ms")
    for name in calls:
        print(f"{name:36} {wall[name]:9.1f} {processor[name]:14.1f}")

    def ratio(slow, fast):
        return (
            f"{wall[slow] / wall[fast]:.1f} x by the clock, {processor[slow] / processor[fast]:.1f} x by processor time"
        )

    print(f"two-level against exact, 1 query: {ratio('exact, 1 query', 'two-level, 1 query')} (goal 5)")
    print(f"two-level against exact, 40: {ratio('exact, 40 queries', 'two-level, 40 queries')}")
    rows = results["exact, 40 queries"]
    print(f"two-level recall of the exact top-{K}: {recall(results['two-level, 40 queries'], rows):.3f} (goal 0.9)")
    if "faiss-cpu flat, 40 queries" in calls:
        theirs = results["faiss-cpu flat, 40 queries"]
        print(f"exact against faiss, 40: {ratio('faiss-cpu flat, 40 queries', 'exact, 40 queries')} (goal 3)")
        print(f"exact against faiss, 1: {ratio('faiss-cpu flat, 1 query', 'exact, 1 query')}")
        print(f"the same rows in {recall(theirs, rows):.4f} of places (ties and rounding aside)")


if __name__ == "__main__":
    main()
