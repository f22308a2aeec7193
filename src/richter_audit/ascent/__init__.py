"""Stochastic error ascent: find where a model fails under a budget, and say what the base's error rate is."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter_audit.ascent._clusters import *
    from richter_audit.ascent._cross import *
    from richter_audit.ascent._error_field import *
    from richter_audit.ascent._error_map import *
    from richter_audit.ascent._explain import *
    from richter_audit.ascent._failing import *
    from richter_audit.ascent._frame import *
    from richter_audit.ascent._judge_answers import *
    from richter_audit.ascent._key_checks import *
    from richter_audit.ascent._outcome import *
    from richter_audit.ascent._population import *
    from richter_audit.ascent._portfolio import *
    from richter_audit.ascent._predict import *
    from richter_audit.ascent._propose import *
    from richter_audit.ascent._question_writer import *
    from richter_audit.ascent._retest import *
    from richter_audit.ascent._search import *
    from richter_audit.ascent._search_cost import *
    from richter_audit.ascent._section import *
    from richter_audit.ascent._settings import *
    from richter_audit.ascent._strategy_ratio import *
    from richter_audit.ascent._summary import *
    from richter_audit.ascent._survey import *
    from richter_audit.ascent._trails import *

lazy(__name__)
