"""A plan that is locked after a look confirms nothing, however one looked; one that is locked before it does."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import richter
from richter.audit import PlanStatus, check_plan, check_receipt, gate_status, lock_plan, new_plan, write_sheet
from richter.audit import _plan as plan_room
from richter.cli import main
from richter.errors import PlanError
from richter.records import Claim, Verdict
from richter.report._side_by_side import read_run_tables
from richter.tables import read_tables

RULES = [{"metric": "accuracy", "rule": "no_worse", "limit": 0.2}]


def frame(
    seed: int = 1, n: int = 120, *, names: tuple[str, ...] = ("old", "new", "older"), p: float = 0.7
) -> pl.DataFrame:
    """Right and wrong answers of models that find the same items hard."""
    rng = np.random.default_rng(seed)
    hard = np.random.default_rng(5).normal(size=n)
    parts = []
    for name in names:
        right = (rng.normal(size=n) + hard < 1.4 * (p - 0.2)).astype(int)
        parts.append(
            pl.DataFrame(
                {
                    "item": [f"{k:03d}" for k in range(n)],
                    "condition": name,
                    "correct": right,
                    "confidence": rng.uniform(0.3, 1, n).round(3),
                }
            )
        )
    return pl.concat(parts)


class Desk:
    """A folder with data and commands, and the plan that is locked at some point."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.table = folder, frame()
        self.data = self.write("data.csv", self.table)
        self.plan = folder / "plan.toml"
        self.plan.write_text(new_plan("gate", {"candidate": "new", "baseline": "old", "require": RULES}))

    def write(self, name: str, table: pl.DataFrame) -> Path:
        path = self.folder / name
        if path.suffix == ".parquet":
            table.write_parquet(path)
        elif path.suffix == ".jsonl":
            table.write_ndjson(path)
        elif path.suffix == ".json":
            table.write_json(path)
        else:
            table.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
        return path

    def do(self, *arguments: object) -> int:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        return int(stop.value.code or 0)

    def run(self, name: str = "run") -> Path:
        """The data as a run; importing shows nothing."""
        assert self.do("import", self.data, "-o", self.folder / name) == 0
        return self.folder / name

    def gate(self, *sources: object) -> dict[str, object]:
        out = self.folder / "gate.json"
        out.unlink(missing_ok=True)
        assert self.do("gate", self.plan, *(sources or [self.data]), "--json", out) in (0, 3, 4)
        found: dict[str, object] = json.loads(out.read_text())
        return found


def only(table: pl.DataFrame, *names: str) -> pl.DataFrame:
    return table.filter(pl.col("condition").is_in(names))


def named(table: pl.DataFrame, **names: str) -> pl.DataFrame:
    return table.with_columns(pl.col("condition").replace(names))


def wide(table: pl.DataFrame) -> pl.DataFrame:
    return table.select("item", "condition", "correct").pivot(on="condition", index="item", values="correct")


def compare(form: Callable[[pl.DataFrame], pl.DataFrame], name: str = "peek.csv", *more: str) -> Callable[[Desk], None]:
    """A look at another form of the data."""
    return lambda desk: _fine(desk.do("compare", desk.write(name, form(desk.table)), *more))


def command(*arguments: str) -> Callable[[Desk], None]:
    """A look by another command, DATA and OUT standing for paths."""

    def look(desk: Desk) -> None:
        places = {"DATA": str(desk.data), "OUT": str(desk.folder / "out"), "PLAN": str(desk.plan)}
        _fine(
            desk.do(
                *(places.get(a, a.replace("DATA", places["DATA"]).replace("OUT", places["OUT"])) for a in arguments)
            )
        )

    return look


def on_run(*arguments: str) -> Callable[[Desk], None]:
    def look(desk: Desk) -> None:
        run = desk.run()
        _fine(desk.do(*(str(run) if a == "RUN" else a.replace("OUT", str(desk.folder / "out")) for a in arguments)))

    return look


def _fine(code: int) -> None:
    assert code in (0, 3, 4)


def _exported(desk: Desk) -> None:
    desk.do("export", desk.run(), "-o", desk.folder / "again.csv")


def _other_plan(desk: Desk) -> None:
    other = desk.folder / "other.toml"
    other.write_text(desk.plan.read_text().replace("0.2", "0.1"))
    lock_plan(other)
    _fine(desk.do("gate", other, desk.data))


def _moved(desk: Desk) -> None:
    compare(lambda t: t, "elsewhere.csv")(desk)
    (desk.folder / "elsewhere.csv").unlink()


def _in_two(desk: Desk) -> None:
    files = [f"{name}={desk.write(f'{name}.csv', only(desk.table, name))}" for name in ("old", "new")]
    _fine(desk.do("compare", *files))


