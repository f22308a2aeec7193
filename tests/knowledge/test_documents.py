"""A folder of documents: what is taken from each kind, how it is cut, and what is said of the rest."""

import io
import re
import zipfile
import zlib

import numpy as np
import pytest

from richter.errors import InputError
from richter_audit.knowledge import _blocks, open_base, read_documents, write_base
from richter_audit.knowledge._blocks import Block
from richter_audit.knowledge._chunks import NearCopies, chunks

LONG = " ".join(f"The keeper of lamp {i} walks the north stair each evening and trims the wick." for i in range(6))
OTHER = " ".join(f"Barge number {i} carried coal down the canal to the lower basin before noon." for i in range(6))

MARKDOWN = f"""---
title: Lamps
---
# The lamps
[Home](a.md) | [Next](b.md)

{LONG}

```python
print("no text")
```

{{!include.md!}}

## Barges

{OTHER}

| a | b |
|---|---|
| 1 | 2 |
"""
HTML = f"""<html><head><title>Lamps</title><style>p {{}}</style></head><body><nav><a href="/">Home</a></nav>
<div class="sidebar">Chapters of the book and other words of the side</div>
<main><h1>The lamps <a class="headerlink" href="#x">¶</a></h1><p>{LONG}</p><pre>print("no text")</pre>
<h2>Barges</h2><div>{OTHER}<ul><li><a href="b">Another page</a></li></ul></div></main>
<footer>Made by us for all of you</footer></body></html>"""
RST = f"""The lamps
=========

{LONG}

.. code-block:: python

   print("no text")

.. include:: /etc/hostname

Barges
------

{OTHER}
"""


def _docx() -> bytes:
    document = pytest.importorskip("docx").Document()
    document.add_heading("The lamps", 1)
    document.add_paragraph(LONG)
    document.add_heading("Barges", 2)
    document.add_paragraph(OTHER)
    document.add_table(1, 1).cell(0, 0).text = "no text"
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _pdf(pages: list[str]) -> bytes:
    """A PDF by hand, Helvetica, a line of text each 14 points."""
    bodies = []
    for text in pages:
        lines = [text[i : i + 80] for i in range(0, len(text), 80)]
        shown = "".join(f"({line}) Tj T* " for line in lines)
        bodies.append(f"BT /F1 9 Tf 14 TL 40 800 Td {shown} ET" if text else "")
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(bodies)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(bodies)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for i, body in enumerate(bodies):
        font = "/Resources << /Font << /F1 3 0 R >> >>"
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 842] {font} /Contents {5 + 2 * i} 0 R >>"
        objects += [page, f"<< /Length {len(body)} >>\nstream\n{body}\nendstream"]
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += "".join(f"{at:010d} 00000 n \n" for at in offsets).encode()
    return out + f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()


@pytest.mark.parametrize("kind", [".md", ".html", ".rst", ".docx"])
def test_each_kind_gives_the_same_two_sections_by_hand(tmp_path, kind):
    for package in ("selectolax", "docutils", "docx"):
        pytest.importorskip(package)
    body = {".md": MARKDOWN, ".html": HTML, ".rst": RST}.get(kind)
    (tmp_path / f"lamps{kind}").write_bytes(_docx() if body is None else body.encode())
    (document,) = read_documents(tmp_path)
    assert [(p.attributes["section"].split(" > ")[-1], p.text) for p in document.paragraphs] == [
        ("The lamps", LONG),
        ("Barges", OTHER),
    ]
    assert document.paragraphs[1].attributes["section"] == "The lamps > Barges"
    assert document.paragraphs[0].attributes["source"] == f"lamps{kind}"
    assert document.paragraphs[0].category == document.title  # no folder below: the document is the topic
    assert "no text" not in "".join(p.text for p in document.paragraphs)
    left = set(document.left_out)
    assert left >= {".md": {"code", "tables", "navigation", "includes"}, ".html": {"code", "navigation"}}.get(
        kind, set()
    )


