"""What an answer's text says: whether it is right, how sure it is, and which answers say the same."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.texts._answer_classes import *
    from richter.texts._choices import *
    from richter.texts._class_quality import *
    from richter.texts._embed import *
    from richter.texts._graders import *
    from richter.texts._judge_bait import *
    from richter.texts._normalise import *
    from richter.texts._option_mass import *
    from richter.texts._reply_text import *
    from richter.texts._reply_verdicts import *
    from richter.texts._stated_confidence import *

lazy(__name__)
