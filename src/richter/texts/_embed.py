"""Text to vectors without a network: WordLlama from its wheel, or a sentence-transformers model from a folder."""

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from richter.errors import InputError, MissingPart

__all__ = ["EMBEDDING", "Embedder", "embed", "open_embedder"]

EMBEDDING = "wordllama-256"
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Embedder:
    """What turns texts into unit vectors. `name` is its identity: vectors of another name cannot be compared."""

    name: str
    dim: int
    embed: Embed


def open_embedder(folder: str | Path | None = None) -> Embedder:
    """WordLlama, or the sentence-transformers model in a folder (extra `st`). Nothing is fetched.

    A folder's model is named by its folder and a hash of everything in it, so that a model that was trained on or
    exchanged under the same path is another model.
    """
    if folder is None:
        return Embedder(name=EMBEDDING, dim=256, embed=embed)
    path = Path(folder)
    if not (path / "config.json").is_file() and not (path / "modules.json").is_file():
        raise InputError(
            f"{path} is not a folder with a sentence-transformers model.",
            remedy="Give the folder it was saved to; models are not fetched by name.",
        )
    encoder = SentenceEncoder(str(path.resolve()))
    return Embedder(name=encoder.name, dim=encoder.dim, embed=encoder)


class SentenceEncoder:
    """A sentence-transformers model. Sent to another machine it is opened there, from the same folder on that one.

    It uses the GPU where there is one. The last bits of a text's vector depend on the texts that are embedded with it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.model = _sentence_transformer(path)
        self.dim = int(np.asarray(self.model.encode(["a"], show_progress_bar=False)).shape[1])
        self.name = f"st:{Path(path).name}@{_hash(Path(path))}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_cached, (self.path,)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not len(texts):
            return np.zeros((0, self.dim), dtype=np.float32)
        return _unit(np.asarray(self.model.encode(list(texts), show_progress_bar=False), dtype=np.float32))


def _open_cached(path: str) -> Embed:
    return open_embedder(path).embed


@cache
def _sentence_transformer(path: str) -> Any:
    if find_spec("sentence_transformers") is None:
        raise MissingPart(
            "The package sentence-transformers is not installed.", remedy="Install it: pip install 'richter[st]'."
        )
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(path, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path} holds no sentence-transformers model that can be read: {what}.", remedy="Save it again."
        ) from error


def _hash(folder: Path) -> str:
    whole = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        whole.update(str(file.relative_to(folder)).encode())
        with file.open("rb") as stream:
            whole.update(hashlib.file_digest(stream, "sha256").digest())
    return whole.hexdigest()[:12]


LONG, LONGEST = 4_000, 40_000  # characters of a text that is embedded alone; that are embedded at all


@cache
def _wordllama() -> Any:
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise MissingPart(
            "The package wordllama, which turns texts into vectors, is not installed.",
            remedy="Install it: pip install 'richter[local]'.",
        )
    from wordllama import WordLlama

    # the weights are looked up under <cache_dir>/weights and /tokenizers: the package's own folder has both
    return WordLlama.load(cache_dir=Path(spec.origin).parent, disable_download=True)


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """One unit vector a text (rows), so that a product of two rows is their cosine; an empty text is all zeros.

    Of a text the first 40,000 characters count. Texts that go together take as much room as the longest of them for
    each, so long ones go alone.
    """
    vectors = np.zeros((len(texts), 256), dtype=np.float32)
    short = [i for i, text in enumerate(texts) if len(text) <= LONG]
    groups = [short] if short else []
    for group in [*groups, *([i] for i, text in enumerate(texts) if len(text) > LONG)]:
        vectors[group] = _wordllama().embed([texts[i][:LONGEST] for i in group], norm=False)
    return _unit(vectors)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    return unit
