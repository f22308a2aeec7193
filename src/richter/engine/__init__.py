"""Where work is done: in this process, or on the machines of a Ray cluster. It changes no number."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.engine._engine import *
    from richter.engine._ray import *

lazy(__name__)
