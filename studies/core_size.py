"""False "verified" and cover of the core: units, kinds of data, whole pages, and gates at their limit.

Usage: python studies/core_size.py OUT.jsonl [runs] [part ..]   (again with the same OUT goes on where it stopped)
       python studies/core_size.py OUT.jsonl table              (what is there, as Markdown)

Parts: cells (two alike conditions, and a true difference, over groups x draws x kinds x items), pages (any false
"verified" on a page of 2, 3 and 14 alike, calibrated conditions), gates (rules at their limit), margins.
Conditions that are alike have effects on items and groups of their own, from one law: neither is better on average.
"""

import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

from richter.claims import (
    METRICS,
    Outcomes,
    Question,
    Sample,
    compare_outcomes,
    difference_evidence,
    ece_difference,
    ece_side,
    mean_evidence,
    require,
)
from richter.records import Verdict

KINDS = {
    "binary": "accuracy",
    "rare": "catastrophic_rate",
    "three levels": "mean_severity",
    "bounded": "mean_score",
    "heavy": "money",
}
SHIFT = {"binary": 0.25, "rare": 0.4, "three levels": 0.3, "bounded": 0.2, "heavy": 0.3}


def latent(rng: np.random.Generator, n: int, groups: int | None, conditions: int) -> np.ndarray:
    """Items x conditions: difficulty, and each condition's own effects on items and on groups."""
    u = rng.normal(0, 0.7, size=(n, 1)) + rng.normal(0, 0.4, size=(n, conditions))
    if groups is not None:
        place = np.arange(n) * groups // n
        u = u + rng.normal(0, 0.5, size=(groups, 1))[place] + rng.normal(0, 0.4, size=(groups, conditions))[place]
    return u


