"""False and true verdicts of whole pages with margins, by the truth: one pair, 3 and 6 conditions, measures after them.

Estimates are normal with a known standard error, as many as there are pairs, and `decide` gives the verdicts. A page is
false where one claim says what is not so: a difference (also "real but within the margin") where there is none,
"equivalent" of one of the margin or more. Measures that come after have a margin where they lie at it.

Usage: python studies/core_family.py OUT.jsonl [pages]   (again with the same OUT goes on where it stopped)
"""

import itertools
import json
import sys
import zlib
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from richter.claims import METRICS, Evidence, Question, decide, joint_law
from richter.records import Claim, Interval, Verdict

ITEMS = 400  # a condition's mean has a standard error of 1 / sqrt(2), a difference of 1
# a world: means of the conditions, the margin and the means of a secondary measure, in standard errors of a difference
WORLDS: dict[str, tuple[list[float], float | None, list[float] | None, bool]] = {}


def world(name: str, means: list[float], margin: float | None, after: list[float] | None = None) -> None:
    WORLDS[name] = (means, margin, after, False)


for far in (2.0, 3.6, 6.0):
    world(f"pair: 0, margin {far}", [0, 0], far)
    world(f"pair: at the margin {far}", [0, far], far)
    world(f"pair: half of the margin {far}", [0, far / 2], far)
    world(f"pair: 0, margin {far}; after it none", [0, 0], far, [0, 0])
    world(f"pair: at the margin {far}; after it none", [0, far], far, [0, 0])
    world(f"pair: at the margin {far}; after it at the margin", [0, far], far, [0, far])
world("pair: 2.8, no margin", [0, 2.8], None)
world("pair: 2.8, margin 2", [0, 2.8], 2.0)
world("pair: 2.8, margin 2; after it 2.8", [0, 2.8], 2.0, [0, 2.8])
world("pair: 2.8, no margin; after it 2.8", [0, 2.8], None, [0, 2.8])
world("pair: 5, margin 2; after it 2.8", [0, 5], 2.0, [0, 2.8])
world("pair: 0, margin 3.5", [0, 0], 3.5)
world("pair: 0, margin 5; after it 2.8", [0, 0], 5.0, [0, 2.8])
for size in (3, 6):
    world(f"{size} conditions: all 0, margin 4", [0.0] * size, 4.0)
    world(f"{size} conditions: one at the margin 4", [4.0] + [0.0] * (size - 1), 4.0)
    world(f"{size} conditions: one at the margin 8", [8.0] + [0.0] * (size - 1), 8.0)
    world(f"{size} conditions: half at the margin 8", [8.0 * (k % 2) for k in range(size)], 8.0)
    world(f"{size} conditions: steps of half the margin 4", [2.0 * k for k in range(size)], 4.0)
    world(
        f"{size} conditions: steps of 8, margin 4; after them none", [8.0 * k for k in range(size)], 4.0, [0.0] * size
    )
    world(f"{size} conditions: all 0, margin 9; after them none", [0.0] * size, 9.0, [0.0] * size)
    world(f"{size} conditions: one at the margin 8; after them none", [8.0] + [0.0] * (size - 1), 8.0, [0.0] * size)
    world(f"{size} conditions: one 4, margin 3", [4.0] + [0.0] * (size - 1), 3.0)
for name, (means, margin, after, _) in list(WORLDS.items()):
    if len(means) > 2:
        WORLDS[f"against the first, {name}"] = means, margin, after, True


def evidence(estimate: float) -> Evidence:
    def interval(level: float) -> Interval:
        reach = float(ndtri(0.5 + level / 2))
        return Interval(low=estimate - reach, high=estimate + reach, level=level, method="normal")

    return Evidence(
        estimate=estimate, interval=interval, p=lambda value: 2 * float(ndtr(-abs(estimate - value))), n=9, units=9,
        standard_error=1.0,
    )  # fmt: skip


def page(
    means: list[float], margin: float | None, after: list[float] | None, control: bool, rng: np.random.Generator
) -> list[tuple[Claim, float]]:
    """Every claim and its truth."""
    size = len(means)
    pairs = [(0, k) for k in range(1, size)] if control else list(itertools.combinations(range(size), 2))
    names = [tuple("abcdef"[k] for k in pair) for pair in pairs]
    questions, truths, joint = [], [], None
    for metric, truth in (("mean_score", means), ("tokens", after)):
        if truth is not None:
            seen = np.array(truth) + rng.normal(size=size) / np.sqrt(2)
            for (a, b), conditions in zip(pairs, names, strict=True):
                questions.append(
                    Question(
                        metric=METRICS[metric], conditions=conditions, evidence=evidence(float(seen[b] - seen[a])),
                        primary=metric == "mean_score",
                        margin=margin if metric == "mean_score" or margin in truth else None,
                    )
                )  # fmt: skip
                truths.append(truth[b] - truth[a])
    if control:
        noise = rng.normal(size=(ITEMS, size))
        noise -= noise.mean(axis=0)
        sums = np.stack([noise[:, b] - noise[:, a] for a, b in pairs], axis=1)
        joint = joint_law([("mean_score", n) for n in names], sums, rng=rng, n_resamples=1000)
    return list(zip(decide(questions, joint=joint), truths, strict=True))


def false(claim: Claim, truth: float) -> bool:
    real = claim.verdict is Verdict.VERIFIED or "real but within" in claim.sentence
    alike = claim.verdict is Verdict.EQUIVALENT and claim.margin is not None
    return (real and truth == 0) or (alike and abs(truth) >= (claim.margin or 0.0))


def row(name: str, pages: int) -> dict[str, object]:
    means, margin, after, control = WORLDS[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    wrong, shown = 0, {(place, v): 0 for place in (True, False) for v in (Verdict.VERIFIED, Verdict.EQUIVALENT)}
    asked = {True: 0, False: 0}
    for _ in range(pages):
        found = page(means, margin, after, control, rng)
        wrong += any(false(*pair) for pair in found)
        for claim, _ in found:
            asked[claim.primary] += 1
            if (claim.primary, claim.verdict) in shown:
                shown[claim.primary, claim.verdict] += 1
    return {
        "world": name, "pages": pages, "false_percent": round(100 * wrong / pages, 2),
        **{
            f"{'first' if place else 'after'}_{v.value}_percent": round(100 * k / asked[place], 1)
            for (place, v), k in shown.items()
            if asked[place]
        },
    }  # fmt: skip


def main() -> None:
    out, pages = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    done = {json.loads(line)["world"] for line in out.read_text().splitlines()} if out.exists() else set()
    for name in WORLDS:
        if name not in done:
            found = row(name, pages // 5 if name.startswith("against") else pages)
            print(found, flush=True)
            with out.open("a") as file:
                file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
