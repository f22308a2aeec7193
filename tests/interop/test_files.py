import sqlite3
from pathlib import Path

import polars as pl
import pytest

from richter.errors import InputError
from richter.interop import read_frame


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_frame(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_frame(tmp_path)


def test_kinds_that_are_not_read_are_refused_in_words(tmp_path: Path) -> None:
    drawn = {
        "psql.txt": " id | model | passed\n----+-------+-------\n 1 | a | t\n",
        "README.md": "# Trial\n\n| # | gpt | llama |\n|---|:-:|---|\n| 1 | 1 | 0 |\n",
    }
    for name, text in drawn.items():
        with pytest.raises(InputError, match=r"a table drawn with lines, which is not read.* Save it as CSV"):
            read_frame(write(tmp_path, text, name))
    with sqlite3.connect(tmp_path / "evals.db") as database:
        database.execute("CREATE TABLE answers (item TEXT, correct INTEGER)")
    database.close()
    pl.DataFrame({"item": ["a"], "correct": [1]}).write_ipc(tmp_path / "results.feather")
    report = write(tmp_path, '<testsuite name="s"><testcase classname="t" name="q"/></testsuite>', "report.xml")
    for path in (tmp_path / "evals.db", tmp_path / "results.feather", report):
        with pytest.raises(InputError, match=r"not read|not a table"):
            read_frame(path)


def test_a_table_in_a_cell_is_no_table_of_answers(tmp_path: Path) -> None:
    cell = '"| a | b |\n|---|---|\n| 1 | 2 |"'
    path = write(tmp_path, f"item,model,answer,correct\nq1,m,{cell},1\nq2,m,{cell},0\n")
    assert read_frame(path)["correct"].to_list() == [1, 0]
