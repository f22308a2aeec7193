"""What `richter size simulate` prints: how often a claim of known truth is shown, on simulated data."""

from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD

from richter import floors
from richter.audit import read_plan
from richter.audit._plan_tail import tail_plan
from richter.cli._engine_options import open_mapper
from richter.cli._io import PLAIN, cells, grid, publish
from richter.records import counted
from richter.stats import Mapper
from richter.tail import GATES, TailPlan, simulate_criteria, simulate_protocol

EXPERIMENTS = (*sorted(floors.SIMULATIONS), "tail")
TAIL_TRIALS = 200  # unless another number is given


def size_simulate(
    experiment: str,
    runs: int | None,
    n_resamples: int,
    xi: float,
    seed: int,
    engine: str,
    workers: int | None,
    json_path: str | None,
    **tail: Any,
) -> None:
    """Print and write a simulated experiment."""
    rng = np.random.default_rng(seed)
    with open_mapper(engine, workers=workers, label="simulating") as mapper:
        if experiment == "tail":
            asked: dict[str, Any] = {"trials": runs or TAIL_TRIALS, "n_resamples": n_resamples, "xi": xi, "rng": rng}
            _simulate_tail(**tail, **asked, mapper=mapper, json_path=json_path)
            return
        options = {} if runs is None else {"runs": runs}
        result = floors.SIMULATIONS[experiment](rng=rng, mapper=mapper, **options)
    out = publish(result.to_dict() | {"seed": seed}, json_path)
    out.print(result.sentence)
    rows = ([f"{v:.4g}" if isinstance(v, float) else f"{v:,}" for v in row.values()] for row in result.rows)
    out.print(grid([*result.rows[0]], rows, **PLAIN))
    out.print(f"The paper: {result.paper}. Simulated data.")


def _simulate_tail(
    deltas: tuple[float, ...],
    n_excs: tuple[int, ...],
    *,
    generator: str,
    size: float,
    plan_path: str | None,
    mapper: Mapper,
    json_path: str | None,
    **options: Any,
) -> None:
    """Print and write how often a pair of known tails passes, and which gates fall."""
    deltas = deltas or (0.0, 0.05, 0.10, 0.15, 0.20)
    n_excs = n_excs or (1570,)
    plan = TailPlan(tolerance_mean=0.10, tolerance_tvar=0.20)
    if plan_path is not None:
        plan = tail_plan(read_plan(plan_path, kind="tail"))
    options["mapper"] = mapper
    if generator == "gpd":
        study = simulate_criteria(deltas, n_excs, floor=plan.delta, level=1 - plan.alpha, **options)
    else:
        study = simulate_protocol(deltas, n_excs, plan, generator=generator, size=size, **options)
    out = publish(study, json_path)
    best = max(study.cells, key=lambda c: c.pass_rate)
    what = "P1 and P2" if generator == "gpd" else "every gate"
    out.print(
        f"Simulated: {what} passed in at most {best.pass_rate:.0%} of {options['trials']} trials "
        f"(true difference {best.delta:g}, {counted(best.n_exc, 'exceedance')} each)."
    )
    gates = [g for g in GATES if g in study.cells[0].failed]
    figures = (
        "{r.delta:g}|{r.n_exc:,}|{r.n_items:,}|{r.pass_rate:.2f}|{r.interval.low:.2f}–{r.interval.high:.2f}|"
        "{r.criteria_rate:.2f}|{r.undecided:.2f}"
    )
    rows = ([*cells(figures, c), *(f"{c.failed[g]:.2f}" for g in gates)] for c in study.cells)
    title = f"pass rates, and the share of trials in which each gate fails (simulated, generator {study.generator})"
    headings = ["delta xi", "exceed", "items", "pass", "95% interval", "P1, P2", "undecided", *gates]
    look: dict[str, Any] = {"box": SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0)}
    out.print(grid(headings, rows, right=0, title=title, title_justify="left", **look))
