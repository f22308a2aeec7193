"""How often `richter watch` alarms without a change, how soon with one, and if a drifting judge is taken for the model.

Printed for docs/watch.md. False alarms: 1,000 days without a change, looked at every day; five laws of a day. Delay:
the error rate rises by 5 points (15% to 20%) after 30, 100 or 300 days of 100 items, beside a weekly fixed-sample test,
CUSUM and EWMA whose limits are set by simulation of normal days to the same 5% over 1,000 days (they know the mean and
spread of a day; the watch does not). Judges: they grow graver by 0.3 on wrong answers and on canaries alike.
"""

import argparse

import numpy as np
from scipy.special import ndtr

from richter.floors import change_evidence, change_point, sequential_scores

ALPHA, LIFE, METRICS, ITEMS = 0.05, 1000, 5, 100


def alarm(days: np.ndarray, rng: np.random.Generator, limit: float) -> int | None:
    """The first day, counted from 1, on which the evidence reaches the limit."""
    hit = np.flatnonzero(change_evidence(sequential_scores(days, rng=rng)) >= limit)
    return int(hit[0]) + 1 if len(hit) else None


def laws(rng: np.random.Generator, days: int) -> dict[str, np.ndarray]:
    """A metric's values on days without a change."""
    shared = rng.normal(size=days)
    return {
        "error rate, fresh items": rng.binomial(ITEMS, 0.15, days) / ITEMS,
        "error rate, days differ": rng.binomial(ITEMS, np.clip(ndtr(-1.036 + 0.15 * shared), 0, 1)) / ITEMS,
        "mean severity, fixed items": 0.4 + 0.05 * rng.standard_t(4, days),
        "refusals, rare": rng.binomial(ITEMS, 0.002, days) / ITEMS,
        "cost, heavy tail": rng.lognormal(0, 1.5, days),
    }


def false_alarms(simulations: int, rng: np.random.Generator) -> None:
    """All five metrics of one watch together."""
    names = list(laws(rng, 2))
    by_name, any_of = dict.fromkeys(names, 0), 0
    for _ in range(simulations):
        rang = {n: alarm(x, rng, METRICS / ALPHA) is not None for n, x in laws(rng, LIFE).items()}
        any_of += any(rang.values())
        for name in names:
            by_name[name] += rang[name]
    print(f"false alarms in {LIFE} days, {simulations} watches of {METRICS} metrics: {any_of / simulations:.2%}")
    for name, count in by_name.items():
        print(f"  {name}: {count / simulations:.2%}")


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
    for base in (30, 100, 300):
        late: dict[str, list[int]] = {name: [] for name in ("watch", *RIVALS)}
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


def judges(simulations: int, rng: np.random.Generator) -> None:
    """Severities of 100 answers and of 100 canaries each day; the judge is 0.3 graver on wrong answers after day 60."""
    taken = seen = model = blamed = 0
    for _ in range(simulations):
        for who in ("judge", "model"):
            wrong = rng.binomial(ITEMS, np.r_[np.full(60, 0.3), np.full(90, 0.3 if who == "judge" else 0.4)]) / ITEMS
            graver = np.r_[np.zeros(60), np.full(90, 0.3 if who == "judge" else 0.0)]
            noise = rng.normal(0, 0.06, (2, 150))
            answers = wrong * (2.0 + graver) + noise[0]
            canaries = 0.3 * (2.0 + graver) + noise[1]
            of_model = alarm(answers - canaries, rng, METRICS / ALPHA) is not None
            of_judge = alarm(canaries, rng, METRICS / ALPHA) is not None
            if who == "judge":
                taken, seen = taken + of_model, seen + of_judge
            else:
                model, blamed = model + of_model, blamed + of_judge
    print(f"a judge that drifts: taken for the model {taken / simulations:.1%}, told {seen / simulations:.1%}")
    print(f"a model that drifts: told {model / simulations:.1%}, the judge blamed {blamed / simulations:.1%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=22)
    given = parser.parse_args()
    generator = np.random.default_rng(given.seed)
    judges(given.simulations // 2, generator)
    delays(given.simulations // 4, generator)
    false_alarms(given.simulations, generator)
