"""The fields of a severity plan; their defaults are those of `discriminate` and of the default recipe."""

from collections.abc import Iterable, Mapping
from typing import Any

from richter.audit._plan import asks
from richter.errors import InputError
from richter.severity import DEFAULT, MEASURES, PLANNED_M_MIN, Recipe, check_primary, parse_requirement

HELP = "A severity plan: which claims come first, how slopes are estimated, and which rates are required."

FIELDS = {
    "conditions": asks(str, "The conditions weighed; empty: all of the file.", [], many=True),
    "primary": asks(
        str,
        "The main measure: its claims share one error risk, all others another.",
        "severity_given_error",
        choices=tuple(MEASURES),
    ),
    "control": asks(str, "Compare all others with this condition; empty: all pairs.", ""),
    "margin": asks(float, "Mean severities of errors within this are equivalent; 0: none stated.", 0, ge=0),
    "margins": asks(str, 'Margins of other measures, each as "b=0.15".', [], many=True),
    "estimator": asks(
        str,
        "How b is estimated; aki is the paper's.",
        DEFAULT.estimator,
        choices=("truncated", "aki"),
    ),
    "m_min": asks(
        str,
        "Where the tail starts: a level, the lowest with 100 errors above, or the paper's ks.",
        f"{PLANNED_M_MIN:g}",
        choices=("ks", "clauset", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5"),
    ),
    "min_events": asks(int, "Errors that a tail must hold.", DEFAULT.min_events, ge=2),
    "min_bins": asks(int, "Levels from m_min to 4.0.", DEFAULT.min_bins, ge=1, le=8),
    "reselect": asks(bool, "True: m_min is chosen anew in every resample.", True),
    "max_error_gap": asks(float, "Pairs with error rates closer than this are matched.", 0.05, gt=0, le=1),
    "min_gap": asks(float, "The paper's count leaves out slopes closer than this.", 0.15, gt=0),
    "tolerance": asks(float, "How far errors may be from the law.", DEFAULT.tolerance, gt=0, lt=1),
    "level": asks(float, "Confidence level of intervals and limits.", 0.95, ge=0.5, lt=1),
    "n_resamples": asks(int, "Resamples.", 2000, ge=200),
    "require": asks(str, 'Requirements, each as "severity>=3 below 100 per million".', [], many=True),
}


def faults(values: Mapping[str, Any]) -> Iterable[str]:
    """What is wrong with the values together."""
    for text in values["require"]:
        try:
            parse_requirement(text)
        except InputError as error:
            yield str(error)
    try:
        plan_margins(values)
    except InputError as error:
        yield str(error)


def plan_margins(values: Mapping[str, Any]) -> dict[str, float]:
    """The margins that a plan states, by measure."""
    margins = {"severity_given_error": float(values["margin"])} if values["margin"] else {}
    for text in values["margins"]:
        measure, _, amount = text.partition("=")
        check_primary(measure.strip())
        try:
            margins[measure.strip()] = float(amount)
        except ValueError as error:
            raise InputError(f"The margin {text!r} is not MEASURE=NUMBER.", remedy='As "b=0.15".') from error
    return margins


def plan_recipe(values: Mapping[str, Any]) -> Recipe:
    """The recipe that a plan fixes."""
    m_min = values["m_min"]
    return Recipe(
        estimator=values["estimator"],
        m_min=m_min if m_min in ("ks", "clauset") else float(m_min),
        min_events=values["min_events"],
        min_bins=values["min_bins"],
        reselect=values["reselect"],
        tolerance=values["tolerance"],
    )
