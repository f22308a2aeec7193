"""The HTTP backend against a real server on loopback."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from helpers.raw_server import RawApi, http, reply
from helpers.server import FakeApi, answer_for
from richter.errors import BudgetExhausted, InputError, MissingKey, ModelError, UnknownModel, Unreachable, WrongKey
from richter.records import Decoding
from richter.store import open_ledger
from richter_audit.llm import Asker, Job, open_model, parse_budget
from richter_audit.llm._reply import read_answer
from richter_audit.llm._reply_bodies import BodyReader


def ask_prompts(run: Path, model_name: str, prompts, *, budget=None, decoding=None, draws: int = 1, **options):
    """Ask through a ledger; returns the asker and the answers by prompt."""
    timeout_s = options.pop("timeout_s", 30.0)

    async def main():
        model = open_model(model_name, timeout_s=timeout_s)
        try:
            with open_ledger(run, mode="write") as ledger:
                asker = Asker(ledger, budget=parse_budget(budget), first_pause_s=0.01, **options)
                jobs = (
                    Job(
                        model=model,
                        messages=[{"role": "user", "content": prompt}],
                        decoding=decoding or Decoding(max_tokens=8),
                        draw=draw,
                        item=prompt,
                        condition="c",
                    )
                    for draw in range(draws)
                    for prompt in prompts
                )
                await asker.ask_all(jobs)
                return asker, {a.item: a for a in ledger.answers()}
        finally:
            await model.aclose()

    return asyncio.run(main())


def test_answers_usage_and_draws(tmp_path: Path) -> None:
    with FakeApi() as api:
        _, answers = ask_prompts(tmp_path, api.model, ["one", "two"], draws=20)
        assert answers["one"].text == answer_for("one")
        assert answers["one"].tokens_out == 3
        assert answers["one"].money_usd is None  # unknown, not 0
        assert api.requests == {"one": 20, "two": 20}  # twenty draws are twenty calls
        ask_prompts(tmp_path, api.model, ["one", "two"], draws=20)
        assert api.requests.total() == 40  # paid for once


def test_request_fields(tmp_path: Path) -> None:
    with FakeApi() as api:
        ask_prompts(tmp_path, api.model, ["p"], decoding=Decoding(temperature=0.7, max_tokens=9, seed=5, top_p=0.9))
        body = api.bodies[0]
        assert body["model"] == "fake"
        assert (body["temperature"], body["max_tokens"], body["top_p"]) == (0.7, 9, 0.9)
        assert body["seed"] == 5 * 1_000_003


def test_same_question_at_the_same_time_is_paid_once(tmp_path: Path) -> None:
    with FakeApi(delay_s=0.05) as api:
        ask_prompts(tmp_path, api.model, ["same"] * 50)
        assert api.requests["same"] == 1


@pytest.mark.slow
def test_faults_change_no_answer(tmp_path: Path) -> None:
    prompts = [f"question {n}" for n in range(2000)]
    with FakeApi() as api:
        _, clean = ask_prompts(tmp_path / "clean", api.model, prompts)
    with FakeApi(fault_share=0.3, slow_s=1.0) as api:
        asker, faulty = ask_prompts(tmp_path / "faulty", api.model, prompts, timeout_s=0.5, max_attempts=20)
        assert len(api.faults) == 10  # every kind of fault came up
        assert api.faults.total() > 400
        assert asker.tally.failed == 0
    assert {p: a.text for p, a in faulty.items()} == {p: a.text for p, a in clean.items()}
    assert len(faulty) == 2000


def test_budget_of_calls_with_64_in_flight(tmp_path: Path) -> None:
    with FakeApi(delay_s=0.02, fault_share=0.2, slow_s=0.1) as api:
        with pytest.raises(BudgetExhausted, match="100 calls"):
            ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(500)], budget="100calls", concurrency=64)
        assert api.requests.total() == 100
        with pytest.raises(BudgetExhausted):  # resuming does not begin a new budget
            ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(500)], budget="100calls", concurrency=64)
        assert api.requests.total() == 100
        ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(200)], budget="1000calls", concurrency=64)


def test_budget_of_tokens_is_held(tmp_path: Path) -> None:
    with FakeApi(delay_s=0.01) as api, pytest.raises(BudgetExhausted):
        ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(500)], budget="2ktok", concurrency=64)
    with open_ledger(tmp_path) as ledger:
        assert 0 < ledger.spent().tokens <= 2000


def test_slow_down_is_obeyed(tmp_path: Path) -> None:
    with FakeApi(fault_share=0.5, delay_s=0.002, seed=3, slow_s=0.2) as api:
        asker, answers = ask_prompts(
            tmp_path, api.model, [f"q{n}" for n in range(100)], timeout_s=0.1, max_attempts=40, concurrency=32
        )
        assert len(answers) == 100
        assert asker._limits[api.model].limit < 32


@pytest.mark.parametrize(
    ("status", "error", "message", "requests"),
    [
        (404, UnknownModel, "knows no model 'fake'", 3),  # one or two may be of the question alone
        (402, ModelError, "no credit", 1),
        (403, WrongKey, "refused the key", 3),
    ],
)
def test_what_no_retry_mends(tmp_path: Path, status: int, error: type, message: str, requests: int) -> None:
    with FakeApi(status=status) as api:
        with pytest.raises(error, match=message):
            ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(100)], concurrency=1)
        assert api.requests.total() == requests


def test_refused_requests_are_recorded_and_stop_a_run_that_only_fails(tmp_path: Path) -> None:
    with FakeApi(status=400) as api:
        asker, answers = ask_prompts(tmp_path, api.model, ["a", "b"])
        assert asker.tally.failed == 2
        assert "status 400" in answers["a"].error
        with pytest.raises(ModelError, match="10 calls in a row"):
            ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(100)])
        assert api.requests.total() < 100


def test_no_key_and_wrong_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingKey, match="export OPENAI_API_KEY"):
        open_model("openai/gpt-4o")
    with FakeApi(key="right") as api:
        monkeypatch.setenv("RICHTER_API_KEY", "wrong-key-0123456789")
        with pytest.raises(WrongKey, match="RICHTER_API_KEY") as caught:
            ask_prompts(tmp_path, api.model, ["p"])
        assert "wrong-key-0123456789" not in str(caught.value)  # the server echoed it; it is scrubbed


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="cannot connect"):
        ask_prompts(tmp_path, "http://127.0.0.1:9/v1#m", ["p"])


def test_no_secret_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("RICHTER_API_KEY", secret)
    run = tmp_path / "run"
    with FakeApi(key=secret, fault_share=0.3, slow_s=0.6) as api:
        ask_prompts(run, api.model, [f"q{n}" for n in range(50)], timeout_s=0.3, max_attempts=3)
    with FakeApi(key=secret, status=500) as api, pytest.raises(ModelError):
        ask_prompts(run, api.model, [f"r{n}" for n in range(50)], max_attempts=2)
    for body in (b'{"error": "' + secret.encode() + b'"}', secret.encode(), reply(f"{secret} \ud800")):
        with RawApi(lambda *_, body=body: http(body)) as api:  # what is kept aside is without it too
            ask_prompts(run, api.model, [f"s{len(body)}"], max_attempts=1)
    for path in run.iterdir():
        assert secret.encode() not in path.read_bytes(), path
    model = open_model("http://127.0.0.1:9/v1#m")
    assert secret not in repr(model) + repr(vars(model)["endpoint"])


@pytest.mark.parametrize("key", ["none", "EMPTY", "x", "1", "not-needed", "a7"])
def test_a_key_that_is_none_is_not_cut_out_of_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """Servers of one's own take any key: an answer that holds it came back as ***."""
    monkeypatch.setenv("RICHTER_API_KEY", key)
    said = f"{key} of 10 are taken x 1"
    with FakeApi(reply=lambda _: said) as api:
        _, answers = ask_prompts(tmp_path, api.model, ["q"])
    assert answers["q"].text == said


