"""A small knowledge base whose vectors are set by hand, and a simulated testee that errs where it is told to."""

import numpy as np

from richter.records import Answer, Document, Paragraph, Question
from richter_audit.knowledge import open_base, write_base

DIM = 8


def vectors_of(texts):
    """A unit vector from the text: mostly its first word (the place in the field), a little the rest."""
    rows = []
    for text in texts:
        first = np.random.default_rng(sum(map(ord, text.split()[0]))).normal(size=DIM)
        rest = np.random.default_rng(abs(hash_text(text))).normal(size=DIM)
        rows.append(first / np.linalg.norm(first) + 0.3 * rest / np.linalg.norm(rest))
    array = np.asarray(rows, dtype=np.float32).reshape(-1, DIM)
    return array / np.maximum(np.linalg.norm(array, axis=1, keepdims=True), 1e-9)


def hash_text(text):
    value = 7
    for ch in text:
        value = (value * 31 + ord(ch)) % 2**31
    return value


def small_documents(*, documents=12, paragraphs=20, questions=2):
    for d in range(documents):
        yield Document(
            title=f"D{d}",
            abstract=f"D{d} abstract",
            paragraphs=tuple(
                Paragraph(
                    text=f"D{d} holds fact number {p}",
                    category=f"category {d % 4}",
                    questions=tuple(
                        Question(
                            answer=f"right {d} {p} {q}",
                            wrong=("wrong 1", "wrong 2", "wrong 3"),
                            wordings=(f"Q{q} D{d} P{p}?", f"Q{q} D{d} P{p} again?"),
                        )
                        for q in range(questions)
                    ),
                )
                for p in range(paragraphs)
            ),
        )


def small_base(folder, **sizes):
    write_base(folder, small_documents(**sizes), name="small", embedding="by hand", vectors=vectors_of, dim=DIM)
    return open_base(folder)


class Killed(BaseException):
    """The end of the process, as far as a test can stage it (pytest keeps KeyboardInterrupt for itself)."""


class SimulatedTestee:
    """Answers wrongly where `errs(document, paragraph)` says so; counts what it is asked; may break down."""

    name = "simulated/testee"

    def __init__(self, errs, *, dies_after=None):
        self.errs = errs
        self.asked = []
        self.dies_after = dies_after

    async def ask(self, messages, decoding, draw):
        if self.dies_after is not None and len(self.asked) >= self.dies_after:
            raise Killed
        text = messages[-1]["content"].splitlines()[-2]  # 'Question: Q0 D3 P7?'
        self.asked.append(text)
        words = text.replace("?", "").split()
        wrong = self.errs(int(words[2][1:]), int(words[3][1:]))
        right = next(c for c in decoding.choices if not c.strip().startswith("wrong"))
        other = next(c for c in decoding.choices if c.strip().startswith("wrong"))
        return Answer(text=other if wrong else right, tokens_in=10, tokens_out=2, money_usd=0.0)

    async def aclose(self):
        pass
