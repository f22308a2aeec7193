"""Tail shape: is one condition's tail really heavier than another's? Only behind every gate."""

from richter.tail._condition import ConditionTail, condition_tail
from richter.tail._gates import GATES, evaluate_gates, verdict_of
from richter.tail._generators import GENERATORS, draw_gpd, draw_pair, draw_severities
from richter.tail._gof import GofResult, gpd_gof
from richter.tail._gpd import GpdFit, fit_gpd
from richter.tail._paper import paper_parts
from richter.tail._plan import LEAVE_REASONS, TRANSFORMS, Step, TailPlan
from richter.tail._power import PowerCell, PowerStudy, simulate_criteria, simulate_protocol
from richter.tail._size import TailSize, required_exceedances, required_for_p1, size_tail
from richter.tail._stability import ScanPoint, StabilityScan, stability_scan
from richter.tail._study import TailStudy, compare_conditions, compare_tails
from richter.tail._transform import Bound, find_bound, on_half_steps, transform_scores
from richter.tail._traps import TRAPS, TrapStudy, draw_trap, simulate_trap
from richter.tail._tvar import gpd_tvar, tvar

__all__ = [
    "GATES",
    "GENERATORS",
    "LEAVE_REASONS",
    "TRANSFORMS",
    "TRAPS",
    "Bound",
    "ConditionTail",
    "GofResult",
    "GpdFit",
    "PowerCell",
    "PowerStudy",
    "ScanPoint",
    "StabilityScan",
    "Step",
    "TailPlan",
    "TailSize",
    "TailStudy",
    "TrapStudy",
    "compare_conditions",
    "compare_tails",
    "condition_tail",
    "draw_gpd",
    "draw_pair",
    "draw_severities",
    "draw_trap",
    "evaluate_gates",
    "find_bound",
    "fit_gpd",
    "gpd_gof",
    "gpd_tvar",
    "on_half_steps",
    "paper_parts",
    "required_exceedances",
    "required_for_p1",
    "simulate_criteria",
    "simulate_protocol",
    "simulate_trap",
    "size_tail",
    "stability_scan",
    "transform_scores",
    "tvar",
    "verdict_of",
]
