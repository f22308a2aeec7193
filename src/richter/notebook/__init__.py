"""Richter in Python: what `import richter` offers. Data in any form, the questions of the commands, results that show
themselves, and two arrays compared at once.
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.notebook._opened_data import *
    from richter.notebook._paired_arrays import *
    from richter.notebook._plots import *
    from richter.notebook._shown_results import *
    from richter.notebook._top_functions import *

lazy(__name__)
