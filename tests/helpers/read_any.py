"""Every kind of file that a command reads, and its reader; for files that are broken on purpose."""

import bz2
import gzip
import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl

from helpers.mutations import seeds
from richter.audit import read_plan
from richter.errors import RichterError
from richter.interop import logs_summary, next_command, problems, read_logs
from richter.models import read_prices
from richter.tables import outcomes, read_tables
from richter_audit.bench import read_items
from richter_audit.knowledge import read_documents

Reader = Callable[[Path], object]

PLAN = """kind = "gate"
level = 0.95
candidate = "new"
baseline = "old"
on_undecided = "fail"
[[require]]
metric = "accuracy"
rule = "no_worse"
limit = 0.05
"""
WIKI = b"""<mediawiki><page><title>Ash</title><ns>0</ns><revision><text>The '''ash''' is a [[tree]] of the genus
Fraxinus that grows in Europe and Asia.{{cite}}

== Wood ==
Its wood is hard and is used for tools &amp; bats all over the world.</text></revision></page></mediawiki>"""


MARKDOWN = """---
title: Ash
---
# The ash

The [ash](ash.md) is a *tree* of the genus Fraxinus that grows in Europe and Asia, on damp ground and by rivers.

- One of its kinds has `black` buds.
- Another has flowers.

| part | use |
|---|---|
| wood | tools |
"""
HTML = """<html><head><title>Ash</title></head><body><nav><a href="/">Home</a></nav><main><h1 class="x">The ash</h1>
<p>The <b>ash</b> is a tree of the genus Fraxinus that grows in Europe &amp; Asia, on damp ground and by rivers.</p>
<table><tr><td>wood</td></tr></table><ul><li>One of its kinds has black buds.</li></ul></main></body></html>"""
RST = """The ash
=======

The *ash* is a `tree`_ of the genus Fraxinus that grows in Europe and Asia, on damp ground and by rivers |where|.

.. |where| replace:: everywhere
.. _tree: tree.html
.. note:: One of its kinds has black buds.
.. include:: other.rst

====  =====
part  use
====  =====
wood  tools
====  =====
"""
PDF = b"""%PDF-1.4
1 0 obj
<< /Type /Catalog /Pages 2 0 R >>
endobj
2 0 obj
<< /Type /Pages /Kids [4 0 R] /Count 1 >>
endobj
3 0 obj
<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>
endobj
4 0 obj
<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 842] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>
endobj
5 0 obj
<< /Length 119 >>
stream
BT /F1 9 Tf 14 TL 40 800 Td (The ash is a tree that grows) Tj T* (in Europe and Asia, on damp ground, by rivers.) Tj ET
endstream
endobj
trailer << /Size 6 /Root 1 0 R >>
%%EOF
"""


def write_documents(folder: Path) -> None:
    """One small document of every kind whose reader is installed."""
    folder.mkdir()
    (folder / "ash.md").write_text(MARKDOWN)
    (folder / "ash.txt").write_text(MARKDOWN)
    if importlib.util.find_spec("selectolax"):
        (folder / "ash.html").write_text(HTML)
    if importlib.util.find_spec("docutils"):
        (folder / "ash.rst").write_text(RST)
    if importlib.util.find_spec("pypdfium2"):
        (folder / "ash.pdf").write_bytes(PDF)
    if importlib.util.find_spec("docx"):
        from docx import Document

        made = Document()
        made.add_heading("The ash", 1)
        made.add_paragraph("The ash is a tree of the genus Fraxinus that grows in Europe and Asia, on damp ground.")
        made.add_table(1, 1).cell(0, 0).text = "wood"
        made.save(str(folder / "ash.docx"))


def read_log(path: Path) -> None:
    logs = read_logs([path])
    json.dumps(logs_summary(logs))
    problems(logs)
    next_command(logs, str(path))


def read_table(path: Path) -> None:
    outcomes(read_tables(path), "accuracy")


def all_seeds(folder: Path) -> list[tuple[Path, Reader]]:
    """Sound files of every kind, each with what reads it."""
    tables, items, texts, others = (folder / name for name in ("tables", "items", "texts", "others"))
    for where in (tables, items, texts, others):
        where.mkdir(parents=True)
    grades = pl.DataFrame(
        {
            "item": [f"q{i % 20}" for i in range(40)],
            "condition": ["old"] * 20 + ["new"] * 20,
            "correct": [1, 0] * 20,
            "confidence": [0.5, 0.9] * 20,
            "answer": ["a, b", 'c "d"'] * 20,
        }
    )
    grades.write_csv(tables / "grades.csv")
    grades.write_csv(tables / "grades.tsv", separator="\t")
    grades.write_ndjson(tables / "grades.jsonl")
    grades.write_parquet(tables / "grades.parquet")
    grades.write_json(tables / "grades.json")
    for name in ("grades.csv", "grades.jsonl"):
        (tables / f"{name}.gz").write_bytes(gzip.compress((tables / name).read_bytes()))
    (tables / "grades.csv.bz2").write_bytes(bz2.compress((tables / "grades.csv").read_bytes()))
    if importlib.util.find_spec("fastexcel"):
        for book in sorted((Path(__file__).parents[1] / "corpus" / "unusual").glob("*.xlsx")):
            shutil.copy(book, tables)
    severities = grades.select("item", "condition", pl.col("correct").alias("severity"))
    severities.write_csv(tables / "scores.csv")
    asked = [
        {
            "id": f"q{i}",
            "prompt": f"What is {i}?",
            "reference": str(i),
            "aliases": ["x"],
            "tier": 1 + i % 5,
            "truth": {"kind": "number", "value": i},
        }
        for i in range(12)
    ]
    (items / "items.jsonl").write_text("\n".join(map(json.dumps, asked)) + "\n")
    pl.DataFrame(
        [{k: str(v) for k, v in row.items() if k in ("id", "prompt", "reference")} for row in asked]
    ).write_csv(items / "items.csv")
    rows = [
        {"text": f"Paragraph {i} about trees.", "title": "Trees", "qas": [{"q": "What?", "a": ["Trees"]}]}
        for i in range(8)
    ]
    (texts / "texts.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    pl.DataFrame([{k: row[k] for k in ("text", "title")} for row in rows]).write_parquet(texts / "texts.parquet")
    (texts / "wiki.xml").write_bytes(WIKI)
    (texts / "wiki.xml.bz2").write_bytes(bz2.compress(WIKI))
    write_documents(folder / "documents")
    (others / "plan.toml").write_text(PLAN)
    (others / "prices.toml").write_text('["openai/x"]\ninput_usd = 1.5\noutput_usd = 3\n')
    logs = folder / "logs"
    logs.mkdir()
    found: list[tuple[Path, Reader]] = [(path, read_log) for path in seeds(logs)]
    found += [(path, read_table) for path in sorted(tables.iterdir())] * 2
    found += [(path, read_items) for path in sorted(items.iterdir())] * 3
    found += [(path, lambda p: list(read_documents(p))) for path in sorted(texts.iterdir())]
    found += [(path, lambda p: list(read_documents(p))) for path in sorted((folder / "documents").iterdir())] * 3
    found += [(others / "plan.toml", read_plan), (others / "prices.toml", read_prices)]
    return found


def ended(path: Path, read: Reader) -> str:
    """What becomes of a file: read, or refused in words; anything else is raised."""
    try:
        read(path)
    except RichterError:
        return "refused"
    return "read"
