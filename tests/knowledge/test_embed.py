import shutil
from pathlib import Path

import numpy as np
import pytest

from helpers.small_base import small_documents
from helpers.tiny_model import make_tiny_model
from richter.cli import main
from richter.errors import InputError, MissingPart
from richter.texts import _embed, embed, open_embedder
from richter_audit.knowledge import open_base, write_base


def test_vectors_have_length_one_and_order_meaning() -> None:
    pytest.importorskip("wordllama")
    vectors = embed(["the city of Paris", "Paris", "a recipe for bread", ""])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 0], abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert len(embed([])) == 0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_embed, "find_spec", lambda name: None)
    _embed._wordllama.cache_clear()
    with pytest.raises(MissingPart, match=r"richter\[local\]"):
        embed(["text"])


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def test_a_sentence_transformers_model_comes_from_a_folder(tiny_model: Path, tmp_path: Path) -> None:
    model = open_embedder(tiny_model)
    vectors = model.embed(["one text", "another text", "one text"])
    assert vectors.shape == (3, 16)
    assert model.dim == 16
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)
    assert model.embed([]).shape == (0, 16)
    made = {"name": "small", "embedding": model.name, "vectors": model.embed, "dim": model.dim}
    write_base(tmp_path / "kb", small_documents(documents=3), **made)
    base = open_base(tmp_path / "kb", embedding=open_embedder(tiny_model).name)
    np.testing.assert_allclose(base.vectors, model.embed([p.text for p in base.paragraphs(range(60))]), atol=2.0**-11)
    with pytest.raises(InputError, match="cannot be compared"):
        open_base(tmp_path / "kb", embedding=open_embedder().name)


def test_another_model_under_the_same_path_is_another_model(tiny_model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "tiny"
    shutil.copytree(tiny_model, copy)
    before = open_embedder(copy).name
    assert before == open_embedder(tiny_model).name  # where it lies does not matter
    (copy / "config.json").write_text((copy / "config.json").read_text() + "\n")
    assert open_embedder(copy).name != before


def test_a_base_is_not_continued_with_another_model(tiny_model: Path, tmp_path: Path, capsys) -> None:
    source = tmp_path / "notes"
    source.mkdir()
    (source / "a.txt").write_text("One fact stands here.\n\nAnother stands there.")
    arguments = ["search", "--only", "base", str(source), "-o", str(tmp_path / "kb")]
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--embedding", str(tiny_model)])
    assert stop.value.code == 0
    assert "vectors by st:tiny@" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 1
    assert "another embedding" in capsys.readouterr().err


def test_a_folder_without_a_model_and_a_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not fetched by name"):
        open_embedder("all-MiniLM-L6-v2")
    with pytest.raises(InputError, match="not a folder with"):
        open_embedder(tmp_path)


def test_vectors_of_the_wrong_length_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="8 dimensions, not 16"):
        write_base(
            tmp_path / "kb",
            small_documents(documents=1),
            name="small",
            embedding="by hand",
            vectors=lambda texts: np.ones((len(texts), 8), dtype=np.float32),
            dim=16,
        )
