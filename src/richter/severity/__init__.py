"""How bad a condition's errors are: slopes, families, matched pairs, and rates per million from counts."""

from richter.severity._b_value import DEFAULT, PAPER, BValue, Recipe, b_from_counts, estimate_b
from richter.severity._deployment import (
    DeploymentRow,
    DeploymentTable,
    ExpectedLoss,
    Traffic,
    clean_answers_needed,
    deployment_table,
    expected_loss,
)
from richter.severity._difference import BDifference, compare_b, likelihood_ratio_p
from richter.severity._discriminate import Discrimination, Pair, PairCounts, Unestimated, discriminate, estimate_all
from richter.severity._families import (
    FAMILIES,
    FamilyComparison,
    FamilyFit,
    PairTest,
    family_probabilities,
    fit_families,
)
from richter.severity._grid import count_levels, rescale, snap
from richter.severity._requirement import Requirement, check_requirement, parse_requirement
from richter.severity._scores import Scores
from richter.severity._study import SeverityStudy, study_severity

__all__ = [
    "DEFAULT",
    "FAMILIES",
    "PAPER",
    "BDifference",
    "BValue",
    "DeploymentRow",
    "DeploymentTable",
    "Discrimination",
    "ExpectedLoss",
    "FamilyComparison",
    "FamilyFit",
    "Pair",
    "PairCounts",
    "PairTest",
    "Recipe",
    "Requirement",
    "Scores",
    "SeverityStudy",
    "Traffic",
    "Unestimated",
    "b_from_counts",
    "check_requirement",
    "clean_answers_needed",
    "compare_b",
    "count_levels",
    "deployment_table",
    "discriminate",
    "estimate_all",
    "estimate_b",
    "expected_loss",
    "family_probabilities",
    "fit_families",
    "likelihood_ratio_p",
    "parse_requirement",
    "rescale",
    "snap",
    "study_severity",
]
