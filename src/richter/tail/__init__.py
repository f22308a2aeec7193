"""Tail shape: is one condition's tail really heavier than another's? Only behind every gate.

>>> import richter
>>> richter.tail.tvar(range(1, 101))  # the mean of the worst tenth
95.5
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.tail._condition import *
    from richter.tail._gates import *
    from richter.tail._gof import *
    from richter.tail._gpd import *
    from richter.tail._tail_plan import *
    from richter.tail._tail_size import *
    from richter.tail._tail_study import *
    from richter.tail._transform import *

lazy(
    __name__,
    public=("TailPlan", "compare_tails", "fit_gpd", "gpd_gof", "tvar"),
)
