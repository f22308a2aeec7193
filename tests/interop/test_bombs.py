"""Small files that would unpack or decode to gigabytes: refused, within 300 MB and seconds."""

import base64
import bz2
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from helpers.foreign_logs import inspect_header, write_zip
from richter.errors import InputError
from richter.interop import plain_name
from richter.interop._files import read_sheets

MEASURED = """
import re, sys
from richter.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    code = end.code
most = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())  # getrusage counts the parent's too
print("status", code, "MB", int(most[1]) // 1024, file=sys.stderr)
"""
HEADER = ("header.json", json.dumps(inspect_header()).encode())


def archive(folder: Path, members: list[bytes]) -> Path:
    named = [(f"samples/q{i}_epoch_1.json", body) for i, body in enumerate(members)]
    return write_zip(folder / "log.eval", [HEADER, *named], method=8)


def one_member(folder: Path) -> Path:
    text = base64.b64encode(random.Random(0).randbytes(900_000))  # what cannot be packed, so that the ratio is modest
    start = b'{"id": "q", "input": "' + text + b'", "metadata": {"x": ['
    return archive(folder, [start + b"[]," * 15_000_000 + b"1]}}"])


def many_members(folder: Path) -> Path:
    return archive(folder, [b'{"id": "q", "metadata": {"x": [' + b"{}," * 4_000_000 + b"1]}}"] * 12)


def document(folder: Path) -> Path:
    start = json.dumps(inspect_header()).encode()[:-1] + b', "samples": ['
    (folder / "log.json").write_bytes(start + b"[]," * 1_000_000 + b"1]}")
    return folder / "log.json"


