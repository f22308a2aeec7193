"""What can be done to a part of a source anywhere, before it is written: read its documents and embed their texts."""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.records import Document
from richter.texts._embed import Embed
from richter_audit.knowledge._ingest import Documents
from richter_audit.knowledge._stored_questions import key_of

T = TypeVar("T")

BLOCK_CHARACTERS = 500_000  # some 2,400 short paragraphs: a fraction of a second of work, a megabyte of vectors
PIECE_CHARACTERS = 100  # what an empty document counts


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A block of a source: a row of `paragraphs` for each that is not empty; `document` counts within the block."""

    pieces: int
    empty: int
    read: Counter[str]  # documents by kind
    left_out: Counter[str]  # what was no running text, by reason
    skipped: tuple[tuple[str, str], ...]  # documents of which nothing was read, and why
    documents: pl.DataFrame
    paragraphs: pl.DataFrame
    abstracts: NDArray[np.float16]
    vectors: NDArray[np.float16]  # without rows where nothing was new


def cut(documents: Documents[T]) -> Iterator[list[T]]:
    """The pieces of a source in blocks of about the same size.

    Where a block ends depends on nothing but the pieces in it: a build that goes on at the end of a block, on whatever
    engine, cuts as the build that was stopped. That matters, since a text's vector may depend on its block.
    """
    block, size = [], 0
    for piece in documents.pieces:
        block.append(piece)
        size += PIECE_CHARACTERS + documents.size(piece)
        if size >= BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block


def prepare(
    pieces: Sequence[T], *, parse: Callable[[T], Document], vectors: Embed, known: Container[int] = ()
) -> Prepared:
    """Read a block's documents and embed them. Where every paragraph is `known`, none will be kept or is embedded."""
    read = [parse(piece) for piece in pieces]
    full = [(d, paragraphs) for d in read if (paragraphs := [p for p in d.paragraphs if p.text.strip()])]
    flat = [(i, p) for i, (_, paragraphs) in enumerate(full) for p in paragraphs]
    keys = [key_of(p.text) for _, p in flat]
    new = any(key not in known for key in keys)
    return Prepared(
        pieces=len(pieces),
        empty=sum(len(d.paragraphs) for d in read) - len(flat),
        read=Counter(d.kind for d in read if d.kind and not d.skipped),
        left_out=sum((Counter(d.left_out) for d in read), Counter()),
        skipped=tuple((d.title, d.skipped) for d in read if d.skipped),
        documents=pl.DataFrame(
            {"title": [d.title for d, _ in full], "abstract": [d.abstract for d, _ in full]},
            schema={"title": pl.String, "abstract": pl.String},
        ),
        paragraphs=pl.DataFrame(
            {
                "document": [i for i, _ in flat],
                "key": keys,
                "text": [p.text for _, p in flat],
                "category": [p.category for _, p in flat],
                "attributes": [json.dumps(dict(p.attributes), ensure_ascii=False) for _, p in flat],
                "questions": [json.dumps([q.to_dict() for q in p.questions], ensure_ascii=False) for _, p in flat],
                "asks": [len(p.questions) for _, p in flat],
            },
            schema={
                "document": pl.Int32,
                "key": pl.UInt64,
                "text": pl.String,
                "category": pl.String,
                "attributes": pl.String,
                "questions": pl.String,
                "asks": pl.Int32,
            },
        ),
        abstracts=vectors([d.abstract or d.title for d, _ in full] if new else []).astype(np.float16),
        vectors=vectors([p.text for _, p in flat] if new else []).astype(np.float16),
    )
