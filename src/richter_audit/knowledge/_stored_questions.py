"""Questions that were written for a base after it was built: one file in its folder that only grows."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from richter.errors import StorageError
from richter.records import Question, Result

__all__ = ["StoredQuestion"]

FILE = "questions.jsonl"
CALLS = "questions.run"  # the calls that were paid for when questions were written for the base


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuestion(Result):
    """A question about the paragraph of a row, who wrote and who checked it, and why it is not asked ("" if it is).

    `origin` is "search" where a search wrote it, for a paragraph that it had chosen, else empty. `key` is the hash of
    the paragraph's text: where the base was changed since, the question is stale and not asked.
    """

    row: int
    key: str
    question: Question
    generator: str = ""
    checker: str = ""
    rejected: str = ""
    origin: str = ""

    def fits(self, text: str) -> bool:
        """Whether it was written for this text."""
        return self.key == text_key(text)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "StoredQuestion":
        """The inverse of `to_dict`."""
        return cls(**{**row, "question": Question.from_dict(row["question"])})


def text_key(text: str) -> str:
    """By what a question knows its paragraph."""
    return f"{key_of(text):016x}"


def key_of(text: str) -> int:
    """The same for texts that differ in case and white space only."""
    plain = " ".join(text.casefold().split())
    return int.from_bytes(hashlib.blake2b(plain.encode(), digest_size=8).digest(), "big")


def read_stored(folder: Path, lines: int | None = None) -> list[StoredQuestion]:
    """The questions of a base, only the first `lines` where told; a line that a crash cut off is left out."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    questions: list[StoredQuestion] = []
    for line in text.split("\n"):  # not `splitlines`, for which a question may hold the end of a line
        if len(questions) == lines:
            break
        try:
            questions.append(StoredQuestion.from_dict(json.loads(line)))
        except (ValueError, TypeError, KeyError):
            continue
    return questions


def append_stored(folder: Path, questions: Sequence[StoredQuestion]) -> None:
    """Add questions at the end, in one write."""
    data = "".join(json.dumps(q.to_dict(), ensure_ascii=False) + "\n" for q in questions).encode()
    try:
        with (folder / FILE).open("ab") as file:
            if file.tell() and _last_byte(folder / FILE) != b"\n":  # a line that was cut off
                data = b"\n" + data
            file.write(data)
    except OSError as error:
        raise StorageError(
            f"{folder / FILE} cannot be written: {error.strerror}.", remedy="Make room, or copy the base elsewhere."
        ) from error


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1)
