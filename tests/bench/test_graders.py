"""Graders without a model: right and wrong by hand for each kind of reference, and the choice among them."""

import json
import os
import re
import time
from pathlib import Path

import pytest

from richter.errors import InputError
from richter.records import Item
from richter.texts import GRADERS, choose_grader, choose_graders, grade_answer, read_choice
from richter_audit.bench import read_items

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "nq_open_250_samples.json"


def item(reference: str, *, prompt: str = "Q?", **fields: object) -> Item:
    return Item(id="i", prompt=prompt, reference=reference, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reference", "grader", "right", "wrong"),
    [
        ("42", "number", ["42", "42.0", "The answer is 42, not 17", "forty-two"], ["43", "between 40 and 42"]),
        ("1,234", "number", ["1234", "1 234 people", "1.234e3"], ["1.234", "234"]),
        ("3.14", "number", ["3.14159", "about 3.142"], ["3.2", "314"]),
        ("5 km", "number", ["5000 m", "5 kilometres", "5"], ["5 miles", "5 kg", "5000"]),
        ("6ft 1in", "number", ["He is 6 feet 1 inch (185 cm) tall.", "185 cm"], ["6 ft", "180 cm"]),
        ("3 million", "number", ["3,000,000", "3 million dollars"], ["3 billion"]),
        ("$20", "number", ["20 dollars", "20"], ["20 euros"]),
        ("19 July 1990", "date", ["July 19, 1990", "on 1990-07-19", "19th of July 1990"], ["1990", "20 July 1990"]),
        ("September 1999", "date", ["30 September 1999", "in September 1999"], ["September 1998"]),
        ("red; tan; green", "list", ["tan, green, red", "- tan\n- red\n- green"], ["red, green, tan, blue"]),
        ('{"city": "Oslo", "n": 2}', "json", ['So: {"n": 2.0, "city": "oslo", "x": 1}'], ['{"city": "Oslo"}', "Oslo"]),
        (r"re:^colou?r\b", "regex", ["color", "colour it"], ["The colour"]),
        ("Paris", "says", ["It is Paris.", "PARIS"], ["Rome", "I do not know whether it is Paris."]),
        ("R. H. Thomson", "says", ["by R.H. Thomson"], ["by Thompson"]),
        ("Dr. Jesse Bennett", "says", ["Jesse Bennett did"], ["Jesse Owens"]),
        ("the mid-10th century BCE", "says", ["in the 10th century BC"], ["in the 11th century BC", "mid-century"]),
        ("Rachel Sarah Bilson", "says", ["Rachel Bilson"], ["Rachel Green"]),
        ("attack on Pearl Harbor", "says", ["the attack on the naval base at Pearl Harbor"], ["an attack on Hawaii"]),
    ],
)  # fmt: skip
def test_each_grader_by_hand(reference: str, grader: str, right: list[str], wrong: list[str]) -> None:
    one = item(reference)
    assert choose_grader(one) == grader
    assert [text for text in right if grade_answer(one, text) is not True] == []
    assert [text for text in wrong if grade_answer(one, text) is not False] == []


def test_choices_by_letter_or_by_text_by_hand() -> None:
    one = item("Lima", options=("Quito", "Lima", "Lima Sur", "La Paz"))
    right = ["B", "(B)", "B) Lima", "Answer: B", "The answer is B.", "ANSWER: B\nbecause A is wrong", "It is Lima."]
    wrong = ["A", "C", "ANSWER: A", "Lima Sur", "Quito or Lima", "", "Bogotá"]
    assert [t for t in right if not grade_answer(one, t)] == []
    assert [t for t in wrong if grade_answer(one, t)] == []
    assert choose_grader(item("C", prompt="Which?\nA) x\nB) y\nC) z")) == "choice"


def test_a_stated_tolerance_is_relative_and_the_edge_belongs_by_hand() -> None:
    one = item("200")
    assert grade_answer(one, "202", tolerance=0.01)
    assert not grade_answer(one, "202.1", tolerance=0.01)
    assert not grade_answer(one, "201")


def test_a_named_grader_overrides_and_an_unknown_one_is_refused() -> None:
    one = item("42")
    assert grade_answer(one, "It is 42", "exact") is False
    assert grade_answer(one, "42", "exact") is True
    assert grade_answer(one, "the number 1427", "includes") is True
    with pytest.raises(InputError, match=r"no grader 'magic'.*exact, text"):
        grade_answer(one, "42", "magic")


