"""An answer that was cut off is asked again with twice the tokens, in plain asking too, over real HTTP on loopback."""

from collections import Counter

import pytest
from aiohttp import web

from helpers.server import FakeApi
from richter.errors import BudgetExhausted
from richter.records import Condition, Decoding, Item
from richter.store import open_ledger
from richter_audit.llm import parse_budget
from richter_audit.stages import ask_run

ITEMS = [Item(id=f"q{k}", prompt=f"Question {k}?", reference="yes", options=("yes", "no")) for k in range(6)]


class Thinks(FakeApi):
    """Ends its answer if it may think for 700 tokens (for 100 about question 0); refuses to write over `allows`."""

    allows = 100_000

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        prompt, most = body["messages"][-1]["content"], body["max_tokens"]
        if most > self.allows:
            return web.json_response({"error": {"message": f"max_tokens is too large: {most}."}}, status=400)
        needs = 100 if prompt.startswith("Question 0") else 700
        done = most >= needs
        choice = {
            "index": 0,
            "finish_reason": "stop" if done else "length",
            "message": {"role": "assistant", "content": "Answer: A" if done else "Let me think about"},
        }
        usage = {"prompt_tokens": 20, "completion_tokens": min(needs, most)}
        return web.json_response({"id": str(len(self.bodies)), "choices": [choice], "usage": usage})

    def limits(self):
        return Counter(body["max_tokens"] for body in self.bodies)


def condition_of(api, style="chat"):
    return Condition(name="thinks", model=api.model, decoding=Decoding(max_tokens=200), style=style)


def answers_of(run):
    with open_ledger(run) as ledger:
        return {answer.item: answer for answer in ledger.answers("thinks")}


@pytest.mark.parametrize("style", ["chat", "choice"])
def test_cut_off_answers_are_asked_again_until_they_end_by_hand(tmp_path, style):
    with Thinks() as api:
        spent = ask_run(tmp_path / "run", ITEMS, [condition_of(api, style)], concurrency=1, prices={})
        told = len(api.bodies)
        ask_run(tmp_path / "run", ITEMS, [condition_of(api, style)], concurrency=1, prices={})
        assert len(api.bodies) == told  # nothing is paid for twice
    given = answers_of(tmp_path / "run")
    assert [given[item.id].text for item in ITEMS] == ["Answer: A"] * 6
    assert not any(answer.truncated or answer.draw for answer in given.values())
    # question 0 ends at 200; 1 is asked with 200, 400 and 800; the others begin where that one ended
    assert api.limits() == {200: 2, 400: 1, 800: 5}
    assert spent.calls == 8
    assert spent.tokens == 8 * 20 + 100 + 200 + 400 + 5 * 700


def test_the_limit_of_doubling_holds_and_what_was_cut_off_there_is_kept_as_such(tmp_path):
    with Thinks() as api:
        ask_run(tmp_path / "run", ITEMS, [condition_of(api)], concurrency=1, prices={}, most_tokens=200)
    assert api.limits() == {200: 6}
    assert [answer.truncated for answer in answers_of(tmp_path / "run").values()] == [False, *[True] * 5]


def test_where_a_server_allows_no_more_the_cut_off_answer_counts(tmp_path):
    with Thinks() as api:
        api.allows = 400
        ask_run(tmp_path / "run", ITEMS[:2], [condition_of(api)], concurrency=1, prices={})
    given = answers_of(tmp_path / "run")
    assert not given["q0"].truncated
    assert given["q1"].truncated
    assert given["q1"].text == "Let me think about"
    assert not given["q1"].error


def test_the_budget_holds_over_doubled_calls_and_a_resumed_run_goes_on_where_it_stopped(tmp_path):
    with Thinks() as api:
        with pytest.raises(BudgetExhausted):
            ask_run(
                tmp_path / "run", ITEMS, [condition_of(api)], concurrency=1, prices={}, budget=parse_budget("3calls")
            )
        assert len(api.bodies) == 3  # 0 at 200, 1 at 200 and at 400
        assert set(answers_of(tmp_path / "run")) == {"q0"}
        spent = ask_run(
            tmp_path / "run", ITEMS, [condition_of(api)], concurrency=1, prices={}, budget=parse_budget("20calls")
        )
    assert spent.calls == len(api.bodies) == 8
    assert api.limits() == {200: 2, 400: 1, 800: 5}
    assert not any(answer.truncated for answer in answers_of(tmp_path / "run").values())
