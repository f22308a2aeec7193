"""A generator's replies are untrusted: what is broken, unanswerable, leaking or repeated is dropped and counted."""

import dataclasses
import json
from collections import Counter

import pytest

from helpers.small_base import SimulatedTestee, vectors_of
from richter.errors import InputError
from richter.records import Answer, Condition, Decoding, Document, Paragraph, Question
from richter.store import open_ledger
from richter_audit.ascent import SearchSettings, run_search
from richter_audit.ascent._question_checker import check_messages, read_check
from richter_audit.ascent._question_writer import generation_messages, read_questions, read_rephrasings
from richter_audit.ascent._search_cost import calls_per_paragraph
from richter_audit.ascent._tasks import read_tasks
from richter_audit.knowledge import StoredQuestion, open_base, write_base
from richter_audit.knowledge._stored_questions import append_stored, read_stored
from richter_audit.llm import parse_budget

PARAGRAPH = Paragraph(text="The mill of Mill Hill was built by Ann Bell in 1801 of grey stone.")


def row(question, answer, wrong=("Tom", "Sue", "Jim")):
    return {"question": question, "answer": answer, "wrong": list(wrong)}


def test_every_fault_is_dropped_under_its_own_name_by_hand():
    rows = [
        row("Who built the mill of Mill Hill?", "Ann Bell"),
        row("WHO built the mill of Mill Hill", "Ann Bell"),  # the same question again
        row("Who owns the mill of Mill Hill?", "Bob Hall"),  # not in the paragraph
        row("According to the passage, who built the mill?", "Ann Bell"),
        row("Did Ann Bell build the mill of Mill Hill?", "Ann Bell"),  # gives the answer away
        row("Of what is the mill of Mill Hill built?", "grey stone", ("wood", "Wood", "clay")),
        row("When was it built?", "1801", ("1802",)),  # too few options
        {"question": "?"},
        "text",
        row("In which year was the mill of Mill Hill built?", "1801", ("1701", "1811", "1901")),
    ]
    found = read_questions(f"Sure!\n```json\n{json.dumps({'questions': rows})}\n```", PARAGRAPH, limit=5)
    assert [q.answer for q, reason in found if not reason] == ["Ann Bell", "1801"]
    dropped = Counter(reason for _, reason in found if reason)
    assert dropped == {"broken": 3, "unanswerable": 1, "leaking": 2, "duplicate": 2}


def test_half_characters_of_a_reply_can_be_kept_and_ends_of_lines_within_a_question_lose_nothing(tmp_path):
    made = row("Who\ud800 built\u2028the mill\u0085of Mill Hill?", "Ann Bell")
    ((question, reason),) = read_questions(json.dumps({"questions": [made]}), PARAGRAPH, limit=1)
    assert reason == ""
    other = read_rephrasings('{"rephrasings": ["Whose \\udfff mill?"]}', question, limit=1, dropped=Counter())
    assert read_tasks('{"tasks": ["ask \\ud83d this"]}') == (["ask \ufffd this"], 0)
    kept = [StoredQuestion(row=k, key="0" * 16, question=other) for k in range(2)]
    append_stored(tmp_path, kept)
    assert read_stored(tmp_path) == kept


@pytest.mark.parametrize("reply", ["", "no", "{", '{"questions": 3}', "[]", '{"questions": []}', '{"a": {"b": 1}'])
def test_broken_replies_give_nothing(reply):
    assert read_questions(reply, PARAGRAPH, limit=5) == [(None, "broken")]


@pytest.mark.parametrize(
    ("right", "given_away", "reason"),
    [
        (["key"], False, ""),
        (["key"], True, "given away"),
        ([], False, "no option is right"),
        (["key", "other"], False, "several options are right"),
        (["other"], False, "another option is right"),
        ("B", False, "check broken"),
    ],
)
def test_the_second_reading_keeps_a_question_with_one_right_option_by_hand(right, given_away, reason):
    question = Question(wordings=("Who built the mill?",), answer="Ann Bell", wrong=("Tom", "Sue", "Jim"))
    shown = check_messages(question, text=PARAGRAPH.text)[1]["content"]
    letter = {name: shown[shown.index(f". {name}") - 1] for name in ("Ann Bell", "Tom")}
    letters = {"key": letter["Ann Bell"], "other": letter["Tom"]}
    said = right if isinstance(right, str) else [letters[name] for name in right]
    assert read_check(json.dumps({"right": said, "given_away": given_away}), question) == reason


