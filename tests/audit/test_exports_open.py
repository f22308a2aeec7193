"""What `richter export` wrote opens in the commands that read other files: labels, series, ratings sheets."""

import json
from pathlib import Path

import polars as pl
import pytest

from richter.cli import main


def run_cli(*words: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert not stop.value.code


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of 60 questions and two models with severities, 40 answers rated by two people, and its exports."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"item": f"q{k}", "condition": name, "answer": str(k), "severity": float(k % step == 0) * 3}
        for name, step in (("old", 2), ("new", 3))
        for k in range(60)
    ]
    people = [
        {"item": f"q{k}", "condition": name, "rater": who, "kind": "human", "severity": worse * float(k % step == 0)}
        for name, step in (("old", 2), ("new", 3))
        for who, worse in (("ann", 2), ("ben", 2))
        for k in range(20)
    ]
    pl.DataFrame(rows).write_ndjson("rows.jsonl")
    pl.DataFrame(people).write_ndjson("people.jsonl")
    run_cli("import", "rows.jsonl", "-o", "run1")
    run_cli("label", "run1", "--import", "people.jsonl")
    run_cli("export", "run1", "-o", "answers.parquet")
    return tmp_path


def claims(source: str) -> list[tuple[object, ...]]:

    run_cli("compare", source, "--json", "claims.json")
    found = json.loads(Path("claims.json").read_text())["claims"]
    return [(c["measure"], c["verdict"], c["estimate"], c["interval"]) for c in found]


def test_an_export_carries_labels_and_opens_as_a_day(exported: Path) -> None:
    """Without the labels the table's figures were uncorrected, and its interval was narrower than the run's."""
    own = claims("run1")
    assert claims("answers.parquet") == own
    table = pl.read_parquet("answers.parquet").filter(item="q0", condition="old")
    assert table["human_severity"].to_list() == [2.0]  # the mean of two people
