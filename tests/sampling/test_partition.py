import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from richter.errors import CallFailed
from richter.records import Answer, Decoding
from richter.store import open_ledger
from richter.texts import REFUSAL
from richter_audit.judge import Partition, judge_classes, judge_grades, read_groups
from richter_audit.llm import Asker, Message

ANSWERS = ["Paris", "the city of Paris", "Rome", "", "paris!"]


class ScriptedJudge:
    """A simulated judge that replies from a list."""

    name = "scripted"

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.seen: list[Sequence[Message]] = []

    async def ask(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> Answer:
        self.seen.append(messages)
        if not self.replies:
            raise CallFailed("no reply")
        return Answer(text=self.replies.pop(0))

    async def aclose(self) -> None:
        pass


def judged(folder: Path, judge: ScriptedJudge, answers: Sequence[str] = ANSWERS) -> Partition:
    async def run() -> Partition:
        with open_ledger(folder, mode="write") as ledger:
            return await judge_classes(Asker(ledger), judge, "Which city?", answers)

    return asyncio.run(run())


def test_a_partition_is_taken(tmp_path: Path) -> None:
    judge = ScriptedJudge('{"groups": [[1, 2], [3]]}')
    result = judged(tmp_path, judge)
    assert result == Partition(classes=(0, 0, 1, REFUSAL, 0), attempts=1, repaired=False)
    sent = json.loads(judge.seen[0][0]["content"].splitlines()[-2])
    assert list(sent["answers"].values()) == ["Paris", "the city of Paris", "Rome"]  # each normal form once


def test_a_fault_is_sent_back(tmp_path: Path) -> None:
    judge = ScriptedJudge('{"groups": [[1, 2], [2]]}', 'Sorry: {"groups": [[1, 2], [3]]}')
    result = judged(tmp_path, judge)
    assert (result.attempts, result.repaired) == (2, False)
    assert "Named twice: 2. Left out: 3." in judge.seen[1][-1]["content"]


def test_a_second_fault_is_repaired(tmp_path: Path) -> None:
    result = judged(tmp_path, ScriptedJudge("no", '{"groups": [[1], [2, 1, 9]]}'))
    assert result.repaired
    one, two, rome, refusal, again = result.classes
    assert one == again
    assert refusal == REFUSAL
    assert len({one, two, rome}) == 3  # named twice: the first group; left out: its own


def test_a_judge_that_fails_leaves_the_normal_forms(tmp_path: Path) -> None:
    result = judged(tmp_path, ScriptedJudge())
    assert result.repaired
    assert result.classes[0] == result.classes[4] != result.classes[2]


def test_one_answer_needs_no_judge(tmp_path: Path) -> None:
    assert judged(tmp_path, ScriptedJudge(), ["Oslo", "oslo", ""]).attempts == 0


@pytest.mark.parametrize("text", ["", "{}", '{"groups": 3}', '{"groups": [["x"]]}', "[[1]]"])
def test_replies_that_are_no_groups(text: str) -> None:
    assert read_groups(text, 2)[1]


def graded(folder: Path, judge: ScriptedJudge, classes: Sequence[int]) -> list[int | None]:
    async def run() -> list[int | None]:
        with open_ledger(folder, mode="write") as ledger:
            return await judge_grades(Asker(ledger), judge, "Which city?", ["Rome"], ANSWERS, classes)

    return asyncio.run(run())


def test_classes_are_graded_by_their_first_answer(tmp_path: Path) -> None:
    judge = ScriptedJudge('{"right": [2]}')
    assert graded(tmp_path, judge, [0, 0, 1, REFUSAL, 0]) == [0, 0, 1, 0, 0]
    sent = json.loads(judge.seen[0][0]["content"].splitlines()[-2])
    assert sent["answers"] == {"1": "Paris", "2": "Rome"}


@pytest.mark.parametrize("reply", ["none", '{"right": [7]}', '{"right": "Rome"}'])
def test_an_unusable_grade_is_no_grade(tmp_path: Path, reply: str) -> None:
    assert graded(tmp_path, ScriptedJudge(reply), [0, 0, 1, REFUSAL, 0]) == [None, None, None, 0, None]
