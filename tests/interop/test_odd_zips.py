"""Archives of tables that are locked, damaged or made to break a reader: a line of words, never a traceback."""

import io
import json
import struct
import zipfile
from pathlib import Path

import pytest

from richter.cli import main
from richter.records import json_text

TABLE = b"item,condition,correct\n" + b"".join(b"q%d,a,%d\n" % (k, k % 2) for k in range(30))


def zipped(**files: bytes) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return body.getvalue()


def encrypted() -> bytes:
    """The mark of an encrypted member, in both of its headers."""
    body = bytearray(zipped(**{"a.csv": TABLE}))
    for start, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = body.index(start) + at
        body[place : place + 2] = struct.pack("<H", 1)
    return bytes(body)


def damaged() -> bytes:
    body = bytearray(zipped(**{"a.csv": TABLE}))
    body[45:60] = b"\xff" * 15
    return bytes(body)


ARCHIVES = {
    "encrypted": encrypted(),
    "damaged": damaged(),
    "bomb": zipped(**{"a.csv": TABLE + b"q,a,1\n" * 6_000_000}),
    "many bombs": zipped(**{f"{k}.csv": TABLE + b"q,a,1\n" * 2_000_000 for k in range(8)}),
    "a file that is a folder": zipped(**{"a.csv": TABLE, "a.csv/b.csv": TABLE}),
    "a folder that is a file": zipped(**{"a.csv/b.csv": TABLE, "a.csv": TABLE}),
    "a name of 300 letters": zipped(**{f"{'n' * 300}.csv": TABLE}),
    "a path of 5,000 letters": zipped(**{f"{'n/' * 2500}a.csv": TABLE}),
    "a workbook that is none": zipped(**{"xl/workbook.xml": b"<x/>", "xl/worksheets/sheet1.xml": b"<"}),
}


@pytest.mark.parametrize("what", ARCHIVES)
@pytest.mark.parametrize("ending", ["zip", "xlsx"])
def test_an_odd_archive_is_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, ending: str
) -> None:
    path = tmp_path / f"tables.{ending}"
    path.write_bytes(ARCHIVES[what])
    for command in ("compare", "verify", "gate"):
        with pytest.raises(SystemExit) as stop:
            main([command, str(path), *(["--margin", "2pt"] if command == "gate" else [])])
        assert stop.value.code in (1, 2)
    assert "Traceback" not in capsys.readouterr().err


def test_a_table_with_an_archive_behind_it_is_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An editor shows one thing; a reader that looks from the end took the other."""
    other = TABLE.replace(b",1\n", b",0\n")
    path = tmp_path / "grades.csv"
    path.write_bytes(TABLE + zipped(**{"hidden.csv": other}))
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(path), "--json", str(tmp_path / "out.json")])
    said = capsys.readouterr().err
    if stop.value.code in (0, None):
        assert '"accuracy": 0.0' not in (tmp_path / "out.json").read_text()
    else:
        assert "Traceback" not in said


def test_json_shows_every_letter() -> None:
    odd = "a\u202eb\x9b31m\u200f\u2066c\U000e0041é日\n"
    text = json_text({odd: [odd]}, indent=2)
    assert not set("\u202e\x9b\u200f\u2066\U000e0041") & set(text)
    assert json.loads(text) == {odd: [odd]}
