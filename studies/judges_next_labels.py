"""How many labels settle a claim, and what is shown falsely: labels chosen for the claim against simple random ones.

300 questions under two conditions, severities of 0 to 4; two judges that overcall, and are harsher to the second
condition; questions on which judges are wrong in both conditions. A first sample of 60, batches of 20, 200 at most, a
look after each. Chosen: as `richter label` draws (strata of condition and band, the same questions under both, batches
where they narrow the claim most). Random: as many labels of each condition at random. For each world: how often the
claim is decided, how often falsely, how many labels it took on average (200 where it was not), and how often the 95%
interval at the last look holds the truth.
"""

import functools

import numpy as np
import polars as pl
from driver import Cell, run_study

from richter.audit import labelling_of
from richter.ratings import Sample, draw_sample
from richter.records import Answer
from richter.tables import read_tables

N, FIRST, BATCH, MOST = 300, 60, 20, 200
NAMES = ("old", "new")


def _on_grid(x: np.ndarray) -> np.ndarray:
    return np.clip(np.round(2 * x) / 2, 0, 4)


def world(gap: float, rng: np.random.Generator) -> tuple[dict, dict]:
    """People's severities by answer, and two judges' scores of each."""
    hard, trap = rng.normal(0, 0.6, N), 0.6 * rng.standard_normal(N)
    true, judged = {}, {}
    for k, name in enumerate(NAMES):
        level = _on_grid(np.where(rng.random(N) < 0.35, 0.0, 0.6 + hard + rng.exponential(0.9, N)) + gap * k)
        harsh = level + 0.3 + 0.2 * k + trap
        scores = [_on_grid(harsh + 0.5 * rng.standard_normal(N)) for _ in range(2)]
        for i in range(N):
            true[f"q{i:03d}", name, 0] = float(level[i])
            judged[f"q{i:03d}", name, 0] = tuple(float(s[i]) for s in scores)
    return true, judged


@functools.cache
def truth_of(gap: float) -> float:
    """The difference of mean severities of all such answers."""
    rng = np.random.default_rng(1)
    found = [world(gap, rng)[0] for _ in range(400)]
    return float(np.mean([np.mean([v if k[1] == "new" else -v for k, v in t.items()]) for t in found]) * 2)


def random_sample(keys: list, rng: np.random.Generator) -> tuple[Sample, list]:
    """A first sample with half of the labels of each condition at random, and what comes after it."""
    orders = [[k for k in keys if k[1] == name] for name in NAMES]
    for order in orders:
        rng.shuffle(order)
    both = [key for pair in zip(*orders, strict=True) for key in pair]
    return Sample(chosen=tuple(both[:FIRST]), strata={k: k[1] for k in keys}, seed=0), both


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether the claim is decided, and falsely; by how many labels; whether the last interval holds the truth."""
    true, judged = world(cell["gap"], rng)
    rows = [(*key[:2], f"judge {k}", "judge", s) for key, pair in judged.items() for k, s in enumerate(pair)]
    tables = read_tables(pl.DataFrame(rows, schema=["item", "condition", "rater", "kind", "severity"], orient="row"))
    if cell["design"] == "chosen":
        answers = [Answer(text="x", item=k[0], condition=k[1]) for k in true]
        scores = {key: float(np.mean(pair)) for key, pair in judged.items()}
        sample, order = draw_sample(answers, scores, FIRST, seed=int(rng.integers(2**31))), []
    else:
        sample, order = random_sample(list(true), rng)
    plan = labelling_of(tables, sample, conditions=NAMES, on="mean_severity", batch=BATCH, most=MOST)
    assert plan is not None
    while True:
        labels = {key: (true[key],) for key in sample.chosen}
        state = plan.state(labels)
        if state.decided or len(sample.chosen) >= MOST:
            break
        larger = plan.grow(sample, labels) if cell["design"] == "chosen" else None
        if cell["design"] == "random":
            sample = Sample(chosen=tuple(order[: len(labels) + BATCH]), strata=sample.strata, seed=0)
        elif larger is None:
            break
        else:
            sample = larger
    assert state.interval is not None
    is_false = state.decided and (cell["gap"] == 0 or (state.estimate or 0.0) < 0)
    return {
        "decided %": state.decided, "falsely %": is_false, "labels": len(labels) if state.decided else MOST,
        "cover at the last look %": truth_of(cell["gap"]) in state.interval,
    }  # fmt: skip


if __name__ == "__main__":
    cells = [{"gap": gap, "design": design} for gap in (0.0, 0.3) for design in ("chosen", "random")]
    run_study(__file__, cells, trial, trials=500)
