"""Every command example of the documentation runs from a clean folder, in the order of its page.

Hosted models are played by a simulated endpoint on loopback, and who looks at a
local page by a request for it. The handbook and the questions are simulated documents.
"""

import bz2
import contextlib
import dataclasses
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import threading
import urllib.request
import webbrowser
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.batch_provider import BatchApi
from helpers.document_world import FILLER, SimulatedWorld, write_documents, year_of
from helpers.local_model import need_smollm2
from helpers.object_store import ObjectStore
from helpers.trials import RUNS_ALL
from richter.cli import main
from richter.models import PROVIDERS
from richter.records import Item
from richter_audit.bench import read_items
from richter_audit.cli import _audit_output
from richter_audit.stages import DemoSize

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
FINE = (0, 3, 4)  # a requirement may be violated or undecided
# what an example needs that no test may have; such examples are listed below, and only their words are checked
NEEDS = {
    "Gemma's weights (253 MB, under terms of their own)": re.compile(r"gemma"),
    "alt-profanity-check, which no test installs": re.compile(r"--scorer toxicity(?!.* --weights )"),
    "a Ray cluster: tests/engine and tests/knowledge run one": re.compile(r"--engine ray"),
    "MLflow": re.compile(r"--mlflow"),
    "wandb": re.compile(r"--wandb"),
    "another program than Richter": re.compile(r"(?!richter |cd |[A-Z_]+=\S+ richter )"),
}
INSTALLED = {"MLflow": ("mlflow", "sqlalchemy", "alembic"), "wandb": ("wandb",)}
LOCAL_PAGE = re.compile(r"richter (view|label)\b(?! agreement| next)")
# pages whose examples ask models or build bases for seconds: a few of them in `make test`, all in `make soak`
HEAVY = ("audit", "audit-ask", "audit-draw", "demo", "search", "search-base", "severity-tail", "tutorial", "watch")


def commands(page: Path) -> list[str]:
    """The commands of a page, those that go on in the next line in one."""
    text = "\n".join(BLOCK.findall(page.read_text())).replace("\\\n", " ")
    return [line[2:].strip() for line in text.splitlines() if line.startswith("$ ")]


def needed(command: str) -> str | None:
    """What a command needs that is not here; None where it can run."""
    for what, pattern in NEEDS.items():
        if pattern.match(command) or (pattern.pattern[:3] != "(?!" and pattern.search(command)):
            is_here = what in INSTALLED and all(map(importlib.util.find_spec, INSTALLED[what]))
            return None if is_here else what
    return None


def smaller(words: list[str]) -> list[str]:
    """The same command on fewer questions and repeats: what it asks a local model for seconds, or a judge often."""
    least = {"--items": 40, "--limit": 6, "--draws": 4, "--questions": 40}
    pairs = zip(["", *words], words, strict=False)
    words = [str(min(int(word), least[before])) if before in least else word for before, word in pairs]
    more = ["--runs", "5"] if "--phase" in words else []
    if words[1] == "audit" and not {"--draws", "--only", "--scorer"} & {*words}:
        more = ["--draws", "0"] if "smollm2" in words else ["--draws", "3", "--drawn", "6"]
    return [*words, *more]


class SimulatedModels(SimulatedWorld):
    """Every hosted model: by what it is asked it chooses an option, writes or checks a question, or judges."""

    def _play(self, prompt: str) -> str:
        asked = " ".join(message["content"] for message in self.bodies[-1].get("messages", []))
        if '"severity"' in asked:
            return self._judge(prompt, "simulated-judge")
        if "each once more in other words" in asked or '"given_away"' in asked:
            return self._write(re.sub(r"Write \d+ questions", "Write 1 questions", prompt))
        if asked := re.search(r"Write (\d+) questions.*\nField: (.*)\nDifficulty (\d)", prompt):
            rows = [{"question": f"How high is peak {asked[2]} {asked[3]} {k}?", "answer": "7 m"} for k in range(3)]
            return json.dumps({"questions": rows})
        if "Tiers of difficulty" in prompt:
            return json.dumps({"answer": "7 m", "tier": int(re.search(r"peak \w+ (\d)", prompt)[1])})
        if "mill of" in prompt and re.search(r"(?m)^A\. \d{4}", prompt):
            return self._choose(prompt, "simulated-weak")
        return "Answer: A"


