"""Studies: what combines rooms, and the plans that are fixed before."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.audit._active import *
    from richter.audit._agreement import *
    from richter.audit._calibration import *
    from richter.audit._calibration_map import *
    from richter.audit._calibration_pipeline import *
    from richter.audit._compare import *
    from richter.audit._floors import *
    from richter.audit._gate import *
    from richter.audit._labelling import *
    from richter.audit._measure import *
    from richter.audit._plan import *
    from richter.audit._plan_lock import *
    from richter.audit._rating import *
    from richter.audit._results import *
    from richter.audit._run import *
    from richter.audit._severity import *
    from richter.audit._tail import *
    from richter.audit._verify import *
    from richter.audit._watch import *

lazy(__name__)
