"""Folders that go away, disks that fill up, links that lead out of a run."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.raw_server import RawApi, http, reply
from helpers.simulated import simulated_run
from llm.test_http import ask_prompts
from richter.errors import InputError, StorageError
from richter.report._run_list import run_row
from richter.store import find_parts, open_ledger, run_file
from richter.store._sqlite import RESERVE_NAME, SqliteDatabase

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_asking_stops_within_one_commit_where_the_folder_goes(tmp_path: Path, how: str) -> None:
    """358 further answers were paid for into a file that was gone."""
    run, asked = tmp_path / "run", 0

    def respond(prompt: str, _: dict) -> bytes:
        nonlocal asked
        asked += 1
        if asked == 40 and how == "deleted":
            shutil.rmtree(run)
        elif asked == 40:
            run.rename(tmp_path / "elsewhere")
            if how == "replaced":
                shutil.copytree(tmp_path / "elsewhere", run)
        return http(reply("yes"))

    with RawApi(respond) as api, pytest.raises(StorageError, match="deleted or replaced"):
        ask_prompts(run, api.model, [f"q{k}" for k in range(400)], concurrency=8)
    assert asked < 40 + 3 * 8  # what was on its way, and no more


def test_what_is_on_its_way_when_the_disk_fills_up_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The room that was reserved is given up, and the commit is made again."""
    free_reserve = SqliteDatabase._free_reserve

    def give_up(database: SqliteDatabase) -> bool:
        with contextlib.suppress(sqlite3.ProgrammingError):  # closed already
            database._db.execute("PRAGMA max_page_count = 1000000")
        return free_reserve(database)

    monkeypatch.setattr(SqliteDatabase, "_free_reserve", give_up)

    def fill_up(prompt: str, _: dict) -> bytes:
        return http(reply("y" * 200_000))

    with RawApi(fill_up) as api:
        with open_ledger(tmp_path, mode="write"):
            pass
        connect = SqliteDatabase._prepare

        def small(database: SqliteDatabase) -> None:
            connect(database)
            database._db.execute("PRAGMA max_page_count = 300")  # 1.2 MB

        monkeypatch.setattr(SqliteDatabase, "_prepare", small)
        _, answers = ask_prompts(tmp_path, api.model, [f"q{k}" for k in range(16)], concurrency=16)
    assert len([a for a in answers.values() if len(a.text) == 200_000]) == 16
    assert set(api.requests.values()) == {1}
    assert not (tmp_path / RESERVE_NAME).exists()


def test_nothing_is_asked_for_that_the_largest_file_could_not_hold(tmp_path: Path) -> None:
    """Replies of 4 MB in files of at most 120 MB: of 59 that were paid for 5 were lost."""
    with RawApi(lambda prompt, _: http(reply("y" * 4_000_000))) as api:
        script = (
            "import resource, sys; from pathlib import Path; from llm.test_http import ask_prompts\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (120 * 2**20, 120 * 2**20))\n"
            "ask_prompts(Path(sys.argv[1]), sys.argv[2], [f'q{k}' for k in range(60)], concurrency=8)"
        )
        command = [sys.executable, "-c", script, str(tmp_path / "run"), api.model]
        ended = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=300)
    assert "may grow by" in ended.stderr
    with open_ledger(tmp_path / "run") as ledger:
        assert sum(len(a.text) == 4_000_000 for a in ledger.answers()) == sum(api.requests.values()) > 4


@pytest.mark.parametrize("name", ["scores.csv", "plan.toml", "draws.jsonl"])
def test_a_link_that_leads_out_of_a_run_is_refused(tmp_path: Path, name: str) -> None:
    secret, run = tmp_path / "secret", tmp_path / "run"
    secret.write_text("item,condition,score\nprivate,a,1\n")
    simulated_run(run, conditions=2, items=60, judged=10, drawn=5, draws=2)
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(secret)
    with pytest.raises(InputError, match="leads out of the run"):
        run_file(run, name)


def test_a_file_of_a_run_with_a_second_name_is_refused(tmp_path: Path) -> None:
    secret, run = tmp_path / "secret", tmp_path / "run"
    secret.write_text("item,condition,score\nprivate,a,1\n")
    simulated_run(run, conditions=2, items=60, judged=10)
    (run / "scores.csv").unlink(missing_ok=True)
    (run / "scores.csv").hardlink_to(secret)
    with pytest.raises(InputError, match="second name"):
        run_file(run, "scores.csv")
    (tmp_path / "twice").mkdir()
    (tmp_path / "twice" / "ledger.sqlite").hardlink_to(run / "ledger.sqlite")
    with pytest.raises(InputError, match="second name"):
        open_ledger(tmp_path / "twice", mode="write")


def test_a_link_inside_a_run_is_followed(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("x\n")
    (tmp_path / "scores.csv").symlink_to("other.csv")
    assert run_file(tmp_path, "scores.csv") == tmp_path / "scores.csv"


def test_a_ledger_or_a_part_that_lies_elsewhere_is_refused(tmp_path: Path) -> None:
    other, run, linked = tmp_path / "other", tmp_path / "run", tmp_path / "linked"
    for place in (other, run):
        with open_ledger(place, mode="write") as ledger:
            ledger.set_note("about", {"why": "a test"})
    linked.mkdir()
    (linked / "ledger.sqlite").symlink_to(other / "ledger.sqlite")
    with pytest.raises(InputError, match="leads out"):
        open_ledger(linked)
    (run / "draws").symlink_to(other)
    with pytest.raises(InputError, match="leads out"):
        find_parts(run)
    with pytest.raises(InputError, match="leads out"):
        open_ledger(run / "draws")
    (tmp_path / "latest").symlink_to(other)  # a user's own name for a run
    open_ledger(tmp_path / "latest").close()


def test_a_reader_that_stops_half_way_may_let_go_after_the_ledger_is_closed(tmp_path: Path) -> None:
    run = simulated_run(tmp_path / "run")
    with open_ledger(run) as ledger:
        stream = ledger._database.stream("SELECT * FROM answers")
        next(stream)
    stream.close()


@pytest.mark.parametrize(
    "summary", ["[" * 4000 + "]" * 4000, '{"rates": {"a": 1e999}}', '{"rates": 3, "answer": [1]}', "{", "null"]
)
def test_a_strangers_page_hides_no_run(tmp_path: Path, summary: str) -> None:
    run = tmp_path / "run"
    with open_ledger(run, mode="write") as ledger:
        ledger.set_note("about", {})
    (run / "report.html").write_text(f'<meta name="richter-summary" content="{summary.replace(chr(34), "&quot;")}">')
    json.dumps(run_row(0, str(run)), allow_nan=False)
    (run / "report.html").unlink()
    (run / "report.html").symlink_to("/etc/passwd")
    assert "leads out" in run_row(0, str(run))["error"]
