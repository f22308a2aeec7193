"""Semantic classes without a model: normal form, what is common to two answers, and embeddings."""

import dataclasses
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from richter.errors import InputError
from richter.texts import content_words, embed, matches_reference, statements

__all__ = ["REFUSAL", "THRESHOLD", "AnswerTree", "answer_trees", "cluster_questions"]

REFUSAL = -1  # the class of all refusals and empty answers

# Chosen on the equivalence verdicts of NQ-open's samples (tests/sampling/test_offline.py): the pairwise F1 is best at
# 0.325 on one half of the questions and at 0.275 on the other, and 0.91 and 0.92 on the half it was not chosen on.
THRESHOLD = 0.3
MOST_FORMS = 1_500  # of one question: each is compared with each
SHORT = 4  # words; such answers are bare names and numbers, which embeddings confuse with their neighbours
SHORT_COSINE = 0.85

Floats = NDArray[np.float64]
Form = tuple[tuple[str, ...], bool]  # what an answer adds to its question, and whether it is a bare name or number

_STOP_WORDS = """
is was were are be been being am by of in on at to for from with and or as it its this that these those who whom whose
which what when where why how did do does has have had he she they them his her their i you we there also known named
called name however according my me your but if so only about
"""
_STOP = frozenset(_STOP_WORDS.split())
_AS_OF = re.compile(
    r"\b(?:as of|until|up to)(?: my)?(?: last| latest)?(?: (?:update|knowledge|january|february|march|april|may|june|"
    r"july|august|september|october|november|december))?(?: \d{4})?,?"
)
_NUMERALS = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx"
_ROMAN = {numeral: str(i) for i, numeral in enumerate(_NUMERALS.split(), start=1)}
_TITLES = {"dr": "doctor", "mr": "mister", "st": "saint", "rev": "reverend", "us": "usa", "uk": "britain"}


def _stem(word: str) -> str:
    """Cut plural and verb endings, so that 'stars' meets 'star'; numbers stay."""
    if word[0].isdigit():
        return word
    for ending in ("ing", "ed", "es", "s"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word


def _words(text: str) -> list[str]:
    return [_stem(_TITLES.get(w, w)) for w in content_words(text)]


def _core(claims: list[str], question: frozenset[str]) -> tuple[str, ...]:
    """What an answer's statements add to its question: without stop words and the question's words."""
    words = _words(" ".join(_AS_OF.sub(" ", s) for s in claims))
    if len(words) > 1:  # "James I", "World War II": a numeral behind a name is a number
        words = [words[0], *(_ROMAN.get(w, w) for w in words[1:])]
    informative = [w for w in words if w not in _STOP]
    return tuple([w for w in informative if w not in question] or informative or words)


def _one_slip(one: str, other: str) -> bool:
    """Whether two words of five letters or more differ by one letter too many, too few, wrong or swapped.

    The first letter must agree: Gambia is not Zambia. Two slips are too many: Austria is not Australia.
    """
    if min(len(one), len(other)) < 5 or one[0] != other[0] or abs(len(one) - len(other)) > 1:
        return False
    at = next((i for i, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other)))
    if len(one) != len(other):
        short, long = sorted((one, other), key=len)
        return short[at:] == long[at + 1 :]
    return one[at + 1 :] == other[at + 1 :] or (
        one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
    )


def _spelled_alike(one: set[str], other: set[str]) -> bool:
    """Whether what two short answers do not share differs in spelling only: word by word, or in the spaces."""
    first, second = sorted(one), sorted(other)
    if "".join(first) == "".join(second):
        return True
    return len(first) == len(second) and all(_one_slip(x, y) for x, y in zip(first, second, strict=True))


def similarity(forms: Sequence[Form], vectors: NDArray[np.float32]) -> Floats:
    """How alike answers are, to be compared with THRESHOLD; -1 where they must not share a class.

    Sentences: the larger of the cosine and the share of the smaller answer's words in the larger one. Two answers of
    at most four words: 1 when one contains the other (unless it negates it) or they differ in spelling only; else,
    if they share a word, the cosine, which must reach 0.85 (shifted so that one threshold serves all). Different
    numbers are never alike.
    """
    answers = [_Said(set(words), {w for w in words if any(c.isdigit() for c in w)}, short) for words, short in forms]
    cosine = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    out = np.eye(len(forms))
    for i, one in enumerate(answers):
        for j in range(i):
            out[i, j] = out[j, i] = _pair_similarity(one, answers[j], float(cosine[i, j]))
    return out


class _Said(NamedTuple):
    """The words of an answer, the numbers among them, and whether it is a bare name or number."""

    words: set[str]
    numbers: set[str]
    is_short: bool


