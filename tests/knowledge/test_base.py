import json

import numpy as np
import pytest

from helpers.small_base import DIM, Killed, small_base, small_documents, vectors_of
from richter.errors import InputError
from richter.records import Document, Paragraph, Question
from richter_audit.knowledge import _base as module
from richter_audit.knowledge import _prepare_documents, open_base, write_base

WRITE = {"name": "small", "embedding": "by hand", "vectors": vectors_of, "dim": DIM}


def test_a_base_gives_back_what_was_put_in(tmp_path):
    base = small_base(tmp_path / "kb")
    documents = list(small_documents())
    flat = [p for d in documents for p in d.paragraphs]
    assert len(base) == len(flat) == 240
    assert base.paragraphs([239, 0, 57]) == [flat[239], flat[0], flat[57]]
    assert base.titles() == [d.title for d in documents]
    assert base.document_of(57) == 2
    np.testing.assert_array_equal(base.first_rows, np.arange(0, 241, 20))
    names, codes = base.categories
    assert [names[codes[row]] for row in (0, 20, 40, 60, 80)] == [f"category {i}" for i in (0, 1, 2, 3, 0)]
    # float16 keeps 11 bits: a unit vector's entries are off by at most 2^-12
    np.testing.assert_allclose(base.vectors, vectors_of([p.text for p in flat]), atol=2.0**-12)


def test_duplicates_and_empty_paragraphs_are_left_out_and_counted(tmp_path):
    texts = ["One fact.", "  one   FACT. ", "", "Another."]
    document = Document(title="t", abstract="a", paragraphs=tuple(Paragraph(text=t) for t in texts))
    again = Document(title="u", abstract="b", paragraphs=(Paragraph(text="Another."),))
    info = write_base(tmp_path / "kb", [document, again], **WRITE)
    assert (info.paragraphs, info.documents, info.duplicates, info.empty) == (2, 1, 2, 1)


def test_a_build_that_was_killed_goes_on_and_ends_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SHARD_PARAGRAPHS", 50)
    monkeypatch.setattr(_prepare_documents, "BLOCK_CHARACTERS", 1)
    whole = write_base(tmp_path / "whole", small_documents(), **WRITE)

    def broken():
        for i, document in enumerate(small_documents()):
            if i == 8:
                raise Killed
            yield document

    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "paragraphs.f16").write_bytes(b"torn")  # a first shard that did not get as far as the list
    with pytest.raises(Killed):
        write_base(tmp_path / "kb", broken(), **WRITE)
    with pytest.raises(InputError, match="not finished"):
        open_base(tmp_path / "kb")
    with (tmp_path / "kb" / "paragraphs.f16").open("ab") as handle:
        handle.write(b"torn")  # a shard that did not get as far as the list of shards
    assert write_base(tmp_path / "kb", small_documents(), **WRITE) == whole
    for file in sorted((tmp_path / "whole").iterdir()):
        if file.suffix == ".f16":
            assert (tmp_path / "kb" / file.name).read_bytes() == file.read_bytes()
    rows = list(range(0, 240, 7))
    assert open_base(tmp_path / "kb").paragraphs(rows) == open_base(tmp_path / "whole").paragraphs(rows)


def test_bad_bases_are_refused(tmp_path):
    with pytest.raises(InputError, match="no paragraph to keep"):
        write_base(tmp_path / "empty", [], **WRITE)
    with pytest.raises(InputError, match="not a knowledge base"):
        open_base(tmp_path / "nothing")
    small_base(tmp_path / "kb")
    with pytest.raises(InputError, match="cannot be compared"):
        open_base(tmp_path / "kb", embedding="another-model")
    with pytest.raises(InputError, match="another name"):
        write_base(tmp_path / "kb", [], **{**WRITE, "name": "other"})
    info = json.loads((tmp_path / "kb" / "base.json").read_text())
    (tmp_path / "kb" / "base.json").write_text(json.dumps({**info, "format": 99}))
    with pytest.raises(InputError, match="format 99"):
        open_base(tmp_path / "kb")


def test_a_question_survives_its_file():
    question = Question(answer="a", wrong=("b", "c"), relation="r", slots={"subject": "s"}, aliases=("x",))
    assert Question.from_dict(json.loads(json.dumps(question.to_dict()))) == question
