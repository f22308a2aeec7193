"""The fields of a gate plan: what a candidate must show before it goes on."""

from collections.abc import Iterable, Mapping
from typing import Any

from richter.audit._plan import OPTIONAL, asks
from richter.claims import METRICS, gateable_measures
from richter.records import DEFAULT_LEVEL

HELP = "A gate plan: requirements that a candidate must meet, for continuous integration (richter gate)."

RULES = ("no_worse", "below", "above")
FIELDS = {
    "candidate": asks(str, "The condition on trial."),
    "baseline": asks(str, "The condition it is held against; empty where no rule says no_worse.", ""),
    "on_undecided": asks(
        str, "What too little data does: fail (exit 4) or warn (exit 0).", "fail", choices=("fail", "warn")
    ),
    "level": asks(float, "Each requirement is shown met at this level, one-sided.", DEFAULT_LEVEL, gt=0.5, lt=1),
    "tried": asks(
        int,
        "Attempts of which this one is to stand: the level is shared.",
        OPTIONAL,
        ge=1,
        le=1_000_000,
    ),
    "missing": asks(
        str,
        "Missing grades: count as wrong (both-ways), are another design (shared), or are lost at random (at-random).",
        "both-ways",
        choices=("both-ways", "shared", "at-random"),
    ),
    "accept_judge": asks(bool, "Pass on grades of a judge that nobody checked.", False),
    "unpaired": asks(
        bool, "Each condition has items of its own; without it a candidate that shares none is blocked.", OPTIONAL
    ),
    "min_shared": asks(float, "Share of the baseline's items that the candidate has grades of.", 0.5, ge=0, le=1),
    "require": asks(
        {
            "metric": asks(str, "what is measured", choices=gateable_measures()),
            "rule": asks(
                str, "no_worse: than the baseline by more than limit; below, above: the limit itself", choices=RULES
            ),
            "limit": asks(float, "0.02 is two points of a rate; severities run to 4", ge=0),
        },
        "The requirements, one table each.",
        many=True,
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
        yield from (f"require[{n}]{fault}" for fault in _rule_faults(rule))


def _rule_faults(rule: Mapping[str, Any]) -> Iterable[str]:
    """What is wrong with one requirement by itself."""
    metric = METRICS[rule["metric"]]
    if rule["rule"] == "no_worse" and rule["limit"] == 0:
        yield " allows a loss of 0, which no number of items can show; give a limit above 0."
    if metric.high is not None and rule["limit"] >= metric.high:
        yield f".limit = {rule['limit']:g} is not below {metric.high} for {metric.name}."
    if metric.high is None and not metric.is_cost:  # of a score only the data say which way is better
        return
    if rule["rule"] == "above" and metric.better == "lower":
        yield f" asks {metric.name} to be above a limit, where more is worse."
    if rule["rule"] == "below" and metric.better == "higher":
        yield f" asks {metric.name} to be below a limit, where more is better."
