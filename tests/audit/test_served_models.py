"""A server that changes the model within a run: every claim on the run says so, on every surface."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import richter
from helpers.raw_server import RawApi, http, reply
from richter.cli import main

NOTE = "answered as several models: small-1, small-2"
NUMBER = re.compile(r"question (\d+)")


def respond(prompt: str, body: dict) -> bytes:
    """Right in four of five; from the fortieth question on another model answers."""
    found = NUMBER.search(prompt)
    number = int(found[1]) if found else 0
    text = f"right {number}" if number % 5 else "something else"
    said = {**json.loads(reply(text)), "model": "small-1" if number < 40 else "small-2"}
    return http(json.dumps(said).encode())


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    return int(ended.value.code or 0)


def claims_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if {"measure", "verdict", "notes"} <= value.keys():
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from claims_in(part)


def test_another_model_within_a_run_is_a_note_on_every_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "qa.csv").write_text("question,answer\n" + "".join(f"question {n},right {n}\n" for n in range(60)))
    runs = {}
    with RawApi(respond) as api:
        for name, system in (("old", "Be brief."), ("new", "Be exact.")):
            runs[name] = tmp_path / name
            options = ["--bench", "qa.csv", "--model", api.model, "--system", system, "--draws", "0"]
            assert call("audit", runs[name], *options, "--json", f"{name}.json") == 0
            assert "several models: small-1, small-2" in capsys.readouterr().err
            assert NOTE in Path(f"{name}.json").read_text()  # one condition makes no claim: the run says it
    both = [f"{name}={place}" for name, place in runs.items()]
    assert call("compare", *both, "--json", "c.json", "--md", "c.md") in (0, 4)
    assert NOTE in capsys.readouterr().out
    assert call("gate", *both, "--margin", "20pt", "--json", "g.json") in (0, 3, 4)
    capsys.readouterr()
    assert call("report", runs["old"], "--force", "-o", "page.html") == 0
    for path in ("c.json", "g.json"):
        found = [*claims_in(json.loads(Path(path).read_text()))]
        assert found
        assert all(any(NOTE in note for note in c["notes"]) for c in found), path
    assert NOTE in html.unescape(re.sub(r"<[^>]+>", " ", Path("page.html").read_text()))
    assert NOTE in html.unescape(Path("c.md").read_text().replace("\\", ""))
    compared = richter.open(*both).compare()
    assert all(any(NOTE in note for note in claim.notes) for claim in compared.claims)
