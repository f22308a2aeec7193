"""One document says the same in every rendering: direction, sign, level and counts, whatever the grades are."""

import csv
import html
import io
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from richter.audit import compare_tables, measure_run, run_gate
from richter.audit._gate_check import margin_plan
from richter.cli import _compare_output, _gate_output
from richter.cli._io import console
from richter.cli._screen import summarise
from richter.records import Claim, Verdict
from richter.report import gate_comment, markdown, render_report
from richter.tables import read_tables
from richter.words import side

CASES = [  # share right of old and of new, questions, how often both go by the same luck, the seed
    (0.5, 0.8, 80, 0.5, 1), (0.8, 0.5, 80, 0.5, 2), (0.6, 0.62, 60, 0.5, 3), (0.7, 0.7, 400, 0.98, 4),
    (1.0, 0.6, 50, 0, 5),
]  # fmt: skip


def files(folder: Path, case: tuple[float, float, int, float, int]) -> list[Path]:
    old, new, n, agree, seed = case
    rng = np.random.default_rng(seed)
    shared, paths = rng.random(n), []
    for name, share in (("old", old), ("new", new)):
        right = np.where(rng.random(n) < agree, shared, rng.random(n)) < share
        paths.append(folder / f"{name}.csv")
        with paths[-1].open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("id", "correct"), *((f"q{k}", int(x)) for k, x in enumerate(right))])
    return paths


def flat(text: str) -> str:
    """Text on one line, as people read it."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).replace("\u200b", "").replace("\\", "").split())


def printed(show: object, *arguments: object) -> str:
    """What a layout prints."""
    out = console()
    out.file = io.StringIO()
    show(out, *arguments)  # type: ignore[operator]
    return out.file.getvalue()


def said(claim: Claim) -> dict[str, str]:
    """What every rendering must hold of a claim, made from its fields alone."""
    assert claim.interval is not None
    assert claim.estimate is not None
    low, high = (100 * end for end in (claim.interval.low, claim.interval.high))
    right = [round((value or 0.0) * claim.n) for value in claim.values]
    direction = {"better": "new is better than old", "worse": "new is worse than old", "open": "Inconclusive: "}
    shown = {
        "direction": direction[side(claim)],
        "interval": f"({100 * claim.interval.level:.3g}% CI {_signed(low)} to {_signed(high)}",
        "counts": f"new got {right[1]} of {claim.n} right, old {right[0]}",
    }
    if claim.verdict is not Verdict.UNDECIDED:
        shown["sign"] = f"{_signed(100 * claim.estimate)} points"
    return shown


def _signed(value: float) -> str:
    return f"{value:+.1f}" if abs(value) >= 0.05 else "0.0"


def table_of(both: int, fixed: int, broken: int, neither: int) -> pl.DataFrame:
    """Grades of two models on as many questions of each kind: right in both, fixed, broken, wrong in both."""
    old = [1] * (both + broken) + [0] * (fixed + neither)
    new = [1] * both + [0] * broken + [1] * fixed + [0] * neither
    sides = [pl.DataFrame({"id": [f"q{k}" for k in range(len(x))], "correct": x}) for x in (old, new)]
    return pl.concat([side.with_columns(model=pl.lit(name)) for side, name in zip(sides, ("old", "new"), strict=True)])


COUNT = st.integers(0, 40)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(both=COUNT, fixed=COUNT, broken=COUNT, neither=COUNT, level=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
@example(both=60, fixed=30, broken=2, neither=20, level=0.95)  # better
@example(both=20, fixed=2, broken=30, neither=20, level=0.99)  # worse
@example(both=40, fixed=5, broken=5, neither=30, level=0.95)  # the estimate is 0
@example(both=50, fixed=0, broken=20, neither=0, level=0.8)  # old is always right
def test_every_rendering_says_what_the_fields_say(
    both: int, fixed: int, broken: int, neither: int, level: float
) -> None:
    """Terminal, Markdown, notebook, page and JSON have one direction, sign, level, interval and the same counts."""
    assume(both + fixed + broken + neither >= 12 and fixed + broken > 0)
    table = table_of(both, fixed, broken, neither)
    report = compare_tables(read_tables(table), n_resamples=100, level=level)
    (claim,) = [c for c in report.claims if c.primary]
    assert claim.interval is not None
    assert claim.interval.level == pytest.approx(level)
    assert (claim.estimate or 0.0) * claim.n == pytest.approx(fixed - broken)
    document = measure_run(table, n_resamples=100, level=level).to_dict()
    renderings = {
        "terminal": printed(_compare_output.show, report),
        "Markdown": _compare_output.markdown(report),
        "notebook": report._repr_html_(),
        "report's terminal": "\n".join(summarise(document)),
        "report's Markdown": markdown(document),
        "page": render_report(document, None),
        "JSON": " ".join(document["first_lines"].values()),
    }
    facts = said(claim) | {"moved": f"{fixed:,} fixed, {broken:,} broken"}
    for what, fact in facts.items():
        for name, text in renderings.items():
            assert fact in flat(text), (what, name)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]:g}-{c[1]:g}")
def test_a_gate_and_a_comparison_do_not_seem_to_contradict(
    case: tuple[float, float, int, float, int], tmp_path: Path
) -> None:
    """A gate names its one-sided level; that it passes is never printed alone where better is not shown."""
    tables = read_tables(*files(tmp_path, case))
    gate = run_gate(margin_plan(tables, 0.1), tables)
    compared = next(c for c in compare_tables(tables, n_resamples=100).claims if c.primary)
    (claim,) = gate.claims
    assert claim.interval is not None
    word = {Verdict.VERIFIED: "PASS", Verdict.REFUTED: "FAIL", Verdict.UNDECIDED: "INCONCLUSIVE"}[claim.verdict]
    small = _gate_output.small_print(gate)
    comment = gate_comment(gate.sentence, gate.claims, gate.requirements, tables, small=small, outcome=gate.outcome)
    for text in (printed(_gate_output._print_report, gate), comment):
        assert f"{word}: " in flat(text)
        assert f"one-sided {100 * (1 + claim.interval.level) / 2:.3g}%: at " in flat(text)
        is_open = claim.verdict is Verdict.VERIFIED and side(compared) == "open"
        assert ("This does not show that new is better" in flat(text)) == is_open
