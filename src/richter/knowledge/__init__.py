"""Paragraphs, embeddings, retrieval."""

from richter.knowledge._base import BaseInfo, KnowledgeBase, add_documents, open_base, write_base
from richter.knowledge._embed import EMBEDDING, Embedder, embed, open_embedder
from richter.knowledge._ingest import Documents, read_documents
from richter.knowledge._lance import (
    DiskIndex,
    IndexInfo,
    build_index,
    open_index,
    read_index_info,
    usual_retrieval,
)
from richter.knowledge._retrieve import Recall, Retrieval, find_similar, measure_recall
from richter.knowledge._topk import top_k

__all__ = [
    "EMBEDDING",
    "BaseInfo",
    "DiskIndex",
    "Documents",
    "Embedder",
    "IndexInfo",
    "KnowledgeBase",
    "Recall",
    "Retrieval",
    "add_documents",
    "build_index",
    "embed",
    "find_similar",
    "measure_recall",
    "open_base",
    "open_embedder",
    "open_index",
    "read_documents",
    "read_index_info",
    "top_k",
    "usual_retrieval",
    "write_base",
]
