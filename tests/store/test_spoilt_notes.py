"""A note of a run that somebody else made may be anything: it is named as damage, and nothing ends in a traceback."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.small_run import small_run
from richter.audit import shared_sample
from richter.errors import LedgerCorrupt
from richter.records import SAMPLE_NOTE
from richter.store import open_ledger

SPOILT: list[Any] = [
    {"a": {"b": []}}, {"judges": 3}, {"strata": [["q0"]], "chosen": []}, {"strata": 3, "chosen": [], "seed": 1},
    {"strata": [["q0", "old", 0, "0"]], "chosen": [["q1", "old", 0]], "seed": 1},
    {"strata": [["q0", "old", "x", "0"]], "chosen": [], "seed": 1}, [1, "2"], "x", 3,
]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return small_run(tmp_path / "run", np.random.default_rng(0), n=4)


@pytest.mark.parametrize("note", SPOILT)
def test_a_spoilt_sample_is_named_as_damage(run: Path, note: Any) -> None:
    with open_ledger(run, mode="write") as ledger:
        ledger.set_note(SAMPLE_NOTE, note)
    with open_ledger(run, mode="write") as ledger, pytest.raises(LedgerCorrupt, match="cannot be read"):
        shared_sample(ledger, n=2, seed=0)


@pytest.mark.parametrize("batches", [[1], [2, 3], ["x"]])
def test_batches_that_do_not_sum_to_the_sample_are_damage(run: Path, batches: list[Any]) -> None:
    rows = [["q0", "old", 0], ["q1", "old", 0]]
    with open_ledger(run, mode="write") as ledger:
        note = {"strata": [[*row, "0"] for row in rows], "chosen": rows, "seed": 1, "batches": batches}
        ledger.set_note(SAMPLE_NOTE, note)
        with pytest.raises(LedgerCorrupt):
            shared_sample(ledger, n=2, seed=0)
