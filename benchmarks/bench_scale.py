"""Figures of docs/validation/reliability.md that no other benchmark prints: embedding and a slope with its bootstrap.

Processor time, the best of three. Texts are those of the facts base (its divisions), three and fifteen joined to one.
"""

import importlib.util
import time
from itertools import chain, islice

import numpy as np

from richter.severity import estimate_b


def cpu_s(work):
    work()  # compiles and loads
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def bench_embedding():
    if any(importlib.util.find_spec(name) is None for name in ("wordllama", "pycountry")):
        print("embedding: wordllama or the facts packages are not installed")
        return
    from richter.texts import embed
    from richter_audit.bench import World, fact_documents

    documents = fact_documents(World(), parts=("divisions",))
    texts = list(islice((p.text for p in chain.from_iterable(d.paragraphs for d in documents)), 6_000))
    for count in (3, 15):
        joined = [" ".join(texts[i : i + count]) for i in range(0, len(texts), count)]
        characters, seconds = np.mean([len(text) for text in joined]), cpu_s(lambda joined=joined: embed(joined))
        print(f"embedding, texts of {characters:.0f} characters: {len(joined) / seconds:,.0f} a second of CPU")


def bench_slope(n=2_500, n_resamples=2_000):
    rng = np.random.default_rng(0)
    severity = np.minimum(np.round(rng.exponential(0.8, n) * 2) / 2, 4)  # simulated
    seconds = cpu_s(lambda: estimate_b(severity, n_resamples=n_resamples, rng=rng))
    print(f"slope b of {n:,} simulated scores, {n_resamples:,} bootstraps: {seconds * 1e3:.1f} ms of CPU")


def main():
    bench_embedding()
    bench_slope()


if __name__ == "__main__":
    main()
