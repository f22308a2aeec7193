from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richter.records import Question
from richter_audit.bench import normalise_name, word
from richter_audit.bench._wordings import RELATIONS

SLOTS = {"subject": "Qqq", "kind": "town", "land": "Rrr"}


@pytest.mark.parametrize("relation", sorted(RELATIONS))
def test_five_wordings_each_with_a_cloze_and_two_shots(relation):
    question = Question(relation=relation, slots=SLOTS, answer="Right", wrong=("W1", "W2", "W3"))
    items = word(question, identity="7.0", phrasings=5, domain="d", attributes={"size": "small"})
    assert [item.id for item in items] == [f"7.0.{i}" for i in range(5)]
    assert len({item.prompt for item in items}) == len({item.stem for item in items}) == 5
    for item in items:
        assert "Qqq" in item.prompt
        assert "Qqq" in item.stem
        assert sorted(item.options) == ["Right", "W1", "W2", "W3"]
        assert item.options == items[0].options
        assert len(item.shots) == 2
        assert all(shot.endswith(".") for shot in item.shots)
        assert item.truth == {"relation": relation, "attributes": {"size": "small"}}
    solved = RELATIONS[relation].examples
    assert len({answer for _, answer in solved}) >= 3  # two are left when one is the answer asked for


@pytest.mark.parametrize("relation", sorted(RELATIONS))
def test_shots_never_hold_the_answer(relation):
    for _, answer in RELATIONS[relation].examples:
        question = Question(relation=relation, slots=SLOTS, answer=answer, wrong=("W1", "W2", "W3"))
        for item in word(question, identity="7.0", phrasings=5, domain="d"):
            assert len(item.shots) == 2
            assert not any(f" {normalise_name(answer)} " in f" {normalise_name(shot)} " for shot in item.shots)


@given(st.integers(1, 9))
def test_a_written_question_is_asked_as_it_stands(phrasings):
    question = Question(wordings=("Who?", "By whom?"), answer="Ann", wrong=("a", "b", "c"))
    items = word(question, identity="1.2", phrasings=phrasings, domain="d")
    assert [item.prompt for item in items] == ["Who?", "By whom?"][:phrasings]
    open_one = word(Question(wordings=("Who?",), answer="Ann"), identity="1.2", phrasings=1, domain="d")[0]
    assert (open_one.options, open_one.stem) == ((), "")


@pytest.mark.slow
@pytest.mark.xdist_group("facts")
def test_the_facts_base_says_what_its_sources_say():
    """Places of the first divisions: their questions against the tables they came from, read anew."""
    from helpers.facts_world import world
    from richter_audit.bench import fact_documents
    from richter_audit.bench._world import _geonames

    cities, lands = _geonames("cities500.json"), _geonames("countries.json")
    by_name = {}
    for row in cities.values():
        by_name.setdefault(row["name"], []).append(row)
    seen = 0
    for document in islice(fact_documents(world()), 120):
        for paragraph in document.paragraphs:
            texts = [q.answer for q in paragraph.questions]
            assert len(paragraph.questions) <= 5
            for q in paragraph.questions:
                assert len({normalise_name(x) for x in (q.answer, *q.wrong)}) == 4
                assert not {normalise_name(w) for w in q.wrong} & {normalise_name(a) for a in q.aliases}
            subject = paragraph.questions[0].slots["subject"] if texts else ""
            rows = by_name.get(subject, [])
            if len(rows) == 1:
                seen += 1
                zone = next((q for q in paragraph.questions if q.relation == "place-zone"), None)
                assert zone is None or zone.answer == rows[0]["timezone"]
                land = next((q for q in paragraph.questions if q.relation == "place-country"), None)
                if land is not None:
                    name = lands[rows[0]["countrycode"]]["name"]
                    names = {normalise_name(a) for a in (land.answer, *land.aliases)}
                    assert normalise_name(name) in names
    assert seen > 1000