def _one_by_one(desk: Desk) -> None:
    for name in ("old", "new"):
        _fine(desk.do(desk.write(f"{name}.csv", only(desk.table, name))))


def _first_lock_then_another(desk: Desk) -> None:
    lock_plan(desk.plan)
    _fine(desk.do("gate", desk.plan, desk.data))
    desk.plan.write_text(desk.plan.read_text().replace("0.2", "0.1"))


PEEKS: dict[str, Callable[[Desk], object]] = {
    # other commands
    "compare": command("compare", "DATA", "old", "new"),
    "no command": command("DATA"),
    "compare in JSON": command("compare", "DATA", "--json", "OUT"),
    "a candidate against a third": command("compare", "DATA", "older", "new"),
    "floors": command("floors", "data", "DATA"),
    "calibration": command("calibration", "DATA"),
    "report": command("report", "DATA", "--json", "OUT.json"),
    "report of the candidate alone": command("report", "DATA", "new", "--json", "OUT.json"),
    "size from a pilot": command("size", "gap", "DATA", "old", "new", "--margin", "2pt"),
    "gate, not locked": command("gate", "PLAN", "DATA"),
    "gate by another plan": _other_plan,
    "gate, then another plan in its place": _first_lock_then_another,
    "export of a table": command("export", "DATA", "-o", "OUT.parquet"),
    "python, compare": lambda desk: richter.open(desk.data).compare(),
    "python, records": lambda desk: richter.open(desk.data).table("rows"),
    "python, a frame": lambda desk: richter.open(desk.table).compare("old", "new"),
    "python, findings": lambda desk: richter.open(desk.data).findings,
    # runs
    "run, report": on_run("report", "RUN", "--json", "OUT.json"),
    "run, compare": on_run("compare", "RUN", "old", "new"),
    "run, its answers": on_run("run", "show", "RUN"),
    "run, exported": _exported,
    "run, in the app": lambda desk: read_run_tables(desk.run()),
    # order, part, copy, name
    "copy": compare(lambda t: t),
    "copy, removed": _moved,
    "other order": compare(lambda t: t.sample(fraction=1, shuffle=True, seed=3)),
    "sorted": compare(lambda t: t.sort("correct", "item")),
    "half of the items": compare(lambda t: t.filter(pl.col("item").cast(pl.Int64) % 2 == 0)),
    "the first forty items": compare(lambda t: t.filter(pl.col("item") < "040")),
    "a draw of items": compare(lambda t: t.filter(pl.col("item").is_in([f"{k:03d}" for k in range(0, 120, 4)]))),
    "other columns": compare(lambda t: t.with_columns(note=pl.lit("x")).drop("confidence")),
    "other conditions' names": compare(lambda t: named(t, old="a", new="b", older="c")),
    "the candidate under the baseline's name": compare(lambda t: named(only(t, "new", "older"), new="old", older="z")),
    "items' names as numbers": compare(lambda t: t.with_columns(pl.col("item").cast(pl.Int64))),
    "items' names as a sheet has them": compare(
        lambda t: t.with_columns(pl.col("item").cast(pl.Float64).cast(pl.String))
    ),
    "two files": _in_two,
    "one file at a time": _one_by_one,
    # export and import, other format
    "Parquet": compare(lambda t: t, "peek.parquet"),
    "JSON lines": compare(lambda t: t, "peek.jsonl"),
    "tabs": compare(lambda t: t, "peek.tsv"),
    "wide": compare(wide, "wide.csv", "--wide", "old,new,older"),
    "true and false": compare(lambda t: t.with_columns(pl.col("correct").cast(pl.Boolean))),
    "other names of columns": compare(
        lambda t: t.rename({"item": "qid", "correct": "ok"}), "p.csv", "--map", "item=qid", "--map", "score=ok"
    ),
    "one grade changed": compare(
        lambda t: t.with_row_index().with_columns(
            pl.when(pl.col("index") == 150).then(1 - pl.col("correct")).otherwise("correct").alias("correct")
        )
    ),
}


@pytest.mark.parametrize("how", PEEKS)
def test_a_peek_before_the_lock_makes_it_exploratory(how: str, tmp_path: Path) -> None:
    assert len(PEEKS) >= 40
    desk = Desk(tmp_path)
    PEEKS[how](desk)
    lock_plan(desk.plan)
    found = desk.gate()
    assert found["confirmatory"] is False
    assert "shown before the plan was locked" in str(found["reasons"])


