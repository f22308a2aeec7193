"""The stages of an audit: ask, judge, draw, score and probe, each into the ledger of a run."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter_audit.stages._ask_stage import *
    from richter_audit.stages._demo import *
    from richter_audit.stages._document_audit import *
    from richter_audit.stages._draw_stage import *
    from richter_audit.stages._grading import *
    from richter_audit.stages._judging import *
    from richter_audit.stages._probe import *
    from richter_audit.stages._sequential import *
    from richter_audit.stages._settle_claims import *
    from richter_audit.stages._stages import *
    from richter_audit.stages._stages_cost import *

lazy(__name__)
