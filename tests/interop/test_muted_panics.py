"""What polars writes before it raises on a damaged file stays off the screen."""

import os
import random
from pathlib import Path

import pytest

from helpers.containers import broken_copy, containers
from richter.errors import InputError
from richter.interop import _files, read_sheets


def test_a_damaged_parquet_file_is_refused_without_a_backtrace(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, _ = containers(tmp_path)["parquet"]
    (tmp_path / "bad.parquet").write_bytes(broken_copy(source, random.Random(548)))  # polars 1.x panics on it
    with pytest.raises(InputError, match="cannot be read as a table"):
        read_sheets(tmp_path / "bad.parquet")
    assert capfd.readouterr().err == ""


def test_the_screen_is_back_after_a_panic(capfd: pytest.CaptureFixture[str]) -> None:
    @_files._muted_panics()
    def panic() -> None:
        os.write(2, b"a backtrace")
        raise ValueError("panic")

    with pytest.raises(ValueError, match="panic"):
        panic()
    os.write(2, b"a message")
    assert capfd.readouterr().err == "a message"
