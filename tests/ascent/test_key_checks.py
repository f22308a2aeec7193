"""Keys of failing questions are read again with the paragraph in view: bad ones are not exported, and that is said."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from helpers.server import FakeApi
from helpers.small_base import small_base
from richter.cli import main
from richter.errors import ModelError
from richter.models import Price
from richter.records import Question, Rating
from richter.store import open_ledger
from richter_audit.ascent import (
    PlantedKeys,
    check_keys,
    estimate_bad_keys,
    failing_questions,
    judge_keys,
    keep_sound,
    plan_key_readings,
    plant_bad_keys,
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
    """Answers wrongly about D2; as a reader it says which option the text bears out, none of planted ones."""
    if "DATA-" not in prompt:
        options = {line[3:]: line[0] for line in prompt.splitlines() if line[1:3] == ". "}
        wrong = " D2 " in f" {prompt} "
        return "Answer: " + next(at for text, at in options.items() if text.startswith("wrong") == wrong)
    shown = json.loads(prompt.splitlines()[1])
    letters = {line[3:]: line[0] for line in shown["options"].splitlines()}
    key = next(text for text in letters if text.startswith("right"))
    if int(key.split()[1]) % 20 != int(shown["question"].split(" P")[1].rstrip("?")):  # another question's key
        return json.dumps({"right": [], "given_away": False})
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
        assert call("search", tmp_path / "run", *arguments) == 0
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
    planted = len(plan_key_readings(found, open_base(folder / "kb")).planted)
    assert f"{len(suspects) * 2} calls" in told
    assert f"{planted} more calls to {api.model}" in told  # the writer reads no planted keys
    assert len(suspects) >= planted > 5
    assert f"Together {len(suspects) * 2 + planted} calls" in told
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
    plan = dataclasses.replace(plan_key_readings(found, open_base(folder / "kb")), readers=[gone])
    with pytest.raises(ModelError):
        check_keys(folder / "run", found, plan, beside=folder / "beside", prices={})


def test_a_person_settles_keys_and_the_next_export_goes_by_it(searched):
    folder, _ = searched
    assert call("search", "--only", "label", folder / "run") != 0  # nobody has read the keys
    assert call("search", "export", folder / "run", "-o", folder / "set.jsonl", "--again", 0) == 0
    before = read_items(folder / "set.jsonl")
    assert call("search", "--only", "label", folder / "run", "--n", 100) == 0
    with open_ledger(Path(folder / "run") / "key-labels", mode="write") as ledger:
        items = ledger.items()
        assert {item.id.removeprefix("key-") for item in items} == {item.id.removeprefix("q") for item in before}
        ledger.add_ratings([Rating(item=items[0].id, condition="key", rater="ann", kind="human", severity=2.0)])
    assert call("search", "export", folder / "run", "-o", folder / "set.jsonl", "--again", 0, "--force") == 0
    after = {item.id for item in read_items(folder / "set.jsonl")}
    assert {item.id for item in before} - after == {f"q{items[0].id.removeprefix('key-')}"}


def test_a_key_that_nobody_read_is_not_drawn_for_labels_by_hand(searched):
    folder, _ = searched
    assert call("search", "export", folder / "run", "-o", folder / "set.jsonl", "--again", 0) == 0
    exported = {item.id.removeprefix("q") for item in read_items(folder / "set.jsonl")}
    unread = min(exported)  # as one that was right when it was asked again
    with open_ledger(Path(folder / "run") / "keys", mode="write") as ledger:
        note = ledger.note("key readings")
        ledger.set_note("key readings", {r: {k: v for k, v in own.items() if k != unread} for r, own in note.items()})
    assert call("search", "--only", "label", folder / "run", "--n", 100) == 0
    with open_ledger(Path(folder / "run") / "key-labels") as ledger:
        assert {item.id.removeprefix("key-") for item in ledger.items()} == exported - {unread}


def test_a_dry_run_counts_the_tested_model_s_own_budget_by_hand(searched):
    folder, api = searched
    asked = ("--model", api.model, "--kb", folder / "kb", "--dry-run", "--json", folder / "plan.json")
    for limits, most, paragraphs in (
        (("--testee-budget", 30), 30, [15, 30]),  # one call for each paragraph, two where it is answered wrongly
        (("--testee-budget", 30, "--budget", "20calls"), 20, [10, 20]),
        (("--testee-budget", 30, "--generator", api.model), 120, [15, 30]),  # 30 and three of the writer for each of 30
    ):
        assert call("search", folder / "new", *asked, *limits) == 0
        plan = json.loads((folder / "plan.json").read_text())["dry_run"]
        assert [plan["paragraphs_least"], plan["paragraphs_most"]] == paragraphs
        assert plan["calls_most"] == most


def test_a_search_whose_answers_state_confidences_has_a_page_by_hand(tmp_path):
    small_base(tmp_path / "kb", documents=3)
    with FakeApi(reply=lambda prompt: json.dumps({"answer": "A", "confidence": 0.8})) as api:
        limits = ("--kb", tmp_path / "kb", "--budget", "30calls")
        assert call("search", tmp_path / "run", "--model", api.model, *limits) == 0
    assert call("report", tmp_path / "run", "-o", tmp_path / "page.html") == 0
    assert (tmp_path / "page.html").exists()


def test_readers_must_agree_and_one_that_says_nothing_is_left_out_by_hand(searched):
    folder, _ = searched
    found = failing_questions(folder / "run", open_base(folder / "kb"))
    first, second, third, fourth, *_ = (q.item.id for q in found.questions)
    readings = {
        "tested": {first: "", second: "another option is right", third: "no option is right", fourth: "check broken"},
        "writer": {first: "", second: "", third: "no option is right", fourth: "check broken"},
    }
    some = dataclasses.replace(found, questions=found.questions[:4])
    report = report_keys(folder / "run", some, some.questions, readings, planted=PlantedKeys(20, 20))
    assert dict(report.verdicts) == {first: "survives", second: "doubtful", third: "rejected", fourth: "doubtful"}
    assert judge_keys(folder / "run", some, some.questions, readings) == report.verdicts
    # two keys are flagged; 0.025 = 0.832^20, and of 3 in all at most 2 are seen with a chance of 1 - 0.832^3 > 0.025
    assert (report.planted, report.noticed, report.bad_share) == (20, 20, 0.0)
    assert (report.interval.low, report.interval.high, report.interval.level) == (0.0, 1.0, 0.95)
    assert [q.item.id for q in keep_sound(some, report).questions] == [first]


def test_the_share_of_bad_keys_from_planted_ones_by_hand():
    # 9 of 10 are noticed; of those flagged 18, 18 x 0.1 / 0.9 = 2 are missed
    share, interval = estimate_bad_keys(18, survived=50, planted=PlantedKeys(10, 9))
    assert share == pytest.approx(2 / 50)
    # the lower limit of 9 of 10 is 0.5550 (Clopper and Pearson's table); at most 18 of N are seen with a chance > 0.025
    seen, most = np.random.default_rng(0).random((40_000, 70)) < 0.5550, 18
    while (seen[:, : most + 1].sum(axis=1) <= 18).mean() > 0.025:
        most += 1
    assert interval.low == 0
    assert interval.high == pytest.approx((most - 18) / 50, abs=1.01 / 50)  # the simulated chance is not exact
    # nothing flagged: 0.025^(1/30) = 0.884 and 1 - 0.884 = 0.116 > 0.025 > 0.116^2: one may be missed
    assert estimate_bad_keys(0, survived=50, planted=PlantedKeys(30, 30))[1].high == pytest.approx(1 / 50)
    nothing_noticed = estimate_bad_keys(3, survived=50, planted=PlantedKeys(30, 0))
    assert nothing_noticed.share is None
    assert (nothing_noticed.interval.low, nothing_noticed.interval.high) == (0, 1)
    assert estimate_bad_keys(3, survived=50, planted=PlantedKeys(0, 0)) == (None, None)
    assert estimate_bad_keys(3, survived=0, planted=PlantedKeys(30, 30)) == (None, None)
    wider, narrower = (estimate_bad_keys(18, survived=50, planted=PlantedKeys(10, 9), level=x)[1] for x in (0.99, 0.8))
    assert wider.high > interval.high > narrower.high


def test_planted_keys_are_those_of_other_questions_by_hand():
    def question(n, text):
        wrong = (f"no {n}", f"never {n}", f"none {n}")
        return text, Question(wordings=(f"What is {n}?",), answer=f"answer {n}", wrong=wrong)

    asked = [question(n, f"The answer {n} stands here.") for n in range(40)]
    planted = plant_bad_keys(asked)
    assert len(planted) == 30
    for text, changed in planted:
        original = next(q for _, q in asked if q.wordings == changed.wordings)
        assert original.answer in text
        assert changed.answer not in text
        assert changed.answer in {q.answer for _, q in asked}
        assert changed.wrong == original.wrong
    assert plant_bad_keys(asked[:1]) == []
    everywhere = " ".join(f"answer {n}" for n in range(40))
    assert plant_bad_keys([question(n, everywhere) for n in range(3)]) == []


def test_readings_of_keys_are_planned_and_priced_by_hand(searched):
    folder, api = searched
    found = failing_questions(folder / "run", open_base(folder / "kb"))
    plan = plan_key_readings(found, open_base(folder / "kb"), checker="x/checker")
    writer = f"{api.url}#writer"
    assert list(plan.readers) == [api.model, writer, "x/checker"]
    assert list(plan.planted_to) == [api.model, "x/checker"]
    assert plan.calls == 3 * len(found.questions) + 2 * len(plan.planted)
    free, paid = Price(input_usd=0, output_usd=0), Price(input_usd=0, output_usd=1e6)  # 1 USD a token
    prices = {api.model: free, writer: paid, "x/checker": free}
    each = plan.money_usd_most(prices) / len(found.questions)  # what the longest reply of the writer costs
    assert plan.money_usd_most(prices | {api.model: paid}) == pytest.approx(
        each * (2 * len(found.questions) + len(plan.planted))
    )
    assert plan.money_usd_most({api.model: free}) is None
    alone = dataclasses.replace(found, condition=dataclasses.replace(found.condition, model=writer))
    assert list(plan_key_readings(alone, open_base(folder / "kb")).planted_to) == [writer]


def test_what_planted_keys_showed_reaches_the_report_by_hand(searched):
    folder, _ = searched
    base = open_base(folder / "kb")
    found = failing_questions(folder / "run", base)
    plan = plan_key_readings(found, base)
    kept = {"beside": folder / "beside", "prices": {}}
    report = check_keys(folder / "run", found, plan, **kept, level=0.9)
    flagged = sum(has_bad_key(q.item.prompt) for q in found.questions)
    n = len(plan.planted)
    assert (report.planted, report.noticed) == (n, n)
    assert (
        report.interval
        == estimate_bad_keys(flagged, survived=report.survived, planted=PlantedKeys(n, n), level=0.9).interval
    )
    unread = dataclasses.replace(plan, planted_to=[])
    nothing = check_keys(folder / "run", found, unread, **kept)
    assert (nothing.planted, nothing.noticed, nothing.interval) == (0, 0, None)


@pytest.mark.parametrize(("bad", "sensitivity"), [(0.05, 0.9), (0.15, 0.7), (0.3, 0.5)])
def test_the_interval_of_bad_keys_covers_recovers_truth(bad, sensitivity):
    """100 failing questions, planted keys as hard to see as bad ones; 400 exports. The campaign is in `studies`.

    The standard error of a coverage of 0.95 is 0.011: at least 0.95 - 3 x 0.011.
    """
    rng, covered = np.random.default_rng(5), 0
    for _ in range(400):
        is_bad = rng.random(100) < bad
        flags = is_bad & (rng.random(100) < sensitivity)
        noticed = int((rng.random(30) < sensitivity).sum())
        survived = int((~flags).sum())
        _, interval = estimate_bad_keys(int(flags.sum()), survived=survived, planted=PlantedKeys(30, noticed))
        covered += (is_bad & ~flags).sum() / survived <= interval.high
    assert covered / 400 >= 0.95 - 3 * 0.011
