"""Stochastic error ascent: find where a model fails under a budget, and say what the base's error rate is."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.ascent._categories import *
    from richter.ascent._clusters import *
    from richter.ascent._cross import *
    from richter.ascent._explain import *
    from richter.ascent._failing import *
    from richter.ascent._field import *
    from richter.ascent._graph import *
    from richter.ascent._judged import *
    from richter.ascent._map import *
    from richter.ascent._outcome import *
    from richter.ascent._patterns import *
    from richter.ascent._pilot import *
    from richter.ascent._population import *
    from richter.ascent._predict import *
    from richter.ascent._propose import *
    from richter.ascent._questions import *
    from richter.ascent._ratio import *
    from richter.ascent._retest import *
    from richter.ascent._search import *
    from richter.ascent._settings import *
    from richter.ascent._simulated import *
    from richter.ascent._summary import *
    from richter.ascent._survey import *

lazy(__name__)
