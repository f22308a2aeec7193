"""The fields of a severity plan; their defaults are those of `discriminate` and of the default recipe."""

from collections.abc import Iterable, Mapping
from typing import Any

from richter.audit._plan import PlanField
from richter.errors import InputError
from richter.severity import DEFAULT, MEASURES, PLANNED, Recipe, parse_requirement

HELP = "A severity plan: which claims come first, how slopes are estimated, and which rates are required."

FIELDS = {
    "conditions": PlanField(type="text", many=True, default=[], help="The conditions weighed; empty: all of the file."),
    "primary": PlanField(
        type="text",
        choices=tuple(MEASURES),
        default="severity_given_error",
        help="The measure whose claims are decided first; the others only if these are all settled.",
    ),
    "control": PlanField(type="text", default="", help="Compare all others with this condition; empty: all pairs."),
    "margin": PlanField(
        type="number", low=0, default=0, help="Mean severities of errors within this are equivalent; 0: none stated."
    ),
    "estimator": PlanField(
        type="text",
        choices=("truncated", "censored", "exact", "aki"),
        default=DEFAULT.estimator,
        help="How b is estimated; aki is the paper's.",
    ),
    "m_min": PlanField(
        type="text",
        choices=("top", "ks", "clauset", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5"),
        default=f"{PLANNED:g}",
        help="Where the tail starts: a level, or from the top down; ks is the paper's.",
    ),
    "min_events": PlanField(type="whole", low=2, default=DEFAULT.min_events, help="Errors that a tail must hold."),
    "min_bins": PlanField(type="whole", low=1, high=8, default=DEFAULT.min_bins, help="Levels from m_min to 4.0."),
    "reselect": PlanField(type="flag", default=True, help="True: m_min is chosen anew in every resample."),
    "max_error_gap": PlanField(
        type="number", above=0, high=1, default=0.05, help="Pairs with error rates closer than this are matched."
    ),
    "min_gap": PlanField(
        type="number", above=0, default=0.15, help="Slopes closer than this are practically equal (equivalence)."
    ),
    "tolerance": PlanField(
        type="number", above=0, below=1, default=DEFAULT.tolerance, help="How far errors may be from the law."
    ),
    "level": PlanField(type="number", low=0.5, below=1, default=0.95, help="Confidence level of intervals and limits."),
    "n_resamples": PlanField(type="whole", low=200, default=2000, help="Resamples."),
    "require": PlanField(
        type="text", many=True, default=[], help='Requirements, each as "severity>=3 below 100 per million".'
    ),
}


def faults(values: Mapping[str, Any]) -> Iterable[str]:
    """What is wrong with the values together."""
    for text in values["require"]:
        try:
            parse_requirement(text)
        except InputError as error:
            yield str(error)


def plan_recipe(values: Mapping[str, Any]) -> Recipe:
    """The recipe that a plan fixes."""
    m_min = values["m_min"]
    return Recipe(
        estimator=values["estimator"],
        m_min=m_min if m_min in ("top", "ks", "clauset") else float(m_min),
        min_events=values["min_events"],
        min_bins=values["min_bins"],
        reselect=values["reselect"],
        tolerance=values["tolerance"],
    )
