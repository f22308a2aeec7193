"""An audit into a database: its parts, its files and its plan are where every machine sees them."""

import asyncio
import datetime
import json
import shutil
import time
import uuid
from pathlib import Path

import pytest

from audit.test_stages import GAZETTEER, ITEMS, judges_of, reply, settings_for
from helpers.postgres import PostgresServer
from helpers.server import FakeApi
from helpers.small_base import small_base
from richter import open as open_any
from richter.audit import apply_gate_plan, gate_status, lock_plan, measure_run, new_plan, open_data
from richter.errors import InputError, LedgerLocked, PlanError
from richter.interop import evidence_of
from richter.records import Answer
from richter.store import (
    Attempt,
    Call,
    Ledger,
    Usage,
    find_parts,
    find_runs,
    hold_run,
    keep_file,
    open_ledger,
    run_file,
    run_folder,
    run_part,
    run_place,
)
from richter.store import _postgres as driver
from richter.store import _workers as shared
from richter.tables import read_tables
from richter_audit.llm import parse_budget
from richter_audit.stages import adopt_plan, run_stages

RULE = {"metric": "error_rate", "rule": "below", "limit": 0.5}


@pytest.fixture
def url(postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return postgres.url(f"run-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(new_plan("gate", {"candidate": "fake", "require": [RULE]}))
    return path


def move_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """To another machine: an empty folder."""
    there = tmp_path / f"machine-{uuid.uuid4().hex[:4]}"
    there.mkdir()
    monkeypatch.chdir(there)
    return there


@pytest.mark.slow
def test_every_stage_is_the_same_in_a_folder_and_in_a_database(
    url: str, tmp_path: Path, plan: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_base(tmp_path / "kb")
    folder = tmp_path / run_folder(url)  # of the same name: it is in the document
    lock_plan(plan)
    with FakeApi(reply=reply) as api:
        judged = {"judges": judges_of(api), "judged": 10}
        settings = settings_for(api, base=str(tmp_path / "kb"), search_calls=30, bench="by hand", **judged)
        for place in (folder, url):
            assert adopt_plan(place, plan) is None
            done = run_stages(place, ITEMS, settings, budget=parse_budget("1000calls"))
            assert done.stages == ("ask", "judge", "draw", "search")
        asked = api.requests.total()
        run_stages(url, ITEMS, settings, budget=parse_budget("1000calls"))
        assert api.requests.total() == asked  # all of it was kept
    assert sorted(find_parts(url)) == sorted(find_parts(folder))
    assert len(find_parts(url)) == 2
    assert [run.name for run in find_runs(run_place(postgres.url())) if run.name.startswith(run_place(url).name)] == [
        run_place(url).name
    ]  # parts are no runs of their own
    there = move_on(tmp_path, monkeypatch)
    one, other = (measure_run(place).to_dict() for place in (folder, url))
    for condition in (*one["conditions"], *other["conditions"]):
        del condition["measures"]["latency"]  # each was asked by itself, and a clock says how long it took
    name, command = one["run"]["name"], f"postgresql:///postgres#{run_place(url).name}"
    for part in ("question", "conditions", "claims", "checks", "signature", "sections", "next"):
        said = json.dumps(other[part]).replace(f"'{command}'", name)  # in the commands that are advised
        assert json.loads(said) == one[part], part
    assert "draws" in other["sections"]["calibration"]
    assert len(other["sections"]["search"]) == 1
    assert other["methods"]["exploratory"] is False  # locked before the first answer, as the database saw
    assert (there / run_folder(url) / "scores.csv").read_bytes() == (folder / "scores.csv").read_bytes()
    for k, place in enumerate((folder, url)):
        (tmp_path / f"scratch{k}").mkdir()
        files = evidence_of(place, scratch=tmp_path / f"scratch{k}")
        assert {
            "plan.toml",
            "plan.toml.lock",
            "plan.toml.log",
            "scores.csv",
            "records/draws/answers.jsonl",
        } <= files.keys()


def test_a_run_is_audited_by_one_process_at_a_time(url: str) -> None:
    with FakeApi(reply=reply) as api, hold_run(url, "audit"):
        with pytest.raises(LedgerLocked, match="Another process is at an audit"):
            run_stages(url, ITEMS, settings_for(api))
        assert api.requests.total() == 0
        open_ledger(url, mode="write").close()  # whoever asks may help


def test_an_audit_stays_alone_when_the_server_comes_back(
    url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "HOLD_S", 0.1)
    with hold_run(url, "audit"):
        postgres.stop(at_once=True)
        postgres.start()
        until, refused = time.monotonic() + 60, ""
        while not refused and time.monotonic() < until:  # until it is taken up again
            try:
                with hold_run(url, "audit"):
                    time.sleep(0.01)
            except LedgerLocked as error:
                refused = str(error)
        assert "Another process" in refused
    with hold_run(url, "audit"):
        pass


def test_what_a_killed_process_had_in_flight_counts_in_every_stage(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "LEASE_S", 2.0)
    monkeypatch.setattr(shared, "BEAT_S", 0.2)
    dead = open_ledger(run_part(url, "draws"), mode="write")
    held(dead, 30)
    dead._database.close()
    with FakeApi(reply=reply) as api:
        done = run_stages(url, ITEMS, settings_for(api), budget=parse_budget("60calls"))
        assert done.stopped is not None
        assert api.requests.total() <= 30


def held(ledger: Ledger, calls: int) -> None:
    async def main() -> None:
        room = await ledger.hold(Attempt("one", "key", "m", Usage(calls=calls)))
        assert room.granted

    asyncio.run(main())


def test_files_of_a_run_are_kept_in_its_database(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_file(url, "scores.csv") is None
    keep_file(url, "scores.csv", b"one\n")
    there = move_on(tmp_path, monkeypatch)
    path = run_file(url, "scores.csv")
    assert path == run_folder(url) / "scores.csv"
    assert (there / path).read_bytes() == b"one\n"
    keep_file(url, "scores.csv", b"two\n")
    monkeypatch.chdir(tmp_path / "here")
    assert run_file(url, "scores.csv").read_bytes() == b"two\n"  # not the copy of before


@pytest.mark.parametrize("part", ["draws", "search-" + "x" * 80, "search-" + "x" * 79 + "y"])
def test_a_part_has_a_name_that_fits_and_an_address_of_its_own(part: str) -> None:
    run = run_place("postgresql://me:secret@host/db#" + "r" * 50)
    place = run_part(run, part)
    assert len(place.name) <= 63
    assert place.name.startswith(run.name + "/")
    assert run_place(f"{place.url}#{place.name}") == place
    assert run_folder(place) == run_folder(run) / place.name.partition("/")[2]
    with pytest.raises(InputError, match="cannot be a run's name"):
        run_place("postgresql://host/db#" + "r" * 51)
    with pytest.raises(InputError, match="cannot be a run's name"):
        run_place("postgresql://host/db#run/../other")


# ---- plans -----------------------------------------------------------------------------------------------------------


def small(url: str) -> str:
    """A run of 40 answers, rated by rules."""
    with FakeApi(reply=reply) as api:
        run_stages(url, ITEMS, settings_for(api, conditions=settings_for(api).conditions[:1]), only=["severity"])
    return url


def rate_again(url: str) -> None:
    with open_ledger(url, mode="write") as ledger:
        calls = [
            Call(key="more", model="m", request="{}", answer=Answer(text="x", item="i0", condition="fake", draw=1))
        ]
        ledger.add_calls(calls)


def test_a_plan_is_held_against_the_first_answer_in_a_database(
    url: str, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_plan(plan)
    small(url)
    there = move_on(tmp_path, monkeypatch)
    copy = there / "plan.toml"
    for ending in ("", ".lock", ".log"):
        shutil.copy(f"{plan}{ending}", f"{copy}{ending}")
    report = apply_gate_plan(copy, read_tables(url))
    assert (report.confirmatory, report.uses, report.exit_code) == (True, 1, 0)
    assert run_place(url).password not in "".join(Path(f"{copy}.{e}").read_text() for e in ("lock", "log"))
    assert apply_gate_plan(copy, read_tables(f"fake={url}")).uses == 1  # the same data again
    rate_again(url)
    found = open_any(run_place(url)).gate(copy)  # the place itself, with its password
    assert (found.uses, found.confirmatory) == (2, True)
    late = tmp_path / "late.toml"
    late.write_text(plan.read_text().replace("0.5", "0.25"))  # another plan, made after the answers
    lock_plan(late)
    assert not gate_status(late, read_tables(url)).confirmatory


def test_a_lock_by_a_clock_that_is_wrong_confirms_nothing(
    url: str, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(url)
    late = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=3)
    lock_plan(plan, now=late)  # after the answers, by a clock that is three hours behind
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() - 3 * 3600)
    status = open_data(plan, read_tables(url))
    assert not status.confirmatory
    assert "3.0 h behind the database's" in status.reasons[0]
    for ending in (".log", ".lock", ""):
        keep_file(url, f"plan.toml{ending}", Path(f"{plan}{ending}").read_bytes())
    document = measure_run(url, only=["floors"]).to_dict()
    assert document["methods"]["exploratory"] is True
    assert "3.0 h behind" in document["methods"]["deviations"][0]
    monkeypatch.setattr(time, "time", right)
    with pytest.raises(PlanError, match="no such plan"):
        open_data(tmp_path / "none.toml", read_tables(url))


def test_a_database_that_had_the_lock_before_the_answers_vouches_by_its_own_clock(
    url: str, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_plan(plan)
    assert adopt_plan(url, plan) is None
    small(url)
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() - 3 * 3600)
    assert measure_run(url, only=["floors"]).methods.exploratory is False


def test_the_gazetteer_is_found_beside_the_run(url: str) -> None:
    run_folder(url).mkdir()
    shutil.copyfile(GAZETTEER, run_folder(url) / "facts.gazetteer.json.gz")
    with FakeApi(reply=reply) as api:
        run_stages(url, ITEMS, settings_for(api, gazetteer=None), only=["severity"])
    with open_ledger(url) as ledger:
        assert len(ledger.ratings(kind="rule")) == 80
