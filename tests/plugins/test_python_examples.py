"""The examples of docs/reference/inspect.md that call `richter.paired`, on logs that Inspect really writes."""

import contextlib
import io
import re
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="Inspect is not installed")

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

import richter

pytestmark = [
    pytest.mark.audit,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning",
                               "ignore::pytest.PytestUnraisableExceptionWarning"),
]  # fmt: skip
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "inspect.md"


def test_two_logs_in_five_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"^```text\n(from inspect_ai.log.*?)^```", PAGE.read_text(), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    right = {"old": [k % 2 for k in range(40)], "new": [int(k % 4 > 0) for k in range(40)]}
    for name, grades in right.items():
        samples = [Sample(id=f"q{k}", input=f"Say yes or no: {k}", target="yes") for k in range(40)]
        replies = [ModelOutput.from_content("mockllm/model", "yes" if grade else "no") for grade in grades]
        for reply in replies:  # without it Inspect counts tokens with a table that it downloads
            reply.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        model = get_model("mockllm/model", custom_outputs=replies)
        task = Task(dataset=samples, scorer=match(), name=name)
        (log,) = inspect_eval(task, model=model, log_dir=str(tmp_path / name), display="none", max_samples=1)
        Path(log.location).rename(tmp_path / f"{name}.eval")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, str(PAGE), "exec"), {})
    expected = richter.paired(right["old"], right["new"], names=("old", "new"))
    assert printed.getvalue().strip() == expected.sentence
    by_logs = richter.compare({"old": tmp_path / "old.eval", "new": tmp_path / "new.eval"})["accuracy"][0]
    assert by_logs.estimate == expected.estimate == 0.25
