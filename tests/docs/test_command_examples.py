"""Every command example of the documentation runs from a clean folder, in the order of its page.

Hosted models are played by a simulated endpoint on loopback, a database server by one on loopback, and who looks at a
local page by a request for it. The handbook and the questions are simulated documents.
"""

import dataclasses
import json
import os
import re
import shlex
import shutil
import signal
import threading
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.document_world import SimulatedWorld, write_documents
from helpers.facts_world import world
from helpers.postgres import PASSWORD, PostgresServer
from richter.cli import main
from richter.models import PROVIDERS
from richter_audit.bench import _facts_benchmark

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
FINE = (0, 3, 4)  # a requirement may be violated or undecided
# what an example needs that no test may have; such examples are counted, and only their words are checked
NEEDS = {
    "Inspect's or a batch's endpoint": re.compile(r"\banthropic/|--batch|--judges a,b"),
    "weights of a local model": re.compile(r"smollm2|gemma|\brichter demo\b|--scorer (nll|toxicity)"),
    "a series in a database, a cluster or a store": re.compile(r"watch postgresql://|ray://|--engine ray|s3://"),
    "a dump of Wikipedia": re.compile(r"enwiki|wiki\.kb"),
    "draws of a local model": re.compile(r"calibration run1$"),
    "a tracker": re.compile(r"--mlflow|--wandb"),
}
LOCAL_PAGE = re.compile(r"richter (view|label)\b(?! agreement| next)")


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


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The statuses of the local pages that a command opened: each is fetched once, and Ctrl-C ends the command."""
    statuses: list[int] = []

    def fetch(address: str) -> None:
        visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        try:
            with visitor.open(address, timeout=60) as reply:
                statuses.append(reply.status)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(webbrowser, "open", lambda address: threading.Thread(target=fetch, args=(address,)).start())
    return statuses


@pytest.fixture
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Put the server of this session, started when it is first named, in the place of the one that the pages name."""

    def at_loopback(command: str) -> str:
        if "db.example" not in command:
            return command
        server: PostgresServer = request.getfixturevalue("postgres")
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        return command.replace("ann@db.example/evals", f"richter@127.0.0.1:{server.port}/postgres")

    return at_loopback


def write_questions(path: Path) -> None:
    """Simulated paragraphs, each with a question."""
    rows = [
        {"title": f"Mill {k}", "text": f"The mill of case {k} " + "stands by the river and " * 15 + f"has {k} wheels.",
         "qas": [{"q": f"How many wheels has the mill of case {k}?", "a": [str(k)]}]}
        for k in range(30)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pages share the sources of the facts that one process has read."""
    monkeypatch.setattr(_facts_benchmark, "World", world)


PAGES = [p for p in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"] if commands(p)]


@pytest.mark.usefixtures("models", "facts")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, id=p.stem, marks=pytest.mark.xdist_group("facts") if "bench facts" in p.read_text() else ())
        for p in PAGES
    ],
)
def test_every_example_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[int], database: Callable[[str], str]
) -> None:
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    write_documents(tmp_path / "handbook", 160)
    write_questions(tmp_path / "questions.jsonl")
    monkeypatch.chdir(tmp_path)
    failed = []
    n_pages = 0
    for command in commands(page):
        if needed(command) is not None:
            continue
        words = shlex.split(re.sub(r"\s#\s.*", "", database(command)))  # a run in a database has a # in its name
        n_pages += bool(LOCAL_PAGE.search(command))
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
    assert opened == [200] * n_pages


def test_most_examples_run() -> None:
    """What cannot be run here is a minority, and all of it asks models or needs a service."""
    examples = [c for page in PAGES for c in commands(page) if c.startswith("richter ")]
    assert sum(needed(command) is None for command in examples) > len(examples) / 2
