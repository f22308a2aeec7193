import pytest
from hypothesis import given
from hypothesis import strategies as st

from richter.texts._normalise import is_refusal, matches_reference, normalise


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The U.S.A.", "usa"),
        ("1,234.50 km", "1234.5 km"),
        ("July 4th, 1776", "4 July 1776"),
        ("4th of July 1776", "july 4 1776"),
        ("twenty-one hundred and five", "2105"),
        ("two thousand and eight", "2008"),
        ("Moby-Dick", "moby dick"),
        ("São Paulo", "Sao Paulo"),
        ("the First World War", "1st world war"),
        ("Charlotte’s Web", "Charlotte's Web"),
    ],
)
def test_same_answers_have_one_form_by_hand(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1914", "1915"), ("-5", "5.5"), ("one", "1"), ("July 4 1776", "July 5 1776"), ("Niger", "Nigeria")],
)
def test_different_answers_stay_different_by_hand(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(st.text(max_size=60))
def test_any_text_has_a_form(text: str) -> None:
    assert isinstance(normalise(text), str)
    is_refusal(text)


@pytest.mark.parametrize("text", ["", "  ", "I'm sorry, I don't know.", "Unknown", "I cannot answer this.", "N/A"])
def test_refusals(text: str) -> None:
    assert is_refusal(text)
    assert not matches_reference(text, ["sorry", "cannot"])


@pytest.mark.parametrize(
    "text", ["Paris", "I think it is Paris", "As an AI model I may be wrong. However, it is Paris."]
)
def test_answers_are_no_refusals(text: str) -> None:
    assert not is_refusal(text)
    assert matches_reference(text, ["Lyon", "Paris"])


def test_reference_words_must_stand_together() -> None:
    assert matches_reference("It was King James I.", ["James I"])
    assert not matches_reference("James the II", ["James I"])
    assert matches_reference("George Town", ["Georgetown"])
    assert not matches_reference("Nigeria", ["Niger"])


def test_what_is_denied_is_not_said_by_hand() -> None:
    for text in (
        "It is not Paris.",
        "The capital isn't Paris, it's Lyon.",
        "It isn’t Paris.",
        "Lyon rather than Paris",
    ):
        assert not matches_reference(text, ["Paris"])
    for text in (
        "It is not Rome, Paris it is.",
        "Not only Paris, but nearly so",
        "I'm not sure, but it is Paris",
        "Not Rome but Paris",
    ):
        assert matches_reference(text, ["Paris"])
    assert matches_reference("The wall did not fall until 1989.", ["1989"])
    assert not matches_reference("not guilty", ["guilty"])
    assert matches_reference("He was found not guilty.", ["not guilty"])


def test_of_yes_and_no_the_one_that_is_meant_counts_by_hand() -> None:
    said = {"Yes. There is no upper limit.": "yes", "There is no doubt: yes.": "yes", "No, and yes is a river.": "no"}
    for text, meant in said.items():
        assert [matches_reference(text, [word]) for word in ("yes", "no")] == [meant == "yes", meant == "no"]
    assert matches_reference("That is true.", ["true"])
    assert not matches_reference("That is not true.", ["true"])


def test_an_answer_that_is_the_reference_is_right_whatever_it_says() -> None:
    for text in ("None", "unknown", "N/A"):
        assert matches_reference(text, [text])
    assert not matches_reference("the United States", ["Mexico", "United Mexican States"])
    assert matches_reference("Rachel Bilson", ["Rachel Sarah Bilson"])
    assert not matches_reference("C", ["C++"])
    assert not matches_reference("C#", ["C++"])
    assert matches_reference("It is written in C++.", ["C++"])
