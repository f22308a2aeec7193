"""Simulation tables of the tail protocol. Run: python papers/tail_protocol.py TABLE [--trials N] [--engine ray]

All data are simulated. `criteria` is the paper's appendix E with more trials; `protocol` exercises every gate; `size`
the sizes of `richter size tail`; `traps` rebuilds the three of section 6; `gof` gives the size of the Anderson-Darling
test; `coverage` that of the three intervals of xi. The engine changes no digit of the first four; the others do not use
it.
"""

import argparse
import dataclasses

import numpy as np

from richter.stats import Mapper
from richter.tail import TailPlan, fit_gpd, gpd_gof, size_tail
from richter.tail import _gpd_kernels as _kernels
from richter.tail._gof import gof_p_value
from richter.tail._gpd import seeds_from
from tail_generators import GENERATORS, draw_gpd
from tail_power import simulate_criteria, simulate_protocol
from tail_traps import TRAPS, simulate_trap
from trials import open_mapper

PLAN = TailPlan(tolerance_mean=0.10, tolerance_tvar=0.20)


def criteria(trials: int, rng: np.random.Generator, mapper: Mapper) -> None:
    print(f"appendix E: P1 and P2 on GPD pairs, {trials} trials, 1,000 resamples")
    print("n_exc  " + "  ".join(f"d={d:.2f}" for d in (0.0, 0.05, 0.10, 0.15, 0.20)))
    for n in (1000, 1500, 500, 200, 3000, 2000):
        study = simulate_criteria([0.0, 0.05, 0.10, 0.15, 0.20], [n], rng=rng, trials=trials, mapper=mapper)
        print(f"{n:5}  " + "  ".join(f"{c.pass_rate:6.3f}" for c in study.cells), flush=True)


def protocol(trials: int, rng: np.random.Generator, mapper: Mapper) -> None:
    print(f"all gates, 31,400 items, q = 0.95, {trials} trials, 1,000 resamples")
    for xi, delta in ((0.0, 0.0), (0.0, 0.10), (0.0, 0.15), (0.0, 0.20), (-0.1, 0.20)):
        _row("positive", xi, delta, trials, rng, mapper)
    for generator in GENERATORS[1:]:
        _row(generator, 0.0, 0.20, trials, rng, mapper)


def _row(generator: str, xi: float, delta: float, trials: int, rng: np.random.Generator, mapper: Mapper) -> None:
    study = simulate_protocol([delta], [1570], PLAN, rng=rng, generator=generator, xi=xi, trials=trials, mapper=mapper)
    (cell,) = study.cells
    failed = " ".join(f"{name} {share:.3f}" for name, share in cell.failed.items())
    first = " ".join(f"{name} {share:.3f}" for name, share in cell.blocked_by.items() if share)
    print(
        f"{generator:8} xi {xi:+.2f} / {xi + delta:+.2f}: pass {cell.pass_rate:.3f} "
        f"[{cell.interval.low:.3f}, {cell.interval.high:.3f}]  failed: {failed}  blocked by: {first}",
        flush=True,
    )


def size(trials: int, rng: np.random.Generator, mapper: Mapper) -> None:
    print(f"sizes of `richter size tail` at a power of 0.8, {trials} trials, 500 resamples")
    for delta, true, xi in ((0.1, 0.15, 0.0), (0.4 / 3, 0.2, 0.0), (0.2, 0.3, 0.0), (0.1, 0.2, 0.0), (0.1, 0.15, 0.2)):
        needed = size_tail(delta, true=true, xi=xi).exceedances
        plan = dataclasses.replace(PLAN, delta=delta, xi_expected=xi)
        study = simulate_protocol([true], [needed], plan, rng=rng, xi=xi, trials=trials, n_resamples=500, mapper=mapper)
        print(f"claim {delta:.3f}, true {true}, xi {xi}: {needed:,}, pass {study.cells[0].pass_rate:.3f}", flush=True)


def traps(trials: int, rng: np.random.Generator, mapper: Mapper) -> None:
    print(f"section 6's traps: studies in which the claim is false, {trials} trials, 1,000 resamples")
    for gate in TRAPS:
        study = simulate_trap(gate, rng=rng, trials=trials, n_resamples=1000, mapper=mapper)
        said = ", ".join(f"{name} {share:.3f}" for name, share in study.outcomes.items())
        print(f"{gate}: naive analysis passes {study.naive_rate:.3f}; the protocol says: {said}", flush=True)


def gof(trials: int, rng: np.random.Generator, _: Mapper) -> None:
    print(f"size of the 5% Anderson-Darling test, n = 1,570, {trials} samples")
    for xi in (-0.4, -0.2, 0.0, 0.2, 0.5):
        drawn = _kernels.simulate_gof(1570, xi, 1.0, 0.0, 0.0, np.empty(0), seeds_from(rng, trials))
        rejected = np.mean([gof_p_value(a2, round(max(fitted, -0.5), 2)) < 0.05 for a2, fitted in drawn])
        print(f"xi {xi:+.1f}: {rejected:.4f}", flush=True)
    print(f"rounded to 0.05 sigma, by the bootstrap that rounds too, n = 500, {max(trials // 10, 1)} samples")
    for xi in (-0.2, 0.0, 0.2, 0.5):
        rejected = 0
        for _ in range(max(trials // 10, 1)):
            x = np.ceil(draw_gpd(500, xi, 1.0, rng=rng) / 0.05) * 0.05
            rejected += gpd_gof(x, method="bootstrap", rng=rng, n_resamples=199).p <= 0.05
        print(f"xi {xi:+.1f}: {rejected / max(trials // 10, 1):.4f}", flush=True)


def coverage(trials: int, rng: np.random.Generator, _: Mapper) -> None:
    print(f"coverage of 95% intervals of xi = 0.1, {trials} samples, 1,000 resamples")
    for n in (50, 100, 500, 1570):
        hits = dict.fromkeys(("profile", "percentile"), 0)
        for _ in range(trials):
            x = draw_gpd(n, 0.1, 1.0, rng=rng)
            for method in hits:
                hits[method] += 0.1 in fit_gpd(x, interval=method, rng=rng, n_resamples=1000).interval
        print(f"n {n:5}: " + "  ".join(f"{m} {h / trials:.3f}" for m, h in hits.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["criteria", "protocol", "size", "traps", "gof", "coverage"])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", default="local")
    args = parser.parse_args()
    with open_mapper(args.engine) as mapper:
        globals()[args.table](args.trials, np.random.default_rng(args.seed), mapper)


if __name__ == "__main__":
    main()
