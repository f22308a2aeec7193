"""Short names stay distinct."""

from hypothesis import given
from hypothesis import strategies as st

from richter.records import distinct_names


def test_short_names_are_left_alone() -> None:
    assert distinct_names(["a", "gpt-4-turbo"]) == ("a", "gpt-4-turbo")


def test_a_common_start_and_middles_go_by_hand() -> None:
    names = ["org/very-long-family-of-models-7b", "org/very-long-family-of-models-70b"]
    assert distinct_names(names) == ("…7b", "…70b")
    names = ["alpha-model-with-a-long-middle-part-v1", "beta"]
    assert distinct_names(names, width=12) == ("alpha…art-v1", "beta")


@given(st.lists(st.text("ab/-", min_size=1, max_size=40), min_size=1, max_size=8, unique=True))
def test_names_stay_distinct(names: list[str]) -> None:
    short = distinct_names(names, width=10)
    assert len(set(short)) == len(names)
    assert all(len(s) <= max(10, len(n)) for s, n in zip(short, names, strict=True))
