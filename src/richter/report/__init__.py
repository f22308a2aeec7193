"""The report: one self-contained page from a results document and a run's ledger, and its figures as files."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.report._badge import *
    from richter.report._figure import *
    from richter.report._figures import *
    from richter.report._history import *
    from richter.report._markdown import *
    from richter.report._page import *
    from richter.report._run_list import *
    from richter.report._run_summary import *
    from richter.report._runs_app import *
    from richter.report._side_by_side import *

lazy(__name__)
