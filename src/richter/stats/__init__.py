"""Intervals, resampling and multiplicity: what the statistics rooms share."""

from richter.stats._bootstrap import BootstrapResult, bootstrap
from richter.stats._multiplicity import benjamini_hochberg, holm
from richter.stats._proportion import clopper_pearson, wilson

__all__ = [
    "BootstrapResult",
    "benjamini_hochberg",
    "bootstrap",
    "clopper_pearson",
    "holm",
    "wilson",
]
