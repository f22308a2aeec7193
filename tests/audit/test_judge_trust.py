"""Can I trust the judge: planted biases are found without labels, agreement is that of textbooks."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from richter.audit import JudgeTrust, compare_tables, measure_run, study_judges
from richter.cli import main
from richter.records import Verdict
from richter.report._figures import figures
from richter.stats import agreement_with_labels, grade_dependence, position_bias
from richter.tables import read_tables

N = 500


def graded(seed: int, *, length: float = 0.0, family: float = 0.0, labels: int = 0) -> pl.DataFrame:
    """Two models on 500 questions; a judge of one's family beside references; planted biases in shares of answers."""
    rng = np.random.default_rng(seed)
    own = np.repeat([0.0, 1.0], N)
    right = rng.normal(0, 1, 2 * N) < 0.9
    words = np.exp(rng.normal(3, 0.5, 2 * N)).astype(int) + 2
    judge = np.where(rng.random(2 * N) < 0.06, ~right, right)
    planted = length * (words > np.median(words)) + family * own
    judge = judge | (~judge & (rng.random(2 * N) < planted / max(1 - judge.mean(), 1e-9)))
    rows = {
        "item": np.tile([f"q{i:03d}" for i in range(N)], 2), "condition": np.repeat(["claude-x", "gpt-y"], N),
        "answer": ["word " * n for n in words],
    }  # fmt: skip
    frames = [
        pl.DataFrame(rows | {"rater": [name] * 2 * N, "kind": [kind] * 2 * N, "severity": 2.0 * ~said})
        for name, kind, said in (("gpt-judge", "judge", judge), ("reference", "rule", right))
    ]
    if labels:
        frames.append(frames[1].sample(labels, seed=seed).with_columns(rater=pl.lit("anna"), kind=pl.lit("human")))
    return pl.concat(frames)


def biases(found: JudgeTrust | None) -> dict[str, float]:
    assert found is not None
    (study,) = found.judges
    shown = {b.kind: b.claim for b in study.biases}
    return {kind: claim.estimate or 0.0 for kind, claim in shown.items() if claim.verdict is not Verdict.UNDECIDED}


def test_planted_biases_are_found_with_their_size_and_what_they_move() -> None:
    found = study_judges(read_tables(graded(1, family=0.12)))
    assert set(biases(found)) == {"family"}
    assert found is not None
    (bias,) = [b for b in found.judges[0].biases if b.kind == "family"]
    assert bias.claim.estimate == pytest.approx(0.12, abs=0.05)
    assert bias.shifts["gpt-y minus claude-x"] == pytest.approx(bias.claim.estimate)
    assert (found.judges[0].reference, found.judges[0].is_true) == ("reference", True)
    assert set(biases(study_judges(read_tables(graded(2, length=0.12))))) == {"length"}
    assert not biases(study_judges(read_tables(graded(3))))


def test_each_kind_of_bias_is_decided_by_itself() -> None:
    """Two kinds in one Holm list would decide the first at 97.5%."""
    found = study_judges(read_tables(graded(1)))
    assert found is not None
    claims = [bias.claim for bias in found.judges[0].biases]
    assert len(claims) == 2
    assert [claim.interval.level for claim in claims if claim.interval is not None] == [0.95, 0.95]


def test_five_points_are_found_in_four_of_five_recovers_truth(rng: np.random.Generator) -> None:
    """150 trials of `studies/judges_biases.py`: found in 80%, false in 5%, each less or more four binomial errors."""
    shown = {"planted": 0, "false": 0}
    for _ in range(150):
        right = rng.normal(0, 1, 2 * N) < 0.9
        own, item = np.repeat([0.0, 1.0], N), np.tile(np.arange(N), 2)
        longer = rng.random(2 * N) < 0.5
        judge = np.where(rng.random(2 * N) < 0.06, ~right, right)
        judge = judge | (~judge & (rng.random(2 * N) < 0.05 * own / (1 - judge.mean())))
        slopes = grade_dependence(judge, right, {"family": own, "length": longer}, unit=item)
        shown["planted"] += 0 not in slopes["family"].interval(0.95)
        shown["false"] += 0 not in slopes["length"].interval(0.95)
    assert shown["planted"] >= 100
    assert shown["false"] <= 18


def test_a_second_judge_that_errs_does_not_make_correctness_a_bias(rng: np.random.Generator) -> None:
    """Right answers are longer: among those that an erring judge passes, the longer ones are the right ones."""
    right = rng.random(8000) < 0.7
    longer = (rng.random(8000) < np.where(right, 0.8, 0.2)).astype(float)
    judge, other = (np.where(rng.random(8000) < 0.1, ~right, right) for _ in range(2))
    naive = grade_dependence(judge, other, {"length": longer})["length"]
    fair = grade_dependence(judge, other, {"length": longer}, is_true=False)["length"]
    assert naive.interval(0.99).low > 0
    assert 0 in fair.interval(0.99)


