"""How a search asks: options shown, what is neither right nor wrong, tokens doubled, parameters that servers refuse."""

import json

import pytest
from aiohttp import web

from helpers.server import FakeApi
from helpers.small_base import small_base
from richter.cli import main
from richter.errors import InputError
from richter.records import Answer, Condition, Decoding, Item
from richter.store import open_ledger
from richter_audit.ascent import SearchSettings, failing_questions, grade, read_search, run_search
from richter_audit.ascent._search_cost import calls_per_paragraph
from richter_audit.llm import parse_budget

ITEM = Item(id="0.0.0", prompt="Who?", reference="Ann Bell", options=("Tom", "Ann Bell", "Sue", "Jim"))


@pytest.mark.parametrize(
    ("text", "finish", "style", "verdict"),
    [
        ("Answer: B", "stop", "choice", "right"),
        ("Answer: A", "stop", "choice", "wrong"),
        ("I am sorry, I cannot help with that.", "stop", "choice", "refused"),
        ("Let me think about Tom and Sue and", "length", "choice", "truncated"),
        ("", "length", "choice", "truncated"),
        ("  ", "stop", "choice", "empty"),
        ("It was Ann Bell.", "stop", "chat", "right"),
        ("It was Tom.", "stop", "chat", "wrong"),
        ("I do not know.", "stop", "chat", "refused"),
        ("The history of the mill begins", "length", "chat", "truncated"),
        ("It was Ann Bell, who in the year", "length", "chat", "right"),
        ("Tom", "stop", "cloze", "wrong"),
    ],
)
def test_what_an_answer_is_by_hand(text, finish, style, verdict):
    assert grade(ITEM, Answer(text=text, finish=finish), style) == verdict


class Thinking(FakeApi):
    """A reasoning model behind a server that takes neither a temperature nor a token limit under its old name."""

    needs = 700

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        for name in ("temperature", "max_tokens"):
            if name in body:
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                if name == "max_tokens":
                    said += " Use 'max_completion_tokens' instead."
                return web.json_response({"error": {"message": said, "param": name}}, status=400)
        prompt = body["messages"][-1]["content"]
        done = body["max_completion_tokens"] >= self.needs
        options = {line[3:]: line[0] for line in prompt.splitlines() if line[1:3] == ". "}
        wrong = prompt.split()[1] in ("D2", "D3")
        letter = next(at for text, at in options.items() if text.startswith("wrong") == wrong)
        choice = {
            "index": 0,
            "finish_reason": "stop" if done else "length",
            "message": {"role": "assistant", "content": f"Answer: {letter}" if done else ""},
        }
        usage = {"prompt_tokens": 20, "completion_tokens": min(self.needs, body["max_completion_tokens"])}
        return web.json_response({"id": str(len(self.bodies)), "choices": [choice], "usage": usage})


def test_a_reasoning_model_gets_the_tokens_it_needs_and_is_graded_by_its_choice(tmp_path):
    base = small_base(tmp_path / "kb", questions=1)
    with Thinking() as api:
        condition = Condition(name="thinks", model=api.model, decoding=Decoding(max_tokens=256), style="choice")
        settings = SearchSettings(batch=20, phrasings=2)
        found = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("400calls"), steps=3)
        again = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("400calls"), steps=3)
    assert found.to_dict() == again.to_dict()
    assert found.answers == 60  # every question has an answer: at 256 and 512 tokens it was cut off, at 1024 it ends
    assert (found.truncated, found.empty, found.refused, found.failed) == (0, 0, 0, 0)
    with open_ledger(tmp_path / "run") as ledger:
        rows = {item.id for item in ledger.items()}
        wrong = [item for item in ledger.items() if item.id.endswith(".0") and item.prompt.split()[1] in ("D2", "D3")]
        said = ledger.note("servers")["said"]
    assert found.errors_found == len(wrong) > 0
    assert found.reworded == found.confirmed == found.errors_found  # the other wording of those alone was asked
    assert len(rows) == 60 + found.errors_found
    first = 20  # of the first step, each of which was cut off twice; after that the limit is known
    assert found.spent.calls <= len(rows) + 2 * first + 70  # and attempts that the server refused, once each in flight
    assert any("temperature" in line for line in said)
    shown = json.dumps(api.bodies[-1])
    assert "A. " in shown
    assert "D. " in shown


