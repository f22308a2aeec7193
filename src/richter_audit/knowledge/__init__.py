"""Paragraphs, embeddings, retrieval."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.knowledge._base import *
    from richter.knowledge._embed import *
    from richter.knowledge._ingest import *
    from richter.knowledge._lance import *
    from richter.knowledge._retrieve import *
    from richter.knowledge._stored import *
    from richter.knowledge._topk import *

lazy(__name__)
