"""How Sem1 and Sem2 approach each other with more draws (section 6.2 and figure 10 of the Sem-ECE paper).

    python papers/sem_ece_convergence.py DRAWS [--json PATH]

DRAWS is what `richter calibration` reads: a table of repeated draws, or a run.
"""

import argparse
import contextlib
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from richter.audit._calibration_audit import _parts, calibration_rows, read_draws
from richter.audit._calibration_draws import _arranged, _groupings, _pool
from richter.calibration import AnswerPool, held_out_confidence, regimes
from richter.calibration._draws import default_repeats, subsample
from richter.calibration._gap import ece_gap, resample_gap
from richter.errors import TooFewErrors
from richter.interop import Source
from richter.records import Interval, Result
from richter.stats import Floats, ece
from richter.stats._bootstrap import percentiles, stream_seed


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConvergencePoint:
    """Both ECEs at n draws per question, and their gap among the questions of low margin at that n."""

    n: int
    sem1_ece: float
    sem2_ece: float
    low_margin_gap: float | None
    low_margin_questions: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Convergence(Result):
    """Curves over n, and the slope of log gap on log n among low-margin questions (theory: -1/2).

    `gaps` holds the low-margin gap of the data (first column) and of every resample, a row an n.
    """

    unwritten: ClassVar = ("gaps",)

    points: tuple[ConvergencePoint, ...]
    slope: float | None
    interval: Interval | None
    questions: int
    repeats: int
    gaps: Floats = dataclasses.field(repr=False, compare=False, default_factory=lambda: np.empty((0, 0)))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PooledSlope(Result):
    """One slope for several conditions, of the mean of their low-margin gaps; `conditions` of them have curves."""

    slope: float | None
    interval: Interval | None
    conditions: int


def convergence(
    pool: AnswerPool,
    *,
    rng: np.random.Generator,
    sizes: Sequence[int] | None = None,
    repeats: int | None = None,
    n_resamples: int = 300,
    level: float = 0.95,
    bins: int = 10,
) -> Convergence:
    """Sem1-ECE and Sem2-ECE at several numbers of draws, by subsampling each question's draws.

    `sizes` are five steps up to the fewest draws of any question unless given. ECEs are averaged over `repeats`
    subsamples (four, fewer with thousands of questions, unless given). The low-margin set is re-evaluated at each n
    with the margin of all draws: margin < sqrt(log K / n).
    The slope is least squares through the positive gaps; its percentile interval resamples questions. Sizes above
    the number of draws of a question leave it out.
    """
    graded = ~np.isnan(pool.correct)
    pool = pool.take(graded)
    if pool.questions == 0:
        raise TooFewErrors("No question is graded.", n=0, needed=1)
    fewest = int(pool.draws.min())
    if fewest < 4:
        raise TooFewErrors("Curves over the number of draws need several draws a question.", n=fewest, needed=4)
    grid = sorted(set(sizes or np.linspace(max(4, fewest / 5), fewest, 5).round().astype(int).tolist()))
    if grid[0] < 2 or grid[-1] > fewest:
        raise TooFewErrors(f"A size of {grid[-1]} exceeds the fewest draws of a question.", n=fewest, needed=grid[-1])
    repeats = default_repeats(pool) if repeats is None else repeats
    found = regimes(pool)
    points, gap_rows = [], []
    seed = stream_seed(rng)
    for n in grid:
        low = found.margin < np.sqrt(np.log(found.classes) / n)
        first, second, gaps = [], [], []
        for _ in range(repeats):
            part = subsample(pool, n, rng)
            c1 = part.counts.max(axis=1) / n
            c2 = held_out_confidence(part)
            a = part.correct
            first.append(ece(c1, a, bins=bins).ece)
            second.append(ece(c2, a, bins=bins).ece)
            point = ece_gap(c1[low], c2[low], a[low], bins) if low.any() else np.nan
            resampled = resample_gap(c1, c2, a, low, seed=seed, n_resamples=n_resamples, bins=bins)[:, 2]
            gaps.append(np.append(point, resampled))
        row = np.mean(gaps, axis=0)
        gap_rows.append(row)
        points.append(
            ConvergencePoint(
                n=n,
                sem1_ece=float(np.mean(first)),
                sem2_ece=float(np.mean(second)),
                low_margin_gap=float(row[0]) if low.any() else None,
                low_margin_questions=int(low.sum()),
            )
        )
    slope, interval = _slope(grid, np.array(gap_rows), level)
    return Convergence(
        points=tuple(points),
        slope=slope,
        interval=interval,
        questions=pool.questions,
        repeats=repeats,
        gaps=np.array(gap_rows),
    )


