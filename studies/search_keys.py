"""How often the stated share of bad keys covers the truth, by simulated readers of known quality.

`python studies/search_keys.py [--exports 500]`: failing questions of which some have bad keys, read by a tested model,
a checker or none, and the writer, who passed every key once and misses half of what it missed again. Readers flag 3% of
good keys. A part of the bad keys is hard: seen 0.55 times as often as planted ones. Prints for each cell how often the
95% interval holds the share of bad keys among those that survive, and its mean upper limit.
"""

import argparse

import numpy as np

from richter_audit.ascent import PlantedKeys, estimate_bad_keys

READERS = {
    "good, checker": (0.85, 0.95),
    "middling, checker": (0.6, 0.8),
    "weak, checker": (0.3, 0.5),
    "good": (0.85,),
    "middling": (0.6,),
    "weak": (0.3,),
}
WRITER, FALSE, HARDER, PLANTED = 0.85, 0.03, 0.55, 30


def one_export(rng, n, bad, readers, hard):
    """Whether the interval of one export covers, and its upper limit; None where no key survives."""
    is_bad = rng.random(n) < bad
    ease = np.where(rng.random(n) < hard, HARDER, 1.0)
    flags = rng.random((n, len(readers))) < np.where(is_bad[:, None], ease[:, None] * readers, FALSE)
    by_writer = rng.random(n) < np.where(is_bad, ease * WRITER / 2, FALSE)
    survives = ~(flags.any(axis=1) | by_writer)
    if not survives.any():
        return None
    noticed = (rng.random((min(PLANTED, n), len(readers))) < readers).any(axis=1)
    planted = PlantedKeys(len(noticed), int(noticed.sum()))
    survived = int(survives.sum())
    _, interval = estimate_bad_keys(n - survived, survived=survived, planted=planted)
    return bool((is_bad & survives).sum() / survived <= interval.high + 1e-12), interval.high


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exports", type=int, default=500)
    options = parser.parse_args()
    rng = np.random.default_rng(2)
    for hard in (0.0, 0.2, 0.5, 1.0):
        for name, readers in READERS.items():
            for n in (40, 100, 300):
                for bad in (0.02, 0.1, 0.3):
                    made = [one_export(rng, n, bad, np.array(readers), hard) for _ in range(options.exports)]
                    covered, high = np.array([each for each in made if each is not None], dtype=float).T
                    print(f"{hard:.0%} hard, {name}, {n} keys, {bad:.0%} bad: covered {covered.mean():.3f} of "
                          f"{len(covered)}, upper limit {high.mean():.2f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
