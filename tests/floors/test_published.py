"""A leaderboard of published scores, all pairs at once."""

import json
from pathlib import Path

import pytest

from richter.cli import main
from richter.errors import InputError
from richter.floors import PublishedScore, published_board, self_evaluation_verdict
from richter.floors._subjects import SelfEvaluation
from richter.records import Verdict


def cell(model: str, score: float, n: int = 1000, benchmark: str = "b") -> PublishedScore:
    return PublishedScore(benchmark=benchmark, model=model, score=score, n=n)


def test_holm_over_all_pairs_of_all_benchmarks_by_hand() -> None:
    """0.6 and 0.8 are far apart; 0.5 and 0.545 have p 0.044: shown at 5%, not at a third of it."""
    board = published_board([cell("x", 0.6), cell("y", 0.8), cell("x", 0.5, 1000, "c"), cell("y", 0.545, 1000, "c")])
    first, second = board.claims
    assert first.interval.level == pytest.approx(1 - 0.05 / 2)  # the smallest p of two
    assert second.interval.level == pytest.approx(0.95)  # the last is decided at 5%
    assert (first.verdict, second.verdict) == (Verdict.VERIFIED, Verdict.VERIFIED)
    more = published_board([cell("x", 0.5), cell("y", 0.545), cell("z", 0.52)])
    assert {c.verdict for c in more.claims} == {Verdict.UNDECIDED}  # at 0.05 / 3 the first is not shown: all stop there
    assert {c.interval.level for c in more.claims} == {1 - 0.05 / 3}
    alone = published_board([cell("x", 0.5), cell("y", 0.545)])
    assert alone.claims[0].verdict is Verdict.VERIFIED


def test_after_the_stop_a_sentence_claims_no_more_than_its_verdict() -> None:
    """0 and 5 of 50 have the smaller pooled p and an interval with 0; 24 and 35, after it, an interval without."""
    scores = [cell("x", 0.0, 50), cell("y", 0.1, 50), cell("x", 0.48, 50, "c"), cell("y", 0.70, 50, "c")]
    first, second = published_board(scores).claims
    assert first.p < second.p
    assert first.interval.low < 0 < second.interval.low
    assert (first.verdict, second.verdict) == (Verdict.UNDECIDED, Verdict.UNDECIDED)
    assert "don't show that it is real" in second.sentence


def test_models_of_other_benchmarks_are_no_pairs() -> None:
    board = published_board([cell("x", 0.5), cell("y", 0.9), cell("z", 0.1, 500, "c"), cell("w", 0.2, 500, "c")])
    assert [(b.name, b.pairs) for b in board.benchmarks] == [("b", 1), ("c", 1)]
    with pytest.raises(InputError, match="two scores"):
        published_board([cell("x", 0.5), cell("y", 0.5, 10, "c")])


def test_counts_below_the_floor_against_paper() -> None:
    """Table 2: GPT-4 against Claude 3 Opus on MMLU, gap 0.004 under the floor; GPT-4o / Claude 3.5 on HumanEval too."""
    board = published_board(
        [
            cell("GPT-4", 0.864, 14042, "MMLU"),
            cell("Claude 3 Opus", 0.868, 14042, "MMLU"),
            cell("GPT-4o", 0.902, 164, "HumanEval"),
            cell("Claude 3.5 Sonnet", 0.919, 164, "HumanEval"),
        ]
    )
    assert [b.below for b in board.benchmarks] == [1, 1]
    assert "0 of 2 pairs" in board.sentence


def test_a_table_of_percentages_in_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, out = tmp_path / "board.csv", tmp_path / "board.json"
    table.write_text("model,score,n\na,60,1000\nb,80,1000\n")
    with pytest.raises(SystemExit) as done:
        main(["size", "--published", str(table), "--json", str(out)])
    assert done.value.code == 0
    assert json.loads(out.read_text())["claims"][0]["estimate"] == pytest.approx(0.2)
    assert "1 of 1 pairs" in capsys.readouterr().out
    table.write_text("model,score\na,60\n")
    with pytest.raises(SystemExit) as done:
        main(["size", "--published", str(table)])
    assert done.value.code == 1


def knows(p: float) -> SelfEvaluation:
    return SelfEvaluation(rho_gap=0.5, p_gap=p, rho_accuracy=0.9, p_accuracy=0.001, bins=10, smallest_p=1e-4, n=800)


def test_the_verdict_on_self_evaluation_by_hand() -> None:
    told = self_evaluation_verdict({"a": knows(0.0001), "b": knows(0.03), "c": knows(0.4)})
    assert "2 of 3 conditions at 5% each, after Holm in a:" in told  # 2 x 0.03 > 0.05
    assert "against the paper's claim" in told
    assert "neither for nor against" in self_evaluation_verdict({"a": knows(0.04), "b": knows(0.5)})
    assert "as the paper claims" in self_evaluation_verdict({"a": knows(0.5)})


def test_the_floor_of_two_scores_is_the_same_from_either_side_by_hand() -> None:
    """At a mean error rate of 0.15 on the fewer items, 100: 2 sqrt(0.15 x 0.85 / 100) = 0.0714."""
    for gap, below in ((0.071, 1), (0.072, 0)):
        one, other = cell("x", 0.85 - gap / 2, 100), cell("y", 0.85 + gap / 2, 1000)
        for scores in ([one, other], [other, one]):
            assert published_board(scores).benchmarks[0].below == below