def draws_of(rng: np.random.Generator, kind: str, u: np.ndarray, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean over draws and the squared deviations, items x conditions."""
    if kind in ("binary", "rare"):
        p = ndtr(u + (0.4 if kind == "binary" else -2.4))
        hits = rng.binomial(draws, p)
        mean = hits / draws
        return mean, draws * mean * (1 - mean)
    noise = rng.normal(0, 0.7, size=(*u.shape, draws))
    x = u[..., None] + noise
    if kind == "three levels":
        value = (x > 0.5).astype(float) + (x > 1.3)
    elif kind == "bounded":
        value = np.clip(0.5 + 0.6 * x, 0, 1)
    else:
        value = np.exp(x)
    mean = value.mean(axis=2)
    return mean, ((value - mean[..., None]) ** 2).sum(axis=2)


def truth(kind: str, shift: float, groups: int | None) -> float:
    """The true difference, by the law itself (heavy: of geometric means, as a ratio minus 1)."""
    if shift == 0:
        return 0.0
    if kind == "heavy":
        return float(np.expm1(shift))
    rng = np.random.default_rng(1)
    spread = 0.7**2 + 0.4**2 + (0.0 if groups is None else 0.5**2 + 0.4**2)
    u = rng.normal(0, np.sqrt(spread), size=(1_000_000, 1))
    means = [draws_of(rng, kind, u + s, 1)[0].mean() for s in (0.0, shift)]
    if kind in ("binary", "rare"):
        at = 0.4 if kind == "binary" else -2.4
        means = [float(ndtr((at + s) / np.sqrt(1 + spread))) for s in (0.0, shift)]
    return float(means[1] - means[0])


def sample_of(metric: str, mean: np.ndarray, within: np.ndarray, draws: int, group: np.ndarray | None) -> Sample:
    n, conditions = mean.shape
    empty = np.zeros(0, dtype=np.intp)
    outcomes = Outcomes(
        metric=METRICS[metric] if metric != "mean_score" else _bounded(),
        items=tuple(map(str, range(n))),
        conditions=tuple(f"m{k}" for k in range(conditions)),
        item=empty,
        condition=empty,
        value=np.zeros(0),
        group=group,
    )
    return Sample(outcomes=outcomes, mean=mean, draws=np.full(mean.shape, draws), within=within)


def _bounded() -> Any:
    import dataclasses

    return dataclasses.replace(METRICS["mean_score"], low=0.0, high=1.0)


def cells() -> Iterator[dict[str, Any]]:
    for kind, groups, draws, items in itertools.product(KINDS, (None, 15, 40, 200), (1, 4, 30), (20, 60, 400, 6000)):
        if groups is None or items >= 2 * groups:
            yield {"part": "cells", "kind": kind, "groups": groups, "draws": draws, "items": items}
    for kind in ("binary", "rare"):  # what was measured before
        yield {"part": "cells", "kind": kind, "groups": None, "draws": 10, "items": 100}
        yield {"part": "cells", "kind": kind, "groups": None, "draws": 30, "items": 30}
        yield {"part": "cells", "kind": kind, "groups": 40, "draws": 1, "items": 400}


def run_cell(cell: dict[str, Any], runs: int, rng: np.random.Generator) -> dict[str, float]:
    kind, groups, n = cell["kind"], cell["groups"], cell["items"]
    group = None if groups is None else np.arange(n) * groups // n
    found = {"false": 0, "cover": 0, "cover_shift": 0, "undecidable": 0, "sparse": 0}
    real = truth(kind, SHIFT[kind], groups)
    for _ in range(runs):
        u = latent(rng, n, groups, 2)
        for shift in (0.0, SHIFT[kind]):
            mean, within = draws_of(rng, kind, u + np.array([0.0, shift]), cell["draws"])
            evidence = difference_evidence(sample_of(KINDS[kind], mean, within, cell["draws"], group), "m0", "m1")
            interval = evidence.interval(0.95)
            if shift == 0:
                found["false"] += 0.0 not in interval
                found["undecidable"] += interval.method == "the whole range"
                found["sparse"] += "gamma" in interval.method or "range x" in interval.method
            else:
                found["cover_shift"] += real in interval
    return {name: count / runs for name, count in found.items() if name != "cover"}


def pages() -> Iterator[dict[str, Any]]:
    for conditions, first in itertools.product((2, 3, 14), ("accuracy", "ece")):
        yield {"part": "pages", "conditions": conditions, "first": first, "items": 300}


def run_page(cell: dict[str, Any], runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Calibrated: an answer is right with the probability that its confidence says."""
    n, number = cell["items"], cell["conditions"]
    false = 0
    for _ in range(runs):
        sure = ndtr(0.8 + latent(rng, n, None, number))
        right = rng.random((n, number)) < sure
        severity = np.where(right, 0.0, rng.integers(1, 9, size=(n, number)) / 2)
        zero = np.zeros((n, number))
        made = [
            sample_of("accuracy", right.astype(float), zero, 1, None),
            sample_of("mean_severity", severity, zero, 1, None),
            sample_of("catastrophic_rate", (severity >= 3).astype(float), zero, 1, None),
        ]
        sides = [ece_side(sure[:, k], right[:, k].astype(float)) for k in range(number)]
        more = [
            Question(
                metric=METRICS["ece"],
                conditions=(f"m{i}", f"m{j}"),
                evidence=ece_difference(sides[i], sides[j]),
                primary=cell["first"] == "ece",
            )
            for i, j in itertools.combinations(range(number), 2)
        ]
        claims = compare_outcomes(made, more=more).claims
        false += any(c.verdict is Verdict.VERIFIED for c in claims)
    return {"false": false / runs}


def gates() -> Iterator[dict[str, Any]]:
    for rule, (items, draws) in itertools.product(
        ("error_rate below", "accuracy no_worse", "catastrophic_rate no_worse"), ((100, 10), (400, 1), (30, 30))
    ):
        yield {"part": "gates", "rule": rule, "items": items, "draws": draws}


def run_gate_cell(cell: dict[str, Any], runs: int, rng: np.random.Generator) -> dict[str, float]:
    """The truth stands at the limit: every pass and every violation is false."""
    kind = "rare" if "catastrophic" in cell["rule"] else "binary"
    shift = SHIFT[kind]
    passed = violated = 0
    for _ in range(runs):
        u = latent(rng, cell["items"], None, 2)
        if cell["rule"] == "error_rate below":
            mean, within = draws_of(rng, kind, u, cell["draws"])
            made = sample_of("error_rate", 1 - mean, within, cell["draws"], None)
            limit = 1 - float(ndtr(0.4 / np.sqrt(1 + 0.7**2 + 0.4**2)))
            evidence, names = mean_evidence(made, "m0", exact=True), ("m0",)
            question = Question(
                metric=METRICS["error_rate"], conditions=names, evidence=evidence, relation="below", value=limit
            )
        else:
            sign = -1 if kind == "binary" else 1
            mean, within = draws_of(rng, kind, u + np.array([0.0, sign * shift]), cell["draws"])
            spread = np.sqrt(1 + 0.7**2 + 0.4**2)
            at = 0.4 if kind == "binary" else -2.4
            limit = float(ndtr((at + sign * shift) / spread) - ndtr(at / spread))
            made = sample_of(KINDS[kind], mean, within, cell["draws"], None)
            question = Question(
                metric=METRICS[KINDS[kind]],
                conditions=("m0", "m1"),
                evidence=difference_evidence(made, "m0", "m1", exact=True),
                relation="above" if kind == "binary" else "below",
                value=limit,
            )
        (claim,) = require([question])
        passed += claim.verdict is Verdict.VERIFIED
        violated += claim.verdict is Verdict.REFUTED
    return {"false_pass": passed / runs, "false_violation": violated / runs}


def margins() -> Iterator[dict[str, Any]]:
    for conditions, margin in itertools.product((2, 3), (0.03, 0.10)):
        yield {"part": "margins", "conditions": conditions, "margin": margin, "items": 300}


def run_margin(cell: dict[str, Any], runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Alike conditions with a margin: false "verified"; and one at the margin: false "equivalent"."""
    n, number = cell["items"], cell["conditions"]
    verified = equivalent = 0
    for _ in range(runs):
        hard = rng.random((n, 1))
        right = (rng.random((n, number)) < hard).astype(float)
        made = sample_of("accuracy", right, np.zeros_like(right), 1, None)
        other = sample_of("catastrophic_rate", (rng.random((n, number)) < 0.1).astype(float), right * 0, 1, None)
        claims = compare_outcomes([made, other], margins={"accuracy": cell["margin"]}).claims
        verified += any(c.verdict is Verdict.VERIFIED for c in claims)
        up = right.copy()
        flips = rng.random(n) < cell["margin"] / 0.5
        up[:, -1] = np.where(flips, 1.0, right[:, -1])
        claims = compare_outcomes(
            [sample_of("accuracy", up, right * 0, 1, None)], margins={"accuracy": cell["margin"]}
        ).claims
        equivalent += any(c.verdict is Verdict.EQUIVALENT for c in claims if f"m{number - 1}" in c.conditions)
    return {"false": verified / runs, "false_equivalent": equivalent / runs}


PARTS = {
    "cells": (cells, run_cell),
    "pages": (pages, run_page),
    "gates": (gates, run_gate_cell),
    "margins": (margins, run_margin),
}


def table(rows: list[tuple[dict[str, Any], dict[str, float]]]) -> Iterator[str]:
    """Ranges by kind and groups, sparse cells (most runs by gamma or range limits) apart."""
    yield "| data | groups | cells | false verified, % | cover at a true difference, % |"
    yield "|---|---|---|---|---|"
    kinds = itertools.product(KINDS, (None, 15, 40, 200), (False, True))
    for kind, groups, sparse in kinds:
        own = [
            (c, f)
            for c, f in rows
            if c["part"] == "cells" and (c["kind"], c["groups"]) == (kind, groups) and _sparse(c, f) is sparse
        ]
        if own:
            low, high = (fn(100 * f["false"] for _, f in own) for fn in (min, max))
            under, over = (fn(100 * f["cover_shift"] for _, f in own) for fn in (min, max))
            name = f"{kind}{', few differ' if sparse else ''}"
            said = f"{low:.1f} to {high:.1f} | {under:.1f} to {over:.1f}"
            yield f"| {name} | {groups or 'none'} | {len(own)} | {said} |"
    for c, f in rows:
        if c["part"] != "cells":
            what = ", ".join(f"{k} {v}" for k, v in c.items())
            yield f"- {what}: " + ", ".join(f"{k} {100 * v:.1f}%" for k, v in f.items() if k != "runs")


def _sparse(cell: dict[str, Any], found: dict[str, float]) -> bool:
    return found["sparse"] > 0.5 or (cell["kind"] == "rare" and cell["items"] == 20)


def main() -> None:
    if sys.argv[2:] == ["table"]:
        lines = (line.split("|") for line in Path(sys.argv[1]).read_text().splitlines())
        print("\n".join(table([(json.loads(cell), json.loads(found)) for cell, found in lines])))
        return
    out, runs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    wanted = sys.argv[3:] or list(PARTS)
    done = {line.split("|")[0] for line in out.read_text().splitlines()} if out.exists() else set()
    for part in wanted:
        make, run = PARTS[part]
        for cell in sorted(make(), key=lambda c: c.get("items", 0) * c.get("draws", 1)):
            name = json.dumps(cell)
            if name in done:
                continue
            done.add(name)
            start = time.process_time()
            found = run(cell, runs, np.random.default_rng(list(name.encode())))
            with out.open("a") as file:
                file.write(f"{name}|{json.dumps(found | {'runs': runs})}\n")
            print(name, found, f"{time.process_time() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
