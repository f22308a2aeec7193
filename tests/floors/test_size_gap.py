"""`richter size` from data of two conditions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import size_power
from driver import mean_figures
from scipy.stats import nct
from scipy.stats import t as student

from helpers.outcomes import outcomes
from richter.claims import Asked, Question, Shares, as_sample, decide, difference_evidence, units_for
from richter.cli import main
from richter.records import Verdict


def test_size_gap_from_a_pilot_says_what_is_cheaper(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["item,condition,draw,correct"]
    for i in range(200):
        for k, name in enumerate(("old", "new")):
            rows += [f"q{i},{name},{d},{int(rng.random() < 0.6 + 0.1 * k)}" for d in range(2)]
    path = tmp_path / "pilot.csv"
    path.write_text("\n".join(rows))
    with pytest.raises(SystemExit) as stop:
        main(["size", str(path), "old", "new", "--margin", "5pt", "--cost-item", "9"])
    assert not stop.value.code
    out = capsys.readouterr().out
    assert "spread comes from" in out
    assert "money on repeats" in out  # an item costs nine draws, and items hardly vary
    found = size(capsys, str(path), "old", "new", "--margin", "5pt")
    # draws alone vary: 2 x 0.24 / 2 an item, at (2.80 / 0.05)^2; two one-sided tests take 2.93 in place of 2.80
    assert found["to_show_the_gap"] == pytest.approx(0.23 * (2.8016 / 0.05) ** 2, rel=0.15)
    assert found["labels"] / found["to_show_the_gap"] == pytest.approx((2.9264 / 2.8016) ** 2, rel=0.01)


def size(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, int]:
    with pytest.raises(SystemExit) as stop:
        main(["size", *words, "--json", "-"])
    assert not stop.value.code
    found: dict[str, int] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(("discordance", "gap"), [("0.2", 0.0), ("0.2", 0.05)])
def test_a_gap_is_settled_either_way_with_the_power_said_recovers_truth(
    rng: np.random.Generator, capsys: pytest.CaptureFixture[str], discordance: str, gap: float
) -> None:
    """`labels` by the verdict itself: equivalence where there is no gap, a difference where it is as large as that."""
    n, d = size(capsys, "--margin", "5pt", "--discordance", discordance)["labels"], float(discordance)
    wanted = Verdict.VERIFIED if gap else Verdict.EQUIVALENT
    settled, studies = 0, 500
    for _ in range(studies):
        u = rng.random(n)
        table = np.ones((n, 2))
        table[u < (d + gap) / 2, 0] = 0
        table[u > 1 - (d - gap) / 2, 1] = 0
        sample = as_sample(outcomes(table))
        names = (sample.outcomes.conditions[0], sample.outcomes.conditions[1])
        question = Question(measure="accuracy", conditions=names, margin=0.05)
        found = Asked(question=question, metric=sample.metric, evidence=difference_evidence(sample, *names))
        (claim,) = decide([found])
        settled += claim.verdict is wanted
    assert settled / studies > 0.8 - 3 * math.sqrt(0.8 * 0.2 / studies)


@pytest.mark.parametrize("variance", [0.5, 2.0, 10.0, 300.0])
@pytest.mark.parametrize("tail", [0.025, 0.0025])
def test_units_of_a_t_test_against_the_noncentral_t(variance: float, tail: float) -> None:
    """By z 3 groups of a variance of 0.5 were enough for a gap of 1, and a t test of 3 decides nothing."""
    n = units_for(variance, 1.0, tail=tail, power=0.8, freedom=1.0)

    def power(n: int) -> float:
        return float(nct.sf(student.isf(tail, n - 1), n - 1, math.sqrt(n / variance)))

    assert power(n) > 0.79
    assert n == 5 or power(n - 1) < 0.8


def test_items_in_few_groups_are_sized_by_t_by_hand() -> None:
    shares = Shares(
        conditions=("a", "b"), groups=0.02, items=0.1, draws=0.3, n_items=400, n_groups=20, draws_per_item=3.0,
        items_per_group=20.0,
    )  # fmt: skip
    items = shares.items_for(0.25, 3, alpha=0.05, power=0.8)
    per_item, groups = 0.02 * 20 + 0.1 + 0.3 / 3, items / 20
    reach = student.isf(0.025, groups - 1) + student.isf(0.2, groups - 1)
    assert items >= per_item * (reach / 0.25) ** 2 > items - 20
    assert shares.items_for(0.9, 3, alpha=0.05, power=0.8) == 100  # five groups: four degrees of freedom


def test_clusters_with_few_errors_count_once_as_in_a_gate_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--below", "1%", "--cluster-size", "10", "--intraclass", "0.2")
    assert size(capsys, *words)["labels"] == 2990  # 299 groups of 10; the design effect said 838 items
    six = size(capsys, *words, "--errors", "6")["labels"]
    assert six == pytest.approx(1182 * 2.8, rel=0.02)
    assert six > 1182 * 2.8  # and t of 330 groups in place of z


def test_a_pair_is_sized_by_the_ratio_that_decides_it_whatever_others_cost(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    """One free item of a third condition made the margin of 10% one of 0.10 dollars."""
    cost = np.exp(rng.normal(size=(60, 3))) * 20
    cost[5, 2] = 0.0
    sizes = []
    for number in (2, 3):
        rows = ["item,condition,correct,money_usd"]
        rows += [f"q{i},{'abc'[k]},1,{cost[i, k]}" for i in range(60) for k in range(number)]
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join(rows))
        sizes.append(size(capsys, str(path), "a", "b", "--on", "money", "--margin", "10%")["labels"])
    assert sizes[0] == sizes[1]


def scores(path: Path, rng: np.random.Generator, **columns: object) -> Path:
    """Two conditions of 200 questions with a score of 0 to 100; a question's own level varies."""
    level = rng.normal(60, 10, 200)
    rows = [f"item,condition,score{''.join(f',{name}' for name in columns)}"]
    for name in ("old", "new"):
        for i, score in enumerate(np.clip(level + rng.normal(0, 10, 200), 0, 100)):
            more = "".join(f",{value(i)}" for value in columns.values())  # type: ignore[operator]
            rows.append(f"q{i},{name},{score:.1f}{more}")
    path.write_text("\n".join(rows))
    return path


