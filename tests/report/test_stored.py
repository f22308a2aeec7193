"""Five stored results documents of different kinds, written by the commands; their first screens answer six questions.

`demo` is a quick demo of the built-in model at two temperatures, `prompts` the example of the documentation, `ratings`
a table of scores from 1 to 5, `board` and `pair` are simulated and say so.
"""

import gzip
import html
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from richter.cli._main import _root
from richter.errors import InputError
from richter.report import render_report

STORED = Path(__file__).parent / "stored"
TERMS = ("By how much", "Reason to doubt", "Severe errors", "Confidence", "Inconclusive", "Most often wrong")
# figures of each document, read off it by hand, that the answer to a question must hold
FIGURES: dict[str, dict[str, tuple[str, ...]]] = {
    "demo": {
        "heading": ("8.3% against 20.0%",),
        "Severe errors": ("35.0% (95% CI 24.2% to 47.6%)", "46.7%"),
        "calibration": ("36 points", "56% sure"),
        "Inconclusive": ("Rate of severe errors",),
        "Next": ("454",),
    },
    "prompts": {
        "By how much": ("examples leads plain: +5.6 points (98.3% CI +1.2 to +10.1)",),
        "Inconclusive": ("examples and expert",),
    },
    "ratings": {"heading": ("on a scale of 1 to 5",), "Next": ("richter import",)},
    "board": {
        "By how much": ("simulated 01 leads simulated 05, the closest one it beats: +",),
        "Severe errors": ("(at most 0.499%) for simulated 04; 1.7% (95% CI 0.9% to 3.0%) for simulated 06",),
        "calibration": ("5 of 6", "simulated 06 (76% sure on average, right in 71%)"),
        "Inconclusive": ("Accuracy (11 pairs)", "calibration error (21 pairs)"),
        "Next": ("8,423",),
    },
    "pair": {
        "heading": ("-8.6 to +7.3",),
        "Severe errors": ("none seen in 150 questions (at most 1.98%) for simulated 01",),
        "calibration": ("35.3 points (59% sure", "in 70% of the 30 questions"),
        "Next": ("4,428",),
    },
}


def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((STORED / f"{name}.json.gz").read_bytes()))
    return found


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", page)))


def answers_of(page: str) -> dict[str, str]:
    """The heading, the answers under it, the next step, and the words over each section, as text."""
    first = page[page.index('<section id="verdict"') : page.index('<section id="evidence"')]
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", first, re.S)
    step = re.search(r'<p class="step">(.*?)</p>', first, re.S)
    rows = dict(re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", first, re.S))
    leads = re.findall(r'<section id="(\w+)" class="figured".*?<p class="lead">(.*?)</p>', page, re.S)
    assert heading is not None
    assert step is not None
    assert list(rows) == [term for term in TERMS if term in rows]
    found = {"heading": heading[1], **rows, "Next": step[1], **dict(leads)}
    return {term: text_of(t) for term, t in found.items()}


@pytest.mark.parametrize("name", FIGURES)
def test_questions_are_answered_with_their_figures_by_hand(name: str) -> None:
    found = answers_of(render_report(stored(name), None))
    for term, figures in FIGURES[name].items():
        for figure in figures:
            assert figure in found[term]


def test_the_command_draws_a_stored_document(tmp_path: Path) -> None:
    """`richter report results.json` is a page without answers; a document that cannot be drawn is refused."""
    (tmp_path / "results.json").write_text(json.dumps(stored("ratings")), encoding="utf-8")
    call = CliRunner().invoke
    done = call(_root, ["report", str(tmp_path / "results.json"), "-o", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    assert "prompt-b is better than prompt-a" in done.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "holds no answers" in page
    assert "See the answers" not in page
    (tmp_path / "broken.json").write_text('{"schema": "richter/results", "claims": "none"}', encoding="utf-8")
    done = call(_root, ["report", str(tmp_path / "broken.json"), "-o", str(tmp_path / "other.html")])
    assert isinstance(done.exception, InputError)
    assert "cannot be drawn" in str(done.exception)


def test_a_document_with_less_in_it_is_a_page_that_reads() -> None:
    """Without any one of its parts every question still has an answer."""
    whole = stored("ratings")
    for key in whole:
        assert all(answers_of(render_report({k: v for k, v in whole.items() if k != key}, None)).values())
    for key in whole["sections"]:
        failed = {"missing": {"reason": "It failed to compute.", "remedy": "richter doctor"}}
        page = render_report({**whole, "sections": {**whole["sections"], key: failed}}, None)
        assert "It failed to compute." in text_of(page)


def test_missing_values_anywhere_leave_a_page() -> None:
    """Any value of the parts that the first screen reads may be null."""
    rng = random.Random(8)

    def holes(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: None if rng.random() < 0.06 else holes(v) for k, v in value.items()}
        return [holes(v) for v in value] if isinstance(value, list) else value

    for name in ("demo", "ratings"):
        whole = {**stored(name), "sections": {}}
        for _ in range(10):
            assert all(answers_of(render_report({**holes(whole), "sections": {}}, None)).values())
    assert all(answers_of(render_report(holes(stored("demo")), None)).values())  # figures too
