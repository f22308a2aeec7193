"""Locks and logs of plans: what is confirmatory, what counts as an attempt, and what an edit does."""

import contextlib
import datetime
import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import richter
from richter.audit import (
    PlanStatus,
    apply_gate_plan,
    check_plan,
    check_receipt,
    gate_status,
    lock_plan,
    measure_run,
    new_plan,
)
from richter.audit import _plan_lock as lock_room
from richter.audit._plan_log import append_line, format_time, read_log
from richter.cli import main
from richter.errors import InputError, PlanError, RichterError
from richter.evidence import Policy
from richter.records import Claim, Verdict
from richter.tables import ReadOptions, read_tables

RULES = [{"metric": "accuracy", "rule": "no_worse", "limit": 0.2}]
DAY = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


def grades(seed: int = 0, n: int = 60) -> pl.DataFrame:
    """Right and wrong answers of two models; only those of `new` depend on the seed."""
    old = [int(k % 3 > 0) for k in range(n)]
    new = [int((k * 7 + seed) % 5 > 0) for k in range(n)]
    rows = {"item": [f"q{k}" for k in range(n)] * 2, "condition": ["old"] * n + ["new"] * n, "correct": old + new}
    return pl.DataFrame(rows)


def write_plan(path: Path, **values: Any) -> Path:
    path.write_text(new_plan("gate", {"candidate": "new", "baseline": "old", "require": RULES} | values))
    return path


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return write_plan(tmp_path / "plan.toml")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    grades().write_csv(path)
    return path


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    return int(stop.value.code or 0)


def gate(plan: Path, *arguments: object) -> dict[str, Any]:
    out = plan.with_name("gate.json")
    out.unlink(missing_ok=True)
    assert run("gate", plan, *arguments, "--json", out) in (0, 3, 4)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def lines(plan: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(f"{plan}.log").read_text().splitlines()]


# ------------------------------------------------------------------ what is written


def test_a_lock_and_each_use_are_a_line_that_holds_the_hash_of_the_line_before(plan: Path, data: Path) -> None:
    status = lock_plan(plan, now=DAY)
    assert (status.state, status.confirmatory, status.uses, status.attempts) == ("locked", True, 0, 0)
    assert gate(plan, data)["confirmatory"] is True
    lock, use = lines(plan)
    assert (lock["what"], lock["plan"], lock["at"]) == ("lock", status.hash, status.locked_at)
    assert lock["versions"] == dict(status.versions)
    assert set(lock["versions"]) >= {"richter", "numpy", "python"}
    tables = read_tables(data)
    assert (use["what"], use["command"], use["before"]) == ("use", "gate", lock["hash"])
    assert (use["data"], use["candidate"]) == (tables.data_hash, tables.select(["new"]).data_hash)
    assert "options" not in use


def test_the_same_data_and_options_are_one_attempt_whatever_the_form(plan: Path, data: Path, tmp_path: Path) -> None:
    lock_plan(plan)
    other = tmp_path / "other.parquet"
    grades().reverse().write_parquet(other)
    for source in (data, data, other):
        found = gate(plan, source)
        assert (found["attempts"], found["uses"]) == (1, 1)
    assert len(lines(plan)) == 2
    baseline = grades().with_columns(
        pl.when(pl.col("condition") == "old").then(1 - pl.col("correct")).otherwise("correct").alias("correct")
    )
    baseline.write_parquet(other)
    found = gate(plan, other)  # another baseline: another set of data, the same candidate
    assert (found["attempts"], found["uses"]) == (1, 2)


def test_tried_0_shares_the_level_among_the_attempts_in_the_log(tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "plan.toml", tried=0)
    lock_plan(plan)
    reports = [apply_gate_plan(plan, read_tables(grades(seed))) for seed in (0, 1, 2)]
    assert [(r.tried, r.attempts) for r in reports] == [(1, 1), (2, 2), (3, 3)]
    again = apply_gate_plan(plan, read_tables(grades(1)))
    assert (again.tried, again.attempts) == (3, 3)
    fixed = write_plan(tmp_path / "fixed.toml", tried=3)
    limits = [report.claims[0].interval for report in (reports[2], apply_gate_plan(fixed, read_tables(grades(2))))]
    assert limits[0] == limits[1]
    options = ReadOptions(grade={"1": 1.0})  # changes nothing here, and differs from the plan
    assert apply_gate_plan(plan, read_tables(grades(2), options=options)).tried == 4


