"""How often the tail protocol passes a pair whose truth is known, and which gates fall. All data are simulated.

    python papers/tail_power.py --delta-xi 0.1 0.2 --n-exc 1570
    python papers/tail_power.py --generator gpd --n-exc 500 1000 --trials 500     (the paper's figure 5)
    python papers/tail_power.py --generator G5 --delta-xi 0.2
    python papers/tail_power.py --trials 2000 --engine ray

Trials have seeds of their own: neither the engine nor the number of workers changes a digit.
"""

import argparse
import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from richter.audit import read_plan
from richter.audit._plan_tail import tail_plan
from richter.errors import InputError, RichterError
from richter.records import Interval, Result, Verdict
from richter.stats import Floats, Mapper, wilson
from richter.stats._bootstrap import percentiles
from richter.tail import _gpd_kernels as _kernels
from richter.tail._condition import ConditionTail, exceedances_above, stability_of
from richter.tail._gates import GATES, decide_pair, evaluate_gates
from richter.tail._gof import GofResult, gof_p_value
from richter.tail._gpd import GpdFit, bootstrap_xi, seeds_from, tvar
from richter.tail._tail_plan import TailPlan
from richter.tail._transform import find_bound
from tail_generators import GENERATORS, draw_gpd, draw_pair
from trials import open_mapper, run_trials


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PowerCell(Result):
    """One true difference and size: how often the pair passes, and which gate fell first.

    `pass_rate` is over all gates (for the paper's appendix E, over P1 and P2, the only ones it exercises);
    `criteria_rate` over P1 and P2 alone; `failed` the share of trials in which each gate failed; `undecided` the
    share that passed every gate but had fewer exceedances than eq. (2) asks for. In appendix E, P2 is looked
    at before P1, and `failed` has P2 only.
    """

    delta: float
    n_exc: int
    n_items: int
    trials: int
    pass_rate: float
    interval: Interval
    criteria_rate: float
    undecided: float
    failed: dict[str, float]
    blocked_by: dict[str, float]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PowerStudy(Result):
    """Pass rates over true differences and numbers of exceedances."""

    generator: str
    size: float
    xi: float
    cells: tuple[PowerCell, ...]
    n_resamples: int
    simulated: bool = True


def simulate_criteria(
    deltas: Sequence[float],
    n_excs: Sequence[int],
    *,
    rng: np.random.Generator,
    trials: int = 200,
    n_resamples: int = 1_000,
    xi: float = 0.0,
    floor: float = 0.10,
    level: float = 0.95,
    mapper: Mapper = map,
) -> PowerStudy:
    """Appendix E: P1 and P2 on pure GPD exceedances, xi against xi + delta with sigma = 1 (figure 5).

    The other gates have nothing to look at there. P2 is looked at first: where it fails the trial is lost whatever the
    intervals say, so that they are bootstrapped only where it holds. The lighter sample of a trial is shared by all
    deltas of its n, so cells of one n are dependent, each with the right marginal. Trials have seeds of their own:
    `mapper` says where they run and changes no rate.
    """
    _check_runs(trials, n_resamples)
    settings = [
        _Criteria(deltas=tuple(deltas), n=n, xi=xi, floor=floor, level=level, n_resamples=n_resamples) for n in n_excs
    ]
    cells = []
    for n, results in zip(n_excs, run_trials(_criteria_trial, settings, trials, rng=rng, mapper=mapper), strict=True):
        for delta, outcomes in zip(deltas, zip(*results, strict=True), strict=True):
            cells.append(_criteria_cell(delta, n, trials, outcomes.count("small"), outcomes.count("passed")))
    return PowerStudy(generator="gpd", size=0.0, xi=xi, cells=tuple(cells), n_resamples=n_resamples)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Criteria:
    deltas: tuple[float, ...]
    n: int
    xi: float
    floor: float
    level: float
    n_resamples: int


def _criteria_trial(setting: _Criteria, rng: np.random.Generator) -> list[str]:
    """What became of each delta: `small` (P2 fails), `overlap` (P1 fails) or `passed`."""
    n, level, n_resamples = setting.n, setting.level, setting.n_resamples
    light = draw_gpd(n, setting.xi, 1.0, rng=rng)
    shape, interval = _shape_of(light), None
    outcomes = []
    for delta in setting.deltas:
        heavy = draw_gpd(n, setting.xi + delta, 1.0, rng=rng)
        if abs(_shape_of(heavy) - shape) <= setting.floor:
            outcomes.append("small")
            continue
        interval = interval or _fit(light, level, n_resamples, rng).interval
        other = _fit(heavy, level, n_resamples, rng).interval
        apart = other.low > interval.high or interval.low > other.high
        outcomes.append("passed" if apart else "overlap")
    return outcomes


