"""A benchmark that a model writes and another checks, over loopback. Both are simulated, and their faults are known."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from helpers.server import FakeApi
from richter.cli import main
from richter.errors import InputError
from richter.records import Item
from richter_audit.ascent import BenchOrder
from richter_audit.ascent._question_checker import KnownQuestions
from richter_audit.bench import read_items

FAULTS = ("", "", "bad key", "tier 5", "duplicate", "leak")


class Simulated(FakeApi):
    """A writer that makes one fault after the other, and a checker that knows every answer and tier."""

    def __init__(self) -> None:
        super().__init__(reply=self._play)
        self.numbers: dict[str, tuple[str, int]] = {}  # by river: its length, and its true tier
        self.faults: dict[str, str] = {}  # by question
        self.reads: Counter[str] = Counter()

    def name(self, model: str) -> str:
        return f"{self.url}#{model}"

    def _play(self, prompt: str) -> str:
        if "{" not in prompt:
            return prompt.rpartition(" ")[2]  # the question that shows that replies are not mixed up
        if asked := re.search(r"Write (\d+) questions[^F]*Field: (\w+)\nDifficulty (\d)", prompt):
            rows = [row for _ in range(int(asked[1])) for row in self._write(asked[2], int(asked[3]))]
            return json.dumps({"questions": rows})
        data = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
        self.reads[data["question"]] += 1
        length, tier = self.numbers[re.search(r"River\w+", data["question"])[0]]
        if "options" in data:
            return json.dumps({"right": [line[0] for line in data["options"].splitlines() if line[3:] == length]})
        return json.dumps({"answer": length, "tier": tier})

    def _write(self, field: str, tier: int) -> list[dict]:
        k = len(self.faults)
        fault = FAULTS[k % len(FAULTS)]
        river, length = f"River{field}{k:03}", str(1000 + 7 * k)
        question = f"How many metres long is the simulated {river}?"
        if fault == "duplicate" and self.numbers:
            river, (length, tier) = next(iter(self.numbers.items()))
            question = f"The simulated {river} has a length of how many metres?" + " " * k
        if fault == "leak":
            question = f"The simulated {river} is {length} metres long: how many metres is that?"
        self.numbers.setdefault(river, (length, 5 if fault == "tier 5" else tier))
        self.faults[question.strip() + "." * (fault == "duplicate") * k] = fault
        key = "999999" if fault == "bad key" else length
        return [{"question": question, "answer": key, "aliases": [], "form": "plain"}]


def run(words: list[str]) -> int:
    with pytest.raises(SystemExit) as stop:
        main(words)
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The file of 20 questions in two fields, the note beside it, and the models."""
    path = tmp_path_factory.mktemp("written") / "questions.jsonl"
    with Simulated() as world:
        words = ["bench", "written", "--items", "20", "--domain", "law", "--domain", "history", "-o", str(path)]
        words += ["--generator", world.name("writer"), "--checker", world.name("checker")]
        assert run([*words, "--budget", "12calls"]) == 1  # used up on the way
        assert 0 < len(world.bodies) <= 12
        assert run(words) == 0
        asked = len(world.bodies)
        assert run(words) == 0
        assert len(world.bodies) == asked  # the same again is paid for
        yield path, json.loads(path.with_name("questions.build.json").read_text()), world


def test_every_cell_is_filled_with_sound_questions(written) -> None:
    path, note, _ = written
    items = read_items(path)
    assert Counter((item.domain, item.tier) for item in items) == {
        (domain, tier): 2 for domain in ("law", "history") for tier in range(1, 6)
    }
    assert note["missing"] == {}
    assert len({re.search(r"River\w+", item.prompt)[0] for item in items}) == 20


def test_no_fault_is_taken_and_each_is_rejected_for_what_it_is(written) -> None:
    path, note, world = written
    lengths = {river: length for river, (length, _) in world.numbers.items()}
    for item in read_items(path):
        river = re.search(r"River\w+", item.prompt)[0]
        assert (item.reference, item.tier) == (lengths[river], world.numbers[river][1])
    reasons = {row["reason"] for row in note["rejected"]}
    assert reasons == {"key not confirmed", "another tier", "duplicate", "gives the answer away"}
    for row in note["rejected"]:
        river = re.search(r"River\w+", row["prompt"])[0]
        if row["reason"] == "key not confirmed":
            assert row["reference"] != lengths[river]
        if row["reason"] == "another tier":
            assert row["read_tier"] == world.numbers[river][1] != row["tier"]


def test_a_sound_question_is_read_once_and_a_doubtful_one_twice(written) -> None:
    path, note, world = written
    assert {world.reads[item.prompt] for item in read_items(path)} == {1}
    assert {world.reads[row["prompt"]] for row in note["rejected"] if row["reason"] == "another tier"} == {2}


def test_a_model_does_not_check_its_own_questions() -> None:
    with pytest.raises(InputError, match="check its own"):
        BenchOrder(items=10, writer="openai/gpt-4o", checker="openrouter/openai/gpt-4o")


def test_duplicates_have_one_answer_and_similar_words() -> None:
    def item(prompt: str, reference: str) -> Item:
        return Item(id=prompt, prompt=prompt, reference=reference)

    found = [
        item("Who won the football world cup of 2014?", "Germany"),
        item("Which country won the 2014 football world cup?", "germany"),
        item("Who won the football world cup of 2018?", "France"),
        item("Which country has Berlin as its capital?", "Germany"),
    ]
    known = KnownQuestions()
    assert known.are_new(found) == [True, False, True, True]
    other_key = item("Who won the football world cup of 2014?", "Argentina")
    assert known.are_new([other_key]) == [False]
    known.forget(found[0])
    assert known.are_new([other_key]) == [True]


def test_a_generator_that_writes_nothing_is_not_asked_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeApi() as api:
        words = ["bench", "written", "--items", "400", "--domain", "law", "-o", str(tmp_path / "q.jsonl")]
        assert run([*words, "--generator", f"{api.url}#writer", "--checker", f"{api.url}#checker"]) == 1
        assert len(api.bodies) <= 6
    assert "is a question" in capsys.readouterr().err
    assert not (tmp_path / "q.jsonl").exists()


def test_the_price_is_said_before_anything_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "bench",
        "written",
        "--items",
        "40",
        "--generator",
        "openai/gpt-4.1",
        "--checker",
        "mistral/m",
        "--dry-run",
    ]
    assert run([*words, "--price", "1,2"]) == 0
    assert (
        "About 160 calls if a quarter of the questions fails. At most 2,240 calls (at most $" in capsys.readouterr().out
    )
