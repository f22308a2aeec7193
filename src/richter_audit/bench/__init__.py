"""Item sets: read, written, and the built-in facts benchmark with the gazetteer that grades wrong answers to it."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter_audit.bench._facts_benchmark import *
    from richter_audit.bench._gazetteer import *
    from richter_audit.bench._item_sets import *
    from richter_audit.bench._items import *
    from richter_audit.bench._paragraphs import *
    from richter_audit.bench._text_order import *
    from richter_audit.bench._wordings import *
    from richter_audit.bench._world import *

lazy(__name__)
