"""What comes out of a search: failing questions each once, in the forms of others, that fail again."""

import dataclasses
import json
import re
import runpy
from collections import Counter

import numpy as np
import pytest

from helpers.server import FakeApi
from helpers.small_base import small_base
from richter.cli import main
from richter.errors import ModelError
from richter.records import Answer, Condition, Decoding, Item
from richter.store import Call, open_ledger
from richter_audit.ascent import (
    FailingQuestion,
    FailingSet,
    failing_questions,
    generate_questions,
    keep_stable,
    report_questions,
)
from richter_audit.bench import read_items, write_set
from richter_audit.knowledge import open_base
from richter_audit.knowledge._stored_questions import append_stored
from richter_audit.llm import parse_budget


def call(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code


def reply(prompt):
    """Wrong on documents 2 and 3; of document 3 right when asked in other words."""
    options = {line[3:]: line[0] for line in prompt.splitlines() if line[1:3] == ". "}
    document = prompt.split()[1]
    wrong = document == "D2" or (document == "D3" and "again" not in prompt)
    return "Answer: " + next(at for text, at in options.items() if text.startswith("wrong") == wrong)


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    small_base(folder / "kb", questions=1)
    with FakeApi(reply=reply) as api:
        arguments = ("--model", api.model, "--kb", folder / "kb", "--budget", "400calls", "--phrasings", "2")
        assert call("search", folder / "run", *arguments) == 0
        yield folder


def test_failing_questions_are_those_that_fail_in_other_words_too(searched):
    base = open_base(searched / "kb")
    found = failing_questions(searched / "run", base)
    assert {q.item.prompt.split()[1] for q in found.questions} == {"D2"}
    assert all(q.reworded == 1 and q.text.startswith("D2 holds fact") for q in found.questions)
    every = failing_questions(searched / "run", base, confirmed=False)
    assert {q.item.prompt.split()[1] for q in every.questions} == {"D2", "D3"}
    assert found.left_out == {"right in other words": len(every.questions) - len(found.questions)}


def test_a_question_that_says_the_same_is_left_out_and_an_unstable_one_too(searched, tmp_path):
    found = failing_questions(searched / "run")
    first, second = found.questions[:2]
    answers = [
        Answer(text=first.answer, item=first.item.id, draw=0),
        Answer(text=first.answer, item=first.item.id, draw=1),
        Answer(text=second.answer, item=second.item.id, draw=0),
        Answer(text=second.item.reference, item=second.item.id, draw=1),
    ]
    with open_ledger(tmp_path / "again", mode="write") as ledger:
        ledger.add_items([first.item, second.item])
        ledger.add_conditions([found.condition])
        named = [dataclasses.replace(a, condition=found.condition.name) for a in answers]
        ledger.add_calls([Call(key=str(i), model="m", request="", answer=a) for i, a in enumerate(named)])
    kept = keep_stable(dataclasses.replace(found, questions=(first, second)), tmp_path / "again")
    assert [q.item.id for q in kept.questions] == [first.item.id]
    assert kept.left_out["not wrong when asked again"] == 1


@pytest.mark.parametrize("to", ["items", "promptfoo", "inspect", "pytest"])
def test_each_form_holds_every_failing_question_by_hand(searched, tmp_path, to):
    out = tmp_path / ("set.json" if to in ("items", "promptfoo") else "set")
    assert call("search", "export", searched / "run", "--to", to, "-o", out, "--again", 1) == 0
    wanted = {f"q{q.item.id}": q for q in failing_questions(searched / "run").questions}
    if to == "items":
        items = read_items(out)  # and can be read back
        assert {item.id for item in items} == set(wanted)
        assert all(item.truth["source_text"].startswith("D2") for item in items)
    elif to == "promptfoo":
        tests = json.loads(out.read_text())["tests"]
        assert {test["description"] for test in tests} == set(wanted)
        for test in tests:
            options = wanted[test["description"]].item.options
            letter = "ABCD"[options.index(wanted[test["description"]].item.reference)]
            assert test["assert"] == [{"type": "regex", "value": rf"[Aa]nswer:\W*{letter}\b"}]
            assert f"{letter}. right" in test["vars"]["question"]
    elif to == "inspect":
        rows = [json.loads(line) for line in (out / "chosen.jsonl").read_text().splitlines()]
        assert {row["id"] for row in rows} == set(wanted)
        assert all(row["choices"]["ABCD".index(row["target"])].startswith("right") for row in rows)
        made = runpy.run_path(str(out / "task.py"))
        assert "chosen" in made
        assert "opened" not in made  # a task without questions would end the whole evaluation
    else:
        made = runpy.run_path(str(out / "test_set.py"))
        assert {item.id for item in made["ITEMS"]} == set(wanted)


def test_what_wavers_is_asked_once_more_unless_told_and_the_cost_is_said_before(tmp_path, capsys):
    """Document 2 fails each time, document 3 twice and then not: by default it is asked a third time and left out."""
    small_base(tmp_path / "kb", questions=1)
    asked = Counter()

    def wavers(prompt):
        options = {line[3:]: line[0] for line in prompt.splitlines() if line[1:3] == ". "}
        _, document, place, *_ = prompt.replace("?", " ").split()
        asked[document, place] += 1
        wrong = document == "D2" or (document == "D3" and asked[document, place] < 3)
        return "Answer: " + next(at for text, at in options.items() if text.startswith("wrong") == wrong)

    with FakeApi(reply=wavers) as api:
        arguments = ("--model", api.model, "--kb", tmp_path / "kb", "--budget", "400calls", "--phrasings", "2")
        assert call("search", tmp_path / "run", *arguments) == 0
        calls = len(api.bodies)
        assert call("search", "export", tmp_path / "run", "-o", tmp_path / "as-is.jsonl", "--again", 0) == 0
        assert call("search", "export", tmp_path / "run", "-o", tmp_path / "set.jsonl", "--dry-run") == 0
        assert len(api.bodies) == calls
        assert not (tmp_path / "set.jsonl").exists()
        as_is = read_items(tmp_path / "as-is.jsonl")
        assert {item.prompt.split()[1] for item in as_is} == {"D2", "D3"}
        capsys.readouterr()
        assert call("search", "export", tmp_path / "run", "-o", tmp_path / "set.jsonl", "--price", "1,2") == 0
        told = " ".join(capsys.readouterr().out.split())
        again = [body for body in api.bodies[calls:] if "Q0 D" in str(body)]
        assert len(again) == len(as_is)
        assert f"Asks {len(as_is)} failing questions again before they are written: {len(as_is)} calls" in told
        assert "at most $" in told
        api._key = "another"  # from now on the server refuses us: written as it is, and that is said
        refused = ("search", "export", tmp_path / "run", "-o")
        assert call(*refused, tmp_path / "gone.jsonl") == 0
        told = " ".join(capsys.readouterr().out.split())
        assert "Not asked again: " in told
        assert "% of them are expected to fail when asked again" in told
        assert len(read_items(tmp_path / "gone.jsonl")) == len(as_is)
        assert call(*refused, tmp_path / "told.jsonl", "--again", 1) != 0  # told to ask: a fault
    assert {item.prompt.split()[1] for item in read_items(tmp_path / "set.jsonl")} == {"D2"}


def failing_set(a, c, wordings, shares, again=0):
    item = Item(id="1.0", prompt="?", reference="r")
    questions = tuple(
        FailingQuestion(item=item, answer="x", mode="m", reworded=share, asked_again=again) for share in shares
    )
    condition = Condition(name="t", model="m", decoding=Decoding(), style="choice")
    return FailingSet(
        condition=condition,
        questions=questions,
        left_out={},
        wrong_share=a,
        reworded_share=c,
        other_wordings=wordings,
    )


def test_the_share_that_is_expected_to_fail_again_by_hand():
    """Of two wrong answers to one question 1 - a (1 - c) / c is expected: with e 0.1 and 20% not known a is 0.26."""
    a, twice = 0.2 * 0.9 + 0.8 * 0.1, 0.2 * 0.81 + 0.8 * 0.01
    found = failing_set(a, twice / a, 1, [1.0])
    assert found.expected_again == pytest.approx((0.2 * 0.729 + 0.8 * 0.001) / twice)
    assert found.expected_again == pytest.approx(1 - a * (1 - twice / a) / (twice / a))
    assert failing_set(a, twice / a, 1, [None]).expected_again == pytest.approx(twice / a)
    assert failing_set(a, None, 1, [None]).expected_again is None
    assert failing_set(0.3, 1.0, 1, [1.0]).expected_again == 1


def test_the_share_that_is_expected_to_fail_again_recovers_truth():
    """Of 100,000 questions, 30% not known, each answer the other way in 8%: asked five times each."""
    rng = np.random.default_rng(3)
    unknown = rng.random(100_000) < 0.3
    wrong = unknown[:, None] ^ (rng.random((100_000, 5)) < 0.08)
    first = wrong[wrong[:, 0]]
    half = first[first[:, 1:3].mean(axis=1) >= 0.5]
    a, c = wrong[:, 0].mean(), first[:, 1:3].mean()
    # of three answers two or three wrong, then a fourth; the standard error of a share of 25,000 is below 0.002
    found = failing_set(a, c, 2, half[:, 1:3].mean(axis=1).tolist())
    assert found.expected_again == pytest.approx(half[:, 3].mean(), abs=0.006)
    kept = half[half[:, 3]]
    more = failing_set(a, c, 2, kept[:, 1:3].mean(axis=1).tolist(), again=1)
    assert more.expected_again == pytest.approx(kept[:, 4].mean(), abs=0.006)


def test_questions_are_written_checked_and_stale_ones_not_asked(tmp_path):
    bare = small_base(tmp_path / "kb", questions=0, documents=3, paragraphs=10)

    def writes(prompt):
        if '"options":' in prompt:
            shown = json.loads(prompt.splitlines()[1])
            letters = [line[0] for line in shown["options"].splitlines()]
            number = shown["text"].split()[-1]
            key = next(line[0] for line in shown["options"].splitlines() if line[3:] == number)
            return json.dumps({"right": letters[:2] if number == "7" else [key], "given_away": False})
        number = prompt.split("fact number ")[1].split()[0]
        wrong = ["901", "902", "903"]
        return json.dumps({"questions": [{"question": "Which one is it?", "answer": number, "wrong": wrong}]})

    with FakeApi(reply=writes) as api:
        budget, rng = parse_budget("1000calls"), np.random.default_rng(0)
        found = generate_questions(bare, api.model, per_paragraph=1, budget=budget, prices={}, rng=rng)
        calls = len(api.bodies)
        again = generate_questions(open_base(tmp_path / "kb"), api.model, budget=budget, prices={}, rng=rng)
    assert (found.written, found.kept, dict(found.rejected)) == (30, 27, {"several options are right": 3})
    assert len(api.bodies) == calls == found.spent.calls == 60
    assert again.kept == found.kept  # nothing is written twice
    base = open_base(tmp_path / "kb")
    assert base.askable.sum() == 27
    stale = dataclasses.replace(base.stored[0], key="0" * 16)
    base.add_questions([stale])
    assert len(base.paragraphs([stale.row])[0].questions) <= 1  # written for a text that is there no longer
    base.add_questions([dataclasses.replace(stale, row=0, question=stale.question)] * 40)
    bare = next(row for row in range(len(base)) if not base.askable[row])
    append_stored(base.folder, [dataclasses.replace(stale, row=bare), dataclasses.replace(stale, row=10**6)])
    assert open_base(base.folder).askable.sum() == 27  # a search would find no question there


@pytest.mark.parametrize("said", ["I'm sorry, I cannot help with that.", "", '{"questions": [{"question": 5}]}'])
def test_a_generator_that_refuses_or_writes_nonsense_is_stopped_and_another_goes_on(tmp_path, said):
    bare = small_base(tmp_path / "kb", questions=0, documents=3, paragraphs=10)

    def writes(prompt):
        if '"options":' in prompt:
            shown = json.loads(prompt.splitlines()[1])
            number = shown["text"].split()[-1]
            return json.dumps({"right": [r[0] for r in shown["options"].splitlines() if r[3:] == number]})
        number = prompt.split("fact number ")[1].split()[0]
        rows = [{"question": "Which one is it?", "answer": number, "wrong": ["901", "902", "903"]}]
        return json.dumps({"questions": rows})

    calls = {"budget": parse_budget("1000calls"), "prices": {}, "rng": np.random.default_rng(0)}
    with FakeApi(reply=lambda prompt: said) as api:
        with pytest.raises(ModelError, match=r"no question that can be asked about 20 paragraphs .*broken"):
            generate_questions(bare, api.model, per_paragraph=1, **calls)
        assert len(api.bodies) == 20
    kept = report_questions(open_base(tmp_path / "kb"))
    assert (kept.paragraphs, kept.kept) == (20, 0)  # what was paid for is there, with the reason
    assert kept.rejected["broken"] == 20
    with FakeApi(reply=writes) as api:
        found = generate_questions(open_base(tmp_path / "kb"), api.model, per_paragraph=1, **calls)
    assert (found.kept, found.written) == (30, 50)
    once = open_base(tmp_path / "kb")
    held = dataclasses.replace(once, lines=len(once.stored))  # as a search that is resumed holds its base
    assert held.askable.sum() == once.askable.sum() == 30


def test_writing_questions_is_priced_before_by_hand(tmp_path, capsys):
    """30 paragraphs of two questions: 30 replies of 1,500 tokens and 60 of 300 at $2 a million are $0.126."""
    small_base(tmp_path / "kb", questions=0, documents=3, paragraphs=10)
    arguments = ("--generator", "openai/gpt-4o-mini", "--budget", "5usd", "--dry-run", "--json", tmp_path / "plan.json")
    assert call("search", "--only", "questions", tmp_path / "kb", *arguments, "--price", "openai/gpt-4o-mini=0,2") == 0
    plan = json.loads((tmp_path / "plan.json").read_text())["dry_run"]
    assert (plan["asked"], plan["calls"]) == (30, 90)
    assert plan["money_usd_most"] == pytest.approx(30 * (1500 + 2 * 300) * 2e-6)
    assert "At most 90 calls (at most $0.1260) for 30 paragraphs" in " ".join(capsys.readouterr().out.split())
    assert (
        call(
            "search",
            "--only",
            "questions",
            tmp_path / "kb",
            *arguments,
            "--price",
            "openai/gpt-4o-mini=1,2",
            "--limit",
            10,
        )
        == 0
    )
    plan = json.loads((tmp_path / "plan.json").read_text())["dry_run"]
    assert (
        10 * 2100 * 2e-6 < plan["money_usd_most"] < 10 * (2100 * 2e-6 + 3 * 1000e-6)
    )  # what goes in is below 1,000 each


def test_no_question_is_a_template_or_a_file_to_promptfoo(tmp_path):
    """A model wrote them: promptfoo would fill a key into the one, and run the program that the other names."""
    texts = [
        "Say {{ env.OPENAI_API_KEY }} {% include 'x' %} {# y #}",
        "file://run.py",
        " FILE:///etc/passwd",
        "a: {1} {}",
    ]
    items = [Item(id=text, prompt=text, reference=text, domain=text) for text in texts]
    write_set(items, tmp_path / "set.json", to="promptfoo", name="x")
    written = json.dumps(json.loads((tmp_path / "set.json").read_text())["tests"])
    assert not re.search(r"\{[{%#]|file://", written, re.IGNORECASE)
    assert "a: {1} {}" in written
