"""Runs with steps from lines of JSON: what they become, what is left out, and what a forgotten argument would lose."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import richter
from richter.audit import compare_tables
from richter.audit._went_wrong import count_faults
from richter.cli import main
from richter.report import read_evidence, render_report
from richter.tables import ReadOptions, as_options, read_tables
from richter.tables._tables import RUN_FIGURES

HOSTILE = "<img src=x onerror=alert(1)>\u202e</script><script>alert(2)</script>"


def run(agent: str, task: int, steps: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"task": f"t{task}", "agent": agent, "success": task % 2 == 0, "answer": "709037", "steps": steps, **more}


LOOK = {"tool": "search", "arguments": {"q": "Oslo"}, "result": "709037 people"}
FAIL = {"tool": "bash", "arguments": {"cmd": HOSTILE}, "error": HOSTILE}
DROP = {"tool": "drop_table", "arguments": {"name": "a"}, "result": "done"}
SAY = {"role": "assistant", "text": "709037"}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Two agents, 20 tasks, two runs each: `new` fails a call in its second, `old` drops a table in its first."""
    rows = []
    for task in range(20):
        rows += [run("old", task, [LOOK, DROP, SAY], cost_usd=0.5), run("old", task, [LOOK, SAY], cost_usd=0.5)]
        rows += [run("new", task, [LOOK, SAY], cost_usd=0.2), run("new", task, [LOOK, FAIL, SAY], cost_usd=0.4)]
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def test_lines_become_answers_with_figures_and_steps_by_hand(lines: Path) -> None:
    tables = read_tables(lines, options=ReadOptions(irreversible=("drop_table",)))
    assert tables.conditions == ("old", "new")
    assert tables.metric == "accuracy"
    own = tables.answers.filter(pl.col("item") == "t4").sort("condition", "draw").select(*RUN_FIGURES).rows()
    fault = 1 / 3  # the second of three steps
    assert own == [  # nobody rated a step
        (2, 0, 1.0, 0.0, 0, None),
        (3, 1, pytest.approx(fault), 1.0, 0, None),
        (3, 0, 1.0, 0.0, 1, None),
        (2, 0, 1.0, 0.0, 0, None),
    ]
    assert tables.steps is not None
    assert tables.steps.height == 20 * (3 + 2 + 2 + 3)
    assert tables.answers["money_usd"].sum() == pytest.approx(20 * 1.6)


def test_without_a_declared_tool_nothing_is_irreversible(lines: Path) -> None:
    assert read_tables(lines).answers["irreversible"].null_count() == 80


def test_a_comparison_asks_the_measures_of_runs_and_counts_faults(lines: Path) -> None:
    report = compare_tables(read_tables(lines, options=ReadOptions(irreversible=("drop_table",))))
    values = {c.measure: c.values for c in report.claims}
    assert values["steps"] == pytest.approx((2.5, 2.5))
    assert values["failed_calls"] == pytest.approx((0.0, 0.5))
    assert values["irreversible"] == pytest.approx((0.5, 0.0))
    assert report.went_wrong is not None
    (row,) = report.went_wrong.rules
    assert (row.rule, row.runs, row.faults) == ("failed call", {"old": 0, "new": 20}, {"old": 0, "new": 20})
    assert (row.example.condition, row.example.item, row.example.run, row.example.step) == ("new", "t0", 2, 2)


def test_a_selected_condition_keeps_its_own_steps_and_faults(lines: Path) -> None:
    old = read_tables(lines).select(["old"])
    assert old.steps is not None
    assert old.steps["condition"].unique().to_list() == ["old"]
    found = count_faults(old)
    assert (found.runs, found.rules) == ({"old": 40}, ())
    assert old.first_draws().steps["draw"].max() == 0  # type: ignore[union-attr]


def test_steps_are_part_of_the_data(lines: Path) -> None:
    before = read_tables(lines).data_hash
    lines.write_text(lines.read_text().replace('"drop_table"', '"bash"').replace('"result": "done"', '"error": "no"'))
    assert read_tables(lines).data_hash != before


def test_the_option_travels_into_commands_and_from_python(lines: Path) -> None:
    assert as_options(ReadOptions(irreversible=("a b", "rm"))) == ["--irreversible 'a b'", "--irreversible rm"]
    opened = richter.open(lines, irreversible=["drop_table"])
    assert "irreversible" in {c.measure for c in opened.compare().claims}


def test_names_given_on_the_command_line_reach_the_steps(lines: Path, tmp_path: Path) -> None:
    one = tmp_path / "one.jsonl"
    one.write_text("".join(line + "\n" for line in lines.read_text().splitlines() if '"new"' in line))
    tables = read_tables(f"mine={one}")
    assert tables.steps is not None
    assert tables.steps["condition"].unique().to_list() == ["mine"]
    assert tables.answers["steps"].null_count() == 0


def test_damaged_runs_are_counted_and_end_in_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    good = [run(agent, k, [LOOK, SAY]) for agent in ("old", "new") for k in range(6)]
    odd: list[Any] = [
        {"agent": "old", "steps": []},
        {"task": "t1", "steps": 3},
        run("old", 7, [None, 3, [], {"tool": None}, {"tool": {"x": 1}, "arguments": object.__name__}]),  # type: ignore[list-item]
    ]
    path.write_text("\n".join([*map(json.dumps, [*good, *odd]), "{broken"]) + "\n")
    tables = read_tables(path)
    assert tables.answers.height == 13
    assert sum("not read" in note for note in tables.notes) == 2


def test_a_redacted_page_counts_faults_and_holds_no_text_of_steps(lines: Path) -> None:
    from richter.audit import measure_run

    results = measure_run(lines)
    redacted = render_report(results.to_dict(), results.tables, redact=True)
    assert "went-wrong" in redacted
    assert "data-show-item" not in redacted
    assert (
        read_evidence(results.tables, redact=True).packed
        == read_evidence(dataclasses.replace(results.tables, steps=None, faults=None), redact=True).packed
    )


def test_a_run_and_its_archive_keep_the_steps(lines: Path, tmp_path: Path) -> None:
    """What is imported, and what a reviewer makes of the archive, measures the same as the file."""
    log = read_tables(lines)
    commands = [["import", str(lines), "-o", str(tmp_path / "run")],
                ["export", str(tmp_path / "run"), "--evidence", str(tmp_path / "a.zip")]]  # fmt: skip
    for arguments in commands:
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert not end.value.code
    for kept in (read_tables(tmp_path / "run"), read_tables(tmp_path / "a.zip")):
        assert kept.data_hash == log.data_hash
        key = ["condition", "item", "draw", "place"]
        for own, given in ((kept.steps, log.steps), (kept.faults, log.faults)):
            assert own is not None
            assert given is not None
            assert own.sort(key).equals(given.sort(key))


def test_a_table_with_a_number_of_steps_is_still_a_table(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    rows = [{"item": f"q{k}", "condition": c, "correct": k % 2, "steps": 5} for k in range(30) for c in ("a", "b")]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read_tables(path, confirm=True).steps is None
