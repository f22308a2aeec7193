"""One result in all its clothes: terminal, Markdown, page, JSON and Python say the same, whatever the data are."""

import dataclasses
import html
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import richter
from helpers.clothes import faults, world
from richter.audit import measure_run, verify_results, weigh_scores
from richter.cli import main
from richter.errors import InputError
from richter.records import Verdict
from richter.report import markdown, render_report
from richter.tables import ReadOptions, read_tables, write_tables


def rows(*conditions: str, items: int = 20, draws: int = 1, **value: Any) -> pl.DataFrame:
    """A row an item, condition and draw; each value is a function of item, place of the condition, and draw."""
    made = [
        {"item": f"q{k}", "condition": c, "draw": d, **{name: f(k, j, d) for name, f in value.items()}}
        for k in range(items)
        for j, c in enumerate(conditions)
        for d in range(draws)
    ]
    return pl.DataFrame(made, infer_schema_length=None)


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


# ------------------------------------------------------------------ what failed, or was said wrongly


def test_a_comparison_with_severities_can_be_verified(tmp_path: Path) -> None:
    """Its claim on the slopes has no hypothesis: the command ended in a traceback."""
    frame = rows("old", "new", severity=lambda k, j, _: float((k + j) % 3))
    path = tmp_path / "results.json"
    path.write_text(json.dumps(richter.open(frame).compare(n_resamples=50).to_dict()))
    found = verify_results(path, [frame])
    assert not found.faults
    assert found.recomputed == found.checked > 3


def test_a_score_without_ends_and_few_items_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its interval is infinite, which JSON writes as null: the summary of a report failed."""
    frame = rows("old", "new", items=3, score=lambda k, j, _: -3.5 + 7 * k + j)
    frame.write_csv(tmp_path / "data.csv")
    code, out, err = run(capsys, "report", str(tmp_path / "data.csv"), "-o", str(tmp_path / "page.html"))
    assert code == 0, err
    assert "3.5 (-inf to inf) mean score" in out
    assert "new scored 1.000 higher than old (95% CI: no limits known)." in out
    assert "inf" not in measure_run(frame).answer


@pytest.mark.filterwarnings("error")
def test_a_condition_without_a_grade_changes_nothing_of_the_others() -> None:
    """numpy warned on the terminal, and no condition was "possibly near chance" any more."""
    frame = rows("a", "b", "c", items=300, correct=lambda k, j, _: int((k * (7 + j)) % 11 < (8, 7, 2)[j]))
    empty = rows("d", items=300, correct=lambda *_: None).with_columns(pl.col("correct").cast(pl.Int64))
    alone = richter.open(frame).compare(n_resamples=50)
    more = richter.open(pl.concat([frame, empty])).compare(n_resamples=50)
    assert [c.sentence for c in more.claims if "d" not in c.conditions] == [c.sentence for c in alone.claims]
    assert {c.verdict for c in more.claims if "d" in c.conditions} == {Verdict.UNTESTABLE}


def test_draws_are_counted_as_answers() -> None:
    """Only first draws were: "39 of 39 answers are rated" of 119; an item without its first draw was not answered."""
    frame = rows("a", "b", items=20, draws=3, severity=lambda k, j, d: float((k + j + d) % 3))
    frame = frame.filter(~((pl.col("draw") == 0) & (pl.col("item") == "q3")) | (pl.col("condition") == "b"))
    results = measure_run(frame, n_resamples=200)
    said = {check.name: check for check in results.checks}
    assert said["every answer rated"].text == "119 of 119 answers rated by the source"
    assert said["every item answered"].passed
    assert results.signature.basis.startswith("severities from your file (119 answers)")


def test_one_condition_that_is_scored_was_graded() -> None:
    """ "Nobody graded the answers of a"."""
    results = measure_run(rows("a", items=4, score=lambda k, *_: k / 4))
    assert results.answer == "a scores 0.375 (95% CI 0 to 1) on 4 questions."
    scored = results.conditions[0].scored
    assert scored is not None
    assert (scored.scale, scored.better) == ((0.0, 1.0), "higher")


def test_markdown_tables_of_scores_hold_the_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ "| old | 0 | - | - |" under accuracy and error rate, and n 0 in a report's."""
    frame = rows("old", "new", score=lambda k, j, _: 1 + (k + j) % 5)
    frame.write_csv(tmp_path / "data.csv")
    out = run(capsys, "compare", str(tmp_path / "data.csv"), "--md", "-")[1]
    assert "| name | mean score |" in out
    assert "| old | 3.000 |" in out
    said = markdown(measure_run(frame).to_dict())
    assert "| old | 20 | score 3 (" in said
    assert "nothing was rated" not in said  # 40 answers were


