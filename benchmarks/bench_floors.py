"""CPU seconds of a leaderboard of 14 conditions x 6,000 items, against evalconfidence, and of 100,000 looks.

`make bench` runs it. A peer that is not installed is reported as such.
"""

import importlib.util
import itertools
import time

import numpy as np
import polars as pl

import richter
from richter.floors import difference_sequence, ece_sequence, rate_sequence

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
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(ITEMS), MODELS),
            "condition": np.tile([f"m{k}" for k in range(MODELS)], ITEMS),
            "correct": grades.ravel(),
        }
    )
    sure = frame.with_columns(pl.Series("confidence", confidence.ravel()))
    grouped = sure.with_columns(group=pl.col("item") // 6)
    richter.open(sure.head(MODELS * 100)).compare()  # load and warm up
    ours = seconds(lambda: richter.open(frame).compare())
    print(f"all {MODELS * (MODELS - 1) // 2} pairs of a frame, read and compared: {ours:.2f} s of CPU")
    peer = peer_seconds(grades)
    if peer is None:
        print("evalconfidence: not installed")
    else:
        print(f"evalconfidence, accuracy without bootstrap: {peer:.2f} s, {peer / ours:.1f} times ours")
    print(f"with calibration: {seconds(lambda: richter.open(sure).compare()):.2f} s")
    print(f"the same in 1,000 groups: {seconds(lambda: richter.open(grouped).compare()):.2f} s")
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
