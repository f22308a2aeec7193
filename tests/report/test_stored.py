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
TERMS = ("By how much, at least", "How often severe", "Does it know when it is wrong", "Not proven", "What next")
# the answers, read off the figures of each document by hand: which is better, then one for each of the terms
ANSWERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "demo": (
        ("smollm2 t=1 is worse than smollm2 in some ways and better in others", "less accurate (8.3% against 20.0%)"),
        (
            "less accurate by at least 2.35 points",
            "by at least 0.0096 on a scale of 0 to 4",
            "calibrated by at least 10.0",
        ),
        ("smollm2: 35.0% of its answers [24.2%, 47.6%]", "smollm2 t=1: 46.7% of its answers", "Severe is 3 or more"),
        ("smollm2: seems over-confident by about 36 points, not tested (56% sure", "smollm2 t=1: cannot be said"),
        ("catastrophic rate", "mean severity of errors", "The easiest of them takes 510 items in all."),
        ("Label 454 more items", "3 more steps are listed below"),
    ),
    "prompts": (
        ("By accuracy examples and expert are the best of 3; among them no difference is shown.",),
        (
            "examples is more accurate than plain by at least 1.2 points",
            "expert is more accurate than plain by at least",
        ),
        ("Not measured. Answers are graded, not weighed",),
        ("Not measured. No answer was drawn repeatedly.",),
        ("Undecided: accuracy of examples and expert.",),
        ("Decide which difference in accuracy matters to you", "one of 2.0 points would likely have been seen"),
    ),
    "ratings": (
        ("prompt-b is better than prompt-a: it is better scored (3.92 against 3.33 on a scale of 1 to 5).",),
        ("prompt-b is better scored by at least 0.256 on a scale of 1 to 5.",),
        ("Not measured.",),
        ("Not measured. No answer is graded right or wrong",),
        ("Every claim that was made is settled.",),
        ("To learn how bad the errors are: richter import", "5 more steps are listed below"),
    ),
    "board": (
        ("simulated 01, simulated 02, simulated 03 and simulated 04 are the best of 6; among them no difference",),
        ("simulated 01 is more accurate than simulated 05 by at least 1.4 points",),
        ("From none seen, at most 0.499% (simulated 04) to 1.7% (simulated 06) of the answers",),
        ("Seems off in both directions: 5 of 6, the farthest off simulated 06 (76% sure on average, right in 71%)",),
        ("accuracy (11 claims)", "calibration error (21 claims)", "The easiest of them takes 7,279 items in all."),
        ("Label 8,423 more items to show a difference of 2.0 points in accuracy for 11 of 15 pairs.",),
    ),
    "pair": (
        ("These data do not show whether simulated 02 is better than simulated 01",),
        ("No difference was shown; the accuracy may differ by -8.6 to +7.3 points.",),
        ("simulated 01: none seen in 150 items, at most 1.98%",),
        (
            "simulated 01: cannot be said, off by anything up to 36 points (59% sure",
            "in 70% of the 30 items that",
        ),
        ("accuracy", "The easiest of them takes 4,578 items in all."),
        ("Label 4,428 more items to show a difference of 2.0 points in accuracy.",),
    ),
}


def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((STORED / f"{name}.json.gz").read_bytes()))
    return found


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", page)))


def six(page: str) -> list[str]:
    """The heading and the five answers under it, as text."""
    first = page[page.index('<section id="verdict"') : page.index('<section id="evidence"')]
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", first, re.S)
    rows = re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", first, re.S)
    assert heading is not None
    assert [term for term, _ in rows] == list(TERMS)
    return [text_of(t) for t in (heading[1], *(answer for _, answer in rows))]


@pytest.mark.parametrize("name", ANSWERS)
def test_six_questions_are_answered_by_text_by_hand(name: str) -> None:
    for found, wanted in zip(six(render_report(stored(name), None)), ANSWERS[name], strict=True):
        for text in wanted:
            assert text in found


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


def test_an_older_document_with_less_in_it_is_a_page_that_reads() -> None:
    """Without what later versions brought, and without any one of its parts, every question still has an answer."""
    newer = ("sure", "right", "scale", "family", "min_detectable_difference", "needed_for", "side", "primary")

    def older(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: older(v) for k, v in value.items() if k not in newer}
        return [older(v) for v in value] if isinstance(value, list) else value

    found = six(render_report({**older(stored("demo")), "version": 1}, None))
    assert all(len(text) > 5 for text in found)
    whole = stored("ratings")
    for key in whole:
        assert all(six(render_report({k: v for k, v in whole.items() if k != key}, None)))
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
            assert all(six(render_report({**holes(whole), "sections": {}}, None)))
    assert all(six(render_report(holes(stored("demo")), None)))  # figures too