def test_rephrasings_are_checked_too_by_hand():
    question = Question(wordings=("Who built the mill?",), answer="Ann Bell", wrong=("a", "b", "c"))
    dropped = Counter()
    reply = {
        "rephrasings": ["By whom was the mill built?", "who built the mill", "Was it Ann Bell?", 4, "Who made it?"]
    }
    found = read_rephrasings(json.dumps(reply), question, limit=4, dropped=dropped)
    assert found.wordings == ("Who built the mill?", "By whom was the mill built?", "Who made it?")
    assert dropped == {"rephrasings": 3}
    assert read_rephrasings("broken", question, limit=4, dropped=dropped) == question


def test_the_source_is_fenced():
    messages = generation_messages(PARAGRAPH, title="Mill Hill", questions=3)
    assert "never an instruction" in messages[0]["content"]
    lines = messages[1]["content"].splitlines()
    before = lines.index(PARAGRAPH.text) - 1
    assert lines[before].startswith("SOURCE-")
    assert lines[before] == lines[before + 2]
    assert lines[before] not in PARAGRAPH.text


class SimulatedGenerator:
    """Writes one good question and one that cannot be answered; every third reply is broken."""

    name = "simulated/generator"

    def __init__(self):
        self.calls = 0

    async def ask(self, messages, decoding, draw):
        self.calls += 1
        text = messages[-1]["content"]
        if "check quiz questions" in messages[0]["content"]:
            shown = json.loads(text.splitlines()[1])
            key = next(line[0] for line in shown["options"].splitlines() if line[3:] in shown["text"].split())
            body = {"right": [key], "given_away": False}
        elif "Reword" in text:
            body = {"rephrasings": [f"Again: {json.loads(text.splitlines()[2])['question']}"]}
        else:
            number = text.split("SOURCE-")[1].split()[2]
            if int(number[1:]) % 3 == 0:
                return Answer(text="I cannot do that.", tokens_in=50, tokens_out=5, money_usd=0.0)
            good = row(f"Which number comes with mark {7 * int(number[1:])}?", number, ("n901", "n902", "n903"))
            body = {"questions": [good, row("Who said so?", "nobody")]}
        return Answer(text=json.dumps(body), tokens_in=50, tokens_out=50, money_usd=0.0)

    async def aclose(self):
        pass


class SimulatedLiar:
    name = "simulated/liar"

    async def ask(self, messages, decoding, draw):
        return Answer(text="It is n0.", tokens_in=9, tokens_out=9, money_usd=0.0)

    async def aclose(self):
        pass


@pytest.fixture
def base(tmp_path):
    documents = [
        Document(
            title=f"T{d}",
            abstract=f"T{d} about facts",
            paragraphs=tuple(Paragraph(text=f"T{d} n{10 * d + p} is a fact", category=f"c{d}") for p in range(10)),
        )
        for d in range(3)
    ]
    write_base(tmp_path / "kb", documents, name="bare", embedding="by hand", vectors=vectors_of, dim=8)
    return open_base(tmp_path / "kb")


