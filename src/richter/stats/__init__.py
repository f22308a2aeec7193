"""Intervals, resampling and multiplicity: what the statistics rooms share."""

from richter.stats._bootstrap import BootstrapResult, bootstrap
from richter.stats._ece import Bin, BinGaps, EceResult, bin_gaps, ece, ece_interval
from richter.stats._ece_bootstrap import bootstrap_ece
from richter.stats._multiplicity import benjamini_hochberg, holm
from richter.stats._proportion import clopper_pearson, wilson

__all__ = [
    "Bin",
    "BinGaps",
    "BootstrapResult",
    "EceResult",
    "benjamini_hochberg",
    "bin_gaps",
    "bootstrap",
    "bootstrap_ece",
    "clopper_pearson",
    "ece",
    "ece_interval",
    "holm",
    "wilson",
]
