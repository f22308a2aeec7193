"""The packed errors: complete, gravest first, cut where they must be, and never made of unseen characters."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from report.simulated_report import HOSTILE, NAMES, build_run
from richter.errors import InputError
from richter.report import read_evidence
from richter.report._evidence import WHOLE
from richter.tables import ReadOptions, read_tables


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_run(tmp_path_factory.mktemp("run"))


def unpacked(packed: str) -> dict[str, Any]:
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_every_error_is_there_by_hand(run: Path) -> None:
    evidence = read_evidence(run)
    table = unpacked(evidence.packed)
    wrong = {(c, k) for c in range(3) for k in range(40) if (k + c) % 3 == 0} | {(0, k) for k in range(len(HOSTILE))}
    ids = table["ids"]
    found = {(c, int(ids[i][5:])) for c, i in zip(table["wrong"]["condition"], table["wrong"]["item"], strict=True)}
    assert found == wrong
    assert (evidence.errors, evidence.shown, evidence.kind, evidence.cut) == (len(wrong), len(wrong), "rule", 200)
    assert table["wrong"]["severity"] == sorted(table["wrong"]["severity"], reverse=True)
    for c in range(3):  # right and wrong of every kept item, so that fixed and broken can be told
        expected = "".join("w" if (c, int(i[5:])) in wrong else "r" for i in ids)
        assert table["state"][c] == expected


def test_kinds_never_mix(run: Path) -> None:
    by_judge = read_evidence(read_tables(run, options=ReadOptions(ratings="judge")))
    table = unpacked(by_judge.packed)
    assert by_judge.kind == "judge"
    assert by_judge.errors == 30  # the simulated judge calls every answer it saw wrong: ten a condition
    assert set("".join(table["state"])) == {"w"}


def test_text_is_cut_and_made_visible(run: Path) -> None:
    table = unpacked(read_evidence(run).packed)
    first = {table["ids"][i]: k for k, i in reversed(list(enumerate(table["wrong"]["item"])))}
    names = list(HOSTILE)

    def answer(name: str) -> str:
        return table["wrong"]["answer"][first[f"item-{names.index(name):03d}"]]

    assert len(answer("line")) == WHOLE
    assert table["wrong"]["length"][first[f"item-{names.index('line'):03d}"]] == 1_000_000
    assert answer("bidi") == r"safe \u202egnp.exe\u202c \u2066x\u2069 \u200b\u2028end"
    assert answer("null") == r"before\x00after\x1b[31m red \x07"
    assert answer("quotes") == HOSTILE["quotes"]


def test_too_much_is_cut_and_said(run: Path) -> None:
    whole = read_evidence(run)
    small = read_evidence(run, most_bytes=2_000)
    assert len(small.packed) <= 2_000
    assert small.shown < small.errors == whole.errors
    assert small.cut < whole.cut
    table = unpacked(small.packed)
    severities = unpacked(whole.packed)["wrong"]["severity"]
    assert table["wrong"]["severity"] == severities[: small.shown]  # the mildest went first


def test_nothing_rated_and_no_run(tmp_path: Path) -> None:
    from richter.records import Condition
    from richter.store import open_ledger

    with open_ledger(tmp_path / "empty", mode="write") as ledger:
        ledger.add_conditions([Condition(name=NAMES[0], model="simulated")])
    assert read_evidence(tmp_path / "empty").kind is None
    with pytest.raises(InputError, match="not a run"):
        read_evidence(tmp_path / "none")
