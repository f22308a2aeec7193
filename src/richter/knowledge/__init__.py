"""Paragraphs, embeddings, retrieval."""

from richter.knowledge._base import BaseInfo, KnowledgeBase, open_base, write_base
from richter.knowledge._embed import EMBEDDING, Embedder, embed, open_embedder
from richter.knowledge._ingest import read_documents
from richter.knowledge._retrieve import Recall, Retrieval, find_similar, measure_recall
from richter.knowledge._topk import top_k

__all__ = [
    "EMBEDDING",
    "BaseInfo",
    "Embedder",
    "KnowledgeBase",
    "Recall",
    "Retrieval",
    "embed",
    "find_similar",
    "measure_recall",
    "open_base",
    "open_embedder",
    "read_documents",
    "top_k",
    "write_base",
]
