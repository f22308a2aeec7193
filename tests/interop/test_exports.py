"""A run as a table that opens as the same data, and CSV that no spreadsheet runs."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers.small_run import small_run
from richter.cli import main
from richter.interop import export_table

HOSTILE = '=HYPERLINK("http://x")'


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0)


@pytest.fixture
def run_folder(tmp_path: Path, rng: np.random.Generator) -> Path:
    return small_run(tmp_path / "run", rng, n=5, text=HOSTILE)


def test_csv_neutralises_formulas(run_folder: Path, tmp_path: Path) -> None:
    assert run("export", str(run_folder), "-o", str(tmp_path / "a.csv")) == 0
    assert pl.read_csv(tmp_path / "a.csv")["answer"].to_list() == ["'" + HOSTILE] * 10


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t=", " =", "\n=", "\u200b=", "\ufeff=", "＝", "＋", "－", "＠", "|", "%"]
)
def test_no_cell_of_a_csv_begins_as_a_formula(tmp_path: Path, start: str) -> None:
    export_table(pl.DataFrame({"a": [f"{start}cmd()", "plain;=cmd()", "1"]}), tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_text()
    assert text.startswith(f'"a"\n"\'{start}cmd()"\n')
    assert text.endswith('\n"plain;=cmd()"\n"1"\n')  # quoted, so that no other separator splits it


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_exported_answers_carry_their_grades_and_give_equal_claims(
    ending: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Rule ratings in the run, a reference that a match of words would grade otherwise: nothing is graded anew."""
    run_folder = small_run(tmp_path / "run", rng, n=60, text="A")  # equal to the reference, and called wrong by rules
    target = tmp_path / f"answers.{ending}"
    assert run("export", str(run_folder), "-o", str(target)) == 0
    claims = []
    for source in (run_folder, target):
        assert run("compare", str(source), "--json", str(tmp_path / "c.json")) in (0, 4)
        document = json.loads((tmp_path / "c.json").read_text())
        claims.append(
            [(c["measure"], c["verdict"], c["estimate"], c["interval"]["low"], c["n"]) for c in document["claims"]]
        )
    assert len(claims[0]) >= 3
    assert claims[0] == claims[1]
