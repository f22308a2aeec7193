"""The fields of a gate plan: what a candidate must show before it goes on."""

from collections.abc import Iterable, Mapping
from typing import Any

from richter.audit._plan import OPTIONAL, PlanField

HELP = "A gate plan: requirements that a candidate must meet, for continuous integration (richter gate)."

RULES = ("no_worse", "below", "above")
METRICS = (
    "accuracy", "error_rate", "mean_score", "ece", "mean_severity", "catastrophic_rate", "refusal_rate",
    "failure_rate", "tokens", "latency", "money",
)  # fmt: skip
HIGHER = ("accuracy", "mean_score")
MOST = {"mean_severity": 4.0, "mean_score": float("inf"), "tokens": float("inf"), "latency": float("inf"),
        "money": float("inf")}  # fmt: skip

FIELDS = {
    "candidate": PlanField(type="text", help="The condition on trial."),
    "baseline": PlanField(
        type="text", default="", help="The condition it is held against; empty where no rule says no_worse."
    ),
    "on_undecided": PlanField(
        type="text",
        choices=("fail", "warn"),
        default="fail",
        help="What too little data does: fail (exit 4) or warn (exit 0).",
    ),
    "level": PlanField(
        type="number", above=0.5, below=1, default=0.95, help="Each requirement is shown met at this level, one-sided."
    ),
    "tried": PlanField(
        type="whole",
        low=0,
        default=OPTIONAL,
        help="Attempts of which this one is to stand: the level is shared. 0: as many as the log of looks knows.",
    ),
    "min_shared": PlanField(
        type="number", low=0, high=1, default=0.5, help="Share of items that both must have been graded on."
    ),
    "require": PlanField(
        type="table",
        many=True,
        help="The requirements, one table each.",
        fields={
            "metric": PlanField(type="text", choices=METRICS, help="what is measured"),
            "rule": PlanField(
                type="text",
                choices=RULES,
                help="no_worse: than the baseline by more than limit; below, above: the limit itself",
            ),
            "limit": PlanField(type="number", low=0, help="0.02 is two points of a rate; severities run to 4"),
        },
    ),
}


def faults(values: Mapping[str, Any]) -> Iterable[str]:
    """What single fields cannot see."""
    if not values["require"]:
        yield "require is empty, so the gate asks nothing."
    if values["candidate"] and values["candidate"] == values["baseline"]:
        yield f"candidate and baseline are both {values['candidate']!r}."
    for n, rule in enumerate(values["require"], 1):
        if rule["rule"] == "no_worse" and not values["baseline"]:
            yield f"require[{n}] says no_worse, but the plan names no baseline."
        if rule["rule"] == "no_worse" and rule["limit"] == 0:
            yield f"require[{n}] allows a loss of 0, which no number of items can show; give a limit above 0."
        most = MOST.get(rule["metric"], 1.0)
        if rule["limit"] >= most:
            yield f"require[{n}].limit = {rule['limit']:g} is not below {most} for {rule['metric']}."
        if rule["rule"] == "above" and rule["metric"] not in HIGHER:
            yield f"require[{n}] asks {rule['metric']} to be above a limit, where more is worse."
        if rule["rule"] == "below" and rule["metric"] in HIGHER:
            yield f"require[{n}] asks {rule['metric']} to be below a limit, where more is better."
