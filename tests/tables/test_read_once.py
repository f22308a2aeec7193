"""A run's ledger is opened and read once by a command, whatever the command shows."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.small_run import small_run
from richter.cli._main import _root
from richter.store._sqlite import SqliteDatabase


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