def values(unit: bytes, start: bytes = b"[", end: bytes = b"1]") -> Callable[[Path], Path]:
    """9 MB of JSON whose values take many times their text."""

    def make(folder: Path) -> Path:
        (folder / "values.json").write_bytes(start + unit * (9_000_000 // len(unit)) + end)
        return folder / "values.json"

    return make


def many_keys(folder: Path) -> Path:
    (folder / "keys.json").write_bytes(b"{" + b",".join(b'"k%d":1' % i for i in range(800_000)) + b"}")
    return folder / "keys.json"


ROW = b'{"item": "a", "condition": "b", "correct": 1}\n'
numbers = values(b"1,")
rows = values(b'{"a":1},', end=b"{}]")
long_cell = values(b",[]", ROW + b'{"item": [[]', b"]}")
shorter_cells = values(b'{"item": [[]' + b",[]" * 21_000 + b"]}\n", ROW, b"")


def sparse_rows(folder: Path) -> Path:
    own = [{f"k{i}_{j}": 1 for j in range(90)} for i in range(1_500)]
    rows = [{"item": str(i), "condition": "a", "correct": 1, **more} for i, more in enumerate(own)]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "rows.jsonl"


def wide_header(folder: Path) -> Path:
    (folder / "wide.csv").write_text(",".join(f"c{i}" for i in range(300_000)) + "\n" + "," * 299_999 + "\n")
    return folder / "wide.csv"


def packed_columns(folder: Path) -> Path:
    n = 20_000_000
    columns = {"item": pl.repeat("x", n, eager=True), "condition": pl.repeat("a", n, eager=True)}
    pl.DataFrame({**columns, "correct": pl.repeat(1, n, eager=True)}).write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def long_element(folder: Path) -> Path:
    body = b"<mediawiki><page><title>x</title><ns>0</ns><revision><text>" + b"a" * 300_000_000
    (folder / "w.xml.bz2").write_bytes(bz2.compress(body))
    return folder / "w.xml.bz2"


def deep_elements(folder: Path) -> Path:
    (folder / "w.xml.bz2").write_bytes(bz2.compress(b"<mediawiki>" + b"<a>" * 10_000_000))
    return folder / "w.xml.bz2"


def workbook(sheet: bytes, shared: bytes = b"") -> Callable[[Path], Path]:
    """An .xlsx of one sheet."""
    main = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    kinds, office = (b"http://schemas.openxmlformats.org/" + p for p in (b"package/2006/", b"officeDocument/2006/"))
    relation = b'<Relationship Id="r%d" Type="' + office + b'relationships/%s" Target="%s"/>'

    def relations(*found: tuple[int, bytes, bytes]) -> bytes:
        inside = b"".join(relation % one for one in found)
        return b'<Relationships xmlns="' + kinds + b'relationships">' + inside + b"</Relationships>"

    sheets = b'<sheets><sheet name="S" sheetId="1" r:id="r1" xmlns:r="' + office + b'relationships"/></sheets>'
    members = [
        ("[Content_Types].xml", b'<Types xmlns="' + kinds + b'content-types"/>'),
        ("_rels/.rels", relations((1, b"officeDocument", b"xl/workbook.xml"))),
        ("xl/workbook.xml", b"<workbook " + main + b">" + sheets + b"</workbook>"),
        ("xl/_rels/workbook.xml.rels",
         relations((1, b"worksheet", b"worksheets/sheet1.xml"), (2, b"sharedStrings", b"sharedStrings.xml"))),
        ("xl/worksheets/sheet1.xml", b"<worksheet " + main + b"><sheetData>" + sheet + b"</sheetData></worksheet>"),
        ("xl/sharedStrings.xml", b"<sst " + main + b">" + shared + b"</sst>"),
    ]  # fmt: skip
    return lambda folder: write_zip(folder / "book.xlsx", members, method=8)


FAR_APART = workbook(
    b"<row r='1'><c r='A1'><v>1</v></c></row><row r='1048576'><c t='n' r='XFD1048576'><v>1</v></c></row>"
)
ONE_TEXT = workbook(
    b"<row>" + b'<c t="s"><v>0</v></c>' * 100 + b"</row>" + b'<row><c t="s"><v>0</v></c></row>' * 200_000,
    b"<si><t>" + base64.b64encode(random.Random(0).randbytes(200_000)) + b"</t></si>",
)


def one_text(folder: Path) -> Path:
    """A Parquet file of one text of 500 KB in 2,200 rows."""
    text = base64.b64encode(random.Random(0).randbytes(375_000)).decode()
    rows = {"item": range(2200), "condition": ["a", "b"] * 1100, "correct": [0, 1] * 1100}
    frame = pl.DataFrame(rows).with_columns(answer=pl.Series([text]).gather([0] * 2200))
    frame.write_parquet(folder / "one.parquet")
    return folder / "one.parquet"


@pytest.mark.parametrize("make", [FAR_APART, ONE_TEXT, one_text], ids=["far apart", "shared", "parquet"])
def test_a_table_of_gigabytes_in_a_small_file_is_refused(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """One and a half kilobytes took 400 GB, and the system ended the command and whatever else was running."""
    pytest.importorskip("fastexcel", reason="workbooks need richter[excel]")
    path = make(tmp_path)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(InputError, match=r"spread over far more|GB of text"):
        read_sheets(path)


def test_a_sheet_with_formats_and_no_cells_far_out_is_read(tmp_path: Path) -> None:
    """Spreadsheets write such cells where somebody gave a whole row a colour."""
    pytest.importorskip("fastexcel", reason="workbooks need richter[excel]")
    rows = b"<row r='1'><c r='A1' t='inlineStr'><is><t>item</t></is></c><c r='XFD1' s='2'/></row>"
    rows += b"<row r='2'><c r='A2'><v>7</v></c></row>"
    (sheet,) = read_sheets(workbook(rows + b"<row r='1048576'><c r='XFD1048576' s='2' /></row>")(tmp_path)).values()
    assert sheet["item"].to_list() == [7]


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured by Linux")
@pytest.mark.parametrize(
    ("make", "command"),
    [
        *((make, "import") for make in (one_member, many_members, document)),
        *(
            (make, "compare")
            for make in (sparse_rows, wide_header, packed_columns, numbers, rows, long_cell, shorter_cells, many_keys)
        ),
        *((make, "kb ingest") for make in (long_element, deep_elements)),
    ],
)
def test_a_bomb_is_refused_within_300_mb(make: Callable[[Path], Path], command: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    out = () if command == "compare" else ("-o", str(tmp_path / "out"))
    arguments = [*command.split(), str(make(source)), *out]
    done = subprocess.run([sys.executable, "-c", MEASURED, *arguments], capture_output=True, text=True, timeout=120)
    *_, code, _, memory = done.stderr.split()
    assert code == "1", done.stderr
    assert "Traceback" not in done.stderr
    assert int(memory) < 300, done.stderr


def test_a_heading_as_long_as_a_file_is_read_at_once() -> None:
    """Looked through from every place of a megabyte of underscores the end of a name did not end within minutes."""
    assert plain_name("_" * 1_000_000 + "(1") == "(1"
    assert plain_name(f"{'(1:' * 300_000} Total (0-20)").endswith("_total")
