"""Severity ratings: the rubric, the sample and the page for people, and what the ratings are worth."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.ratings._disagreements import *
    from richter.ratings._guard import *
    from richter.ratings._judge_report import *
    from richter.ratings._label_noise import *
    from richter.ratings._rating_page import *
    from richter.ratings._rubric import *
    from richter.ratings._sample import *
    from richter.ratings._self_judging import *

lazy(__name__)