def _criteria_cell(delta: float, n: int, trials: int, small: int, passed: int) -> PowerCell:
    return PowerCell(
        delta=delta,
        n_exc=n,
        n_items=n,
        trials=trials,
        pass_rate=passed / trials,
        interval=wilson(passed, trials),
        criteria_rate=passed / trials,
        undecided=0.0,
        failed={"P2": small / trials},
        blocked_by={"P2": small / trials, "P1": (trials - small - passed) / trials},
    )


def simulate_protocol(
    deltas: Sequence[float],
    n_excs: Sequence[int],
    plan: TailPlan,
    *,
    rng: np.random.Generator,
    generator: str = "positive",
    size: float = 1.0,
    xi: float = 0.0,
    trials: int = 200,
    n_resamples: int = 1_000,
    mapper: Mapper = map,
) -> PowerStudy:
    """Pass rates with all gates exercised, on severities whose mean and TVaR_0.9 are equal and whose shapes differ.

    The gates are those of `compare_tails` for independent conditions. To be quick, the intervals of G1 and G2 use the
    normal limit of mean and TVaR instead of the bootstrap (tens of thousands of items: the two agree), and G4 the
    eigenvalues at the shape rounded to 0.01. Intervals of xi are bootstrapped with `n_resamples`. Trials have seeds of
    their own: `mapper` says where they run and changes no rate.
    """
    _check_runs(trials, n_resamples)
    if generator not in GENERATORS:
        raise InputError(f"The generator {generator!r} is not known.", remedy=f"Use one of {', '.join(GENERATORS)}.")
    settings = []
    for delta in deltas:
        for n_exc in n_excs:
            n = math.ceil(round(n_exc / (1 - plan.q), 6))
            used, kept = plan, n_exc
            if generator == "G3":  # the same items under a threshold too high for them, as the paper's q = 0.99
                kept = math.floor(plan.floor_exceedances * (1 - 0.1 * size))
                used = dataclasses.replace(plan, q=1 - kept / n)
            settings.append(
                _Setting(
                    delta=delta,
                    n_exc=kept,
                    n_items=n,
                    plan=used,
                    generator=generator,
                    size=size,
                    xi=xi,
                    n_resamples=n_resamples,
                )
            )
    results = run_trials(_trial, settings, trials, rng=rng, mapper=mapper)
    cells = tuple(_cell(setting, found) for setting, found in zip(settings, results, strict=True))
    return PowerStudy(generator=generator, size=size, xi=xi, cells=cells, n_resamples=n_resamples)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    delta: float
    n_exc: int
    n_items: int
    plan: TailPlan
    generator: str
    size: float
    xi: float
    n_resamples: int


_Trial = tuple[tuple[bool | None, ...], Verdict, str | None]


def _cell(setting: _Setting, results: Sequence[_Trial]) -> PowerCell:
    trials = len(results)
    passed = sum(verdict is Verdict.VERIFIED for _, verdict, _ in results)
    return PowerCell(
        delta=setting.delta,
        n_exc=setting.n_exc,
        n_items=setting.n_items,
        trials=trials,
        pass_rate=passed / trials,
        interval=wilson(passed, trials),
        criteria_rate=sum(g[5] is True and g[6] is True for g, _, _ in results) / trials,
        undecided=sum(v is Verdict.UNDECIDED for _, v, _ in results) / trials,
        failed={name: sum(g[k] is False for g, _, _ in results) / trials for k, name in enumerate(GATES)},
        blocked_by={name: sum(b == name for _, _, b in results) / trials for name in GATES},
    )


def _check_runs(trials: int, n_resamples: int) -> None:
    if trials < 1 or n_resamples < 100:
        raise InputError(
            f"{trials} trials with {n_resamples} resamples cannot give a rate.",
            remedy="Use at least 1 trial and 100 resamples.",
        )


def _shape_of(x: Floats) -> float:
    xi: float = _kernels.fit_weighted(x, np.ones(len(x), dtype=np.int32), float(np.median(x)), math.nan)[0]
    return xi


def _fit(x: Floats, level: float, n_resamples: int, rng: np.random.Generator) -> GpdFit:
    """The fit with its percentile interval."""
    scale = float(np.median(x))
    xi, sigma, loglik = _kernels.fit_weighted(x, np.ones(len(x), dtype=np.int32), scale, math.nan)
    drawn = bootstrap_xi(x, scale, xi / sigma, seeds_from(rng, n_resamples))
    interval = percentiles(drawn, level=level)
    return GpdFit(xi=xi, sigma=sigma, interval=interval, n=len(x), loglik=loglik, regular=xi > -0.5, at_bound=xi <= -1)


