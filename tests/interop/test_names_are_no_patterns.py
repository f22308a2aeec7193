"""A file name with `[`, `*` or `?` is that file, and no other."""

import os
import time
from pathlib import Path

import polars as pl
import pytest

from richter.cli import main
from richter.errors import InputError
from richter.tables import read_tables
from richter.tables._shapes import _splits

ODD = ("branch[1]", "a*", "b?", "**")


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_an_odd_name_is_that_file_by_hand(tmp_path: Path, name: str, ending: str) -> None:
    own = pl.DataFrame({"item": ["1", "2", "3"], "condition": ["new"] * 3, "correct": [1, 1, 1]})
    decoy = pl.DataFrame({"item": ["1", "2", "3"], "condition": ["decoy"] * 3, "correct": [0, 0, 0]})
    write = {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson"}[ending]
    for other in ("branch1", "branch2", "aa", "bb", "y", "a", "b", "zz"):
        with (tmp_path / f"{other}.{ending}").open("wb") as file:
            getattr(decoy, write)(file)
    with (tmp_path / f"{name}.{ending}").open("wb") as file:
        getattr(own, write)(file)
    tables = read_tables(tmp_path / f"{name}.{ending}")
    assert tables.conditions == ("new",)
    assert tables.scores["value"].to_list() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "xlsx"])
def test_a_name_that_is_not_utf8_is_refused_in_words(
    tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """polars raised a TypeError for it, and the terminal cannot show it."""
    path = tmp_path / os.fsdecode(b"old\xff." + ending.encode())
    path.write_text("item,condition,correct\n1,a,1\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_tables(tmp_path)
    with pytest.raises(SystemExit):
        main(["compare", str(path)])
    assert "is not UTF-8" in capsys.readouterr().err


def test_a_long_text_in_place_of_a_name_is_not_parted() -> None:
    """400 KB in the header took 10 s: each way to part a column's name in two was tried."""
    began = time.process_time()
    assert _splits('"item"::,):' * 18_000) == set()
    assert time.process_time() - began < 1
