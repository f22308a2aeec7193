"""How bad a condition's errors are: slopes, families, matched pairs, and rates per million from counts."""

from richter.severity._analyses import Labelled, Skipped, run_analyses
from richter.severity._b_value import DEFAULT, PAPER, BValue, Recipe, b_from_counts, estimate_b, fit_rows
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
from richter.severity._domains import DomainVariation, domain_variation
from richter.severity._dominance import Dominance, compare_dominance
from richter.severity._families import (
    FAMILIES,
    FamilyComparison,
    FamilyFit,
    PairTest,
    family_probabilities,
    fit_families,
)
from richter.severity._grid import POSITIVE, count_levels, rescale, snap
from richter.severity._human import human_corrected_table
from richter.severity._information import Information, Resolution, conditional_information, resolution_bound
from richter.severity._judge_noise import (
    HierarchicalBootstrap,
    hierarchical_bootstrap,
    judge_leniency,
    leave_one_judge_out_counts,
    reweight_judges,
)
from richter.severity._mechanisms import Coupling, couple, mechanisms_by_severity, mechanisms_by_size
from richter.severity._pipeline_pairs import PipelinePair, pipeline_pairs
from richter.severity._prediction import MicroPrediction, predict_catastrophes
from richter.severity._recount import Recount, recount
from richter.severity._requirement import Requirement, check_requirement, parse_requirement
from richter.severity._robustness import (
    aggregation_rules,
    dual_coverage,
    exceedance_sweep,
    fixed_m_min,
    leave_one_domain_out,
)
from richter.severity._scaling import RankCorrelation, Scaling, correlate_ranks, estimate_scaling, partial_spearman
from richter.severity._scores import Scores
from richter.severity._sensitivity import (
    Coarsening,
    MMinSensitivity,
    Overcalls,
    Subsampling,
    coarsen_scale,
    correct_overcalls,
    subsample_stability,
    vary_m_min,
)
from richter.severity._study import SeverityStudy, study_severity
from richter.severity._tail_summaries import (
    CatastropheTests,
    TailSummaries,
    catastrophe_tests,
    summarise_tails,
    tail_ratio,
    upper_slope,
)

__all__ = [
    "DEFAULT",
    "FAMILIES",
    "PAPER",
    "POSITIVE",
    "BDifference",
    "BValue",
    "CatastropheTests",
    "Coarsening",
    "Coupling",
    "DeploymentRow",
    "DeploymentTable",
    "Discrimination",
    "DomainVariation",
    "Dominance",
    "ExpectedLoss",
    "FamilyComparison",
    "FamilyFit",
    "HierarchicalBootstrap",
    "Information",
    "Labelled",
    "MMinSensitivity",
    "MicroPrediction",
    "Overcalls",
    "Pair",
    "PairCounts",
    "PairTest",
    "PipelinePair",
    "RankCorrelation",
    "Recipe",
    "Recount",
    "Requirement",
    "Resolution",
    "Scaling",
    "Scores",
    "SeverityStudy",
    "Skipped",
    "Subsampling",
    "TailSummaries",
    "Traffic",
    "Unestimated",
    "aggregation_rules",
    "b_from_counts",
    "catastrophe_tests",
    "check_requirement",
    "clean_answers_needed",
    "coarsen_scale",
    "compare_b",
    "compare_dominance",
    "conditional_information",
    "correct_overcalls",
    "correlate_ranks",
    "count_levels",
    "couple",
    "deployment_table",
    "discriminate",
    "domain_variation",
    "dual_coverage",
    "estimate_all",
    "estimate_b",
    "estimate_scaling",
    "exceedance_sweep",
    "expected_loss",
    "family_probabilities",
    "fit_families",
    "fit_rows",
    "fixed_m_min",
    "hierarchical_bootstrap",
    "human_corrected_table",
    "judge_leniency",
    "leave_one_domain_out",
    "leave_one_judge_out_counts",
    "likelihood_ratio_p",
    "mechanisms_by_severity",
    "mechanisms_by_size",
    "parse_requirement",
    "partial_spearman",
    "pipeline_pairs",
    "predict_catastrophes",
    "recount",
    "rescale",
    "resolution_bound",
    "reweight_judges",
    "run_analyses",
    "snap",
    "study_severity",
    "subsample_stability",
    "summarise_tails",
    "tail_ratio",
    "upper_slope",
    "vary_m_min",
]
