"""An import is there whole or not at all, whenever it is killed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from richter.cli import main
from richter.errors import InputError, LedgerLocked
from richter.store import is_run, new_run, open_ledger

SOURCE = Path(__file__).parents[2] / "src"
KILLED = """
import os, sys
from richter.store import Ledger
setattr(Ledger, sys.argv[1], lambda *_: os._exit(9))  # as kill -9 does, at a known moment
from richter.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("step", ["add_calls", "add_ratings", "set_note"])
def test_half_an_import_is_no_run_and_the_same_command_makes_it(tmp_path: Path, step: str) -> None:
    """It was read as if it were all, without severities, say, and importing again was refused."""
    rows = [f"{k},{name},{k % 2},{k % 5}" for name in ("a", "b") for k in range(30)]
    (tmp_path / "table.csv").write_text("\n".join(["item,condition,correct,severity", *rows]))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "plan.toml").write_text("# kept")
    command = ["import", str(tmp_path / "table.csv"), "-o", str(tmp_path / "run")]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, step, *command],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert killed.returncode == 9, killed.stderr
    assert not is_run(tmp_path / "run")
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 0
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "ledger.head", "ledger.lock", "ledger.sqlite", "plan.toml"
    ]  # fmt: skip
    with open_ledger(tmp_path / "run") as ledger:
        assert (len(ledger.grades()), len(ledger.ratings())) == (60, 60)
    with pytest.raises(InputError, match="already a run"), new_run(tmp_path / "run"):
        pass


def test_two_imports_into_one_run_and_a_fault_in_the_middle(tmp_path: Path) -> None:
    with new_run(tmp_path / "run") as ledger:
        ledger.set_note("x", {})
        with pytest.raises(LedgerLocked), new_run(tmp_path / "run"):
            pass
    with open_ledger(tmp_path / "run") as ledger:
        assert not ledger.describe_lost_end()
    with pytest.raises(ZeroDivisionError), new_run(tmp_path / "other"):
        raise ZeroDivisionError
    assert not is_run(tmp_path / "other")


FULL = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))  # no file may grow beyond this, as on a full disk
from richter.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as end:
        print("exit", end.code, file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_sound_run_on_a_full_disk_is_read_and_never_called_damaged(tmp_path: Path) -> None:
    """SQLite calls both an I/O error, and the advice was to restore a run that is whole from a copy."""
    run, new = str(tmp_path / "run"), str(tmp_path / "new")
    with new_run(run) as ledger:
        ledger.set_note("x", {})
    (tmp_path / "table.csv").write_text("item,condition,correct\n1,a,1\n1,b,0\n")
    words = [["view", run, "--list"], ["import", str(tmp_path / "table.csv"), "-o", new], ["view", run, "--list"]]
    call = [sys.executable, "-c", FULL, json.dumps(words)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    said = subprocess.run(call, capture_output=True, check=True, text=True, env=environment).stderr.splitlines()
    assert said[0] == "exit 0"
    assert "cannot be made: the disk is full, or cannot be written. Nothing was kept" in said[1]
    assert said[2] == "exit 1"
    assert "damaged" not in said[3]
    assert not is_run(new)
    with open_ledger(run) as ledger:
        assert not ledger.describe_lost_end()
