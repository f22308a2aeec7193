"""Does the model know when it is wrong? Calibration of stated, token and sampled confidence."""

from richter.calibration._confidence import as_probability
from richter.calibration._constants import (
    ece_gap_constant,
    jensen_bias,
    jensen_root,
    oracle_gap_constant,
    selection_bias,
)
from richter.calibration._pool import AnswerPool, answer_pool
from richter.calibration._regimes import Regimes, regimes
from richter.calibration._reliability import ReliabilityRow, reliability
from richter.calibration._sem import SemEce, Verbalised, sem_ece, verbalised_ece
from richter.calibration._split import held_out_confidence
from richter.stats import EceResult, bootstrap_ece, ece

__all__ = [
    "AnswerPool",
    "EceResult",
    "Regimes",
    "ReliabilityRow",
    "SemEce",
    "Verbalised",
    "answer_pool",
    "as_probability",
    "bootstrap_ece",
    "ece",
    "ece_gap_constant",
    "held_out_confidence",
    "jensen_bias",
    "jensen_root",
    "oracle_gap_constant",
    "regimes",
    "reliability",
    "selection_bias",
    "sem_ece",
    "verbalised_ece",
]