def test_what_could_have_been_shown_is_a_difference_that_there_can_be() -> None:
    """ "could have shown 2.8016" of an accuracy, 280 points."""
    frame = rows("old", "new", items=2, correct=lambda k, *_: k).with_columns(group=pl.lit("one"))
    assert richter.open(frame).compare().claims[0].min_detectable_difference is None


def test_what_an_undecided_claim_takes_is_counted_in_its_units() -> None:
    """The first screen said "858 items in all" of 858 groups."""
    frame = rows("old", "new", items=60, correct=lambda k, j, _: int((k * 7 + j) % 3 > 0))
    frame = frame.with_columns(group=pl.col("item").str.slice(0, 2))
    claim = richter.open(frame).compare().claims[0]
    assert claim.unit == "group"
    page = render_report(measure_run(frame).to_dict(), None)
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    said = re.search(
        r"with these 60 questions in 10 groups\. For 5 points you need about [\d,]+ in ([\d,]+) groups", text
    )
    assert said is not None
    assert int(said[1].replace(",", "")) > 10


def test_a_stricter_interval_says_its_level() -> None:
    """ "ECE 0.273 debiased (0.212 to 0.341)" stood over "0.223 to 0.328", and "up to 0.332" beside [0.00, 0.28]."""
    sure = rows("a", "b", items=60, correct=lambda k, j, _: int(k % (2 + j) > 0), confidence=lambda *_: 0.9)
    both = richter.open(sure).calibration().conditions
    assert both[0].claim is not None
    assert "(97.5% CI " in both[0].claim.sentence
    one = richter.open(sure.filter(pl.col("condition") == "a")).calibration().conditions[0]
    assert one.claim is not None
    assert one.result is not None
    assert "(95% CI " in one.claim.sentence
    assert one.claim.interval is not None
    span, shown = one.claim.interval, one.result.interval
    assert (span.low, span.high) == (shown.low, shown.high)  # "0.00968 to 0.345" stood over "0.011 to 0.344"


def test_draws_count_in_severities_and_weights_that_slopes_leave_out_are_said_on_the_page() -> None:
    frame = rows("a", "b", items=40, draws=2, severity=lambda k, j, d: float((k + j + d) % 3))
    results = measure_run(frame.with_columns(weight=1.0 + (pl.col("item") < "k2")), n_resamples=200)
    assert results.sections.severity.study.conditions["a"].n == 80
    assert "Slopes and families do not use the weights of items" in render_report(results.to_dict(), None)


def test_slopes_that_errors_of_one_severity_do_not_have_are_not_for_want_of_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = rows("a", "b", items=40, severity=lambda *_: 3.0)
    frame.write_csv(tmp_path / "data.csv")
    assert "2 have too few, or of one severity only" in run(capsys, "severity", str(tmp_path / "data.csv"), "--all")[1]
    (text,) = (c.text for c in measure_run(frame, n_resamples=200).checks if c.name == "the severity law fits")
    assert "slope" in text
    assert "too few errors" not in text  # 40 of each, all of severity 3
    grouped = weigh_scores(frame.with_columns(group=pl.col("item").str.slice(0, 2)), n_resamples=200)
    assert grouped.study.conditions["a"].rates is not None
    frame.with_columns(group=pl.col("item").str.slice(0, 2)).write_csv(tmp_path / "data.csv")
    out = " ".join(run(capsys, "severity", str(tmp_path / "data.csv"))[1].split())
    assert "as if answers of a group were independent" not in out  # groups are allowed for
    assert "upper limit that allows for groups" in out


