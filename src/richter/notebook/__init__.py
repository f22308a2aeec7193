"""Richter in Python: what `import richter` offers. Data in any form, the questions of the commands, results that show
themselves, and two arrays compared at once.
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.notebook._arrays import *
    from richter.notebook._opened_data import *
    from richter.notebook._plots import *
    from richter.notebook._questions import *
    from richter.notebook._results import *

lazy(__name__)
