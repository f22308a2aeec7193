"""Inspect logs: written here in Inspect's structure, and really by Inspect with its mock model."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.foreign_logs import DEFLATED, STORED, ZSTD, inspect_header, inspect_sample, write_inspect, write_zip
from richter.claims import mean_evidence
from richter.errors import InputError
from richter.interop import LogOptions, problems, read_logs, write_run
from richter.store import open_ledger
from richter.tables import outcomes, read_tables

NAN = float("nan")


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTD])
def test_samples_come_back_whole(tmp_path: Path, method: int) -> None:
    path = write_inspect(tmp_path / "a.eval", [inspect_sample("q0"), inspect_sample("q1", "I")], method=method)
    logs = read_logs([path])
    assert [(r.item, r.condition, r.correct) for r in logs.rows] == [
        ("q0", "mockllm/small", True),
        ("q1", "mockllm/small", False),
    ]
    item, sample = logs.items["q0"], logs.rows[0].sample
    assert (item.prompt, item.reference, item.domain) == ("The capital of country q0?", "Paris", "geography")
    assert (sample.answer, sample.tokens, sample.logprobs) == ("Paris", ("Par", "is"), (-0.5, -0.25))
    assert (sample.tokens_in, sample.tokens_out, sample.money_usd, sample.latency_s) == (12, 3, 0.001, 0.25)


def test_a_json_log_reads_the_same(tmp_path: Path) -> None:
    samples = [inspect_sample("q0"), inspect_sample("q1", NAN)]
    archive = write_inspect(tmp_path / "a.eval", samples)
    document = tmp_path / "a.json"
    document.write_text(json.dumps({**inspect_header(), "samples": samples}, indent=2))
    assert read_tables(document).data_hash == read_tables(archive).data_hash


def test_unscored_is_missing_and_errors_are_errors(tmp_path: Path) -> None:
    samples = [
        inspect_sample("q0", NAN),
        inspect_sample("q1", error={"message": "rate limit", "traceback": ""}, scores={}),
        inspect_sample("q2", error={"message": "late"}),  # scored all the same: still no grade
        inspect_sample("q3", "I"),
    ]
    logs = read_logs([write_inspect(tmp_path / "a.eval", samples)])
    assert [r.correct for r in logs.rows] == [None, None, None, False]
    assert [r.sample.error for r in logs.rows] == ["", "rate limit", "late", ""]
    said = " ".join(problems(logs))
    assert "2 of 4 calls failed (rate limit)" in said
    assert "1 of 4 answers have no grade" in said


def test_the_three_shapes_of_several_scores(tmp_path: Path) -> None:
    panel = {"votes": ["C", None, "I"], "size": 3, "failures": [{"index": 1, "reason": "grader_failed"}]}
    scores = {
        "match": {"value": "C"},
        "quality": {"value": {"accuracy": 1, "style": 3}},
        "both": {"value": [1, 0]},
        "graded": {"value": NAN, "metadata": {"panel": panel}},
    }
    header = inspect_header(eval={"scorers": [{"name": n, "options": {}} for n in scores]})
    header["eval"]["scorers"][3]["options"] = {"model": ["m/a", "m/b", "m/c"]}
    sample = (
        read_logs([write_inspect(tmp_path / "a.eval", [inspect_sample("q0", scores=scores)], header)]).rows[0].sample
    )
    assert sample.scores == {
        "match": 1,
        "quality/accuracy": 1,
        "quality/style": 3,
        "both/1": 1,
        "both/2": 0,
        "graded": None,
    }
    assert sample.votes == {"graded/m/a": 1, "graded/m/b": None, "graded/m/c": 0}


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("C", True),
        ("I", False),
        ("N", False),
        ("P", False),
        (True, True),
        (0, False),
        (1.0, True),
        ("yes", True),
        (0.9, False),
    ],
)
def test_values_count_as_inspect_counts_them(tmp_path: Path, value: Any, right: bool) -> None:
    logs = read_logs([write_inspect(tmp_path / "a.eval", [inspect_sample("q0", value)])])
    assert logs.rows[0].correct is right


def test_partial_credit_passes_where_the_user_says(tmp_path: Path) -> None:
    path = write_inspect(tmp_path / "a.eval", [inspect_sample("q0", "P"), inspect_sample("q1", 0.4)])
    assert [r.correct for r in read_logs([path], options=LogOptions(pass_at=0.5)).rows] == [True, False]


def test_another_scale_is_a_score_or_mapped(tmp_path: Path) -> None:
    path = write_inspect(
        tmp_path / "a.eval", [inspect_sample("q0", 10), inspect_sample("q1", 1), inspect_sample("q2", 5.5)]
    )
    assert [r.correct for r in read_logs([path]).rows] == [None, True, None]
    assert "score 1-10 from match" in read_tables(path).understood
    rows = read_logs([path], options=LogOptions(scale=(10, 1))).rows
    assert [(r.severity, r.correct) for r in rows] == [(0, True), (4, False), (2, False)]
    with pytest.raises(InputError, match="off the scale"):
        read_logs([path], options=LogOptions(scale=(5, 1)))


def test_epochs_are_draws_of_one_item(tmp_path: Path) -> None:
    samples = [inspect_sample(f"q{i}", "C" if (i + e) % 3 else "I", epoch=e) for e in (1, 2, 3) for i in range(2)]
    path = write_inspect(tmp_path / "a.eval", samples)
    tables = read_tables(path)
    evidence = mean_evidence(outcomes(tables, "accuracy"), tables.conditions[0])
    assert (evidence.n, evidence.units, evidence.estimate) == (2, 2, pytest.approx(2 / 3))


def test_long_texts_are_fetched_from_the_attachments(tmp_path: Path) -> None:
    ref = "0123456789abcdef0123456789abcdef"
    sample = inspect_sample("q0", input=f"attachment://{ref}", attachments={ref: "a very long question"})
    assert read_logs([write_inspect(tmp_path / "a.eval", [sample])]).items["q0"].prompt == "a very long question"


def test_chunked_samples_are_read(tmp_path: Path) -> None:
    sample = inspect_sample("q0", input="attachment://1")
    for field in ("metadata", "messages", "events", "attachments"):
        del sample[field]
    members = [
        ("header.json", json.dumps(inspect_header()).encode()),
        ("samples/q0_epoch_1/sample.json", json.dumps(sample).encode()),
        ("samples/q0_epoch_1/metadata.json", b'{"subject": "places"}'),
        ("samples/q0_epoch_1/attachments/0.json", b'["other", "the question"]'),
        ("samples/q0_epoch_1/events/0.json", b"[]"),
    ]
    logs = read_logs([write_zip(tmp_path / "a.eval", members)])
    assert (logs.items["q0"].prompt, logs.items["q0"].domain) == ("the question", "places")


def test_an_interrupted_log_is_imported_and_marked(tmp_path: Path) -> None:
    header = inspect_header(status="error", error={"message": "out of money", "traceback": ""})
    whole = write_inspect(tmp_path / "a.eval", [inspect_sample(f"q{i}") for i in range(3)], header)
    said = " ".join(problems(read_logs([whole])))
    assert "interrupted (status error: out of money)" in said
    assert "holds 3 of the 4 answers" in said
    broken = tmp_path / "b.eval"
    broken.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    logs = read_logs([broken])
    assert 1 <= len(logs.rows) < 3
    assert "the archive breaks off" in " ".join(problems(logs))


def test_a_damaged_sample_is_counted_and_the_rest_kept(tmp_path: Path) -> None:
    path = write_inspect(tmp_path / "a.eval", [inspect_sample(f"q{i}") for i in range(4)], method=STORED)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"The capital of country q2", b"The capital of country X2"))
    logs = read_logs([path])
    assert [r.item for r in logs.rows] == ["q0", "q1", "q3"]
    assert logs.unread == {"sample: damaged member": 1}


def test_two_logs_of_one_model_are_named_by_what_differs(tmp_path: Path) -> None:
    samples = [inspect_sample(f"q{i}") for i in range(2)]
    cold = inspect_header(eval={"model_generate_config": {"temperature": 0.0}})
    warm = inspect_header(eval={"model_generate_config": {"temperature": 0.7}})
    think = {"steps": [{"solver": "system_message", "params": {"template": "Think."}}, {"solver": "generate"}]}
    prompted = inspect_header(eval={"model_generate_config": {"temperature": 0.0}}, plan=think)
    a, b = write_inspect(tmp_path / "a.eval", samples, cold), write_inspect(tmp_path / "b.eval", samples, warm)
    assert list(read_logs([a, b]).conditions) == ["mockllm/small (temperature 0.0)", "mockllm/small (temperature 0.7)"]
    c = write_inspect(tmp_path / "c.eval", samples, prompted)
    assert list(read_logs([a, c]).conditions) == ["mockllm/small (system not set)", "mockllm/small (system Think.)"]
    again = write_inspect(tmp_path / "again.eval", samples, cold)
    assert list(read_logs([a, again]).conditions) == ["mockllm/small (a)", "mockllm/small (again)"]
    assert list(read_logs([f"old={a}", f"new={again}"]).conditions) == ["old", "new"]


def test_several_tasks_keep_their_items_apart(tmp_path: Path) -> None:
    a = write_inspect(tmp_path / "a.eval", [inspect_sample(1)])
    b = write_inspect(
        tmp_path / "b.eval", [inspect_sample(1, target="Rome")], inspect_header(eval={"task": "x/rivers"})
    )
    logs = read_logs([a, b])
    assert list(logs.items) == ["capitals/1", "rivers/1"]
    assert list(logs.conditions) == ["mockllm/small"]  # two tasks of one condition


def test_one_name_for_two_questions_is_not_paired(tmp_path: Path) -> None:
    a = write_inspect(tmp_path / "a.eval", [inspect_sample(1), inspect_sample(2)])
    b = write_inspect(tmp_path / "b.eval", [inspect_sample(1, target="Rome"), inspect_sample(2)])
    logs = read_logs([f"old={a}", f"new={b}"])
    assert [(r.condition, r.item) for r in logs.rows] == [("old", "1"), ("old", "2"), ("new", "2")]
    assert logs.unread == {"answer: its item's name stands for another reference elsewhere": 1}


def test_a_run_holds_what_the_log_held(tmp_path: Path) -> None:
    samples = [
        inspect_sample("q0", metadata={}, scores={"match": {"value": "C", "metadata": {"confidence": 0.8}}}),
        inspect_sample("q1", "I"),
        inspect_sample("q2", error={"message": "lost"}, scores={}),
    ]
    path = write_inspect(tmp_path / "a.eval", samples)
    logs = read_logs([path])
    write_run(logs, tmp_path / "run")
    with open_ledger(tmp_path / "run") as ledger:
        answers = {a.item: a for a in ledger.answers()}
        assert answers["q0"].logprobs == (-0.5, -0.25)
        assert answers["q2"].error == "lost"
        assert [(g.item, g.value, g.correct) for g in ledger.grades()] == [("q0", 1, True), ("q1", 0, False)]
        assert [(c.item, c.source, c.value) for c in ledger.confidences()] == [("q0", "match/confidence", 0.8)]
        assert ledger.spent().money_usd == pytest.approx(0.002)
    back, straight = read_tables(tmp_path / "run"), read_tables(path)
    assert back.data_hash == straight.data_hash
    kept = ["item", "condition", "draw", "correct", "confidence", "domain", "error", "text", "tokens_out"]
    assert back.rows.select(kept).sort("item").equals(straight.rows.select(kept).sort("item"))
    with pytest.raises(InputError, match="already a run"):
        write_run(logs, tmp_path / "run")


def test_severities_become_ratings_of_each_judge(tmp_path: Path) -> None:
    panel = {"votes": [9, 7], "size": 2, "failures": []}
    samples = [
        inspect_sample(f"q{i}", 8, scores={"match": {"value": 8, "metadata": {"panel": panel}}}) for i in range(2)
    ]
    options = LogOptions(scale=(9, 1))
    write_run(
        read_logs([write_inspect(tmp_path / "a.eval", samples)], options=options), tmp_path / "run", options=options
    )
    with open_ledger(tmp_path / "run") as ledger:
        assert [(r.item, r.rater, r.kind, r.severity) for r in ledger.ratings()] == [
            ("q0", "judge 1", "judge", 0.0),
            ("q0", "judge 2", "judge", 1.0),
            ("q1", "judge 1", "judge", 0.0),
            ("q1", "judge 2", "judge", 1.0),
        ]


@pytest.mark.slow
def test_a_log_really_written_by_inspect(tmp_path: Path) -> None:
    """Two epochs, two scorers, a panel, errors and unscored samples, against what Inspect itself reads back."""
    pytest.importorskip("inspect_ai")
    script = Path(__file__).with_name("write_inspect_log.py")
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout.splitlines()[-1])
    logs = read_logs([theirs["location"]])
    assert not logs.unread
    ours = {(r.item, r.sample.draw): r for r in logs.rows}
    assert len(ours) == len(theirs["samples"]) == 16
    for sample in theirs["samples"]:
        row = ours[sample["id"], sample["epoch"] - 1]
        assert row.sample.answer == sample["completion"]
        assert bool(row.sample.error) == sample["failed"]
        if not sample["failed"]:
            assert row.correct is (sample["match"] == "C")
            assert row.sample.scores["multi_scorer"] == {"C": 1.0, "I": 0.0, "nan": None}[sample["panel"]]
            assert list(row.sample.votes.values()) == [None if v is None else float(v == "C") for v in sample["votes"]]
