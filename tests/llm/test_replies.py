"""What servers send: hostile replies, answers of other questions, refusals of one item, and the habits of six peers."""

import dataclasses
import json
import math
import random
import time
from pathlib import Path

import pytest

from helpers.raw_server import RawApi, hostile_reply, http, reply
from helpers.server import answer_for
from llm.test_http import ask_prompts
from richter.errors import ModelError, WrongKey
from richter.models import Price
from richter.records import Answer, Decoding
from richter.store import open_ledger
from richter_audit.llm._model import Refused, TryAgain
from richter_audit.llm._reply import read_answer, retry_after_s
from richter_audit.llm._sentinel import Sentinels


def test_lone_surrogates_are_stored_and_paid_for_once(tmp_path: Path) -> None:
    texts = {"q0": "half \ud83d of a pair", "q1": "\udfff", "q2": "plain", "q3": "a pair \U0001f600"}
    with RawApi(lambda prompt, _: http(reply(texts[prompt], finish="stop\ud800"))) as api:
        for _ in range(2):
            asker, answers = ask_prompts(tmp_path, api.model, list(texts))
            assert asker.tally.failed == 0
        assert set(api.requests.values()) == {1}
    assert answers["q0"].text == "half \ufffd of a pair"
    assert answers["q3"].text == "a pair \U0001f600"
    assert answers["q2"].finish == "stop\ufffd"
    with open_ledger(tmp_path) as ledger:
        kept = [json.loads(body)["text"] for _, body in ledger.aside()]
    assert sorted(kept) == sorted(texts.values())  # as they came


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 2**63, "completion_tokens": 1},
        {"prompt_tokens": 1, "completion_tokens": -5},
        {"prompt_tokens": 1, "completion_tokens": 1, "cost": 10**400},
        {"prompt_tokens": 1, "completion_tokens": 1, "cost": -5.0},
        {"prompt_tokens": 1, "completion_tokens": 1, "cost": math.nan},
    ],
)
def test_counts_that_cannot_be_one_are_unknown_and_cost_their_bound(tmp_path: Path, usage: dict) -> None:
    with RawApi(lambda *_: http(reply("yes", usage=usage))) as api:
        _, answers = ask_prompts(tmp_path, api.model, ["q"], prices={api.model: Price(input_usd=1e6, output_usd=1e6)})
        assert api.requests["q"] == 1
    with open_ledger(tmp_path) as ledger:
        assert answers["q"].text == "yes"
        assert answers["q"].money_usd is None
        assert ledger.used().money_usd == pytest.approx(1 + 256 + 8)  # bytes, a template, and the most it may answer


def test_a_row_that_no_table_takes_does_not_take_its_neighbours_along(tmp_path: Path) -> None:
    from store.test_ledger import call, record

    with open_ledger(tmp_path, mode="write") as ledger:
        bad = call(3)
        bad = dataclasses.replace(bad, answer=dataclasses.replace(bad.answer, text="\ud800"))
        record(ledger, call(1), call(2), bad, call(4))
        found = {a.item: a for a in ledger.answers()}
        assert {i for i, a in found.items() if not a.error} == {"i1", "i2", "i4"}
        assert "cannot be stored" in found["i3"].error
        assert len(ledger.aside()) == 1


def test_hostile_replies_end_nothing_and_lose_no_neighbour(tmp_path: Path) -> None:
    rng = random.Random(7)
    prompts = [f"question {n}" for n in range(240)]
    hostile = {p for p in prompts if rng.random() < 0.5}
    with RawApi(lambda p, _: hostile_reply(rng) if p in hostile else http(reply(answer_for(p)))) as api:
        asker, answers = ask_prompts(tmp_path, api.model, prompts, max_attempts=2)
        assert set(answers) == set(prompts)
        assert all(answers[p].text == answer_for(p) for p in prompts if p not in hostile)
        paid = dict(api.requests)
        ask_prompts(tmp_path, api.model, prompts, max_attempts=1)
        assert all(api.requests[p] == paid[p] for p in prompts if not answers[p].error)  # none is paid for again
    assert asker.tally.failed < len(hostile)  # much of it can be kept


