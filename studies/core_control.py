"""What a stated control saves: power per claim of 12 prompts against a baseline, and of all 78 pairs.

Usage: python studies/core_control.py OUT.jsonl [runs]   (again with the same OUT goes on where it stopped)
"""

import json
import sys
from pathlib import Path

import numpy as np

from richter.claims import (
    METRICS,
    Asked,
    Outcomes,
    Question,
    as_sample,
    decide,
    difference_evidence,
    joint_tests,
    pairs_of,
)
from richter.records import Claim, Verdict


def grades(rng: np.random.Generator, n: int, prompts: int, discordance: float, gains: list[float]) -> np.ndarray:
    x = np.empty((n, prompts + 1))
    x[:, 0] = rng.random(n) < 0.6
    for k in range(1, prompts + 1):
        up = rng.random(n) < (discordance + gains[k - 1]) / 2 / 0.4
        down = rng.random(n) < (discordance - gains[k - 1]) / 2 / 0.6
        x[:, k] = np.where(x[:, 0] == 0, up, ~down)
    return x


def outcomes(x: np.ndarray) -> Outcomes:
    item, condition = np.indices(x.shape).reshape(2, -1)
    return Outcomes(
        metric=METRICS["accuracy"],
        items=tuple(str(k) for k in range(len(x))),
        conditions=tuple(f"p{k}" for k in range(x.shape[1])),
        item=item,
        condition=condition,
        value=x.ravel(),
    )


def decided(x: Outcomes, control: str | None, rng: np.random.Generator) -> tuple[Claim, ...]:
    """The claims on all pairs, or on all others against a control by the law of their largest t."""
    sample, pairs = as_sample(x), pairs_of(x.conditions, control=control)
    asked = [
        Asked(
            question=Question(measure="accuracy", conditions=pair),
            metric=x.metric,
            evidence=difference_evidence(sample, *pair),
        )
        for pair in pairs
    ]
    return decide(asked, joint=None if control is None else joint_tests(sample, pairs, rng=rng))


def cell(discordance: float, gain: float, runs: int) -> dict[str, float]:
    rng = np.random.default_rng(round(1000 * discordance))
    row = {"control": 0.0, "pairs": 0.0, "false_control": 0.0, "false_pairs": 0.0}
    for _ in range(runs):
        x = outcomes(grades(rng, 500, 12, discordance, [gain] + [0.0] * 11))
        for name, control in (("control", "p0"), ("pairs", None)):
            shown = {c.conditions for c in decided(x, control, rng) if c.verdict is Verdict.VERIFIED}
            row[name] += (("p0", "p1") in shown) / runs
            row[f"false_{name}"] += any("p1" not in pair or gain == 0 for pair in shown) / runs
    return row


def main() -> None:
    out, runs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 400
    done = {json.loads(line)["cell"] for line in out.read_text().splitlines()} if out.exists() else set()
    for gain in (0.04, 0.0):
        for discordance in (0.10, 0.20, 0.30):
            name = f"discordance {discordance:.2f} gain {gain:.2f}"
            if name not in done:
                row = {"cell": name, **cell(discordance, gain, runs)}
                print(row, flush=True)
                with out.open("a") as file:
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
