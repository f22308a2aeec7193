from pathlib import Path

import polars as pl
import pytest

from richter.errors import InputError
from richter.interop import read_frame, read_table


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_three_formats_agree(tmp_path: Path) -> None:
    csv = write(tmp_path, "item,condition,correct,confidence,extra\n1,a,true,0.5,x\n2,a,0,,y\n")
    frame = read_table(csv, "grades")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ndjson(tmp_path / "t.jsonl")
    assert frame["correct"].to_list() == [1.0, 0.0]
    assert frame["confidence"].to_list() == [0.5, None]
    assert frame["item"].dtype == pl.String
    for other in ("t.parquet", "t.jsonl"):
        assert read_table(tmp_path / other, "grades").equals(frame)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,condition\n1,a\n", "needs the column correct"),
        ("item,condition,correct\n", "no rows"),
        ("", "is empty"),
        ("item,condition,correct\n1,a,maybe\n", "neither 0/1"),
        ("item,condition,correct\n1,a,1\n1,a,0\n", r"duplicate \(item, condition\) in 2 rows \(data row 1, 2\)"),
        ("item,condition,correct\n ,a,1\n", "empty item"),
        ("item,condition,correct,confidence\n1,a,1,high\n", "confidence is not a number"),
    ],
)
def test_faults_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(write(tmp_path, text), "grades")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_table(tmp_path / "none.csv", "scores")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path, "scores")


def test_nan_is_missing(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path, "item,condition,correct\n1,a,NaN\n2,a,1\n"), "grades")
    assert frame["correct"].to_list() == [None, 1.0]


def test_columns_parted_by_single_spaces(tmp_path: Path) -> None:
    assert read_frame(write(tmp_path, "system score seg\nA.1 -2.5 1\n", "t.tsv")).rows() == [("A.1", -2.5, 1)]
    assert read_frame(write(tmp_path, "one column, two\n1,2\n")).columns == ["one column", " two"]
