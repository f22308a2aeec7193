"""How often `richter watch` alarms without a change, how soon with one, and if a drifting judge is taken for the model.

    python studies/watch_alarms.py [--watches 2000] [--only alarms]    again goes on where it stopped

For the page on watching. Alarms: 1,000 days without a change, looked at every day; five laws of a day, all of one
watch; the same with weekends that differ by a standard deviation of a day or more, and with days correlated with the
day before. Delays: the error rate rises by 5 points (15% to 20%) after 30, 60, 100 or 300 days of 100 items, beside a
weekly fixed-sample test, CUSUM and EWMA whose limits are set by simulation of normal days to the same 5% over 1,000
days (they know the mean and spread of a day; the watch does not). Judges: they grow graver on wrong answers, by as much
as the model's drift of interest does to the mean and by three times that, with few canaries.

What was done is kept in soak/watch_alarms.jsonl with the hash of the code that decides, and only rows of the present
code count. A watch of 1,000 days and five metrics takes about half a second; with CuPy and a graphics processor
(`--gpu`) ten thousand of them take half a minute, by the same sums (held against each other at the start).
"""

import argparse
import functools
import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri
from scipy.stats import binom, binomtest

from richter.floors import _drift, change_evidence, change_point, drift_reach

ALPHA, LIFE, METRICS, ITEMS, AFTER = 0.05, 1000, 5, 100, 400
LIMIT = METRICS / ALPHA
WORLDS = ("alike", "weekends", *(f"correlated {r}" for r in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)))
BASES = (30, 60, 100, 300)
JUDGES = [
    (days, change, *cell)
    for days, change in ((150, 60), (1000, 300))
    for cell in ((100, 0.33, 0), (50, 0.33, 1), (30, 0.33, 1), (50, 1.0, 1), (30, 1.0, 1))  # canaries, drift, uneven
]
VERSION = hashlib.sha256(Path(_drift.__file__).read_bytes() + Path(__file__).read_bytes()).hexdigest()[:12]

Alarms = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
NEVER = 10**6

# ------------------------------------------------------------------ the first alarm of many series


