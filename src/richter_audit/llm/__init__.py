"""Model access: one protocol, three backends, and asking through the ledger under a budget."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.llm._asker import *
    from richter.llm._budget import *
    from richter.llm._model import *
    from richter.llm._open import *
    from richter.llm._prices import *
    from richter.llm._prompts import *
    from richter.llm._providers import *
    from richter.llm._session import *
    from richter.llm._weights import *

lazy(__name__)
