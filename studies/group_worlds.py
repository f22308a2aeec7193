"""False claims, coverage and power where items come in groups: crossed and uneven; and of subgroups.

Parts: crossed (two groupings), uneven (one group with a large share of the items), by (subgroups). Groups have normal
effects on a latent scale, drawn for each condition by itself: two alike conditions differ by chance alone, and the true
difference is known.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator

import numpy as np
from driver import Cell, run_study
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from richter.claims import (
    METRICS,
    Asked,
    Outcomes,
    Question,
    as_sample,
    decide,
    difference_evidence,
    within,
)
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


def compared(draw: Callable[[float], tuple[Outcomes, float]], shift: float) -> dict[str, float]:
    """A false claim without a difference, cover with and without one, power, and the half-width."""
    null, some = ((difference_evidence(outcomes, *NAMES), truth) for outcomes, truth in (draw(0.0), draw(shift)))
    span, other = null[0].interval(0.95), some[0].interval(0.95)
    return {
        "false %": 0 not in span, "cover %": (some[1] in other) / 2 + (0 in span) / 2, "power %": other.low > 0,
        "half-width": other.half_width, "undecided %": span.low <= -1 and span.high >= 1,
    }  # fmt: skip


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


def crossed(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """By both groupings."""
    return compared(lambda shift: draw_crossed(cell, shift, rng), cell["shift"])


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


def uneven(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """The difference by group."""
    return compared(lambda shift: draw_uneven(cell, shift, rng), cell["shift"])


def uneven_cells() -> Iterator[Cell]:
    """A share of the items in one group, and how much groups differ."""
    for groups, items, share in ((21, 400, 0.25), (41, 800, 0.25), (61, 1200, 0.25), (21, 400, 0.5), (11, 400, 0.4),
                                 (21, 400, 0.05), (8, 400, 0.125)):  # fmt: skip
        for spread in (0.0, 0.3, 0.8):
            yield {"part": "uneven", "groups": groups, "items": items, "share": share, "spread": spread,
                   "shift": 0.5}  # fmt: skip
    yield {"part": "uneven", "groups": 41, "items": 800, "share": 0.25, "spread": 0.3, "ragged": True, "shift": 0.5}


def by(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Any false claim among the subgroups, coverage, and power: by the family, and by one test per subgroup."""
    number, truths = cell["subgroups"], np.zeros(cell["subgroups"])
    truths[: cell["apart"]] = cell["gap"]
    code = np.repeat(np.arange(number), cell["items"])
    spread = 0.3 if cell["grouped"] else 0.0
    size = math.sqrt(1.64 + spread**2)
    centre = np.stack([np.full(number, 0.5), ndtri(ndtr(0.5) + truths)])[:, code].T * size
    group = np.unique(code * 20 + rng.integers(0, 20, len(code)), return_inverse=True)[1]
    latent = 0.8 * rng.normal(size=(len(code), 1)) + spread * rng.normal(size=(int(group.max()) + 1, 2))[group]
    right = (latent + centre + rng.normal(size=centre.shape) > 0).astype(float)
    sample = as_sample(as_outcomes(right, group=group if cell["grouped"] else None))
    asked = [
        Asked(
            question=Question(measure="accuracy", conditions=NAMES, family="subgroup", column="domain", part=str(k)),
            metric=METRICS["accuracy"], evidence=difference_evidence(within(sample, code == k), *NAMES),
        )
        for k in range(number)
    ]  # fmt: skip
    shown = np.array([claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED) for claim in decide(asked)])
    spans = [one.known.interval(0.95) for one in asked]
    alone = np.array([0 not in span for span in spans])
    return {
        "false %": shown[truths == 0].any(), "false, one test each %": alone[truths == 0].any(),
        "cover %": float(np.mean([t in span for t, span in zip(truths, spans, strict=True)])),
        "power %": shown[truths > 0].mean() if cell["apart"] else math.nan,
        "power, one test each %": alone[truths > 0].mean() if cell["apart"] else math.nan,
    }  # fmt: skip


def by_cells() -> Iterator[Cell]:
    """Subgroups, of which none, one or half differ, alone and in groups."""
    for number, items in ((3, 200), (6, 150), (12, 100)):
        for apart in (0, 1, number // 2):
            for grouped in (False, True):
                yield {"part": "by", "subgroups": number, "items": items, "apart": apart, "gap": 0.15,
                       "grouped": grouped}  # fmt: skip


PARTS = {"crossed": crossed, "uneven": uneven, "by": by}
CELLS = [*crossed_cells(), *uneven_cells(), *by_cells()]


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One table of the cell's part."""
    return PARTS[cell["part"]](cell, rng)


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=2000)
