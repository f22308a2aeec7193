"""Is there enough evidence, how much is needed, and when may we stop?

>>> import richter
>>> richter.floors.labels_needed(0.05, 0.1).estimation
800
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.floors._active_labels import *
    from richter.floors._condition_floor import *
    from richter.floors._detection import *
    from richter.floors._drift import *
    from richter.floors._published import *
    from richter.floors._rates import *
    from richter.floors._sequences import *
    from richter.floors._sizing import *
    from richter.floors._stopping import *
    from richter.floors._structure import *
    from richter.floors._subjects import *

lazy(
    __name__,
    public=(
        "PublishedScore",
        "accuracy_floor",
        "active_estimate",
        "active_floor",
        "decide_claim",
        "labels_needed",
        "next_batch",
        "parse_claim",
        "passive_floor",
        "published_board",
        "start_active",
    ),
)