class Prefers:
    """Picks the name it likes best unless it knows better: it knows document 1 alone."""

    name = "simulated/prefers"

    async def ask(self, messages, decoding, draw):
        stem = messages[-1]["content"].splitlines()[-2]
        corrected = bool(decoding.prior) and "D2" not in stem  # its preference is for a name, but in document 2
        if corrected:
            assert decoding.prior.endswith("Question: X?\nAnswer:")
        liked = next(c for c in decoding.choices if c.strip() == "wrong 1")
        right = next(c for c in decoding.choices if not c.strip().startswith("wrong"))
        if "D2" in stem:
            liked = next(c for c in decoding.choices if c.strip() == "wrong 2")
        return Answer(text=right if "D1 " in stem or corrected else liked, tokens_in=9, tokens_out=2, money_usd=0.0)

    async def aclose(self):
        pass


def test_what_is_right_once_corrected_for_the_options_prior_is_no_error_by_hand(tmp_path):
    base = small_base(tmp_path / "kb", documents=4, paragraphs=5, questions=1)
    condition = Condition(name="c", model="simulated/prefers", decoding=Decoding(max_tokens=8), style="cloze")
    budget = parse_budget("500calls")
    found = run_search(tmp_path / "run", base, condition, SearchSettings(phrasings=2), budget=budget, model=Prefers())
    assert found.errors_found == 5  # document 2; in 0 and 3 a name is preferred
    assert found.preferred == 10
    assert found.answers == 20
    kept = failing_questions(tmp_path / "run")
    assert {q.item.prompt.split()[1] for q in kept.questions} == {"D2"}
    assert kept.left_out["picked for its name"] == 10


def answers_openly(prompt):
    """Document 1 is answered in other words, document 2 wrongly, the others in the reference's words; and the judge."""
    if '"reference"' in prompt:
        shown = json.loads(next(line for line in prompt.splitlines() if line.startswith("{")))
        return json.dumps({"right": [1] if shown["answers"]["1"].startswith("the one of") else []})
    words = prompt.replace("?", " ").split()
    document, place = words[1][1:], words[2][1:]
    said = {"1": f"the one of {place}", "2": "something else"}
    return said.get(document, f"right {document} {place} 0")


def judged_search(folder, api, budget):
    style = ("--style", "chat", "--judge", f"{api.url}#judge", "--batch", "20", "--steps", "3")
    arguments = ("--model", api.model, "--kb", folder / "kb", "--budget", budget, *style)
    with pytest.raises(SystemExit) as stop:
        main(["search", *map(str, (folder / "run", *arguments))])
    assert stop.value.code == 0
    return read_search(folder / "run")


def test_a_judge_calls_right_what_says_the_same_in_other_words_within_the_budget_and_resumes_over_http(tmp_path):
    small_base(tmp_path / "kb", questions=1)
    with FakeApi(reply=answers_openly) as api:
        first = judged_search(tmp_path, api, "60calls")
        assert len(api.bodies) <= 60
        assert first.spent.calls <= 60
        found = judged_search(tmp_path, api, "1000calls")
        asked = [body["messages"][-1]["content"] for body in api.bodies]
        judged = [prompt for prompt in asked if '"reference"' in prompt]
        assert len(set(asked)) == len(asked)  # nothing is paid for twice
        again = judged_search(tmp_path, api, "1000calls")
        assert len(api.bodies) == len(asked)
    other, wrong = ([p for p in judged if said in p] for said in ("the one of", "something else"))
    assert len(judged) == len(other) + len(wrong) == found.judged
    assert (found.judged_right, again.judged_right) == (len(other), len(other))
    failing = failing_questions(tmp_path / "run", confirmed=False)
    assert {q.item.prompt.split()[1] for q in failing.questions} == {"D2"}  # and nothing of document 1
    assert found.errors_found == len(failing.questions)
    assert found.confirmed == found.reworded == found.errors_found
    assert {row.role: row.calls for row in found.costs} == {"tested": len(asked) - len(judged), "judge": len(judged)}
    per = calls_per_paragraph(SearchSettings(), "chat", generated=False, judged=True)
    assert per == 4  # two wordings, and a judge of each


