"""Files that people had and the reader refused or half understood at first sight: what it must make of each."""

from pathlib import Path

import polars as pl
import pytest

from richter.tables import Dataset, ReadOptions, read_tables

N = 12


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def means(tables: Dataset) -> dict[str, float]:
    """The mean of the main score of every condition."""
    main = tables.scores.filter(metric=tables.scores["metric"][0])
    found = main.group_by("condition", maintain_order=True).agg(pl.col("value").mean())
    return {name: round(value, 6) for name, value in found.iter_rows()}


# ------------------------------------------------------------------ files that are called alike


def test_files_with_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    files = [
        write(tmp_path / run / "out" / "results.csv", "id,correct", *(f"q{k},{int(k < right)}" for k in range(N)))
        for run, right in (("monday", 3), ("friday", 6))
    ]
    tables = read_tables(*files)
    assert means(tables) == {"monday": 0.25, "friday": 0.5}
    assert tables.is_confirmed


# ------------------------------------------------------------------ the fourth corpus, by hand


def with_status(*grades: str) -> list[str]:
    """Twelve rows of one condition: four ended in the first status, the others as their own say."""
    return [f"{k},a,{grades[0]},0" for k in range(4)] + [f"{k},a,{grades[1]},{int(k < 8)}" for k in range(4, N)]


@pytest.mark.parametrize("status", ["api_error", "failed"])
def test_a_grade_beside_the_status_of_a_failed_call_is_no_grade(tmp_path: Path, status: str) -> None:
    path = write(tmp_path / "t.csv", "task_id,agent_name,status,score", *with_status(status, "completed"))
    options = ReadOptions(map={"condition": "agent_name"})
    assert means(read_tables(path, options=options)) == {"a": 0.5}
    counted = ReadOptions(map={"condition": "agent_name"}, grade={status: 0.0})
    assert means(read_tables(path, options=counted)) == {"a": round(4 / N, 6)}


def test_a_status_that_only_repeats_the_grade_takes_none_away(tmp_path: Path) -> None:
    rows = [f"{k},a,{'completed' if k < 3 else 'failed'},{int(k < 3)}" for k in range(N)]
    assert means(read_tables(write(tmp_path / "t.csv", "id,model,status,score", *rows))) == {"a": 0.25}
