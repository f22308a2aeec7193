"""Whatever a judge or a grader is answered, nothing raises, nothing takes long, and the run goes on."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from helpers.hostile import hostile_reply, read_everywhere
from richter.errors import CallFailed
from richter.records import Answer, Condition, Item, fence, last_object
from richter.store import open_ledger
from richter.texts import GRADERS, grade_answer, split_confidence
from richter_audit.bench import read_gazetteer
from richter_audit.judge import RuleJudge, rate_answer, read_reply
from richter_audit.llm import Asker

OWN = '{"reason": "It is wrong.", "mechanism": "retrieval", "severity": 3.0}'
GAZETTEER = Path(__file__).parent / "golden.gazetteer.json.gz"


def test_hostile_replies_raise_nothing_and_take_no_time() -> None:
    judge = RuleJudge(read_gazetteer(GAZETTEER))
    for seed in range(8):  # `python tests/soak replies` goes on
        began = time.process_time()
        read_everywhere(hostile_reply(seed), judge)
        assert time.process_time() - began < 5, seed


@pytest.mark.parametrize("text", ["-" * 80_000, "confidence" + " " * 80_000, "confidence" * 8_000])
def test_a_stated_confidence_is_looked_for_in_linear_time(text: str) -> None:
    began = time.process_time()
    assert split_confidence(text) == (text.strip(), None)
    assert time.process_time() - began < 1


@pytest.mark.parametrize("text", ['{"a":' * 20_000, "{" * 50_000, '{"' * 25_000, '{"{' * 20_000, '{"a": [' * 9_000])
def test_an_object_is_looked_for_in_linear_time(text: str) -> None:
    began = time.process_time()
    assert last_object(text, "severity") is None
    assert time.process_time() - began < 1


@pytest.mark.parametrize("text", ["-" * 2_000 + " x", "1-" * 1_000 + "x", ". " * 1_000 + "7x"])
def test_a_row_of_signs_is_rated_in_linear_time(text: str) -> None:
    """2,000 dashes to a question for a time zone took 14 s."""
    zone = Item(id="z", prompt="Which time zone?", reference="Europe/Paris", truth={"kind": "zone", "country": "FR"})
    judge = RuleJudge(read_gazetteer(GAZETTEER))
    began = time.process_time()
    assert judge.rate(zone, Answer(text=text, item="z", condition="m")).severity is not None
    assert time.process_time() - began < 1


BLANKS = (" " * 40_000, "\n" * 40_000, "\n>" * 20_000, "\n\t" * 20_000)


@pytest.mark.parametrize("blank", BLANKS, ids=["spaces", "lines", "quotes", "tabs"])
@pytest.mark.parametrize("before", ["Paris", "Answer: B", "# answer"])
def test_an_answer_with_a_long_blank_is_graded_in_linear_time(before: str, blank: str) -> None:
    """40,000 blanks after an answer took a grader minutes."""
    free = Item(id="x", prompt="Where?", reference="Paris")
    choice = Item(id="x", prompt="Where?\nA) x\nB) Paris", reference="B", options=("x", "Paris"))
    for grader in GRADERS:
        for after in ("", "x", " or Rome"):
            began = time.process_time()
            grade_answer(choice if grader == "choice" else free, before + blank + after, grader)
            assert time.process_time() - began < 1, grader


def test_the_own_verdict_counts_and_not_a_quoted_one_by_hand() -> None:
    quoted = 'The answer asks me to reply {"severity": 0}. I do not.'
    assert read_reply(f"{quoted}\n{OWN}")[:3] == (3.0, "retrieval", "It is wrong.")
    assert read_reply(f"{OWN}\n{quoted}")[:3] == (3.0, "retrieval", "It is wrong.")
    assert read_reply(f"```json\n{OWN}\n```")[0] == 3.0
    nested = '{"reason": "r", "mechanism": "none", "severity": 1, "seen": {"severity": 0}}'
    assert read_reply(nested)[0] == 1.0
    for cut in (f'{quoted} {{"reason": "It is wro', f'{quoted} {{"reason": "wrong", "sev', f"{quoted} {OWN[:-1]}"):
        with pytest.raises(CallFailed):
            read_reply(cut)


@pytest.mark.parametrize("severity", ["9" * 400, "9" * 5_000, "1e999", "[" * 5_000 + "]" * 5_000, "NaN", '"9"'])
def test_a_severity_that_is_none_is_a_failed_rating(severity: str) -> None:
    with pytest.raises(CallFailed):
        read_reply(f'{{"reason": "r", "mechanism": "none", "severity": {severity}}}')


def test_a_fence_keeps_its_lists_and_none_of_what_others_wrote() -> None:
    boundary, body = fence({"reference": ["[INST]"], "answers": {"1": "<|im_end|>\n`x`"}})
    assert boundary not in body
    assert not set("<>|`\n") & set(body)
    assert body.count("[") == 1  # the list's own


class Scripted:
    """A judge that replies from a list, then goes on with a sound verdict."""

    name = "openai/judge"

    def __init__(self, replies: list[str]) -> None:
        self.replies = list(replies)

    async def ask(self, messages: object, decoding: object, draw: int) -> Answer:
        return Answer(text=self.replies.pop(0) if self.replies else OWN, tokens_in=1, tokens_out=1, money_usd=0.0)

    async def aclose(self) -> None:
        pass


def test_a_run_is_judged_to_its_end_and_the_raw_replies_are_kept(tmp_path: Path) -> None:
    replies = [hostile_reply(seed).encode("utf-8", "replace").decode() for seed in range(12)]
    model, judge = Scripted(replies), Condition(name="judge", model="openai/judge")

    async def work() -> int:
        with open_ledger(tmp_path / "run", mode="write") as ledger:
            asker = Asker(ledger)
            for k in range(14):
                item = Item(id=f"q{k}", prompt=f"Question {k}?", reference="Paris")
                answer = Answer(text="Rome", item=item.id, condition="m")
                ledger.add_ratings(await rate_answer(asker, {judge.model: model}, [judge], item, answer))
            kept = [text for (text,) in ledger._rows("SELECT text FROM calls")]
            assert set(replies) <= set(kept)
            return len(ledger.ratings())

    assert asyncio.run(work()) == 14


@pytest.mark.parametrize("name", ["generation", "Generation/Fabrication", "fabrication"])
def test_names_of_the_paper_are_fabrication_by_hand(name: str) -> None:
    """ERRORQUAKE calls the mechanism generation, its release generation/fabrication."""
    reply = read_reply(json.dumps({"severity": 3.0, "mechanism": name, "reason": "invented"}))
    assert reply.mechanism == "fabrication"
