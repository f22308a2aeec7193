"""Does the model know when it is wrong? Calibration of stated, token and sampled confidence."""

from richter.calibration._bounds import Bound, ece_bounds
from richter.calibration._confidence import as_probability
from richter.calibration._constants import (
    ece_gap_constant,
    jensen_bias,
    jensen_root,
    oracle_gap_constant,
    selection_bias,
)
from richter.calibration._convergence import Convergence, ConvergencePoint, convergence
from richter.calibration._draws import DrawsNeeded, EarlyStopping, draws_needed, mode_is_certain, stop_early
from richter.calibration._gap import Boundary, GapEstimate, SemGap, Stratum, margin_strata, sem_gap
from richter.calibration._grader import GraderError, grader_error
from richter.calibration._groups import GroupRow, GroupStudy, by_group
from richter.calibration._omnibus import BadBin, Miscalibration, miscalibration
from richter.calibration._phase import PhasePoint, phase_transition
from richter.calibration._pool import AnswerPool, answer_pool
from richter.calibration._recalibrate import (
    CalibrationMap,
    Recalibration,
    RecalibrationAdvice,
    calibration_map,
    recalibrate,
)
from richter.calibration._regimes import Regimes, regimes
from richter.calibration._reliability import reliability
from richter.calibration._scores import ConfidenceScores, Score, confidence_scores
from richter.calibration._selective import CurvePoint, SafeThreshold, risk_coverage, safe_threshold
from richter.calibration._sem import SemEce, Verbalised, sem_ece, verbalised_ece
from richter.calibration._split import held_out_confidence
from richter.calibration._study import ConfidenceStudy, calibration_claims, study_confidence
from richter.stats import EceResult, bootstrap_ece, ece

__all__ = [
    "AnswerPool",
    "BadBin",
    "Bound",
    "Boundary",
    "CalibrationMap",
    "ConfidenceScores",
    "ConfidenceStudy",
    "Convergence",
    "ConvergencePoint",
    "CurvePoint",
    "DrawsNeeded",
    "EarlyStopping",
    "EceResult",
    "GapEstimate",
    "GraderError",
    "GroupRow",
    "GroupStudy",
    "Miscalibration",
    "PhasePoint",
    "Recalibration",
    "RecalibrationAdvice",
    "Regimes",
    "SafeThreshold",
    "Score",
    "SemEce",
    "SemGap",
    "Stratum",
    "Verbalised",
    "answer_pool",
    "as_probability",
    "bootstrap_ece",
    "by_group",
    "calibration_claims",
    "calibration_map",
    "confidence_scores",
    "convergence",
    "draws_needed",
    "ece",
    "ece_bounds",
    "ece_gap_constant",
    "grader_error",
    "held_out_confidence",
    "jensen_bias",
    "jensen_root",
    "margin_strata",
    "miscalibration",
    "mode_is_certain",
    "oracle_gap_constant",
    "phase_transition",
    "recalibrate",
    "regimes",
    "reliability",
    "risk_coverage",
    "safe_threshold",
    "selection_bias",
    "sem_ece",
    "sem_gap",
    "stop_early",
    "study_confidence",
    "verbalised_ece",
]
