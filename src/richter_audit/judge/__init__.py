"""Judges: severity by rules and by judge models, and answers grouped by a model."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter_audit.judge._judge_prompt import *
    from richter_audit.judge._panel import *
    from richter_audit.judge._partition import *
    from richter_audit.judge._rule_judge import *

lazy(__name__)
