"""CPU seconds of a leaderboard of 14 conditions x 6,000 items, against evalconfidence, and of 100,000 looks.

`make bench` runs it. A peer that is not installed is reported as such.
"""

import importlib.util
import itertools
import time

import numpy as np

from richter.floors import compare, difference_sequence, ece_sequence, rate_sequence

MODELS, ITEMS, LOOKS = 14, 6000, 100_000


def seconds(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def peer_seconds(grades: np.ndarray) -> float | None:
    if importlib.util.find_spec("evalconfidence") is None:
        return None
    from evalconfidence import ItemResult
    from evalconfidence import compare as peer_compare

    names = [f"m{k}" for k in range(MODELS)]
    rows = {
        name: [
            ItemResult(item_id=str(i), model_id=name, score=float(grades[i, k]), correct=bool(grades[i, k]))
            for i in range(ITEMS)
        ]
        for k, name in enumerate(names)
    }
    return seconds(lambda: [peer_compare(rows[a], rows[b]) for a, b in itertools.combinations(names, 2)])


def main() -> None:
    rng = np.random.default_rng(0)
    difficulty = rng.normal(size=(ITEMS, 1))
    grades = (rng.normal(size=(ITEMS, MODELS)) + np.linspace(-0.5, 1.5, MODELS) > difficulty).astype(float)
    confidence = rng.beta(4, 2, size=grades.shape)
    compare(grades[:100, :3], rng=rng, confidence=confidence[:100, :3])  # compile and warm up
    ours = seconds(lambda: compare(grades, rng=rng))
    print(f"all {MODELS * (MODELS - 1) // 2} pairs, accuracy with 2,000 resamples: {ours:.2f} s of CPU")
    peer = peer_seconds(grades)
    if peer is None:
        print("evalconfidence: not installed")
    else:
        print(f"evalconfidence, accuracy without bootstrap: {peer:.2f} s, {peer / ours:.0f} times ours")
    everything = seconds(lambda: compare(grades, rng=rng, confidence=confidence))
    print(f"accuracy and calibration, 2,000 resamples: {everything:.2f} s")
    clustered = seconds(lambda: compare(grades, rng=rng, confidence=confidence, groups=np.arange(ITEMS) // 6))
    print(f"the same clustered in 1,000 groups: {clustered:.2f} s")
    wrong = (rng.random(LOOKS) < 0.03).astype(float)
    right = (rng.random(LOOKS) < 0.95).astype(float)
    score = rng.random(LOOKS)
    for name, work in (
        ("rate", lambda: rate_sequence(wrong)),
        ("paired difference", lambda: difference_sequence(1 - wrong, right)),
        ("ECE", lambda: ece_sequence(score, right)),
    ):
        work()
        print(f"confidence sequence of a {name} over {LOOKS:,} observations: {seconds(work):.3f} s")


if __name__ == "__main__":
    main()
