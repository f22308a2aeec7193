"""From headings and texts to paragraphs of 60 to 300 words under their title path; near copies."""

import functools
import itertools
import re
import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from richter_audit.knowledge._blocks import Block

FEWEST, MOST = 60, 300  # words of a paragraph
SHORTEST = 12  # words that a whole document must have
Path = tuple[str, ...]
Chunk = tuple[Path, str, str]  # title path, place, text
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'“‘(\[]?[A-Z0-9])")

SHINGLE = 5  # words
HASHES, BANDS = 64, 8
ALIKE = 0.8  # share of equal hashes, which estimates the Jaccard similarity of the shingles


def chunks(blocks: Iterable[Block]) -> list[Chunk]:
    """Paragraphs of 60 to 300 words, none across a heading unless what stands under it is shorter.

    Texts of a section are joined until they have 60 words, and cut between sentences above 300. A section that is
    shorter goes on into the next one, under the title path that both share, and each of them keeps its own heading in
    the text; what is left at the end joins the last paragraph. A document with fewer than 60 words is one paragraph,
    with fewer than 12 none.
    """
    chunker, path = _Chunker(), list[str]()
    for block in blocks:
        if block.level:
            chunker.end_section()
            path = [*path[: block.level - 1], *[""] * (block.level - 1 - len(path)), block.text]
        else:
            for piece in _pieces(block.text):
                chunker.add(piece, tuple(name for name in path if name), block.place)
    return chunker.finish()


class _Chunker:
    """Joins pieces of text to paragraphs."""

    def __init__(self) -> None:
        self._done: list[tuple[str, list[tuple[Path, str]]]] = []  # place, and pieces with their title paths
        self._held: list[tuple[Path, str]] = []
        self._count = 0  # words held
        self._place = ""

    def add(self, piece: str, path: Path, place: str) -> None:
        """Add a piece of at most 300 words that stands under a title path."""
        size = len(piece.split())
        if self._count >= FEWEST and self._count + size > MOST:
            self._close()
        if not self._held:
            self._place = place
        self._held.append((path, piece))
        self._count += size
        if self._count >= MOST:
            self._close()

    def end_section(self) -> None:
        """Close the paragraph if it is long enough to stand alone."""
        if self._count >= FEWEST:
            self._close()

    def finish(self) -> list[Chunk]:
        """All paragraphs; what is left is joined to the last one, or dropped where it is very short."""
        if 0 < self._count < FEWEST and self._done:
            self._done[-1][1].extend(self._held)
        elif self._count >= SHORTEST:
            self._close()
        return [_join_pieces(place, pieces) for place, pieces in self._done]

    def _close(self) -> None:
        self._done.append((self._place, self._held))
        self._held, self._count = [], 0


def _join_pieces(place: str, pieces: list[tuple[Path, str]]) -> Chunk:
    """A paragraph under the title path that its pieces share; where they stand in several sections, each is named."""
    shared = functools.reduce(_shared_path, (path for path, _ in pieces))
    texts = []
    for path, group in itertools.groupby(pieces, key=lambda piece: piece[0]):
        heading = " > ".join(path[len(shared) :])
        text = " ".join(piece for _, piece in group)
        texts.append(f"{heading}: {text}" if heading else text)
    return shared, place, " ".join(texts)


def _shared_path(one: Path, other: Path) -> Path:
    if one == other:
        return one
    return tuple(a for a, b in zip(one, other, strict=False) if a == b)


def _pieces(text: str) -> list[str]:
    """A text of more than 300 words in parts of at most so many, cut between sentences where there are any."""
    if len(text.split()) <= MOST:
        return [text]
    pieces: list[list[str]] = [[]]
    for sentence in _SENTENCE.split(text):
        words = sentence.split()
        for start in range(0, len(words), MOST):
            part = words[start : start + MOST]
            if len(pieces[-1]) + len(part) > MOST * 2 // 3 and pieces[-1]:
                pieces.append([])
            pieces[-1] += part
    return [" ".join(words) for words in pieces if words]


class NearCopies:
    """Texts by MinHash: which of them say nearly the same as an earlier one.

    A text is the set of its runs of five words; the share of 64 hashes whose minimum is the same estimates the Jaccard
    similarity of two sets (Broder 1997). Texts that agree in one of 8 bands of 8 hashes are compared (Leskovec,
    Rajaraman and Ullman, section 3.4: a pair of similarity 0.9 is compared with probability 0.99, one of 0.5 with
    0.03), and at 0.8 the later is a copy. A text of fewer than five words is a set of its own words.
    """

    def __init__(self) -> None:
        rng = np.random.default_rng(20_260_000)
        self._a, self._b = rng.integers(0, 1 << 64, (2, HASHES), dtype=np.uint64) | np.uint64(1)
        self._bands: dict[tuple[int, bytes], list[int]] = {}
        self._signatures: list[NDArray[np.uint64]] = []

    def _signature(self, text: str) -> NDArray[np.uint64]:
        words = re.findall(r"\w+", text.casefold())
        runs = {" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1))}
        hashed = np.array([hash32(run) for run in sorted(runs)], dtype=np.uint64)
        mixed = (self._a[:, None] * hashed[None, :] + self._b[:, None]) >> np.uint64(32)  # multiply, wrap, shift
        return np.asarray(mixed.min(axis=1))

    def is_copy(self, text: str) -> bool:
        """Whether an earlier text says nearly the same; if not, it is kept for later ones."""
        signature = self._signature(text)
        rows = HASHES // BANDS
        keys = [(band, signature[band * rows : (band + 1) * rows].tobytes()) for band in range(BANDS)]
        candidates = {i for key in keys for i in self._bands.get(key, ())}
        if any(float((self._signatures[i] == signature).mean()) >= ALIKE for i in candidates):
            return True
        for key in keys:
            self._bands.setdefault(key, []).append(len(self._signatures))
        self._signatures.append(signature)
        return False

    def learn(self, texts: Iterable[str]) -> None:
        """Take texts that are kept already."""
        for text in texts:
            self.is_copy(text)


def hash32(text: str) -> int:
    """A hash that is the same in every process."""
    return zlib.crc32(text.encode())
