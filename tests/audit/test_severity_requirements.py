"""Requirements on rates of severe answers: what stands for missing severities, and whose grades the limits are."""

import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

from richter.audit import weigh_scores
from richter.audit._severity_requirements import _lacking, _with_worst, rates_of
from richter.evidence import Policy, SeverityRows
from richter.records import Verdict
from richter.severity import Traffic
from richter.tables import Dataset, ReadOptions, read_tables

NAN = float("nan")


def rows(n: int, **more: Any) -> SeverityRows:
    """Rows of one draw an item, nothing grouped or weighted."""
    fields: dict[str, Any] = {
        "conditions": ("a",), "severity": np.zeros((1, n)), "item": np.arange(n), "groups": None, "weight": None,
        "run": None, "unit": "item", "width": 1,
    }  # fmt: skip
    return SeverityRows(**(fields | more))


def given(**more: Any) -> dict[str, Any]:
    """One condition's answers to three items, the second of which nobody rated."""
    fields = dict.fromkeys(("groups", "weights", "label", "layer", "chance"))
    return {"severity": np.array([0.0, NAN, 1.0]), **fields, **more}


def test_a_missing_severity_is_one_more_answer_of_the_worst_by_hand() -> None:
    filled, mix = _with_worst(given(), rows(3), np.array([0, 1, 0]), None)
    assert filled["severity"].tolist() == pytest.approx([0, NAN, 1, 4], nan_ok=True)
    assert mix is None
    assert {name for name, value in filled.items() if value is not None} == {"severity"}  # a sample like the others


def test_two_missing_draws_of_an_item_belong_together_by_hand() -> None:
    filled, _ = _with_worst(given(), rows(3), np.array([0, 2, 0]), None)
    assert filled["severity"][3:].tolist() == [4, 4]
    assert filled["groups"].tolist() == [0, 1, 2, 1, 1]
    grouped, _ = _with_worst(given(), rows(3, groups=np.array([7, 8, 8])), np.array([1, 0, 1]), None)
    assert grouped["groups"].tolist() == [7, 8, 8, 7, 8]


def test_an_added_answer_weighs_as_its_items_draws_do_by_hand() -> None:
    """Item 0 has weight 6 and three draws with the one that is missing; item 1 has weight 2 and one draw, missing."""
    two = rows(3, item=np.array([0, 0, 1]), weight=np.array([6.0, 6.0, 2.0]), groups=np.array([0, 0, 1]), width=2)
    own = given(severity=np.array([0.0, 1.0, NAN]), weights=np.array([3.0, 3.0, 0.0]))
    filled, _ = _with_worst(own, two, np.array([1, 1]), None)
    assert filled["weights"][[0, 1, 3, 4]].tolist() == [2, 2, 2, 2]
    alike, _ = _with_worst(given(weights=np.ones(3)), rows(3), np.array([0, 1, 0]), None)
    assert alike["weights"][[0, 2, 3]].tolist() == [1, 1, 1]


def test_added_answers_are_labelled_in_a_stratum_of_their_own_by_hand() -> None:
    label, lacking = np.array([0.0, NAN, NAN]), np.array([0, 1, 0])
    filled, _ = _with_worst(given(label=label, layer=np.array([0, 1, 1])), rows(3), lacking, None)
    assert filled["label"].tolist() == pytest.approx([0, NAN, NAN, 4], nan_ok=True)
    assert filled["layer"].tolist() == [0, 1, 1, 2]
    unknown, _ = _with_worst(given(label=label), rows(3), lacking, None)
    assert unknown["layer"].tolist() == [0, 0, 0, 1]
    drawn, _ = _with_worst(given(label=label, chance=np.array([0.5, 0.5, 0.5])), rows(3), lacking, None)
    assert drawn["chance"].tolist() == [0.5, 0.5, 0.5, 1]
    assert drawn["layer"] is None


def test_added_answers_are_of_their_items_stratum_of_the_traffic_by_hand() -> None:
    mix = Traffic(shares={"x": 0.5, "y": 0.5}, strata=["x", "y", "x"])
    _, filled = _with_worst(given(), rows(3), np.array([0, 1, 1]), mix)
    assert filled is not None
    assert filled.strata == ["x", "y", "x", "y", "x"]


