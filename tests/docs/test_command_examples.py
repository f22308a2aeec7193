"""Every command example of the documentation runs from a clean folder, in the order of its page."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from richter.cli import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
FINE = (0, 3, 4)  # a requirement may be violated or undecided
# what an example needs that no test may have; such examples are counted, and only their words are checked
NEEDS = {
    "a hosted model's key": re.compile(r"\b(openai|anthropic)/|--model A\b"),
    "weights of a local model": re.compile(r"smollm2|gemma|\brichter demo\b|--scorer (nll|toxicity)"),
    "a server, a cluster or a store": re.compile(r"postgresql://|ray://|--engine ray|s3://"),
    "a dump of Wikipedia, or documents of your own": re.compile(r"enwiki|wiki\.kb|handbook|questions\.jsonl|mine\.kb"),
    "a table of your own": re.compile(r"\bmine\.csv\b"),
    "a run that asked models": re.compile(
        r"--billed|calibration run1\b|(severity|gate) next\b|richter search (show|export|label|retest)|one/key-labels"
    ),
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


PAGES = [p for p in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"] if commands(p)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_every_example_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    failed = []
    for command in commands(page):
        if needed(command) is not None:
            continue
        words = shlex.split(command, comments=True)
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
            continue
        with pytest.raises(SystemExit) as stop:
            main(words[1:])
        if int(stop.value.code or 0) not in FINE:
            failed.append(command)
    assert not failed


def test_most_examples_run() -> None:
    """What cannot be run here is a minority, and all of it asks models or needs a service."""
    examples = [c for page in PAGES for c in commands(page) if c.startswith("richter ")]
    assert sum(needed(command) is None for command in examples) > len(examples) / 2
