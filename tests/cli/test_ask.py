"""`richter audit --only ask`, `run` and `export` through the command line, against a real server on loopback."""

import json
import os
import stat
import sys
from pathlib import Path

import polars as pl
import pytest

from helpers.server import FakeApi, answer_for
from richter.cli import main
from richter.store import run_used


def richter(*args: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in args])
    return int(stop.value.code or 0)


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    path = tmp_path / "bench.jsonl"
    rows = [
        {"id": f"i{n}", "prompt": f"question {n}", "reference": f"r{n}", "domain": "d", "tier": 1} for n in range(9)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_ask_show_export(tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    with FakeApi() as api:
        args = (
            "audit",
            "--only",
            "ask",
            run,
            "--bench",
            bench,
            "--model",
            api.model,
            "--temperature",
            0,
            "--temperature",
            1,
        )
        assert richter(*args, "--draws", 2, "--json", "-") == 0
        spent = json.loads(capsys.readouterr().out)["spent"]
        assert spent["answers"] == 9 * 2 * 2 == api.requests.total()
        assert spent["unpriced"] == 36
        assert richter(*args, "--draws", 2) == 0
        assert api.requests.total() == 36
    assert "price unknown" in capsys.readouterr().out
    assert richter("view", run, "--json", "-") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["items"] == 9
    assert [c["answers"] for c in shown["conditions"].values()] == [18, 18]
    assert richter("view", tmp_path, "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["answers"] == 36
    for name in ("a.parquet", "a.csv", "a.jsonl"):
        assert richter("export", run, "-o", tmp_path / name) == 0
    frames = [
        pl.read_parquet(tmp_path / "a.parquet"),
        pl.read_ndjson(tmp_path / "a.jsonl"),
        pl.read_csv(tmp_path / "a.csv"),
    ]
    for frame in frames:
        assert frame.height == 36
        assert frame["answer"][0] == answer_for("question 0")
    capsys.readouterr()
    assert richter("export", run, "-o", tmp_path / "a.csv") == 1
    assert "exists" in capsys.readouterr().err


def test_dry_run_prices_and_touches_nothing(
    tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = tmp_path / "run"
    assert (
        richter(
            "audit", "--only", "ask", run, "--bench", bench, "--model", "openai/gpt-4o-mini", "--dry-run", "--json", "-"
        )
        == 0
    )
    row = json.loads(capsys.readouterr().out)["dry_run"][0]
    # 9 calls; in: 30 + floor(10 bytes / 4) = 32 tokens each at $0.15, out at most 500 each at $0.60 per million
    assert row["calls"] == 9
    assert row["money_usd_most"] == pytest.approx((9 * 32 * 0.15 + 9 * 500 * 0.60) / 1e6)
    assert not run.exists()


def test_budget_in_money(tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prices = tmp_path / "prices.toml"
    with FakeApi(delay_s=0.01) as api:
        args = (
            "audit",
            "--only",
            "ask",
            tmp_path / "run",
            "--bench",
            bench,
            "--model",
            api.model,
            "--max-tokens",
            10,
            "--budget",
            "1usd",
        )
        assert richter(*args) == 1
        assert "price of http" in capsys.readouterr().err
        assert not (tmp_path / "run").exists()
        # each call: at most 10 bytes + 256 in and 10 out = 276 tokens = $0.276; really 3 in + 3 out = $0.006
        prices.write_text(f'["{api.model}"]\ninput_usd = 1000\noutput_usd = 1000\n')
        assert richter(*args[:-1], "0.290usd", "--prices", prices) == 1
        assert "is used up" in capsys.readouterr().err
        # three answers leave less than one bound: 0.290 - 3 x 0.006 = 0.272 < 0.276
        assert api.requests.total() == 3


def test_a_price_on_the_command_line_holds_a_budget(
    tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeApi() as api:
        args = ("audit", "--only", "ask", tmp_path / "run", "--bench", bench, "--model", api.model, "--max-tokens", 10)
        assert richter(*args, "--price", "1000,1000", "--dry-run") == 0
        assert "Prices: litellm" in capsys.readouterr().out
        assert richter(*args, "--price", "1000,1000", "--budget", "0.290usd") == 1  # as with a file of prices
        assert api.requests.total() == 3
        assert "Prices: litellm" in capsys.readouterr().err
        assert richter(*args, "--price", f"{api.model}=0,0", "--budget", "1usd") == 0
        assert richter(*args, "--price", "cheap") == 1
        assert "--price 'cheap'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--model": "nobody/x"}, "names no known model provider"),
        ({"--model": "openai/gpt-4o"}, "export OPENAI_API_KEY"),
        ({"--model": "http://127.0.0.1:9/v1#m"}, "cannot connect"),
        ({"--bench": "none.jsonl"}, "none.jsonl"),
        ({"--model": "none.gguf"}, "No such file"),
        ({"--budget": "lots"}, "--budget 'lots'"),
        ({"--prices": "none.toml"}, "prices file"),
        ({"--system": "@none.txt"}, "cannot be read"),
        ({"--style": "cloze"}, "no cloze stem"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path,
    bench: Path,
    change: dict[str, str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    options = {"--bench": str(bench), "--model": "http://127.0.0.1:9/v1#m", **change}
    assert richter("audit", "--only", "ask", "run", *(part for pair in options.items() for part in pair)) == 1
    errors = capsys.readouterr().err.strip().splitlines()
    assert message in errors[-1]
    assert errors[-1].startswith("richter: ")
    assert len(errors) == 1
    if "127.0.0.1" not in options["--model"] or change == {"--style": "cloze"}:
        assert not Path("run").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a", "prompt": "p", "reference": "r"', "line 2"),
        ('{"id": "i0", "prompt": "p", "reference": "r"}', "i0"),
        ('{"id": "a", "prompt": " ", "reference": "r"}', "prompt"),
        ('{"id": "a", "reference": "r"}', "prompt"),
    ],
)
def test_bad_items_name_the_line(tmp_path: Path, line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"id": "i0", "prompt": "p", "reference": "r"}\n' + line + "\n")
    assert (
        richter("audit", "--only", "ask", tmp_path / "run", "--bench", path, "--model", "http://127.0.0.1:9/v1#m") == 1
    )
    error = capsys.readouterr().err
    assert message in error
    assert "bad.jsonl" in error
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert (
            richter("audit", "--only", "ask", tmp_path / "run", "--bench", bench, "--model", "http://127.0.0.1:9/v1#m")
            == 1
        )
    finally:
        tmp_path.chmod(stat.S_IRWXU)
    assert "cannot be written" in capsys.readouterr().err


def test_hostile_answers_are_inert(tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    with FakeApi(reply=lambda prompt: "=cmd|'/c calc'!A1 \x1b[2J\u202e<script>") as api:
        assert richter("audit", "--only", "ask", run, "--bench", bench, "--model", api.model) == 0
    capsys.readouterr()
    assert richter("view", run, "--list") == 0
    shown = capsys.readouterr().out
    assert "\x1b[2J" not in shown
    assert "\\x1b[2J\\u202e" in shown
    assert richter("export", run, "-o", tmp_path / "a.csv") == 0
    assert pl.read_csv(tmp_path / "a.csv")["answer"][0].startswith("'=cmd")
    assert richter("export", run, "-o", tmp_path / "a.parquet") == 0
    assert pl.read_parquet(tmp_path / "a.parquet")["answer"][0].startswith("=cmd")


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden")
    assert richter("doctor", "--json", "-") == 0
    captured = capsys.readouterr()
    assert "sk-hidden" not in captured.out + captured.err
    rows = {row["what"]: row for row in json.loads(captured.out)["checks"]}
    assert rows["key for openai/"]["state"] == "ok: OPENAI_API_KEY"
    assert rows["richter"]["state"].startswith("ok")


def test_doctor_counts_what_is_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for number, said in ((0, "takes some seconds"), (2, f"2 kept in {tmp_path}")):
        for k in range(number):
            (tmp_path / f"loop{k}.py311.nbi").touch()
        assert richter("doctor", "--json", "-") == 0
        rows = {row["what"]: row["state"] for row in json.loads(capsys.readouterr().out)["checks"]}
        assert said in rows["compiled loops"]


def test_json_never_over_an_input(tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = bench.read_bytes()
    args = (
        "audit",
        "--only",
        "ask",
        tmp_path / "run",
        "--bench",
        bench,
        "--model",
        "smollm2",
        "--dry-run",
        "--json",
        bench,
    )
    assert richter(*args) == 1
    assert "overwrite an input" in capsys.readouterr().err
    assert bench.read_bytes() == before


def test_what_may_have_been_billed_is_shown_and_settled(
    tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "run")
    prices = tmp_path / "prices.toml"
    with FakeApi(fault_share=1.0, seed=2) as api:
        prices.write_text(f'["{api.model}"]\ninput_usd = 1000\noutput_usd = 1000\n')
        command = [
            "audit",
            "--only",
            "ask",
            run,
            "--bench",
            str(bench),
            "--model",
            api.model,
            "--prices",
            str(prices),
            "--limit",
            "1",
        ]
        assert richter(*command, "--timeout", "0.2", "--budget", "0.9usd") == 1  # 0.77 dollars hold one attempt
    assert "is used up" in capsys.readouterr().err
    assert richter("view", run, "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["unsettled"]["money_usd"] > 0.7
    assert richter("view", run, "--list") == 0
    assert "may have been billed up to $0.7" in capsys.readouterr().out
    assert richter("export", run, "--billed", "0.1") == 0
    capsys.readouterr()
    assert run_used(run).money_usd == pytest.approx(0.1)
    assert richter("export", run, "--billed", "0.1") == 0
    assert "there is no call to settle" in capsys.readouterr().out
    assert run_used(run).money_usd == pytest.approx(0.1)