def test_what_is_tested_may_be_the_other_form(tmp_path: Path) -> None:
    """A look at the whole, then a test of a part, of a run, or of another format."""
    desk = Desk(tmp_path)
    run = desk.run()
    _fine(desk.do("compare", desk.data))
    lock_plan(desk.plan)
    part = desk.table.filter(pl.col("item").cast(pl.Int64) % 3 == 0)
    for form in (desk.write("part.csv", part), desk.write("p.parquet", desk.table.reverse()), run):
        assert desk.gate(form)["confirmatory"] is False


def _baseline(desk: Desk) -> None:
    _fine(desk.do("compare", desk.data, "old", "older"))  # the candidate is in the file, and is not shown


def _other(seed: int, **options: object) -> Callable[[Desk], object]:
    return lambda desk: _fine(desk.do("compare", desk.write("before.csv", frame(seed, **options))))  # type: ignore[arg-type]


def _sheet(desk: Desk) -> None:
    desk.write("data.csv", desk.table.with_columns(answer=pl.format("Answer {} of {}", "item", "condition")))
    write_sheet(desk.run(), desk.folder / "sheet.csv", n=20)


def _locked(then: Callable[[Desk], object]) -> Callable[[Desk], object]:
    def honest(desk: Desk) -> None:
        lock_plan(desk.plan)
        then(desk)

    return honest


def _all_right(desk: Desk) -> None:
    """Two conditions that are right everywhere look alike; under another name that says nothing."""
    desk.data = desk.write("data.csv", desk.table.with_columns(pl.lit(1).alias("correct")))
    _fine(desk.do(desk.write("before.csv", only(desk.table, "older").with_columns(pl.lit(1).alias("correct")))))


HONEST: dict[str, Callable[[Desk], object]] = {
    "nothing": lambda desk: None,
    "check": command("check", "DATA"),
    "check of other forms": lambda desk: _fine(desk.do("check", desk.write("x.jsonl", desk.table))),
    "import": Desk.run,
    "a run's counts": on_run("run", "show", "RUN", "--head", "0"),
    "a list of runs": lambda desk: (desk.run(), desk.do("run", "list", desk.folder)),
    "a blind sheet": _sheet,
    "the baseline beside another": _baseline,
    "the baseline alone": lambda desk: _fine(desk.do(desk.write("old.csv", only(desk.table, "old")))),
    "the baseline's floors": command("floors", "data", "DATA", "old"),
    "the baseline in Python": lambda desk: richter.open(only(desk.table, "old", "older")).compare(),
    "an earlier candidate of the same name": _other(2),
    "other items": _other(3, n=90),
    "a better model on the same items": _other(4, names=("x", "y"), p=0.9),
    "a size without data": command("size", "gap", "--margin", "2pt", "--discordance", "0.12"),
    "the plan itself": command("plan", "check", "PLAN"),
    "a look after the lock": _locked(command("compare", "DATA")),
    "all looks after the lock": _locked(lambda desk: (_one_by_one(desk), _in_two(desk), _exported(desk))),
    "another plan after the lock": _locked(_other_plan),
    "locked twice, unchanged": _locked(lambda desk: (_fine(desk.do("compare", desk.data)), lock_plan(desk.plan))),
    "right everywhere": _all_right,
}


@pytest.mark.parametrize("how", HONEST)
def test_an_honest_way_stays_confirmatory(how: str, tmp_path: Path) -> None:
    assert len(HONEST) >= 20
    desk = Desk(tmp_path)
    HONEST[how](desk)
    lock_plan(desk.plan)
    found = desk.gate()
    assert found["reasons"] == []
    assert found["confirmatory"] is True
    assert str(found["vouched"]).startswith("locked before the first look on this machine")


# ------------------------------------------------------------------ what a log cannot know, or was made to forget


def test_without_a_log_nothing_is_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path)
    lock_plan(desk.plan)
    monkeypatch.setenv("RICHTER_LOOKS", "off")
    assert "switched off" in str(desk.gate()["reasons"])
    desk.plan.write_text(desk.plan.read_text().replace("0.2", "0.1"))
    lock_plan(desk.plan)
    monkeypatch.delenv("RICHTER_LOOKS")
    assert "no log of looks was kept when the plan was locked" in str(desk.gate()["reasons"])


def test_a_state_folder_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RICHTER_STATE", str(tmp_path / "file" / "below"))  # as a home that is read-only
    _fine(desk.do("compare", desk.data))
    lock_plan(desk.plan)
    assert "cannot be kept" in str(desk.gate()["reasons"])


