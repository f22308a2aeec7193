"""Which paragraphs a rate is about: the frame from which a search draws its uniform share."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from richter.records import Result
from richter_audit.knowledge import KnowledgeBase

__all__ = ["SamplingFrame"]

SEARCH_ORIGIN = "search"  # of a question that a search wrote, for a paragraph that it had chosen


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SamplingFrame(Result):
    """The paragraphs that a search can draw: how many, and of which kind.

    `kind` "all": every paragraph with text, since a generator writes what is missing; "questions": those with a
    question that no search had chosen; "chosen": earlier searches wrote questions for `chosen` paragraphs that they
    picked, and others have none. Of the last no rate of the base follows, however it is drawn.
    """

    kind: Literal["all", "questions", "chosen"] = "questions"
    size: int = 0
    chosen: int = 0

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "SamplingFrame":
        """The inverse of `to_dict`."""
        return cls(**row)


def drawable_rows(base: KnowledgeBase, generator: str | None, lines: int) -> NDArray[np.bool_]:
    """Which paragraphs a search can ask about: with a question, or those that its generator has not failed on.

    Only the first `lines` of the questions that were written count, so that a resumed search draws as it began.
    """
    if generator is None:
        return base.askable.copy()
    drawable = np.ones(len(base), dtype=np.bool_)
    drawable[base.rejected_rows(generator, lines)] = False
    return drawable


def sampling_frame(base: KnowledgeBase, generator: str | None, lines: int) -> SamplingFrame:
    """The frame of a search that begins now."""
    size = int(drawable_rows(base, generator, lines).sum())
    if generator is not None:
        return SamplingFrame(kind="all", size=size)
    by_search = {q.row: q.origin == SEARCH_ORIGIN for q in base.stored if not q.rejected}
    chosen = [row for row, picked in by_search.items() if picked]
    tried = np.zeros(len(base), dtype=np.bool_)
    tried[[q.row for q in base.stored if q.row < len(base)]] = True
    complete = bool((tried | base.askable).all())
    return SamplingFrame(kind="chosen" if chosen and not complete else "questions", size=size, chosen=len(chosen))
