import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richter.texts import split_confidence, token_probability


@pytest.mark.parametrize(
    ("text", "answer", "value"),
    [
        ("Paris\nConfidence: 80%", "Paris", 0.8),
        ("Paris. Confidence: 95", "Paris.", 0.95),
        ("Paris\n**Confidence:** 0.7", "Paris", 0.7),
        ("Paris (confidence: 8/10)", "Paris", 0.8),
        ("Paris\nConfidence level: 60 percent", "Paris", 0.6),
        ("Paris\nConfidence is 100%.", "Paris", 1.0),
        ("Confidence: 20%\nParis\nConfidence: 40%", "Confidence: 20%\nParis", 0.4),
        ("Paris\nConfidence: 1", "Paris", 1.0),
        ("Paris\nConfidence: 120%", "Paris", None),
        ("Paris", "Paris", None),
        ("Paris\nConfidence: high", "Paris\nConfidence: high", None),
        ("", "", None),
    ],
)
def test_stated_confidence_by_hand(text: str, answer: str, value: float | None) -> None:
    assert split_confidence(text) == (answer, pytest.approx(value) if value is not None else None)


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    _, value = split_confidence(text)
    assert value is None or 0 <= value <= 1


def test_token_probability_leaves_out_the_confidence_line_by_hand() -> None:
    tokens, logprobs = ["Par", "is", "\nConfidence", ": 80%"], [math.log(0.5), math.log(0.125), -9.0, -9.0]
    assert token_probability("Paris\nConfidence: 80%", tokens, logprobs) == pytest.approx(0.25)
    assert token_probability("Paris", [], []) is None
