"""The Inspect backend, through Inspect's openai provider to a real server on loopback."""

import asyncio

import pytest

from helpers.server import FakeApi, answer_for
from richter.errors import ModelError
from richter.records import Decoding
from richter_audit.llm import open_model
from richter_audit.llm._model import TryAgain

pytest.importorskip("inspect_ai", reason="Inspect is not installed")

# Inspect itself calls something that warns of its end
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

QUESTION = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "question 1"}]


def ask(name: str, messages, decoding: Decoding, *, draws: int = 1):
    async def main():
        model = open_model(name, timeout_s=10)
        try:
            return [await model.ask(messages, decoding, draw) for draw in range(draws)]
        finally:
            await model.aclose()

    return asyncio.run(main())


def test_every_draw_is_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="Inspect's openai provider needs the openai package")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with FakeApi() as api:
        monkeypatch.setenv("OPENAI_BASE_URL", api.url)
        answers = ask("inspect/openai/gpt-4o", QUESTION, Decoding(max_tokens=8, seed=2), draws=3)
        assert [a.text for a in answers] == [answer_for("question 1")] * 3
        assert api.requests["question 1"] == 3
        assert answers[0].tokens_out == 3
        assert answers[0].money_usd is None  # `inspect/` names have no price unless the user gives one
        assert [body["seed"] for body in api.bodies] == [2 * 1_000_003 + k for k in range(3)]


def test_faults_are_ours_to_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="Inspect's openai provider needs the openai package")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with FakeApi(status=500) as api:
        monkeypatch.setenv("OPENAI_BASE_URL", api.url)
        with pytest.raises(TryAgain):
            ask("inspect/openai/gpt-4o", QUESTION, Decoding(max_tokens=8))
        assert api.requests.total() <= 3  # the openai package tries twice more by itself; Inspect not at all


def test_unknown_provider_and_raw_text() -> None:
    with pytest.raises(ModelError, match="Inspect cannot open"):
        open_model("inspect/nobody/x")
    with pytest.raises(ModelError, match="chat messages only"):
        ask("inspect/mockllm/model", [{"role": "text", "content": "x"}], Decoding())
