"""Worlds with known truth: a table as people have it, made from a small file that says what is true in it.

A world is a TOML file in `worlds/`: its `family`, its `kind` (a function here), the `question` that a contestant is
asked, the `truth`, and numbers. Replicate r of a world is always the same table: its seed is the hash of name and r.

Questions and what is true:
- `difference`: does the second condition differ from the first, by `measure`? truth = second minus first over all
  such items (0: any claim is false).
- `some-better`: is any other condition better than the first? truth = the names that are.
- `miscalibrated`: is the condition miscalibrated? truth = true or false.
- `requirement`: is the second no worse than the first by `margin`? truth = true or false.
- `heavier`: is the second's tail heavier? truth = xi of the second minus xi of the first.

`others` says what is true of other measures of a `difference`; of those that it does not name nothing differs.
"""

import functools
import hashlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import beta

WORLDS = Path(__file__).parent / "worlds"
Floats = NDArray[np.float64]

# How many of 14 language models got an item right, 0..14: items by count. From the public per-item grades of
# bplaut/llm-calibration-and-correctness-prediction (MIT): ARC-Challenge (2,590 items) and TruthfulQA (817).
DIFFICULTY = {
    "arc": (7, 30, 40, 51, 81, 100, 132, 153, 172, 199, 234, 277, 423, 500, 191),
    "truthfulqa": (31, 46, 73, 61, 66, 66, 66, 55, 72, 68, 71, 54, 43, 32, 13),
}


def world(name: str) -> dict[str, Any]:
    """What a world's file says."""
    return {"name": name, **tomllib.loads((WORLDS / f"{name}.toml").read_text(encoding="utf-8"))}


def names() -> list[str]:
    """All worlds."""
    return sorted(path.stem for path in WORLDS.glob("*.toml"))


def seed_of(name: str, replicate: int) -> int:
    """The seed of one table."""
    return int.from_bytes(hashlib.sha256(f"{name}/{replicate}".encode()).digest()[:8], "big")


def table(spec: dict[str, Any], replicate: int) -> pl.DataFrame:
    """One replicate of a world as a long table: item, condition, and what people's files have."""
    rng = np.random.default_rng(seed_of(spec["name"], replicate))
    frame: pl.DataFrame = KINDS[spec["kind"]](spec, rng)
    return frame


def _chances(spec: dict[str, Any], rng: np.random.Generator, n: int) -> Floats:
    """Each item's chance to be answered rightly by the first condition."""
    counts = np.array(DIFFICULTY[spec.get("difficulty", "arc")], dtype=float)
    right = rng.choice(15, size=n, p=counts / counts.sum())
    return rng.beta(right + 0.5, 14.5 - right)


@functools.cache
def _shift(difficulty: str, effect: float, spread: float, kind: str, levels: int) -> float:
    """What is added to the second condition's logits so that over all such items it is better by `effect`."""
    rng = np.random.default_rng(20261115)
    p = _chances({"difficulty": difficulty}, rng, 100_000)
    noise = spread * rng.standard_normal(len(p))
    mean_of = (lambda x: x) if kind != "partial" else functools.partial(_expected, levels=levels)
    target, low, high = float(np.mean(mean_of(p))) + effect, -20.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        reached = float(np.mean(mean_of(1 / (1 + np.exp(-np.log(p / (1 - p)) - noise - middle)))))
        low, high = (middle, high) if reached < target else (low, middle)
    return low


def _second(p: Floats, spec: dict[str, Any], rng: np.random.Generator, *, group: Floats | float = 0.0) -> Floats:
    """The second condition's chances: better by `effect` over all such items, not on each of them."""
    own = spec.get("spread", 0.0)
    total = float(np.hypot(own, spec.get("group_spread", 0.0)))
    kind, levels = spec.get("kind", ""), spec.get("levels", 0)
    shift = _shift(spec.get("difficulty", "arc"), spec.get("effect", 0.0), total, kind, levels)
    return 1 / (1 + np.exp(-np.log(p / (1 - p)) - own * rng.standard_normal(len(p)) - group - shift))


