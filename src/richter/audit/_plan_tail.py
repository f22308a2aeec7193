"""The fields of a tail plan; their defaults are those of `TailPlan`."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from richter.audit._plan import Plan, PlanField
from richter.tail import LEAVE_REASONS, TRANSFORMS, Step, TailPlan

HELP = "A tail plan: what must hold before one condition's tail is called heavier than another's."

_DEFAULT: dict[str, Any] = {
    f.name: (list(f.default) if isinstance(f.default, tuple) else f.default)
    for f in dataclasses.fields(TailPlan)
    if f.default is not dataclasses.MISSING
}

FIELDS = {
    "column": PlanField(
        type="text", default="", help="The column of severities this plan is about; empty: any column."
    ),
    "lower_is_worse": PlanField(type="flag", default=False, help="True: the column is negated, low scores are severe."),
    "conditions": PlanField(
        type="text", many=True, default=[], help="The conditions compared; empty: all of the file."
    ),
    "items_per_condition": PlanField(
        type="whole", low=0, default=0, help="Items used, in the order fixed by the plan's hash; 0: all."
    ),
    "tolerance_mean": PlanField(
        type="number", above=0, help="G1: means closer than this, on the transformed scale, are practically equal."
    ),
    "tolerance_tvar": PlanField(
        type="number", above=0, help="G2: tail means closer than this, on the transformed scale, are practically equal."
    ),
    "tvar_q": PlanField(
        type="number", above=0, below=1, default=_DEFAULT["tvar_q"], help="G2: TVaR is the mean above this quantile."
    ),
    "q": PlanField(
        type="number",
        above=0,
        below=1,
        default=_DEFAULT["q"],
        help="The headline threshold, a quantile of each condition.",
    ),
    "band": PlanField(
        type="number", many=True, above=0, below=1, default=_DEFAULT["band"], help="Thresholds of the robustness scan."
    ),
    "transform": PlanField(
        type="text", choices=TRANSFORMS, default=_DEFAULT["transform"], help="The scale on which tails are compared."
    ),
    "bounds": PlanField(
        type="number",
        many=True,
        default=_DEFAULT["bounds"],
        help="[low, high] if the scorer cannot leave this range; empty: unknown (logit and cloglog then take [0, 1]).",
    ),
    "clip": PlanField(
        type="number",
        above=0,
        below=0.5,
        default=_DEFAULT["clip"],
        help="Values nearer than this share of the range to a bound are moved to it before logit, log or cloglog.",
    ),
    "floor_exceedances": PlanField(
        type="whole",
        low=30,
        default=_DEFAULT["floor_exceedances"],
        help="G3: fewer exceedances than this block the claim.",
    ),
    "delta": PlanField(
        type="number", above=0, default=_DEFAULT["delta"], help="P2: the smallest difference of shape worth a claim."
    ),
    "alpha": PlanField(
        type="number", above=0, below=1, default=_DEFAULT["alpha"], help="Intervals are at level 1 - alpha."
    ),
    "power": PlanField(
        type="number",
        above=0,
        below=1,
        default=_DEFAULT["power"],
        help="G3: the power behind the exceedances required.",
    ),
    "xi_expected": PlanField(
        type="number",
        above=-0.5,
        default=_DEFAULT["xi_expected"],
        help="G3: the shape expected, for the exceedances required.",
    ),
    "gof_p": PlanField(
        type="number", above=0, below=1, default=_DEFAULT["gof_p"], help="G4: the GPD stands while p is above this."
    ),
    "gof_method": PlanField(
        type="text",
        choices=("auto", "eigen", "bootstrap"),
        default=_DEFAULT["gof_method"],
        help="G4: auto takes the bootstrap where values are tied or the shape is below -0.5, else the eigenvalues.",
    ),
    "stability_width": PlanField(
        type="number",
        above=0,
        below=0.5,
        default=_DEFAULT["stability_width"],
        help="G5: the band q - width .. q + width.",
    ),
    "stability_tolerance": PlanField(
        type="number",
        above=0,
        default=_DEFAULT["stability_tolerance"],
        help="G5: how far the shape may move over the band.",
    ),
    "family": PlanField(
        type="text",
        choices=("bonferroni", "none"),
        default=_DEFAULT["family"],
        help="P1 in a matrix of pairs: level 1 - alpha / pairs, or the paper's 1 - alpha for each.",
    ),
    "pairing": PlanField(
        type="text",
        choices=("auto", "paired", "independent"),
        default=_DEFAULT["pairing"],
        help="Resample items for both conditions together; auto: when their items are the same.",
    ),
    "n_resamples": PlanField(
        type="whole", low=200, high=1_000_000, default=_DEFAULT["n_resamples"], help="Bootstrap resamples."
    ),
    "steps": PlanField(
        type="table",
        many=True,
        default=[],
        help="What to do, decided now, when the data force another scale or threshold: tried in order.",
        fields={
            "transform": PlanField(type="text", choices=TRANSFORMS, default="logit", help="the scale"),
            "q": PlanField(type="number", above=0, below=1, default=0.95, help="the threshold"),
            "when": PlanField(
                type="text",
                many=True,
                choices=LEAVE_REASONS,
                default=list(LEAVE_REASONS),
                help="why the step before is left: bounded support, GPD rejected",
            ),
        },
    ),
}


def faults(values: Mapping[str, Any]) -> Iterable[str]:
    """What single fields cannot see."""
    bounds = values["bounds"]
    if bounds and not (len(bounds) == 2 and bounds[0] < bounds[1]):
        yield f"bounds = {bounds} is not a range [low, high]."
    for n, step in enumerate(values["steps"], 1):
        if not step["when"]:
            yield f"steps[{n}].when is empty, so the step is never taken."


def tail_plan(plan: Plan) -> TailPlan:
    """The plan the room `tail` works with."""
    known = {f.name for f in dataclasses.fields(TailPlan)}
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in plan.values.items() if k in known}
    steps = tuple(Step(transform=s["transform"], q=s["q"], when=tuple(s["when"])) for s in plan.values["steps"])
    values["steps"] = steps
    return TailPlan(**values)
