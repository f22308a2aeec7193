"""The fields of a tail plan; their defaults are those of `TailPlan`."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from richter.audit._plan import OPTIONAL, Plan, asks
from richter.tail import LEAVE_REASONS, TRANSFORMS, Step, TailPlan

HELP = "A tail plan: what must hold before one condition's tail is called heavier than another's."

_DEFAULT: dict[str, Any] = {
    f.name: (list(f.default) if isinstance(f.default, tuple) else f.default)
    for f in dataclasses.fields(TailPlan)
    if f.default is not dataclasses.MISSING
}

_FIELDS = {
    "column": asks(str, "The column of severities this plan is about; empty: any column.", ""),
    "lower_is_worse": asks(bool, "True: the column is negated, low scores are severe.", False),
    "conditions": asks(str, "The conditions compared; empty: all of the file.", [], many=True),
    "items_per_condition": asks(int, "Items used, in the order fixed by the plan's hash; 0: all.", 0, ge=0),
    "tolerance_mean": asks(float, "G1: means closer than this, on the transformed scale, are practically equal.", gt=0),
    "tolerance_tvar": asks(
        float, "G2: tail means closer than this, on the transformed scale, are practically equal.", gt=0
    ),
    "tvar_q": asks(float, "G2: TVaR is the mean above this quantile.", gt=0, lt=1),
    "q": asks(float, "The headline threshold, a quantile of each condition.", gt=0, lt=1),
    "band": asks(float, "Thresholds of the robustness scan.", many=True, gt=0, lt=1),
    "transform": asks(str, "The scale on which tails are compared.", choices=TRANSFORMS),
    "bounds": asks(
        float,
        "[low, high] if the scorer cannot leave this range; empty: unknown (logit and cloglog then take [0, 1]).",
        many=True,
    ),
    "clip": asks(
        float,
        "Values nearer than this share of the range to a bound are moved to it before logit, log or cloglog.",
        gt=0,
        lt=0.5,
    ),
    "floor_exceedances": asks(int, "G3: fewer exceedances than this block the claim.", ge=30),
    "exceedances": asks(
        str,
        "G3: floor_exceedances suffice (floor), those of eq. (2) are needed (bound); both: in between is undecided.",
        OPTIONAL,
        choices=("both", "floor", "bound"),
    ),
    "delta": asks(float, "P2: the smallest difference of shape worth a claim.", gt=0),
    "alpha": asks(float, "Intervals are at level 1 - alpha.", gt=0, lt=1),
    "power": asks(float, "G3: the power behind the exceedances required.", gt=0, lt=1),
    "xi_expected": asks(float, "G3: the shape expected, for the exceedances required.", gt=-0.5),
    "gof_p": asks(float, "G4: the GPD stands while p is above this.", gt=0, lt=1),
    "gof_method": asks(
        str,
        "G4: auto takes the bootstrap where values are tied or the shape is below -0.5, else the eigenvalues.",
        choices=("auto", "eigen", "bootstrap"),
    ),
    "stability_width": asks(float, "G5: the band q - width .. q + width.", gt=0, lt=0.5),
    "stability_tolerance": asks(float, "G5: how far the shape may move over the band.", gt=0),
    "family": asks(
        str,
        "P1 in a matrix of pairs: level 1 - alpha / pairs, or the paper's 1 - alpha for each.",
        choices=("bonferroni", "none"),
    ),
    "pairing": asks(
        str,
        "Resample items for both conditions together; auto: when their items are the same.",
        choices=("auto", "paired", "independent"),
    ),
    "n_resamples": asks(int, "Bootstrap resamples.", ge=200, le=1_000_000),
    "steps": asks(
        {
            "transform": asks(str, "the scale", "logit", choices=TRANSFORMS),
            "q": asks(float, "the threshold", 0.95, gt=0, lt=1),
            "when": asks(
                str,
                "why the step before is left: bounded support, GPD rejected",
                list(LEAVE_REASONS),
                many=True,
                choices=LEAVE_REASONS,
            ),
        },
        "What to do, decided now, when the data force another scale or threshold: tried in order.",
        [],
        many=True,
    ),
}
# a field that the study has too has its default
FIELDS = {
    name: field if field.default is OPTIONAL else dataclasses.replace(field, default=_DEFAULT.get(name, field.default))
    for name, field in _FIELDS.items()
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
