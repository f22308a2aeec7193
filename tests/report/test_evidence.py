"""The packed answers: by the stated rule, cut where they must be, and never made of unseen characters."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from report.simulated_report import HOSTILE, NAMES, build_run
from richter.errors import InputError
from richter.report import read_evidence, render_report
from richter.report._side_by_side import CUT, MOST_ITEMS
from richter.tables import ReadOptions, read_tables


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_run(tmp_path_factory.mktemp("run"))


def unpacked(packed: str) -> dict[str, Any]:
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_every_answer_is_there_by_hand(run: Path) -> None:
    evidence = read_evidence(run)
    table = unpacked(evidence.packed)
    wrong = {(c, k) for c in range(3) for k in range(40) if (k + c) % 3 == 0} | {(0, k) for k in range(len(HOSTILE))}
    states = {
        (c, int(row["item"][5:])): cell["state"] for row in table["rows"] for c, cell in enumerate(row["answers"])
    }
    assert states == {(c, k): "wrong" if (c, k) in wrong else "right" for c in range(3) for k in range(40)}
    assert (evidence.items, evidence.shown, evidence.wrong) == (40, 40, len(wrong))
    assert (evidence.kind, evidence.cut) == ("rule", CUT)


def test_at_most_500_items_by_the_rule(monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    whole = unpacked(read_evidence(run).packed)["rows"]
    monkeypatch.setattr("richter.report._side_by_side.MOST_ITEMS", 7)
    few = read_evidence(run)
    assert MOST_ITEMS == 500
    assert (few.items, few.shown) == (40, 7)
    assert unpacked(few.packed)["rows"] == whole[:7]


def test_kinds_never_mix(run: Path) -> None:
    by_judge = read_evidence(read_tables(run, options=ReadOptions(ratings="judge")))
    states = [c["state"] for row in unpacked(by_judge.packed)["rows"] for c in row["answers"]]
    assert by_judge.kind == "judge"
    assert by_judge.wrong == 30  # the simulated judge calls every answer it saw wrong: ten a condition
    assert (states.count("wrong"), states.count("unrated"), states.count("right")) == (30, 90, 0)


def test_raters_who_are_a_step_apart_disagree_by_hand(run: Path) -> None:
    """The judge says 2 of every fourth item; the rules say 4 of hostile answers, 0 of right ones, steps of others."""
    table = unpacked(read_evidence(run).packed)
    for row in table["rows"]:
        k = int(row["item"][5:])
        for c, cell in enumerate(row["answers"]):
            bad = c == 0 and k < len(HOSTILE)
            rules = 4.0 if bad else ((k + c) % 8 + 1) / 2 if (k + c) % 3 == 0 else 0.0
            assert bool(cell.get("disagree")) is (k % 4 == 0 and abs(rules - 2.0) >= 1)


def test_text_is_cut_and_made_visible(run: Path) -> None:
    cells = {row["item"]: row["answers"][0] for row in unpacked(read_evidence(run).packed)["rows"]}
    names = list(HOSTILE)

    def answer(name: str) -> dict[str, Any]:
        return cells[f"item-{names.index(name):03d}"]

    assert len(answer("line")["text"]) == CUT
    assert answer("line")["length"] == 1_000_000
    assert answer("bidi")["text"] == r"safe \u202egnp.exe\u202c \u2066x\u2069 \u200b\u2028end"
    assert answer("null")["text"] == r"before\x00after\x1b[31m red \x07"
    assert answer("quotes")["text"] == HOSTILE["quotes"]


def test_too_much_is_cut_and_said(run: Path) -> None:
    whole, small = read_evidence(run), read_evidence(run, most_bytes=2_000)
    assert len(small.packed) <= 2_000
    assert small.shown < small.items == whole.items
    assert small.cut < whole.cut
    kept = [row["item"] for row in unpacked(small.packed)["rows"]]
    assert kept == [row["item"] for row in unpacked(whole.packed)["rows"]][: small.shown]


def test_redacted_holds_no_text(run: Path) -> None:
    text = json.dumps(unpacked(read_evidence(run, redact=True).packed))
    for said in ("Simulated question", "Reference", "Wrong answer", "reason", "hacked", "simulated judge"):
        assert said not in text
    assert "severity" in text


def test_nothing_rated_and_no_run(tmp_path: Path) -> None:
    from richter.records import Condition
    from richter.store import open_ledger

    with open_ledger(tmp_path / "empty", mode="write") as ledger:
        ledger.add_conditions([Condition(name=NAMES[0], model="simulated")])
    assert read_evidence(tmp_path / "empty").kind is None
    with pytest.raises(InputError, match="not a run"):
        read_evidence(tmp_path / "none")


def test_repeated_answers_count_together_by_hand(tmp_path: Path) -> None:
    """Changes were read off the first of five answers, and 3 of 5 right against 5 of 5 was no change."""
    grades = {("a", "q1"): "11111", ("b", "q1"): "11000", ("a", "q2"): "00000", ("b", "q2"): "01000"}
    grades |= {("a", "q3"): "10101", ("b", "q3"): "01011"}
    lines = [f"{item},{model},{k},{g}" for (model, item), own in grades.items() for k, g in enumerate(own)]
    (tmp_path / "t.csv").write_text("\n".join(["item,model,epoch,correct", *lines]), encoding="utf-8")
    tables = read_tables(tmp_path / "t.csv", options=ReadOptions())
    found = read_evidence(tables, pair=("a", "b"))
    assert (found.repeats, found.moved) == (5, (1, 1, 3))  # q2 more often right, q1 less often
    assert found.wrong == 0 + 3 + 5 + 4 + 2 + 2
    cells = {row["item"]: row["answers"] for row in unpacked(found.packed)["rows"]}
    assert [(c["right"], c["repeats"]) for c in cells["q1"]] == [(5, 5), (2, 5)]
    page = render_report({"conditions": [{"name": "a"}, {"name": "b"}]}, tables)
    assert "1 more often right" in page
    assert "up to 5 answers per question" in page
    assert read_evidence(tables).moved is None


def test_a_cut_page_keeps_what_changed_in_its_pair_and_says_of_how_many_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of 500 questions said "all 500" of 600, and left out changes of the pair for those of other models."""
    grades = {"q1": (0, 0, 1), "q2": (0, 1, 1), "q3": (1, 1, 0), "q4": (1, 0, 0)}
    lines = [f"{item},{model},{g}" for item, own in grades.items() for model, g in zip("abc", own, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["item,model,correct", *lines]), encoding="utf-8")
    tables = read_tables(tmp_path / "t.csv", options=ReadOptions())
    monkeypatch.setattr("richter.report._side_by_side.MOST_ITEMS", 2)
    found = read_evidence(tables, pair=("a", "b"))
    table = unpacked(found.packed)
    assert {row["item"] for row in table["rows"]} == {"q2", "q4"}
    assert (table["n_items"], found.moved) == (4, (1, 1, 4))
