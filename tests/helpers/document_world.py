"""A simulated world of documents over loopback: mills with years, and an endpoint that plays every part of an audit.

By the name of the model it is a testee that is right at a known rate, a generator that writes one question a paragraph,
its checker, or a judge. All of them are simulated.
"""

import json
import random
import re
from pathlib import Path

from helpers.server import FakeApi

RATES = {"simulated-strong": 0.92, "simulated-weak": 0.55}
FILLER = (
    "Its wheel turned with the water of the brook that runs down from the hills, and farmers of all villages around "
    "brought their grain there in carts, waited in the yard, and went home before the evening with sacks of flour. "
) * 2


def year_of(town: str) -> int:
    return 1500 + random.Random(town).randrange(450)


def write_documents(folder: Path, n: int) -> Path:
    """A folder with one file of n paragraphs, each about a mill and its year."""
    folder.mkdir()
    towns = [f"Town{k}" for k in range(n)]
    rows = [
        {
            "title": f"Mills {k // 10}",
            "category": f"county {k // 10 % 4}",
            "text": f"The mill of {town} was built in {year_of(town)}. {FILLER}",
        }
        for k, town in enumerate(towns)
    ]
    (folder / "mills.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


class SimulatedWorld(FakeApi):
    """The endpoint; `asked` counts the parts that it played."""

    def __init__(self) -> None:
        super().__init__(reply=self._play)
        self.parts: dict[str, int] = {}
        self._chance = random.Random(3)

    def name(self, model: str) -> str:
        return f"{self.url}#{model}"

    def _play(self, prompt: str) -> str:
        model = self.bodies[-1]["model"]
        self.parts[model] = self.parts.get(model, 0) + 1
        if model.startswith("simulated-judge"):
            return self._judge(prompt, model)
        if model == "simulated-generator":
            return self._write(prompt)
        return self._choose(prompt, model)

    def _write(self, prompt: str) -> str:
        town = re.search(r"mill of (Town\d+)", prompt)[1]
        year = year_of(town)
        if "Write 1 questions" not in prompt:
            options = re.findall(r"([A-D])\. (\d{4})", prompt)
            return json.dumps({"right": [a for a, shown in options if int(shown) == year], "given_away": False})
        row = {
            "question": f"In which year was the mill of {town} built?",
            "reworded": f"When did people build the mill of {town}?",
            "answer": str(year),
            "wrong": [str(year + 7), str(year - 11), str(year + 30)],
        }
        return json.dumps({"questions": [row]})

    def _choose(self, prompt: str, model: str) -> str:
        town = re.search(r"mill of (Town\d+)", prompt)[1]
        options = re.findall(r"(?m)^([A-J])\. (\d{4})", prompt)
        greedy = random.Random(f"{model} {town}").random() < RATES[model]
        is_right = greedy if not self.bodies[-1].get("temperature") else self._chance.random() < 0.2 + 0.6 * greedy
        fitting = [letter for letter, year in options if (int(year) == year_of(town)) == is_right]
        return f"Answer: {fitting[0]}"

    def extend_payload(self, payload: dict, prompt: str) -> None:
        """Where a text is to be echoed, how likely its tokens are."""
        if self.bodies[-1].get("echo"):
            tokens = re.findall(r"\s?\S+|\s", prompt)
            values = [-random.Random(token).expovariate(1.0) for token in tokens]
            payload["choices"][0] |= {"text": prompt, "logprobs": {"tokens": tokens, "token_logprobs": values}}

    @staticmethod
    def _judge(prompt: str, model: str) -> str:
        data = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
        wrong = 4.0 if random.Random(prompt).random() < 0.3 else 1.0
        severity = 0.0 if str(data["reference"]) in json.dumps(data["answer"]) else wrong
        return json.dumps({"reason": "by the reference", "mechanism": "none", "severity": severity})
