import json
import math
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
    assert {"n", "errors", "error_rate", "mean_given_error", "b", "slope", "families", "per_million"} <= set(heavy)
    assert set(heavy["b"]) == {"aki", "truncated"}
    slope = heavy["slope"]
    assert slope["interval"]["low"] < heavy["b"]["truncated"] < slope["interval"]["high"]
    assert {"m_min", "n_above", "misfit", "misfit_limit", "adequate"} <= set(slope)
    assert heavy["n"] == 3000
    assert set(heavy["per_million"]) == {"0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5", "4.0"}
    assert set(heavy["families"]["fits"]) == {
        "power_law",
        "truncated_power_law",
        "exponential",
        "stretched_exponential",
        "lognormal",
    }
    assert {"paper", "paper_min_gap", "law_free", "screened", "adequate", "law"} <= set(result["counts"])
    claim = next(c for c in result["claims"] if c["conditions"] == ["heavy", "light"])
    assert claim["measure"] == "severity_given_error"
    assert result["understood"].startswith("3,000 questions x 4 ")
    assert claim["verdict"] == "verified"
    assert claim["estimate"] < 0  # the second, light, minus the first
    assert claim["interval"]["high"] < 0
    assert result["basis"] == claim["basis"] == "severities as given"
    assert result["refused"][0]["conditions"] == ["quiet"]
    quiet = result["conditions"]["quiet"]
    assert quiet["b"] is None
    assert quiet["slope"]["needed"] == 30
    assert quiet["per_million"]["4.0"]["per_million"] is None
    assert quiet["per_million"]["4.0"]["upper"] == pytest.approx(998.1, abs=0.1)


def test_text_says_the_verdict_first(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, str(scores), "--resamples", "300")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert text.startswith(
        "2 of 3 pairs differ in mean severity of errors. The errors of heavy are the most severe (mean "
    )
    assert "quiet is left out: it has no error in 3,000 rated answers" in text
    assert "alike is less severe in its errors than heavy: -" in text
    assert "equal within 5 points." in text
    before = out.split("How severe errors are")[0]
    assert before.count("on other measures: --all, or --json PATH.") == 1
    assert len(run(capsys, str(scores), "--resamples", "300", "--all")[1]) > 2 * len(out)
    assert "none seen, < 998" in out
    assert max(len(line) for line in out.splitlines() if line.startswith(" ")) <= 120  # the tables


def test_the_papers_rule_stands_beside_ours(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, str(scores), "--json", "-", "--resamples", "300")
    result = json.loads(out)
    assert (result["recipe"]["estimator"], result["recipe"]["m_min"]) == ("truncated", 1.5)
    heavy = result["conditions"]["heavy"]
    at = dict(zip(np.arange(0.5, 4.5, 0.5), heavy["slope"]["counts"][1:], strict=True))
    above = {s: n for s, n in at.items() if s >= heavy["paper"]["m_min"]}
    mean = sum(s * n for s, n in above.items()) / sum(above.values())
    assert heavy["paper"]["b"] == pytest.approx(math.log10(math.e) / (mean - heavy["paper"]["m_min"] + 0.25))
    _, out, _ = run(capsys, str(scores), "--all", "--resamples", "300")
    text = " ".join(out.split())
    assert "Of 3 pairs within 5 points of error rate the paper's rule (disjoint intervals of b" in text
    assert "with |delta b| > 0.15; without a law, at a false-discovery rate of 5%, " in text
    assert " 2 by mean severity of errors" in text