def alarms_here(x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each series (row) the day of its first alarm, counted from 1: by default, and with independent days."""
    scores = [ndtri(_drift._sequential_ranks(*row)) for row in zip(x, u, strict=True)]
    return first([change_evidence(z) for z in scores]), first([change_evidence(z, independent=True) for z in scores])


def first(evidence: Any) -> np.ndarray:
    hit = np.asarray(evidence) >= LIMIT
    return np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, NEVER)


def alarms_gpu() -> Alarms:
    """The same on a graphics processor, a block a series."""
    import cupy as cp
    from cupyx.scipy.special import ndtri as scored

    def built(correlations: int) -> Any:
        sizes = {"ND": len(_drift.SHIFTS), "NR": correlations, "FAINT": f"{_drift.MAX_LOG_BELOW:f}"}
        head = "".join(f"#define {name} {value}\n" for name, value in sizes.items())
        return cp.RawModule(code=head + (Path(__file__).parent / "watch_alarms.cu").read_text())

    ranks, mixture, alone = (
        built(1).get_function("ranks"),
        *(built(n).get_function("mixture") for n in (len(_drift.CORRELATIONS), 1)),
    )

    def mixed(z: Any, sums: Any, rho: np.ndarray, believed: np.ndarray) -> Any:
        rows, n = z.shape
        given = [cp.asarray(v, dtype=cp.float64) for v in (_drift._day_weights(n), _drift.SHIFTS, rho, believed)]
        held, found = cp.empty((rows, n * _drift.SHIFTS.size * rho.size)), cp.empty_like(z)
        sums((rows,), (256,), (z, *given, held, found, np.int32(n)))
        return found

    def evidence(x: np.ndarray, u: np.ndarray) -> tuple[Any, Any]:
        rows, n = x.shape
        given = [cp.ascontiguousarray(cp.asarray(v, dtype=cp.float64)) for v in (x, u)]
        p = cp.empty_like(given[0])
        ranks((rows,), (256,), (*given, p, np.int32(n)))
        z = scored(p)
        found = mixed(z, mixture, _drift.CORRELATIONS, _drift.CORRELATION_WEIGHTS)
        best = cp.zeros_like(z)
        for k, rho in enumerate(_drift.EXCUSING_CORRELATIONS.tolist()):
            rest = 1 - rho**2
            gain = -0.5 * np.log(rest) - 0.5 * (z[:, 1:] - rho * z[:, :-1]) ** 2 / rest + 0.5 * z[:, 1:] ** 2
            total = cp.cumsum(gain, axis=1)
            best[:, 1:] = total if k == 0 else cp.maximum(best[:, 1:], total)
        allowed = 2 * cp.log(cp.minimum(1.0, cp.arange(1, n + 1) / _drift.EXCUSED_FROM_DAY))
        single = cp.exp(mixed(z, alone, _drift.CORRELATIONS[:1], np.ones(1)))
        return cp.exp(found - cp.maximum(best + allowed, 0.0)), single

    def alarms(x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        days: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        for at in range(0, len(x), 4000):  # as many series as the memory holds
            for kept, found in zip(days, evidence(x[at : at + 4000], u[at : at + 4000]), strict=True):
                kept.append(first(found.get()))
        return np.concatenate(days[0]), np.concatenate(days[1])

    rng = np.random.default_rng(0)
    x, u = np.c_[rng.normal(size=(3, 60)), rng.normal(1.2, 1, (3, 60))].round(1), rng.random((3, 120))
    x[2] = lfilter([1], [1, -0.9], x[2] - 0.6)  # terms that are dropped are not the same for both
    for at, found in enumerate(evidence(x, u)):
        for row, one in enumerate(found.get()):
            here = change_evidence(ndtri(_drift._sequential_ranks(x[row], u[row])), independent=at == 1)
            assert np.allclose(one, here, rtol=1e-8), "the graphics processor computes something else"
    return alarms


# ------------------------------------------------------------------ worlds


def laws(rng: np.random.Generator, days: int, world: str) -> np.ndarray:
    """Five metrics' values on days without a change."""
    if world.startswith("correlated"):  # each metric a rising function of a normal day
        rho = float(world.split()[1])
        z = lfilter([np.sqrt(1 - rho**2)], [1, -rho], rng.normal(size=(METRICS, days + 100)), axis=1)[:, 100:]
        fresh, rare = binom.ppf(ndtr(z[0]), ITEMS, 0.15) / ITEMS, binom.ppf(ndtr(z[3]), ITEMS, 0.002) / ITEMS
        return np.array([fresh, z[1], 0.4 + 0.05 * z[2], rare, np.exp(1.5 * z[4])])
    weekend = (np.arange(days) % 7 >= 5) * float(world == "weekends")
    uneven = ndtr(-1.036 + 0.15 * rng.normal(size=days) + 0.2 * weekend)
    return np.array([
        rng.binomial(ITEMS, 0.15 + 0.05 * weekend) / ITEMS,  # error rate, fresh items
        rng.binomial(ITEMS, uneven) / ITEMS,  # error rate, days differ
        0.4 + 0.05 * rng.standard_t(4, days) + 0.05 * weekend,  # mean severity, fixed items
        rng.binomial(ITEMS, 0.002, days) / ITEMS,  # refusals, rare
        np.exp(1.5 * rng.normal(size=days) + weekend),  # cost, heavy tail
    ])  # fmt: skip


def quiet(given: tuple[tuple[int, ...], str]) -> tuple[np.ndarray, np.ndarray]:
    seed, world = given
    rng = np.random.default_rng(seed)
    return laws(rng, LIFE, world), rng.random((METRICS, LIFE))


def false_alarms(numbers: range, world: str, seed: list[int], alarms: Alarms, pool: Any) -> dict[str, Any]:
    """How many watches rang, of all five metrics together."""
    x, u = map(np.concatenate, zip(*pool.map(quiet, [((*seed, k), world) for k in numbers], 50), strict=True))
    days = [found.reshape(-1, METRICS).min(axis=1) for found in alarms(x, u)]
    return dict(zip(("default", "independent"), (int((found <= LIFE).sum()) for found in days), strict=True))


# ------------------------------------------------------------------ delays


def _weekly(state, z, t):  # type: ignore[no-untyped-def]
    total = z if state is None or t % 7 == 0 else state + z
    return total, np.where(t % 7 == 6, np.abs(total) / np.sqrt(7), 0.0)


def _cusum(state, z, t):  # type: ignore[no-untyped-def]
    up, down = (0.0, 0.0) if state is None else state
    up, down = np.maximum(0, up + z - 0.5), np.maximum(0, down - z - 0.5)
    return (up, down), np.maximum(up, down)


def _ewma(state, z, t):  # type: ignore[no-untyped-def]
    level = 0.2 * z if state is None else 0.8 * state + 0.2 * z
    return level, np.abs(level)


RIVALS = {"weekly fixed-sample test": _weekly, "CUSUM": _cusum, "EWMA": _ewma}


def charted(z: np.ndarray, step: Any) -> Iterator[np.ndarray]:
    """A rival's value after each day, of all series (rows) at once."""
    state = None
    for t in range(z.shape[1]):
        state, value = step(state, z[:, t], t)
        yield value


@functools.cache
def limits(seed: int, series: int = 20_000) -> dict[str, float]:
    """The limits at which each rival alarms in 5% of 1,000 days without a change, divided among the five metrics."""
    z = np.random.default_rng(seed).standard_normal((series, LIFE))
    best = {name: np.max(list(charted(z, step)), axis=0) for name, step in RIVALS.items()}
    return {name: float(np.quantile(v, 1 - ALPHA / METRICS)) for name, v in best.items()}


def delays(numbers: range, base: int, seed: list[int], alarms: Alarms, pool: Any) -> dict[str, Any]:
    """Days from the change to the alarm, of series that were silent before it; in how many the interval holds it."""
    x, u = [], []
    for k in numbers:
        rng = np.random.default_rng([*seed, k])
        x.append(np.r_[rng.binomial(ITEMS, 0.15, base), rng.binomial(ITEMS, 0.20, AFTER)] / ITEMS)
        u.append(rng.random(base + AFTER))
    days = dict(zip(("watch", "independent"), alarms(np.array(x), np.array(u)), strict=True))
    z = (np.array(x) - 0.15) / np.sqrt(0.15 * 0.85 / ITEMS)
    held = limits(seed[0])
    for name, step in RIVALS.items():
        values = np.array(list(charted(z, step))).T
        hit = values >= held[name]
        days[name] = np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, NEVER)
    told = [(row, d) for row, d in zip(x, days["watch"], strict=True) if base < d < NEVER]
    points = [change_point(row[:d]) for row, d in told]
    covered = sum(p.low <= base - 1 <= p.high for p in points)
    late = {name: (found[found > base] - base).tolist() for name, found in days.items()}
    return {"late": late, "told": len(told), "covered": covered}


