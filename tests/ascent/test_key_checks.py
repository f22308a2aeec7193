"""Keys of failing questions are read again with the paragraph in view: bad ones are not exported, and that is said."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.stats import beta

from helpers.server import FakeApi
from helpers.small_base import small_base
from richter.cli import main
from richter.errors import ModelError
from richter.records import Question, Rating
from richter.store import open_ledger, run_part
from richter_audit.ascent import (
    check_keys,
    estimate_bad_keys,
    failing_questions,
    keep_sound,
    report_keys,
    suspect_questions,
)
from richter_audit.bench import read_items
from richter_audit.knowledge import StoredQuestion, open_base
from richter_audit.knowledge._stored_questions import text_key


def call(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code


def has_bad_key(prompt):
    """Of odd paragraphs the key is bad."""
    return int(prompt.split(" P")[1].split("?")[0].split()[0]) % 2 == 1


def reply(prompt):
    """Answers wrongly about D2; as a reader it says which option the text bears out."""
    if "DATA-" not in prompt:
        options = {line[3:]: line[0] for line in prompt.splitlines() if line[1:3] == ". "}
        wrong = " D2 " in f" {prompt} "
        return "Answer: " + next(at for text, at in options.items() if text.startswith("wrong") == wrong)
    shown = json.loads(prompt.splitlines()[1])
    letters = {line[3:]: line[0] for line in shown["options"].splitlines()}
    key = next(text for text in letters if text.startswith("right"))
    return json.dumps({"right": [letters["wrong 1" if has_bad_key(shown["question"]) else key]], "given_away": False})


@pytest.fixture
def searched(tmp_path):
    base = small_base(tmp_path / "kb", documents=4, questions=0)
    with FakeApi(reply=reply) as api:
        rows = range(len(base))
        base.add_questions(
            [
                StoredQuestion(
                    row=row,
                    key=text_key(paragraph.text),
                    question=Question(
                        answer=f"right {row}",
                        wrong=("wrong 1", "wrong 2", "wrong 3"),
                        wordings=(f"Q D{base.document_of(row)} P{row % 20}?",),
                    ),
                    generator=f"{api.url}#writer",
                )
                for row, paragraph in zip(rows, base.paragraphs(rows), strict=True)
            ]
        )
        arguments = ("--model", api.model, "--kb", tmp_path / "kb", "--budget", "80calls", "--phrasings", "1")
        assert call("search", "run", tmp_path / "run", *arguments) == 0
        yield tmp_path, api


def test_only_questions_with_a_sound_key_are_exported_unless_told_by_hand(searched, capsys):
    folder, api = searched
    found = failing_questions(folder / "run", open_base(folder / "kb"))
    suspects = suspect_questions(found, open_base(folder / "kb"))
    assert len(suspects) == len(found.questions) > 5
    bad = [q for q in suspects if has_bad_key(q.item.prompt)]
    assert 0 < len(bad) < len(suspects)
    assert call("search", "export", folder / "run", "-o", folder / "all.jsonl", "--again", 0, "--keys", "all") == 0
    assert len(read_items(folder / "all.jsonl")) == len(suspects)
    assert "Nobody read the keys again" in capsys.readouterr().out
    assert call("search", "export", folder / "run", "-o", folder / "set.jsonl", "--again", 0) == 0
    told = " ".join(capsys.readouterr().out.split())
    exported = read_items(folder / "set.jsonl")
    assert {item.id for item in exported} == {f"q{q.item.id}" for q in suspects if q not in bad}
    assert f"{len(suspects) * 2} calls" in told
    assert "Expect 0.0% bad keys among those that survive (95% CI 0.0 to " in told
    asked = len(api.bodies)
    assert call("search", "export", folder / "run", "-o", folder / "set.jsonl", "--again", 0, "--force") == 0
    assert len(api.bodies) == asked  # paid for once
    regressions = folder / "regressions"
    assert call("audit", "--only", "ask", regressions, "--bench", folder / "set.jsonl", "--model", api.model) == 0
    with open_ledger(regressions) as ledger:  # asked as they failed, by their options
        assert [condition.style for condition in ledger.conditions()] == ["choice"]


def test_a_reader_that_cannot_be_reached_is_named_and_the_others_count_by_hand(searched, capsys):
    folder, api = searched
    gone, stored = "http://127.0.0.1:9/v1#gone", folder / "kb" / "questions.jsonl"
    stored.write_text(stored.read_text().replace(f"{api.url}#writer", gone))
    found = failing_questions(folder / "run", open_base(folder / "kb"))
    sound = {f"q{q.item.id}" for q in found.questions if not has_bad_key(q.item.prompt)}
    assert 0 < len(sound) < len(found.questions)
    assert call("search", "export", folder / "run", "-o", folder / "set.jsonl", "--again", 0) == 0
    assert {item.id for item in read_items(folder / "set.jsonl")} == sound
    assert f"{gone} could not read the keys" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(ModelError):
        check_keys(folder / "run", found, open_base(folder / "kb"), [gone], beside=folder / "beside", prices={})


def test_a_person_settles_keys_and_the_next_export_goes_by_it(searched):
    folder, _ = searched
    assert call("search", "label", folder / "run") != 0  # nobody has read the keys
    assert call("search", "export", folder / "run", "-o", folder / "set.jsonl", "--again", 0) == 0
    before = read_items(folder / "set.jsonl")
    assert call("search", "label", folder / "run", "--n", 100) == 0
    with open_ledger(run_part(folder / "run", "key-labels"), mode="write") as ledger:
        items = ledger.items()
        assert {item.id.removeprefix("key-") for item in items} == {item.id.removeprefix("q") for item in before}
        ledger.add_ratings([Rating(item=items[0].id, condition="key", rater="ann", kind="human", severity=2.0)])
    assert call("search", "export", folder / "run", "-o", folder / "set.jsonl", "--again", 0, "--force") == 0
    after = {item.id for item in read_items(folder / "set.jsonl")}
    assert {item.id for item in before} - after == {f"q{items[0].id.removeprefix('key-')}"}


def test_readers_must_agree_and_one_that_says_nothing_is_left_out_by_hand(searched):
    folder, _ = searched
    found = failing_questions(folder / "run", open_base(folder / "kb"))
    first, second, third, fourth, *_ = (q.item.id for q in found.questions)
    readings = {
        "tested": {first: "", second: "another option is right", third: "no option is right", fourth: "check broken"},
        "writer": {first: "", second: "", third: "no option is right", fourth: "check broken"},
    }
    some = dataclasses.replace(found, questions=found.questions[:4])
    report = report_keys(folder / "run", some, some.questions, readings)
    assert dict(report.verdicts) == {first: "survives", second: "doubtful", third: "rejected", fourth: "doubtful"}
    assert [q.item.id for q in keep_sound(some, report).questions] == [first]


def test_the_share_of_bad_keys_that_two_readings_miss_by_hand():
    # 8 flagged by both, 2 by the first alone, 4 by the second alone: s1 = 8/12, s2 = 8/10, q = 1/15, 14 / 14 = 1 missed
    flags = [(True, True)] * 8 + [(True, False)] * 2 + [(False, True)] * 4 + [(False, False)] * 50
    share, interval = estimate_bad_keys(flags, survived=50)
    assert share == pytest.approx(1 / 50)
    # the most that two readings can miss of which both flag a share of at least c, by trying all sensitivities
    s1, s2 = np.meshgrid(np.linspace(0.001, 1, 1000), np.linspace(0.001, 1, 1000))
    any_flags = s1 + s2 - s1 * s2
    odds = (1 - any_flags) / any_flags
    seen, least = (14 * odds[s1 * s2 / any_flags >= c].max() for c in (8 / 14, beta.ppf(0.05, 8, 7)))
    chance = 1.645 * np.sqrt(seen * (1 + seen / 14))  # 14 / (1 - q) in all, negative binomial
    assert interval.low == 0
    assert interval.high == pytest.approx((seen + np.hypot(least - seen, chance)) / 50, rel=0.01)
    assert estimate_bad_keys([(True, True)] * 20, survived=50)[1].high == pytest.approx(1 / 50)  # one may be missed
    assert estimate_bad_keys([(True, False), (False, False)], survived=1) == (None, None)


@pytest.mark.parametrize(("bad", "sensitivity"), [(0.05, 0.9), (0.15, 0.7), (0.3, 0.95)])
def test_the_interval_of_bad_keys_covers_recovers_truth(bad, sensitivity):
    """300 failing questions, readers that miss independently; 400 exports. The full campaign is in `studies`.

    The standard error of a coverage of 0.95 is 0.011: at least 0.95 - 3 x 0.011.
    """
    rng, covered, told = np.random.default_rng(5), 0, 0
    for _ in range(400):
        is_bad = rng.random(300) < bad
        flags = is_bad[:, None] & (rng.random((300, 2)) < sensitivity)
        survives = ~flags.any(axis=1)
        _, interval = estimate_bad_keys(flags, survived=int(survives.sum()))
        if interval is not None:
            told += 1
            covered += (is_bad & survives).sum() / survives.sum() <= interval.high
    assert told > 350
    assert covered / told >= 0.95 - 3 * 0.011
