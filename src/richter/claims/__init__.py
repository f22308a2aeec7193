"""Questions with evidence in, claims out: the table of measures, estimators by unit, and the one place of verdicts.

Pure: arrays and records only. `Outcomes` is one measure on items, draws and groups; every reader makes it and every
claim on a score uses it.
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.claims._alignment import *
    from richter.claims._board import *
    from richter.claims._control import *
    from richter.claims._decide import *
    from richter.claims._ece_evidence import *
    from richter.claims._equivalence import *
    from richter.claims._gate_limits import *
    from richter.claims._labels import *
    from richter.claims._measures import *
    from richter.claims._missing import *
    from richter.claims._pairs import *
    from richter.claims._passes import *
    from richter.claims._question import *
    from richter.claims._raters import *
    from richter.claims._sizes import *
    from richter.claims._subgroups import *
    from richter.claims._totals import *
    from richter.claims._units import *
    from richter.claims._unpaired import *
    from richter.claims._variance import *

lazy(__name__)
