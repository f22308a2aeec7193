"""An import into a database is there whole or not at all, wherever it is killed."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from helpers.postgres import PostgresServer
from richter.cli import main
from richter.errors import InputError
from richter.store import check_integrity, find_runs, has_ledger, new_run, open_ledger, run_place
from store.test_new_run import KILLED, SOURCE

STEPS = ("add_items", "add_conditions", "add_calls", "add_grades", "add_ratings", "set_note")


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.url(f"import-{uuid.uuid4().hex[:8]}")


def names_of(url: str) -> list[str]:
    return [place.name for place in find_runs(run_place(url))]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_import_leaves_nothing_and_can_be_made_again(url: str, tmp_path: Path, step: str) -> None:
    rows = [f"q{k},{c},{k % 2},{2 * (1 - k % 2)}" for k in range(30) for c in ("a", "b")]
    (tmp_path / "table.csv").write_text("item,condition,correct,severity\n" + "\n".join(rows) + "\n")
    command = ["import", str(tmp_path / "table.csv"), "-o", url]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, step, *command],
        capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    assert killed.returncode == 9, killed.stderr
    assert not has_ledger(url)
    assert run_place(url).name not in names_of(url)
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 0
    assert check_integrity(url).sound
    with open_ledger(url) as ledger:
        assert len(ledger.grades()) == 60
    assert not [name for name in names_of(url) if ":" in name]


def test_of_two_imports_at_a_time_the_first_to_end_has_the_name(url: str) -> None:
    def import_twice() -> None:
        with new_run(url) as ledger:
            ledger.set_note("x", {})
            with new_run(url) as other:
                other.set_note("y", {"why": "the first"})

    with pytest.raises(InputError, match="already a run"):
        import_twice()
    with open_ledger(url) as done:
        assert (done.note("x"), done.note("y")) == (None, {"why": "the first"})


def test_a_fault_leaves_nothing(url: str) -> None:
    with pytest.raises(ZeroDivisionError), new_run(url):
        raise ZeroDivisionError
    assert not has_ledger(url)