def test_a_search_with_a_generator_counts_its_calls_and_scores_no_dropped_question(tmp_path, base):
    condition = Condition(name="liar", model="simulated/liar", decoding=Decoding(max_tokens=8))
    settings = SearchSettings(batch=6, questions=2, phrasings=2, neighbours=4, uniform=0.5)
    generator = SimulatedGenerator()
    options = {"model": SimulatedLiar(), "generator": generator}
    found = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("80calls"), **options)
    assert found.spent.calls <= 80
    asked = sum(s.paragraphs for s in found.steps)
    assert found.answers == found.errors_found == found.reworded == found.confirmed  # it lies always
    assert found.dropped["unanswerable"] + found.dropped["broken"] == asked  # one fault a paragraph
    assert found.answers == found.dropped["unanswerable"]  # its one good question
    assert found.spent.calls == generator.calls + 2 * found.answers  # in two wordings
    assert generator.calls == asked + 2 * found.answers  # written, checked, reworded
    assert {q.row for q in open_base(base.folder).stored if not q.rejected} == {
        row for row in range(30) if row % 3 and row in {q.row for q in base.stored}
    }
    assert found.population.error_rate == 1.0
    again = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("80calls"), **options)
    assert again.to_dict() == found.to_dict()  # nothing is paid for twice
    shared = SimulatedGenerator()  # another model is asked the same questions, and none is written again
    other = dataclasses.replace(condition, name="other", model="simulated/other")
    liar = SimulatedLiar()
    liar.name = "simulated/other"
    run_search(
        tmp_path / "other",
        open_base(base.folder),
        other,
        settings,
        budget=parse_budget("60calls"),
        model=liar,
        generator=shared,
        steps=1,
    )
    with open_ledger(tmp_path / "run") as one, open_ledger(tmp_path / "other") as two:
        mine, theirs = ({i.id: i for i in ledger.items()} for ledger in (one, two))
    assert all(mine[name] == theirs[name] for name in set(mine) & set(theirs))
    written = Counter(q.row for q in open_base(base.folder).stored if not q.rejected)
    assert set(written.values()) == {1}  # no question is written twice
    more = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("1000calls"), **options)
    assert sum(s.paragraphs for s in more.steps) == 30


class SimulatedBabbler(SimulatedGenerator):
    """Never writes JSON."""

    async def ask(self, messages, decoding, draw):
        self.calls += 1
        return Answer(text='{"questions": [', tokens_in=5, tokens_out=5, money_usd=0.0)


def test_a_generator_that_writes_nothing_usable_ends_at_its_budget_and_scores_nothing(tmp_path, base):
    condition = Condition(name="liar", model="simulated/liar", decoding=Decoding(max_tokens=8))
    settings = SearchSettings(batch=6, questions=2, phrasings=2, neighbours=4, uniform=0.5)
    options = {"model": SimulatedLiar(), "generator": SimulatedBabbler()}
    found = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("40calls"), **options)
    asked = sum(s.paragraphs for s in found.steps)
    assert found.dropped["broken"] == asked == found.spent.calls <= 40
    assert (found.answers, found.errors_found, found.unfinished) == (0, 0, 0)
    assert found.population.error_rate is None  # unknown, not 0


def test_questions_without_options_are_counted_and_left_out_of_a_cloze(tmp_path):
    def paragraph(p):
        wrong = ("wrong a", "wrong b", "wrong c") if p % 2 else ()
        question = Question(wordings=(f"Q0 D0 P{p}?",), answer=f"right {p}", wrong=wrong)
        return Paragraph(text=f"T n{p} is a fact", questions=(question,))

    def search(name, numbers):
        document = Document(title="T", abstract="T", paragraphs=tuple(map(paragraph, numbers)))
        write_base(tmp_path / name, [document], name="mixed", embedding="by hand", vectors=vectors_of, dim=8)
        condition = Condition(name="c", model="simulated/testee", decoding=Decoding(max_tokens=8), style="cloze")
        base, settings = open_base(tmp_path / name), SearchSettings(batch=10, questions=1, phrasings=1)
        model, budget = SimulatedTestee(lambda d, p: False), parse_budget("99calls")
        return run_search(tmp_path / f"{name}-run", base, condition, settings, budget=budget, model=model)

    found = search("mixed", range(10))
    assert found.answers == 5
    assert found.dropped["optionless"] == 5
    assert found.unfinished == 0
    with pytest.raises(InputError, match="which --style cloze needs"):
        search("none", range(0, 10, 2))


def _search(folder, base, name, *, generator, budget, **settings):
    return run_search(
        folder / name,
        base,
        Condition(name="liar", model="simulated/liar", decoding=Decoding(max_tokens=8)),
        SearchSettings(batch=4, phrasings=1, seed=3, **settings),
        budget=parse_budget(budget),
        model=SimulatedLiar(),
        generator=generator,
    )


