import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from richter.cli import main
from tail.simulated import mixture_quantiles

N = 12_000  # 600 exceedances: above the floor, below eq. (2)


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def write(path: Path, columns: dict[str, np.ndarray], name: str = "nll") -> str:
    frames = [pl.DataFrame({"item": np.arange(len(v)), "condition": [c] * len(v), name: v}) for c, v in columns.items()]
    pl.concat(frames).write_csv(path)
    return str(path)


@pytest.fixture
def scores(tmp_path: Path, rng: np.random.Generator) -> str:
    # quantiles in the place of draws, so that no gate with a level falls by chance; only who got which item is random
    columns = {name: rng.permutation(mixture_quantiles(N, xi)) for name, xi in (("old", 0.0), ("new", 0.2))}
    return write(tmp_path / "scores.csv", columns)


def test_json_has_the_names_others_rely_on(scores: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run("severity", "tail", scores, "--map", "score=nll", "--q", "0.95", "--resamples", "400", "--json", "-") == 0
    )
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert set(result["conditions"]) == {"old", "new"}
    for condition in result["conditions"].values():
        assert {"n", "n_exc", "threshold", "xi", "sigma", "interval", "ad_p", "mean", "tvar", "bounded"} <= set(
            condition
        )
        assert (condition["n"], condition["n_exc"], condition["bounded"]) == (N, 600, None)
        assert set(condition["interval"]) == {"low", "high", "level", "method"}
    (pair,) = result["claims"]
    assert {"measure", "conditions", "estimate", "interval", "gates", "verdict", "blocked_by", "needed_for"} <= set(
        pair
    )
    assert [gate["name"] for gate in pair["gates"]] == ["G1", "G2", "G3", "G4", "G5", "P1", "P2"]
    assert all("passed" in gate and "rule" in gate for gate in pair["gates"])
    assert pair["verdict"] == "undecided"  # 600 of 1,570
    assert pair["needed"] == 31_400
    first, second = pair["conditions"]
    assert pair["estimate"] == pytest.approx(result["conditions"][second]["xi"] - result["conditions"][first]["xi"])
    assert result["paired"] is True
    assert "Inconclusive: " in captured.err


@pytest.mark.parametrize(("rule", "passed"), [("floor", True), ("bound", False)])
def test_rule_of_g3_is_an_option(rule: str, passed: bool, scores: str, capsys: pytest.CaptureFixture[str]) -> None:
    """600 exceedances: above the floor of 500, below the bound of 1,570."""
    run("severity", "tail", scores, "--map", "score=nll", "--exceedances", rule, "--resamples", "200", "--json", "-")
    (pair,) = json.loads(capsys.readouterr().out)["claims"]
    assert next(gate["passed"] for gate in pair["gates"] if gate["name"] == "G3") is passed


