"""How often `richter watch` alarms without a change, how soon with one, and if a drifting judge is taken for the model.

    python studies/watch_alarms.py [--simulations 2000]    again goes on where it stopped (soak/watch_alarms.jsonl)

Printed for docs/watch.md. False alarms: 1,000 days without a change, looked at every day; five laws of a day, all of
one watch; the same with weekends that differ by a standard deviation of a day or more, and with days correlated with
the day before. Delay: the error rate rises by 5 points (15% to 20%) after 30, 60, 100 or 300 days of 100 items, beside
a weekly fixed-sample test, CUSUM and EWMA whose limits are set by simulation of normal days to the same 5% over 1,000
days (they know the mean and spread of a day; the watch does not). Judges: they grow graver on wrong answers, by as much
as the model's drift of interest does to the mean and by three times that, with few canaries. A watch of 1,000 days
takes about 0.2 s, with days correlated by 0.5 twice that. `--only judges`, `delays` or `alarms` runs a part.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr
from scipy.stats import binom

from richter.audit._watch import drift_reach
from richter.floors import change_evidence, change_point, sequential_scores

ALPHA, LIFE, METRICS, ITEMS = 0.05, 1000, 5, 100
WORLDS = ("days alike", "weekends differ", "correlated 0.2", "correlated 0.3", "correlated 0.4", "correlated 0.5")
JUDGES = ((100, 0.33, 0), (50, 0.33, 1), (30, 0.33, 1), (50, 1.0, 1), (30, 1.0, 1))  # canaries, drift, uneven
BATCH = 20  # watches between two lines of the file


def alarm(days: np.ndarray, rng: np.random.Generator, limit: float, *, independent: bool = False) -> int | None:
    """The first day, counted from 1, on which the evidence reaches the limit."""
    hit = np.flatnonzero(change_evidence(sequential_scores(days, rng=rng), independent=independent) >= limit)
    return int(hit[0]) + 1 if len(hit) else None


def laws(rng: np.random.Generator, days: int, world: str) -> dict[str, np.ndarray]:
    """A metric's values on days without a change."""
    if world.startswith("correlated"):  # each metric a rising function of a normal day
        rho = float(world.split()[1])
        z = lfilter([np.sqrt(1 - rho**2)], [1, -rho], rng.normal(size=(METRICS, days + 100)), axis=1)[:, 100:]
        return {
            "error rate, fresh items": binom.ppf(ndtr(z[0]), ITEMS, 0.15) / ITEMS,
            "error rate, days differ": z[1],
            "mean severity, fixed items": 0.4 + 0.05 * z[2],
            "refusals, rare": binom.ppf(ndtr(z[3]), ITEMS, 0.002) / ITEMS,
            "cost, heavy tail": np.exp(1.5 * z[4]),
        }
    weekend = (np.arange(days) % 7 >= 5) * float(world == "weekends differ")
    return {
        "error rate, fresh items": rng.binomial(ITEMS, 0.15 + 0.05 * weekend) / ITEMS,
        "error rate, days differ": rng.binomial(ITEMS, ndtr(-1.036 + 0.15 * rng.normal(size=days) + 0.2 * weekend))
        / ITEMS,
        "mean severity, fixed items": 0.4 + 0.05 * rng.standard_t(4, days) + 0.05 * weekend,
        "refusals, rare": rng.binomial(ITEMS, 0.002, days) / ITEMS,
        "cost, heavy tail": np.exp(1.5 * rng.normal(size=days) + weekend),
    }


