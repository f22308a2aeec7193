"""The script of the ERRORQUAKE paper runs every analysis that the columns allow, and names the others."""

import json
from pathlib import Path

import numpy as np
import pytest

import errorquake
from errorquake_analyses import Skipped
from errorquake_scores import scores_of
from richter.severity import PAPER
from richter.tables import read_tables
from severity.studies_by_hand import simulated_scores


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A simulated study with two simulated judges, domains and tiers."""
    scores = simulated_scores(np.random.default_rng(8), [0.3, 0.45, 0.6, 0.75, 0.9], n=1600)
    lines = ["item,condition,severity,domain,tier,judge_1,judge_2,judge_1_name,judge_2_name,length"]
    for i, item in enumerate(scores.items):
        for j, name in enumerate(scores.conditions):
            first, second = scores.judges[:, i, j]
            judges = ",".join(scores.judge_names[:, i, j])
            where = f"{scores.domain[i]},{scores.tier[i]}"
            lines.append(f"{item},{name},{scores.severity[i, j]},{where},{first},{second},{judges},{i % 97}")
    path = tmp_path / "judged.csv"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def models(tmp_path: Path) -> Path:
    path = tmp_path / "models.csv"
    rows = "\n".join(f"m{i},{3 * 2**i}e9,dense" for i in range(5))
    path.write_text("condition,active_params,architecture\n" + rows)
    return path


@pytest.mark.slow
def test_every_analysis_runs(judged: Path, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratings = ["item,condition,rater,kind,severity,mechanism"]
    rows = [line.split(",") for line in judged.read_text().splitlines()[1:]]
    for row in rows[:2500]:
        kind = ("fabrication" if float(row[2]) > 2 else "retrieval") if float(row[2]) else ""
        ratings.append(f"{row[0]},{row[1]},r1,human,{row[2]},{kind}")
    human = tmp_path / "ratings.csv"
    human.write_text("\n".join(ratings))
    target = tmp_path / "out.json"
    words = f"{judged} --conditions {models} --human {human} --pair m0,m4 --resamples 200 --json {target}"
    errorquake.main(words.split())
    result = json.loads(target.read_text())
    assert len(result["analyses"]) == 21
    # slopes by tier and by domain need more errors above m_min than these conditions have there
    assert {n for n, v in result["analyses"].items() if "skipped" in v} <= {"prediction", "domain_variation"}
    assert result["conditions"]["m0"]["paper"]["b"] > 0
    assert result["counts"]["paper"] <= result["counts"]["matched"]
    assert "Scaling: " in capsys.readouterr().out


def test_what_the_columns_do_not_allow_is_named(judged: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(",".join(line.split(",")[:3]) for line in judged.read_text().splitlines()))
    _, analyses = errorquake.analyse_scores(bare, n_resamples=200)
    skipped = {name: result.skipped for name, result in analyses.items() if isinstance(result, Skipped)}
    assert skipped["scaling"] == "It needs a conditions table with active_params."
    assert "judge_1 and judge_2" in skipped["aggregation_rules"]


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--pair", "m0"], "is not A,B"), (["--conditions", "mix.csv"], "needs condition, active_params")],
)
def test_a_bad_option_is_one_line(
    options: list[str], message: str, judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mix.csv").write_text("region,share\nx,1\n")
    with pytest.raises(SystemExit) as stopped:
        errorquake.main([str(judged), "--resamples", "200", *options])
    assert stopped.value.code == 1
    assert message in capsys.readouterr().err


def test_the_recipe_of_the_paper_is_the_default(judged: Path) -> None:
    study, paper = errorquake.analyse_scores(judged, n_resamples=200, seed=1)
    same = errorquake.analyse_scores(judged, n_resamples=200, seed=1, recipe=PAPER)[1]
    assert paper["fixed_m_min"] == same["fixed_m_min"]
    assert study.counts.matched > 0


def test_scores_have_each_judges_own_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("item,condition,severity,domain,tier,judge_1,judge_2\na,x,1.5,law,2,1,2\nb,x,0,law,1,0,0\n")
    scores = scores_of(read_tables(path))
    assert scores.judges is not None
    assert np.array_equal(scores.judges[:, :, 0], [[1, 0], [2, 0]])
    assert [name for name, _ in scores.by_domain()] == ["law"]
