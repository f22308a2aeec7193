"""What a knowledge base is made of: documents, their paragraphs, and what can be asked about a paragraph."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from richter.records._plain import Result

__all__ = ["Document", "Paragraph", "Question"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Question(Result):
    """One question about a paragraph, before it is worded.

    A structured fact names its `relation` and `slots`, from which wordings are made, with plausible `wrong` answers.
    A question that somebody wrote comes worded (`wordings`, the first being the original, the rest rephrasings).
    """

    always: ClassVar = ()

    answer: str = ""  # none in a reply that could not be read
    wrong: tuple[str, ...] = ()
    relation: str = ""
    slots: Mapping[str, str] = dataclasses.field(default_factory=dict)
    wordings: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Question":
        """The inverse of `to_dict`."""
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
        return cls(**fields)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A paragraph, its category, attributes by which errors can be contrasted, and its questions."""

    text: str
    category: str = ""
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    questions: tuple[Question, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A titled group of paragraphs with an abstract, by which it is retrieved.

    `kind` is what it was read from (".pdf"), `left_out` counts what was no running text in it, by reason; `skipped` is
    the reason why nothing of it could be read, and then it has no paragraphs.
    """

    title: str
    abstract: str
    paragraphs: tuple[Paragraph, ...]
    kind: str = ""
    left_out: Mapping[str, int] = dataclasses.field(default_factory=dict)
    skipped: str = ""
