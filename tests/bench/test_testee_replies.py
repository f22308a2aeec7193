"""300 replies in 15 shapes, read as a person reads them: the truth of each was written by hand beside it."""

from collections import Counter
from pathlib import Path

import pytest

from richter.records import Answer, Item
from richter.texts import grade_answer, grade_reply, read_choice

PROSE = "The history of this matter is long, and many people have written about it at different times. " * 270
KEYS = {"git": "A", "nucleus": "B", "scurvy": "D", "bits": "C", "april": "D", "exec": "A"}
ITEMS = {
    "git": ("Which flag of git clone limits the history?", "--depth", "--bare", "--branch", "--mirror"),
    "nucleus": ("Who discovered it?", "Marie Curie", "Ernest Rutherford", "Niels Bohr", "J. J. Thomson"),
    "scurvy": ("Which vitamin prevents scurvy?", "vitamin A", "vitamin D", "vitamin K", "vitamin C"),
    "bits": ("How many bits does an IPv6 address have?", "32", "64", "128", "256"),
    "april": ("In which month does the fiscal year of the UK start?", "January", "July", "October", "April"),
    "exec": (
        "What does npm exec do when a package is missing?",
        "It asks before it installs the package",
        "It fails with an error",
        "It installs the package silently",
        "It uses the global cache only",
    ),
}
OPEN = {
    "peru": Item(id="peru", prompt="What is the capital of Peru?", reference="Lima"),
    "leap": Item(id="leap", prompt="How many days does a leap year have?", reference="366"),
    "middlemarch": Item(
        id="middlemarch", prompt="Who wrote Middlemarch?", reference="George Eliot", aliases=("Mary Ann Evans",)
    ),
}


def item_of(name: str) -> Item:
    if name in OPEN:
        return OPEN[name]
    prompt, *options = ITEMS[name]
    return Item(id=name, prompt=prompt, reference=options["ABCD".index(KEYS[name])], options=tuple(options))


def replies(file: str = "testee_replies.txt") -> list[tuple[str, Item, Answer, str]]:
    rows = []
    for line in (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        shape, name, finish, truth, text = line.split("|", 4)
        text = text[1:].replace("\\n", "\n").replace("{prose}", PROSE)
        rows.append((shape.strip(), item_of(name.strip()), Answer(text=text, finish=finish.strip()), truth.strip()))
    return rows


def misread(shape: str | None = None, file: str = "testee_replies.txt") -> list[tuple[str, str, str, str, str]]:
    """The replies that are read otherwise than by their truth: shape, item, truth, what was read, the end of it."""
    faults = []
    for own, item, answer, truth in replies(file):
        chosen = truth if truth in "ABCD" else None
        wanted = truth if chosen is None else "right" if KEYS[item.id] == chosen else "wrong"
        verdict = grade_reply(item, answer, "choice" if item.options else "chat")
        option = read_choice(item, answer.text) if item.options else None
        right_option = chosen is None or option == item.options["ABCD".index(chosen)]
        if shape in (None, own) and not (verdict == wanted and right_option):
            faults.append((own, item.id, truth, f"{verdict} {option}", answer.text[-100:]))
    return faults


def test_there_are_twenty_replies_of_each_of_fifteen_shapes() -> None:
    counts = Counter(shape for shape, *_ in replies())
    assert len(counts) == 15
    assert set(counts.values()) == {20}


def test_at_least_297_of_300_replies_are_read_as_people_read_them_by_hand() -> None:
    assert len(misread()) <= 3, misread()


@pytest.mark.parametrize("shape", ["hedged", "unclosed"])
def test_no_hedged_or_unfinished_reply_is_called_right_or_wrong_by_hand(shape: str) -> None:
    assert misread(shape) == []


def test_fresh_replies_are_read_as_people_read_them_or_are_unreadable_by_hand() -> None:
    """97 replies, of which 93 were read rightly at first sight; what is not read rightly must not count silently."""
    faults = misread(file="testee_replies_fresh.txt")
    assert len(replies("testee_replies_fresh.txt")) == 97
    assert len(faults) <= 2
    assert all(read.startswith("unreadable") for *_, read, _ in faults), faults


def test_graders_and_verdicts_agree_on_what_is_right() -> None:
    """What audits grade (`grade_answer`) is what a search grades: right in one is right in the other."""
    for _, item, answer, _ in replies():
        verdict = grade_reply(item, answer, "choice" if item.options else "chat")
        assert (verdict == "right") is grade_answer(item, answer.text), (item.id, answer.text[-80:])
