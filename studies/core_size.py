"""False "verified" and cover of the core: units, kinds of data, whole pages, and gates at their limit.

Usage: python studies/core_size.py [OUT.jsonl] [runs] [part ..]   (again with the same OUT goes on where it stopped)
       python studies/core_size.py OUT.jsonl table                (what is there, as Markdown)

Parts: cells (two alike conditions, and a true difference, over groups x draws x kinds x items), pages (any false
"verified" in each family of a page of 2, 3 and 14 alike, calibrated conditions with every measure), reports (any false
one by the commands), gates (rules at their limit), margins, runs (crossed with items), unpaired (different items), rare
(rates in groups of which few have an error: what the limits do on each side of the truth).
OUT: soak/core_size.jsonl by default.
Conditions that are alike have effects on items and groups of their own, from one law: neither is better on average.
"""

import collections
import dataclasses
import functools
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from cells import go_on, records
from scipy.special import expit, ndtr

from richter.audit import compare_tables, measure_run
from richter.claims import (
    METRICS,
    Asked,
    Evidence,
    Outcomes,
    Question,
    Sample,
    as_sample,
    decide,
    difference_evidence,
    ece_difference,
    ece_side,
    mean_evidence,
    total_evidence,
    unpaired_evidence,
)
from richter.records import Verdict
from richter.severity import severity_given_error
from richter.stats import find_root, unit_rate
from richter.tables import read_tables

KINDS = {
    "binary": "accuracy",
    "rare": "catastrophic_rate",
    "three levels": "mean_severity",
    "bounded": "mean_score",
    "heavy": "money",
}
NOISE = 0.7  # of a draw, on the scale of difficulties
SHIFT = {"binary": 0.25, "rare": 0.4, "three levels": 0.3, "bounded": 0.2, "heavy": 0.3}


BOUNDED = dataclasses.replace(METRICS["mean_score"], low=0.0, high=1.0)


def latent(rng: np.random.Generator, n: int, groups: int | None, conditions: int) -> np.ndarray:
    """Items x conditions: difficulty, and each condition's own effects on items and on groups."""
    u = rng.normal(0, 0.7, size=(n, 1)) + rng.normal(0, 0.4, size=(n, conditions))
    if groups is not None:
        place = np.arange(n) * groups // n
        u = u + rng.normal(0, 0.5, size=(groups, 1))[place] + rng.normal(0, 0.4, size=(groups, conditions))[place]
    return u


def means_of(rng: np.random.Generator, kind: str, u: np.ndarray, draws: int) -> np.ndarray:
    """The mean over draws, items x conditions; by counts where values have few levels."""
    if kind in ("binary", "rare"):
        return rng.binomial(draws, ndtr(u + (0.4 if kind == "binary" else -2.4))) / draws
    if kind == "three levels":
        low, high = (ndtr((u - at) / NOISE) for at in (0.5, 1.3))
        twos = rng.binomial(draws, high)
        return (rng.binomial(draws - twos, (low - high) / (1 - high)) + 2 * twos) / draws
    x = rng.standard_normal((draws, *u.shape), dtype=np.float32)
    x *= NOISE
    x += u.astype(np.float32)
    if kind == "bounded":
        x *= 0.6
        x += 0.5
        np.clip(x, 0, 1, out=x)
    else:
        np.exp(x, out=x)
    return np.mean(x, axis=0, dtype=np.float64)


def truth(kind: str, shift: float, groups: int | None) -> float:
    """The true difference, by the law itself (heavy: of geometric means, as a ratio minus 1)."""
    if shift == 0:
        return 0.0
    if kind == "heavy":
        return float(np.expm1(shift))
    rng = np.random.default_rng(1)
    spread = 0.7**2 + 0.4**2 + (0.0 if groups is None else 0.5**2 + 0.4**2)
    u = rng.normal(0, np.sqrt(spread), size=(1_000_000, 1))
    means = [float(means_of(rng, kind, u + s, 1).mean()) for s in (0.0, shift)]
    if kind in ("binary", "rare"):
        at = 0.4 if kind == "binary" else -2.4
        means = [float(ndtr((at + s) / np.sqrt(1 + spread))) for s in (0.0, shift)]
    return float(means[1] - means[0])


