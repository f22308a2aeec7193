"""How sure a model is of the option it chose, over loopback from a simulated endpoint whose probabilities are known."""

import json
import math
import random
from pathlib import Path

import pytest

from helpers.server import FakeApi
from richter.records import OPTIONS_SHARE_SOURCE, OPTIONS_SOURCE, Decoding, Item
from richter.store import open_ledger
from richter.tables import read_tables
from richter.texts import option_mass
from richter_audit.llm._reply import read_answer
from richter_audit.stages import ask_run, name_conditions

OPTIONS = ("Paris", "Rome", "Oslo", "Bern")
SHAPES = ("openai", "vllm", "llama.cpp")


def simulated_truth(prompt: str) -> dict[str, float]:
    """The simulated model's probabilities after "Answer:": of four letters, and of a word that is no option."""
    rng = random.Random(prompt)
    raw = [rng.expovariate(1.0) for _ in range(5)]
    return dict(zip((" A", " B", " C", " D", " Well"), (value / sum(raw) for value in raw), strict=True))


def best_letter(prompt: str) -> str:
    truth = simulated_truth(prompt)
    return max((" A", " B", " C", " D"), key=truth.__getitem__)


def logprobs_block(shape: str, prompt: str) -> dict:
    """What a server says of the two tokens "Answer:" and the letter, in the form that it has."""
    truth, letter = simulated_truth(prompt), best_letter(prompt)
    first = {"token": "Answer:", "logprob": -0.1}
    if shape == "openai":
        tops = [{"token": t, "logprob": math.log(p), "bytes": list(t.encode())} for t, p in truth.items()]
        chosen = {"token": letter, "logprob": math.log(truth[letter]), "top_logprobs": tops}
        return {"logprobs": {"content": [{**first, "top_logprobs": [first]}, chosen]}}
    if shape == "vllm":
        listed = [{"Answer:": -0.1, "A": -3.0}, {t: math.log(p) for t, p in truth.items()}]
        own = [-0.1, math.log(truth[letter])]
        return {"logprobs": {"tokens": ["Answer:", letter], "token_logprobs": own, "top_logprobs": listed}}
    rows = [
        {"id": 1, **first, "top_logprobs": [{"id": 1, **first}]},
        {
            "id": 2,
            "token": letter,
            "logprob": math.log(truth[letter]),
            "top_logprobs": [{"id": 2, "token": t, "logprob": math.log(p)} for t, p in truth.items()],
        },
    ]
    return {"completion_probabilities": rows}


class OptionsApi(FakeApi):
    """The fake endpoint, with log-probabilities in one of the forms that servers have."""

    shape = "openai"

    def extend_payload(self, payload: dict, prompt: str) -> None:
        block = logprobs_block(self.shape, prompt)
        payload.update({k: v for k, v in block.items() if k != "logprobs"})
        payload["choices"][0].update({k: v for k, v in block.items() if k == "logprobs"})


@pytest.mark.parametrize("shape", SHAPES)
def test_option_confidences_equal_their_definition_recovers_truth(shape: str, tmp_path: Path) -> None:
    items = [Item(id=f"i{n}", prompt=f"City {n}?", reference="Paris", options=OPTIONS) for n in range(30)]
    with OptionsApi(reply=lambda prompt: f"Answer:{best_letter(prompt)}") as api:
        api.shape = shape
        conditions = name_conditions([api.model], decoding=Decoding(max_tokens=8, logprobs=True), style="choice")
        ask_run(tmp_path / "run", items, conditions)
        assert {(body["logprobs"], body["top_logprobs"]) for body in api.bodies} == {(True, 20)}
        prompts = {body["messages"][-1]["content"].partition("?")[0]: body for body in api.bodies}
    with open_ledger(tmp_path / "run") as ledger:
        kept = {(c.item, c.source): c.value for c in ledger.confidences()}
    assert len(kept) == 2 * len(items)
    for item in items:
        truth = simulated_truth(prompts[item.prompt[:-1]]["messages"][-1]["content"])
        letters = [truth[letter] for letter in (" A", " B", " C", " D")]
        assert kept[item.id, OPTIONS_SOURCE] == pytest.approx(max(letters) / sum(letters), abs=1e-9)
        assert kept[item.id, OPTIONS_SHARE_SOURCE] == pytest.approx(sum(letters), abs=1e-9)
    tables = read_tables(tmp_path / "run")
    shown = {row["item"]: row for row in tables.scores.to_dicts()}
    assert all(shown[i.id]["confidence"] == kept[i.id, OPTIONS_SOURCE] for i in items)
    assert {row["confidence_source"] for row in shown.values()} == {OPTIONS_SOURCE}
    assert [note.kind for note in tables.notes if getattr(note, "kind", "") == "options"] == ["options"]


