"""The fields of a tail plan; their defaults are those of `TailPlan`."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from richter.audit._plan import Plan, asks
from richter.tail import LEAVE_REASONS, TRANSFORMS, Step, TailPlan

HELP = "A tail plan: what must hold before one condition's tail is called heavier than another's."

_DEFAULT: dict[str, Any] = {
    f.name: (list(f.default) if isinstance(f.default, tuple) else f.default)
    for f in dataclasses.fields(TailPlan)
    if f.default is not dataclasses.MISSING
}

_FIELDS = {
    "column": asks("text", "The column of severities this plan is about; empty: any column.", ""),
    "lower_is_worse": asks("flag", "True: the column is negated, low scores are severe.", False),
    "conditions": asks("text", "The conditions compared; empty: all of the file.", [], many=True),
    "items_per_condition": asks("whole", "Items used, in the order fixed by the plan's hash; 0: all.", 0, low=0),
    "tolerance_mean": asks(
        "number", "G1: means closer than this, on the transformed scale, are practically equal.", above=0
    ),
    "tolerance_tvar": asks(
        "number", "G2: tail means closer than this, on the transformed scale, are practically equal.", above=0
    ),
    "tvar_q": asks("number", "G2: TVaR is the mean above this quantile.", above=0, below=1),
    "q": asks("number", "The headline threshold, a quantile of each condition.", above=0, below=1),
    "band": asks("number", "Thresholds of the robustness scan.", many=True, above=0, below=1),
    "transform": asks("text", "The scale on which tails are compared.", choices=TRANSFORMS),
    "bounds": asks(
        "number",
        "[low, high] if the scorer cannot leave this range; empty: unknown (logit and cloglog then take [0, 1]).",
        many=True,
    ),
    "clip": asks(
        "number",
        "Values nearer than this share of the range to a bound are moved to it before logit, log or cloglog.",
        above=0,
        below=0.5,
    ),
    "floor_exceedances": asks("whole", "G3: fewer exceedances than this block the claim.", low=30),
    "delta": asks("number", "P2: the smallest difference of shape worth a claim.", above=0),
    "alpha": asks("number", "Intervals are at level 1 - alpha.", above=0, below=1),
    "power": asks("number", "G3: the power behind the exceedances required.", above=0, below=1),
    "xi_expected": asks("number", "G3: the shape expected, for the exceedances required.", above=-0.5),
    "gof_p": asks("number", "G4: the GPD stands while p is above this.", above=0, below=1),
    "gof_method": asks(
        "text",
        "G4: auto takes the bootstrap where values are tied or the shape is below -0.5, else the eigenvalues.",
        choices=("auto", "eigen", "bootstrap"),
    ),
    "stability_width": asks("number", "G5: the band q - width .. q + width.", above=0, below=0.5),
    "stability_tolerance": asks("number", "G5: how far the shape may move over the band.", above=0),
    "family": asks(
        "text",
        "P1 in a matrix of pairs: level 1 - alpha / pairs, or the paper's 1 - alpha for each.",
        choices=("bonferroni", "none"),
    ),
    "pairing": asks(
        "text",
        "Resample items for both conditions together; auto: when their items are the same.",
        choices=("auto", "paired", "independent"),
    ),
    "n_resamples": asks("whole", "Bootstrap resamples.", low=200, high=1_000_000),
    "steps": asks(
        "table",
        "What to do, decided now, when the data force another scale or threshold: tried in order.",
        [],
        many=True,
        fields={
            "transform": asks("text", "the scale", "logit", choices=TRANSFORMS),
            "q": asks("number", "the threshold", 0.95, above=0, below=1),
            "when": asks(
                "text",
                "why the step before is left: bounded support, GPD rejected",
                list(LEAVE_REASONS),
                many=True,
                choices=LEAVE_REASONS,
            ),
        },
    ),
}
# a field that the study has too has its default
FIELDS = {
    name: dataclasses.replace(field, default=_DEFAULT.get(name, field.default)) for name, field in _FIELDS.items()
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