def test_what_was_not_tested_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ "b: not tested, since not every primary claim is settled" where all were."""
    frame = rows("a", "b", "c", items=60, severity=lambda k, j, _: 2.0 if k % 60 < (5, 30, 58)[j] else 0.0)
    frame.write_csv(tmp_path / "data.csv")
    out = run(capsys, "compare", str(tmp_path / "data.csv"), "--on", "mean_severity")[1]
    assert "3 of 3 pairs differ in mean severity" in out
    assert "not every primary claim is settled" not in out


def test_points_are_of_the_scale_of_the_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """2pt of a score from 0 to 100 was a margin of 0.02."""
    frame = rows("old", "new", items=40, score=lambda k, j, _: 100 * (k % 10) / 9 + 0.1 * j * (k % 3 - 1))
    frame.write_csv(tmp_path / "data.csv")
    for command in ("compare", "gate"):
        code, out, err = run(capsys, command, str(tmp_path / "data.csv"), "--margin", "2pt", "--scale", "-1:102")
        assert code == 0, err
        assert "2.06" in out  # alike within it, and no worse by it
    frame.with_columns(pl.col("score") - 500).write_csv(tmp_path / "data.csv")
    code, _, err = run(capsys, "compare", str(tmp_path / "data.csv"), "--margin", "2pt")
    assert code == 1
    assert "--scale LOW:HIGH" in err
    assert run(capsys, "compare", str(tmp_path / "data.csv"), "--margin", "2")[0] == 0


def test_a_tail_takes_faults_as_they_stand_and_says_its_way() -> None:
    """The mean of a column in which 1 is bad was that of what is good."""
    frame = rows("a", "b", items=50, harmful=lambda k, *_: int(k < 5))
    for better in (None, "lower"):
        reading = ReadOptions(map={"score": "harmful"}, better=better)
        study = richter.open(frame, options=reading).tail(n_resamples=200).study
        assert [round(c.mean, 9) for c in study.conditions.values()] == [0.1, 0.1]
    frame = rows("a", "b", items=50, quality=lambda k, j, _: k / 7 + j)
    notes = richter.open(frame, options=ReadOptions(map={"score": "quality"})).tail(n_resamples=200).study.notes
    assert 'More of quality is taken as worse here; better="higher" says otherwise.' in notes


def test_a_plan_comes_before_the_project_s_defaults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[map] score of richter.toml was taken in place of the plan's column, and called a deviation by an option."""
    monkeypatch.chdir(tmp_path)
    two: dict[str, Any] = {"nll": lambda k, j, _: (k * 37 % 101) / 9 + j, "other": lambda k, *_: k / 7}
    rows("a", "b", items=50, **two).write_csv("data.csv")
    Path("richter.toml").write_text('better = "lower"\n[map]\nscore = "other"\n')
    made = [f"--set={x}" for x in ("column=nll", "tolerance_mean=0.1", "tolerance_tvar=0.2", "n_resamples=200")]
    run(capsys, "plan", "new", "tail", "-o", "plan.toml", *made)
    found = json.loads(run(capsys, "severity", "tail", "data.csv", "--plan", "plan.toml", "--json", "-")[1])
    assert found["column"] == "nll"
    assert found["plan_status"]["reasons"] == ["the plan is not locked"]
    typed = run(capsys, "severity", "tail", "data.csv", "--plan", "plan.toml", "--map", "score=other", "--json", "-")[1]
    assert json.loads(typed)["column"] == "other"
    sure: dict[str, Any] = {"ok": lambda k, *_: k % 2, "sureness": lambda k, *_: (k % 9) / 9}
    rows("a", "b", items=50, **sure).write_csv("sure.csv")
    Path("richter.toml").write_text('[map]\nscore = "ok"\nconfidence = "sureness"\n')
    assert run(capsys, "calibration", "sure.csv")[0] == 0  # it did not look there


def test_tail_score_reads_a_file_as_every_command_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = rows("a", "b", items=4, reply=lambda k, *_: "x" * (k + 1), question=lambda k, *_: f"what is {k}?")
    frame.rename({"item": "id", "condition": "model"}).write_csv(tmp_path / "log.csv")
    code, _, err = run(
        capsys, "audit", str(tmp_path / "log.csv"), "--map", "answer=reply", "--scorer", "length", "-o",
        str(tmp_path / "scores.csv"),
    )  # fmt: skip
    assert code == 0, err
    made = pl.read_csv(tmp_path / "scores.csv")
    assert made.columns == ["item", "condition", "prompt", "answer", "length"]
    assert made["length"].to_list() == [1.0, 2.0, 3.0, 4.0] * 2