@pytest.mark.parametrize(
    ("variables", "model", "says"),
    [
        ({"RICHTER_API_KEY": "SECRET\nX-Other: 1"}, "http://127.0.0.1:9/v1#m", "RICHTER_API_KEY holds a line end"),
        ({}, "http://127.0.0.1:9/v1?api_key=SECRET#m", "carries parameters"),
        ({}, "http://u:SECRET@127.0.0.1:9/v1#m", "carries a user name or password"),
        ({}, "http://[::1/v1#m", "not an address"),
        ({"VLLM_BASE_URL": "http://u:SECRET@127.0.0.1:9/v1"}, "vllm/m", "VLLM_BASE_URL .* carries a user name"),
        ({"VLLM_BASE_URL": "https://127.0.0.1:9/v1?key=SECRET"}, "vllm/m", "VLLM_BASE_URL .* carries parameters"),
        ({"VLLM_BASE_URL": "127.0.0.1:9/v1"}, "vllm/m", "VLLM_BASE_URL is not an address"),
    ],
)
def test_an_address_with_a_secret_in_it_is_refused_before_anything_is_kept(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], model: str, says: str
) -> None:
    """It was written into the ledger with every call, ended in a traceback, or was tried again and again."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=says) as caught:
        open_model(model)
    assert "SECRET" not in str(caught.value)


def test_a_long_reply_in_tiny_pieces_takes_linear_time() -> None:
    """7 MB in pieces of 2 KB: copied whole for every piece it was 12 GB of copying."""
    body = reply("a" * (7 << 20))

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(body), 2048):
            yield body[at : at + 2048]

    began = time.process_time()
    assert asyncio.run(BodyReader().read(pieces(), "")) == body
    assert time.process_time() - began < 1


def test_a_server_that_ignores_the_grammar_is_found_out(tmp_path: Path) -> None:
    with FakeApi(reply=lambda prompt: " Peru" if "0" in prompt else "Well, Peru") as api:
        asker, answers = ask_prompts(tmp_path, api.model, ["q0", "q1"], decoding=Decoding(choices=(" Peru", " Chad")))
        assert answers["q0"].text == " Peru"
        assert "none of the texts" in answers["q1"].error
        assert asker.tally.failed == 1
        assert '" Peru" | " Chad"' in api.bodies[0]["grammar"]


def test_broken_usage_is_unknown_not_zero() -> None:
    body = {"choices": [{"message": {"content": None, "refusal": "no"}, "finish_reason": None}], "usage": None}
    answer = read_answer(json.dumps(body).encode(), raw=False, price=None, latency_s=0.1)
    assert (answer.text, answer.tokens_in, answer.money_usd) == ("no", None, None)
