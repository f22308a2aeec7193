"""Item sets: read, written, and the built-in facts benchmark with the gazetteer that grades wrong answers to it."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.bench._card import *
    from richter.bench._facts import *
    from richter.bench._gazetteer import *
    from richter.bench._graders import *
    from richter.bench._items import *
    from richter.bench._normalise import *
    from richter.bench._paragraphs import *
    from richter.bench._text import *
    from richter.bench._wordings import *
    from richter.bench._world import *

lazy(__name__)