def test_groups_of_one_and_weights_of_one_change_no_calibration_error() -> None:
    frame = rows("a", items=60, correct=lambda k, *_: int(k % 3 > 0), confidence=lambda k, *_: 0.5 + (k % 5) / 10)
    want = richter.open(frame).calibration().conditions[0]
    for more in (pl.col("item").alias("group"), pl.lit(1.0).alias("weight")):
        found = richter.open(frame.with_columns(more)).calibration().conditions[0]
        assert found.result == want.result
        assert found.claim is not None
        assert want.claim is not None
        assert dataclasses.replace(found.claim, data_hash="") == dataclasses.replace(want.claim, data_hash="")


def test_items_of_one_rate_in_all_draws_have_a_brier_score() -> None:
    """Half of the draws of every item right: their spread is 0, and a division by it failed."""
    sure: dict[str, Any] = {"correct": lambda k, j, d: d % 2, "confidence": lambda k, *_: 0.5 + k % 5 / 10}
    for frame in (rows("a", items=12, draws=2, **sure), rows("a", items=24, **sure | {"correct": lambda k, *_: k % 2})):
        grouped = frame.with_columns(group=(pl.col("item").str.slice(1).cast(pl.Int64) // 2).cast(pl.String))
        study = richter.open(grouped).calibration().conditions[0].study
        assert study is not None
        uncertain = study.scores.brier_uncertainty
        assert uncertain.interval is not None
        assert uncertain.value == pytest.approx(0.25)
        assert uncertain.interval.low < 0.24  # not as if 24 answers were sure


def test_a_table_says_the_same_as_the_run_it_is_imported_into(tmp_path: Path) -> None:
    """A word error rate became a score of which more is better, and verdicts turned round; so did the app's pages.

    Severities of a table became a judge's: "as judged by severity (nobody checked it)", and their mechanisms were lost.
    """
    errors = rows("old", "new", items=40, wer=lambda k, j, _: (k % 7) / 10 + 0.25 * (1 - j))
    steps = rows("old", "new", items=40, score=lambda k, j, _: 2 + (k + j * (k % 3)) % 4)
    right = rows("old", "new", items=40, correct=lambda k, j, _: int((k + j) % 3 > 0))
    severe = rows(
        "old", "new", items=40, severity=lambda k, j, _: float((k + j) % 5), mechanism=lambda k, *_: "ab"[k % 2]
    )
    cases: list[tuple[pl.DataFrame, ReadOptions]] = [
        (errors, ReadOptions()),
        (steps, ReadOptions(scale=(1.0, 7.0))),
        (steps, ReadOptions(better="lower")),
        (right, ReadOptions()),
        (severe, ReadOptions()),
    ]
    for k, (frame, options) in enumerate(cases):
        want = richter.open(frame, options=options).compare(n_resamples=50)
        write_tables(read_tables(frame, options=options), tmp_path / f"run{k}")
        found = richter.open(tmp_path / f"run{k}").compare(n_resamples=50)
        assert [c.sentence for c in found.claims] == [c.sentence for c in want.claims], k
        assert [c.interval for c in found.claims] == [c.interval for c in want.claims], k
        assert found.data_hash == want.data_hash, k
        with pytest.raises(InputError, match="confidence"):  # answers without a text were said to agree always
            richter.open(tmp_path / f"run{k}").calibration()
    assert richter.open(errors).compare(n_resamples=50).claims[0].sentence.startswith("new is better scored than old")


def test_markdown_rounds_a_limit_up_and_says_of_which_draws_items_broke(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "below 11.3%" of 11.35%; "Broken: 3 items" spoke of first draws alone."""
    right = measure_run(rows("a", items=30, correct=lambda *_: 1)).to_dict()
    high = right["conditions"][0]["how_often"]["interval"]["high"]
    shown = float(markdown(right).partition("none seen, at most ")[2].partition("%")[0])
    assert 100 * high <= shown < 100 * high + 0.1
    frame = rows("old", "new", items=9, draws=2, correct=lambda k, j, d: int(k > 2 or j == 0 or d == 1))
    frame.write_csv(tmp_path / "data.csv")
    out = run(capsys, "gate", str(tmp_path / "data.csv"), "--margin", "2pt", "--md", "-")[1]
    assert "Got worse: 3 questions" in out
    many = measure_run(rows(*"abcdefghijklmn", items=4, score=lambda k, j, _: k + j)).to_dict()
    assert "The 12 that are named first, of 14." in markdown(many)


@pytest.mark.parametrize("seed", range(9))
def test_a_result_says_the_same_in_all_its_clothes(seed: int, tmp_path: Path) -> None:
    assert list(faults(world(seed), tmp_path)) == []
