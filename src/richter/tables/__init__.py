"""Any source into answers, scores and ratings: the one reader, and the one rule for an answer's severity.

Everything that measures reads these tables: `outcomes` is the view of one metric on them, `severity_scores` the arrays
of the room `severity`.
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.tables._dates import *
    from richter.tables._graded_answers import *
    from richter.tables._keep import *
    from richter.tables._read import *
    from richter.tables._reading import *
    from richter.tables._tables import *

lazy(__name__)
