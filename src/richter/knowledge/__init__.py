"""Paragraphs, embeddings, retrieval."""

from richter.knowledge._embed import embed

__all__ = ["embed"]