def _scored(value: Floats, levels: int) -> Floats:
    score = np.where(value < 0.15, 0.0, np.where(value > 0.85, 1.0, value))
    return 1 + np.round(score * (levels - 1)) if levels else score


@functools.cache
def _curve(levels: int) -> tuple[Floats, Floats]:
    """The expected score at chances from 0 to 1."""
    chance, u = np.linspace(0, 1, 401), (np.arange(2000) + 0.5) / 2000
    return chance, np.array([_scored(beta.ppf(u, 4 * c + 0.05, 4 * (1 - c) + 0.05), levels).mean() for c in chance])


def _expected(p: Floats, *, levels: int) -> Floats:
    return np.interp(p, *_curve(levels))


def _long(columns: dict[str, NDArray[Any]], conditions: list[str], n: int, **shared: NDArray[Any]) -> pl.DataFrame:
    """Columns of shape (conditions, n) as rows."""
    ids = [f"q{k:05d}" for k in range(n)]
    rows = {"item": ids * len(conditions), "condition": [c for c in conditions for _ in range(n)]}
    rows |= {name: np.asarray(values).reshape(-1) for name, values in columns.items()}
    rows |= {name: np.tile(values, len(conditions)) for name, values in shared.items()}
    return pl.DataFrame(rows)


def paired(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """One grade an item and condition; grades of the two go together through the items' difficulty."""
    n = spec["items"]
    p = _chances(spec, rng, n)
    chances = np.stack([p, _second(p, spec, rng)])
    return _long({"correct": (rng.random((2, n)) < chances).astype(int)}, ["first", "second"], n)


def epochs(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Several draws of every item."""
    n, draws = spec["items"], spec["draws"]
    p = _chances(spec, rng, n)
    chances = np.stack([p, _second(p, spec, rng)])
    parts = [
        _long({"correct": (rng.random((2, n)) < chances).astype(int)}, ["first", "second"], n).with_columns(
            pl.lit(d).alias("epoch")
        )
        for d in range(draws)
    ]
    return pl.concat(parts)


def passages(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Items in groups: each passage favours one condition, whatever is true over all passages."""
    groups, size = spec["groups"], spec["group_size"]
    n = groups * size
    p = _chances(spec, rng, n)
    favour = np.repeat(rng.standard_normal(groups) * spec["group_spread"], size)
    chances = np.stack([p, _second(p, spec, rng, group=favour)])
    passage = np.array([f"p{k:03d}" for k in range(groups)]).repeat(size)
    return _long({"correct": (rng.random((2, n)) < chances).astype(int)}, ["first", "second"], n, passage=passage)


def crossed(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Items in two crossed groupings, passages and templates: each of either favours one condition."""
    rows, columns = spec["passages"], spec["templates"]
    n, spread = rows * columns, spec["group_spread"] / np.sqrt(2)
    p = _chances(spec, rng, n)
    passage, template = np.divmod(np.arange(n), columns)
    favour = spread * (rng.standard_normal(rows)[passage] + rng.standard_normal(columns)[template])
    chances = np.stack([p, _second(p, spec, rng, group=favour)])
    shared = {
        "passage": np.array([f"p{k:03d}" for k in passage]),
        "template": np.array([f"t{k:03d}" for k in template]),
    }
    return _long({"correct": (rng.random((2, n)) < chances).astype(int)}, ["first", "second"], n, **shared)


def uneven(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Items in groups, of which one holds a quarter of them; each passage favours one condition."""
    groups, n = spec["groups"], spec["items"]
    sizes = np.full(groups - 1, (n - n // 4) // (groups - 1))
    sizes = np.append(sizes, n - sizes.sum())
    p = _chances(spec, rng, n)
    favour = np.repeat(rng.standard_normal(groups) * spec["group_spread"], sizes)
    chances = np.stack([p, _second(p, spec, rng, group=favour)])
    passage = np.repeat([f"p{k:03d}" for k in range(groups)], sizes)
    return _long({"correct": (rng.random((2, n)) < chances).astype(int)}, ["first", "second"], n, passage=passage)


def costs(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Grades of two equal conditions, and what each answer cost: the first's mean is 1, the second's 1 + effect."""
    n, spread = spec["items"], np.array(spec["spreads"])[:, None]
    p = _chances(spec, rng, n)
    z = np.sqrt(0.5) * rng.standard_normal((1, n)) + np.sqrt(0.5) * rng.standard_normal((2, n))
    bill = np.exp(spread * z - spread**2 / 2) * np.array([[1.0], [1 + spec.get("effect", 0.0)]])
    grades = (rng.random((2, n)) < p).astype(int)
    return _long({"correct": grades, "cost": bill}, ["first", "second"], n)


def page(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Grades and three further scores of every answer; all of an answer go together."""
    n, shared = spec["items"], rng.standard_normal((2, spec["items"]))
    p = _chances(spec, rng, n)
    chances = np.stack([p, _second(p, spec, rng)])
    columns: dict[str, NDArray[Any]] = {"correct": (rng.random((2, n)) < chances).astype(int)}
    for name in ("style", "relevance", "safety"):
        own = 0.6 * shared + 0.8 * rng.standard_normal((2, n))
        columns[name] = np.round(np.clip(0.5 + 0.15 * own, 0, 1), 3)
    return _long(columns, ["first", "second"], n)


def requirement(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Answers that nearly all agree: the second breaks `broken` of them and fixes `fixed`."""
    n = spec["items"]
    first = rng.random(n) < spec["accuracy"]
    u = rng.random(n)
    broken = u < spec["broken"] / spec["accuracy"]
    fixed = u < spec["fixed"] / (1 - spec["accuracy"])
    return _long({"correct": np.stack([first, np.where(first, ~broken, fixed)]).astype(int)}, ["first", "second"], n)


def partial(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Scores between 0 and 1 with mass at both ends (or on five levels)."""
    n = spec["items"]
    p = _chances(spec, rng, n)
    chances = np.stack([p, _second(p, spec, rng)])
    value = rng.beta(4 * chances + 0.05, 4 * (1 - chances) + 0.05)
    return _long({"score": _scored(value, spec.get("levels", 0))}, ["first", "second"], n)


def severity(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Severities of 0 to 4 in half steps: how often an answer is wrong, and how grave its errors are."""
    n = spec["items"]
    found = []
    for k, (rate, b) in enumerate(((spec["rate"], spec["b"]), (spec["rate_second"], spec["b_second"]))):
        grades = 10 ** (-b * np.arange(0.5, 4.1, 0.5))
        body = spec.get("slips", (1.0, 1.0))[k]
        grades[0] *= body  # an excess of the least errors leaves the law above untouched
        wrong = rng.random(n) < rate
        found.append(np.where(wrong, rng.choice(np.arange(0.5, 4.1, 0.5), size=n, p=grades / grades.sum()), 0.0))
    return _long({"severity": np.stack(found)}, ["first", "second"], n)


def judged(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """A judge's grades, and a person's for some: the truth is the person's. The judge is kinder to the second."""
    n, labels = spec["items"], spec["labels"]
    p = _chances(spec, rng, n)
    chances = np.stack([p, _second(p, spec, rng)])
    truth = rng.random((2, n)) < chances
    miss = np.array(spec["says_right_of_wrong"])[:, None]
    harsh = np.array(spec["says_wrong_of_right"])[:, None]
    judge = np.where(truth, rng.random((2, n)) >= harsh, rng.random((2, n)) < miss)
    human = np.full((2, n), np.nan)
    for c in range(2):
        for i in rng.choice(n, size=labels // 2, replace=False):
            human[c, i] = truth[c, i]
    frame = _long({"correct": judge.astype(int), "human": human}, ["first", "second"], n)
    named = [pl.lit(spec["judge"]).alias("judge_model")] if "judge" in spec else []
    return frame.with_columns(pl.col("human").fill_nan(None), *named)


def missing(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """The second condition lacks grades, mostly where items are hard."""
    n = spec["items"]
    p = _chances(spec, rng, n)
    chances = np.stack([p, _second(p, spec, rng)])
    grades = (rng.random((2, n)) < chances).astype(float)
    lost = rng.random(n) < spec["lost"] * 2 * (1 - p)
    if "lost_of_wrong" in spec:  # answers that are wrong fail to arrive
        lost = (rng.random(n) < spec["lost_of_wrong"]) & (grades[1] == 0)
    grades[1, lost] = np.nan
    return _long({"correct": grades}, ["first", "second"], n).with_columns(pl.col("correct").fill_nan(None))


def shuffled(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """The second condition's grades stand under other items' ids."""
    n = spec["items"]
    p = _chances(spec, rng, n)
    chances = np.stack([p, _second(p, spec, rng)])
    grades = (rng.random((2, n)) < chances).astype(int)
    grades[1] = rng.permutation(grades[1])
    return _long({"correct": grades}, ["first", "second"], n)


def prompts(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """A baseline and several prompts, of which some (or none) are better."""
    n, k = spec["items"], spec["prompts"]
    p = _chances(spec, rng, n)
    better = len(spec["truth"])
    rows = [p] + [
        _second(p, {**spec, "effect": spec["effect"] if j < better else 0.0, "spread": 0.3}, rng) for j in range(k)
    ]
    grades = (rng.random((k + 1, n)) < np.stack(rows)).astype(int)
    return _long({"correct": grades}, ["baseline", *(f"prompt{j + 1:02d}" for j in range(k))], n)


def peeking(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Items arrive by day; a contestant looks every day and may claim on any. Its documented way of looking counts."""
    days, per_day = spec["days"], spec["items_a_day"]
    n = days * per_day
    p = _chances(spec, rng, n)
    chances = np.stack([p, _second(p, spec, rng)])
    grades = (rng.random((2, n)) < chances).astype(int)
    return _long({"correct": grades}, ["first", "second"], n, day=np.arange(n) // per_day + 1)


def confident(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """One condition with confidences: calibrated, too sure by some points, too extreme, or wrong in one bin."""
    n = spec["items"]
    c = {"uniform": lambda: rng.uniform(0.25, 1, n), "high": lambda: rng.beta(6, 1.5, n)}[spec["law"]]()
    p = c.copy()
    if spec.get("too_sure"):
        p = np.clip(c - spec["too_sure"], 0.0, 1.0)
    if spec.get("temperature"):
        logit = np.log(np.clip(c, 1e-6, 1 - 1e-6) / (1 - np.clip(c, 1e-6, 1 - 1e-6)))
        p = 1 / (1 + np.exp(-logit / spec["temperature"]))
    if spec.get("bad_bin"):
        p = np.where((c >= 0.8) & (c < 0.9), c - spec["bad_bin"], c)
    correct = (rng.random(n) < p).astype(int)[None]
    return _long({"correct": correct, "confidence": np.round(c, 4)[None]}, ["first"], n)


def tails(spec: dict[str, Any], rng: np.random.Generator) -> pl.DataFrame:
    """Continuous severities with equal mean and equal mean of the worst tenth; the tails' shapes differ or not."""
    n = spec["items"]
    found = []
    for xi in (spec["xi"], spec["xi_second"]):
        bulk = 3 * rng.beta(2, 3, n)
        u = rng.random(n)
        excess = -np.log(u) if xi == 0 else (u**-xi - 1) / xi
        found.append(np.where(rng.random(n) < 0.1, 3 + (1 - xi) * excess, bulk))
    if spec.get("body_shift"):
        found[1] = np.where(found[1] < 3, found[1] + spec["body_shift"], found[1])
    return _long({"nll": np.stack(found)}, ["first", "second"], n)


KINDS = {
    f.__name__: f
    for f in (
        paired,
        epochs,
        passages,
        crossed,
        uneven,
        costs,
        page,
        requirement,
        partial,
        severity,
        judged,
        missing,
        shuffled,
        prompts,
        peeking,
        confident,
        tails,
    )
}


def specs() -> Iterator[dict[str, Any]]:
    """Every world."""
    return (world(name) for name in names())
