"""How bad a condition's errors are: slopes, families, matched pairs, and rates per million from counts.

>>> import richter
>>> richter.severity.clean_answers_needed(1000)  # answers without an error that show fewer than 1,000 per million
2995
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.severity._b_value import *
    from richter.severity._deployment import *
    from richter.severity._difference import *
    from richter.severity._discriminate import *
    from richter.severity._dominance import *
    from richter.severity._families import *
    from richter.severity._given_error import *
    from richter.severity._grid import *
    from richter.severity._requirement import *
    from richter.severity._severity_study import *
    from richter.severity._true_severity import *

lazy(
    __name__,
    public=(
        "clean_answers_needed",
        "compare_dominance",
        "deployment_table",
        "discriminate",
        "estimate_b",
        "family_probabilities",
        "fit_families",
        "parse_requirement",
        "severity_by_labels",
    ),
)
