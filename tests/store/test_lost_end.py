"""The end of a ledger: whether its last records are there is known, and every reader says where they may not be."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.damage import damage, everything, fill, write_seeds
from richter.audit import measure_run
from richter.cli import main
from richter.errors import LedgerCorrupt, LedgerError, RichterError, StorageError
from richter.records import Answer
from richter.store import LEDGER_NAME, Call, open_ledger
from richter.tables import read_tables

GRADES = [f"q{k},{name},{int(k % 5 > 0 or name == 'new')}" for k in range(60) for name in ("old", "new")]


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_seeds(tmp_path_factory.mktemp("seeds"))


def lost_end(run: Path) -> str:
    with open_ledger(run) as ledger:
        return ledger.describe_lost_end()


def change(run: Path, *statements: str) -> None:
    with sqlite3.connect(run / LEDGER_NAME) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def test_a_run_that_was_closed_and_one_that_was_killed_have_their_end(seeds: list[Path], tmp_path: Path) -> None:
    assert [lost_end(seed) for seed in seeds] == ["", ""]
    run = tmp_path / "run"
    with open_ledger(run, mode="write") as ledger:
        assert ledger.describe_lost_end() == ""
        fill(ledger, 8)
        again = Call(key="k", model="m", request="{}", answer=Answer(text="t", item="q1", condition="old"))
        ledger.add_calls([again, again])  # the answers that are there stay, and are counted once
        ledger.set_note("n", {})
        assert ledger.describe_lost_end() == ""
    assert lost_end(run) == ""


def forget_head(run: Path) -> None:
    (run / "ledger.head").unlink()


def spoil_head(run: Path) -> None:
    (run / "ledger.head").write_bytes(b"\xff\x00")


def cut_wal(run: Path) -> None:
    wal = run / f"{LEDGER_NAME}-wal"
    wal.write_bytes(wal.read_bytes()[: -2 * 4120])  # the last frames: SQLite takes what is before for the whole


def delete_answers(run: Path) -> None:
    change(run, "DELETE FROM answers WHERE item = 'q9'")


def add_by_hand(run: Path) -> None:
    change(run, "INSERT INTO failures SELECT * FROM failures")


@pytest.mark.parametrize(
    ("lose", "said"),
    [
        (forget_head, "may lack its last records"),
        (spoil_head, "may lack its last records"),
        (cut_wal, "lacks its last records"),
        (delete_answers, "is not as it was written"),
        (add_by_hand, "is not as it was written"),
    ],
)
def test_a_lost_end_is_told_and_stays_so_whatever_is_written_later(
    lose: Callable[[Path], None], said: str, seeds: list[Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(seeds[1], run)
    lose(run)
    assert said in lost_end(run)
    for _ in range(30):
        with open_ledger(run, mode="write") as ledger:
            ledger.set_note("more", {"x": 1})
    assert lost_end(run)


def test_an_emptied_file_beside_the_ledger_is_named(seeds: list[Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(seeds[1], run)
    (run / f"{LEDGER_NAME}-wal").write_bytes(b"")
    with contextlib.suppress(LedgerError):  # its tables were in that file
        assert lost_end(run)


def said_by(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return int(stop.value.code or 0), " ".join(capsys.readouterr().out.split())


def test_every_reader_of_a_run_says_that_its_end_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("grades.csv").write_text("item,condition,correct\n" + "\n".join(GRADES))
    assert said_by(capsys, "import", "grades.csv", "-o", "run1")[0] == 0
    assert said_by(capsys, "verify", "run1") == (0, "run1 holds every record that was committed to it.")
    forget_head(Path("run1"))
    lost = "run run1 may lack its last records"
    assert any(lost in note for note in read_tables("run1").notes)
    for words in (
        ["compare", "run1"], ["gate", "run1", "old", "new", "--margin", "5pt"], ["report", "run1", "-o", "page.html"],
        ["view", "run1", "--list"], ["export", "run1", "-o", "answers.csv"], ["verify", "run1"],
    ):  # fmt: skip
        code, out = said_by(capsys, *words)
        assert lost in out, words
        assert code == (4 if words[0] == "verify" else 0)
    assert said_by(capsys, "report", "run1", "-o", "page.html", "--md", "report.md", "--json", "results.json")[0] == 0
    first = Path("report.md").read_text().split("###")[0]
    assert f"**The {lost}" in first.replace("\\", "")
    page = Path("page.html").read_text()
    assert 0 < page.index(lost) < page.index('<section id="evidence"')
    assert lost in json.loads(Path("results.json").read_text())["run"]["lost"]
    named = measure_run("a=run1", conditions=["a: old", "a: new"])
    assert lost in named.run.lost


def test_the_lost_end_of_a_part_is_the_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (tmp_path / "run", tmp_path / "run" / "draws"):
        with open_ledger(folder, mode="write") as ledger:
            fill(ledger, 8)
    forget_head(tmp_path / "run" / "draws")
    code, out = said_by(capsys, "verify", tmp_path / "run")
    assert (code, "run draws may lack its last records" in out) == (4, True)
    assert "run draws may lack" in measure_run(tmp_path / "run").run.lost


def test_spoilt_ledgers_are_read_or_refused_in_words(seeds: list[Path], tmp_path: Path) -> None:
    for k in range(24):
        damage(seeds[k % 2], tmp_path / str(k), random.Random(k))
        with contextlib.suppress(RichterError):
            everything(tmp_path / str(k))


def test_a_damaged_file_is_not_read(seeds: list[Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(seeds[0], run)
    data = bytearray((run / LEDGER_NAME).read_bytes())
    data[3 * 8192 : 5 * 8192] = bytes(2 * 8192)
    (run / LEDGER_NAME).write_bytes(data)
    with pytest.raises(LedgerCorrupt):
        everything(run)


def as_nobody(work: object) -> str:
    """What `work` gives to a user who may not write here; only root can become one."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            said = str(work())  # type: ignore[operator]
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(here, said.encode())
        os._exit(0)
    os.close(here)
    with os.fdopen(there) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
def test_a_reader_without_write_permission_sees_all_that_is_committed(request: pytest.FixtureRequest) -> None:
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to others
    request.addfinalizer(lambda: shutil.rmtree(folder))
    folder.chmod(0o755)
    run = folder / "run"

    def count() -> int:
        with open_ledger(run) as ledger:
            return len(list(ledger.answers()))

    with open_ledger(run, mode="write") as ledger:
        fill(ledger, 25)
        before = count()
        beside = as_nobody(count)  # while somebody writes
        killed = folder / "killed"
        shutil.copytree(run, killed)
    assert beside == str(before) or beside.startswith("StorageError"), beside
    assert as_nobody(count) == str(before)
    run = killed
    (killed / "ledger.lock").unlink()
    for shared in (True, False):
        if not shared:
            (killed / f"{LEDGER_NAME}-shm").unlink()
        assert as_nobody(count) == str(before), shared


def test_a_reader_that_cannot_read_the_whole_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from richter.store import _sqlite

    seeds = write_seeds(tmp_path)
    opened = _sqlite._open

    def refuse(path: Path, flags: str) -> sqlite3.Connection:
        if path.parent == seeds[1] and flags == "mode=ro":
            raise sqlite3.OperationalError("unable to open database file")
        return opened(path, flags)

    monkeypatch.setattr(_sqlite, "_open", refuse)
    with open_ledger(seeds[1]) as ledger:  # from a copy with the commits beside it
        assert len(ledger.items()) == 25
    monkeypatch.setattr(_sqlite, "is_locked", lambda _: True)
    with pytest.raises(StorageError, match="is being written"):
        open_ledger(seeds[1])
