"""The lines of docs/reference/python.md that compare two logs of lm-eval, on logs that lm-eval 0.4.13 wrote."""

import contextlib
import io
import json
import re
import shutil
from pathlib import Path

import pytest

import richter

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "corpus" / "tools" / "09_lm_eval_0_4_13"


def test_two_logs_of_lm_eval_in_five_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^lines = .*?^```", page, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    reported = {}
    for name in ("old", "new"):
        (samples,) = (LOGS / f"m-{name}").glob("samples_*.jsonl")
        (results,) = (LOGS / f"m-{name}").glob("results_*.json")
        shutil.copy(samples, f"{name}.jsonl")
        reported[name] = json.loads(results.read_text())["results"]["sums"]["exact_match,none"]
    named = {"richter": richter, "json": json, "Path": Path}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(lines.removesuffix("```"), named)
    claim = richter.compare(LOGS, conditions=("m-old", "m-new"))["accuracy"][0]
    assert claim.estimate == pytest.approx(reported["new"] - reported["old"])
    rows = [map(json.loads, Path(f"{name}.jsonl").read_text().splitlines()) for name in ("old", "new")]
    grades = [[row["exact_match"] for row in each] for each in rows]
    assert printed.getvalue().strip() == richter.paired(*grades).sentence
    assert richter.paired(*grades).estimate == claim.estimate