def test_what_a_second_reading_rejected_is_not_written_again_by_its_generator(tmp_path, base):
    class Sour(SimulatedGenerator):
        """Writes questions as the generator does, and finds no key of its own right."""

        async def ask(self, messages, decoding, draw):
            if "check quiz questions" in messages[0]["content"]:
                return Answer(text='{"right": []}', tokens_in=9, tokens_out=9, money_usd=0.0)
            return await super().ask(messages, decoding, draw)

    _search(tmp_path, base, "first", generator=Sour(), budget="90calls")
    again = open_base(base.folder)
    rejected = set(again.rejected_rows("simulated/generator", len(again.stored)))
    assert len(rejected) == len({q.row for q in again.stored}) > 5
    second = SimulatedGenerator()
    _search(tmp_path, again, "second", generator=second, budget="60calls")
    with open_ledger(tmp_path / "second") as ledger:
        assert not rejected & {row for row, _, _ in ledger.picks()}


def test_a_rate_is_of_all_paragraphs_or_of_none_where_a_search_chose_the_questions(tmp_path, base):
    first = _search(tmp_path, base, "first", generator=SimulatedGenerator(), budget="60calls")
    assert (first.frame.kind, first.frame.size) == ("all", len(base))
    assert first.population.error_rate == 1
    later = open_base(base.folder)
    assert 0 < later.askable.sum() < len(base)
    found = _search(tmp_path, later, "later", generator=None, budget="8calls")
    assert found.answers > 0
    assert (found.frame.kind, found.frame.chosen) == ("chosen", int(later.askable.sum()))
    assert found.population.error_rate is None
    assert found.by_category == {}


class RewordingGenerator(SimulatedGenerator):
    """Writes every question in other words too, in the same reply."""

    async def ask(self, messages, decoding, draw):
        given = await super().ask(messages, decoding, draw)
        body = json.loads(given.text) if given.text.startswith("{") else {}
        for one in body.get("questions", ()):
            one["reworded"] = f"Put otherwise: {one['question']}"
        return dataclasses.replace(given, text=json.dumps(body)) if body else given


def test_a_question_is_written_in_two_wordings_by_one_call_and_confirmed_by_default(tmp_path, base):
    generator = RewordingGenerator()
    condition = Condition(name="liar", model="simulated/liar", decoding=Decoding(max_tokens=8))
    found = run_search(
        tmp_path / "run",
        base,
        condition,
        SearchSettings(batch=4, seed=3),
        budget=parse_budget("60calls"),
        model=SimulatedLiar(),
        generator=generator,
    )
    assert found.reworded == found.confirmed == found.errors_found > 0
    with open_ledger(tmp_path / "run") as ledger:
        assert any(item.prompt.startswith("Put otherwise: ") for item in ledger.items())
        assert generator.calls == sum(row.answers for row in ledger.spent_by_model() if "generator" in row.model)


def test_all_wordings_are_asked_with_a_generator_as_they_are_priced(tmp_path, base):
    settings = SearchSettings(batch=4, seed=3, phrasings=2, wordings="all")
    condition = Condition(name="liar", model="simulated/liar", decoding=Decoding(max_tokens=8))
    generator = SimulatedGenerator()
    found = run_search(
        tmp_path / "run",
        base,
        condition,
        settings,
        steps=1,
        budget=parse_budget("60calls"),
        model=SimulatedLiar(),
        generator=generator,
    )
    with open_ledger(tmp_path / "run") as ledger:
        asked = sum(row.answers for row in ledger.spent_by_model() if "liar" in row.model)
    assert asked == 2 * found.answers > 0  # each question in both wordings
    assert found.spent.calls <= 4 * calls_per_paragraph(settings, "choice", generated=True)


def test_a_budget_of_the_tested_model_alone_is_held_whatever_others_cost(tmp_path, base):
    found = run_search(
        tmp_path / "run",
        base,
        Condition(name="liar", model="simulated/liar", decoding=Decoding(max_tokens=8)),
        SearchSettings(batch=4, seed=3, phrasings=1),
        testee_calls=10,
        model=SimulatedLiar(),
        generator=SimulatedGenerator(),
    )
    rows = {row.model: row.calls for row in found.costs}
    assert 0 < rows["simulated/liar"] <= 10 < rows["simulated/generator"]
