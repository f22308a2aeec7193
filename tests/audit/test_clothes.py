"""One result in all its clothes: terminal, Markdown, page, JSON and Python say the same, whatever the data are."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import richter
from helpers.clothes import faults, world
from richter.audit import verify_results
from richter.cli import main
from richter.errors import InputError
from richter.records import Verdict
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


@pytest.mark.filterwarnings("error")
def test_a_condition_without_a_grade_changes_nothing_of_the_others() -> None:
    """numpy warned on the terminal, and no condition was "possibly near chance" any more."""
    frame = rows("a", "b", "c", items=300, correct=lambda k, j, _: int((k * (7 + j)) % 11 < (8, 7, 2)[j]))
    empty = rows("d", items=300, correct=lambda *_: None).with_columns(pl.col("correct").cast(pl.Int64))
    alone = richter.open(frame).compare(n_resamples=50)
    more = richter.open(pl.concat([frame, empty])).compare(n_resamples=50)
    assert [c.sentence for c in more.claims if "d" not in c.conditions] == [c.sentence for c in alone.claims]
    assert {c.verdict for c in more.claims if "d" in c.conditions} == {Verdict.UNTESTABLE}


def test_what_could_have_been_shown_is_a_difference_that_there_can_be() -> None:
    """ "could have shown 2.8016" of an accuracy, 280 points."""
    frame = rows("old", "new", items=2, correct=lambda k, *_: k).with_columns(group=pl.lit("one"))
    assert richter.open(frame).compare().claims[0].min_detectable_difference is None


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


def test_groups_of_one_and_weights_of_one_change_no_calibration_error() -> None:
    frame = rows("a", items=60, correct=lambda k, *_: int(k % 3 > 0), confidence=lambda k, *_: 0.5 + (k % 5) / 10)
    want = richter.open(frame).calibration().conditions[0]
    for more in (pl.col("item").alias("group"), pl.lit(1.0).alias("weight")):
        found = richter.open(frame.with_columns(more)).calibration().conditions[0]
        assert found.result == want.result
        assert found.claim is not None
        assert want.claim is not None
        assert dataclasses.replace(found.claim, data_hash="") == dataclasses.replace(want.claim, data_hash="")


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


@pytest.mark.parametrize("seed", range(9))
def test_a_result_says_the_same_in_all_its_clothes(seed: int, tmp_path: Path) -> None:
    assert list(faults(world(seed), tmp_path)) == []
