"""Damage and tampering: named by the records' hashes, and nothing that is read is anything but what was written."""

import dataclasses
import itertools
import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.damage import damage, ended, everything, fill, write_seeds
from richter.errors import LedgerCorrupt, StorageError
from richter.records import Item, Rating
from richter.store import LEDGER_NAME, check_integrity, open_ledger


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_seeds(tmp_path_factory.mktemp("seeds"))


def test_damaged_ledgers_are_named_or_read_identical(seeds: list[Path], tmp_path: Path) -> None:
    whole = [everything(seed) for seed in seeds]
    for k in range(24):
        run = tmp_path / str(k)
        damage(seeds[k % 2], run, random.Random(k))
        end = ended(run, whole[k % 2])
        assert end == end.lower(), f"{k}: {end}"


def test_a_sound_run_is_sound_and_keeps_its_seal(seeds: list[Path]) -> None:
    for seed in seeds:
        found = check_integrity(seed)
        assert found.sound, found.parts[0].damage
        assert found.parts[0].records > 100
        assert found.seals == check_integrity(seed).seals


def tamper(run: Path, *statements: str) -> None:
    with sqlite3.connect(run / LEDGER_NAME) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("UPDATE calls SET text = 'right' WHERE tokens_in = 8", "calls"),
        ("UPDATE ratings SET severity = 0.0 WHERE item = 'q1'", "ratings"),
        ("DELETE FROM ratings WHERE item = 'q1'", "ratings"),
        ("DELETE FROM failures", "failures"),
        ("UPDATE failures SET error = 'x'", "failures"),
        ("UPDATE notes SET body = '{}'", "notes"),
        ("UPDATE calls SET money_usd = 0", "calls"),
        ("INSERT INTO notes VALUES ('mine', '{}')", "notes"),
        ("UPDATE answers SET call = (SELECT min(key) FROM calls) WHERE item = 'q9'", "answers"),
        ("DELETE FROM hashes WHERE part = 'ratings'", "ratings"),
        ("UPDATE hashes SET part = 'gradess' WHERE part = 'ratings'", "gradess"),
        ("UPDATE hashes SET hash = 'x' WHERE part = 'notes'", "notes"),
        ("UPDATE hashes SET copies = 2 WHERE part = 'failures'", "failures"),
        ("UPDATE hashes SET copies = 'x' WHERE part = 'failures'", "failures"),
    ],
)
def test_a_changed_record_is_named_and_no_command_reads_it(
    seeds: list[Path], tmp_path: Path, statement: str, table: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(seeds[0], run)
    tamper(run, statement)
    found = check_integrity(run)
    assert not found.sound
    assert table in {d.table for d in found.parts[0].damage}
    with pytest.raises(LedgerCorrupt, match="is damaged"):
        open_ledger(run)


def test_the_lost_end_of_a_ledger_is_named(seeds: list[Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(seeds[1], run)
    (run / f"{LEDGER_NAME}-wal").write_bytes(b"")
    assert "ledger" in str(check_integrity(run).parts[0].damage) or not check_integrity(run).sound
    shutil.rmtree(run)
    shutil.copytree(seeds[1], run)
    wal = run / f"{LEDGER_NAME}-wal"
    wal.write_bytes(wal.read_bytes()[: -2 * 4120])  # the last frames: SQLite takes what is before for the whole
    found = check_integrity(run)
    assert [d.what for d in found.parts[0].damage] == ["the last records that were committed are missing"]


def test_rewriting_records_and_hashes_is_found_by_a_kept_seal_only(tmp_path: Path) -> None:
    """Somebody with all of our code writes another run in place of this one."""
    with open_ledger(tmp_path / "run", mode="write") as ledger:
        fill(ledger, 10)
    kept = check_integrity(tmp_path / "run").seals
    assert check_integrity(tmp_path / "run", seals=kept).sound
    with open_ledger(tmp_path / "run", mode="write") as ledger:
        ledger.set_note("more", {"x": 1})
    assert not check_integrity(tmp_path / "run", seals=kept).sound
    shutil.rmtree(tmp_path / "run")
    with open_ledger(tmp_path / "run", mode="write") as ledger:
        fill(ledger, 9)
    assert check_integrity(tmp_path / "run").sound
    forged = check_integrity(tmp_path / "run", seals=kept)
    assert not forged.sound
    assert not forged.parts[0].damage
    assert not check_integrity(tmp_path / "run", seals={"gone": "x"}).sound


def test_a_replaced_rating_stands_and_its_older_one_does_not(tmp_path: Path) -> None:
    rating = Rating(item="q1", condition="old", draw=0, rater="r", kind="human", severity=1.0)
    with open_ledger(tmp_path, mode="write") as ledger:
        ledger.add_ratings([rating])
        ledger.add_ratings([dataclasses.replace(rating, severity=3.0)])
    with open_ledger(tmp_path, mode="write") as ledger:
        ledger.add_ratings([dataclasses.replace(rating, severity=2.0)])
    assert check_integrity(tmp_path).sound
    tamper(tmp_path, "UPDATE ratings SET severity = 3.0")
    assert not check_integrity(tmp_path).sound


CLOCKS: dict[str, Callable[[random.Random, int], float]] = {
    "steps back": lambda rng, commit: 1.8e9 - 3600.0 * commit,
    "steps forward": lambda rng, commit: 1.8e9 + 1e7 * commit,
    "stands still": lambda rng, commit: 1.8e9,
    "jumps about": lambda rng, commit: 1.8e9 + rng.uniform(-1e8, 1e8),
    "differs between machines": lambda rng, commit: 1.8e9 + commit + (-1e6 if commit // 7 % 2 else 1e6),
}


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("seed", range(4))
def test_no_clock_makes_a_run_damaged_or_hides_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: str, seed: int
) -> None:
    """Three processes, one after the other, replace each other's ratings and notes."""
    rng, commits = random.Random(seed), itertools.count()
    monkeypatch.setattr("richter.store._sqlite.read_clock", lambda: CLOCKS[clock](rng, next(commits)))
    rating = Rating(item="q1", condition="old", draw=0, rater="r", kind="human", severity=0.0)
    run = tmp_path / "run"
    for severity in (1.0, 2.0, 3.0):
        with open_ledger(run, mode="write") as ledger:
            ledger.add_items([Item(id=f"q{severity}", prompt="p", reference="r")])
            for step in range(rng.randint(1, 4)):
                ledger.set_note("n", {"step": step, "of": severity})
                ledger.add_ratings([dataclasses.replace(rating, severity=severity - 0.5)])
            ledger.add_ratings([dataclasses.replace(rating, severity=severity)])
    assert check_integrity(run).parts[0].damage == ()
    with open_ledger(run) as ledger:
        assert [r.severity for r in ledger.ratings()] == [3.0]
    for stale in (0.5, 1.0, 2.0, 2.5):
        tamper(run, f"UPDATE ratings SET severity = {stale}")
        assert [d.what for d in check_integrity(run).parts[0].damage] == ["was changed"], stale


# ---- readers that may not write --------------------------------------------------------------------------------------


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


def test_a_zero_below_zero_is_not_taken_for_damage(tmp_path: Path) -> None:
    """Rounding gives -0.0, of which SQLite keeps no sign."""
    with open_ledger(tmp_path / "run", mode="write") as ledger:
        ledger.add_ratings([Rating(item="q", condition="c", rater="r", kind="judge", severity=-0.0)])
    with open_ledger(tmp_path / "run") as ledger:
        assert ledger.ratings()[0].severity == 0
