"""Intervals, resampling, multiplicity and agreement: what the statistics rooms share."""

from richter.stats._bootstrap import BootstrapResult, bootstrap
from richter.stats._ece import Bin, BinGaps, EcePath, EceResult, bin_gaps, ece, ece_interval, ece_limits, ece_path
from richter.stats._ece_bootstrap import bootstrap_ece
from richter.stats._effective_judges import EffectiveJudges, effective_judges
from richter.stats._icc import ICC, icc
from richter.stats._kappa import Kappa, fleiss_kappa, weighted_kappa
from richter.stats._krippendorff import Alpha, krippendorff_alpha
from richter.stats._leniency import JudgeEffect, LeaveOneOut, Leniency, leave_one_judge_out, leniency
from richter.stats._missingness import Missingness, missingness
from richter.stats._multiplicity import benjamini_hochberg, holm
from richter.stats._ppi import (
    Corrected,
    LabelledPool,
    Side,
    labelled_pool,
    more_labels,
    pool_difference,
    pool_interval,
    ppi_difference,
    ppi_mean,
    ppi_rate,
    ppi_rates,
)
from richter.stats._proportion import clopper_pearson, wilson
from richter.stats._screening import Screening, Share, ThresholdRow, overcall_rate, screen
from richter.stats._trials import Mapper, in_threads, run_tasks, run_trials
from richter.stats._weighted_rate import weighted_rate

__all__ = [
    "ICC",
    "Alpha",
    "Bin",
    "BinGaps",
    "BootstrapResult",
    "Corrected",
    "EcePath",
    "EceResult",
    "EffectiveJudges",
    "JudgeEffect",
    "Kappa",
    "LabelledPool",
    "LeaveOneOut",
    "Leniency",
    "Mapper",
    "Missingness",
    "Screening",
    "Share",
    "Side",
    "ThresholdRow",
    "benjamini_hochberg",
    "bin_gaps",
    "bootstrap",
    "bootstrap_ece",
    "clopper_pearson",
    "ece",
    "ece_interval",
    "ece_limits",
    "ece_path",
    "effective_judges",
    "fleiss_kappa",
    "holm",
    "icc",
    "in_threads",
    "krippendorff_alpha",
    "labelled_pool",
    "leave_one_judge_out",
    "leniency",
    "missingness",
    "more_labels",
    "overcall_rate",
    "pool_difference",
    "pool_interval",
    "ppi_difference",
    "ppi_mean",
    "ppi_rate",
    "ppi_rates",
    "run_tasks",
    "run_trials",
    "screen",
    "weighted_kappa",
    "weighted_rate",
    "wilson",
]
