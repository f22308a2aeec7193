"""How likely a given text is to a model over HTTP, from a simulated server whose log-probabilities are known."""

import re
from pathlib import Path

import polars as pl
import pytest
from aiohttp import web

from helpers.server import FakeApi
from richter.cli import main
from richter.errors import ModelError
from richter.records import Decoding, Item
from richter.store import open_ledger
from richter_audit.stages import ask_run, name_conditions
from richter_audit.stages._score import score_nll

WAYS = ("echo", "listed", "held")


def split(text: str) -> list[str]:
    """The simulated tokenizer: a word with the space before it, or a run of anything else."""
    return re.findall(r" ?\w+|\W", text)


def logprob(token: str) -> float:
    """The simulated model likes short tokens, whatever comes before."""
    return -0.1 * len(token) - 0.05 * (token.strip() == "lamp")


class Likely(FakeApi):
    """Says how likely a text is in the one way that a kind of server knows, and refuses or ignores the others."""

    way = "echo"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        choice = {"index": 0, "text": " x", "finish_reason": "length"}
        if "content" in body:
            rows = [{"id": k, "piece": token} for k, token in enumerate(split(body["content"]))]
            return web.json_response({"tokens": rows}) if self.way == "held" else web.json_response({}, status=404)
        if body.get("echo") and self.way != "echo":
            return web.json_response({"error": {"message": "Only no echo is supported"}}, status=400)
        tokens = split(body["prompt"])
        places = [sum(map(len, tokens[:k])) for k in range(len(tokens))]
        if self.way == "echo" and body.get("echo"):
            values = [None, *map(logprob, tokens[1:])]
            block = {"tokens": tokens, "token_logprobs": values, "text_offset": places}
            choice |= {"text": body["prompt"], "logprobs": block}
        elif self.way == "listed" and "prompt_logprobs" in body:
            rows = [{str(k): {"logprob": logprob(t), "rank": 1, "decoded_token": t}} for k, t in enumerate(tokens)]
            choice |= {"prompt_logprobs": [None, *rows[1:]]}
        elif "grammar" in body:
            held = [*split(self.bodies[-2]["content"]), ""]
            rows = [{"token": t, "logprob": logprob(t)} for t in held]
            choice |= {"text": "".join(held), "logprobs": {"content": rows}}
        usage = {"prompt_tokens": len(tokens), "completion_tokens": 1}
        return web.json_response({"choices": [choice], "usage": usage})


@pytest.mark.parametrize("way", WAYS)
def test_mean_nll_equals_its_definition_recovers_truth(way: str, tmp_path: Path) -> None:
    texts = ["Paris, I think.", "A lamp in a violet street", " it goes on", "", "Rome"]
    prompts = [f"Which city is number {k}?" for k in range(len(texts))]
    frame = pl.DataFrame({"item": prompts, "condition": ["a"] * 5, "prompt": prompts, "answer": texts})
    with Likely() as api:
        api.way = way
        found = score_nll(frame, api.model, tmp_path / "run", concurrency=1)
        asked = len(api.bodies)
        again = score_nll(frame, api.model, tmp_path / "run", concurrency=1)
        assert len(api.bodies) == asked  # nothing is paid for twice
    truth = [sum(map(logprob, split(t))) / -len(split(t)) if t else None for t in texts]
    assert found["nll"].to_list() == pytest.approx(truth, abs=1e-9)
    assert again["nll"].to_list() == found["nll"].to_list()


def test_a_server_that_cannot_read_is_named(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"item": ["1", "2", "3"], "condition": ["a"] * 3, "prompt": ["p"] * 3, "answer": ["x", "y", "z"]}
    )

    class Silent(Likely):
        way = "none"

    with Silent() as api, pytest.raises(ModelError, match="does not say how likely a given text is"):
        score_nll(frame, api.model, tmp_path / "run")


def test_the_command_scores_raw_answers_within_its_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [Item(id=f"i{k}", prompt=f"The mill of number {k}", reference="x") for k in range(6)]
    with Likely() as api:
        ask_run(tmp_path / "run", items, name_conditions([api.model], decoding=Decoding(max_tokens=4), style="raw"))
        assert [set(b) & {"messages", "prompt"} for b in api.bodies] == [{"prompt"}] * 6
        assert {b["prompt"] for b in api.bodies} == {item.prompt for item in items}
        words = ["audit", str(tmp_path / "run"), "--scorer", "nll", "--model", api.model]
        out = tmp_path / "s.csv"
        with pytest.raises(SystemExit) as stop:
            main([*words, "-o", str(out), "--budget", "3calls"])
        assert stop.value.code == 1
        assert "budget" in capsys.readouterr().err
        with pytest.raises(SystemExit) as stop:
            main([*words, "-o", str(out)])
        assert not stop.value.code
        assert "cut off" not in capsys.readouterr().err
    assert pl.read_csv(out)["nll"].to_list() == pytest.approx([-logprob(" x")] * 6)
    with open_ledger(tmp_path / "run") as ledger:
        assert ledger.spent().answers == 12
