"""`richter audit --only draw` through the command line, against a real server on loopback that answers by rule."""

import itertools
import json
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("wordllama")

from helpers.server import FakeApi
from richter.cli import main


def richter(*args: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in args])
    return int(stop.value.code or 0)


def draw(run: Path, bench: Path, *more: object) -> int:
    return richter("audit", "--only", "draw", run, "--bench", bench, *more)


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    path = tmp_path / "bench.jsonl"
    rows = [
        {"id": "sure", "prompt": "Capital of France?", "reference": "Paris"},
        {"id": "torn", "prompt": "Capital of Norway?", "reference": "Oslo"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Replies:
    """Certain of France, torn over Norway; groups what it is asked to group as one."""

    def __init__(self) -> None:
        self.torn = itertools.cycle(["Oslo\nConfidence: 60%", "Bergen", "oslo.\nConfidence: 50%", "Bergen"])

    def __call__(self, prompt: str) -> str:
        if "Group the answers" in prompt:
            return '{"groups": [[1, 2]]}'
        if "Name the answers that are right" in prompt:
            return '{"right": [1]}'
        return "Paris\nConfidence: 90%" if "France" in prompt else next(self.torn)


def test_draw_writes_a_table_that_calibration_reads(
    tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    with FakeApi(reply=Replies()) as api:
        args = (run, bench, "--model", api.model, "--draws", 8, "--concurrency", 1)
        assert draw(*args, "--json", "-") == 0
        result = json.loads(capsys.readouterr().out)
        assert result["answers"] == 16 == api.requests.total()
        assert list(result["parse_rate"].values()) == [pytest.approx(12 / 16)]
        assert draw(*args) == 0  # resumed: nothing is asked again
        assert api.requests.total() == 16
    table = pl.read_ndjson(run / "draws.jsonl")
    sure = table.filter(pl.col("item") == "sure")
    assert sure["answer"].unique().to_list() == ["Paris"]
    assert sure["correct"].to_list() == [1] * 8
    assert sure["confidence"].to_list() == [0.9] * 8
    assert table.filter(pl.col("item") == "torn")["cluster"].n_unique() == 2
    capsys.readouterr()
    assert richter("calibration", run, "--json", "-") == 0
    (row,) = json.loads(capsys.readouterr().out)["conditions"].values()
    assert (row["questions"], row["draws"], row["classes"]) == (2, 8, "offline")
    assert row["sem1"]["mean_confidence"] == pytest.approx((1 + 0.5) / 2)


def test_temperatures_are_swept_as_conditions(tmp_path: Path, bench: Path) -> None:
    args = (tmp_path / "run", bench, "--draws", 4, "--concurrency", 1)
    with FakeApi(reply=Replies()) as api:
        assert draw(*args, "--model", api.model, "--temperature", 0.5, "--temperature", 1) == 0
        assert sorted(body["temperature"] for body in api.bodies) == [0.5] * 8 + [1.0] * 8
    assert richter("calibration", tmp_path / "run", "--json", tmp_path / "c.json") == 0
    found = json.loads((tmp_path / "c.json").read_text())["conditions"]
    assert sorted(name.split()[1] for name in found) == ["t=0.5", "t=1"]
    assert [row["questions"] for row in found.values()] == [2, 2]


def test_adaptive_spends_nothing_on_what_is_settled(tmp_path: Path, bench: Path) -> None:
    run = tmp_path / "run"
    with FakeApi(reply=Replies()) as api:
        assert draw(run, bench, "--model", api.model, "--draws", 20, "--concurrency", 1, "--adaptive") == 0
        assert api.requests["Capital of France?"] == 8
        assert api.requests["Capital of Norway?"] == 20


def test_a_judge_groups(tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    with FakeApi(reply=Replies()) as api:
        assert draw(run, bench, "--model", api.model, "--draws", 4, "--judge", api.model, "--json", "-") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["repaired"] == 0
    torn = pl.read_ndjson(run / "draws.jsonl").filter(pl.col("item") == "torn")
    assert torn["cluster"].n_unique() == 1
    assert torn["correct"].to_list() == [1] * 4  # the class's grade, Bergen's too: it is this judge's group


def test_dry_run_asks_nothing(tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeApi() as api:
        assert draw(tmp_path / "run", bench, "--model", api.model, "--dry-run") == 0
        assert api.requests.total() == 0
    assert "100 calls missing" in capsys.readouterr().out


def test_a_judge_without_a_price_is_refused_before_any_draw(
    tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.toml"
    with FakeApi(reply=Replies()) as api:
        prices.write_text(f'["{api.model}"]\ninput_usd = 1.0\noutput_usd = 1.0\n')
        judge = ("--judge", f"{api.url}#other")
        assert draw(tmp_path / "run", bench, "--model", api.model, "--budget", "1usd", *judge) == 1
        assert api.requests.total() == 0
    assert "The price of" in capsys.readouterr().err


def test_the_budget_is_held(tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeApi(reply=Replies()) as api:
        assert draw(tmp_path / "run", bench, "--model", api.model, "--draws", 20, "--budget", "5calls") == 1
        assert api.requests.total() <= 5
    assert "budget" in capsys.readouterr().err
