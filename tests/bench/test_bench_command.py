"""`richter bench`: what people see."""

import json
from pathlib import Path

import pytest

from richter.cli import main
from richter.records import Item
from richter_audit.bench import write_items


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_show_counts_and_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [
        Item(id=str(k), prompt=f"Question {k}?", reference="yes", domain="cities", tier=1 + k % 2, form="plain")
        for k in range(5)
    ]
    write_items(items, tmp_path / "i.jsonl")
    code, out, _ = run(capsys, "bench", str(tmp_path / "i.jsonl"))
    assert code == 0
    assert out.startswith("5 items in 1 domain; 0 with options; 5 plain.")
    assert "[cities, tier 1, plain] Question 0? -> yes" in out
    code, out, _ = run(capsys, "bench", str(tmp_path / "i.jsonl"), "--json", "-")
    assert json.loads(out)["cells"] == [
        {"domain": "cities", "tier": 1, "items": 3},
        {"domain": "cities", "tier": 2, "items": 2},
    ]


def test_show_says_what_is_wrong_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "prompt": "", "reference": "r"}\n')
    code, out, err = run(capsys, "bench", str(tmp_path / "bad.jsonl"))
    assert code == 1
    assert out == ""
    assert err.count("\n") == 1
    assert "line 1, field prompt: empty" in err


def test_build_refuses_no_items(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "bench", "facts", "--items", "0", "-o", str(tmp_path / "f.jsonl"))
    assert code == 1
    assert "--items 0" in err
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_not_there_is_said_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "bench", "facts", "-o", str(tmp_path / "none" / "f.jsonl"))
    assert code == 1
    assert "is not a folder" in err
