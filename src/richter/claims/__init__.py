"""Outcomes in, claims out: one test and its own inversion per kind of data, by unit, with one family per page.

Pure: arrays and records only. `Outcomes` is one metric on items, draws and groups; every reader makes it and every
claim on a score uses it.
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.claims._adjust import *
    from richter.claims._alignment import *
    from richter.claims._answer import *
    from richter.claims._compare import *
    from richter.claims._control import *
    from richter.claims._decide import *
    from richter.claims._ece import *
    from richter.claims._evidence import *
    from richter.claims._labels import *
    from richter.claims._outcomes import *
    from richter.claims._passes import *
    from richter.claims._require import *
    from richter.claims._subgroups import *
    from richter.claims._suite import *
    from richter.claims._units import *
    from richter.claims._unpaired import *
    from richter.claims._variance import *

lazy(__name__)