def test_a_pdf_gives_pages_without_their_headers_by_hand(tmp_path):
    pytest.importorskip("pypdfium2")
    head = "Handbook of the harbour".ljust(80)
    (tmp_path / "h.pdf").write_bytes(_pdf([head + LONG, head + OTHER, head + LONG.replace("lamp", "boat")]))
    (document,) = read_documents(tmp_path)
    text = " ".join(p.text for p in document.paragraphs)
    assert "Handbook" not in text
    assert "canal" in text
    assert document.paragraphs[0].attributes["source"] == "h.pdf, page 1"


def test_what_cannot_be_read_is_counted_and_said(tmp_path):
    for package in ("pypdfium2", "docx"):
        pytest.importorskip(package)
    kb, tmp_path = tmp_path / "kb", tmp_path / "folder"
    tmp_path.mkdir()
    (tmp_path / "good.txt").write_text(LONG)
    (tmp_path / "copy.txt").write_text(LONG.replace("each evening", "every evening", 1))
    (tmp_path / "scan.pdf").write_bytes(_pdf([""]))
    (tmp_path / "torn.pdf").write_bytes(b"%PDF-1.4 nothing")
    (tmp_path / "locked.docx").write_bytes(b"\xd0\xcf\x11\xe0" + b"x" * 100)
    (tmp_path / "torn.docx").write_bytes(b"PK no archive")
    (tmp_path / "latin.txt").write_bytes("Café au lait".encode("latin-1"))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "rows.jsonl").write_text("{oops")
    (tmp_path / "empty.md").write_text("")
    with (tmp_path / "huge.html").open("wb") as file:
        file.truncate(100 * 2**20)
    (tmp_path / ".hidden.md").write_text(OTHER)

    def vectors(texts):
        return np.ones((len(texts), 4), dtype=np.float32) / 2

    info = write_base(kb, read_documents(tmp_path), name="x", embedding="ones", vectors=vectors, dim=4)
    assert (info.paragraphs, info.near_copies, dict(info.read)) == (1, 1, {".txt": 2})
    reasons = {name: reason for reason, names in info.skipped.items() for name in names}
    assert reasons.pop("rows.jsonl").startswith(str(tmp_path / "rows.jsonl"))
    assert reasons == {
        "scan.pdf": "scanned or without text",
        "torn.pdf": "no PDF that can be read",
        "locked.docx": "encrypted, or of the old Word format",
        "torn.docx": "no DOCX that can be read",
        "latin.txt": "not UTF-8 text",
        "picture.png": "not a kind that is read (.png)",
        "empty.md": "empty",
        "huge.html": "larger than 50 MB",
    }
    assert open_base(kb).info == info


def test_a_folder_with_nothing_readable_is_refused(tmp_path):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    with pytest.raises(InputError, match="holds no file that Richter reads"):
        list(read_documents(tmp_path))


def test_a_zip_that_unpacks_to_too_much_is_not_unpacked(tmp_path):
    pytest.importorskip("docx")
    with zipfile.ZipFile(tmp_path / "bomb.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"\0" * (201 * 2**20))
    (document,) = read_documents(tmp_path)
    assert document.skipped == "larger than 200 MB when unpacked"


def _words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([(0, 100), (0, 100)], [200]),  # joined
        ([(0, 100), (0, 250)], [100, 250]),  # together more than 300
        ([(1, 1), (0, 100), (2, 1), (0, 100)], [100, 100]),  # a heading parts
        ([(1, 1), (0, 30), (2, 1), (0, 100)], [131]),  # unless what stands before it is short: its heading comes along
        ([(0, 100), (1, 1), (0, 20)], [121]),  # what is left over joins the last, with its heading
        ([(0, 20)], [20]),  # a short document is one
        ([(0, 5)], []),
    ],
)
def test_paragraphs_have_60_to_300_words_by_hand(blocks, expected):
    made = [Block(_words(count), level) for level, count in blocks]
    assert [len(text.split()) for _, _, text in chunks(made)] == expected


def test_short_sections_that_are_joined_keep_their_headings_by_hand():
    headed = [("npm-exec", 1), ("Configuration", 2), ("package", 3), ("Default: none.", 0), ("call", 3)]
    headed += [("Default: an empty text.", 0), ("See also", 2), ("The page on scripts tells more of this.", 0)]
    blocks = [Block(text, level) for text, level in headed]
    ((path, _, text),) = chunks(blocks)
    assert path == ("npm-exec",)
    assert text == (
        "Configuration > package: Default: none. Configuration > call: Default: an empty text. "
        "See also: The page on scripts tells more of this."
    )