def test_same_seed_same_text(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (run(capsys, str(scores), "--resamples", "200", "--seed", "3") for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("rule", "code", "word"),
    [
        ("severity>=1 below 900000 per million", 0, "verified"),
        ("severity>=1 below 100 per million", 3, "refuted"),
    ],
)
def test_requirements_set_the_exit_status(
    scores: Path, capsys: pytest.CaptureFixture[str], rule: str, code: int, word: str
) -> None:
    found, out, _ = run(capsys, str(scores), "--require", rule, "--resamples", "200", "--json", "-")
    assert found == code
    assert word in {check["verdict"] for check in json.loads(out)["requirements"]}


def test_undecided_requirement_is_exit_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.csv"
    path.write_text("item,condition,severity\n" + "\n".join(f"q{i},m,0" for i in range(50)))
    code, out, _ = run(capsys, str(path), "--require", "severity>=3 below 100 per million")
    assert code == 4
    assert "29,956 answers without such an event would show it" in out.replace("\n", " ")
    assert "There is one model or prompt" in out


def test_traffic(scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mix = tmp_path / "mix.csv"
    mix.write_text("domain,share\nlaw,80\ngeo,15\nmedicine,5\n")
    code, out, _ = run(
        capsys,
        str(scores),
        "--traffic",
        str(mix),
        "--json",
        "-",
        "--resamples",
        "200",
    )
    assert code == 0
    assert json.loads(out)["notes"] == ["No item covers medicine: 5.0% of the traffic."]
    heavy = json.loads(out)["conditions"]["heavy"]
    assert heavy["uncovered"] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("q1,m,-7\nq2,m,1", "1 value lies off the scale 0:4 of severities (-7 for item q1)"),
        ("q1,m,1\nq1,m,2", "gave item 'q1' under 'm' different severities"),
        ("q1,m,\nq2,m,nan", "holds no severities"),
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
    code, out, _ = run(capsys, str(path), "--as-severity", "0:-25", "--json", "-", "--resamples", "200")
    assert code == 0
    assert json.loads(out)["conditions"]["m"]["errors"] == 500
    code, _, err = run(capsys, str(path))
    assert code == 1
    assert "--as-severity" in err
    code, _, err = run(capsys, str(path), "--as-severity", "25")
    assert code == 2
    assert "is not RIGHT:WORST" in err
    text = path.read_text().replace("-", "")
    path.write_text(text + "\n" + "\n".join(f"q{i},n,{(i * 7) % 26}" for i in range(520)))
    code, out, _ = run(capsys, str(path), "--resamples", "200")
    assert code == 0  # claims without a law need no option on another scale
    assert "Severities reach 25: another scale than 0 to 4." in out
    assert "--any-scale" in out
    assert "Severities reach" not in run(capsys, str(path), "--any-scale", "--resamples", "200")[1]
    code, _, err = run(capsys, str(path), "--require", "severity>=3 below 9 per million")
    assert code == 1
    assert "Requirements need severities from 0 to 4" in err


def test_names_from_a_file_cannot_move_the_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("item,condition,severity\n" + "\n".join(f"q{i},\x1b[2Jm,{i % 5}" for i in range(100)))
    _, out, _ = run(capsys, str(path), "--resamples", "200")
    assert "\x1b" not in out


def test_a_locked_plan_makes_it_confirmatory(scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from richter.audit import lock_plan, new_plan

    plan = tmp_path / "plan.toml"
    plan.write_text(
        new_plan(
            "severity",
            {
                "m_min": "1.0",
                "n_resamples": 200,
                "require": ["severity>=1 below 900000 per million"],
                "conditions": ["heavy", "light"],
            },
        )
    )
    lock_plan(plan)
    code, out, _ = run(capsys, str(scores), "--plan", str(plan), "--json", "-")
    result = json.loads(out)
    assert code == 0
    assert result["plan"]["confirmatory"] is True
    assert result["recipe"]["m_min"] == 1.0
    assert set(result["conditions"]) == {"heavy", "light"}
    assert result["requirements"][0]["plan"] == result["plan"]["hash"]
    assert all(claim["plan"] == result["plan"]["hash"] for claim in result["claims"])
    _, out, _ = run(capsys, str(scores), "--plan", str(plan), "--resamples", "300", "--json", "-")
    result = json.loads(out)
    assert result["plan"]["confirmatory"] is False
    assert "--n-resamples 300 against the plan" in result["plan"]["reasons"][0]
    assert {claim["plan"] for claim in result["claims"]} == {None}


def test_bad_options_are_one_line(scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mix = tmp_path / "mix.csv"
    mix.write_text("region,share\nx,1\n")
    for args, message in (
        (["--traffic", str(mix)], "a traffic mix needs `share` and `domain` or `tier`"),
        (["--require", "severity<3"], "cannot be read"),
    ):
        code, _, err = run(capsys, str(scores), "--resamples", "200", *args)
        assert code == 1
        assert message in err


def test_a_judge_whom_nobody_checked_is_named_by_hand(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ratings of kind judge: in the sentence and the basis of the first claim; a person's ratings beside them: not."""
    table = tmp_path / "r.csv"
    head, rows = "item,condition,rater,kind,severity", []
    for name, worst in (("old", 3.0), ("new", 2.0)):
        rows += [f"q{i},{name},gpt,judge,{worst - rng.integers(0, 3) / 2 if i % 2 else 0}" for i in range(300)]
    table.write_text("\n".join([head, *rows]))
    result = json.loads(run(capsys, str(table), "--json", "-")[1])
    assert {c["basis"] for c in result["claims"] if c["estimate"] is not None} == {"judge, unchecked"}
    assert "gpt" in result["basis"]
    people = [f"q{i},{name},anna,human,{2 if i % 2 else 0}" for i in range(60) for name in ("old", "new")]
    table.write_text("\n".join([head, *rows, *people]))
    result = json.loads(run(capsys, str(table), "--json", "-")[1])
    (severe,) = [c for c in result["claims"] if c["measure"] == "catastrophic_rate"]
    assert severe["basis"] != "judge, unchecked"
    assert result["human"]["old"]["basis"] == "corrected by 60 human labels"


def test_ratings_of_another_kind_are_counted_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{i},{c},{r},{r},{(i * 7 + len(r)) % 5}" for i in range(60) for c in "ab" for r in ("human", "judge")]
    path = tmp_path / "kinds.csv"
    path.write_text("\n".join(["item,condition,rater,kind,severity", *rows, "0,a,human2,human,1"]))
    code, out, _ = run(capsys, str(path), "--resamples", "200")
    assert code == 0
    assert "120 judge ratings are left out, since human ones count" in " ".join(out.split())


def test_a_margin_belongs_to_its_measure(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--margin", "0.5", "--margin", "catastrophic_rate=50pt", "--resamples", "200", "--json", "-"]
    claims = json.loads(run(capsys, str(scores), *given)[1])["claims"]
    stated = {c["measure"]: c["margin"] for c in claims if c["margin"] is not None}
    assert stated == {"severity_given_error": 0.5, "catastrophic_rate": 0.5}
    none = json.loads(run(capsys, str(scores), "--resamples", "200", "--json", "-")[1])["claims"]
    assert not any(c["verdict"] == "equivalent" for c in none)
    for bad in ("size=1", "b=wide", "-1", "9"):
        assert run(capsys, str(scores), "--margin", bad)[0] in (1, 2)


def test_a_projects_margin_that_is_stated_for_a_severity_reaches_it(
    scores: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scores.parent)
    Path("richter.toml").write_text('[margin]\naccuracy = "2pt"\nseverity_given_error = 0.2\n')
    claims = json.loads(run(capsys, str(scores), "--resamples", "200", "--json", "-")[1])["claims"]
    assert {c["measure"]: c["margin"] for c in claims if c["margin"]} == {"severity_given_error": 0.2}


@pytest.mark.parametrize("margin", ['"2pt"', "0.02"])
def test_a_projects_margin_of_scores_is_not_that_of_severities(
    scores: Path, margin: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scores.parent)
    Path("richter.toml").write_text(f"margin = {margin}\nlevel = 0.9\n")
    code, out, _ = run(capsys, str(scores), "--resamples", "200", "--json", "-")
    claims = json.loads(out)["claims"]
    assert code == 0
    assert not any(c["margin"] for c in claims)
    assert {c["plain_interval"]["level"] for c in claims if c["plain_interval"]} == {0.9}


def test_what_the_user_vouches_for_is_an_option_and_a_block_names_it(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = tmp_path / "r.csv", ["item,condition,rater,kind,severity"]
    for name in ("old", "new"):
        rows += [f"q{i},{name},judge of {name},judge,{rng.integers(0, 9) / 2}" for i in range(200)]
    path.write_text("\n".join(rows))
    code, out, _ = run(capsys, str(path), "--resamples", "200")
    assert code == 0
    assert "(--trust-raters overrides this.)" in " ".join(out.split())
    assert "200 questions x 2" in " ".join(out.split())
    _, out, _ = run(capsys, str(path), "--resamples", "200", "--trust-raters", "--json", "-")
    result = json.loads(out)
    assert result["claims"][0]["estimate"] is not None
    assert any("--trust-raters" in note for note in result["notes"])


def test_a_blocked_requirement_is_exit_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels drawn by stratum of which the others' strata are not known."""
    rows = ["item,condition,rater,kind,severity,stratum"]
    stratum = ["a" if i % 3 else "b" for i in range(80)] + [""] * 120
    rows += [f"q{i},m,gpt,judge,{i % 5},{stratum[i]}" for i in range(200)]
    rows += [f"q{i},m,anna,human,{i % 5},{stratum[i]}" for i in range(80)]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(rows))
    rule = "severity>=1 below 999999 per million"
    code, out, _ = run(capsys, str(path), "--require", rule, "--resamples", "200", "--json", "-")
    (check,) = json.loads(out)["requirements"]
    assert (code, check["verdict"], check["blocked_by"]) == (4, "blocked", "labels")
