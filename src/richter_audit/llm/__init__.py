"""Model access: one protocol, three backends, and asking through the ledger under a budget."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter_audit.llm._asker import *
    from richter_audit.llm._batch_jobs import *
    from richter_audit.llm._budget import *
    from richter_audit.llm._model import *
    from richter_audit.llm._open_models import *
    from richter_audit.llm._prompts import *
    from richter_audit.llm._session import *

lazy(__name__)
