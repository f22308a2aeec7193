"""Locks of plans: what is confirmatory, and that a plan which does not match its lock never passes a gate."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import richter
from helpers.locks import lock_at
from richter.audit import PlanStatus, apply_gate_plan, check_plan, lock_plan, measure_run, new_plan, read_plan, run_gate
from richter.audit import _plan_lock as lock_room
from richter.cli import main
from richter.errors import PlanError, RichterError
from richter.evidence import Policy
from richter.records import Claim, Verdict
from richter.tables import ReadOptions, read_tables

RULES = [{"metric": "accuracy", "rule": "no_worse", "limit": 0.2}]
LONG_AGO = "2026-01-02T00:00:00.000000+00:00"


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


# ------------------------------------------------------------------ a plan that does not match its lock


def loose(points: int) -> list[dict[str, Any]]:
    return [{"metric": "accuracy", "rule": "no_worse", "limit": points / 100}]


def by_command(plan: Path, data: Path) -> int:
    return run("gate", plan, data)


def by_command_with_pass_options(plan: Path, data: Path) -> int:
    return run("gate", plan, data, "--accept-judge", "--trust-ids", "--trust-reading")


def in_python(plan: Path, data: Path) -> int:
    return int(richter.gate(data, plan=plan).exit_code)


def by_plan_file(plan: Path, data: Path) -> int:
    return apply_gate_plan(plan, read_tables(data)).exit_code


def by_read_plan(plan: Path, data: Path) -> int:
    return run_gate(read_plan(plan), read_tables(data)).exit_code


@pytest.mark.parametrize("on_undecided", ["fail", "warn"])
@pytest.mark.parametrize("way", [by_command, by_command_with_pass_options, in_python, by_plan_file, by_read_plan])
def test_a_plan_that_does_not_match_its_lock_never_passes_a_gate(
    way: Callable[[Path, Path], int], on_undecided: str, plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A limit of 5 points, raised to 45 after the lock: new is worse by about 20, and was told that it can merge."""
    data = tmp_path / "worse.csv"
    worse = pl.when(pl.col("condition") == "new").then(pl.col("item").str.slice(1).cast(pl.Int64) % 2 == 0)
    grades(n=400).with_columns(correct=worse.otherwise(pl.col("correct") == 1).cast(pl.Int64)).write_csv(data)
    write_plan(plan, require=loose(5), on_undecided=on_undecided)
    lock_plan(plan)
    assert way(plan, data) == 3
    write_plan(plan, require=loose(45), on_undecided=on_undecided)
    capsys.readouterr()
    assert way(plan, data) == 4
    found = apply_gate_plan(plan, read_tables(data))
    assert found.claims[0].verdict is Verdict.VERIFIED  # by the data alone it would pass
    assert f"restore it, or lock it again (richter plan lock {plan})" in found.sentence
    if way is by_command:
        assert "lock it again" in " ".join(capsys.readouterr().out.split())
    locked = Path(f"{plan}.lock").read_bytes()
    lock_plan(plan)
    assert way(plan, data) == 0
    Path(f"{plan}.lock").write_bytes(locked)
    write_plan(plan, require=loose(5), on_undecided=on_undecided)
    assert way(plan, data) == 3
    Path(f"{plan}.lock").unlink()
    write_plan(plan, require=loose(45), on_undecided=on_undecided)
    assert way(plan, data) == 0  # never locked: exploratory


EDITS: dict[str, dict[str, Any]] = {
    "hash": {"hash": "0" * 64}, "no hash": {"hash": None}, "time": {"locked_at": "yesterday"},
    "no zone": {"locked_at": "2026-01-02T00:00:00"}, "time as a number": {"locked_at": 3},
    "versions": {"versions": 3}, "a later year": {"locked_at": "9999-12-31T23:59:59+00:00"},
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_lock_confirms_nothing(edit: str, plan: Path, data: Path) -> None:
    lock_plan(plan)
    lock = Path(f"{plan}.lock")
    lock.write_text(json.dumps(json.loads(lock.read_text()) | EDITS[edit]))
    if edit == "a later year":
        assert "still to come" in gate(plan, data)["reasons"][0]
        return
    assert run("gate", plan, data) == (4 if edit == "hash" else 1)
    if edit != "hash":
        with pytest.raises(PlanError, match="is damaged"):
            check_plan(plan)


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b"7", b"\xff", b"{}"])
def test_what_is_no_lock_is_refused_in_words(content: bytes, plan: Path, data: Path) -> None:
    Path(f"{plan}.lock").write_bytes(content)
    assert run("gate", plan, data) == 1


# ------------------------------------------------------------------ what is confirmatory


def test_a_lock_holds_hash_time_and_versions_and_stays_as_it_is(plan: Path, data: Path) -> None:
    status = lock_plan(plan)
    before = Path(f"{plan}.lock").read_bytes()
    row = json.loads(before)
    assert sorted(row) == ["hash", "kind", "locked_at", "versions"]
    assert (row["hash"], row["locked_at"], status.state) == (read_plan(plan).hash, status.locked_at, "locked")
    assert lock_plan(plan) == status
    assert Path(f"{plan}.lock").read_bytes() == before
    found = gate(plan, data)
    assert (found["confirmatory"], found["vouched"]) == (True, lock_room.VOUCHED)
    assert sorted(p.name for p in plan.parent.iterdir()) == ["data.csv", "gate.json", "plan.toml", "plan.toml.lock"]


def test_a_plan_without_a_lock_gates_as_exploratory(plan: Path, data: Path) -> None:
    found = gate(plan, data)
    assert (found["confirmatory"], found["reasons"], found["exit_code"]) == (False, ["the plan is not locked"], 0)
    assert gate(plan, data, "--require-locked")["exit_code"] == 4


