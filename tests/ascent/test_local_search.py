"""The built-in model, really searched, asked again and crossed: by cloze and by chat."""

import json
from pathlib import Path

import pytest

from helpers.local_model import need_smollm2
from richter.cli import main

pytestmark = [pytest.mark.local_model, pytest.mark.slow, pytest.mark.xdist_group("local_model")]

CAPITALS = {
    "France": "Paris",
    "Japan": "Tokyo",
    "Peru": "Lima",
    "Ghana": "Accra",
    "Palau": "Ngerulmud",
    "Bhutan": "Thimphu",
    "Tuvalu": "Funafuti",
    "Lesotho": "Maseru",
}


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    assert stop.value.code == 0


def test_search_retest_and_cross_the_built_in_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need_smollm2("wordllama")
    rows = [
        {
            "title": "Capitals",
            "text": f"The capital of {country} is {city}.",
            "qas": [{"q": f"What is the capital of {country}?", "a": [city]}],
        }
        for country, city in CAPITALS.items()
    ]
    source = tmp_path / "capitals.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("search", "--only", "base", source, "-o", tmp_path / "kb")
    options = ["--kb", tmp_path / "kb", "--budget", "80calls", "--questions", "1", "--phrasings", "1", "--batch", "4"]
    for style in ("cloze", "chat"):
        run("search", tmp_path / style, "--model", "smollm2", "--style", style, "--max-tokens", "12", *options)
    found = {}
    for style in ("cloze", "chat"):
        run("search", "show", tmp_path / style, "--json", tmp_path / "show.json")
        found[style] = json.loads((tmp_path / "show.json").read_text())
        aside = sum(found[style][what] for what in ("refused", "truncated", "empty"))
        assert found[style]["answers"] + aside == 8  # the whole base
        again = found[style]["spent"]["calls"] - 8
        assert again == 0 if style == "cloze" else again >= 0  # once each, but for answers that were cut off
        assert found[style]["spent"]["tokens"] > 0
    both = [tmp_path / name for name in ("both", "cloze", "chat")]
    run("search", "--only", "retest", "--kind", "cross", *both, "--budget", "20calls")
    assert "Accuracy of each model" in capsys.readouterr().out
    wrong = max(found, key=lambda style: found[style]["errors_found"])
    if found[wrong]["errors_found"]:  # a small model does not know the capital of Tuvalu, but it is not told to fail
        arguments = ["--kind", "context", "--budget", "8calls", "--json", tmp_path / "again.json"]
        run("search", "--only", "retest", tmp_path / "again", tmp_path / wrong, *arguments)
        again = json.loads((tmp_path / "again.json").read_text())
        assert again["n"] == found[wrong]["errors_found"]