def test_another_machine_is_said_and_its_looks_at_a_run_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path)
    run = desk.run()
    lock_plan(desk.plan)
    monkeypatch.setenv("RICHTER_STATE", str(tmp_path / "there"))
    status = gate_status(desk.plan, read_tables(desk.data))
    assert status.confirmatory
    assert "locked on another machine" in status.vouched
    _fine(desk.do("compare", run))  # a look there ...
    monkeypatch.setenv("RICHTER_STATE", str(tmp_path / "here"))
    desk.plan.write_text(desk.plan.read_text().replace("0.2", "0.1"))
    lock_plan(desk.plan)  # ... and a lock here
    assert not gate_status(desk.plan, read_tables(run)).confirmatory


def test_a_log_that_was_cut_deleted_or_edited_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    monkeypatch.setenv("RICHTER_STATE", str(state))
    desk = Desk(tmp_path)
    _fine(desk.do("compare", desk.data))
    lock_plan(desk.plan)
    log = state / "looks.jsonl"
    whole = log.read_text()
    lines = whole.splitlines(keepends=True)
    log.write_text("".join(lines[1:]))  # the look is taken out
    assert "edited at line 1" in str(desk.gate()["reasons"])
    log.write_text(lines[0])  # the lock is cut off
    assert "no longer holds this lock" in str(desk.gate()["reasons"])
    log.unlink()
    assert "no longer holds this lock" in str(desk.gate()["reasons"])
    assert check_receipt(f"{desk.plan}.receipt").faults == (
        "the log of looks no longer holds the lock: it was deleted, cut or edited",
    )
    shutil.rmtree(state)  # with its key, which makes it another machine
    assert "another machine" in str(desk.gate()["vouched"])


