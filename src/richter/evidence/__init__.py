"""The one way from data to evidence: every check in one list, then the measure's estimator.

`evidence(dataset, question)` gives the evidence on one question, or the check that blocks it; `answer` decides a whole
page of questions. No command makes evidence in another way.
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.evidence._calibration_evidence import *
    from richter.evidence._checks import *
    from richter.evidence._estimators import *
    from richter.evidence._facts import *
    from richter.evidence._judge_facts import *
    from richter.evidence._severity_evidence import *

lazy(__name__)