def test_an_option_that_ends_or_begins_with_a_letter_is_no_letter_by_hand() -> None:
    vitamins = item("vitamin C", options=("vitamin C", "vitamin D", "vitamin A", "vitamin B"))
    animals = item("A dog", options=("A cat", "A bird", "A dog", "A fish"))
    for text in (
        "It is vitamin C.",
        "Answer: Vitamin C",
        "Answer: I think it is vitamin C",
        "Answer: I believe A",
        "A",
    ):
        assert read_choice(vitamins, text) == "vitamin C"
    assert read_choice(vitamins, "Answer: C") == read_choice(vitamins, "It is vitamin A.") == "vitamin A"
    assert read_choice(animals, "Answer: A dog") == read_choice(animals, "Answer: C") == "A dog"
    assert read_choice(animals, "Answer: A") == read_choice(animals, "Answer: A cat") == "A cat"
    assert grade_answer(item("bern", options=("Basel", "Bern")), "Answer: B")
    assert not grade_answer(item("Berlin", options=("Basel", "Bern")), "Answer: B")  # a word holds letters, and is none


def test_what_is_denied_is_no_number_and_no_choice_by_hand() -> None:
    five, city = item("5", prompt="How many?"), item("Lima", options=("Quito", "Lima", "La Paz"))
    assert not grade_answer(five, "It is not 5.")
    assert grade_answer(five, "It isn't 4 but 5.")
    assert [read_choice(city, text) for text in ("It is not B.", "Not A but B", "Not Lima")] == [None, "Lima", None]


@pytest.mark.parametrize(
    ("reference", "right", "wrong"),
    [
        ("100", ["a hundred", "One hundred."], ["hundreds"]),
        ("1500", ["a thousand five hundred"], ["a thousand"]),
        ("-5", ["minus 5", "It is minus 5 degrees."], ["5", "10 minus 5"]),
        ("1990", ["1990", "In 1990."], ["in the 1990s"]),
        ("1990s", ["the 1990s"], ["2000s"]),
    ],
)
def test_numbers_as_people_say_them_by_hand(reference: str, right: list[str], wrong: list[str]) -> None:
    one = item(reference, prompt="How many?")
    assert [text for text in right if not grade_answer(one, text)] == []
    assert [text for text in wrong if grade_answer(one, text)] == []


def test_a_date_holds_its_year_and_is_no_range_by_hand() -> None:
    assert grade_answer(item("1776", prompt="In which year?"), "On 1776-07-04.")
    assert not grade_answer(item("1776", prompt="In which year?"), "In 1776-1780.")


def test_the_choice_is_counted_with_items_that_lack_a_reference(tmp_path: Path) -> None:
    path = tmp_path / "qa.csv"
    path.write_text("question,answer\nTwo and two?,4\nCapital of Peru?,Lima\nWho knows?,\n6 times 7?,42\n")
    items = read_items(path)
    assert [i.id for i in items] == ["1", "2", "3", "4"]
    found = choose_graders(items)
    assert dict(found.counts) == {"number": 2, "says": 1}
    assert str(found) == (
        "Graded without a model: number for 2 items, says for 1 item; 1 without a reference are not graded."
    )
    assert grade_answer(items[2], "nobody") is None


def test_hostile_answers_end_quickly_and_are_wrong() -> None:
    for name in GRADERS:
        for text in ("{" * 50_000, "1," * 50_000, "(" * 9999, "\0", "a. " * 20_000):
            assert grade_answer(item("Lima"), text, name) is False


DEEP = '{"a":' * 600 + "1" + "}" * 600


@pytest.mark.parametrize(
    ("reference", "grader", "text"),
    [
        ("a; b", "list", "[" * 9_000),
        ("a; b", "list", f"[{'9' * 5_000}]"),
        ('{"a": 1}', "json", f'{{"a": {"9" * 5_000}}}'),
        ('{"a": 1}', "json", f'{{"a": {"9" * 4_000}}}'),
        (DEEP, "json", DEEP),
        ("re:(a+)+$", "regex", "a" * 15_000 + "!"),
        ("re:é", "regex", "\ud800"),
    ],
)
def test_an_answer_made_to_break_its_grader_is_wrong(reference: str, grader: str, text: str) -> None:
    began = time.process_time()
    assert grade_answer(item(reference), text, grader) is False
    assert time.process_time() - began < 1


