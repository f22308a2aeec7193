"""Stochastic error ascent: find where a model fails under a budget, and say what the base's error rate is."""

from richter.ascent._clusters import Clustering, Term, cluster_vectors, distinguishing_terms
from richter.ascent._cross import CrossMatrix, Subset, cross_matrix, merge_items, read_answers, read_subset
from richter.ascent._explain import Explanation, LackingPattern, WrongAnswer, explain_errors, wrong_answers
from richter.ascent._export import write_graphml
from richter.ascent._field import Field
from richter.ascent._graph import Trail, cumulative_errors, follow
from richter.ascent._map import ErrorMap, map_vectors
from richter.ascent._outcome import Outcome, is_wrong, outcomes, paragraph_items
from richter.ascent._patterns import Pattern, find_patterns
from richter.ascent._population import PopulationRate, population_rate
from richter.ascent._predict import FailurePrediction, predict_failures
from richter.ascent._propose import StepPlan, plan_step, random_order
from richter.ascent._ratio import RateRatio, rate_ratio
from richter.ascent._retest import Retest, prepare_retest, score_retest
from richter.ascent._search import run_search
from richter.ascent._settings import STRATEGIES, SearchSettings, Strategy
from richter.ascent._simulate import SimulatedSearch, simulate_search
from richter.ascent._summary import (
    CostRow,
    SearchSummary,
    StepSummary,
    read_search,
    search_failing,
    search_patterns,
    summarise,
)
from richter.ascent._survey import ErrorCluster, ErrorSurvey, MappedError, base_of, survey_errors

__all__ = [
    "STRATEGIES",
    "Clustering",
    "CostRow",
    "CrossMatrix",
    "ErrorCluster",
    "ErrorMap",
    "ErrorSurvey",
    "Explanation",
    "FailurePrediction",
    "Field",
    "LackingPattern",
    "MappedError",
    "Outcome",
    "Pattern",
    "PopulationRate",
    "RateRatio",
    "Retest",
    "SearchSettings",
    "SearchSummary",
    "SimulatedSearch",
    "StepPlan",
    "StepSummary",
    "Strategy",
    "Subset",
    "Term",
    "Trail",
    "WrongAnswer",
    "base_of",
    "cluster_vectors",
    "cross_matrix",
    "cumulative_errors",
    "distinguishing_terms",
    "explain_errors",
    "find_patterns",
    "follow",
    "is_wrong",
    "map_vectors",
    "merge_items",
    "outcomes",
    "paragraph_items",
    "plan_step",
    "population_rate",
    "predict_failures",
    "prepare_retest",
    "random_order",
    "rate_ratio",
    "read_answers",
    "read_search",
    "read_subset",
    "run_search",
    "score_retest",
    "search_failing",
    "search_patterns",
    "simulate_search",
    "summarise",
    "survey_errors",
    "write_graphml",
    "wrong_answers",
]