FAILING = {
    "no such file": ["gate", "PLAN", "none.csv"],
    "another plan's condition": ["gate", "OTHER", "DATA"],
    "an unknown option": ["gate", "PLAN", "DATA", "--colour", "red"],
    "no such column": ["gate", "PLAN", "DATA", "--map", "score=none"],
    "output over an input": ["gate", "PLAN", "DATA", "--json", "DATA"],
    "output that cannot be written": ["gate", "PLAN", "DATA", "--md", "none/x.md"],
}


@pytest.mark.parametrize("how", FAILING)
def test_a_command_that_fails_is_not_an_attempt(
    how: str, plan: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = write_plan(tmp_path / "other.toml", candidate="third")
    for path in (plan, other):
        lock_plan(path)
    names = {"PLAN": plan, "OTHER": other, "DATA": data}
    before = [Path(f"{path}.{ending}").read_bytes() for path in (plan, other) for ending in ("log", "lock")]
    assert run(*(names.get(a, a) for a in FAILING[how])) in (1, 2)
    assert before == [Path(f"{path}.{ending}").read_bytes() for path in (plan, other) for ending in ("log", "lock")]


@pytest.mark.parametrize(("limit", "status"), [(0.5, 0), (0.01, 3), (0.2, 4)])
def test_a_gate_that_is_violated_or_undecided_is_an_attempt(
    limit: float, status: int, data: Path, tmp_path: Path
) -> None:
    plan = write_plan(tmp_path / "plan.toml", require=[{"metric": "error_rate", "rule": "below", "limit": limit}])
    lock_plan(plan)
    assert run("gate", plan, data) == status
    assert [line["what"] for line in lines(plan)] == ["lock", "use"]


def test_every_way_to_use_a_plan_is_recorded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = grades().with_columns(
        severity=pl.when(pl.col("correct") == 1).then(0.0).otherwise(2.0), x=pl.col("item").hash() % 997 / 7
    )
    table.write_csv("data.csv")
    plans = {
        "gate": new_plan("gate", {"candidate": "new", "baseline": "old", "require": RULES}),
        "severity": new_plan("severity", {"n_resamples": 200}),
        "tail": new_plan("tail", {"column": "x", "tolerance_mean": 0.1, "tolerance_tvar": 0.2, "n_resamples": 200}),
    }
    ways: dict[str, tuple[str, Callable[[Path], object]]] = {
        "gate": ("gate", lambda p: run("gate", p, "data.csv")),
        "severity": ("severity", lambda p: run("severity", "data.csv", "--plan", p)),
        "severity tail": ("tail", lambda p: run("severity", "tail", "data.csv", "--plan", p)),
        "report": ("gate", lambda p: run("report", "data.csv", "--plan", p, "--json", "r.json", "--only", "floors")),
        "python": ("gate", lambda p: richter.open("data.csv").gate(p)),
    }
    for number, (command, (kind, use)) in enumerate(ways.items()):
        path = tmp_path / f"{number}.toml"
        path.write_text(plans[kind])
        lock_plan(path)
        for _ in range(2):
            use(path)
            assert [line.get("command") for line in lines(path)] == [None, command]
        assert check_plan(path).confirmatory
    for kind, ask in (("severity", "severity"), ("tail", "tail"), ("gate", "measure")):
        path = tmp_path / f"python {kind}.toml"
        path.write_text(plans[kind])
        getattr(richter.open("data.csv"), ask)(plan=path)
        assert [line["what"] for line in lines(path)] == ["use"]


def test_uses_at_the_same_time_are_all_kept(plan: Path) -> None:
    lock_plan(plan)

    def use(k: int) -> None:
        append_line(plan, "use", format_time(), plan="p", data=f"d{k}", candidate="c")

    threads = [threading.Thread(target=use, args=(k,)) for k in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = read_log(plan)
    assert log.fault == ""
    assert {line.data for line in log.uses} == {f"d{k}" for k in range(20)}


def test_a_line_that_a_killed_command_left_is_cut_off(plan: Path, data: Path) -> None:
    lock_plan(plan)
    whole = Path(f"{plan}.log").read_bytes()
    Path(f"{plan}.log").write_bytes(whole + b'{"at": "2026-')
    assert check_plan(plan).confirmatory
    assert gate(plan, data)["confirmatory"] is True
    assert [line["what"] for line in lines(plan)] == ["lock", "use"]


def test_a_folder_that_cannot_be_written_is_said_and_is_no_error(
    plan: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_plan(plan)
    before = Path(f"{plan}.log").read_bytes()
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(lock_room, "append_line", _refuse)
    report = apply_gate_plan(plan, read_tables(data))
    assert report.confirmatory
    assert "cannot be recorded" in report.vouched
    assert Path(f"{plan}.log").read_bytes() == before


def _refuse(*_: object, **__: object) -> str:
    raise lock_room.StorageError("The folder is read-only.", remedy="None.")


# ------------------------------------------------------------------ what is confirmatory


def test_a_lock_before_the_first_use_is_all_that_a_table_can_show(plan: Path, data: Path) -> None:
    lock_plan(plan)
    status = gate_status(plan, read_tables(data))
    assert (status.confirmatory, status.vouched) == (True, lock_room.VOUCHED)
    assert gate(plan, data)["vouched"] == lock_room.VOUCHED


def test_a_use_before_the_lock_makes_it_exploratory(plan: Path, data: Path) -> None:
    assert gate(plan, data)["reasons"] == ["the plan is not locked"]
    lock_plan(plan)
    found = gate(plan, data)
    assert found["confirmatory"] is False
    assert "before this lock" in found["reasons"][0]


def test_a_changed_plan_is_listed_and_may_be_locked_anew_before_its_first_use(plan: Path, data: Path) -> None:
    first = lock_plan(plan, now=DAY)
    write_plan(plan, level=0.9)
    status = check_plan(plan)
    assert (status.state, status.confirmatory) == ("changed", False)
    assert status.deviations == ("level: locked 0.95, now 0.9",)
    assert run("verify", plan) == 3
    second = lock_plan(plan)
    assert second.earlier == (first.locked_at,)
    assert gate(plan, data)["confirmatory"] is True
    write_plan(plan, level=0.8)
    assert gate(plan, data)["deviations"] == ["level: locked 0.9, now 0.8"]
    assert gate(plan, data)["confirmatory"] is False
    assert lock_plan(plan).confirmatory is False  # there are uses before it
    assert gate(plan, data)["attempts"] == 3


def test_a_plan_that_was_copied_with_its_lock_and_log_stays_confirmatory(
    plan: Path, data: Path, tmp_path: Path
) -> None:
    lock_plan(plan)
    gate(plan, data)
    there = tmp_path / "there"
    there.mkdir()
    for path in (plan, Path(f"{plan}.lock"), Path(f"{plan}.log")):
        shutil.copy(path, there / path.name)
    assert gate_status(there / "plan.toml", read_tables(data)).confirmatory
    (there / "plan.toml.log").unlink()
    status = gate_status(there / "plan.toml", read_tables(data))
    assert (status.state, status.confirmatory) == ("locked", False)


def test_windows_ends_of_lines_are_no_edit(plan: Path, data: Path) -> None:
    lock_plan(plan)
    log = Path(f"{plan}.log")
    log.write_bytes(log.read_bytes().replace(b"\n", b"\r\n"))
    assert gate(plan, data)["confirmatory"] is True
    assert read_log(plan).fault == ""


def test_a_run_must_be_answered_after_the_lock(plan: Path, data: Path, tmp_path: Path) -> None:
    answered = tmp_path / "run"
    assert run("import", data, "-o", answered) == 0
    lock_plan(plan)
    found = gate(plan, answered)
    assert found["confirmatory"] is False
    assert "after the first answer came" in found["reasons"][0]
    early = write_plan(tmp_path / "early.toml")
    lock_plan(early, now=DAY)
    found = gate(early, answered)
    assert (found["confirmatory"], found["vouched"]) == (True, lock_room.VOUCHED_BY_RUN)


def test_the_run_of_the_baseline_may_be_older_than_the_lock(plan: Path, tmp_path: Path) -> None:
    for name in ("old", "new"):
        if name == "new":
            lock_plan(plan)
        grades().filter(pl.col("condition") == name).with_columns(condition=pl.lit("model")).write_csv(
            tmp_path / f"{name}.csv"
        )
        assert run("import", tmp_path / f"{name}.csv", "-o", tmp_path / name) == 0
    assert gate(plan, f"old={tmp_path}/old", f"new={tmp_path}/new")["confirmatory"] is True
    assert gate(plan, f"new={tmp_path}/old", f"old={tmp_path}/new")["confirmatory"] is False


@pytest.mark.parametrize("now", [DAY, None])
def test_an_archive_is_as_confirmatory_as_its_run(now: datetime.datetime | None, data: Path, tmp_path: Path) -> None:
    place, archive = tmp_path / "run", tmp_path / "evidence.zip"
    assert run("import", data, "-o", place) == 0
    lock_plan(write_plan(place / "plan.toml"), now=now)
    assert run("export", place, "--evidence", archive) == 0
    for source in (place, archive):
        found = measure_run(source, only=["floors"]).methods
        assert found.exploratory is (now is None)
        assert found.plan is not None
        assert (found.plan.vouched == lock_room.VOUCHED_BY_RUN) is (now is not None)
    assert run("verify", archive) == 0


def test_claims_carry_the_plan_only_where_they_are_confirmatory() -> None:
    claims = [Claim(measure="b", conditions=("a", "b"), verdict=Verdict.UNDECIDED, sentence="")]
    status = PlanStatus(kind="severity", hash="f00", state="locked", confirmatory=True)
    assert [c.plan for c in status.mark_claims(claims)] == ["f00"]
    assert [c.plan for c in status.add_reasons(["late"]).mark_claims(claims)] == [None]
    assert status.add_reasons([]) is status


# ------------------------------------------------------------------ options against the plan


@pytest.mark.parametrize("settings", ['[grade]\n0 = "right"\n', '[read."*.csv"]\ngrade = {0 = "right"}\n'])
def test_settings_of_the_folder_do_not_change_a_planned_gate(
    settings: str, plan: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """`[grade] 0 = right`, by itself or for a file's name, turned a violated gate into one that was met."""
    monkeypatch.chdir(tmp_path)
    lock_plan(plan)
    alone = gate(plan, data)
    Path("richter.toml").write_text(settings)
    capsys.readouterr()
    found = gate(plan, data)
    assert (found["confirmatory"], found["deviations"], found["claims"]) == (True, [], alone["claims"])
    assert "richter.toml is not used" in capsys.readouterr().err


def test_a_reading_confirmed_for_one_file_is_a_deviation(plan: Path, data: Path) -> None:
    lock_plan(plan)
    options = ReadOptions(saved={data.name: ReadOptions(grade={"0": 1.0})})
    report = apply_gate_plan(plan, read_tables(data, options=options))
    assert (report.confirmatory, len(report.deviations)) == (False, 1)


def test_reading_that_the_plan_fixes_comes_before_settings_and_typed_options_are_deviations(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = write_plan(tmp_path / "plan.toml", read={"map": {"score": "correct"}})
    lock_plan(plan)
    alone = gate(plan, data)
    Path("richter.toml").write_text('[grade]\n0 = "right"\n[map]\nscore = "none"\n')
    found = gate(plan, data)
    assert (found["confirmatory"], found["deviations"], found["claims"]) == (True, [], alone["claims"])
    typed = gate(plan, data, "--grade", "0=right")
    assert (typed["confirmatory"], len(typed["deviations"])) == (False, 1)
    assert richter.open(data).gate(plan).confirmatory
    other = ReadOptions(map={"score": "correct"}, grade={"0": 1.0})
    assert not richter.open(data, options=other).gate(plan).confirmatory


def test_a_run_is_read_as_its_plan_says_and_other_options_are_deviations(data: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    assert run("import", data, "-o", place) == 0
    for own in ({}, {"read": {"pass_at": 0.5}}):
        plan = write_plan(place / "plan.toml", **own)
        for ending in ("lock", "log"):
            Path(f"{plan}.{ending}").unlink(missing_ok=True)
        lock_plan(plan, now=DAY)
        assert not measure_run(place, only=["floors"]).methods.exploratory
        found = measure_run(place, only=["floors"], options=ReadOptions(pass_at=0.75)).methods
        assert found.exploratory
        assert any("pass_at" in text for text in found.deviations)


def test_options_of_a_gate_that_differ_are_another_attempt(plan: Path, data: Path) -> None:
    lock_plan(plan)
    tables = read_tables(data)
    assert apply_gate_plan(plan, tables).confirmatory
    report = apply_gate_plan(plan, tables, policy=Policy(trust_ids=True))
    assert (report.confirmatory, report.attempts, report.uses) == (False, 2, 1)
    assert report.deviations == ("--trust-ids is not in the plan",)


@pytest.mark.parametrize("command", [["severity", "DATA", "--plan", "PLAN"], ["report", "DATA", "--plan", "PLAN"]])
def test_every_command_lists_options_of_reading_and_a_severity_plan_fixes_its_level(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    grades().with_columns(severity=2.0 * (1 - pl.col("correct"))).drop("correct").write_csv("data.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(new_plan("severity", {"n_resamples": 200}))
    lock_plan(plan)
    asked = [{"DATA": "data.csv", "PLAN": str(plan)}.get(part, part) for part in command]

    def standing(*more: str) -> tuple[bool, int]:
        Path("out.json").unlink(missing_ok=True)
        assert run(*asked, *more, "--json", "out.json") in (0, 4)
        found = json.loads(Path("out.json").read_text())
        if command[0] == "report":
            return not found["methods"]["exploratory"], len(found["methods"]["deviations"])
        return found["plan"]["confirmatory"], len(found["plan"]["deviations"])

    assert standing() == (True, 0)
    assert standing("--map", "severity=severity")[0] is False
    Path("richter.toml").write_text("level = 0.8\n")
    assert standing() == (True, 0)
    Path("richter.toml").write_text('[map]\nseverity = "none"\n')
    assert standing() == (True, 0)


def test_options_of_severity_and_report_against_a_plan_are_deviations(tmp_path: Path) -> None:
    table = grades().with_columns(severity=2.0 * (1 - pl.col("correct"))).drop("correct")
    plan = tmp_path / "plan.toml"
    plan.write_text(new_plan("severity", {"n_resamples": 200}))
    lock_plan(plan)
    opened = richter.open(table)
    for options in ({"level": 0.8}, {"primary": "mean_severity"}, {"require": ["severity>=3 below 10 per million"]}):
        try:
            report = opened.severity(plan=plan, **options)
        except RichterError:
            continue  # and then it is no attempt
        assert report.plan is not None
        assert not report.plan.confirmatory
        assert len(report.plan.deviations) == 1
    for options in ({"level": 0.8}, {"seed": 3}, {"conditions": ["old", "new"]}):
        found = opened.measure(plan=plan, only=["floors"], **options)
        assert found.methods.exploratory
        assert any(next(iter(options)) in text for text in found.methods.deviations)
    assert not opened.measure(plan=plan, only=["floors"]).methods.exploratory


# ------------------------------------------------------------------ edits


def _edit_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    row = json.loads(path.read_text())
    change(row)
    path.write_text(json.dumps(row, indent=2, sort_keys=True) + "\n")


def lock_edit(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    return lambda plan: _edit_json(Path(f"{plan}.lock"), change)


def line_edit(number: int, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(plan: Path) -> None:
        path = Path(f"{plan}.log")
        rows = path.read_text().splitlines()
        row = json.loads(rows[number])
        change(row)
        rows[number] = json.dumps(row, sort_keys=True)
        path.write_text("\n".join(rows) + "\n")

    return edit


def log_edit(change: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def edit(plan: Path) -> None:
        path = Path(f"{plan}.log")
        path.write_text("".join(change(path.read_text().splitlines(keepends=True))))

    return edit


def both(*edits: Callable[[Path], None]) -> Callable[[Path], None]:
    def edit(plan: Path) -> None:
        for one in edits:
            one(plan)

    return edit


EARLY = "2020-01-01T00:00:00.000000+00:00"
LATE = "2999-01-01T00:00:00.000000+00:00"
EDITS: dict[str, Callable[[Path], object]] = {
    "log deleted": lambda plan: Path(f"{plan}.log").unlink(),
    "log emptied": log_edit(lambda rows: []),
    "lock deleted": lambda plan: Path(f"{plan}.lock").unlink(),
    "lock and log deleted": lambda plan: [Path(f"{plan}.{e}").unlink() for e in ("lock", "log")],
    "log a folder": lambda plan: (Path(f"{plan}.log").unlink(), Path(f"{plan}.log").mkdir()),
    "lock a folder": lambda plan: (Path(f"{plan}.lock").unlink(), Path(f"{plan}.lock").mkdir()),
    "back-dated, and the log's hash taken out": lock_edit(lambda r: (r.pop("log"), r.update(locked_at=EARLY))),
    "back-dated in the lock": lock_edit(lambda r: r.update(locked_at=EARLY)),
    "back-dated in the log": line_edit(0, lambda r: r.update(at=EARLY)),
    "back-dated in both": both(
        lock_edit(lambda r: r.update(locked_at=EARLY)), line_edit(0, lambda r: r.update(at=EARLY))
    ),
    "dated later": lock_edit(lambda r: r.update(locked_at=LATE)),
    "a time that is none": lock_edit(lambda r: r.update(locked_at="yesterday")),
    "a time without a zone": lock_edit(lambda r: r.update(locked_at="2026-01-01T00:00:00.000000")),
    "a number for a time": lock_edit(lambda r: r.update(locked_at=20200101)),
    "no time": lock_edit(lambda r: r.pop("locked_at")),
    "versions changed in the lock": lock_edit(lambda r: r["versions"].update(numpy="9.9")),
    "versions changed in the log": line_edit(0, lambda r: r["versions"].update(numpy="9.9")),
    "versions a list": lock_edit(lambda r: r.update(versions=[])),
    "a version that is a number": lock_edit(lambda r: r["versions"].update(numpy=2)),
    "no versions": lock_edit(lambda r: r.pop("versions")),
    "values changed": lock_edit(lambda r: r["values"].update(level=0.6)),
    "values a text": lock_edit(lambda r: r.update(values="none")),
    "hash changed": lock_edit(lambda r: r.update(hash="0" * 64)),
    "hash taken out": lock_edit(lambda r: r.pop("hash")),
    "hash a number": lock_edit(lambda r: r.update(hash=3)),
    "kind changed": lock_edit(lambda r: r.update(kind="tail")),
    "the log's hash a list": lock_edit(lambda r: r.update(log=[])),
    "the last line's hash emptied": lock_edit(lambda r: r.update(head="")),
    "earlier a text": lock_edit(lambda r: r.update(earlier="never")),
    "an earlier lock added": lock_edit(lambda r: r.update(earlier=[{"hash": "0", "locked_at": EARLY}])),
    "lock a list": lambda plan: Path(f"{plan}.lock").write_text("[]"),
    "lock no JSON": lambda plan: Path(f"{plan}.lock").write_text("{"),
    "lock nested deeply": lambda plan: Path(f"{plan}.lock").write_text("[" * 100_000),
    "lock no text": lambda plan: Path(f"{plan}.lock").write_bytes(b"\xff\xfe\x00"),
    "lines swapped": log_edit(lambda rows: [rows[0], rows[2], rows[1]]),
    "the lock moved to the end": log_edit(lambda rows: [*rows[1:], rows[0]]),
    "the lock's line taken out": log_edit(lambda rows: rows[1:]),
    "a use taken out": log_edit(lambda rows: [rows[0], rows[2]]),
    "the last use cut off": log_edit(lambda rows: rows[:2]),
    "all uses cut off": log_edit(lambda rows: rows[:1]),
    "uses cut off, and the lock says so": both(
        log_edit(lambda rows: rows[:1]),
        lambda plan: _edit_json(Path(f"{plan}.lock"), lambda r: r.update(head=r["log"])),
    ),
    "cut within the last line": log_edit(lambda rows: [*rows[:2], rows[2][:40]]),
    "cut within the lock's line": log_edit(lambda rows: [rows[0][:40]]),
    "a line twice": log_edit(lambda rows: [*rows, rows[2]]),
    "an empty line": log_edit(lambda rows: [rows[0], "\n", *rows[1:]]),
    "a line of another kind": log_edit(lambda rows: [*rows, '{"what": "peek"}\n']),
    "a line that is no JSON": log_edit(lambda rows: [*rows, "peek\n"]),
    "a space added": log_edit(lambda rows: [rows[0], rows[1].replace('": "', '":  "', 1), rows[2]]),
    "another plan's hash in the log": line_edit(0, lambda r: r.update(plan="0" * 64)),
    "another data's hash in a use": line_edit(1, lambda r: r.update(data="0" * 64)),
    "a use's options changed": line_edit(1, lambda r: r.update(options=["none"])),
    "a field added to a line": line_edit(1, lambda r: r.update(note="x")),
    "log no text": lambda plan: Path(f"{plan}.log").write_bytes(b"\xff\xfe\x00\n"),
    "the plan changed": lambda plan: plan.write_text(plan.read_text().replace("level = 0.95", "level = 0.6")),
}


@pytest.mark.parametrize("how", EDITS)
def test_no_edit_of_lock_or_log_is_confirmatory_or_a_traceback(
    how: str, plan: Path, data: Path, tmp_path: Path
) -> None:
    assert len(EDITS) >= 40
    lock_plan(plan)
    for seed in (0, 1):
        apply_gate_plan(plan, read_tables(grades(seed)))
    assert len(lines(plan)) == 3
    EDITS[how](plan)
    out = tmp_path / "out.json"
    assert run("gate", plan, data, "--json", out) in (0, 1, 3, 4)
    if out.exists():
        assert json.loads(out.read_text())["confirmatory"] is False
    for ask in (lambda: check_plan(plan), lambda: gate_status(plan, read_tables(data))):
        with contextlib.suppress(PlanError):
            assert not ask().confirmatory
    assert run("verify", plan) in (0, 1, 3)
    assert run("verify", f"{plan}.receipt", plan) in (0, 1, 3)
    assert run("plan", "lock", plan) in (0, 1)


def test_a_lock_is_not_another_plans(plan: Path, data: Path, tmp_path: Path) -> None:
    """Locked early, any plan would vouch for all that were written later."""
    early = write_plan(tmp_path / "early.toml", level=0.9)
    lock_plan(early, now=DAY)
    lock_plan(plan)
    for ending in ("log", "lock"):
        kept = Path(f"{plan}.{ending}").read_bytes()
        shutil.copy(f"{early}.{ending}", f"{plan}.{ending}")
        assert not check_plan(plan).confirmatory
        Path(f"{plan}.{ending}").write_bytes(kept)
    assert check_plan(plan).confirmatory


# ------------------------------------------------------------------ any sequence

STEPS = ("lock", "use", "other data", "with options", "fail", "edit plan", "restore plan", "cut log", "drop log")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(STEPS), max_size=9))
def test_confirmatory_exactly_as_defined_after_any_sequence(
    steps: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A second account of the same rules, kept by hand beside the files: numbered lines, the lock's and the last."""
    plan = write_plan(tmp_path_factory.mktemp("plan") / "plan.toml")
    tables = {"use": read_tables(grades(0)), "other data": read_tables(grades(1))}
    tables["with options"] = read_tables(grades(0), options=ReadOptions(grade={"1": 1.0}))
    log = dict[int, tuple[object, ...]]()
    level, locked_level, lock, head, number = 0.95, 0.0, -1, -1, 0
    for number, step in enumerate(steps):
        is_cut = head >= 0 and head not in log
        if step == "lock":
            if is_cut:
                with pytest.raises(PlanError):
                    lock_plan(plan)
            else:
                lock_plan(plan)
                if lock not in log or locked_level != level:
                    log[number], lock, head, locked_level = ("lock",), number, number, level
        elif step in tables:
            report = apply_gate_plan(plan, tables[step])
            is_first = lock in log and all(log[k] == ("lock",) for k in log if k < lock)
            assert report.confirmatory is (is_first and not is_cut and locked_level == level and step != "with options")
            use = ("use", level, step, locked_level if lock >= 0 and locked_level != level else None)
            assert report.attempts == len({*log.values(), use} - {("lock",)})
            if not is_cut and use not in log.values():
                log[number], head = use, number if lock >= 0 else head
        elif step == "fail":
            with pytest.raises(InputError):
                apply_gate_plan(plan, read_tables(grades(0).drop("correct")))
        elif step in ("edit plan", "restore plan"):
            level = 0.9 if step == "edit plan" else 0.95
            write_plan(plan, level=level)
        elif step == "drop log":
            Path(f"{plan}.log").unlink(missing_ok=True)
            log = {}
        elif log:
            rows = Path(f"{plan}.log").read_text().splitlines(keepends=True)
            Path(f"{plan}.log").write_text("".join(rows[:-1]))
            del log[max(log)]
        assert [line.what for line in read_log(plan).lines] == [line[0] for line in log.values()]


# ------------------------------------------------------------------ receipts


def test_a_receipt_is_held_against_plan_lock_and_log(plan: Path, data: Path, tmp_path: Path) -> None:
    lock_plan(plan)
    kept = tmp_path / "kept.receipt"
    shutil.copy(f"{plan}.receipt", kept)
    gate(plan, data)
    assert run("verify", kept, plan) == 0
    text = kept.read_text()
    kept.write_text(text.replace(check_plan(plan).hash[:8], "0" * 8))
    with pytest.raises(PlanError, match="was edited"):
        check_receipt(kept, plan)
    kept.write_text(text)
    log = Path(f"{plan}.log").read_text()
    Path(f"{plan}.log").unlink()
    assert len(check_receipt(kept, plan).faults) == 1
    Path(f"{plan}.log").write_text(log)
    write_plan(plan, level=0.9)
    assert run("verify", kept, plan) == 3
    lock_plan(plan)
    assert len(check_receipt(kept, plan).faults) == 2


@pytest.mark.parametrize(
    "change", [{"plan": "../../x.toml"}, {"plan": 7}, {"log": 3}, {"hash": None, "log": []}], ids=str
)
def test_a_receipt_that_others_made_fits_nothing(plan: Path, tmp_path: Path, change: dict[str, object]) -> None:
    lock_plan(plan)
    receipt = json.loads(Path(f"{plan}.receipt").read_text()) | change
    del receipt["seal"]
    (tmp_path / "r.receipt").write_text(json.dumps(receipt | {"seal": lock_room._seal(receipt)}))
    with contextlib.suppress(PlanError):
        assert check_receipt(tmp_path / "r.receipt").faults


# ------------------------------------------------------------------ nothing is written by reading

READING = {
    "compare": ["compare", "data.csv", "--json", "-"],
    "no command": ["data.csv"],
    "report": ["report", "data.csv", "--json", "-"],
    "gate": ["gate", "data.csv", "--margin", "5pt"],
    "severity": ["severity", "severities.csv", "--resamples", "200"],
    "watch": ["watch", "days"],
    "calibration": ["calibration", "data.csv"],
}


@pytest.mark.parametrize("how", READING)
def test_reading_writes_nothing_and_says_the_same_again(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    for folder in (home, here, here / "days"):
        folder.mkdir()
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.chdir(here)
    grades().with_columns(confidence=0.5 + (pl.col("item").hash() % 5) / 10).write_csv("data.csv")
    grades().with_columns(severity=2.0 * (1 - pl.col("correct"))).drop("correct").write_csv("severities.csv")
    for day in range(1, 6):
        grades(day).filter(pl.col("condition") == "new").write_csv(f"days/2026-01-0{day}.csv")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    found = [(run(*READING[how]), capsys.readouterr().out) for _ in range(2)]
    assert found[0][0] in (0, 3, 4)
    assert found[0] == found[1]
    assert list(home.iterdir()) == []
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_a_run_keeps_nothing_of_who_read_it(data: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    assert run("import", data, "-o", place) == 0
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for command in (["compare", place], ["view", place, "--list"], ["report", place, "--json", tmp_path / "r.json"]):
        assert run(*command) == 0
    after = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert {path.name for path in after} - {path.name for path in before} <= {"ledger.sqlite-shm", "ledger.sqlite-wal"}