def _trial(setting: _Setting, rng: np.random.Generator) -> _Trial:
    plan = setting.plan
    samples = draw_pair(
        setting.n_items, setting.delta, rng=rng, generator=setting.generator, size=setting.size, xi=setting.xi
    )
    (a, var_a), (b, var_b) = (
        _side(name, x, plan, setting.n_resamples, rng) for name, x in zip("ab", samples, strict=True)
    )
    z = float(ndtri(1 - plan.alpha / 2))

    def difference(estimate: float, variance: float) -> Interval:
        half = z * math.sqrt(variance)
        return Interval(low=estimate - half, high=estimate + half, level=1 - plan.alpha, method="normal")

    shapes = None if a.interval is None or b.interval is None else (a.interval, b.interval)
    gates = evaluate_gates(
        a,
        b,
        plan,
        mean_difference=difference(a.mean - b.mean, var_a[0] + var_b[0]),
        tvar_difference=difference(a.tvar - b.tvar, var_a[1] + var_b[1]),
        shapes=shapes,
        shapes_single=shapes,
    )
    return (tuple(g.passed for g in gates), *decide_pair(gates))


def _side(
    name: str, values: Floats, plan: TailPlan, n_resamples: int, rng: np.random.Generator
) -> tuple[ConditionTail, tuple[float, float]]:
    """A condition as `condition_tail` has it, with the variances of its mean and TVaR."""
    n = len(values)
    descending = np.sort(values)[::-1]
    threshold = float(np.quantile(values, plan.q))
    x = exceedances_above(descending, threshold)
    fit = _fit(x, 1 - plan.alpha, n_resamples, rng)
    a2 = _kernels.anderson_darling(x[::-1].copy(), fit.xi, fit.sigma)
    gof = GofResult(
        value=a2,
        p=gof_p_value(a2, round(max(fit.xi, -0.5), 2)),
        method="eigen",
        n=len(x),
        xi=fit.xi,
        sigma=fit.sigma,
        tied=0.0,
        rounding=None,
        n_resamples=None,
        note="",
    )
    # influence of one severity on TVaR: (s - VaR)+ / (1 - q), up to a constant
    over = np.maximum(values - np.quantile(values, plan.tvar_q), 0) / (1 - plan.tvar_q)
    tail = ConditionTail(
        name=name,
        n=n,
        q=plan.q,
        threshold=threshold,
        n_exc=len(x),
        mean=float(values.mean()),
        tvar=tvar(values, q=plan.tvar_q),
        fit=fit,
        gof=gof,
        stability=stability_of(descending, plan.q, fit, plan),
        bounded=find_bound(values, threshold, largest=float(values.max())),
        interval=fit.interval,
    )
    return tail, (float(np.var(values)) / n, float(np.var(over)) / n)


def main(words: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--delta-xi", type=float, nargs="+", default=[0.0, 0.05, 0.10, 0.15, 0.20])
    options.add_argument("--n-exc", type=int, nargs="+", default=[1570], help="exceedances of each condition")
    options.add_argument("--generator", choices=["gpd", *GENERATORS], default="positive")
    options.add_argument("--size", type=float, default=1.0, help="how strongly the gate is violated")
    options.add_argument("--xi", type=float, default=0.0, help="the shape of the lighter condition")
    options.add_argument("--plan", help="take thresholds and tolerances from a tail plan")
    options.add_argument("--trials", type=int, default=200)
    options.add_argument("--n-resamples", type=int, default=500)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--engine", default="local")
    options.add_argument("--workers", type=int)
    options.add_argument("--json", help="write the rates here")
    given = options.parse_args(words)
    try:
        with open_mapper(given.engine, workers=given.workers) as mapper:
            study = _simulate(given, mapper)
    except RichterError as error:
        options.exit(1, f"{error}\n")
    if given.json:
        Path(given.json).write_text(json.dumps(study.to_dict()))
    gates = [g for g in GATES if g in study.cells[0].failed]
    print("delta xi  exceed   items  pass  95% interval  P1, P2  undecided  " + "  ".join(f"{g:>4}" for g in gates))
    for c in study.cells:
        rates = f"{c.pass_rate:4.2f}    {c.interval.low:.2f}-{c.interval.high:.2f}    {c.criteria_rate:4.2f}"
        failed = "  ".join(f"{c.failed[g]:4.2f}" for g in gates)
        print(f"{c.delta:8g}  {c.n_exc:6,}  {c.n_items:6,}  {rates}       {c.undecided:4.2f}  {failed}")


def _simulate(given: argparse.Namespace, mapper: Mapper) -> PowerStudy:
    plan = TailPlan(tolerance_mean=0.10, tolerance_tvar=0.20)
    if given.plan is not None:
        plan = tail_plan(read_plan(given.plan, kind="tail"))
    rng = np.random.default_rng(given.seed)
    if given.generator == "gpd":
        return simulate_criteria(
            given.delta_xi, given.n_exc, rng=rng, trials=given.trials, n_resamples=given.n_resamples, xi=given.xi,
            floor=plan.delta, level=1 - plan.alpha, mapper=mapper,
        )  # fmt: skip
    return simulate_protocol(
        given.delta_xi, given.n_exc, plan, rng=rng, generator=given.generator, size=given.size, xi=given.xi,
        trials=given.trials, n_resamples=given.n_resamples, mapper=mapper,
    )  # fmt: skip


if __name__ == "__main__":
    main()