@pytest.mark.parametrize("margin", ["2pt", "2", "mean_score=2pt"])
def test_points_are_hundredths_of_the_scores_own_range(
    margin: str, tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 0 to 100 two points are 2.0; as 0.02 they asked for ten thousand times the questions."""
    path = scores(tmp_path / "s.csv", rng)
    found = size(capsys, str(path), "old", "new", "--scale", "0:100", "--margin", margin)
    assert found["margin"] == pytest.approx(2.0)
    assert found["measure"] == "mean_score"
    assert found["labels"] == pytest.approx(200 * (2.8016 / 2.0) ** 2, rel=0.25)  # a variance of 2 x 10^2
    assert found["understood"]


def test_groups_and_missing_grades_count_in_a_size(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("old", "new", "--scale", "0:100", "--margin", "2pt")
    alone = size(capsys, str(scores(tmp_path / "a.csv", np.random.default_rng(1))), *words)
    level, rows = np.random.default_rng(1).normal(0, 8, 20), ["item,condition,score,group"]
    noise = rng.normal(0, 7, (200, 2))
    for k, name in enumerate(("old", "new")):
        rows += [f"q{i},{name},{50 + k * level[i // 10] + noise[i, k]:.1f},g{i // 10}" for i in range(200)]
    (tmp_path / "g.csv").write_text("\n".join(rows))
    grouped = size(capsys, str(tmp_path / "g.csv"), *words)
    (tmp_path / "i.csv").write_text("\n".join(row.rpartition(",")[0] for row in rows))
    assert grouped["labels"] > 2 * size(capsys, str(tmp_path / "i.csv"), *words)["labels"]
    lines = scores(tmp_path / "m.csv", np.random.default_rng(1)).read_text().splitlines()
    lost = [line.rsplit(",", 1)[0] + "," if k % 19 == 5 else line for k, line in enumerate(lines)]
    (tmp_path / "m.csv").write_text("\n".join(lost))
    missing = size(capsys, str(tmp_path / "m.csv"), *words)
    assert missing["labels"] > 1.5 * alone["labels"]  # they may be worth 0
    assert any("lacks" in note for note in missing["notes"])  # type: ignore[attr-defined]
    at_random = size(capsys, str(tmp_path / "m.csv"), *words, "--missing", "at-random")
    assert at_random["labels"] == pytest.approx(alone["labels"], rel=0.15)  # the same but for 21 of 400 answers


def test_a_blocked_pair_is_not_sized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["item,condition,correct"]
    rows += [f"q{i},old,{i % 2}" for i in range(100)] + [f"q{i},new,{i % 3 % 2}" for i in range(90, 190)]
    (tmp_path / "apart.csv").write_text("\n".join(rows))
    with pytest.raises(SystemExit) as stop:
        main(["size", str(tmp_path / "apart.csv"), "old", "new", "--margin", "2pt"])
    assert stop.value.code == 1
    assert "10 of 190 questions" in capsys.readouterr().err
    found = size(capsys, str(tmp_path / "apart.csv"), "old", "new", "--margin", "2pt", "--unpaired")
    # rates of 1/2 and 1/3 on 100 questions each, at (2.80 / 0.02)^2 of each
    assert found["to_show_the_gap"] == pytest.approx(2 * (0.25 + 2 / 9) * (2.8016 / 0.02) ** 2, rel=0.05)


@pytest.mark.parametrize("world", ["money, spreads 0.7 and 0.7", "scores in uneven groups"])
def test_a_size_from_a_pilot_has_the_power_said_recovers_truth(world: str) -> None:
    """A seeded sample of `studies/size_power.py`: 200 studies of the size that the command says."""
    power = mean_figures({"world": world}, size_power.trial, 200)["power %"]
    off = 3 * math.sqrt(0.8 * 0.2 / 200)
    assert 0.77 - off < power < 0.83 + off