def test_prose_in_a_table_is_read_and_a_table_of_values_is_not(tmp_path):
    pytest.importorskip("selectolax")
    prose = "The keeper walks the stair and lights every lamp before the night comes. " * 6
    values = "<table><tr><td>12</td><td>lamps</td></tr></table>"
    (tmp_path / "page.html").write_text(f"<html><body><table><tr><td>{prose}{values}</td></tr></table></body></html>")
    (tmp_path / "page.md").write_text(f"| what | how |\n|---|---|\n| 12 | {prose} |\n")
    for name in ("page.html", "page.md"):
        (document,) = read_documents(tmp_path / name)
        (paragraph,) = document.paragraphs
        assert paragraph.text == prose.strip()


def test_a_long_text_is_cut_between_sentences():
    text = " ".join(f"Sentence {i} has just seven words here." for i in range(200))
    found = chunks([Block(text)])
    assert " ".join(piece for _, _, piece in found) == text
    assert all(60 <= len(piece.split()) <= 300 and piece.endswith("here.") for _, _, piece in found)


def test_near_copies_are_found_at_the_similarity_they_have_by_hand():
    rng = np.random.default_rng(1)
    vocabulary = [f"w{i}" for i in range(5000)]
    copies, others = 0, 0
    for _ in range(40):
        words = list(rng.choice(vocabulary, 200))
        near = NearCopies()
        near.is_copy(" ".join(words))
        one = [*words]
        one[100] = "changed"  # 5 of 196 shingles: Jaccard 191 / 201 = 0.95
        half = words[:100] + list(rng.choice(vocabulary, 100))  # Jaccard about a third
        others += near.is_copy(" ".join(half))
        copies += near.is_copy(" ".join(one))
    assert (copies, others) == (40, 0)


BOMBS = {
    "words.docx": lambda: _packed("<w:p><w:r><w:t>" + "some words " * 3_000_000 + "</w:t></w:r></w:p>"),
    "paragraphs.docx": lambda: _packed("<w:p/>" * 5_000_000),
    "lists.md": lambda: b"".join(b" " * i + b"- a\n" for i in range(8_000)),
    "deep.html": lambda: b"<div>" * 2_000_000 + b"Some words at the bottom of it.",
    "stream.pdf": lambda: _pdf_of(b"(The keeper walks the stair) Tj T* " * 1_500_000),
}


def _packed(body: str) -> bytes:
    """A DOCX with another body."""
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_docx())) as own, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for part in own.namelist():
            text = f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'
            made.writestr(part, text if part == "word/document.xml" else own.read(part))
    return out.getvalue()


def _pdf_of(shown: bytes) -> bytes:
    """A PDF of one page whose packed text is this."""
    whole = _pdf(["x"])
    packed = zlib.compress(b"BT /F1 9 Tf 14 TL 40 800 Td " + shown + b" ET", 9)
    stream = b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(packed) + packed + b"\nendstream"
    return re.sub(rb"<< /Length \d+ >>\nstream\n.*?\nendstream", lambda _: stream, whole, flags=re.DOTALL)


@pytest.mark.parametrize("name", BOMBS)
def test_a_document_made_to_exhaust_a_machine_is_left_out_with_the_reason(tmp_path, monkeypatch, name):
    """With limits that leave an honest document room; by default they are larger (256 MB and 4 s)."""
    for package in ("selectolax", "docx", "pypdfium2"):
        pytest.importorskip(package)
    monkeypatch.setattr(_blocks, "DOCUMENT_S", 0.7)
    monkeypatch.setattr(_blocks, "BYTE_S", 0.0)
    monkeypatch.setattr(_blocks, "ROOM", 120 << 20)
    (tmp_path / name).write_bytes(BOMBS[name]())
    (tmp_path / "honest.md").write_text(MARKDOWN)
    skipped = {d.title: d.skipped for d in read_documents(tmp_path)}
    assert skipped.pop("Lamps") == ""
    assert skipped[name] in (_blocks.OVER, "no DOCX that can be read")  # lxml does not say that it was memory
