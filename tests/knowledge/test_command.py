import json
import shlex

import pytest

from richter.cli import main


def call(*args):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in args])
    return stop.value.code


def test_ingest_then_show(tmp_path, capsys):
    pytest.importorskip("wordllama")
    (tmp_path / "notes").mkdir()
    cats = "Cats sleep in the afternoon, and at night they walk over the roofs of the town. " * 4
    (tmp_path / "notes" / "cats.txt").write_text(f"{cats}\n\nCats purr.\n")
    (tmp_path / "notes" / "copy.txt").write_text(f"{cats.upper()}\n\nCATS purr.\n")
    assert call("search", "--only", "base", tmp_path / "notes", "-o", tmp_path / "my kb", "--json", "-") == 0
    made = capsys.readouterr()
    found = json.loads(made.out)
    assert (found["paragraphs"], found["duplicates"], found["askable"]) == (1, 1, 0)
    advised = shlex.split(made.err.partition("Next: ")[2])
    assert advised[:5] == ["richter", "search", "--only", "questions", str(tmp_path / "my kb")]
    assert call("search", "--only", "base", tmp_path / "my kb") == 0
    text = capsys.readouterr().out
    assert "1 paragraphs of 1 documents in 1 categories" in text
    assert "Cats sleep" in text


def test_what_cannot_be_read_is_one_line_and_exit_1(tmp_path, capsys):
    assert call("search", "--only", "base", tmp_path / "nothing") == 1
    assert call("search", "--only", "base", tmp_path / "nothing.jsonl", "-o", tmp_path / "kb") == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2
    assert "not a knowledge base" in errors[0]
    assert "does not exist" in errors[1]


def test_search_says_what_it_would_ask_and_refuses_an_unaskable_base(tmp_path, capsys):
    pytest.importorskip("wordllama")
    (tmp_path / "a.jsonl").write_text('{"text": "A fact."}\n')
    assert call("search", "--only", "base", tmp_path / "a.jsonl", "-o", tmp_path / "kb") == 0
    options = ("--model", "smollm2", "--kb", tmp_path / "kb", "--budget", "100calls")
    assert call("search", tmp_path / "run", *options, "--dry-run", "--generator", "smollm2") == 0
    # one question in three wordings and without its subject, written, checked and reworded: 1 + 1 + 1 to 4 + 1 + 1 + 1
    assert "about 1 to 1 of 1 paragraphs, 3 to 6 calls each" in capsys.readouterr().out
    assert call("search", tmp_path / "run", *options) == 1
    assert "no paragraph with a question" in capsys.readouterr().err
