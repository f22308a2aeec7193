"""The same results in random shapes, names, languages and formats are read alike, without an option."""

from pathlib import Path

import pytest

from helpers.shapes import SHAPES, fault, write

# chosen before they were read; `python tests/soak shapes` reads thousands
SEEDS = [*range(70_000, 70_000 + 2 * len(SHAPES))]


@pytest.mark.parametrize("seed", SEEDS)
def test_any_shape_is_read_as_it_was_written(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="workbooks need richter[excel]")
    case = write(tmp_path, seed)
    assert fault(case) == "", f"{case.shape}: {case.said}"


def test_a_wrong_reading_would_be_noticed(tmp_path: Path) -> None:
    case = write(tmp_path, SEEDS[0])
    files = [case.path] if case.path.is_file() else [f for f in case.path.rglob("*") if f.is_file()]
    for file in files:
        file.write_text("item,model,correct\na,x,1\nb,x,0\n")
    assert fault(case)
