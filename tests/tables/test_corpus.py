"""Sixty files as people have them, written by somebody who had not seen the reader: what it must make of each. Beside
them lie 29 of a second sixty and 12 of a third, by others who had seen neither.

`tests/corpus/expected.toml` holds the readings, worked out without this program, and the messages that mistakes must
get. Each file goes through the command line once, as a user would type it: `richter FILE`.
"""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from richter.cli import _compare_output as _compare
from richter.cli._main import main
from richter.tables import Dataset

CORPUS = Path(__file__).parent.parent / "corpus"
FILES: list[dict[str, Any]] = tomllib.loads((CORPUS / "expected.toml").read_text("utf-8"))["file"]
READ = [f for f in FILES if "message" not in f]
SAID = [f for f in FILES if "message" in f]
# names that a note of the expected file allows beside those it lists
ALSO = {
    "tools/14_deepeval_4_3_1": ("bot-new", "bot-old"),
    "tools/18_helm": ("toy_a", "toy_b"),
}
PASTED = re.compile(r"(?:--[a-z-]+[= ](?:'[^']*'|\S)+ ?)+")


def names(entry: dict[str, Any]) -> str:
    return str(entry["file"])


class Run:
    """`richter ARGUMENTS` in this process: exit status, everything it printed, and what it read."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys, self.read = capsys, list[Dataset]()
        plain = _compare.read_given

        def remembered(*given: Any) -> Dataset:
            self.read.append(plain(*given))
            return self.read[-1]

        monkeypatch.setattr(_compare, "read_given", remembered)
        monkeypatch.setenv("COLUMNS", "300")

    def __call__(self, *arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        said = self.capsys.readouterr()
        assert isinstance(ended.value.code, int)
        assert "Traceback" not in said.err
        return ended.value.code, " ".join((said.out + said.err).split())

    def confirmed(self, *arguments: str) -> tuple[int, str]:
        """The same, and where a reading is proposed the command that the proposal prints: one is enough."""
        code, said = self(*arguments)
        proposed = re.search(r"Keep it: richter (.*) \(or --save-reading", said)
        if proposed is None:
            return code, said
        code, then = self(*shlex.split(proposed[1]))
        return code, f"{said} {then}"


@pytest.fixture
def richter(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(capsys, monkeypatch)


def means(tables: Dataset) -> list[float]:
    """The mean over items of the mean over their draws, by condition; weights are not used."""
    main_score = tables.scores.filter(pl.col("metric") == tables.metric)
    by_item = main_score.group_by("condition", "item").agg(pl.col("value").mean())
    found = dict(by_item.group_by("condition").agg(pl.col("value").mean()).iter_rows())
    return [found[name] for name in tables.conditions]


@pytest.mark.parametrize("entry", READ, ids=names)
def test_reading_against_the_corpus(entry: dict[str, Any], richter: Run) -> None:
    if entry["file"].endswith(".xlsx"):
        pytest.importorskip("fastexcel", reason="workbooks need richter[excel]")
    code, said = richter.confirmed(str(CORPUS / entry["file"]), *entry.get("options", ()))
    assert code == 0, said
    tables = richter.read[-1]
    assert tables.is_confirmed
    assert len(tables.item_ids) == entry["items"]
    if entry["conditions"] != ["any"]:
        allowed = [tuple(entry["conditions"]), ALSO.get(entry["file"])]
        assert tables.conditions in allowed
    assert len(tables.conditions) == len(entry["conditions"])
    assert int(tables.answers["draw"].to_numpy().max()) + 1 == entry["draws"]
    score = tables.scores.row(0, named=True)
    assert tables.metric == {"binary": "accuracy", "wins": "win_rate"}.get(entry["score"], "mean_score")
    assert [score["low"], score["high"]] == entry["range"]
    assert means(tables) == pytest.approx(list(entry["means"].values()), abs=1e-4)
    if "groups" in entry:
        assert tables.answers["group"].n_unique() == entry["groups"]


@pytest.mark.parametrize("entry", SAID, ids=names)
def test_message_against_the_corpus(entry: dict[str, Any], richter: Run) -> None:
    if entry["file"].endswith(".xlsx"):
        pytest.importorskip("fastexcel", reason="workbooks need richter[excel]")
    path = str(CORPUS / entry["file"])
    code, said = richter.confirmed(path, *entry.get("options", ()))
    assert code == 1 or entry["outcome"] == "warn_or_refuse", said
    told = said.replace(path, "").lower()  # a file's name is no message
    for words in entry["message"]:
        assert any(word.lower() in told for word in words.split("|")), (words, told)
    assert code in (0, 4) or len(said) < 500 or "Keep it:" in said, "one line"


@pytest.mark.parametrize("entry", [f for f in SAID if f["outcome"] == "refuse"], ids=names)
def test_suggested_options_work_when_pasted(entry: dict[str, Any], richter: Run) -> None:
    path = str(CORPUS / entry["file"])
    _, said = richter.confirmed(path, *entry.get("options", ()))
    for fix in PASTED.findall(said):
        if "log_samples" in fix:  # an option of another tool
            continue
        code, then = richter.confirmed(path, *shlex.split(fix.strip().rstrip(".,")))
        assert code == 0, (fix, then)


TOTALS = [f for f in READ if f["kind"] == "tool" and "printed" in f]


@pytest.mark.parametrize("entry", TOTALS, ids=names)
def test_page_has_the_totals_that_the_tool_printed(entry: dict[str, Any], richter: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, said = richter.confirmed("report", str(CORPUS / entry["file"]), "-o", str(page))
    assert code == 0, said
    text = page.read_text("utf-8")
    assert "not graded" not in text[:20_000]
    for mean in entry["means"].values():
        assert f"{100 * mean:.1f}%" in text or f"{100 * (1 - mean):.1f}%" in text or (mean == 1 and "none seen" in text)


# these print a total and do not write it into the file (lm-eval writes it beside, where a lone file has left it)
UNSTATED = ("06_promptfoo.csv", "07_promptfoo.jsonl", "10_samples", "20_mlflow")


def test_the_tools_own_totals_stand_beside_ours(richter: Run) -> None:
    for entry in TOTALS:
        _, said = richter.confirmed(str(CORPUS / entry["file"]), "--verbose")
        stated = not any(name in entry["file"] for name in UNSTATED)
        assert ("the tool's own total is the same" in said) == stated, entry["file"]


def test_a_total_that_differs_is_pointed_out_by_hand(richter: Run, tmp_path: Path) -> None:
    log = (CORPUS / "tools/17_openai_evals.jsonl").read_text("utf-8")
    path = tmp_path / "log.jsonl"
    path.write_text(log.replace('"accuracy": 0.583333', '"accuracy": 0.75'))
    _, said = richter(str(path))
    assert "the tool's own total (match) is 0.75, ours 0.5833 on 12 graded answers" in said
