"""Paragraphs, retrieval, and the bases that a search goes through."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter_audit.knowledge._base import *
    from richter_audit.knowledge._ingest import *
    from richter_audit.knowledge._lance import *
    from richter_audit.knowledge._retrieve import *
    from richter_audit.knowledge._stored_questions import *
    from richter_audit.knowledge._topk import *

lazy(__name__)