def pool_slopes(curves: Sequence[Convergence], *, level: float = 0.95) -> PooledSlope:
    """The slope of the log of the mean gap on log n, over conditions with the same numbers of draws (figure 10).

    The gaps of the conditions are weighted by their low-margin questions at each n, as if these were one set. With
    generators of one seed and as many questions in each, a resample takes the same questions in every condition, so
    that the interval allows for what they have in common.
    """
    first = curves[0] if curves else None
    like = [
        c for c in curves if first and [p.n for p in c.points] == [p.n for p in first.points]
        and c.gaps.shape == first.gaps.shape
    ]  # fmt: skip
    if first is None or not first.gaps.size:
        return PooledSlope(slope=None, interval=None, conditions=0)
    weights = np.array([[p.low_margin_questions for p in c.points] for c in like], dtype=np.float64)
    gaps = np.array([np.where(np.isnan(c.gaps), 0.0, c.gaps) for c in like])
    mean = np.sum(weights[:, :, None] * gaps, axis=0) / np.maximum(weights.sum(axis=0), 1)[:, None]
    slope, interval = _slope([p.n for p in first.points], mean, level)
    return PooledSlope(slope=slope, interval=interval, conditions=len(like))


def _slope(n: Sequence[int], gaps: Floats, level: float) -> tuple[float | None, Interval | None]:
    """Least-squares slope of log gap on log n in the first column, and its percentiles over the others.

    None where fewer than three gaps are positive; no interval where that is so in more than a tenth of the resamples.
    """
    out = np.full(gaps.shape[1], np.nan)
    for j in range(gaps.shape[1]):
        good = gaps[:, j] > 0
        if good.sum() >= 3:
            out[j] = np.polyfit(np.log(np.array(n, dtype=np.float64)[good]), np.log(gaps[good, j]), 1)[0]
    defined = out[1:][~np.isnan(out[1:])]
    if np.isnan(out[0]):
        return None, None
    return float(out[0]), percentiles(defined, level=level) if len(defined) >= 0.9 * (len(out) - 1) else None


def pools_of(source: Source) -> dict[str, AnswerPool]:
    """Each condition's draws in the classes that `richter calibration` forms."""
    pools = {}
    for name, rows in _parts(calibration_rows(read_draws(source))).items():
        part = _arranged(rows)
        pools[name] = _pool(part, next(iter(_groupings(part).values())))
    return pools


def curves_of(source: Source, *, level: float = 0.95, bins: int = 10) -> dict[str, Convergence]:
    """The curve of every condition that has draws enough for one.

    One seed serves all conditions: a resample takes the same questions of each, for the slope over all of them.
    """
    curves = {}
    for name, pool in pools_of(source).items():
        with contextlib.suppress(TooFewErrors):
            curves[name] = convergence(pool, rng=np.random.default_rng(0), bins=bins, level=level)
    return curves


def main(words: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("draws")
    options.add_argument("--level", type=float, default=0.95)
    options.add_argument("--bins", type=int, default=10)
    options.add_argument("--json", help="write the curves here")
    given = options.parse_args(words)
    curves = curves_of(given.draws, level=given.level, bins=given.bins)
    pooled = pool_slopes(list(curves.values()), level=given.level)
    for name, curve in curves.items():
        print(f"{name}: {_describe_slope(curve)}")
        for point in curve.points:
            print(f"  {point.n:4} draws: Sem1-ECE {point.sem1_ece:.3f}, Sem2-ECE {point.sem2_ece:.3f}")
    if pooled.conditions > 1:
        print(f"Over {pooled.conditions} conditions: {_describe_slope(pooled)}")
    if given.json:
        document = {"conditions": {n: c.to_dict() for n, c in curves.items()}, "pooled_slope": pooled.to_dict()}
        Path(given.json).write_text(json.dumps(document))


def _describe_slope(found: Convergence | PooledSlope) -> str:
    if found.slope is None:
        return "the low-margin gap has no slope: it is not positive."
    interval = found.interval
    span = "" if interval is None else f" ({100 * interval.level:g}% CI {interval.low:.2f} to {interval.high:.2f})"
    return f"the low-margin gap shrinks as n^{found.slope:.2f}{span}; theory -0.50."


if __name__ == "__main__":
    main()
