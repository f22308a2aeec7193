"""Every command on the page about the papers runs as it is written, from one folder.

Hosted models are played by a simulated endpoint on loopback. The tables are simulated, and small.
"""

import dataclasses
import importlib
import json
import os
import random
import re
import shlex
import signal
import threading
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from helpers.document_world import SimulatedWorld, write_documents, year_of
from richter.audit import check_plan
from richter.cli import main
from richter.models import PROVIDERS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "validation" / "papers.md"
COMMANDS = dict.fromkeys(re.findall(r"`((?:richter|python) [^`]+)`", PAGE.read_text("utf-8")))
# what other rows' commands need
FIRST = ("richter plan", "richter search --only base", "richter search --only questions")
OURS = sorted(
    (line for line in COMMANDS if line.startswith("richter ") and len(line.split()) > 2),
    key=lambda line: not line.startswith(FIRST),
)
SCRIPTS = [line for line in COMMANDS if line.startswith("python papers/") and "reproduction.py" not in line]
ELSEWHERE = "richter bench facts"  # its sources take half a minute to read: the examples of its own page run it
FINE = (0, 3, 4)  # a requirement may be violated or undecided


class Models(SimulatedWorld):
    """Every hosted model, by what it is asked: it chooses, answers, writes, groups, judges, or reads a given text."""

    def _play(self, prompt: str) -> str:
        asked = " ".join(m["content"] for m in self.bodies[-1].get("messages", []))
        town = re.search(r"mill of (Town\d+)", prompt)
        if '"severity"' in asked:
            return self._judge(prompt, "simulated-judge")
        if "each once more in other words" in asked or '"given_away"' in asked:
            return self._write(re.sub(r"Write \d+ questions", "Write 1 questions", prompt))
        if town and re.search(r"(?m)^A\. \d{4}", prompt):
            return self._choose(prompt, "simulated-weak")
        if town:
            right = self._chance.random() < 0.6
            return f"{year_of(town[1]) + (0 if right else 7)}\nConfidence: {60 + 30 * right}%"
        return "Answer: A"


def write_tables(folder: Path) -> None:
    """What the commands read: severities, grades, draws, questions and documents, all simulated."""
    rng = random.Random(1)
    names = ("llama-3.2-3b-instruct", "llama-3.1-8b-instruct", "gemma-3-4b")
    shares = {name: k for k, name in enumerate(names)}
    rows = []
    for k in range(400):
        for name in names:
            wrong = rng.random() < 0.5
            level = min(4.0, 0.5 + 0.5 * int(rng.expovariate(0.4 + 0.2 * shares[name]))) * wrong
            one = min(4.0, max(0.0, level + rng.choice((-0.5, 0.0, 0.5)) * wrong))
            spot = {"domain": f"d{k % 4}", "tier": 1 + k % 5}
            rows.append(
                {"item": f"q{k}", "condition": name, "severity": level, "judge_1": level, "judge_2": one, **spot}
            )
    pl.DataFrame(rows).write_csv(folder / "scores.csv")
    pl.DataFrame(rows).write_csv(folder / "errorquake_4k_judge_scores.csv")
    pl.DataFrame({"condition": names, "active_params": [3.2, 8.0, 4.0]}).write_csv(folder / "models.csv")
    mqm = [{"item": k, "condition": name, "score": -rng.expovariate(1.0)} for k in range(300) for name in "ab"]
    pl.DataFrame(mqm).write_csv(folder / "mqm.csv")
    grades = []
    for k in range(300):
        for name in "ab":
            sure = rng.uniform(0.3, 1.0)
            right = int(rng.random() < sure - 0.1)
            grades.append({"item": k, "condition": name, "correct": right, "confidence": sure, "group": f"g{k % 60}"})
    pl.DataFrame(grades).write_csv(folder / "grades.csv")
    stages = [
        {"item": k, "condition": "two stages"}
        | {
            f"{what}_{n}": v
            for n in (1, 2)
            for what, v in (("correct", int(rng.random() < 0.7)), ("confidence", rng.random()))
        }
        for k in range(300)
    ]
    pl.DataFrame(stages).write_csv(folder / "stages.csv")
    pool = [{"item": k, "condition": "a", "confidence": rng.random(), "correct": None} for k in range(400)]
    pl.DataFrame(pool).write_csv(folder / "pool.csv")
    draws = [
        {"item": k, "condition": "m", "draw": d, "answer": rng.choice(("Rome", "Oslo", "Bern")), "reference": "Rome"}
        for k in range(40)
        for d in range(10)
    ]
    pl.DataFrame(draws).write_ndjson(folder / "draws.jsonl")
    toxic = [{"item": k, "condition": name, "toxicity": rng.betavariate(1, 9)} for k in range(300) for name in "ab"]
    pl.DataFrame(toxic).write_csv(folder / "toxicity.csv")
    kinds = ("retrieval", "reasoning", "fabrication")
    rated = [
        {"item": row["item"], "condition": row["condition"], "rater": "r", "kind": "human", "severity": row["severity"]}
        | {"mechanism": rng.choice(kinds) if row["severity"] else ""}
        for row in rows
    ]
    pl.DataFrame(rated).write_csv(folder / "ratings.csv")
    (folder / "published.csv").write_text("benchmark,model,score,n\nMMLU,A,0.864,14042\nMMLU,B,0.868,14042\n")
    (folder / "words.json").write_text(json.dumps({"bias": -2.0, "weights": {"60": 0.5, "confidence": 0.7}}))
    towns = [f"Town{k}" for k in range(12)]
    items = {
        "id": [f"i{k}" for k in range(12)],
        "question": [f"In which year was the mill of {town} built?" for town in towns],
        "reference": [str(year_of(town)) for town in towns],
        "domain": [f"county {k % 4}" for k in range(12)],
        "tier": [1 + k % 5 for k in range(12)],
    }
    pl.DataFrame(items).write_csv(folder / "items.csv")
    write_documents(folder / "handbook", 24)