@functools.cache
def names(prefix: str, number: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{k}" for k in range(number))


def sample_of(metric: str, mean: np.ndarray, draws: int = 1, group: np.ndarray | None = None) -> Sample:
    n, conditions = mean.shape
    empty = np.zeros(0, dtype=np.intp)
    outcomes = Outcomes(
        metric=METRICS[metric] if metric != "mean_score" else BOUNDED,
        items=names("", n),
        conditions=names("m", conditions),
        item=empty,
        condition=empty,
        value=np.zeros(0),
        group=group,
    )
    return Sample(outcomes=outcomes, mean=mean, draws=np.full(mean.shape, draws), within=np.zeros(mean.shape))


def drawn_outcomes(metric: str, mean: np.ndarray, draws: int) -> Outcomes:
    """Right or wrong of every draw, items x conditions x draws, from the means over draws."""
    value = np.arange(draws) < np.rint(mean * draws)[:, :, None]
    item, condition, draw = np.indices(value.shape).reshape(3, -1)
    return Outcomes(
        metric=METRICS[metric], items=names("", len(mean)), conditions=names("m", mean.shape[1]), item=item,
        condition=condition, draw=draw if draws > 1 else None, value=value.ravel().astype(float),
    )  # fmt: skip


def difference_of(sample: Sample, first: str, second: str) -> Evidence:
    """The evidence that claims are decided by: of amounts that are paid that of totals."""
    if sample.metric.is_cost:
        return total_evidence(sample, (first, second))
    return difference_evidence(sample, first, second)


def ask(measure: str, conditions: tuple[str, ...], evidence: Evidence, **options: Any) -> Asked:
    """A question on a measure with its evidence; `options` are the question's own."""
    metric = METRICS[measure] if measure != "mean_score" else BOUNDED
    question = Question(measure=measure, conditions=conditions, **options)
    return Asked(question=question, metric=metric, evidence=evidence)


def ask_pairs(sample: Sample, **options: Any) -> list[Asked]:
    """A question on every pair of a sample's conditions."""
    pairs = itertools.combinations(sample.outcomes.conditions, 2)
    return [ask(sample.metric.name, pair, difference_of(sample, *pair), **options) for pair in pairs]


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
    found = {"false": 0, "cover_shift": 0, "undecidable": 0, "sparse": 0}
    real = truth(kind, SHIFT[kind], groups)
    for _ in range(runs):
        u = latent(rng, n, groups, 2)
        for shift in (0.0, SHIFT[kind]):
            mean = means_of(rng, kind, u + np.array([0.0, shift]), cell["draws"])
            sample = sample_of(KINDS[kind], mean, cell["draws"], group)
            evidence = difference_of(sample, "m0", "m1")
            interval = evidence.interval(0.95)
            if shift == 0:
                found["false"] += 0.0 not in interval
                found["undecidable"] += interval.method == "the whole range"
                found["sparse"] += "gamma" in interval.method or "range x" in interval.method
            else:
                found["cover_shift"] += real in interval
    return {name: count / runs for name, count in found.items()}


def pages() -> Iterator[dict[str, Any]]:
    for conditions, first in itertools.product((2, 3, 14), ("accuracy", "ece", "severity_given_error", "money")):
        yield {"part": "pages", "conditions": conditions, "first": first, "items": 300}


def calibrated(rng: np.random.Generator, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confidence, whether right (with that probability), and the severity of errors, which is anybody's."""
    sure = ndtr(0.8 + u)
    right = rng.random(u.shape) < sure
    return sure, right, np.where(right, 0.0, rng.integers(1, 9, size=u.shape) / 2)


def run_page(cell: dict[str, Any], runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Every measure of alike, calibrated conditions at once."""
    n, number, first = cell["items"], cell["conditions"], cell["first"]
    false = {"main": 0, "other": 0}
    for _ in range(runs):
        u = latent(rng, n, None, number)
        sure, right, severity = calibrated(rng, u)
        measures = {
            "accuracy": right.astype(float),
            "mean_severity": severity,
            "catastrophic_rate": (severity >= 3).astype(float),
            "mean_score": means_of(rng, "bounded", u, 1),
            "refusal_rate": means_of(rng, "rare", u, 1),
            "failure_rate": (rng.random((n, number)) < 0.01).astype(float),
            "tokens": np.ceil(30 * means_of(rng, "heavy", u, 1)),
            "latency": means_of(rng, "heavy", u, 1),
            "money": means_of(rng, "heavy", u, 1),
        }
        asked = []
        for name, mean in measures.items():
            asked += ask_pairs(sample_of(name, mean), family="main" if name == first else "other")
        sides = [ece_side(sure[:, k], right[:, k].astype(float)) for k in range(number)]
        for i, j in itertools.combinations(range(number), 2):
            found = {
                "ece": ece_difference(sides[i], sides[j]),
                "severity_given_error": severity_given_error(severity[:, i], severity[:, j]),
            }
            asked += [
                ask(name, (f"m{i}", f"m{j}"), e, family="main" if name == first else "other")
                for name, e in found.items()
            ]
        claims = decide(asked)
        for family in false:
            own = [c for c, a in zip(claims, asked, strict=True) if a.question.family == family]
            false[family] += any(c.verdict is Verdict.VERIFIED for c in own)
    return {f"false_{family}": count / runs for family, count in false.items()}


def reports() -> Iterator[dict[str, Any]]:
    for conditions in (2, 3):
        yield {"part": "reports", "conditions": conditions, "items": 300}


def run_report(cell: dict[str, Any], runs: int, rng: np.random.Generator) -> dict[str, float]:
    """The same by the commands: any false "verified" in `compare` and in `report`, each with all that it prints."""
    n, number = cell["items"], cell["conditions"]
    false = {"compare": 0, "report": 0}
    for _ in range(runs):
        sure, right, severity = calibrated(rng, latent(rng, n, None, number))
        frame = pl.DataFrame(
            {
                "item": np.repeat(np.arange(n), number),
                "condition": np.tile(names("m", number), n),
                "correct": right.ravel().astype(int),
                "confidence": sure.ravel(),
                "severity": severity.ravel(),
            }
        )
        false["compare"] += any(c.decided for c in compare_tables(read_tables(frame), n_resamples=200).claims)
        claims = measure_run(frame, n_resamples=200).to_dict()["claims"]
        false["report"] += any(c["verdict"] in ("verified", "refuted") for c in claims)
    return {name: count / runs for name, count in false.items()}


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
            wrong = drawn_outcomes("error_rate", 1 - means_of(rng, kind, u, cell["draws"]), cell["draws"])
            limit = 1 - float(ndtr(0.4 / np.sqrt(1 + 0.7**2 + 0.4**2)))
            evidence = mean_evidence(wrong, "m0", exact=True)
            asked = ask("error_rate", ("m0",), evidence, relation="below", value=limit, family="requirement")
        else:
            sign = -1 if kind == "binary" else 1
            mean = means_of(rng, kind, u + np.array([0.0, sign * shift]), cell["draws"])
            spread = np.sqrt(1 + 0.7**2 + 0.4**2)
            at = 0.4 if kind == "binary" else -2.4
            limit = float(ndtr((at + sign * shift) / spread) - ndtr(at / spread))
            made = sample_of(KINDS[kind], mean, cell["draws"])
            evidence = difference_evidence(made, "m0", "m1", exact=True)
            relation = "above" if kind == "binary" else "below"
            asked = ask(KINDS[kind], ("m0", "m1"), evidence, relation=relation, value=limit, family="requirement")
        (claim,) = decide([asked])
        passed += claim.verdict is Verdict.VERIFIED
        violated += claim.verdict is Verdict.REFUTED
    return {"false_pass": passed / runs, "false_violation": violated / runs}


def margins() -> Iterator[dict[str, Any]]:
    for conditions, margin in itertools.product((2, 3), (0.03, 0.10)):
        yield {"part": "margins", "conditions": conditions, "margin": margin, "items": 300}


def run_margin(cell: dict[str, Any], runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Alike conditions with a margin: false differences; one at the margin: false "equivalent"."""
    n, number = cell["items"], cell["conditions"]
    verified = equivalent = 0
    for _ in range(runs):
        hard = rng.random((n, 1))
        right = (rng.random((n, number)) < hard).astype(float)
        made = sample_of("accuracy", right)
        claims = decide(ask_pairs(made, margin=cell["margin"]))
        verified += any(c.verdict is Verdict.VERIFIED or "real but within" in c.sentence for c in claims)
        up = right.copy()
        flips = rng.random(n) < cell["margin"] / 0.5
        up[:, -1] = np.where(flips, 1.0, right[:, -1])
        claims = decide(ask_pairs(sample_of("accuracy", up), margin=cell["margin"]))
        equivalent += any(c.verdict is Verdict.EQUIVALENT for c in claims if f"m{number - 1}" in c.conditions)
    return {"false": verified / runs, "false_equivalent": equivalent / runs}


def crossed() -> Iterator[dict[str, Any]]:
    for kind, items, runs, effect in itertools.product(
        ("binary", "bounded"), (60, 400), (2, 3, 5, 10), (0.0, 0.1, 0.4)
    ):
        yield {"part": "runs", "kind": kind, "items": items, "runs": runs, "effect": effect}


def run_crossed(cell: dict[str, Any], runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Runs crossed with items, two conditions alike: each run moves each condition by an effect of its own."""
    n, number = cell["items"], cell["runs"]
    false, width = 0, 0.0
    where = np.stack(np.meshgrid(np.arange(n), np.arange(2), np.arange(number), indexing="ij")).reshape(3, -1)
    for _ in range(runs):
        u = latent(rng, n, None, 2)[:, :, None] + rng.normal(0, cell["effect"], size=(1, 2, number))
        value = means_of(rng, cell["kind"], u.reshape(n, -1), 1).ravel()
        outcomes = Outcomes(
            metric=BOUNDED if cell["kind"] == "bounded" else METRICS["accuracy"],
            items=names("", n), conditions=("m0", "m1"), item=where[0], condition=where[1], draw=where[2],
            run=where[2], runs=names("r", number), value=value,
        )  # fmt: skip
        interval = difference_evidence(outcomes, "m0", "m1").interval(0.95)
        false += 0.0 not in interval
        width += interval.high - interval.low
    return {"false": false / runs, "width": width / runs}


WORLDS = {
    "rate 50%": lambda rng, n: rng.random(n) < 0.5,
    "rate 90%": lambda rng, n: rng.random(n) < 0.9,
    "rate 98%": lambda rng, n: rng.random(n) < 0.98,
    "even scores": lambda rng, n: np.clip(rng.normal(0.5, 0.1, n), 0, 1),
    "skewed scores": lambda rng, n: rng.beta(0.5, 4, n),
    "scores at both ends": lambda rng, n: np.where(rng.random(n) < 0.7, 1.0, rng.integers(2, size=n) * rng.random(n)),
    "a tenth below 1": lambda rng, n: np.where(rng.random(n) < 0.9, 1.0, rng.random(n)),
    "dollars": lambda rng, n: rng.lognormal(0, 1, n),
    "rate 50% in groups": lambda rng, n: rng.beta(2, 2, n),
    "rate 90% in groups": lambda rng, n: rng.beta(3.6, 0.4, n),
    "skewed scores in groups": lambda rng, n: rng.beta(0.5, 3, n),
}


def unpaired() -> Iterator[dict[str, Any]]:
    for world, sizes in itertools.product(WORLDS, ((20, 20), (20, 200), (60, 60), (30, 1000), (200, 200))):
        yield {"part": "unpaired", "world": world, "items": sum(sizes), "units": list(sizes)}


def run_unpaired(cell: dict[str, Any], runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Two conditions of one law on different items; in groups of five on average, a value a group and one an item."""
    grouped = cell["world"].endswith("groups")
    name = next((m for word, m in (("rate", "accuracy"), ("dollars", "money")) if word in cell["world"]), "mean_score")
    metric, false, width = BOUNDED if name == "mean_score" else METRICS[name], 0, 0.0
    for _ in range(runs):
        values, codes = [], []
        for n in cell["units"]:
            size = 1 + rng.poisson(4, n) if grouped else np.ones(n, dtype=int)
            own = np.repeat(WORLDS[cell["world"]](rng, n).astype(float), size)
            if grouped:
                free = (
                    rng.random(len(own)) < own if name == "accuracy" else own + (1 - own) * rng.beta(0.5, 4, len(own))
                )
                own = free.astype(float)
            values.append(own)
            codes.append(np.repeat(np.arange(n), size) + (codes[0].max() + 1 if codes else 0))
        value, group = np.concatenate(values), np.concatenate(codes)
        outcomes = Outcomes(
            metric=metric, items=names("", len(value)), conditions=("m0", "m1"), item=np.arange(len(value)),
            condition=np.repeat([0, 1], [len(v) for v in values]), value=value, group=group if grouped else None,
        )  # fmt: skip
        evidence = unpaired_evidence(outcomes, "m0", "m1")
        if metric.is_cost:
            evidence = total_evidence(as_sample(outcomes), ("m0", "m1"), unpaired=True)
        interval = evidence.interval(0.95)
        false += 0.0 not in interval
        width += interval.high - interval.low
    return {"false": false / runs, "width": width / runs}


RARE = {  # groups x size, both rates in %, how alike a group's answers are (log-normal: the spread of log-odds)
    "beta": "20 10 .5 3 .3, 60 10 .1 2 .6, 40 50 .1 2 .6, 40 50 .1 2 .1, 60 10 1 1 0, 60 10 1 3 .05, 30 5 .2 2 .3, "
    "100 5 1 2 .2, 40 10 .5 .5 .3, 200 5 .1 1 .6, 200 20 .1 1 .6, 100 20 .2 2 .3, 100 50 .1 1 .6, 40 20 1 5 .3, "
    "20 50 1 5 .3, 20 50 .5 3 .6, 200 10 .1 .1 .3, 100 10 .5 .5 .6, 40 50 .2 .2 0, 40 50 .5 .5 .1, 200 5 .2 2 0, "
    "30 20 2 2 .6, 200 50 .1 .5 .6, 60 50 .1 2 .3, 200 30 .5 2 .6, 100 10 .2 1 .6",
    "beta, uneven": "60 10 .1 2 .6, 40 50 .1 2 .6, 40 20 1 1 .1, 100 10 .5 2 .3, 60 20 .5 .5 .05, 200 10 .1 1 .6",
    "whole groups": "40 50 .1 2 0, 100 10 .5 2 0, 200 10 .5 .5 0, 40 20 1 5 0",
    "whole groups, uneven": "60 10 .5 3 0, 100 10 1 1 0",
    "log-normal odds": "40 50 .1 2 3, 60 10 .2 2 3, 100 10 .5 2 2, 40 20 .5 .5 3, 40 50 .2 2 1, 200 10 .1 1 3, "
    "100 50 .1 1 3, 200 50 .1 .5 4",
    "half whole, half alone": "40 50 .1 2 0, 100 10 .5 2 0, 100 20 .2 1 0, 200 10 .2 1 0, 60 10 2 2 0, 40 20 .5 .5 0",
}


def rare() -> Iterator[dict[str, Any]]:
    for law, worlds in RARE.items():
        for world in worlds.split(", "):
            groups, size, first, second, alike = map(float, world.split())
            cell = {"part": "rare", "law": law, "groups": int(groups), "size": int(size), "items": int(groups * size)}
            yield cell | {"first": first / 100, "second": second / 100, "alike": alike}


def group_rates(rng: np.random.Generator, cell: dict[str, Any], rate: float) -> np.ndarray:
    """Each group's own rate, of mean `rate`."""
    law, n, alike = cell["law"], cell["groups"], cell["alike"]
    if law == "half whole, half alone":
        return np.where(rng.random(n) < rate / 2, 1.0, rate / 2)
    if law.startswith("whole groups"):
        return (rng.random(n) < rate).astype(float)
    if law == "log-normal odds":
        return expit(_centre(rate, alike) + alike * rng.normal(size=n))
    return np.full(n, rate) if alike == 0 else rng.beta(rate * (1 / alike - 1), (1 - rate) * (1 / alike - 1), n)


@functools.cache
def _centre(rate: float, spread: float) -> float:
    """The log-odds about which normal ones of this spread have this mean rate."""
    z, weight = np.polynomial.hermite_e.hermegauss(200)
    return find_root(lambda at: float(weight @ expit(at + spread * z) / np.sum(weight)) - rate, -60.0, 0.0)


def run_rare(cell: dict[str, Any], runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Misses of each limit, and what is shown: by `decide` with the true difference (0: 2 and 5 points) as the margin.

    `passed` and `violated` are requirements at their limit, `rate_above` the second's true rate above the one-sided 95%
    limit of `unit_rate`.
    """
    real, n = cell["second"] - cell["first"], cell["groups"]
    margins = {"": real} if real else {"_2": 0.02, "_5": 0.05}
    found: dict[str, float] = collections.Counter()
    for _ in range(runs):
        size = np.full(n, cell["size"])
        if "uneven" in cell["law"]:
            size = np.maximum(np.round(cell["size"] * rng.lognormal(-0.5, 1.0, n)), 1).astype(int)
        group = np.repeat(np.arange(n), size)
        rates = np.column_stack([group_rates(rng, cell, cell[side]) for side in ("first", "second")])
        wrong = (rng.random((len(group), 2)) < rates[group]).astype(float)
        made = sample_of("error_rate", wrong, 1, group)
        evidence = difference_evidence(made, "m0", "m1")
        wide, narrow = evidence.interval(0.95), evidence.interval(0.90)
        gate = difference_evidence(made, "m0", "m1", exact=True).interval(0.90)
        upper, both = (unit_rate(wrong[:, 1], group, side=side) for side in ("upper", "both"))
        found["below"] += real < wide.low
        found["above"] += real > wide.high
        found["shown"] += 0.0 not in wide
        found["passed"] += gate.high < real
        found["violated"] += gate.low > real
        found["rate_above"] += cell["second"] > upper.high
        found["rate_outside"] += cell["second"] not in both
        for name, margin in margins.items():
            within = -margin < narrow.low and narrow.high < margin  # where not, nothing shows it
            asked = ask("error_rate", ("m0", "m1"), evidence, margin=margin)
            found[f"equivalent{name}"] += within and decide([asked])[0].verdict is Verdict.EQUIVALENT
    return {name: count / runs for name, count in found.items()}


PARTS = {
    "rare": (rare, run_rare),
    "unpaired": (unpaired, run_unpaired),
    "runs": (crossed, run_crossed),
    "cells": (cells, run_cell),
    "pages": (pages, run_page),
    "reports": (reports, run_report),
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
    yield from rare_table(rows)
    for c, f in rows:
        if c["part"] not in ("cells", "rare"):
            what = ", ".join(f"{k} {v}" for k, v in c.items())
            yield f"- {what}: " + ", ".join(f"{k} {100 * v:.1f}%" for k, v in f.items() if k != "runs")


def rare_table(rows: list[tuple[dict[str, Any], dict[str, float]]]) -> Iterator[str]:
    """The worst cell of each law, and means of what is rightly shown."""
    heads = "law, cells, cover, below, above, rate above, equivalent, passed, shown, 0 within 2, 0 within 5"
    yield f"| {heads.replace(', ', ' | ')} |"
    yield 11 * "|---" + "|"
    for law in RARE:
        own = [f for c, f in rows if c["part"] == "rare" and c["law"] == law]
        if own:
            names_of = ("below", "above", "rate_above", "equivalent", "passed")
            worst = [min(1 - f["below"] - f["above"] for f in own)]
            worst += [max(f[name] for f in own if name in f) for name in names_of]
            right = [np.mean([f[k] for f in own if k in f and "equivalent" in f]) for k in ("shown",)]
            right += [np.mean([f[k] for f in own if k in f] or [np.nan]) for k in ("equivalent_2", "equivalent_5")]
            yield f"| {law} | {len(own)} | " + " | ".join(f"{100 * x:.1f}" for x in [*worst, *right]) + " |"


def _sparse(cell: dict[str, Any], found: dict[str, float]) -> bool:
    return found["sparse"] > 0.5 or (cell["kind"] == "rare" and cell["items"] == 20)


def main() -> None:
    if sys.argv[2:] == ["table"]:
        print("\n".join(table(records(Path(sys.argv[1])))))
        return
    out = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1] / "soak" / "core_size.jsonl"
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    for part in sys.argv[3:] or list(PARTS):
        make, run = PARTS[part]
        order = sorted(make(), key=lambda cell: cell.get("items", 0) * cell.get("draws", 1))
        go_on(out, ((cell, run) for cell in order), runs)


if __name__ == "__main__":
    main()