# ------------------------------------------------------------------ judges


def judged_days(rng, days, change, fixed, size, uneven, who):  # type: ignore[no-untyped-def]
    """Mean severities of 100 new answers a day, and each fixed answer's; the model errs 5 points more or judges drift.

    30% are wrong, of severity 1, 2 or 3; a rating has a spread of 0.5 and the judge's day one of 0.05. Judges who drift
    rate wrong answers graver by `size`, on each answer otherwise where `uneven`.
    """
    late = np.arange(days) >= change
    drift = late[:, None] * float(who == "judge")
    mood = rng.normal(0, 0.05, (days, 1))

    def rated(wrong, grave, moved):  # type: ignore[no-untyped-def]
        seen = grave + drift * moved + mood + rng.normal(0, 0.5, (days, wrong.shape[-1]))
        return np.where(wrong, np.clip(seen, 0.5, 4.0), 0.0)

    wrong = rng.random((days, ITEMS)) < np.where(late & (who == "model"), 0.35, 0.30)[:, None]
    moved = rng.normal(size, uneven * size, (days, ITEMS))
    new = rated(wrong, rng.choice([1.0, 2.0, 3.0], (days, ITEMS)), moved)
    moved = rng.normal(size, uneven * size, fixed)
    same = rated(rng.random(fixed) < 0.30, rng.choice([1.0, 2.0, 3.0], fixed), moved)
    return new.mean(axis=1), same