def test_a_changed_plan_is_told_and_may_be_locked_anew(
    plan: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock_plan(plan)
    assert run("verify", plan) == 0
    write_plan(plan, level=0.9)
    assert (check_plan(plan).state, check_plan(plan).confirmatory) == ("changed", False)
    capsys.readouterr()
    assert run("verify", plan) == 3
    assert "was changed after it was locked" in capsys.readouterr().out
    assert lock_plan(plan).confirmatory
    assert run("verify", plan) == 0


def test_a_run_must_be_answered_after_the_lock(plan: Path, data: Path, tmp_path: Path) -> None:
    answered = tmp_path / "run"
    assert run("import", data, "-o", answered) == 0
    lock_plan(plan)
    found = gate(plan, answered)
    assert found["confirmatory"] is False
    assert "after the first answer came" in found["reasons"][0]
    lock_at(plan, LONG_AGO)
    found = gate(plan, answered)
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
    assert (found["confirmatory"], found["reasons"], found["claims"]) == (True, [], alone["claims"])
    assert "richter.toml is not used" in capsys.readouterr().err


def test_a_reading_confirmed_for_one_file_makes_a_planned_gate_exploratory(plan: Path, data: Path) -> None:
    lock_plan(plan)
    options = ReadOptions(saved={data.name: ReadOptions(grade={"0": 1.0})})
    report = apply_gate_plan(plan, read_tables(data, options=options))
    assert (report.confirmatory, len(report.reasons)) == (False, 1)


def test_reading_that_the_plan_fixes_comes_before_settings_and_typed_options_make_it_exploratory(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = write_plan(tmp_path / "plan.toml", read={"map": {"score": "correct"}})
    lock_plan(plan)
    alone = gate(plan, data)
    Path("richter.toml").write_text('[grade]\n0 = "right"\n[map]\nscore = "none"\n')
    found = gate(plan, data)
    assert (found["confirmatory"], found["claims"]) == (True, alone["claims"])
    typed = gate(plan, data, "--grade", "0=right")
    assert (typed["confirmatory"], len(typed["reasons"])) == (False, 1)
    assert richter.open(data).gate(plan).confirmatory
    other = ReadOptions(map={"score": "correct"}, grade={"0": 1.0})
    assert not richter.open(data, options=other).gate(plan).confirmatory


def test_a_run_is_read_as_its_plan_says_and_other_options_make_it_exploratory(data: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    assert run("import", data, "-o", place) == 0
    for own in ({}, {"read": {"pass_at": 0.5}}):
        plan = write_plan(place / "plan.toml", **own)
        lock_at(plan, LONG_AGO)
        assert not measure_run(place, only=["floors"]).methods.exploratory
        found = measure_run(place, only=["floors"], options=ReadOptions(pass_at=0.75)).methods
        assert found.exploratory
        assert found.plan is not None
        assert "pass_at" in found.plan.vouched


def test_an_option_beside_a_locked_gate_makes_it_exploratory(plan: Path, data: Path) -> None:
    lock_plan(plan)
    tables = read_tables(data)
    assert apply_gate_plan(plan, tables).confirmatory
    report = apply_gate_plan(plan, tables, policy=Policy(trust_ids=True))
    assert report.reasons == ("options differ from the plan (--trust-ids is not in the plan)",)


@pytest.mark.parametrize("command", [["severity", "DATA", "--plan", "PLAN"], ["report", "DATA", "--plan", "PLAN"]])
def test_options_of_reading_count_in_every_command_and_a_severity_plan_fixes_its_level(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    grades().with_columns(severity=2.0 * (1 - pl.col("correct"))).drop("correct").write_csv("data.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(new_plan("severity", {"n_resamples": 200}))
    lock_plan(plan)
    asked = [{"DATA": "data.csv", "PLAN": str(plan)}.get(part, part) for part in command]

    def is_confirmatory(*more: str) -> bool:
        Path("out.json").unlink(missing_ok=True)
        assert run(*asked, *more, "--json", "out.json") in (0, 4)
        found = json.loads(Path("out.json").read_text())
        return not found["methods"]["exploratory"] if command[0] == "report" else bool(found["plan"]["confirmatory"])

    assert is_confirmatory()
    assert not is_confirmatory("--map", "severity=severity")
    Path("richter.toml").write_text("level = 0.8\n")
    assert is_confirmatory()
    Path("richter.toml").write_text('[map]\nseverity = "none"\n')
    assert is_confirmatory()


def test_options_of_severity_and_report_against_a_plan_make_it_exploratory(tmp_path: Path) -> None:
    table = grades().with_columns(severity=2.0 * (1 - pl.col("correct"))).drop("correct")
    plan = tmp_path / "plan.toml"
    plan.write_text(new_plan("severity", {"n_resamples": 200}))
    lock_plan(plan)
    opened = richter.open(table)
    for options in ({"level": 0.8}, {"primary": "mean_severity"}, {"require": ["severity>=3 below 10 per million"]}):
        try:
            report = opened.severity(plan=plan, **options)
        except RichterError:
            continue
        assert report.plan is not None
        assert not report.plan.confirmatory
        assert len(report.plan.reasons) == 1
    for options in ({"level": 0.8}, {"seed": 3}, {"conditions": ["old", "new"]}):
        found = opened.measure(plan=plan, only=["floors"], **options)
        assert found.methods.exploratory
        assert found.methods.plan is not None
        assert next(iter(options)) in found.methods.plan.vouched


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