def test_issue_example_by_hand() -> None:
    """0.600 of all probability is 0.80 of the options' 0.75."""
    listed = [("B", math.log(0.6)), ("A", math.log(0.1)), (" (C)", math.log(0.05)), ("The", math.log(0.25))]
    mass = option_mass(OPTIONS, 1, ["B"], [listed])
    assert mass == (pytest.approx(0.8, abs=1e-12), pytest.approx(0.75, abs=1e-12))


def test_option_texts_are_summed_with_letters_by_hand() -> None:
    """ " Rome" is written in two tokens; what only one option begins with is its mass."""
    listed = [(" Ro", math.log(0.4)), (" B", math.log(0.2)), (" Os", math.log(0.2)), (" I", math.log(0.1))]
    mass = option_mass(OPTIONS, 1, [" Ro", "me"], [listed, [("me", 0.0)]])
    assert mass == (pytest.approx(0.75), pytest.approx(0.8))


def test_beginning_of_two_options_names_neither_by_hand() -> None:
    options = ("North Korea", "North Macedonia")
    listed = [[("North", -0.1)], [(" Korea", math.log(0.7)), (" Macedonia", math.log(0.3))]]
    assert option_mass(options, 0, ["North", " Korea"], listed) is None


def test_choice_is_read_where_it_is_declared_by_hand() -> None:
    """A mention before the answer is not the choice."""
    tokens = ["Not", " A", ",", " B", " fits", ".\n", "Answer", ":", " B"]
    listed = [[(t, -0.01)] for t in tokens]
    listed[3] = [(" B", math.log(0.9)), (" C", math.log(0.1))]
    listed[8] = [(" B", math.log(0.5)), (" A", math.log(0.5))]
    assert option_mass(OPTIONS, 1, tokens, listed).confidence == pytest.approx(0.5)


def test_older_llama_cpp_probabilities_by_hand() -> None:
    rows = [{"content": "B", "probs": [{"tok_str": "B", "prob": 0.6}, {"tok_str": "A", "prob": 0.15}]}]
    body = {"choices": [{"text": "B", "finish_reason": "stop"}], "completion_probabilities": rows}
    answer = read_answer(json.dumps(body).encode(), raw=True, price=None, latency_s=0.0)
    assert option_mass(OPTIONS, 1, answer.tokens, answer.alternatives) == (pytest.approx(0.8), pytest.approx(0.75))


def test_fewer_tokens_are_listed_where_a_server_refuses_twenty(tmp_path: Path) -> None:
    class Five(OptionsApi):
        async def _answer(self, request):
            if (await request.json()).get("top_logprobs", 0) > 5:
                from aiohttp import web

                said = {"error": {"message": "Invalid value: top_logprobs must be at most 5", "param": "top_logprobs"}}
                return web.json_response(said, status=400)
            return await super()._answer(request)

    items = [Item(id="i", prompt="City?", reference="Paris", options=OPTIONS)]
    with Five(reply=lambda prompt: f"Answer:{best_letter(prompt)}") as api:
        conditions = name_conditions([api.model], decoding=Decoding(max_tokens=8, logprobs=True), style="choice")
        ask_run(tmp_path / "run", items, conditions)
        assert [body["top_logprobs"] for body in api.bodies] == [5]
    with open_ledger(tmp_path / "run") as ledger:
        assert len(ledger.confidences()) == 2
