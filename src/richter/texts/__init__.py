"""Repeated draws: stated confidence, and answers grouped into classes that say the same."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.sampling._offline import *
    from richter.sampling._partition import *
    from richter.sampling._quality import *
    from richter.sampling._stated import *

lazy(__name__)
