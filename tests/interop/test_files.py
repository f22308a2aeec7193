from pathlib import Path

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


def test_columns_parted_by_single_spaces(tmp_path: Path) -> None:
    assert read_frame(write(tmp_path, "system score seg\nA.1 -2.5 1\n", "t.tsv")).rows() == [("A.1", -2.5, 1)]
    assert read_frame(write(tmp_path, "one column, two\n1,2\n")).columns == ["one column", " two"]