def status_of(words: list[str]) -> int:
    with pytest.raises(SystemExit) as stop:
        main(words)
    return stop.value.code if isinstance(stop.value.code, int) else bool(stop.value.code)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    with Models() as api:
        for name, provider in PROVIDERS.items():
            monkeypatch.setitem(PROVIDERS, name, dataclasses.replace(provider, url=api.url, url_variable=""))
            if provider.key is not None:
                monkeypatch.setenv(provider.key, "simulated")
        yield api


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local page that a command opens is fetched once, and Ctrl-C ends the command."""

    def fetch(address: str) -> None:
        try:
            urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(address, timeout=60).close()
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(webbrowser, "open", lambda address: threading.Thread(target=fetch, args=(address,)).start())


GROUPS = {"search": "search", "models": "audit label bench", "tables": "plan severity calibration size compare export"}


@pytest.mark.audit
@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.usefixtures("world", "opened")
@pytest.mark.parametrize("group", GROUPS)
def test_every_command_runs_as_written(group: str, capfd: pytest.CaptureFixture[str]) -> None:
    asked = ["audit", "--only", "ask", "run1", "--bench", "items.csv", "--model", "openai/gpt-4o-mini"]
    assert status_of(asked) == 0
    failed = {}
    for line in OURS:
        if line.split()[1] in GROUPS[group].split() and not line.startswith(ELSEWHERE):
            capfd.readouterr()
            if (status := status_of(shlex.split(line)[1:])) not in FINE:
                failed[line] = f"{status}: {capfd.readouterr().err[-300:]}"
    assert not failed, json.dumps(failed, indent=1)
    if group == "tables":
        assert check_plan("plan.toml").state == "locked"
        assert check_plan("plan.toml").uses == 1


def test_every_command_is_in_a_group() -> None:
    assert {line.split()[1] for line in OURS} <= set(" ".join(GROUPS.values()).split())


@pytest.mark.audit
@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("line", SCRIPTS)
def test_every_script_runs_as_written(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    _, script, *words = shlex.split(line)
    importlib.import_module(Path(script).stem).main(words)


def test_scripts_on_the_pages_are_there() -> None:
    pages = [page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md")]
    scripts = {name for text in pages for name in re.findall(r"(?<!tests/)\b(?:papers|studies)/\w+\.py", text)}
    assert scripts
    assert [name for name in scripts if not (ROOT / name).exists()] == []