def point_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Let every hosted provider be the server at this address."""
    for name, provider in PROVIDERS.items():
        if provider.key is not None:
            monkeypatch.setitem(PROVIDERS, name, dataclasses.replace(provider, url=address))


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatedModels]:
    with SimulatedModels() as api:
        for provider in PROVIDERS.values():
            if provider.key is not None:
                monkeypatch.setenv(provider.key, "simulated")
        point_to(monkeypatch, api.url)
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        monkeypatch.setenv("VLLM_BASE_URL", api.url)
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


def write_questions(path: Path) -> None:
    """Simulated paragraphs, each with a question."""
    rows = [
        {"title": f"Mill {k}", "text": f"The mill of case {k} " + "stands by the river and " * 15 + f"has {k} wheels.",
         "qas": [{"q": f"How many wheels has the mill of case {k}?", "a": [str(k)]}]}
        for k in range(30)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_facts(path: Path) -> None:
    """The first 26 questions of the facts benchmark: reading its sources takes `richter bench facts` ten seconds."""
    lines = Path(__file__).with_name("facts.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:26]), encoding="utf-8")
    shutil.copy(ROOT / "tests" / "judge" / "golden.gazetteer.json.gz", path.with_name(f"{path.stem}.gazetteer.json.gz"))


def write_dump(path: Path) -> None:
    """A simulated dump of Wikipedia: 60 articles on mills."""
    page = "<page><title>Mill {n}</title><ns>0</ns><revision><text>The mill of Town{n} was built in {year}. {more}"
    page += "</text></revision></page>"
    pages = [page.format(n=n, year=year_of(f"Town{n}"), more=FILLER) for n in range(60)]
    text = f"<mediawiki>{''.join(pages)}</mediawiki>"
    path.write_bytes(bz2.compress(text.encode()))


@pytest.fixture
def small_world(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clean folder with what a user would have already: documents, a dump, questions; and the shipped examples."""
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    write_documents(tmp_path / "handbook", 130 if page.stem == "search" else 48)
    write_questions(tmp_path / "questions.jsonl")
    for name in ("enwiki-latest-pages-articles.xml.bz2", "enwiki.xml.bz2"):
        write_dump(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_audit_output, "DemoSize", SmallDemo)
    monkeypatch.setattr(_audit_output, "prepare_demo", prepare_small_demo)


class SmallDemo(DemoSize):
    """The demonstration on 8 questions."""

    def __init__(self) -> None:
        super().__init__(items=8, drawn=4, draws=3)

    @classmethod
    def quick(cls) -> DemoSize:
        return DemoSize(items=8, drawn=0, draws=0)


def prepare_small_demo(run: Path, size: DemoSize) -> list[Item]:
    run.mkdir(exist_ok=True)
    write_facts(run / "facts.jsonl")
    return read_items(run / "facts.jsonl")[: size.items]


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Start what a command asks for beyond models, and name it in the command: batch jobs, a bucket."""
    with contextlib.ExitStack() as stack:

        def with_services(command: str) -> str:
            if "--batch" in command:
                point_to(monkeypatch, f"{stack.enter_context(BatchApi()).url}/v1")
            if "s3://" in command:
                point_aws(monkeypatch, stack.enter_context(ObjectStore()).url)
            if "smollm2" in command or "nll" in command:
                need_smollm2()
            for name, value in re.findall(r"\b([A-Z_]+)=(\S+) ", command.partition("richter")[0]):
                monkeypatch.setenv(name, value)
            return command

        yield with_services


def point_aws(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    settings = {
        "ACCESS_KEY_ID": "simulated",
        "SECRET_ACCESS_KEY": "simulated",
        "REGION": "nowhere",
        "ALLOW_HTTP": "true",
    }
    for name, value in {**settings, "ENDPOINT": address}.items():
        monkeypatch.setenv(f"AWS_{name}", value)


PAGES = [p for p in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"] if commands(p)]


def run_page(page: Path, monkeypatch: pytest.MonkeyPatch, services: Callable[[str], str], opened: list[int]) -> None:
    failed = []
    n_pages = 0
    for command in filter(lambda c: needed(c) is None, commands(page)):
        words = shlex.split(re.sub(r"\s#\s.*", "", services(command)))
        n_pages += bool(LOCAL_PAGE.search(command))
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
            continue
        if command.startswith("richter bench facts") and not (RUNS_ALL and page.stem == "tutorial"):
            write_facts(Path(words[-1]))
            continue
        with pytest.raises(SystemExit) as stop:
            main(smaller(words)[words.index("richter") + 1 :])
        if int(stop.value.code or 0) not in FINE:
            failed.append(command)
    assert not failed
    assert opened == [200] * n_pages


@pytest.mark.usefixtures("models", "small_world")
@pytest.mark.parametrize("page", [pytest.param(p, id=p.stem) for p in PAGES if p.stem not in HEAVY])
def test_every_example_of_a_page_runs(
    page: Path, monkeypatch: pytest.MonkeyPatch, services: Callable[[str], str], opened: list[int]
) -> None:
    run_page(page, monkeypatch, services, opened)


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")  # of trackers' own parts, and of LanceDB's
@pytest.mark.usefixtures("models", "small_world")
@pytest.mark.parametrize("page", [pytest.param(p, id=p.stem) for p in PAGES if p.stem in HEAVY])
def test_every_example_of_a_page_that_asks_models_runs(
    page: Path, monkeypatch: pytest.MonkeyPatch, services: Callable[[str], str], opened: list[int]
) -> None:
    run_page(page, monkeypatch, services, opened)


def test_examples_that_no_test_runs_are_these() -> None:
    """Each for one reason; a new example either runs or is counted here."""
    examples = [c for page in PAGES for c in commands(page)]
    found = Counter(reason for c in examples if (reason := needed(c)) is not None and reason not in INSTALLED)
    assert found == {
        "Gemma's weights (253 MB, under terms of their own)": 1,
        "alt-profanity-check, which no test installs": 1,
        "a Ray cluster: tests/engine and tests/knowledge run one": 5,
        "another program than Richter": 14,
    }