def test_replies_that_are_no_answer_are_not_paid_for_without_end(tmp_path: Path) -> None:
    with RawApi(lambda *_: http(b'{"choices": []}')) as api:
        _, answers = ask_prompts(tmp_path, api.model, ["q"], max_attempts=10)
        assert api.requests["q"] == 5
        assert "5 attempts" in answers["q"].error
    with open_ledger(tmp_path) as ledger:
        assert [body for _, body in ledger.aside()] == [b'{"choices": []}'] * 5


# ---- the answer belongs to the question ------------------------------------------------------------------------------


def test_duplicated_and_delayed_responses_are_never_another_questions_answer(tmp_path: Path) -> None:
    rng = random.Random(3)

    def twice(prompt: str, _: dict) -> bytes | tuple[bytes, ...]:
        whole = http(reply(answer_for(prompt)))
        return (whole, whole) if rng.random() < 0.2 else whole

    prompts = [f"question {n}" for n in range(300)]
    with RawApi(twice, delay_s=lambda: rng.choice((0.0, 0.001, 0.02))) as api:
        _, answers = ask_prompts(tmp_path, api.model, prompts)
    assert [p for p in prompts if answers[p].text != answer_for(p)] == []


def test_a_second_response_in_the_same_packet_is_nobodys(tmp_path: Path) -> None:
    with RawApi(lambda p, _: http(reply(answer_for(p))) * 2) as api:
        _, answers = ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(50)], concurrency=2)
    assert all(answers[p].text == answer_for(p) for p in answers)


def with_id(name: str, text: str) -> bytes:
    return http(reply(text).replace(b'"id": "x"', f'"id": "{name}"'.encode()))


def test_a_reply_that_came_before_is_refused_where_ids_are_the_servers_own(tmp_path: Path) -> None:
    sent: list[bytes] = []

    def cached(prompt: str, _: dict) -> bytes:
        sent.append(sent[-1] if api.requests[prompt] == 1 and len(sent) % 10 == 9 else with_id(prompt, prompt))
        return sent[-1]

    prompts = [f"question {n}" for n in range(80)]
    with RawApi(cached) as api:  # a proxy gives every tenth question the reply of the one before
        _, answers = ask_prompts(tmp_path, api.model, prompts, concurrency=1)
    wrong = [p for p in prompts if answers[p].text != p]
    assert len(wrong) <= 2  # before its ids were known to be its own
    assert api.requests.total() > 84


def test_ids_that_mean_nothing_are_not_held_against_a_server(tmp_path: Path) -> None:
    prompts = [f"question {n}" for n in range(60)]
    for name in ("x", "{}"):  # always the same, or one of fifty
        with RawApi(lambda p, _, name=name: with_id(name.format(int(p.split()[1]) % 50), p)) as api:
            _, answers = ask_prompts(tmp_path / f"run {name}", api.model, prompts, concurrency=1)
            assert (api.requests.total(), len(answers)) == (60, 60)


def sentinel_or(prompt: str) -> str:
    return prompt.rpartition(" ")[2] if prompt.startswith("Reply with this word") else answer_for(prompt)


def test_replies_swapped_between_connections_are_seen_by_sentinels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sentinels, "is_due", every_20)
    before: list[str] = []

    def swaps(prompt: str, _: dict) -> bytes:
        before.append(prompt)
        return http(reply(sentinel_or(before[-2] if len(before) > 100 else prompt)))  # from then on all are one late

    with RawApi(swaps) as api:
        with pytest.raises(ModelError, match="under the wrong question"):
            ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(400)], concurrency=4)
        assert len(api.requests) < 200
    with open_ledger(tmp_path) as ledger:
        note = ledger.note("suspects")
        assert note["model"] == api.model
        assert note["since"] < note["until"]


def every_20(self: Sentinels, model: str) -> bool:
    self._answers[model] += 1
    return self._answers[model] % 20 == 0