def false_alarms(simulations: int, seed: int, path: Path) -> None:
    """All five metrics of one watch together, with and without the allowance for correlated days."""
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    have = {(row["world"], row["batch"]) for row in done}
    path.parent.mkdir(exist_ok=True)
    for batch in range(-(-simulations // BATCH)):
        for at, world in enumerate(WORLDS):
            if (world, batch) in have:
                continue
            rng = np.random.default_rng([seed, batch, at])
            rang = {"default": 0, "independent": 0}
            for _ in range(BATCH):
                series = laws(rng, LIFE, world).values()
                for name in rang:
                    rang[name] += any(
                        alarm(x, rng, METRICS / ALPHA, independent=name == "independent") is not None for x in series
                    )
            done.append({"world": world, "batch": batch, **rang})
            with path.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
    for world in WORLDS:
        rows = [row for row in done if row["world"] == world]
        n = BATCH * len(rows)
        shares = ", ".join(f"{name} {sum(r[name] for r in rows) / n:.2%}" for name in ("default", "independent"))
        print(f"false alarms in {LIFE} days, {n} watches of {METRICS} metrics, {world}: {shares}")


def limits(rng: np.random.Generator, simulations: int) -> dict[str, float]:
    """The limits at which each rival alarms in 5% of 1,000 days without a change, divided among the five metrics."""
    z = rng.standard_normal((simulations, LIFE))
    best = {name: np.zeros(simulations) for name in RIVALS}
    for name, step in RIVALS.items():
        state = None
        for t in range(LIFE):
            state, value = step(state, z[:, t], t)
            best[name] = np.maximum(best[name], value)
    return {name: float(np.quantile(v, 1 - ALPHA / METRICS)) for name, v in best.items()}


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


def delays(simulations: int, rng: np.random.Generator) -> None:
    """Days from the change to the alarm, among watches that were silent before it."""
    held = limits(rng, 20_000)
    print("limits of the rivals:", {k: round(v, 3) for k, v in held.items()})
    spread = np.sqrt(0.15 * 0.85 / ITEMS)
    for base in (30, 60, 100, 300):
        late: dict[str, list[int]] = {name: [] for name in ("watch", "watch, independent days", *RIVALS)}
        missed, covered, n = 0, 0, 0
        for _ in range(simulations):
            x = np.r_[rng.binomial(ITEMS, 0.15, base), rng.binomial(ITEMS, 0.20, 400)] / ITEMS
            day = alarm(x, rng, METRICS / ALPHA)
            if day is None:
                missed += 1
            elif day > base:
                late["watch"].append(day - base)
                there = change_point(x[:day])
                covered, n = covered + (there.low <= base - 1 <= there.high), n + 1
            sooner = alarm(x, rng, METRICS / ALPHA, independent=True)
            if sooner is not None and sooner > base:
                late["watch, independent days"].append(sooner - base)
            z = (x - 0.15) / spread
            for name, step in RIVALS.items():
                state = None
                for t in range(len(z)):
                    state, value = step(state, z[t : t + 1], t)
                    if float(np.max(value)) >= held[name]:
                        if t >= base:
                            late[name].append(t + 1 - base)
                        break
        print(f"5 points after {base} days, delay in days: median, 90%")
        for name, found in late.items():
            print(f"  {name}: {np.median(found):.0f}, {np.quantile(found, 0.9):.0f}")
        print(f"  watch: missed within 400 days {missed / simulations:.1%}; interval covers {covered / n:.1%}")


def judged_days(rng, days, change, fixed, who, size, uneven):  # type: ignore[no-untyped-def]
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


def told(new: np.ndarray, same: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether a change of the model is told on the day of the alarm, or on one of the days after it (each 25th)."""
    x = new - same.mean(axis=1)
    day = alarm(x, rng, METRICS / ALPHA)
    for t in () if day is None else (*range(day, len(x), 25), len(x)):
        there = change_point(x[:t])
        reach = drift_reach(same[:t], np.arange(t) > there.day, limit=METRICS / ALPHA)
        if abs(there.after - there.before) > reach:
            return True
    return False


def judges(simulations: int, seed: int) -> None:
    """A drift of 0.33 on wrong answers moves the mean as far as 5 points of errors do; 1.0 three times as far."""
    for days, change, n in ((150, 60, simulations), (1000, 300, simulations // 4)):
        for fixed, size, uneven in JUDGES:
            rng = np.random.default_rng([seed, days, fixed, int(100 * size)])
            got = dict.fromkeys(("taken", "judge told", "model told", "judge blamed"), 0)
            for _ in range(n):
                new, same = judged_days(rng, days, change, fixed, "judge", size, uneven)
                got["taken"] += told(new, same, rng)
                got["judge told"] += alarm(same.mean(axis=1), rng, METRICS / ALPHA) is not None
                new, same = judged_days(rng, days, change, fixed, "model", size, uneven)
                got["model told"] += told(new, same, rng)
                got["judge blamed"] += alarm(same.mean(axis=1), rng, METRICS / ALPHA) is not None
            shares = ", ".join(f"{name} {v / n:.1%}" for name, v in got.items())
            print(f"{n} watches, change after {change} of {days} days, {fixed} canaries, drift {size}"
                  f"{', uneven' if uneven else ''}: {shares}", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--only", choices=("judges", "delays", "alarms"))
    given = parser.parse_args()
    if given.only in (None, "judges"):
        judges(given.simulations // 5, given.seed)
    if given.only in (None, "delays"):
        delays(given.simulations // 5, np.random.default_rng(given.seed))
    if given.only in (None, "alarms"):
        false_alarms(given.simulations, given.seed, Path(__file__).parents[1] / "soak" / "watch_alarms.jsonl")
