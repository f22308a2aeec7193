"""Every command example of the documentation runs from a clean folder, in the order of its page.

Hosted models are played by a simulated endpoint on loopback, and the handbook is a simulated folder of documents.
"""

import dataclasses
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.document_world import SimulatedWorld, write_documents
from richter.cli import main
from richter.models import PROVIDERS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
FINE = (0, 3, 4)  # a requirement may be violated or undecided
# what an example needs that no test may have; such examples are counted, and only their words are checked
NEEDS = {
    "Inspect's or a batch's endpoint": re.compile(r"\banthropic/|--batch|--model A\b|--judges a,b"),
    "weights of a local model": re.compile(r"smollm2|gemma|\brichter demo\b|--scorer (nll|toxicity)"),
    "a server, a cluster or a store": re.compile(r"postgresql://|ray://|--engine ray|s3://"),
    "a dump of Wikipedia, or documents of your own": re.compile(r"enwiki|wiki\.kb|questions\.jsonl|mine\.kb"),
    "a table of your own": re.compile(r"\bmine\.csv\b"),
    "a run that asked models": re.compile(r"--billed|calibration run1\b|\bsea1\b|one/key-labels"),
    "a browser": re.compile(r"richter (view|label)\b(?! agreement| next)"),
    "a tracker": re.compile(r"--mlflow|--wandb"),
}


def commands(page: Path) -> list[str]:
    """The commands of a page, those that go on in the next line in one."""
    text = "\n".join(BLOCK.findall(page.read_text())).replace("\\\n", " ")
    return [line[2:].strip() for line in text.splitlines() if line.startswith("$ ")]


def needed(command: str) -> str | None:
    """What a command needs that is not here; None where it can run."""
    if not command.startswith(("richter ", "cd ")):
        return "another program"
    return next((what for what, pattern in NEEDS.items() if pattern.search(command)), None)


MADE: dict[str, bytes] = {}


class SimulatedModels(SimulatedWorld):
    """Every hosted model: by what it is asked it chooses an option, writes or checks a question, or judges."""

    def _play(self, prompt: str) -> str:
        asked = " ".join(message["content"] for message in self.bodies[-1].get("messages", []))
        if '"severity"' in asked:
            return self._judge(prompt, "simulated-judge")
        if "each once more in other words" in asked or '"given_away"' in asked:
            return self._write(re.sub(r"Write \d+ questions", "Write 1 questions", prompt))
        if "mill of" in prompt and re.search(r"(?m)^A\. \d{4}", prompt):
            return self._choose(prompt, "simulated-weak")
        return "Answer: A"


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatedModels]:
    with SimulatedModels() as api:
        for name, provider in PROVIDERS.items():
            if provider.key is not None:
                monkeypatch.setitem(PROVIDERS, name, dataclasses.replace(provider, url=api.url))
                monkeypatch.setenv(provider.key, "simulated")
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        yield api


PAGES = [p for p in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"] if commands(p)]


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, id=p.stem, marks=pytest.mark.xdist_group("facts") if "bench facts" in p.read_text() else ())
        for p in PAGES
    ],
)
def test_every_example_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    write_documents(tmp_path / "handbook", 160)
    monkeypatch.chdir(tmp_path)
    failed = []
    for command in commands(page):
        if needed(command) is not None:
            continue
        words = shlex.split(command, comments=True)
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
            continue
        if command in MADE:  # on an earlier page, by the same command
            Path(words[-1]).write_bytes(MADE[command])
            continue
        with pytest.raises(SystemExit) as stop:
            main(words[1:])
        if int(stop.value.code or 0) not in FINE:
            failed.append(command)
        elif command.startswith("richter bench facts"):  # its sources are read for half a minute
            MADE[command] = Path(words[-1]).read_bytes()
    assert not failed


def test_most_examples_run() -> None:
    """What cannot be run here is a minority, and all of it asks models or needs a service."""
    examples = [c for page in PAGES for c in commands(page) if c.startswith("richter ")]
    assert sum(needed(command) is None for command in examples) > len(examples) / 2
