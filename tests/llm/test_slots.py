"""Which waiting question goes to which slot of a local model."""

import threading
from concurrent.futures import Future

from richter.records import Decoding
from richter_audit.llm._local import _Question, _Slots


def question(text: str, draw: int = 0) -> _Question:
    return _Question([{"role": "user", "content": text}], Decoding(), draw, threading.Event(), Future())


def test_a_question_goes_where_its_prompt_is_held() -> None:
    slots = _Slots(2)
    for draw in range(2):
        for text in ("a", "b"):
            slots.wait(question(text, draw))
    first, at_a = slots.take()
    second, at_b = slots.take()
    assert (first.messages[0]["content"], second.messages[0]["content"]) == ("a", "b")
    slots.give_back(at_b)
    third, slot = slots.take()  # a's second draw waits longer, but its prompt is being read elsewhere
    assert (third.messages[0]["content"], third.draw, slot) == ("b", 1, at_b)
    slots.give_back(at_a)
    fourth, slot = slots.take()
    assert (fourth.messages[0]["content"], fourth.draw, slot) == ("a", 1, at_a)


def test_no_slot_idles_while_a_question_waits() -> None:
    slots = _Slots(3)
    for draw in range(3):
        slots.wait(question("the same", draw))
    taken = [slots.take() for _ in range(3)]
    assert sorted(slot for _, slot in taken) == [0, 1, 2]
    assert sorted(q.draw for q, _ in taken) == [0, 1, 2]


def test_the_slot_that_was_free_longest_forgets_first() -> None:
    slots = _Slots(2)
    for text in ("a", "b"):
        slots.wait(question(text))
    (_, at_a), (_, at_b) = slots.take(), slots.take()
    slots.give_back(at_b)
    slots.give_back(at_a)
    slots.wait(question("c"))
    assert slots.take()[1] == at_b
    slots.wait(question("a"))
    assert slots.take()[1] == at_a


def test_a_question_that_begins_as_a_free_slots_prompt_goes_there_and_none_waits_for_ever() -> None:
    slots = _Slots(2)
    slots.wait(question("You are an expert. Where is A?"))
    slots.wait(question("B is in"))
    (_, expert), (_, plain) = slots.take(), slots.take()
    slots.give_back(plain)
    slots.give_back(expert)
    slots.wait(question("You are an expert. Where is C?"))
    slots.wait(question("B is near"))
    first, slot = slots.take()  # both slots are free: the longer beginning first
    assert (first.messages[0]["content"], slot) == ("You are an expert. Where is C?", expert)
    assert slots.take()[1] == plain
    slots.give_back(expert)
    slots.wait(question("Unlike all others"))
    for turn in range(8):
        slots.wait(question(f"You are an expert. Where is D{turn}?"))
        taken, slot = slots.take()
        if taken.messages[0]["content"] == "Unlike all others":
            break
        slots.give_back(slot)
    assert taken.messages[0]["content"] == "Unlike all others"