def drifting(given: tuple[tuple[int, ...], tuple[Any, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """What is watched: new answers above the fixed ones, and the fixed ones; and their draws for ties."""
    seed, cell = given
    rng = np.random.default_rng(seed)
    new, same = judged_days(rng, *cell)
    return np.array([new - same.mean(axis=1), same.mean(axis=1)]), rng.random((2, len(new)))


def told(given: tuple[tuple[int, ...], tuple[Any, ...], int]) -> bool:
    """Whether a change of the model is told on the day of the alarm, or on one of the days after it (each 25th)."""
    seed, cell, day = given
    new, same = judged_days(np.random.default_rng(seed), *cell)
    x = new - same.mean(axis=1)
    for t in () if day == NEVER else (*range(day, len(x), 25), len(x)):
        there = change_point(x[:t])
        if abs(there.after - there.before) > drift_reach(same[:t], np.arange(t) > there.day, limit=LIMIT):
            return True
    return False


def judges(numbers: range, cell: tuple[Any, ...], seed: list[int], alarms: Alarms, pool: Any) -> dict[str, Any]:
    """A drift of 0.33 on wrong answers moves the mean as far as 5 points of errors do; 1.0 three times as far."""
    got = {}
    for side, (who, yes, other) in enumerate(
        (("judge", "taken", "judge told"), ("model", "model told", "judge blamed"))
    ):
        seeds = [(*seed, side, k) for k in numbers]
        x, u = map(np.concatenate, zip(*pool.map(drifting, [(s, (*cell, who)) for s in seeds], 20), strict=True))
        day = alarms(x, u)[0].reshape(-1, 2)
        got[yes] = sum(pool.map(told, [(s, (*cell, who), int(d)) for s, d in zip(seeds, day[:, 0], strict=True)], 20))
        got[other] = int((day[:, 1] < NEVER).sum())
    return got


# ------------------------------------------------------------------ all of it


def share(rows: list[dict[str, Any]], name: str) -> str:
    k, n = sum(row[name] for row in rows), sum(row["n"] for row in rows)
    found = binomtest(k, n).proportion_ci()
    return f"{name} {k} of {n:,} = {k / n:.2%} ({found.low:.1%} to {found.high:.1%})"


def said(part: str, cell: Any, rows: list[dict[str, Any]]) -> str:
    if part == "alarms":
        return f"{cell}: {share(rows, 'default')}; {share(rows, 'independent')}"
    if part == "judges":
        return f"{cell}: " + "; ".join(share(rows, k) for k in ("taken", "model told", "judge told", "judge blamed"))
    late = {name: np.concatenate([row["late"][name] for row in rows]) for name in rows[0]["late"]}
    words = [
        f"{k} {np.median(v):.0f} ({np.quantile(v, 0.9):.0f}), {np.mean(v > AFTER):.1%} never" for k, v in late.items()
    ]
    told_ = [dict(row, n=row["told"]) for row in rows]
    return f"5 points after {cell} days: {'; '.join(words)}; interval {share(told_, 'covered')}"


PARTS: dict[str, tuple[Any, Any]] = {
    "alarms": (false_alarms, WORLDS), "delays": (delays, BASES), "judges": (judges, JUDGES)
}  # fmt: skip


def main(watches: int, seed: int, only: str | None, gpu: bool, path: Path) -> None:
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = [row for row in done if row.get("version") == VERSION and row["seed"] == seed]
    path.parent.mkdir(exist_ok=True)
    alarms, batch = (alarms_gpu(), 1000) if gpu else (alarms_here, 20)
    workers = len(os.sched_getaffinity(0)) if gpu else 1
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for begin in range(0, watches, batch):
            for at, (part, (work, cells)) in enumerate(PARTS.items()):
                for place, cell in enumerate(cells if only in (None, part) else ()):
                    own = [row for row in done if (row["part"], row["cell"]) == (part, place)]
                    have = sum(row["n"] for row in own)
                    end = min(begin + batch, watches)
                    if have < end:
                        row = work(range(have, end), cell, [seed, at, place], alarms, pool)
                        row = {"version": VERSION, "seed": seed, "part": part, "cell": place, "n": end - have, **row}
                        done.append(row)
                        with path.open("a") as file:
                            file.write(json.dumps(row) + "\n")
    for part, (_, cells) in PARTS.items():
        for place, cell in enumerate(cells):
            rows = [row for row in done if (row["part"], row["cell"]) == (part, place)]
            if rows:
                print(f"{part}: {said(part, cell, rows)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watches", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--gpu", action="store_true")
    kept = Path(__file__).parents[1] / "soak" / "watch_alarms.jsonl"
    parser.add_argument("--kept", type=Path, default=kept)
    given = parser.parse_args()
    main(given.watches, given.seed, given.only, given.gpu, given.kept)
