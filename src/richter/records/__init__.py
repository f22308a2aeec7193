"""The vocabulary: what is asked, what is answered, how it is rated, and what is claimed."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.records._answers import *
    from richter.records._claim import *
    from richter.records._fence import *
    from richter.records._knowledge import *
    from richter.records._look_alikes import *
    from richter.records._picture import *
    from richter.records._plain import *

lazy(__name__)
