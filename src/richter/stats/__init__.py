"""Intervals, resampling, multiplicity and agreement: what the statistics rooms share.

>>> import richter
>>> richter.stats.weighted_kappa([0, 1, 2, 3], [0, 1, 2, 3]).estimate
1.0
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.stats._agreement import *
    from richter.stats._arrays import *
    from richter.stats._bootstrap import *
    from richter.stats._ece import *
    from richter.stats._judge_bias import *
    from richter.stats._label_correction import *
    from richter.stats._label_pools import *
    from richter.stats._leniency import *
    from richter.stats._multiplicity import *
    from richter.stats._ppi import *
    from richter.stats._proportion import *
    from richter.stats._screening import *
    from richter.stats._trials import *

lazy(
    __name__,
    public=("icc", "krippendorff_alpha", "ppi_mean", "ppi_rate", "weighted_kappa"),
)