def _pair_similarity(one: _Said, other: _Said, cosine: float) -> float:
    common = len(one.words & other.words)
    both_short = one.is_short and other.is_short
    differ = one.numbers and other.numbers and not one.numbers & other.numbers
    if differ and (both_short or not common):
        return -1.0
    if not both_short:
        return max(cosine, common / max(min(len(one.words), len(other.words)), 1))
    left, right = one.words - other.words, other.words - one.words
    if not left or not right:
        return -1.0 if "not" in left | right else 1.0
    if not (left | right) & (one.numbers | other.numbers) and _spelled_alike(left, right):
        return 1.0
    # vectors of parts of words cannot tell Niger from Nigeria
    return cosine - SHORT_COSINE + THRESHOLD if common else 0.0


def cluster_questions(
    answers: Sequence[Sequence[str]],
    questions: Sequence[str] | None = None,
    references: Sequence[Sequence[str]] | None = None,
    *,
    threshold: float = THRESHOLD,
) -> list[list[int]]:
    """Group each question's answers into classes that say the same; per answer a class number, -1 for no answer.

    Refusals and empty answers form the class -1. Answers are reduced to what they add to the question (so give
    `questions` when answers are sentences), equal reductions are one class, and the rest is joined by average linkage
    at `threshold`. With `references` (a question's reference and its aliases), answers that are an alias and no more
    are one class from the start.
    """
    return [tree.cut(threshold) for tree in answer_trees(answers, questions, references)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTree:
    """One question's answers joined from alike to unlike: cut it at any threshold."""

    place: tuple[int, ...]  # per answer its distinct form's number, -1 for a refusal
    forms: int
    linkage: Floats | None  # None with fewer than two forms

    def cut(self, threshold: float) -> list[int]:
        """A class number per answer."""
        if self.linkage is None:
            return list(self.place)
        number = scipy.cluster.hierarchy.fcluster(self.linkage, 1 - threshold + 1e-12, criterion="distance")
        return [REFUSAL if p == REFUSAL else int(number[p]) for p in self.place]


def answer_trees(
    answers: Sequence[Sequence[str]],
    questions: Sequence[str] | None = None,
    references: Sequence[Sequence[str]] | None = None,
) -> list[AnswerTree]:
    """The trees that `cluster_questions` cuts; all texts are embedded in one go."""
    asked: Sequence[str] = [""] * len(answers) if questions is None else questions
    known: Sequence[Sequence[str]] = [()] * len(answers) if references is None else references
    rows = [_forms(*row) for row in zip(answers, asked, known, strict=True)]
    forms = [list(dict.fromkeys(f for f in row if f is not None)) for row in rows]
    if (most := max(map(len, forms), default=0)) > MOST_FORMS:
        raise InputError(
            f"A question has {most:,} different answers; at most {MOST_FORMS:,} are grouped.",
            remedy="Give fewer draws of it, or group them with a judge model.",
        )
    vectors = embed([" ".join(words) for distinct in forms for words, _ in distinct])
    ends = np.cumsum([0, *map(len, forms)])
    return [_tree(row, forms[k], vectors[ends[k] : ends[k + 1]]) for k, row in enumerate(rows)]


def _forms(texts: Sequence[str], question: str, names: Sequence[str]) -> list[Form | None]:
    words = frozenset(_words(question))
    form = {a: _form(a, words, names) for a in dict.fromkeys(texts)}  # draws repeat themselves
    return [form[a] for a in texts]


def _tree(row: Sequence[Form | None], forms: Sequence[Form], vectors: NDArray[np.float32]) -> AnswerTree:
    """One question's tree, from each answer's form and the distinct forms with their vectors."""
    number = {form: i for i, form in enumerate(forms)}
    linkage = None
    if len(forms) > 1:
        distance = np.maximum(1 - similarity(forms, vectors), 0.0)
        pairs = scipy.spatial.distance.squareform(distance, checks=False)
        linkage = scipy.cluster.hierarchy.linkage(pairs, method="average")
    place = tuple(REFUSAL if f is None else number[f] for f in row)
    return AnswerTree(place=place, forms=len(forms), linkage=linkage)


def _form(answer: str, question: frozenset[str], names: Sequence[str]) -> Form | None:
    """An answer's reduced form, None for a refusal; the reference's for an answer that is an alias and no more."""
    claims = statements(answer)
    if not claims:
        return None
    length = len(content_words(answer))
    if names and length <= max(len(content_words(n)) for n in names) and matches_reference(answer, names):
        return tuple(_words(names[0])), length <= SHORT
    return _core(claims, question), length <= SHORT
