"""Steps of others' records: roles, limits, and texts that are cut."""

from typing import Any

import pytest

from richter.trajectories import MAX_STEPS, Step, is_cut, limit_steps, step_of_record, steps_of_messages


def test_a_long_text_is_cut_and_two_that_differ_at_their_end_stay_different() -> None:
    one, two = limit_steps(
        Step(role="tool", tool="cat", arguments="a" * 50_000 + end, result="b" * 50_000 + end) for end in "xy"
    )
    assert is_cut(one.result)
    assert max(len(one.arguments), len(one.result)) < 2_100
    assert one.result != two.result
    assert one.arguments != two.arguments


def test_steps_beyond_the_limit_are_left_out() -> None:
    assert len(limit_steps(Step(role="assistant", result=str(k)) for k in range(MAX_STEPS + 7))) == MAX_STEPS


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ({"text": "hello"}, Step(role="assistant", result="hello")),
        ({"role": "human", "content": "go on"}, Step(role="user", result="go on")),
        (
            {"tool": "ls", "arguments": {"b": 1, "a": 2}, "result": [], "tokens": 3, "seconds": 0.5},
            Step(role="tool", tool="ls", arguments='{"a": 2, "b": 1}', result="[]", tokens=3, seconds=0.5),
        ),
        ({"tool": "ls", "error": {"message": "no"}}, Step(role="tool", tool="ls", error="no")),
        ({"tool": "ls", "tokens": -1, "seconds": "x", "error": False}, Step(role="tool", tool="ls")),
    ],
)
def test_an_object_is_one_step_by_hand(record: dict[str, Any], wanted: Step) -> None:
    assert list(step_of_record(record)) == [wanted]


def test_an_empty_object_is_no_step() -> None:
    assert list(step_of_record({"role": "assistant"})) == []


def test_messages_become_steps_with_tokens_and_seconds_by_hand() -> None:
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "the task"},
        {"role": "assistant", "id": "m1", "content": "", "tool_calls": [
            {"id": "c1", "function": "ls", "arguments": {}}, {"id": "c2", "function": "rm", "arguments": {"f": 1}}]},
        {"role": "tool", "tool_call_id": "c2", "content": "", "error": {"type": "permission", "message": "denied"}},
        {"role": "tool", "tool_call_id": "c1", "content": "a b"},
        {"role": "user", "content": "go on"},
        {"role": "assistant", "id": "m2", "content": "done"},
        "no message",
    ]  # fmt: skip
    found = steps_of_messages(messages, text=lambda v: v or "", tokens={"m2": 7}, seconds={"c1": 0.5, "m2": 2.0})  # type: ignore[arg-type, return-value]
    assert found == (
        Step(role="tool", tool="ls", result="a b", seconds=0.5),
        Step(role="tool", tool="rm", arguments='{"f": 1}', error="denied"),
        Step(role="user", result="go on"),
        Step(role="assistant", result="done", tokens=7, seconds=2.0),
    )
