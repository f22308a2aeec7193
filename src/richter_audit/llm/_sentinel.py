"""Sentinel calls: questions whose answer is known, so that an answer that belongs to another question can be seen.

A server, or a proxy before it, may give a reply to the wrong connection; nothing in the protocol shows it. In a long
run one call in `EVERY` asks for a word that occurs nowhere else. The word in the answer to any other question is proof
of a swap. With k words that came back, swaps of a share s of all answers would have been seen with 1 - (1 - s)^k.
"""

import secrets
from collections import Counter

from richter.records import Decoding
from richter_audit.llm._model import Message

AFTER = 300  # answers of a model in one session before the first
EVERY = 100
MARK = "richter-"
DECODING = Decoding(max_tokens=64)


class Sentinels:
    """The words that were asked for in one session, and how many came back as they should."""

    def __init__(self, *, after: int = AFTER, every: int = EVERY) -> None:
        self._after, self._every = after, every
        self._answers: Counter[str] = Counter()
        self._words: set[str] = set()
        self.returned = 0

    def is_due(self, model: str) -> bool:
        """Count an answer of a model; whether a sentinel should follow it."""
        self._answers[model] += 1
        beyond = self._answers[model] - self._after
        return beyond >= 0 and beyond % self._every == 0

    def ask(self) -> list[Message]:
        """Messages that ask for a new word, the last of them."""
        word = MARK + secrets.token_hex(6)
        self._words.add(word)
        return [{"role": "user", "content": f"Reply with this word and nothing else: {word}"}]

    def stray(self, text: str, own: str = "") -> str:
        """The word in an answer that belongs to another question, or nothing."""
        if MARK not in text:
            return ""
        return next((word for word in self._words if word != own and word in text), "")

    def __str__(self) -> str:
        seen = 1 - 0.95**self.returned
        return (
            f"{self.returned} of {len(self._words)} sentinel calls came back under their own questions; had 5% of the "
            f"answers been another's, that would have been seen with probability {seen:.2f}"
        )

    def __len__(self) -> int:
        return len(self._words)