def test_a_judge_of_itself_or_of_a_cloze_is_refused(tmp_path):
    base = small_base(tmp_path / "kb", questions=1)
    for style, judge in (("chat", "http://127.0.0.1:9/v1#m"), ("cloze", "http://127.0.0.1:9/v1#other")):
        condition = Condition(name="t", model="http://127.0.0.1:9/v1#m", decoding=Decoding(), style=style)
        with pytest.raises(InputError, match="judge"):
            run_search(tmp_path / "run", base, condition, SearchSettings(), budget=parse_budget("9calls"), judge=judge)
    assert not (tmp_path / "run").exists()


class Likely(FakeApi):
    """A server as vLLM's: it is held to given texts, and says how likely echoed ones are.

    It likes "wrong 1" by 5 more than anything else whatever is asked. The right answer gains 2 in documents 0 and 1,
    where it is picked once the liking is taken away, and loses 1 in the others.
    """

    echoes = True

    def likelihood(self, text):
        stem, _, choice = text.rpartition("Answer:")
        asked = stem.splitlines()[-1].split()
        gain = 2 if asked[2:3] in (["D0"], ["D1"]) else -1 if len(asked) > 2 else 0
        return -10.0 + 5 * (choice == " wrong 1") + gain * choice.startswith(" right") if choice else -100.0

    async def _answer(self, request):
        body = await request.json()
        self.bodies.append(body)
        usage = {"prompt_tokens": 9, "completion_tokens": 2}
        if not body.get("echo"):
            stem, texts = body.get("prompt", ""), (body.get("structured_outputs") or {}).get("choice", ["x"])
            choices = [
                {"index": 0, "text": max(texts, key=lambda c: self.likelihood(stem + c)), "finish_reason": "stop"}
            ]
        elif not self.echoes:
            return web.json_response({"error": {"message": "Only no echo is supported"}}, status=400)
        else:
            shares = [self.likelihood(text) for text in body["prompt"]]
            blocks = [{"tokens": ["<s>", "a", "b"], "token_logprobs": [None, p - 1, 1]} for p in shares]
            choices = [{"index": i, "text": "", "logprobs": block} for i, block in enumerate(blocks)][::-1]
        return web.json_response({"choices": choices, "usage": usage})


@pytest.mark.parametrize("echoes", [True, False])
def test_a_cloze_over_http_is_corrected_by_the_servers_likelihoods_by_hand(tmp_path, monkeypatch, echoes):
    base = small_base(tmp_path / "kb", documents=4, paragraphs=5, questions=1)
    with Likely() as api:
        api.echoes = echoes
        monkeypatch.setenv("VLLM_BASE_URL", api.url)
        condition = Condition(name="c", model="vllm/m", decoding=Decoding(max_tokens=8), style="cloze")
        found = run_search(
            tmp_path / "run", base, condition, SearchSettings(), budget=parse_budget("500calls"), prices={}
        )
        asked = [body for body in api.bodies if body.get("echo")]
    assert found.answers == 20
    assert len(asked) == 20 * 4  # every first answer is the name it likes; each option is a call
    assert len(asked[0]["prompt"]) == 4
    assert (found.preferred, found.errors_found, found.uncorrected) == ((10, 10, 0) if echoes else (0, 20, 20))
    assert found.spent.calls == len(api.bodies)
    per = calls_per_paragraph(SearchSettings(), "cloze", generated=False, remote=True)
    assert per == 6  # two wordings and four options
