"""The commands on a run in a database: the same as on a folder, and never the password."""

import json
import uuid
import zipfile
from pathlib import Path

import polars as pl
import pytest

from helpers.postgres import PASSWORD, QUOTED, PostgresServer
from helpers.server import FakeApi
from helpers.small_base import small_base
from richter import open as open_any
from richter.cli import main
from richter.records import Answer, Condition, Item
from richter.report import find_runs
from richter.store import Call, keep_file, open_ledger, run_file, run_folder, run_place

GOLDEN = Path(__file__).parents[1] / "judge"


@pytest.fixture
def url(postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return postgres.url(f"run-{uuid.uuid4().hex[:8]}")


class Richter:
    """Runs a command; nothing that it prints or writes may hold the password."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capsys = folder, capsys

    def __call__(self, *args: object, exits: int = 0) -> str:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in args])
        out, err = self._capsys.readouterr()
        assert (stop.value.code or 0) == exits, err
        names = [str(path) for path in self._folder.rglob("*")]
        files = [path.read_bytes().decode("utf-8", "replace") for path in self._folder.rglob("*") if path.is_file()]
        for secret in (PASSWORD, QUOTED):
            assert not any(secret in text for text in (out, err, *names, *files))
        return out if exits == 0 else err


@pytest.fixture
def richter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Richter:
    return Richter(tmp_path, capsys)


def test_from_asking_to_comparing(
    url: str, richter: Richter, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = run_place(url).name
    rows = [json.loads(line)["item"] for line in (GOLDEN / "golden.jsonl").read_text(encoding="utf-8").splitlines()]
    right = {row["prompt"]: row["reference"] for row in rows}
    bench = tmp_path / "bench.jsonl"
    bench.write_text("".join(json.dumps(row) + "\n" for row in rows[:40]))
    assert "40" in richter(
        "audit", "--only", "ask", url, "--bench", bench, "--model", "http://127.0.0.1:9/v1#no", "--dry-run"
    )
    with FakeApi(reply=lambda p: right[p]) as good, FakeApi(reply=lambda p: "Chad") as bad:
        asked = (
            "audit",
            "--only",
            "ask",
            url,
            "--bench",
            bench,
            "--model",
            f"{good.url}#good",
            "--model",
            f"{bad.url}#bad",
        )
        assert f"#{name}: 80 answers" in richter(*asked)
        richter(*asked)
        assert good.requests.total() == bad.requests.total() == 40  # paid for once
    richter(
        "audit",
        "--only",
        "judge",
        url,
        "--rules",
        "--gazetteer",
        GOLDEN / "golden.gazetteer.json.gz",
        "-o",
        "scores.csv",
    )
    assert name in richter("view", postgres.url(), "--list")
    shown = json.loads(richter("view", url, "--json", "-"))
    assert shown["spent"]["calls"] == 80
    assert "good" in richter("compare", url, "bad", "good")
    from_run = json.loads(richter("severity", url, "--json", "-"))
    from_file = json.loads(richter("severity", "scores.csv", "--json", "-"))
    assert from_run["conditions"].keys() == from_file["conditions"].keys()
    richter("label", "agreement", url, "--json", "agreement.json")
    richter("export", url, "-o", "answers.parquet")
    assert len(pl.read_parquet("answers.parquet")) == 80
    richter("label", url, "--sheet", "sheet.csv", "--n", "20")
    sheet = pl.read_csv("sheet.csv").with_columns(severity=pl.lit(1.0))
    sheet.write_csv("filled.csv")
    assert "20 human ratings" in richter("label", url, "--import", "filled.csv", "--rater", "anna")
    richter("report", url, "--only", "severity,floors")
    assert "good" in (tmp_path / f"postgres.{name}" / "report.html").read_text(encoding="utf-8")
    assert find_runs([url]) == [url]
    assert url in find_runs([postgres.url()])
    run = open_any(url, ratings="rule")
    assert set(run.conditions) == {"good", "bad"}
    assert run.compare("bad", "good").claims
    assert "not a log" in richter("import", url, "-o", "new", exits=1)
    for command in (("severity",), ("size", "calibration")):
        richter(*command, url, "--ratings", "rule")
    require = '[{metric="error_rate", rule="below", limit=0.5}]'
    richter("plan", "new", "gate", "--set", "candidate=good", "--set", f"require={require}")
    richter("plan", "new", "severity", "-o", "severity.toml")
    for plan in ("plan.toml", "severity.toml"):
        richter("plan", "lock", plan)
    # people called every answer wrong, and their labels decide over the rules
    richter("gate", "plan.toml", url, exits=3)
    found = json.loads(richter("severity", url, "--ratings", "rule", "--plan", "severity.toml", "--json", "-"))
    assert found["plan"]["confirmatory"] is False  # its outcomes were shown before the lock
    assert "used on     1 set of data" in richter("verify", "severity.toml")
    richter("export", url, "--evidence", "evidence.zip")
    with zipfile.ZipFile("evidence.zip") as archive:
        assert "records/answers.jsonl" in archive.namelist()


def test_scores_for_the_tail_are_kept_with_the_run(
    url: str, richter: Richter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(url, mode="write") as ledger:
        ledger.add_items([Item(id=f"i{n}", prompt="A question?", reference="r") for n in range(3)])
        ledger.add_conditions([Condition(name="c", model="local/smollm2")])
        known = {"logprobs": (-1.0, -2.0), "tokens": ("a", "b")}  # its own answers: nothing is asked
        answers = [Answer(text="ab", item=f"i{n}", condition="c", **known) for n in range(3)]
        ledger.add_calls([Call(key=a.item, model="local/smollm2", request="", answer=a) for a in answers])
    keep_file(url, "scores.csv", b"item,condition,severity\ni0,c,2.0\ni1,c,0.0\n")
    there = tmp_path / "there"
    there.mkdir()
    monkeypatch.chdir(there)
    assert "Scored 3 answers" in richter("audit", url, "--scorer", "nll", "-o", run_folder(url) / "scores.csv")
    monkeypatch.chdir(tmp_path)
    table = pl.read_csv(run_file(url, "scores.csv"))  # on another machine
    assert table["nll"].to_list() == [1.5] * 3
    assert table["severity"].to_list() == [2.0, 0.0, None]


def test_what_was_imported_is_measured(url: str, richter: Richter, tmp_path: Path) -> None:
    rows = "".join(f"q{i},m,{i % 2},0.7\n" for i in range(50))
    (tmp_path / "log.csv").write_text("item,condition,correct,confidence\n" + rows)
    assert "50 questions" in richter("import", tmp_path / "log.csv", "-o", url)
    assert "is already a run" in richter("import", tmp_path / "log.csv", "-o", url, exits=1)
    assert "miscalibrated" in richter("calibration", url)
    assert "m is wrong in 50.0% of 50 " in richter("size", "calibration", url)


@pytest.mark.slow
def test_searches_from_beginning_to_end(url: str, richter: Richter, tmp_path: Path) -> None:
    small_base(tmp_path / "kb")
    small = ("--kb", "kb", "--questions", "1", "--phrasings", "1", "--batch", "5", "--budget", "25calls")
    with FakeApi(reply=lambda p: "wrong 1") as api:
        model = ("--model", api.model)
        richter("search", url, *model, *small)
        richter("search", f"{url}b", "--model", f"{api.url}#other", *small, "--strategy", "random")
        assert "found 25 different questions" in richter("search", "show", url)
        richter("search", "show", url, f"{url}b")
        richter("search", "--only", "retest", "--kind", "cross", f"{url}c", url, f"{url}b", "--budget", "50calls")
        richter("search", "--only", "retest", f"{url}r", url, "--kind", "open", "--budget", "50calls")
        assert "used up" in richter(
            "search", "--only", "retest", "--kind", "explain", f"{url}e", url, *model, "--budget", "9calls", exits=1
        )
        richter("search", "--only", "retest", "--kind", "explain", f"{url}e", url, *model, "--budget", "99calls")
    richter("report", url, "--only", "search", "--json", "report.json")
    [found] = json.loads((tmp_path / "report.json").read_text())["sections"]["search"]
    assert (found["errors_found"], found["map_missing"]) == (25, None)
    assert sum(point["fails"] for point in found["map"]) == 25


def test_draws_lie_in_a_folder_named_after_the_run(url: str, richter: Richter, tmp_path: Path) -> None:
    pytest.importorskip("wordllama")
    bench = tmp_path / "bench.jsonl"
    bench.write_text(json.dumps({"id": "1", "prompt": "Capital of France?", "reference": "Paris"}) + "\n")
    with FakeApi(reply=lambda p: "Paris\nConfidence: 90%") as api:
        richter("audit", "--only", "draw", url, "--bench", bench, "--model", api.model, "--draws", 4)
    assert len(pl.read_ndjson(tmp_path / f"postgres.{run_place(url).name}" / "draws.jsonl")) == 4
    assert "confidence" in richter("calibration", url).lower()


def test_what_is_wrong_is_one_line(url: str, richter: Richter, postgres: PostgresServer) -> None:
    assert "is not a run" in richter("view", url, "--list", exits=1)
    assert "does not answer" in richter("view", f"postgresql://me:{QUOTED}@127.0.0.1:9/db", "--list", exits=1)
    wrong = postgres.url("r", user="nobody")
    text = richter("view", wrong, "--list", exits=1)
    assert "refuses the password" in text
    assert text.count("\n") == 1
    assert "is not a run" in richter("severity", "tail", url, exits=1)
    assert "is a run, not a log" in richter("import", "--dry-run", url, exits=1)
    assert "is not a run" in richter("size", url, exits=1)
    assert "holds no answers" in richter("calibration", filled(url), exits=1)
    for bad in ("#a/b/c", "#" + "n" * 51):
        assert "cannot be a run's name" in richter("view", url.partition("#")[0] + bad, "--list", exits=1)


def filled(url: str) -> str:
    with open_ledger(url, mode="write") as ledger:
        ledger.add_items([Item(id="1", prompt="p", reference="r")])
    return url
