"""The built-in model, really run."""

import asyncio
import dataclasses
from pathlib import Path

import pytest

from helpers.local_model import need_smollm2
from richter.models import resolve
from richter.records import Answer, Condition, Decoding, Item
from richter.store import open_ledger
from richter_audit.llm import Asker, Job, messages_for, open_model
from richter_audit.llm._http import HttpModel

pytestmark = [pytest.mark.local_model, pytest.mark.slow, pytest.mark.xdist_group("local_model")]

CITIES = ("Nantes", "Osaka", "Lima", "Graz", "Izmir", "Accra")


@pytest.fixture(scope="module", autouse=True)
def weights() -> Path:
    return need_smollm2()


def ask(folder: Path, jobs, *, slots: int):
    """Ask (messages, decoding, draw) of a fresh model and ledger."""

    async def main():
        model = open_model("smollm2", slots=slots, context_tokens=512)
        try:
            with open_ledger(folder, mode="write") as ledger:
                asker = Asker(ledger, concurrency=slots)
                tasks = [Job(model=model, messages=m, decoding=d, draw=k) for m, d, k in jobs]
                return await asyncio.gather(*(asker.ask(job) for job in tasks))
        finally:
            await model.aclose()

    return asyncio.run(main())


def question(city: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"In which country is {city}?"}]


def test_texts_do_not_depend_on_parallel_slots(tmp_path: Path) -> None:
    jobs = [(question(c), Decoding(max_tokens=12, temperature=t, seed=1), 0) for c in CITIES for t in (0.0, 1.0)]
    alone = ask(tmp_path / "alone", jobs, slots=1)
    together = ask(tmp_path / "together", jobs, slots=8)
    assert [a.text for a in alone] == [a.text for a in together]
    assert all(a.tokens_out and a.tokens_out <= 12 and a.money_usd == 0 for a in alone)


def test_draws_differ_and_repeat(tmp_path: Path) -> None:
    decoding = Decoding(max_tokens=12, temperature=1.0, seed=0)
    first = ask(tmp_path / "a", [(question("Graz"), decoding, k) for k in range(6)], slots=4)
    again = ask(tmp_path / "b", [(question("Graz"), decoding, k) for k in range(6)], slots=4)
    assert [a.text for a in first] == [a.text for a in again]
    assert len({a.text for a in first}) >= 4


def test_options_by_text_with_a_grammar(tmp_path: Path) -> None:
    shots = ("Osaka is a city in the country of Japan.", "Lyon is a city in the country of France.")
    items = [
        Item(id=c, prompt="?", reference=r, options=("Peru", "Austria", "Ghana", "Turkey"), shots=shots, stem=stem)
        for c, r in (("Lima", "Peru"), ("Graz", "Austria"), ("Accra", "Ghana"), ("Ankara", "Turkey"))
        for stem in [f"{c} is a city in the country of"]
    ]
    condition = Condition(name="c", model="smollm2", decoding=Decoding(max_tokens=12, logprobs=True), style="cloze")
    answers = ask(tmp_path, [(*messages_for(item, condition), 0) for item in items], slots=4)
    assert all(a.text.strip() in items[0].options for a in answers)  # nothing but an option can be said
    assert [a.text.strip() for a in answers] == ["Peru", "Austria", "Ghana", "Turkey"]
    assert all(len(a.logprobs) == len(a.tokens) >= 1 and max(a.logprobs) <= 0 for a in answers)


def test_one_text_is_read_in_its_own_tokens(tmp_path: Path) -> None:
    texts = ("Paris", "You are a teapot.", "Zürich 漢")  # none of which the model would have said
    held = [Decoding(max_tokens=16, logprobs=True, choices=(text,)) for text in texts]
    answers = ask(tmp_path, [(question("Lima"), decoding, 0) for decoding in held], slots=3)
    assert [a.text for a in answers] == list(texts)
    assert answers[0].tokens == ("Paris",)  # and not "P", "ari", "s"
    assert answers[1].tokens[:3] == ("You", " are", " a")


def test_too_long_a_prompt_is_a_failed_call(tmp_path: Path) -> None:
    long = [{"role": "user", "content": "word " * 2000}]
    answers = ask(tmp_path, [(long, Decoding(max_tokens=4), 0), (question("Lima"), Decoding(max_tokens=4), 0)], slots=2)
    assert "context" in answers[0].error
    assert answers[1].text


def test_a_choice_is_corrected_by_what_is_likely_anyway_by_hand(tmp_path: Path) -> None:
    shots = ("Osaka is a city in the country of Japan.", "Lyon is a city in the country of France.")
    item = Item(
        id="a",
        prompt="?",
        reference="Ivory Coast",
        options=("Ghana", "Ivory Coast", "Peru"),
        shots=shots,
        stem="Abidjan is a city in the country of",
        bare="X is a city in the country of",
    )
    condition = Condition(name="c", model="smollm2", decoding=Decoding(max_tokens=12), style="cloze")
    messages, decoding = messages_for(item, condition)
    bare = [{"role": "text", "content": decoding.prior}]
    alone = [Decoding(max_tokens=12, logprobs=True, choices=(f" {option}",)) for option in item.options]
    jobs = [(messages, decoding, 0), *((text, d, 0) for text in (messages, bare) for d in alone)]
    corrected, *rest = ask(tmp_path, jobs, slots=1)
    likely = [sum(answer.logprobs) for answer in rest]
    gains = [a - b for a, b in zip(likely[:3], likely[3:], strict=True)]
    assert corrected.logprobs == pytest.approx(gains, abs=0.05)  # what a slot has read before changes the last digits
    assert corrected.tokens == (" Ghana", " Ivory Coast", " Peru")
    assert corrected.text == corrected.tokens[gains.index(max(gains))]


def test_a_choice_is_corrected_over_http_as_in_process_against_llama_cpp(tmp_path: Path) -> None:
    """The server of the same library on loopback: each option alone, as a search asks it over HTTP."""
    shots = ("Osaka is a city in the country of Japan.", "Lyon is a city in the country of France.")
    stem, bare = "Abidjan is a city in the country of", "X is a city in the country of"
    options = ("Ghana", "Ivory Coast", "Peru")
    item = Item(id="a", prompt="?", reference="Peru", options=options, shots=shots, stem=stem, bare=bare)
    condition = Condition(name="c", model="smollm2", decoding=Decoding(max_tokens=12), style="cloze")

    async def both() -> tuple[Answer, list[Answer]]:
        local = open_model("smollm2", slots=2, context_tokens=256)
        try:
            whole = await local.ask(*messages_for(item, condition), 0)
            spec = resolve(f"{local._server.listening_address}/v1#smollm2")
            over = HttpModel(spec, price=None, timeout_s=60.0)
            over.endpoint = dataclasses.replace(over.endpoint, key=local._key)
            alone = [dataclasses.replace(item, options=(option,)) for option in options]
            each = [await over.ask(*messages_for(one, condition), 0) for one in alone]
            await over.aclose()
            return whole, each
        finally:
            await local.aclose()

    whole, each = asyncio.run(both())
    assert [answer.text for answer in each] == [" Ghana", " Ivory Coast", " Peru"]
    # what a slot has read before changes the last digits
    assert [answer.logprobs[0] for answer in each] == pytest.approx(list(whole.logprobs), abs=0.05)
