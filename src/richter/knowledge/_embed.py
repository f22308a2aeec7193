"""Text to vectors without a network: WordLlama, whose 16 MB of weights lie inside its wheel."""

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from richter.errors import MissingPart

__all__ = ["embed"]


@cache
def _model() -> Any:
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
    """One unit vector a text (rows), so that a product of two rows is their cosine; an empty text is all zeros."""
    if not len(texts):
        return np.zeros((0, 256), dtype=np.float32)
    vectors = np.asarray(_model().embed(list(texts), norm=False), dtype=np.float32)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    return unit
