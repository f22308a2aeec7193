"""What an agent did on a task, step by step: the steps of others' logs, rules that find faults, and counts of them.

Pure: records only. A run of a task is one answer; its steps are the messages and tool calls that led to it.
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.trajectories._fault_rules import *
    from richter.trajectories._inspect_steps import *
    from richter.trajectories._run_figures import *
    from richter.trajectories._steps import *

lazy(__name__)
