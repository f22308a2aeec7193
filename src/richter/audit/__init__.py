"""Studies: what combines rooms, and the plans that are fixed before."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.audit._calibration_audit import *
    from richter.audit._calibration_pipeline import *
    from richter.audit._calibration_results import *
    from richter.audit._comparison import *
    from richter.audit._drawn_questions import *
    from richter.audit._floors_audit import *
    from richter.audit._gate_check import *
    from richter.audit._judge_trust import *
    from richter.audit._labelling import *
    from richter.audit._measure import *
    from richter.audit._next_labels import *
    from richter.audit._plan import *
    from richter.audit._plan_lock import *
    from richter.audit._rating import *
    from richter.audit._rating_agreement import *
    from richter.audit._results import *
    from richter.audit._severity_audit import *
    from richter.audit._severity_labels import *
    from richter.audit._size_study import *
    from richter.audit._tail_audit import *
    from richter.audit._verify import *
    from richter.audit._watch import *
    from richter.audit._watch_days import *
    from richter.audit._watch_words import *

lazy(__name__)
