"""Names of models: who serves them, what they cost, when two are one, and where local weights lie."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.models._identity import *
    from richter.models._prices import *
    from richter.models._providers import *
    from richter.models._weights import *

lazy(__name__)
