"""The examples of docs/reference/inspect.md that call `richter.paired`, on logs that Inspect really writes."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect is not installed")

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

import richter

pytestmark = [
    pytest.mark.audit,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning",
                               "ignore::pytest.PytestUnraisableExceptionWarning"),
]  # fmt: skip
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "inspect.md"


RIGHT = {"old": [k % 2 for k in range(40)], "new": [int(k % 4 > 0) for k in range(40)]}


def evaluate(name: str, folder: Path, **options: Any) -> EvalLog:
    """An eval whose model answers as `RIGHT` says; its log is NAME.eval."""
    samples = [Sample(id=f"q{k}", input=f"Say yes or no: {k}", target="yes") for k in range(40)]
    replies = [ModelOutput.from_content("mockllm/model", "yes" if grade else "no") for grade in RIGHT[name]]
    for reply in replies:  # without it Inspect counts tokens with a table that it downloads
        reply.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    model = get_model("mockllm/model", custom_outputs=replies)
    task = Task(dataset=samples, scorer=match(), name=name, **options)
    (log,) = inspect_eval(task, model=model, log_dir=str(folder / name), display="none", max_samples=1)
    Path(log.location).rename(folder / f"{name}.eval")
    return log


def blocks() -> list[str]:
    return re.findall(r"^```text\n(from inspect_ai.log.*?)^```", PAGE.read_text(), re.M | re.S)


def test_two_logs_in_five_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in RIGHT:
        evaluate(name, tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(blocks()[0], str(PAGE), "exec"), {})
    expected = richter.paired(RIGHT["old"], RIGHT["new"], names=("old", "new"))
    assert printed.getvalue().strip() == expected.sentence
    by_logs = richter.compare({"old": tmp_path / "old.eval", "new": tmp_path / "new.eval"})["accuracy"][0]
    assert by_logs.estimate == expected.estimate == 0.25


def test_a_metric_that_compares_with_an_older_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    evaluate("old", tmp_path)
    named: dict[str, Any] = {}
    exec(compile(blocks()[1], str(PAGE), "exec"), named)
    log = evaluate("new", tmp_path, metrics=[named["gain"]("old.eval")])
    assert log.results is not None
    found = {name: each.value for name, each in log.results.scores[0].metrics.items()}
    expected = richter.paired(RIGHT["old"], RIGHT["new"]).interval
    assert expected is not None
    assert found == {"gain": 0.25, "low": expected.low, "high": expected.high}
