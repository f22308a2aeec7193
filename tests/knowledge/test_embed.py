import numpy as np
import pytest

from richter.errors import MissingPart
from richter.knowledge import _embed, embed


def test_vectors_have_length_one_and_order_meaning() -> None:
    pytest.importorskip("wordllama")
    vectors = embed(["the city of Paris", "Paris", "a recipe for bread", ""])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 0], abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert len(embed([])) == 0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_embed, "find_spec", lambda name: None)
    _embed._model.cache_clear()
    with pytest.raises(MissingPart, match=r"richter\[local\]"):
        embed(["text"])