@pytest.mark.parametrize("piece", ["(B) ", "a/_(B) ", "The answer is B. "])
def test_letters_named_over_and_over_take_linear_time(piece: str) -> None:
    """20,000 letters of them took the grader of choices 4.5 s, each naming looked at again in all of the answer."""
    options = item("B", options=("Lima", "Paris", "Rome"))
    began = time.process_time()
    grade_answer(options, piece * (20_000 // len(piece)), "choice")
    assert time.process_time() - began < 1


def test_a_pattern_means_what_it_means_to_python_and_what_could_take_for_ever_is_refused() -> None:
    for pattern in (r"^\d{2,3}$", "(?i)paris|rome", r"(?P<x>a)\.b", r"(?s)a.*b\b", r"(?m)^Answer: B$", "[^\\W\\d_]+"):
        for text in ("12", "12\n", "1234", "PARIS", "a.b", "axb", "a\n b", "x\nAnswer: B\ny", "--", ""):
            assert grade_answer(item(f"re:{pattern}"), text) is (re.search(pattern, text) is not None), (pattern, text)
    for pattern in ("a(?=b)", r"(a)\1", "(", "(((a{100}){100}){100})"):
        with pytest.raises(InputError, match="The reference of 'i' is not"):
            grade_answer(item(f"re:{pattern}"), "a", "regex")


@pytest.mark.real_data
@pytest.mark.skipif(not SHARED.exists() and "RICHTER_DATA" not in os.environ, reason="the shared data are not here")
def test_free_answers_against_labels_of_people() -> None:
    """NQ-open with labels of others: nine of the twelve 'wrong' that are called right name the reference.

    Of the eight 'right' that are called wrong one offers two years ("1603 or 1604"), which is no answer to grade.
    """
    rows = json.loads(SHARED.read_text())
    grades = [grade_answer(item(r["right_answer"][0], prompt=r["question"]), r["generated_answer"][0]) for r in rows]
    labels = [r["label"] == "True" for r in rows]
    missed = sum(y and not g for g, y in zip(grades, labels, strict=True))
    granted = sum(g and not y for g, y in zip(grades, labels, strict=True))  # type: ignore[misc]
    assert (missed, granted) == (8, 12)


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("B", "Sir Ernest Rutherford"),
        ("It was Rutherford, not Bohr.\nAnswer: B", "Sir Ernest Rutherford"),
        ("Ernest Rutherford", "Sir Ernest Rutherford"),
        ("Answer: Niels Bohr", "Niels Bohr"),
        ("Bohr? Rutherford?\nAnswer: B and C", None),
        ("I cannot say.", None),
        # options that are only listed again are no choice; what is said after them is
        ("A. Marie Curie\nB. Sir Ernest Rutherford\nC. Niels Bohr", None),
        ("A. Marie Curie\nB. Sir Ernest Rutherford", None),
        ("A. Marie Curie\nB. Sir Ernest Rutherford\nC. Niels Bohr\n\nThe answer is: C.", "Niels Bohr"),
        ('A. Marie Curie\nB. Sir Ernest Rutherford\n\nThe answer is "C. Niels Bohr"', "Niels Bohr"),
        ("A. Marie Curie\nB. Sir Ernest Rutherford\nC. Niels Bohr\n\nThe correct answer is:\nC. Niels", "Niels Bohr"),
        ("A. Marie Curie\nB. Sir Ernest Rutherford\nC. Niels Bohr\n\nIt was Niels Bohr.", "Niels Bohr"),
        ('Answer: "C"', "Niels Bohr"),
        ("The right one is 'C'", "Niels Bohr"),
        ("C. Niels Bohr", "Niels Bohr"),
        ("C is correct.", "Niels Bohr"),
        ("C is the right answer, of course.", "Niels Bohr"),
        ("<answer>C</answer>", "Niels Bohr"),
        ("(c)", "Niels Bohr"),
        ("c.", "Niels Bohr"),
        ("a man", None),
        ("A. Niels Bohr", None),  # the letter of one and the text of another
        ("C. because he built the model", "Niels Bohr"),
    ],
)
def test_the_option_that_a_reply_chooses_by_hand(reply, chosen):
    item = Item(
        id="1", prompt="Who?", reference="Niels Bohr", options=("Marie Curie", "Sir Ernest Rutherford", "Niels Bohr")
    )
    assert read_choice(item, reply) == chosen
    assert grade_answer(item, reply, "choice") is (chosen == "Niels Bohr")
