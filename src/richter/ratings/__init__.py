"""Severity: the rubric, judging by rules, by judge models and by people, and what the ratings are worth."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.judge._guard import *
    from richter.judge._judge_report import *
    from richter.judge._panel import *
    from richter.judge._prompt import *
    from richter.judge._rating_page import *
    from richter.judge._rubric import *
    from richter.judge._rules import *
    from richter.judge._sample import *

lazy(__name__)