def test_a_clock_that_goes_back_changes_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path)
    monkeypatch.setattr("richter.tables._looks._now", lambda: "2030-01-01T00:00:00.000000+00:00")
    _fine(desk.do("compare", desk.data))
    monkeypatch.undo()
    monkeypatch.setenv("RICHTER_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("richter.tables._looks._now", lambda: "2030-01-01T00:00:00.000000+00:00")
    _fine(desk.do("compare", desk.data))
    monkeypatch.setattr("richter.tables._looks._now", lambda: "2020-01-01T00:00:00.000000+00:00")
    lock_plan(desk.plan)  # "before" the look, by the clock
    assert desk.gate()["confirmatory"] is False


def test_a_receipt_is_held_against_plan_lock_and_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk(tmp_path)
    lock_plan(desk.plan)
    kept = tmp_path / "kept.receipt"
    shutil.copy(f"{desk.plan}.receipt", kept)
    assert desk.do("plan", "check", kept, desk.plan) == 0
    assert "is the plan of the receipt" in capsys.readouterr().out
    text = kept.read_text()
    kept.write_text(text.replace(check_plan(desk.plan).hash[:8], "0" * 8))
    with pytest.raises(PlanError, match="was edited"):
        check_receipt(kept, desk.plan)
    kept.write_text(text)
    desk.plan.write_text(desk.plan.read_text().replace("0.2", "0.1"))
    assert desk.do("plan", "check", kept, desk.plan) == 3
    lock_plan(desk.plan)
    assert len(check_receipt(kept, desk.plan).faults) == 2


def test_a_claim_of_severity_is_exploratory_by_what_it_is_about(tmp_path: Path) -> None:
    """Two of three conditions were seen: their pair and their own rates are exploratory, all else is not."""
    rng = np.random.default_rng(3)
    rows = frame(names=("a", "b", "c")).drop("correct", "confidence")
    rows = rows.with_columns(severity=pl.Series(rng.choice([0.0, 0.0, 0.5, 1.0, 2.0, 3.0], len(rows))))
    path, plan = tmp_path / "s.csv", tmp_path / "plan.toml"
    rows.write_csv(path)
    seen = tmp_path / "seen.csv"
    rows.filter(pl.col("condition") != "c").sample(fraction=1, shuffle=True, seed=1).write_csv(seen)
    richter.open(seen).severity()
    plan.write_text(new_plan("severity", {"require": ["severity>=3 below 100 per million"]}))
    lock_plan(plan)
    report = richter.open(path).severity(plan=plan)
    found = {claim.conditions: claim.exploratory for claim in report.claims}
    assert {names for names, exploratory in found.items() if exploratory} == {("a", "b"), ("a",), ("b",)}
    assert {("a", "c"), ("b", "c"), ("c",)} <= set(found)
    assert report.plan is not None
    assert report.plan.seen == ("a", "b")
    assert not report.plan.confirmatory
    plan.write_text(new_plan("severity", {"control": "a", "margin": 0.1}))
    lock_plan(plan)  # all were seen by now, "c" since the first lock
    assert all(claim.exploratory for claim in richter.open(path).severity(plan=plan).claims)


def test_with_a_control_the_other_of_a_pair_decides_by_hand() -> None:
    status = PlanStatus(kind="severity", hash="f00", state="locked", barred=False, seen=("a",))
    claims = [
        Claim(measure="b", conditions=names, verdict=Verdict.UNDECIDED, sentence="")
        for names in (("a", "c"), ("b", "a"))
    ]
    assert [c.plan for c in status.marked(claims)] == ["f00", "f00"]
    assert [c.plan for c in status.marked(claims, control="a")] == ["f00", "f00"]  # the control may be known
    assert [c.plan for c in status.marked(claims, control="c")] == [None, "f00"]
    barred = PlanStatus(kind="severity", hash="f00", state="locked")
    assert [c.plan for c in barred.marked(claims)] == [None, None]


# ------------------------------------------------------------------ families across looks


def test_ways_that_were_tried_are_counted_and_change_nothing_unless_asked(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    out = tmp_path / "compare.json"

    def tried(*options: str) -> tuple[int, int, list[object]]:
        out.unlink(missing_ok=True)
        _fine(desk.do("compare", desk.data, "old", "new", *options, "--json", out))
        found = json.loads(out.read_text())
        return found["attempts"], found["tried"], [c["interval"] for c in found["claims"]]

    first = tried()
    assert first[:2] == (1, 1)
    assert tried() == first  # the same again is no other way
    assert tried("--margin", "2pt")[:2] == (2, 1)
    assert tried("--on", "ece")[:2] == (3, 1)
    desk.data = desk.write("copy.parquet", desk.table.reverse())
    last = tried("--seed", "3")
    assert last[:2] == (4, 1)
    assert tried("--seed", "3", "--tried", "auto")[:2] == (4, 4)
    assert tried("--tried", "auto")[2] == tried("--tried", "4")[2] != first[2]
    _fine(desk.do("compare", desk.data, "old", "older", "--margin", "1pt"))  # another pair
    assert tried()[0] == 4


def test_plan_after_plan_is_counted_and_a_plan_may_allow_for_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for limit in ("0.2", "0.19", "0.18"):
        desk.plan.write_text(
            new_plan("gate", {"candidate": "new", "baseline": "old", "require": [RULES[0] | {"limit": float(limit)}]})
        )
        lock_plan(desk.plan)
        found = desk.gate()
    assert (found["attempts"], found["tried"]) == (3, 1)
    values = {"candidate": "new", "baseline": "old", "require": RULES, "tried": 0}
    desk.plan.write_text(new_plan("gate", values))
    assert (desk.gate()["attempts"], desk.gate()["tried"]) == (4, 4)


def test_a_lock_that_points_at_another_plans_line_is_found_out(tmp_path: Path) -> None:
    """Locked early, any plan would have vouched for all that were written after the data were seen."""
    desk = Desk(tmp_path)
    early = tmp_path / "early.toml"
    shutil.copy(desk.plan, early)
    lock_plan(early)
    _fine(desk.do("compare", desk.data))
    desk.plan.write_text(desk.plan.read_text().replace("0.2", "0.1"))
    lock_plan(desk.plan)
    assert "shown before the plan was locked" in str(desk.gate()["reasons"])
    path = Path(f"{desk.plan}.lock")
    lock, other = (json.loads(Path(f"{p}.lock").read_text()) for p in (desk.plan, early))
    path.write_text(json.dumps(lock | {k: other[k] for k in ("log", "locked_at")}))
    assert "no longer holds this lock" in str(desk.gate()["reasons"])
    receipt = json.loads(Path(f"{desk.plan}.receipt").read_text()) | {k: other[k] for k in ("log", "locked_at")}
    del receipt["seal"]
    Path(f"{desk.plan}.receipt").write_text(json.dumps(receipt | {"seal": plan_room._seal(receipt)}))
    assert check_receipt(f"{desk.plan}.receipt").faults  # with a seal that fits


@pytest.mark.parametrize(
    "change", [{"plan": "../../x.toml"}, {"plan": 7}, {"log": 3}, {"hash": None, "log": []}], ids=str
)
def test_a_receipt_that_others_made_is_refused_in_words(tmp_path: Path, change: dict[str, object]) -> None:
    desk = Desk(tmp_path)
    lock_plan(desk.plan)
    receipt = json.loads(Path(f"{desk.plan}.receipt").read_text()) | change
    del receipt["seal"]
    (tmp_path / "r.receipt").write_text(json.dumps(receipt | {"seal": plan_room._seal(receipt)}))
    with pytest.raises(PlanError):
        check_receipt(tmp_path / "r.receipt")
