"""A log that its tool marks as failed says one thing everywhere: as a file, as a run and as an archive."""

import json
from pathlib import Path

import pytest

from helpers.foreign_logs import inspect_header, inspect_sample
from richter.cli import main
from richter.tables import read_tables


def test_a_failed_log_of_inspect_is_interrupted_as_file_and_run(tmp_path: Path) -> None:
    for name in ("a", "b"):
        log = inspect_header(status="error", eval={"model": f"mockllm/{name}"}, error={"message": "boom"})
        log["samples"] = [inspect_sample(f"q{k}", "CI"[k % 2]) for k in range(4)]
        (tmp_path / f"{name}.json").write_text(json.dumps(log))
    logs = (str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    with pytest.raises(SystemExit) as stop:
        main(["import", *logs, "-o", f"{tmp_path}/run"])
    assert stop.value.code == 0
    found = [
        {note for note in read_tables(*sources).notes if "interrupted" in note}
        for sources in (logs, (tmp_path / "run",))
    ]
    assert len(found[0]) == 2
    assert found[1] == found[0]
