"""The comment of a gate: what it says is what the gate found, and what models wrote stays text."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from markdown_it import MarkdownIt

from report.simulated_report import HOSTILE
from richter.cli import main
from richter.records import Claim, Interval, Verdict
from richter.report._markdown import interval_bar
from richter.stats import clopper_pearson, wilson


def gate(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["gate", *arguments])
    return int(stop.value.code or 0)


def table(path: Path, answers: list[str], right: list[bool]) -> Path:
    n = range(len(answers))
    columns = {"item": [f"q{k}" for k in n], "prompt": [f"Question {k}? <i>" for k in n], "answer": answers}
    pl.DataFrame(columns | {"correct": [int(r) for r in right]}).write_csv(path)
    return path


def bar(low: float, estimate: float, high: float, better: str) -> str:
    return interval_bar(
        Claim(
            measure="accuracy",
            conditions=("old", "new"),
            verdict=Verdict.UNDECIDED,
            sentence="x.",
            estimate=estimate,
            interval=Interval(low=low, high=high, level=0.95, method="by hand"),
            better=better,  # type: ignore[arg-type]
        ),
        width=9,
    )


def test_the_bar_stands_on_the_side_that_is_better_by_hand() -> None:
    assert bar(0.25, 0.5, 1.0, "higher") == "····│━●━━"
    assert bar(0.25, 0.5, 1.0, "lower") == "━━●━│····"
    assert bar(-1.0, 0.0, 1.0, "higher") == "━━━━●━━━━"


def test_broken_and_fixed_items_with_both_answers_by_hand(tmp_path: Path) -> None:
    """Of 200 items new breaks 0 to 29 and fixes 190 to 195; five of each are shown, with both answers."""
    n = 200
    old = table(tmp_path / "old.csv", [f"old says {k}" for k in range(n)], [k < 190 for k in range(n)])
    new = table(tmp_path / "new.csv", [f"new says {k}" for k in range(n)], [30 <= k < 196 for k in range(n)])
    comment = tmp_path / "c.md"
    code = gate(
        f"old={old}", f"new={new}", "--margin", "2pt", "--md", str(comment), "--page", "https://x.example/p?q=1"
    )
    text = comment.read_text()
    assert code == 3
    assert text.startswith("## ❌ FAIL: new ")
    assert "Broken: 30 questions, 5 of them" in text
    assert "Fixed: 6 questions, 5 of them" in text
    assert "| old says 0 | new says 0 |" in text
    assert text.count("old says") == 10
    assert "(<https://x.example/p?q=1>)" in text


def test_what_models_wrote_is_inert(tmp_path: Path) -> None:
    answers = [text[:400].replace("\0", "") for text in HOSTILE.values()] * 3
    old = table(tmp_path / "old.csv", ["fine"] * len(answers), [True] * len(answers))
    new = table(tmp_path / "new.csv", answers, [False] * len(answers))
    comment = tmp_path / "c.md"
    gate(f"old={old}", f"new={new}", "--margin", "2pt", "--md", str(comment))
    text = comment.read_text()
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    allowed = page
    for tag in (
        "details",
        "summary",
        "sub",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "h2",
        "code",
        "p",
        "ul",
        "li",
        "strong",
    ):
        allowed = allowed.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    assert "<" not in allowed


def test_a_baseline_is_a_file_or_a_results_document_by_hand(tmp_path: Path) -> None:
    """Paired with the file; with the document two independent rates, by Newcombe's formula written out here."""
    old = "\n".join(["item,correct", *(f"q{k},{int(k % 10 < 8)}" for k in range(400))])
    new = "\n".join(["item,correct", *(f"q{k},{int(k % 10 < 7)}" for k in range(400))])
    for name, text in (("old", old), ("new", new)):
        (tmp_path / f"{name}.csv").write_text(text + "\n")

    def run(*arguments: object) -> int:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        return int(stop.value.code or 0)

    stated, out = tmp_path / "results.json", tmp_path / "gate.json"
    assert run("report", tmp_path / "old.csv", "--json", stated) == 0
    gate = ("gate", f"new={tmp_path / 'new.csv'}", "--margin", "2pt", "--json", out)
    assert run(*gate, "--baseline", tmp_path / "old.csv") == 3
    paired = json.loads(out.read_text())["claims"][0]
    assert paired["estimate"] == pytest.approx(-0.1)
    assert paired["n"] == 400
    assert run(*gate, "--baseline", stated) == 3
    claim = json.loads(out.read_text())["claims"][0]
    level = claim["interval"]["level"]
    one, two = wilson(320, 400, level=level), clopper_pearson(280, 400, level=level)
    assert claim["interval"]["low"] == pytest.approx(-0.1 - np.hypot(0.7 - two.low, one.high - 0.8))
    assert claim["interval"]["high"] == pytest.approx(-0.1 + np.hypot(two.high - 0.7, 0.8 - one.low))
    assert paired["interval"]["high"] - paired["interval"]["low"] < claim["interval"]["high"] - claim["interval"]["low"]
    assert run("gate", f"new={tmp_path / 'old.csv'}", "--margin", "2pt", "--baseline", stated) == 4  # too wide to pass
    lost = "\n".join(["item,correct", *(f"q{k},{1 if k % 10 < 7 else 0 if k < 10 else ''}" for k in range(400))])
    (tmp_path / "new.csv").write_text(lost + "\n")  # 280 right, 3 wrong, 117 without a grade: 70% at the worse end
    assert run(*gate, "--baseline", stated) == 4
    assert run(*gate, "--baseline", stated, "--missing", "at-random") == 0