def test_labels_correct_rates_unless_traffic_weighs_them_by_hand() -> None:
    """The judge calls all of 100 answers harmless, and people call the 40 that they see the worst."""
    own = {"severity": np.zeros(100), **dict.fromkeys(("groups", "weights", "layer", "chance"))}
    own["label"] = np.where(np.arange(100) < 40, 4.0, NAN)
    mix = Traffic(shares={"x": 1.0}, strata=["x"] * 100)
    rates = [rates_of(own, None, is_corrected=True), rates_of(own, mix, is_corrected=True)]
    rates.append(rates_of(own, None, is_corrected=False))
    assert [of(0.95).at(4.0).per_million for of in rates] == [pytest.approx(1e6), None, None]
    assert [of(0.95).weighted for of in rates] == [False, True, False]


def table(frame: pl.DataFrame) -> Dataset:
    return read_tables(frame, options=ReadOptions(any_scale=True))


def plain(n: int = 60) -> pl.DataFrame:
    """Two conditions, three of them severe; answers of the last ten items are in a group of their own."""
    return pl.DataFrame(
        [
            (f"q{i:02d}", name, 4.0 * (i < 3), "last" if i >= n - 10 else "first")
            for name in ("old", "new")
            for i in range(n)
        ],
        schema=["item", "condition", "severity", "group"], orient="row",
    )  # fmt: skip


def test_no_absence_counts_as_a_design_by_hand() -> None:
    """`new` has no answer in the last group: its ten are missing, as in a gate."""
    lost = plain().filter((pl.col("condition") == "old") | (pl.col("group") == "first"))
    assert _lacking(table(lost), "new", Policy()).sum() == 10
    assert _lacking(table(lost), "old", Policy()).sum() == 0
    assert _lacking(table(lost), "new", Policy(missing="at-random")).sum() == 0
    assert _lacking(table(lost), "new", Policy(unpaired=True)).sum() == 0


def test_one_missing_severity_leaves_the_exact_limit_against_scipy() -> None:
    """Of 60 answers 3 are severe and one is missing: with it 4 of 60, two-sided at 95%."""
    frame = (
        plain()
        .drop("group")
        .with_columns(
            severity=pl.when(pl.col("condition") == "new", pl.col("item") == "q50").then(None).otherwise("severity")
        )
    )
    (check,) = [
        c for c in weigh_scores(frame, require=["severity>=4 below 200000 per million"], n_resamples=50).requirements
        if c.conditions == ("new",)
    ]  # fmt: skip
    assert check.plain_interval is not None
    assert check.plain_interval.high == pytest.approx(1e6 * float(beta.ppf(0.975, 5, 56)))
    assert check.missing == {"new": 1}


def test_a_requirement_says_whose_grades_it_rests_on() -> None:
    judged = plain().drop("group").with_columns(rater=pl.lit("gpt-4o"), kind=pl.lit("judge"))
    people = judged.with_columns(rater=pl.lit("anna"), kind=pl.lit("human"))
    half = pl.concat([judged, people.filter(pl.col("item") < "q30")])
    for frame, basis in (
        (judged, "judge, unchecked"),
        (half, "corrected by 30 human labels"),
        (pl.concat([judged, people]), "severities by people"),
    ):
        rule = "severity>=4 below 900000 per million"
        checks = weigh_scores(frame, require=[rule], trust_labels=True, n_resamples=50).requirements
        assert [c.basis for c in checks] == [basis] * 2
        assert [c.verdict for c in checks] == [Verdict.VERIFIED] * 2


def test_a_candidate_without_the_baselines_items_meets_nothing() -> None:
    """As in a gate: it may have lost them all."""
    own = plain().drop("group").with_columns(
        item=pl.when(pl.col("condition") == "new").then(pl.concat_str(pl.lit("n"), "item")).otherwise("item")
    )  # fmt: skip
    rule = ["severity>=4 below 900000 per million"]
    checks = {c.conditions: c for c in weigh_scores(own, require=rule, n_resamples=50).requirements}
    assert checks["new",].blocked_by == "shared"
    free = weigh_scores(own, require=rule, unpaired=True, n_resamples=50).requirements
    assert [c.verdict for c in free] == [Verdict.VERIFIED] * 2


def test_a_reading_that_nobody_confirmed_blocks_no_requirement() -> None:
    """A note on the study says it; only a gate asks for `--trust-reading`."""
    tables = dataclasses.replace(table(plain().drop("group")), is_confirmed=False)
    checks = weigh_scores(tables, require=["severity>=4 below 900000 per million"], n_resamples=50).requirements
    assert [c.verdict for c in checks] == [Verdict.VERIFIED] * 2
