"""Human labels that change a verdict are the headline, the grades alone can be seen again, and figures are marked."""

import csv
from pathlib import Path

import numpy as np

from richter.audit import compare_tables, margin_plan, measure_run, run_gate
from richter.records import Verdict
from richter.tables import ReadOptions, read_tables
from richter.words import describe_gate_context


def graded_file(folder: Path, *, kinder: float, every: int) -> Path:
    """Two models that people find equally good; the grader takes a share of new's wrong answers for right."""
    rng, path = np.random.default_rng(5), folder / "labels.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "model", "correct", "human"])
        for model in ("old", "new"):
            for k in range(300):
                right = int(rng.random() < 0.6)
                grade = right or int(model == "new" and rng.random() < kinder)
                rows.writerow([f"q{k}", model, grade, right if k % every == 0 else ""])
    return path


def test_labels_that_contradict_the_grades_are_the_headline(tmp_path: Path) -> None:
    path = graded_file(tmp_path, kinder=0.8, every=3)
    report = compare_tables(read_tables(path), n_resamples=100)
    (claim,) = report.claims
    assert [conflict.condition for conflict in report.label_conflicts] == ["new"]
    assert claim.labels == 200
    assert claim.verdict is Verdict.UNDECIDED
    assert claim.as_graded is not None
    assert claim.as_graded.verdict is Verdict.VERIFIED
    before, after = (f"{100 * x:+.1f}" for x in (claim.as_graded.estimate, claim.estimate or 0.0))
    change = f"Your 200 labels disagree with the automatic grades: {before} points became {after}."
    assert report.first_lines.headline.startswith(f"{change} Inconclusive: ")
    assert measure_run(path, n_resamples=100).first_lines.headline == report.first_lines.headline
    assert report.to_dict()["claims"][0]["as_graded"]["verdict"] == "verified"
    assert report.to_dict()["label_conflicts"][0]["labels"] == 100


def test_grades_alone_are_what_ratings_rule_shows(tmp_path: Path) -> None:
    path = graded_file(tmp_path, kinder=0.8, every=3)
    (corrected,) = compare_tables(read_tables(path), n_resamples=100).claims
    (alone,) = compare_tables(read_tables(path, options=ReadOptions(ratings="rule")), n_resamples=100).claims
    assert corrected.as_graded is not None
    assert alone.estimate == corrected.as_graded.estimate
    assert alone.interval == corrected.as_graded.interval
    assert alone.verdict is corrected.as_graded.verdict
    assert (alone.labels, alone.as_graded) == (0, None)


def test_a_gate_says_that_labels_changed_it(tmp_path: Path) -> None:
    tables = read_tables(graded_file(tmp_path, kinder=0.8, every=3))
    gate = run_gate(margin_plan(tables, 0.02), tables)
    (claim,) = gate.claims
    assert claim.as_graded is not None
    assert (claim.as_graded.verdict, claim.verdict) == (Verdict.VERIFIED, Verdict.UNDECIDED)
    assert describe_gate_context(claim).startswith("Your 200 labels disagree with the automatic grades: ")
    assert gate.next_step == (
        "Next: do not merge yet. Label more answers by hand: the limit rests on 200 labels."
    )  # fmt: skip