def test_agreement_by_hand() -> None:
    """Gwet (2008): 118 both right, 5 and 2 apart, none both wrong: kappa near 0, AC1 near 1."""
    judge = np.array([1.0] * 118 + [1.0] * 5 + [0.0] * 2)
    label = np.array([1.0] * 118 + [0.0] * 5 + [1.0] * 2)
    found = agreement_with_labels(judge, label)
    a, p, q = 118 / 125, 123 / 125, 120 / 125
    chance = p * q + (1 - p) * (1 - q)
    m = (p + q) / 2
    assert found.kappa == pytest.approx((a - chance) / (1 - chance))
    assert found.ac1 == pytest.approx((a - 2 * m * (1 - m)) / (1 - 2 * m * (1 - m)))
    assert found.ac1 > 0.9 > 0.1 > found.kappa
    weighted = agreement_with_labels(judge, label, weight=np.where(label == 0, 3.0, 1.0))
    assert weighted.agreement == pytest.approx(118 / 135)


def test_kappa_and_ac1_cover_recovers_truth(rng: np.random.Generator) -> None:
    covered = np.zeros(2)
    a, p, q = 0.9, 0.8 * 0.9 + 0.2 * 0.1, 0.8
    truth = [(a - e) / (1 - e) for e in (p * q + (1 - p) * (1 - q), (p + q) * (1 - (p + q) / 2))]
    for _ in range(300):
        label = rng.random(200) < 0.8
        judge = np.where(rng.random(200) < 0.1, ~label, label)
        found = agreement_with_labels(judge, label)
        covered += (truth[0] in found.kappa_interval, truth[1] in found.ac1_interval)
    assert covered.min() / 300 >= 0.9  # 0.95 and four binomial errors


def test_a_habit_of_position_by_hand() -> None:
    """Of 80 pairs 20 go to the first place in both orders, the others to one answer: 12.5 points."""
    first = np.array([1.0] * 20 + [1.0] * 30 + [0.0] * 30)
    swapped = np.array([1.0] * 20 + [0.0] * 30 + [1.0] * 30)
    found = position_bias(first, swapped)
    assert found.estimate == pytest.approx(0.125)
    assert found.interval(0.95).low > 0


def judged_both_ways(n: int, bias: float, rng: np.random.Generator) -> pl.DataFrame:
    """Pairs of answers in both orders: the better one wins in 70%, the one shown first in so many more."""
    rows = []
    for i in range(n):
        better = rng.random() < 0.7  # whether `new` is the better answer
        for first, second in (("old", "new"), ("new", "old")):
            wins = (0.75 if (first == "new") == better else 0.25) + bias
            rows.append((f"q{i}", first, second, "model_a" if rng.random() < wins else "model_b"))
    return pl.DataFrame(rows, schema=["question_id", "model_a", "model_b", "winner"], orient="row")


def test_position_bias_is_found_in_a_file_of_pairs_in_both_orders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pairs.csv"
    judged_both_ways(200, 0.15, np.random.default_rng(1)).write_csv(path)
    tables = read_tables(path, confirm=True)
    trust = study_judges(tables)
    assert trust is not None
    assert trust.position is not None
    claim = trust.position.claim
    assert (claim.verdict, claim.n) == ("verified", 200)
    assert claim.estimate == pytest.approx(0.15, abs=0.07)
    (found,) = compare_tables(tables, n_resamples=200).of("win_rate")
    assert found.n == 200  # a question that is judged twice is one question
    with pytest.raises(SystemExit) as status:
        main(["label", "agreement", str(path), "--json", str(tmp_path / "out.json"), "--layout", "preferences"])
    assert status.value.code == 0
    assert "the answer shown first wins" in capsys.readouterr().out
    assert json.loads((tmp_path / "out.json").read_text())["trust"]["position"]["kind"] == "position"


def test_position_bias_is_shown_falsely_in_few_files_recovers_truth() -> None:
    rng = np.random.default_rng(2)
    shown = 0
    for _ in range(200):
        better = rng.random(150) < 0.7
        wins = np.where(better, 0.75, 0.25)  # of `new`
        shown += 0 not in position_bias(rng.random(150) > wins, rng.random(150) < wins).interval(0.95)
    assert shown <= 21  # of 200 at 5%: more have probability 0.0006


def test_a_table_with_grades_of_a_judge_and_labels_has_the_figure_by_hand(tmp_path: Path) -> None:
    """People call 20 answers right and 20 wrong; the judge passes 18 of the former and 4 of the latter."""
    rows = [
        {"item": f"q{i}", "model": model, "correct": judge, "graded_by": "judge-x", "human_correct": human}
        for model in ("old", "new")
        for i, (judge, human) in enumerate([(1, 1)] * 9 + [(0, 1)] + [(1, 0)] * 2 + [(0, 0)] * 8)
    ]
    path = tmp_path / "graded.csv"
    pl.DataFrame(rows).write_csv(path)
    drawn = figures(measure_run(path).to_dict())["judges-labels"]
    found = {row["statistic"]: row["estimate"] for row in drawn.rows}
    assert found["agreement"] == pytest.approx(34 / 40)
    assert (found["sensitivity"], found["specificity"]) == (pytest.approx(16 / 20), pytest.approx(18 / 20))
