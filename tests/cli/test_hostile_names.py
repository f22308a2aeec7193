"""Whatever a table calls its conditions, items and subgroups: no command writes a byte of it that a terminal obeys."""

import os
import re
from pathlib import Path

import polars as pl
import pytest

from richter.cli import main

NAMES = (
    "\x1b]8;;http://example.org\x07here\x1b]8;;\x07", "\x9b31mred", "\u202eover", "a\nverified: b", "\x1b[2J\x1b[1;1H",
    "<script>alert(1)</script>", "[x](javascript:alert(1))", "=1+1", "../../up",
)  # fmt: skip
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [
        {"item": f"{NAMES[k % 9]}{k}", "condition": name, "correct": (k * (at + 3)) % 5 % 2, "domain": NAMES[k % 9],
         "confidence": 0.5 + (k % 5) / 10}
        for at, name in enumerate(NAMES[:5]) for k in range(45)
    ]  # fmt: skip
    (tmp_path / "here").mkdir()
    pl.DataFrame(rows).write_csv(tmp_path / "here" / "table.csv")
    return tmp_path / "here" / "table.csv"


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "TABLE", "--by", "domain"),
        ("compare", "TABLE", "--on", "accuracy", "--md", "OUT.md"),
        ("TABLE",),
        ("import", "TABLE", "--dry-run"),
        ("report", "TABLE", "-o", "OUT.html", "--md", "OUT.md", "--figures", "OUT"),
        ("calibration", "TABLE"),
        ("size", "calibration", "TABLE"),
        ("watch", "TABLE"),
        ("import", "TABLE", "-o", "OUT"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_no_byte_that_a_terminal_obeys_by_scanning(
    table: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table.parent)
    with pytest.raises(SystemExit):
        main([word.replace("TABLE", "table.csv").replace("OUT", "out") for word in words])
    out, err = capsys.readouterr()
    assert out or err
    assert not OBEYED.search(out + err)
    assert not any(line.startswith("verified: b") for line in (out + err).splitlines())  # nor a line of its own
    for path in table.parent.rglob("out*"):
        if path.suffix in (".md", ".html", ".svg"):
            assert not OBEYED.search(path.read_text(encoding="utf-8"))
    assert os.listdir(table.parent.parent) == ["here"]
