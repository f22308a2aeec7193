"""A run's ledger is opened and read once by a command, whatever the command shows."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.small_run import small_run
from richter.cli._main import _root
from richter.errors import LedgerCorrupt
from richter.store import LEDGER_NAME, open_ledger
from richter.store._sqlite import SqliteDatabase
from richter.tables import tables_of


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compare", "report", "severity", "calibration"])
def test_a_ledger_is_opened_once(
    command: str, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, opened = small_run(tmp_path / "run", rng), Counter[str]()
    first = SqliteDatabase.__init__

    def counting(self: SqliteDatabase, folder: Path, **more: Any) -> None:
        opened[str(folder)] += 1
        first(self, folder, **more)

    monkeypatch.setattr(SqliteDatabase, "__init__", counting)
    CliRunner().invoke(_root, [command, str(run), *(["-o", str(tmp_path / "p.html")] if command == "report" else [])])
    assert opened == {str(run): 1}


CELLS = (
    "calls SET text = x'00'",
    "calls SET finish = x'00'",
    "calls SET money_usd = 'much'",
    "ratings SET severity = '?'",
)


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_of_another_type_is_refused_in_words(cell: str, tmp_path: Path, rng: np.random.Generator) -> None:
    run = small_run(tmp_path / "run", rng)
    with closing(sqlite3.connect(run / LEDGER_NAME)) as changed, changed:
        assert changed.execute(f"UPDATE {cell}").rowcount
    with open_ledger(run, checked=False) as ledger, pytest.raises(LedgerCorrupt, match="not of its column's type"):
        tables_of(ledger)  # its hashes may be as false as the cell
