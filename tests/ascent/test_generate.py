"""A generator's replies are untrusted: what is broken, unanswerable, leaking or repeated is dropped and counted."""

import json

import pytest

from helpers.small_base import SimulatedTestee, vectors_of
from richter.ascent import SearchSettings, run_search
from richter.ascent._generate import Dropped, generation_messages, read_questions, read_rephrasings
from richter.errors import InputError
from richter.knowledge import open_base, write_base
from richter.llm import parse_budget
from richter.records import Answer, Condition, Decoding, Document, Paragraph, Question

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
    dropped = Dropped()
    kept = read_questions(
        f"Sure!\n```json\n{json.dumps({'questions': rows})}\n```", PARAGRAPH, limit=5, dropped=dropped
    )
    assert [q.answer for q in kept] == ["Ann Bell", "1801"]
    assert dropped == Dropped(broken=3, unanswerable=1, leaking=2, duplicate=2)


@pytest.mark.parametrize("reply", ["", "no", "{", '{"questions": 3}', "[]", '{"questions": []}', '{"a": {"b": 1}'])
def test_broken_replies_give_nothing(reply):
    dropped = Dropped()
    assert read_questions(reply, PARAGRAPH, limit=5, dropped=dropped) == []
    assert dropped.broken == 1


def test_rephrasings_are_checked_too_by_hand():
    question = Question(wordings=("Who built the mill?",), answer="Ann Bell", wrong=("a", "b", "c"))
    dropped = Dropped()
    reply = {
        "rephrasings": ["By whom was the mill built?", "who built the mill", "Was it Ann Bell?", 4, "Who made it?"]
    }
    found = read_rephrasings(json.dumps(reply), question, limit=4, dropped=dropped)
    assert found.wordings == ("Who built the mill?", "By whom was the mill built?", "Who made it?")
    assert dropped.rephrasings == 3
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
        if "Reword" in text:
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


class SimulatedRefuser:
    name = "simulated/refuser"

    async def ask(self, messages, decoding, draw):
        return Answer(text="I'm sorry, but I cannot answer that.", tokens_in=9, tokens_out=9, money_usd=0.0)

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
    condition = Condition(name="refuser", model="simulated/refuser", decoding=Decoding(max_tokens=8))
    settings = SearchSettings(batch=6, questions=2, phrasings=2, neighbours=4, uniform=0.5)
    generator = SimulatedGenerator()
    options = {"model": SimulatedRefuser(), "generator": generator}
    found = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("80calls"), **options)
    assert found.spent.calls <= 80
    assert found.spent.calls == generator.calls + found.answers
    asked = sum(s.paragraphs for s in found.steps)
    assert found.answers == found.errors_found == found.refused  # it refuses everything: all wrong, and said so
    assert found.dropped["unanswerable"] + found.dropped["broken"] == asked  # one fault a paragraph
    assert found.answers == 2 * found.dropped["unanswerable"]  # its one good question in two wordings
    assert found.population.error_rate == 1.0
    again = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("80calls"), **options)
    assert again.to_dict() == found.to_dict()  # nothing is paid for twice
    more = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("1000calls"), **options)
    assert sum(s.paragraphs for s in more.steps) == 30


class SimulatedBabbler(SimulatedGenerator):
    """Never writes JSON."""

    async def ask(self, messages, decoding, draw):
        self.calls += 1
        return Answer(text='{"questions": [', tokens_in=5, tokens_out=5, money_usd=0.0)


def test_a_generator_that_writes_nothing_usable_ends_at_its_budget_and_scores_nothing(tmp_path, base):
    condition = Condition(name="refuser", model="simulated/refuser", decoding=Decoding(max_tokens=8))
    settings = SearchSettings(batch=6, questions=2, phrasings=2, neighbours=4, uniform=0.5)
    options = {"model": SimulatedRefuser(), "generator": SimulatedBabbler()}
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