def test_sentinels_are_few_say_what_they_can_see_and_are_nobodys_answers(tmp_path: Path) -> None:
    prompts = [f"q{n}" for n in range(520)]
    with RawApi(lambda p, _: http(reply(sentinel_or(p)))) as api:
        asker, answers = ask_prompts(tmp_path, api.model, prompts)
    assert set(answers) == set(prompts)
    assert api.requests.total() == 520 + 3  # after 300, 400 and 500 answers
    assert asker.tally.answered == 520
    assert asker.sentinels.returned == 3
    assert "probability 0.14" in str(asker.sentinels)  # 1 - 0.95^3
    with open_ledger(tmp_path) as ledger:
        assert ledger.spent().answers == 523  # they are paid for


def test_a_model_that_cannot_repeat_a_word_is_not_accused(tmp_path: Path) -> None:
    with RawApi(lambda p, _: http(reply(answer_for(p)))) as api:
        asker, _ = ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(420)])
    assert (len(asker.sentinels), asker.sentinels.returned) == (2, 0)


# ---- one question is refused, or the server wants to wait ------------------------------------------------------------


@pytest.mark.parametrize("status", [403, 404])
def test_one_refused_item_is_that_items_failure(tmp_path: Path, status: int) -> None:
    def moderated(prompt: str, _: dict) -> bytes:
        if prompt in ("q0", "q1", "q7"):
            return http(b'{"error": {"message": "this input was flagged"}}', status=status)
        return http(reply("fine"))

    prompts = [f"q{n}" for n in range(20)]
    with RawApi(moderated) as api:
        for _ in range(2):  # and again on resuming
            asker, answers = ask_prompts(tmp_path, api.model, prompts, concurrency=1)
            assert asker.tally.failed == 3
        assert {p for p in prompts if answers[p].error} == {"q0", "q1", "q7"}
        assert "flagged" in answers["q7"].error


def test_a_key_that_is_refused_for_all_ends_the_run(tmp_path: Path) -> None:
    with RawApi(lambda *_: http(b'{"error": "no"}', status=403)) as api:
        with pytest.raises(WrongKey):
            ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(200)], concurrency=8)
        assert api.requests.total() <= 3 + 8


def test_a_server_that_asks_to_wait_a_day_is_asked_again_within_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("richter_audit.llm._http.LONGEST_WAIT_S", 0.2)

    def later(prompt: str, _: dict) -> bytes:
        if api.requests[prompt] == 1:
            return http(b"{}", status=429, headers="Retry-After: 86400\r\n")
        return http(reply("fine"))

    began = time.monotonic()
    with RawApi(later) as api:
        _, answers = ask_prompts(tmp_path, api.model, ["q0", "q1"])
    assert all(answers[p].text == "fine" for p in ("q0", "q1"))
    assert time.monotonic() - began < 20
    with open_ledger(tmp_path) as ledger:
        assert "asks to wait 86400 s" in ledger._rows("SELECT error FROM failures")[0][0]


def test_retry_after_is_by_the_servers_clock_by_hand() -> None:
    assert retry_after_s({"Retry-After": "86400"}) == 86400.0
    assert retry_after_s({"Retry-After": "2.5"}) == 2.5
    assert retry_after_s({"Retry-After": "-3"}) == 0.0
    ahead = {"Date": "Tue, 01 Jan 2030 00:00:00 GMT", "Retry-After": "Tue, 01 Jan 2030 00:00:07 GMT"}
    assert retry_after_s(ahead) == 7.0
    for odd in ("", "soon", "nan", "inf", "1e999", "Tue, 99 Jan"):
        assert retry_after_s({"Retry-After": odd}) is None
    assert retry_after_s({}) is None


# ---- six peers' habits -----------------------------------------------------------------------------------------------

EVERYTHING = Decoding(max_tokens=8, temperature=0.5, top_p=0.9, seed=1, logprobs=True, json_schema={"type": "object"})


