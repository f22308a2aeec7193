import json
from pathlib import Path

import numpy as np
import pytest

from richter.cli import main
from severity.laws import geometric


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["severity", *args])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    lines = ["item,condition,severity,domain,tier"]
    for name, b in (("heavy", 0.4), ("light", 0.9), ("alike", 0.9)):
        severity = np.where(rng.random(3000) < 0.3, rng.choice(8, size=3000, p=geometric(b)) / 2 + 0.5, 0.0)
        lines += [f"q{i},{name},{s},{'law' if i % 3 else 'geo'},{i % 5 + 1}" for i, s in enumerate(severity)]
    lines += [f"q{i},quiet,0,{'law' if i % 3 else 'geo'},{i % 5 + 1}" for i in range(3000)]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_json_has_the_names_that_are_relied_on(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(scores), "--json", "-", "--resamples", "300")
    assert code == 0
    result = json.loads(out)
    assert set(result["conditions"]) == {"heavy", "light", "alike", "quiet"}
    heavy = result["conditions"]["heavy"]
    assert {
        "n",
        "errors",
        "error_rate",
        "b",
        "m_min",
        "n_above",
        "interval",
        "gof_p",
        "best_family",
        "families",
        "per_million",
    } <= set(heavy)
    assert set(heavy["b"]) == {"aki", "exact", "truncated", "censored"}
    assert heavy["interval"][0] < heavy["b"]["truncated"] < heavy["interval"][1]
    assert heavy["n"] == 3000
    assert set(heavy["per_million"]) == {"0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5", "4.0"}
    assert set(heavy["families"]) == {
        "power_law",
        "truncated_power_law",
        "exponential",
        "stretched_exponential",
        "lognormal",
    }
    assert {"paper", "paper_min_gap", "difference_test", "gated"} <= set(result["counts"])
    pair = next(p for p in result["pairs"] if {p["a"], p["b"]} == {"heavy", "light"})
    assert {"a", "b", "delta_error_rate", "delta_b", "disjoint", "p", "q", "verdict", "gates"} <= set(pair)
    assert pair["verdict"] == "verified"
    quiet = result["conditions"]["quiet"]
    assert quiet["b"]["truncated"] is None
    assert (quiet["verdict"], quiet["needed"]) == ("undecided", 30)
    assert quiet["per_million"]["4.0"]["per_million"] is None
    assert quiet["per_million"]["4.0"]["upper"] == pytest.approx(998.1, abs=0.1)


def test_text_says_the_verdict_first(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, str(scores), "--resamples", "300")
    assert (code, err) == (0, "")
    assert out.startswith("2 of 3 pairs at matched accuracy differ in the shape of their errors and pass every gate.")
    assert "quiet: inconclusive. 0 errors in 3000 answers" in out
    assert "none seen, < 998" in out
    assert max(len(line) for line in out.splitlines()) <= 120


def test_paper_mode_is_the_papers_recipe(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, str(scores), "--json", "-", "--paper", "--resamples", "300")
    result = json.loads(out)
    assert result["recipe"] == {"estimator": "aki", "m_min": "ks", "min_events": 30, "min_bins": 1, "reselect": False}
    heavy = result["conditions"]["heavy"]
    assert heavy["paper"]["b"] == heavy["b"]["aki"]


def test_same_seed_same_text(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (run(capsys, str(scores), "--resamples", "200", "--seed", "3") for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("rule", "code", "word"),
    [
        ("severity>=1 below 900000 per million", 0, "Verified"),
        ("severity>=1 below 100 per million", 3, "Violated"),
    ],
)
def test_requirements_set_the_exit_status(
    scores: Path, capsys: pytest.CaptureFixture[str], rule: str, code: int, word: str
) -> None:
    found, out, _ = run(capsys, str(scores), "--require", rule, "--resamples", "200")
    assert found == code
    assert out.startswith(word)


def test_undecided_requirement_is_exit_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.csv"
    path.write_text("item,condition,severity\n" + "\n".join(f"q{i},m,0" for i in range(50)))
    code, out, _ = run(capsys, str(path), "--require", "severity>=3 below 100 per million")
    assert code == 4
    assert "29,956 answers without such an event would show it" in out.replace("\n", " ")
    assert "One condition only" in out


def test_traffic_and_costs(scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mix = tmp_path / "mix.csv"
    mix.write_text("domain,share\nlaw,80\ngeo,15\nmedicine,5\n")
    code, out, _ = run(
        capsys,
        str(scores),
        "--traffic",
        str(mix),
        "--cost",
        "1=5",
        "--cost",
        "3=2000",
        "--json",
        "-",
        "--resamples",
        "200",
    )
    assert code == 0
    heavy = json.loads(out)["conditions"]["heavy"]
    assert heavy["uncovered"] == pytest.approx(0.05)
    assert heavy["expected_loss"]["interval"]["low"] < heavy["expected_loss"]["per_answer"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("q1,m,7\nq2,m,1", "severity value off the 0..4 scale (data row 1: 7)"),
        ("q1,m,1\nq1,m,2", "duplicate (item, condition)"),
        ("q1,m,\nq2,m,nan", "no row has a severity"),
        ("q1,m,bad\nq2,m,1", "severity is not a number"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(f"item,condition,severity\n{body}\n")
    code, out, err = run(capsys, str(path))
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_another_scale_is_mapped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("item,condition,severity\n" + "\n".join(f"q{i},m,{-(i % 26)}" for i in range(520)))
    code, out, _ = run(capsys, str(path), "--scale", "0:-25", "--json", "-", "--resamples", "200")
    assert code == 0
    assert json.loads(out)["conditions"]["m"]["errors"] == 500
    code, _, err = run(capsys, str(path), "--scale", "25")
    assert code == 1
    assert "is not LOW:HIGH" in err


def test_names_from_a_file_cannot_move_the_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("item,condition,severity\n" + "\n".join(f"q{i},\x1b[2Jm,{i % 5}" for i in range(100)))
    _, out, _ = run(capsys, str(path), "--resamples", "200")
    assert "\x1b" not in out
