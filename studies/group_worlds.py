"""False claims, coverage and power where items come in groups, crossed, uneven or few, and of rates and options.

Usage: python studies/group_worlds.py [OUT.jsonl] [runs] [part ..]   (again with the same OUT goes on where it stopped)
       python studies/group_worlds.py OUT.jsonl table                (what is there, as Markdown)

Parts: crossed (two groupings), uneven (one group with a quarter of the items), gates (few groups, of which one in eight
fails wholly), unpaired (rates on different items), size
(two groupings), by (subgroups), other (what held before), few (groups in a
comparison).
OUT: soak/group_worlds.jsonl by default. Groups have normal effects on a latent scale, drawn for each condition by
itself: two alike conditions differ by chance alone, and the true difference is known.
"""

import collections
import dataclasses
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from cells import Cell, Run, go_on, records
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from richter.claims import (
    METRICS,
    Asked,
    Evidence,
    Outcomes,
    Question,
    as_sample,
    decide,
    difference_evidence,
    unpaired_evidence,
    with_gate_limit,
    within,
)
from richter.claims._sizes import units_needed
from richter.records import Verdict

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
NAMES = ("m0", "m1")
SCORE = dataclasses.replace(METRICS["mean_score"], low=0.0, high=1.0)


def as_outcomes(values: Floats, *, metric: str = "accuracy", **more: object) -> Outcomes:
    """Items x conditions (x draws) of values as outcomes; NaN where there is none."""
    table = values[:, :, None] if values.ndim == 2 else values
    known = ~np.isnan(table)
    item, condition, draw = (index[known] for index in np.indices(table.shape))  # type: ignore[index]
    return Outcomes(
        metric=SCORE if metric == "score" else METRICS[metric], items=tuple(map(str, range(len(table)))),
        conditions=tuple(f"m{k}" for k in range(table.shape[1])), item=item, condition=condition, value=table[known],
        draw=draw if table.shape[2] > 1 else None, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def tally(draw: Callable[[float], tuple[Evidence, float]], shift: float, runs: int) -> dict[str, float]:
    """Percentages: false claims without a difference, cover with and without one, power; mean half-width in points."""
    found: dict[str, float] = collections.Counter()
    for _ in range(runs):
        null, _ = draw(0.0)
        some, truth = draw(shift)
        span, other = null.interval(0.95), some.interval(0.95)
        found["false"] += 0 not in span
        found["cover"] += (truth in other) / 2 + (0 in span) / 2
        found["cover_at_gap"] += truth in other
        found["power"] += other.low > 0
        found["reach"] += (other.high - other.low) / 2
        found["undecided"] += span.low <= -1 and span.high >= 1
    return {name: round(100 * value / runs, 2) for name, value in found.items()}


# ------------------------------------------------------------------ two groupings


def crossed_codes(shape: tuple[int, int], layout: str, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """The template and the passage of every item: each pair once, three times, or a third of the pairs unevenly."""
    first, second = (code.ravel() for code in np.indices(shape))
    if layout == "thrice":
        return np.repeat(first, 3), np.repeat(second, 3)
    if layout == "sparse":
        lean = rng.gamma(1.0, size=shape[0])[:, None] * rng.gamma(2.0, size=shape[1])
        held = rng.choice(len(first), size=len(first) // 3, replace=False, p=(lean / lean.sum()).ravel())
        return first[held], second[held]
    if layout == "nested":
        return first, first * shape[1] + second // 4
    return first, second


def draw_crossed(cell: Cell, shift: float, rng: np.random.Generator) -> tuple[Outcomes, float]:
    """Two conditions with their own effects of two groupings, and the true difference of the second."""
    first, second = crossed_codes(tuple(cell["shape"]), cell["layout"], rng)
    spreads = cell["spreads"]
    latent = np.repeat(0.8 * rng.normal(size=len(first))[:, None], 2, axis=1)
    for code, spread in zip((first, second), spreads, strict=True):
        latent += spread * rng.normal(size=(int(code.max()) + 1, 2))[code]
    size = math.sqrt(0.64 + sum(s**2 for s in spreads) + 1)
    mean = cell.get("ease", 0.5)
    centre = np.array([mean, mean + shift])
    truth = float(ndtr((mean + shift) / size) - ndtr(mean / size))
    draws = cell.get("draws", 1)
    noise = rng.normal(size=(*latent.shape, draws))
    right = (latent + centre)[:, :, None] + noise > 0
    if cell["metric"] == "score":  # half credit between the two, so that the mean is that of two cuts
        cuts = np.array([-0.6, 0.6])
        value = np.mean((latent + centre)[:, :, None, None] + noise[..., None] > cuts, axis=-1)
        truth = float(np.mean(ndtr((mean + shift - cuts) / size) - ndtr((mean - cuts) / size)))
    else:
        value = right.astype(float)
    return as_outcomes(value, metric=cell["metric"], group=first, group_2=second), truth


def run_crossed(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """By both groupings, by the finer one alone, and by none."""

    def draw(shift: float) -> tuple[Evidence, float]:
        outcomes, truth = draw_crossed(cell, shift, rng)
        return difference_evidence(outcomes, *NAMES), truth

    return tally(draw, cell["shift"], runs)


def crossed_cells() -> Iterator[Cell]:
    """Shapes, layouts, effects and kinds of values."""
    for shape in ((10, 20), (8, 40), (5, 30), (20, 30)):
        for spreads in ((0.5, 0.5), (0.5, 0.0), (0.0, 0.0)):
            yield {"part": "crossed", "shape": shape, "layout": "each pair", "spreads": spreads, "metric": "accuracy",
                   "shift": 0.5}  # fmt: skip
    for layout, metric, draws in (("thrice", "accuracy", 1), ("sparse", "accuracy", 1), ("nested", "accuracy", 1),
                                  ("each pair", "score", 1), ("each pair", "accuracy", 4)):  # fmt: skip
        yield {"part": "crossed", "shape": (10, 20), "layout": layout, "spreads": (0.5, 0.5), "metric": metric,
               "draws": draws, "shift": 0.5}  # fmt: skip
    yield {"part": "crossed", "shape": (10, 20), "layout": "each pair", "spreads": (0.5, 0.5), "metric": "accuracy",
           "ease": 3.0, "shift": 0.6}  # fmt: skip
    yield {"part": "crossed", "shape": (30, 60), "layout": "each pair", "spreads": (0.3, 0.3), "metric": "accuracy",
           "ease": 3.0, "shift": 0.4}  # fmt: skip


# ------------------------------------------------------------------ one group that is large


def draw_uneven(cell: Cell, shift: float, rng: np.random.Generator) -> tuple[Outcomes, float]:
    """Groups of which the first holds a share of the items, with effects on each condition of their own."""
    groups, items = cell["groups"], cell["items"]
    large = round(cell["share"] * items)
    sizes = np.full(groups - 1, (items - large) // (groups - 1))
    if cell.get("ragged"):
        sizes = np.maximum(np.round(rng.gamma(1.0, size=groups - 1) * sizes), 1).astype(int)
    code = np.repeat(np.arange(groups), [large, *sizes])
    spread = cell["spread"]
    size = math.sqrt(0.64 + spread**2 + 1)
    latent = 0.8 * rng.normal(size=(len(code), 1)) + spread * rng.normal(size=(groups, 2))[code]
    right = latent + np.array([0.5, 0.5 + shift]) + rng.normal(size=latent.shape) > 0
    truth = float(ndtr((0.5 + shift) / size) - ndtr(0.5 / size))
    return as_outcomes(right.astype(float), group=code), truth


def run_uneven(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """The difference by group."""

    def draw(shift: float) -> tuple[Evidence, float]:
        outcomes, truth = draw_uneven(cell, shift, rng)
        return difference_evidence(outcomes, *NAMES), truth

    return tally(draw, cell["shift"], runs)


def uneven_cells() -> Iterator[Cell]:
    """A share of the items in one group, and how much groups differ."""
    for groups, items, share in ((21, 400, 0.25), (41, 800, 0.25), (61, 1200, 0.25), (21, 400, 0.5), (11, 400, 0.4),
                                 (21, 400, 0.05), (8, 400, 0.125)):  # fmt: skip
        for spread in (0.0, 0.3, 0.8):
            yield {"part": "uneven", "groups": groups, "items": items, "share": share, "spread": spread,
                   "shift": 0.5}  # fmt: skip
    yield {"part": "uneven", "groups": 41, "items": 800, "share": 0.25, "spread": 0.3, "ragged": True, "shift": 0.5}


# ------------------------------------------------------------------ gates with few groups

FAILING = 1 / 8  # of the groups, where groups fail wholly
EASE = 1.5


def draw_few(cell: Cell, loses: bool, rng: np.random.Generator) -> tuple[Outcomes, float]:
    """Groups with normal effects, and the loss that an eighth of them failing wholly makes: the gate's margin.

    `loses`: the candidate has that loss, by whole groups, by twice as many that fail in half of their items, or evenly.
    """
    groups, spread = cell["groups"], cell["spread"]
    code = np.repeat(np.arange(groups), cell["size"])
    size = math.sqrt(0.64 + spread**2 + 1)
    rate = float(ndtr(EASE / size))
    margin = FAILING * rate
    shift = float(ndtri(rate - margin)) * size - EASE if loses and cell["loss"] == "even" else 0.0
    latent = 0.8 * rng.normal(size=(len(code), 1)) + spread * rng.normal(size=(groups, 2))[code]
    right = (latent + np.array([EASE, EASE + shift]) + rng.normal(size=latent.shape) > 0).astype(float)
    if loses and cell["loss"] == "whole groups":
        right[:, 1] *= (rng.random(groups) >= FAILING)[code]
    if loses and cell["loss"] == "half of a group":
        right[:, 1] *= 1 - (rng.random(groups) < 2 * FAILING)[code] * (rng.random(len(code)) < 0.5)
    return as_outcomes(right, group=code), margin


def run_gates(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """How often a gate is met, in per cent, with a loss of its margin and without one."""
    met = {"false": 0, "power": 0}
    for name, loses in (("false", True), ("power", False)):
        for _ in range(runs):
            outcomes, margin = draw_few(cell, loses, rng)
            sample = as_sample(outcomes)
            found = difference_evidence(sample, *NAMES, exact=True)
            met[name] += with_gate_limit(found, sample, sample, conditions=NAMES).interval(0.9).low > -margin
    return {name: round(100 * number / runs, 2) for name, number in met.items()}


def gates_cells() -> Iterator[Cell]:
    """Few groups, and how the loss comes."""
    for groups, size in ((5, 50), (8, 50), (8, 200), (12, 30), (16, 25), (16, 100), (20, 20), (20, 100), (22, 20)):
        for spread in (0.0, 0.3):
            for loss in ("whole groups", "half of a group", "even"):
                yield {"part": "gates", "groups": groups, "size": size, "spread": spread, "loss": loss}


# ------------------------------------------------------------------ rates on different items


def run_unpaired(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Two rates on items of their own, alone or in groups of five on average, and the pooled score test of them."""
    sizes, spread, ease = cell["items"], cell["spread"], float(ndtri(cell["rate"]))
    total = math.sqrt(1 + spread**2)
    found: dict[str, float] = collections.Counter()
    for _ in range(runs):
        for is_gap in (False, True):
            centre = [ease * total, ease * total + cell["shift"] * is_gap]
            groups = [np.sort(rng.integers(0, max(n // 5, 1), n)) if spread else np.arange(n) for n in sizes]
            latent = [c + spread * rng.normal(size=n)[g] for c, n, g in zip(centre, sizes, groups, strict=True)]
            right = [(x + rng.normal(size=len(x)) > 0).astype(float) for x in latent]
            truth = float(ndtr(centre[1] / total) - ndtr(centre[0] / total))
            table = np.full((sum(sizes), 2), np.nan)
            table[: sizes[0], 0], table[sizes[0] :, 1] = right
            codes = np.unique(np.concatenate([groups[0], sizes[0] + groups[1]]), return_inverse=True)[1]
            span = unpaired_evidence(as_outcomes(table, group=codes if spread else None), *NAMES).interval(0.95)
            name = "at_gap" if is_gap else "alike"
            found[f"cover_{name}"] += truth in span
            found["power" if is_gap else "false"] += 0 not in span
            found["score_power" if is_gap else "score_false"] += _score_rejects(*right)
    return {name: round(100 * value / runs, 2) for name, value in found.items()}


def _score_rejects(first: Floats, second: Floats) -> bool:
    """Whether the score test of two independent rates (pooled variance, independent items) tells them apart at 5%."""
    n, m, pool = len(first), len(second), float(np.mean(np.concatenate([first, second])))
    error = math.sqrt(pool * (1 - pool) * (1 / n + 1 / m))
    return error > 0 and abs(second.mean() - first.mean()) / error > 1.959964


def unpaired_cells() -> Iterator[Cell]:
    """Sizes, rates, and groups."""
    for items in ((50, 50), (30, 300), (100, 100), (200, 400)):
        for rate in (0.5, 0.9):
            shift = 2.8 * math.sqrt(rate * (1 - rate) * sum(1 / n for n in items)) / 0.3
            for spread in (0.0, 0.5):
                yield {"part": "unpaired", "items": items, "rate": rate, "spread": spread, "shift": round(shift, 2)}


# ------------------------------------------------------------------ sizes with two groupings


def draw_sized(items: int, cell: Cell, shift: float, rng: np.random.Generator) -> Outcomes:
    """Items that fall into groups of two groupings at random, with as many items a group however many there are."""
    latent = np.repeat(0.8 * rng.normal(size=(items, 1)), 2, axis=1)
    codes = [rng.integers(0, max(round(items / size), 2), items) for size in cell["group_sizes"]]
    for code in codes:
        latent += cell["spread"] * rng.normal(size=(int(code.max()) + 1, 2))[code]
    right = latent + np.array([0.5, 0.5 + shift]) + rng.normal(size=latent.shape) > 0
    return as_outcomes(right.astype(float), group=codes[0], group_2=codes[1])


def run_size(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """The items that a pilot asks for at 80% power (the median of 20 pilots), and the power that they have."""
    size = math.sqrt(1.64 + 2 * cell["spread"] ** 2)
    shift = float(ndtri(ndtr(0.5 / size) + cell["gap"])) * size - 0.5
    asked = []
    for _ in range(20):
        pilot = difference_evidence(draw_sized(cell["pilot"], cell, 0.0, rng), *NAMES)
        asked.append(units_needed(pilot, cell["gap"], tail=0.025) * pilot.n / pilot.units)
    items = math.ceil(float(np.median(asked)))
    spans = [difference_evidence(draw_sized(items, cell, shift, rng), *NAMES).interval(0.95) for _ in range(runs)]
    return {"items": items, "power": round(100 * float(np.mean([span.low > 0 for span in spans])), 2)}


def size_cells() -> Iterator[Cell]:
    """Gaps, and items in each group of either grouping."""
    for group_sizes, gap in (((20, 15), 0.05), ((20, 15), 0.1), ((40, 10), 0.1)):
        yield {"part": "size", "pilot": 1500, "group_sizes": group_sizes, "spread": 0.3, "gap": gap}


# ------------------------------------------------------------------ subgroups


def run_by(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """Any false claim among the subgroups, coverage, and power: by the family, and by one test per subgroup."""
    number, size, truths = cell["subgroups"], cell["items"], np.zeros(cell["subgroups"])
    truths[: cell["apart"]] = cell["gap"]
    code = np.repeat(np.arange(number), size)
    metric, found = METRICS["accuracy"], collections.Counter[str]()
    questions = [
        Question(measure="accuracy", conditions=NAMES, family="subgroup", column="domain", part=str(k))
        for k in range(number)
    ]
    spread = 0.3 if cell["grouped"] else 0.0
    size = math.sqrt(1.64 + spread**2)
    centre = np.stack([np.full(number, 0.5), ndtri(ndtr(0.5) + truths)])[:, code].T * size
    for _ in range(runs):
        group = np.unique(code * 20 + rng.integers(0, 20, len(code)), return_inverse=True)[1]
        latent = 0.8 * rng.normal(size=(len(code), 1)) + spread * rng.normal(size=(int(group.max()) + 1, 2))[group]
        right = (latent + centre + rng.normal(size=centre.shape) > 0).astype(float)
        sample = as_sample(as_outcomes(right, group=group if cell["grouped"] else None))
        asked = [
            Asked(question=question, metric=metric, evidence=difference_evidence(within(sample, code == k), *NAMES))
            for k, question in enumerate(questions)
        ]
        shown = np.array([claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED) for claim in decide(asked)])
        spans = [one.known.interval(0.95) for one in asked]
        alone = np.array([0 not in span for span in spans])
        found["false"] += bool(shown[truths == 0].any())
        found["false, one test each"] += bool(alone[truths == 0].any())
        found["cover"] += float(np.mean([t in span for t, span in zip(truths, spans, strict=True)]))
        if cell["apart"]:
            found["power"] += float(shown[truths > 0].mean())
            found["power, one test each"] += float(alone[truths > 0].mean())
    return {name: round(100 * value / runs, 2) for name, value in found.items()}


def by_cells() -> Iterator[Cell]:
    """Subgroups, of which none, one or half differ, alone and in groups."""
    for number, items in ((3, 200), (6, 150), (12, 100)):
        for apart in (0, 1, number // 2):
            for grouped in (False, True):
                yield {"part": "by", "subgroups": number, "items": items, "apart": apart, "gap": 0.15,
                       "grouped": grouped}  # fmt: skip


# ------------------------------------------------------------------ what held before


def draw_other(cell: Cell, shift: float, rng: np.random.Generator) -> tuple[Outcomes, float]:
    """Two conditions on 300 items: opposed answers, weights 1 to 100, draws, ordinal and partial credit."""
    kind, items = cell["kind"], 300
    draws, sign = (5, 1.0) if kind == "draws" else (1, -1.0 if kind == "negative dependence" else 1.0)
    shared = rng.normal(size=(items, 1, 1)) * np.array([1.0, sign])[:, None]
    latent = shared + np.array([0.5, 0.5 + shift])[:, None] + rng.normal(size=(items, 2, draws))
    cuts = np.array({"ordinal": [-1.0, 0.0, 1.0, 2.0], "partial credit": [0.0, 0.0, 1.0]}.get(kind, [0.0]))
    value = np.mean(latent[..., None] > cuts, axis=-1)
    truth = float(np.mean(ndtr((0.5 + shift - cuts) / math.sqrt(2)) - ndtr((0.5 - cuts) / math.sqrt(2))))
    weight = 100.0 ** rng.random(items) if kind == "weights 1 to 100" else None
    metric = "score" if len(cuts) > 1 else "accuracy"
    return as_outcomes(value, metric=metric, weight=weight), truth


def run_other(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """The difference of the two."""

    def draw(shift: float) -> tuple[Evidence, float]:
        outcomes, truth = draw_other(cell, shift, rng)
        return difference_evidence(outcomes, *NAMES), truth

    return tally(draw, 0.3, runs)


def other_cells() -> Iterator[Cell]:
    """One cell of each kind."""
    for kind in ("negative dependence", "weights 1 to 100", "draws", "ordinal", "partial credit"):
        yield {"part": "other", "kind": kind}


# ------------------------------------------------------------------ few groups in a comparison


def run_few(cell: Cell, runs: int, rng: np.random.Generator) -> dict[str, float]:
    """What `compare` claims with few groups of which one in eight of either condition fails wholly: nothing differs."""
    code = np.repeat(np.arange(cell["groups"]), cell["size"])
    found = collections.Counter[str]()
    for _ in range(runs):
        latent = 0.8 * rng.normal(size=(len(code), 1)) + 0.3 * rng.normal(size=(cell["groups"], 2))[code]
        right = (latent + EASE + rng.normal(size=latent.shape) > 0).astype(float)
        if cell["failing"] == "one condition":  # the other has as large a loss on all items
            rate = float(ndtr(EASE / math.sqrt(1.73)))
            right[:, 0] = latent[:, 0] + float(ndtri(7 / 8 * rate)) * math.sqrt(1.73) + rng.normal(size=len(code)) > 0
            right[:, 1] *= (rng.random(cell["groups"]) >= FAILING)[code]
        else:
            right *= (rng.random((cell["groups"], 2)) >= FAILING)[code]
        found["false"] += 0 not in difference_evidence(as_outcomes(right, group=code), *NAMES).interval(0.95)
    return {name: round(100 * value / runs, 2) for name, value in found.items()}


def few_cells() -> Iterator[Cell]:
    """Numbers of groups."""
    for groups, size in ((8, 50), (12, 30), (16, 25), (20, 20), (40, 20)):
        for failing in ("one condition", "both"):
            yield {"part": "few", "groups": groups, "size": size, "failing": failing}


PARTS: dict[str, tuple[Callable[[], Iterator[Cell]], Run]] = {
    "crossed": (crossed_cells, run_crossed),
    "uneven": (uneven_cells, run_uneven),
    "gates": (gates_cells, run_gates),
    "unpaired": (unpaired_cells, run_unpaired),
    "size": (size_cells, run_size),
    "by": (by_cells, run_by),
    "other": (other_cells, run_other),
    "few": (few_cells, run_few),
}


def print_table(out: Path) -> None:
    """What a campaign has found so far."""
    for cell, found in records(out):
        name = ", ".join(f"{k} {v}" for k, v in cell.items())
        print(f"| {name} | {' | '.join(f'{k} {v:g}' for k, v in found.items())} |")


def main() -> None:
    """Run the parts that are named, or print what was found."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "soak/group_worlds.jsonl")
    if sys.argv[2:] == ["table"]:
        print_table(out)
        return
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    jobs = ((cell, PARTS[part][1]) for part in sys.argv[3:] or PARTS for cell in PARTS[part][0]())
    go_on(out, jobs, runs)


if __name__ == "__main__":
    main()