@pytest.mark.parametrize(
    ("message", "absent", "present"),
    [
        ("Unsupported value: 'temperature' does not support 0.5, only the default (1) is.", "temperature", "seed"),
        ("Unrecognized request argument supplied: seed", "seed", "temperature"),
        ("logprobs is not supported with this model", "logprobs", "seed"),
        ("response_format of type json_schema is not supported", "response_format", "logprobs"),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens", "temperature"),
        ("Extra inputs are not permitted: top_p", "top_p", "temperature"),
    ],
)
def test_a_parameter_that_is_refused_is_left_out_and_said_once(
    tmp_path: Path, message: str, absent: str, present: str
) -> None:
    def choosy(prompt: str, body: dict) -> bytes:
        if absent in body:
            return http(json.dumps({"error": {"message": message, "param": None}}).encode(), status=400)
        return http(reply(answer_for(prompt)))

    prompts = [f"q{n}" for n in range(30)]
    with RawApi(choosy) as api:
        asker, answers = ask_prompts(tmp_path, api.model, prompts, decoding=EVERYTHING, concurrency=8)
        assert all(answers[p].text == answer_for(p) for p in prompts)
        assert len(asker.tally.server_notes) == 1
        with open_ledger(tmp_path) as ledger:
            assert ledger.note("servers") == {"said": asker.tally.server_notes}
        assert absent in asker.tally.server_notes[0]
        assert present in api.bodies[-1]
        assert absent not in api.bodies[-1]
        assert "max_tokens" in api.bodies[-1] or api.bodies[-1]["max_completion_tokens"] == 8


def test_the_field_for_the_parameter_goes_before_the_words(tmp_path: Path) -> None:
    def choosy(prompt: str, body: dict) -> bytes:
        said = {"message": "invalid prompt: which temperature must it be?", "param": "messages"}
        return http(json.dumps({"error": said}).encode(), status=400)

    with RawApi(choosy) as api:
        _, answers = ask_prompts(tmp_path, api.model, ["q"])
        assert "which temperature" in answers["q"].error
        assert api.requests["q"] == 1


def test_streaming_only(tmp_path: Path) -> None:
    def streams(prompt: str, body: dict) -> bytes:
        if not body.get("stream"):
            return http(b'{"error": {"message": "only streaming is supported: set stream=true"}}', status=400)
        pieces = [{"delta": {"role": "assistant", "content": ""}}, {"delta": {"reasoning_content": "hm"}}]
        pieces += [{"delta": {"content": c}} for c in answer_for(prompt)] + [{"delta": {}, "finish_reason": "length"}]
        events = [{"choices": [p]} for p in pieces] + [
            {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 6}}
        ]
        return http("".join(f"data: {json.dumps(e)}\n\n" for e in events).encode() + b"data: [DONE]\n\n")

    with RawApi(streams) as api:
        asker, answers = ask_prompts(tmp_path, api.model, ["q0", "q1"])
    assert answers["q1"].text == answer_for("q1")
    assert (answers["q1"].finish, answers["q1"].tokens_out) == ("length", 6)
    assert asker.tally.truncated == 2


def test_a_stream_ends_its_lines_as_events_do_and_not_as_texts_may_by_hand() -> None:
    said = "one\u2028two\u0085three\x0cfour"
    event = {"choices": [{"delta": {"content": said}, "finish_reason": "stop"}]}
    for end in ("\n\n", "\r\n\r\n", "\r\r"):
        content = f"data: {json.dumps(event, ensure_ascii=False)}{end}data: [DONE]{end}".encode()
        assert read_answer(content, raw=False, price=None, latency_s=0.0).text == said


def test_reasoning_parts_tools_and_empty_choices_by_hand() -> None:
    def read(content: bytes) -> Answer:
        return read_answer(content, raw=False, price=None, latency_s=0.0)

    assert read(reply("4", reasoning_content="2 + 2", reasoning="2 + 2")).text == "4"
    cut = read(reply(None, finish="length", reasoning_content="so long"))
    assert (cut.text, cut.finish, cut.truncated) == ("", "length", True)  # it thought until the limit
    assert not read(reply("4")).truncated
    parts = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "Lima"}, {"type": "output_text", "text": "!"}]
    assert read(reply(parts)).text == "Lima!"
    assert read(reply(None, refusal="I will not")).text == "I will not"
    with pytest.raises(Refused, match="switch tools off") as caught:
        read(reply(None, tool_calls=[{"id": "1"}]))
    assert caught.value.maybe_billed
    for broken in (b'{"choices": []}', b'{"choices": null}', b'{"error": {"message": "overloaded"}}', reply(5), b""):
        with pytest.raises(TryAgain) as again:
            read(broken)
        assert again.value.maybe_billed
        assert again.value.aside == broken