def test_half_steps_are_untestable(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = {name: rng.integers(0, 9, size=500) / 2 for name in "ab"}
    assert run("severity", "tail", write(tmp_path / "s.csv", steps, "severity"), "--json", "-") == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert result["claims"][0]["verdict"] == "untestable"
    assert "richter severity" in " ".join(captured.err.split())


def test_locked_plan_is_confirmatory_until_an_option_departs(
    scores: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = str(tmp_path / "plan.toml")
    sets = ["tolerance_mean=0.1", "tolerance_tvar=0.2", "column=nll", "n_resamples=200", "items_per_condition=11000"]
    assert run("plan", "new", "tail", "-o", plan, *(a for s in sets for a in ("--set", s))) == 0
    assert run("plan", "lock", plan) == 0
    capsys.readouterr()
    assert run("severity", "tail", scores, "--plan", plan, "--json", "-") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["claim"]["plan"] == result["plan_status"]["hash"]
    assert result["conditions"]["old"]["n"] == 11_000
    assert run("severity", "tail", scores, "--plan", plan, "--q", "0.9", "--json", "-") == 0
    departed = json.loads(capsys.readouterr().out)
    assert departed["claim"]["plan"] is None
    assert "q: plan 0.95, option 0.9" in departed["plan_status"]["reasons"][0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,condition,x\n1,a,0.5\n", "has no column 'nll'"),
        ("item,condition,nll\n1,a,high\n", "is not a number in 1 row"),
        ("item,condition,nll\n1,a,inf\n2,a,1\n", "is infinite in 1 rows"),
        ("item,condition,nll\n1,a,1\n1,a,2\n", "item '1' occurs more than once under"),
        ("item,condition,nll\n", "no rows"),
    ],
)
def test_bad_files_are_named(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert run("severity", "tail", str(path), "--map", "score=nll") == 1
    assert message in capsys.readouterr().err


def shown(*args: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert run("severity", "tail", *args, "--resamples", "200", "--json", "-") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_same_data_in_other_shapes_have_the_same_tails(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the one reader, by the options that every command has."""
    columns = {name: rng.permutation(mixture_quantiles(2000, xi)) for name, xi in (("old", 0.0), ("new", 0.2))}
    long = write(tmp_path / "long.csv", columns)
    expected = shown(long, "--map", "score=nll", capsys=capsys)
    assert {name: c["mean"] for name, c in expected["conditions"].items()} == pytest.approx(
        {name: v.mean() for name, v in columns.items()}
    )
    wide, named, turned = (tmp_path / name for name in ("wide.tsv", "named.csv", "turned.csv"))
    pl.DataFrame({"question_id": np.arange(2000), **columns}).write_csv(wide, separator="\t")
    table = pl.read_csv(long)
    table.rename({"item": "frage", "condition": "variante"}).write_csv(named, separator=";")
    table.with_columns((-pl.col("nll")).alias("nll")).write_csv(turned)
    for found in (
        shown(str(wide), "--wide", "old,new", capsys=capsys),
        shown(str(named), "--map", "score=nll", "--map", "item=frage", "--map", "condition=variante", capsys=capsys),
        shown(str(turned), "--map", "score=nll", "--better", "higher", capsys=capsys),
    ):
        assert found["conditions"] == expected["conditions"]
        assert found["claims"] == expected["claims"]


def test_without_a_name_the_severities_are_taken_then_the_score_and_a_run_has_no_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.csv"
    table = pl.DataFrame({"id": ["1", "2"] * 2, "model": ["a", "a", "b", "b"], "loss": [0.5, 1, 2, 3]})
    table.write_csv(path)
    found = shown(str(path), "--yes", capsys=capsys)
    assert (found["column"], found["conditions"]["b"]["mean"]) == ("loss", 2.5)
    table.with_columns(pl.Series("severity", [0, 4, 3, 3])).write_csv(path)
    found = shown(str(path), "--better", "higher", capsys=capsys)  # which is said of scores
    assert (found["column"], found["conditions"]["b"]["mean"]) == ("severity", 3)
    assert run("import", str(path), "-o", str(tmp_path / "run")) == 0
    assert shown(str(tmp_path / "run"), capsys=capsys)["conditions"] == found["conditions"]
    assert run("severity", "tail", str(tmp_path / "run"), "--map", "score=loss") == 1
    assert "is a run: it has no column 'loss'" in capsys.readouterr().err


def test_a_scale_is_the_bound_and_severities_run_from_0_to_4_by_hand(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "s.csv", {name: rng.uniform(-25, 0, size=2000) for name in "ab"}, "mqm")
    points = shown(path, "--map", "score=mqm", "--better", "higher", "--scale=-25:0", capsys=capsys)
    assert points["plan"]["bounds"] == [0, 25]
    severe = shown(path, "--map", "score=mqm", "--as-severity", "0:-25", capsys=capsys)
    assert severe["plan"]["bounds"] == [0, 4]
    for name, tail in points["conditions"].items():
        assert (tail["bounded"]["bound"], tail["bounded"]["kind"]) == (25, "declared")
        same = severe["conditions"][name]
        assert (same["bounded"]["bound"], same["bounded"]["kind"]) == (4, "declared")
        assert same["threshold"] == pytest.approx(tail["threshold"] * 4 / 25)
        assert 20 < tail["threshold"] < 25  # of the worst, which are the lowest scores
    assert run("severity", "tail", path, "--map", "score=mqm", "--scale=-20:0") == 1
    assert "outside the scale -20:0" in capsys.readouterr().err


def test_options_of_reading_against_a_plan_are_reasons(
    scores: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = str(tmp_path / "plan.toml")
    sets = ["tolerance_mean=0.1", "tolerance_tvar=0.2", "column=nll", "n_resamples=200"]
    assert run("plan", "new", "tail", "-o", plan, *(a for s in sets for a in ("--set", s))) == 0
    found = shown(scores, "--plan", plan, "--better", "higher", "--scale=-1:1000", capsys=capsys)
    differing = "lower_is_worse: plan False, option True; bounds: plan [], option [-1000.0, 1.0]"
    assert differing in found["plan_status"]["reasons"][0]


def test_unequal_items_are_resampled_independently(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "s.csv", {"a": mixture_quantiles(2000, 0.0), "b": mixture_quantiles(1990, 0.0)})
    assert run("severity", "tail", path, "--map", "score=nll", "--resamples", "200") == 0
    assert "resampled independently" in capsys.readouterr().out


def test_size_in_items_and_money(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("size", "tail", "--delta-xi", "0.1", "--q", "0.95", "--usd-per-call", "0.001") == 0
    text = capsys.readouterr().out
    assert "31,400 items" in text
    assert "USD" in text
    assert run("size", "tail", "--delta-xi", "0.2", "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["exceedances_z"] == 393
    assert run("size", "tail", "--delta-xi", "-1") == 1


def test_level_and_what_the_user_vouches_for_are_options(
    scores: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "lost.csv")
    pl.read_csv(scores).filter((pl.col("condition") != "new") | (pl.col("item") >= 300)).write_csv(path)
    assert shown(path, "--map", "score=nll", capsys=capsys)["claim"]["blocked_by"] == "missing"
    taken = shown(path, "--map", "score=nll", "--missing", "at-random", capsys=capsys)
    assert taken["claim"]["blocked_by"] != "missing"
    assert taken["understood"].startswith("12,000 questions x 2")
    monkeypatch.chdir(tmp_path)
    Path("richter.toml").write_text("level = 0.9\n")
    assert shown(scores, "--map", "score=nll", capsys=capsys)["plan"]["alpha"] == pytest.approx(0.1)
    assert shown(scores, "--map", "score=nll", "--level", "0.99", capsys=capsys)["plan"]["alpha"] == pytest.approx(0.01)
