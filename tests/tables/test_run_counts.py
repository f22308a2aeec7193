"""Steps and failed calls as plain numbers: columns of a table, and counts that Inspect's logs hold."""

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers.foreign_logs import inspect_sample, write_inspect
from richter.audit import compare_tables
from richter.cli import main
from richter.tables import Dataset, read_tables

COUNTS = ("item", "steps", "failed_calls")


def write_table(path: Path) -> Path:
    rows = [f"t{k},{name},{(k + own) % 2},{k % 3 + own},{own}" for k in range(20) for own, name in enumerate("ab")]
    path.write_text("\n".join(["item,model,correct,steps,failed_calls", *rows]) + "\n")
    return path


def write_log(path: Path) -> Path:
    """A run of two calls, of which one failed, with words before the first; and an answer without a call."""
    calls: list[dict[str, Any]] = [
        {"role": "user", "content": "The capital?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "1", "function": "search"}]},
        {"role": "tool", "content": "Paris", "tool_call_id": "1"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "2", "function": "bash"}]},
        {"role": "tool", "content": "", "tool_call_id": "2", "error": {"type": "timeout", "message": "too long"}},
        {"role": "assistant", "content": "Paris"},
    ]
    return write_inspect(path, [inspect_sample("q0", messages=calls), inspect_sample("q1")])


def counts(tables: Dataset) -> list[tuple[Any, ...]]:
    return tables.answers.sort("item").select(*COUNTS).rows()


def run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    assert not end.value.code


def test_columns_of_a_table_are_compared_where_asked(tmp_path: Path) -> None:
    tables = read_tables(write_table(tmp_path / "runs.csv"))
    report = compare_tables(tables, on=("accuracy", "steps", "failed_calls"))
    assert {c.measure: c.values for c in report.claims} == {
        "accuracy": pytest.approx((0.5, 0.5)), "steps": pytest.approx((0.95, 1.95)),
        "failed_calls": pytest.approx((0.0, 1.0)),
    }  # fmt: skip
    assert any("--on steps" in note for note in tables.notes)
    assert {c.measure for c in compare_tables(tables).claims} == {"accuracy"}


def test_inspects_messages_and_calls_are_counted_by_hand(tmp_path: Path) -> None:
    assert counts(read_tables(write_log(tmp_path / "a.eval"))) == [("q0", 4, 1), ("q1", 1, 0)]
    plain = write_inspect(tmp_path / "plain.eval", [inspect_sample("q0")])
    assert counts(read_tables(plain)) == [("q0", None, None)]


@pytest.mark.parametrize("write", [write_table, write_log])
def test_a_run_and_a_table_of_them_keep_the_counts(write: Any, tmp_path: Path) -> None:
    source = write(tmp_path / ("runs.csv" if write is write_table else "runs.eval"))
    before = read_tables(source)
    run("import", str(source), "-o", str(tmp_path / "run"))
    run("export", str(source), "-o", str(tmp_path / "again.csv"))
    for after in (read_tables(tmp_path / "run"), read_tables(tmp_path / "again.csv")):
        assert counts(after) == counts(before)
        assert after.data_hash == before.data_hash


def test_counts_are_part_of_the_data(tmp_path: Path) -> None:
    tables = read_tables(write_table(tmp_path / "runs.csv"))
    longer = dataclasses.replace(tables, answers=tables.answers.with_columns(pl.col("steps") + 1))
    assert read_tables(tmp_path / "runs.csv").data_hash == tables.data_hash != longer.data_hash
