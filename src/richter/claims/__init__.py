"""Outcomes in, claims out: one test and its own inversion per kind of data, by unit, with one family per page.

Pure: arrays and records only. `Outcomes` is one metric on items, draws and groups; every reader makes it and every
claim on a score uses it.
"""

from richter.claims._adjust import Adjusted, adjusted_difference
from richter.claims._alignment import Alignment, check_alignment
from richter.claims._answer import SIDES, Side, answer, measure_words, side
from richter.claims._compare import Comparison, Shared, Summary, compare_outcomes, pairs_of, too_few_shared
from richter.claims._control import JointTests, joint_tests
from richter.claims._decide import Question, claimed, decide
from richter.claims._ece import EceSide, ece_difference, ece_evidence, ece_side
from richter.claims._evidence import Evidence, p_value
from richter.claims._missing import Missing, missing_grades, worst_case
from richter.claims._names import distinct_names
from richter.claims._outcomes import METRICS, Metric, Outcomes, unit_means
from richter.claims._passes import pass_metric, passes
from richter.claims._require import require, requirement_name, unjudged
from richter.claims._sets import maximal_sets
from richter.claims._subgroups import Subgroup, Subgroups, subgroup_differences, within
from richter.claims._suite import Trade, cheaper_and_no_worse, check_weights, suite_evidence
from richter.claims._units import About, Sample, as_sample, difference_evidence, mean_evidence, tango
from richter.claims._variance import Design, Shares, cheapest_design, variance_shares

__all__ = [
    "METRICS",
    "SIDES",
    "About",
    "Adjusted",
    "Alignment",
    "Comparison",
    "Design",
    "EceSide",
    "Evidence",
    "JointTests",
    "Metric",
    "Missing",
    "Outcomes",
    "Question",
    "Sample",
    "Shared",
    "Shares",
    "Side",
    "Subgroup",
    "Subgroups",
    "Summary",
    "Trade",
    "adjusted_difference",
    "answer",
    "as_sample",
    "cheaper_and_no_worse",
    "cheapest_design",
    "check_alignment",
    "check_weights",
    "claimed",
    "compare_outcomes",
    "decide",
    "difference_evidence",
    "distinct_names",
    "ece_difference",
    "ece_evidence",
    "ece_side",
    "joint_tests",
    "maximal_sets",
    "mean_evidence",
    "measure_words",
    "missing_grades",
    "p_value",
    "pairs_of",
    "pass_metric",
    "passes",
    "require",
    "requirement_name",
    "side",
    "subgroup_differences",
    "suite_evidence",
    "tango",
    "too_few_shared",
    "unit_means",
    "unjudged",
    "variance_shares",
    "within",
    "worst_case",
]
