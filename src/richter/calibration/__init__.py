"""Does the model know when it is wrong? Calibration of stated, token and sampled confidence.

>>> import richter
>>> round(richter.calibration.ece([0.6] * 50 + [0.9] * 50, [1, 0] * 25 + [1] * 45 + [0] * 5).ece, 3)
0.05
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.calibration._calibration_study import *
    from richter.calibration._draw_agreement import *
    from richter.calibration._draws import *
    from richter.calibration._gap import *
    from richter.calibration._grader import *
    from richter.calibration._groups import *
    from richter.calibration._omnibus import *
    from richter.calibration._pool import *
    from richter.calibration._proper_scores import *
    from richter.calibration._regimes import *
    from richter.calibration._selective import *
    from richter.calibration._sem import *

lazy(
    __name__,
    public=(
        "agreement_gap",
        "confidence_scores",
        "ece",
        "miscalibration",
        "regimes",
        "safe_threshold",
        "sem_ece",
    ),
)
