"""The room `severity` against a plain numpy loop and against `powerlaw`; times are CPU seconds, ratios of one run."""

import contextlib
import io
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from richter.claims import decide
from richter.severity import DEFAULT, b_from_counts, pair_questions, summarise_study, weigh_pairs
from richter.severity._families import families_from_counts

sys.path.insert(0, str(Path(__file__).parents[1] / "papers"))  # what is run but not shipped; hence the import after it

from errorquake_analyses import run_analyses
from errorquake_scores import Scores


def cpu(run: Callable[[], Any], *, repeat: int = 1) -> float:
    run()
    start = time.process_time()
    for _ in range(repeat):
        run()
    return (time.process_time() - start) / repeat


def geometric(b: float) -> NDArray[np.float64]:
    p = 10 ** (-b * 0.5 * np.arange(8))
    return p / p.sum()


def plain_loop(errors: NDArray[np.float64], n_resamples: int, rng: np.random.Generator) -> list[float]:
    """b by maximum likelihood on the bounded grid with m_min chosen in every resample, in plain numpy and scipy."""
    from scipy.optimize import brentq

    out = []
    for _ in range(n_resamples):
        sample = rng.choice(errors, size=len(errors))
        best, slope = np.inf, np.nan
        for m_min in np.arange(0.5, 2.51, 0.5):
            tail = sample[sample >= m_min]
            if len(tail) < 30 or tail.max() == m_min:
                continue
            levels = np.arange(m_min, 4.01, 0.5)
            steps = np.arange(len(levels))
            mean = (tail.mean() - m_min) / 0.5

            def gap(x: float, steps: NDArray[np.int64] = steps, mean: float = mean) -> float:
                weights = np.exp(x * steps)
                return float(weights @ steps / weights.sum() - mean)

            x = brentq(gap, -20, 20)
            law = np.exp(x * steps)
            law = np.cumsum(law / law.sum())
            seen = np.searchsorted(np.sort(tail), levels, side="right") / len(tail)
            distance = np.max(np.abs(seen - law))
            if distance < best:
                best, slope = distance, -x / (0.5 * np.log(10))
        out.append(slope)
    return out


def bench_bootstrap() -> None:
    rng = np.random.default_rng(1)
    counts = np.concatenate([[7500], rng.multinomial(2500, geometric(0.6))])
    errors = np.repeat(np.arange(1, 9) / 2, counts[1:])
    ours = cpu(lambda: b_from_counts(counts, n_resamples=2000, rng=rng), repeat=20)
    few = 60
    loop = cpu(lambda: plain_loop(errors, few, rng)) * 2000 / few
    print(f"b bootstrap with reselection, 2,000 x 2,500: {ours * 1e3:.1f} ms; plain numpy loop {loop * 1e3:.0f} ms")
    print(f"  ratio {loop / ours:.0f} (asked for: 40)")


def bench_families() -> None:
    try:
        import powerlaw
    except ImportError:
        print("five family fits: powerlaw is not installed, so there is nothing to compare with")
        return
    rng = np.random.default_rng(2)
    counts = np.concatenate([[0], rng.multinomial(2500, geometric(0.6))])
    data = np.repeat(np.arange(1, 9), counts[1:])  # powerlaw takes whole numbers only
    names = ("power_law", "truncated_power_law", "exponential", "stretched_exponential", "lognormal")

    def theirs() -> None:
        quiet = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            warnings.simplefilter("ignore")
            fit = powerlaw.Fit(data, discrete=True, xmin=1, xmax=8, verbose=0)
            for i, first in enumerate(names):
                for second in names[i + 1 :]:
                    fit.distribution_compare(first, second)

    ours = cpu(lambda: families_from_counts(counts, n_resamples=1, rng=rng), repeat=50)
    other = cpu(theirs)
    print(f"five fits with all comparisons, 2,500 errors: {ours * 1e3:.2f} ms; powerlaw {other * 1e3:.0f} ms")
    print(f"  ratio {other / ours:.0f} (asked for: 100)")


def simulated_study() -> tuple[Scores, dict[str, float]]:
    """21 simulated conditions x 10,000 items, with two simulated judges, eight domains and five tiers."""
    rng = np.random.default_rng(3)
    n, names = 10_000, tuple(f"m{i}" for i in range(21))
    severity = np.zeros((n, 21))
    for i in range(21):
        wrong = rng.random(n) < 0.25 + 0.002 * i
        severity[wrong, i] = rng.choice(8, size=int(wrong.sum()), p=geometric(0.5 + 0.02 * (i % 11))) / 2 + 0.5
    shift = rng.choice([-0.5, 0.0, 0.5], p=[0.1, 0.8, 0.1], size=(2, n, 21))
    first = (np.arange(n)[:, None] + np.arange(21)) % 8
    scores = Scores(
        items=tuple(str(i) for i in range(n)),
        conditions=names,
        severity=severity,
        domain=np.array([f"d{i % 8}" for i in range(n)]),
        tier=np.arange(n) // 8 % 5 + 1,
        judges=np.where(severity > 0, np.clip(severity + shift, 0, 4), 0.0),
        judge_names=np.stack([first, (first + 3) % 8]).astype(np.str_),
    )
    return scores, {name: 3e9 * 1.13**i for i, name in enumerate(names)}


def bench_study() -> None:
    scores, sizes = simulated_study()
    rng = np.random.default_rng(4)
    start, cpu_start = time.perf_counter(), time.process_time()
    pairs, main = weigh_pairs(scores.columns(), rng=rng), "severity_given_error"
    asked = pair_questions(pairs.pairs, {}, primary=main, margins={}, basis="", judged="")
    study = summarise_study(
        pairs, decide(asked), primary=main, recipe=DEFAULT, max_error_gap=0.05, min_gap=0.15, n_resamples=2000,
        level=0.95, rng=rng,
    )  # fmt: skip
    run_analyses(scores, active_params=sizes, pairs=[("m0", "m1")], estimates=study.slopes, rng=rng)
    seconds, used = time.perf_counter() - start, time.process_time() - cpu_start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    counts = study.counts
    print(
        f"a whole study, 21 x 10,000, {counts.matched} matched pairs, every analysis: {seconds:.1f} s, {used:.1f} s CPU"
    )
    print(f"  (asked for: 20 s on 2 cores); {memory:.2f} GB (asked for: 1)")


def main() -> None:
    bench_bootstrap()
    bench_families()
    bench_study()


if __name__ == "__main__":
    main()
