"""Facts of a dataset are computed once; runs and raters are matched by their names; answers to whole pages."""

import dataclasses
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from helpers.outcomes import dataset_of, keys_of, outcomes
from richter.audit import compare_tables
from richter.claims import Outcomes, Question
from richter.evidence import (
    RaterShares,
    confident_counts,
    evidence,
    group_shares,
    has_all_grades,
    label_conflicts,
    once,
    rater_shares,
)
from richter.tables import Dataset


def grades(n: int = 100, conditions: int = 2) -> Outcomes:
    return outcomes((np.random.default_rng(0).random((n, conditions)) < 0.6).astype(float))


def test_a_fact_is_computed_once_for_a_dataset_and_its_names() -> None:
    calls = Counter[tuple[Any, ...]]()

    @once
    def fact(dataset: Dataset, *names: str) -> tuple[str, ...]:
        calls[names] += 1
        return names

    one, two = dataset_of(grades()), dataset_of(grades())
    assert [fact(one, "x"), fact(one, "x"), fact(one, "y")] == [("x",), ("x",), ("y",)]
    assert calls == {("x",): 1, ("y",): 1}
    fact(two, "x")
    assert calls["x",] == 2  # another dataset has its own memory


def test_a_page_makes_outcomes_of_a_measure_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from richter.evidence import _facts

    calls, make = Counter[str](), _facts.outcomes

    def counted(dataset: Dataset, measure: str) -> Outcomes:
        calls[measure] += 1
        return make(dataset, measure)

    monkeypatch.setattr(_facts, "outcomes", counted)
    compare_tables(dataset_of(grades(conditions=4)), n_resamples=100)
    assert calls
    assert set(calls.values()) == {1}


# ------------------------------------------------------------------ grades by condition and item


# ------------------------------------------------------------------ runs by name


def with_runs(names: dict[str, tuple[str, ...]], measure: str) -> Dataset:
    """60 items, three draws each; the run of a draw is named by condition."""
    rng = np.random.default_rng(1)
    level = rng.normal(0, 0.1, (1, 1, 3))  # a run's own luck, the same for both where they are the same runs
    wrong = rng.random((60, 2, 3)) < 0.4 + level
    values = np.where(wrong, rng.integers(1, 9, (60, 2, 3)) / 2, 0.0) if measure == "mean_severity" else ~wrong
    made = outcomes(values.astype(float), measure)
    known = tuple(dict.fromkeys(name for own in names.values() for name in own))
    run = [known.index(names[condition][draw]) for _, condition, draw in keys_of(made)]
    return dataset_of(dataclasses.replace(made, run=np.array(run), runs=known))


SAME = {"a": ("s1", "s2", "s3"), "b": ("s1", "s2", "s3")}
TURNED = {"a": ("s1", "s2", "s3"), "b": ("s3", "s1", "s2")}
OTHER = {"a": ("s1", "s2", "s3"), "b": ("t1", "t2", "t3")}


@pytest.mark.parametrize(
    ("measure", "stored"), [("accuracy", "accuracy"), ("mean_severity", "mean_severity"),
                            ("severity_given_error", "mean_severity")]
)  # fmt: skip
def test_runs_are_crossed_by_their_names_and_not_by_their_numbers(measure: str, stored: str) -> None:
    """Three runs of both are three units, three of each six; the order in which a condition numbers them is nothing."""
    question = Question(measure=measure, conditions=("a", "b"))

    def found(names: dict[str, tuple[str, ...]]) -> Any:
        return evidence(with_runs(names, stored), question).known

    same, turned, other = found(SAME), found(TURNED), found(OTHER)
    assert [(e.unit, e.units) for e in (same, turned, other)] == [("run", 3), ("run", 3), ("run", 6)]
    assert same.estimate == pytest.approx(turned.estimate) == pytest.approx(other.estimate)
    widths = [e.interval(0.95).half_width for e in (same, turned, other)]
    assert widths[0] != pytest.approx(widths[1])  # draw 0 of a goes with draw 1 of b there
    assert widths[1] != pytest.approx(widths[2])


def test_runs_numbered_in_another_order_are_the_same_runs_by_hand() -> None:
    """The same answers under the same run names, b's draws numbered in another order: nothing changes."""
    made = with_runs(SAME, "mean_severity")
    rows = made.answers.to_dicts()
    number = {0: 2, 1: 0, 2: 1}

    def turn(frame: Any) -> Any:
        turned = [row | {"draw": number[row["draw"]]} if row["condition"] == "b" else row for row in frame.to_dicts()]
        return type(frame)(turned, schema=frame.schema)

    again = dataclasses.replace(made, answers=turn(made.answers), ratings=turn(made.ratings))
    assert len(rows) == len(again.answers)
    for measure in ("mean_severity", "severity_given_error"):
        question = Question(measure=measure, conditions=("a", "b"))
        one, two = (evidence(d, question).known for d in (made, again))
        assert (one.interval(0.95).low, one.interval(0.95).high) == pytest.approx(
            (two.interval(0.95).low, two.interval(0.95).high)
        )


# ------------------------------------------------------------------ raters


def test_shares_of_raters_by_hand() -> None:
    severity = outcomes(np.ones((10, 2)), "mean_severity")
    dataset = dataset_of(severity, kind="judge", rater=lambda item, condition, _: "x" if item < "q0008" else condition)
    found = rater_shares(dataset, "judge", "a", "b")
    assert found is not None
    assert (found.first, found.second) == ({"x": 8, "a": 2}, {"x": 8, "b": 2})
    assert found.comparable == ()  # of 20 answers each nobody rated enough
    assert rater_shares(dataset_of(severity, kind="given"), "given", "a", "b") is None


# ------------------------------------------------------------------ ranges, groups, labels


def test_groups_are_those_of_the_items_that_two_conditions_share_by_hand() -> None:
    """Eight items in groups of two; b lacks the last four: two groups are shared, four are of either."""
    x = np.ones((8, 2))
    x[4:, 1] = np.nan
    dataset = dataset_of(outcomes(x, group=np.repeat(np.arange(4), 2)))
    (shared,) = group_shares(dataset, "accuracy", ("a", "b"), "", "")
    (alone,) = group_shares(dataset, "accuracy", ("a",), "", "")
    assert (shared.number, shared.share, alone.number, alone.share) == (2, 0.5, 4, 0.25)


def test_groups_of_conditions_with_items_of_their_own_are_all_by_hand() -> None:
    x = np.ones((8, 2))
    x[4:, 1], x[:4, 0] = np.nan, np.nan
    dataset = dataset_of(outcomes(x, group=np.repeat(np.arange(4), 2)))
    (found,) = group_shares(dataset, "accuracy", ("a", "b"), "", "")
    assert found.number == 4


@pytest.mark.parametrize(("shift", "contradicted"), [(0.15, False), (0.25, True)])
def test_labels_contradict_grades_from_a_twentieth_of_the_scale_by_hand(shift: float, contradicted: bool) -> None:
    """Severities of which people say `shift` more, of every answer alike: a twentieth of 4 is 0.2."""
    graded = np.tile([1.0, 2.0, 3.0], 100)[:, None]
    dataset = dataset_of(outcomes(graded, "mean_severity", label=graded.ravel() + shift), kind="judge")
    found = [(c.condition, c.graded, c.corrected) for c in label_conflicts(dataset)]
    assert found == ([("a", 2.0, pytest.approx(2.0 + shift))] if contradicted else [])


def test_few_labels_contradict_nothing() -> None:
    """Ten labels, of which one says otherwise: 10 points of difference, and an interval that holds the grades."""
    graded = np.tile([1.0, 0.0], 100)[:, None]
    label = np.full(200, np.nan)
    label[:10] = graded[:10, 0]
    label[1] = 1.0
    dataset = dataset_of(outcomes(graded, label=label, layer=np.zeros(200, dtype=int)))
    assert label_conflicts(dataset) == ()


def test_without_a_main_measure_labels_contradict_nothing() -> None:
    dataset = dataset_of(outcomes(np.ones((5, 2)), "latency"))
    assert dataset.metric is None
    assert label_conflicts(dataset) == ()


@pytest.mark.parametrize(("size", "large"), [(2, ""), (5, "g1")])
def test_a_group_of_a_fifth_of_the_items_is_named_by_hand(size: int, large: str) -> None:
    """Of 20 items in 16 groups or more the second group has `size`: named from 20%, and three times a group's share."""
    group = np.r_[0, np.full(size, 1), np.arange(2, 21 - size)]
    (found,) = group_shares(dataset_of(outcomes(np.ones((20, 2)), group=group)), "accuracy", ("a", "b"), "", "")
    assert (found.number, found.share, found.large) == (21 - size, pytest.approx(size / 20), large)


@pytest.mark.parametrize("table", [[[30, 10], [18, 22]], [[30, 10, 5], [18, 22, 9]]])
def test_shares_of_raters_are_tested_against_scipy(table: list[list[int]]) -> None:
    first, second = ({f"r{k}": n for k, n in enumerate(row)} for row in table)
    want = chi2_contingency(np.array(table), correction=False).pvalue
    assert RaterShares(first=first, second=second).independence_p == pytest.approx(want)


def test_confidences_are_counted_by_item_and_condition_by_hand() -> None:
    """The last item has none, the first two of a."""
    x = np.ones((3, 2, 2))
    sure = {("q0000", "a", 0): 0.5, ("q0000", "a", 1): 0.6, ("q0001", "b", 1): 0.7}
    found = confident_counts(dataset_of(outcomes(x), confidence=sure))
    assert found.tolist() == [[2, 0], [0, 1], [0, 0]]


def test_grades_are_whole_where_no_answer_label_or_judge_tells_one_condition_from_another() -> None:
    whole = outcomes(np.ones((30, 2)))
    assert has_all_grades(dataset_of(whole), "accuracy")
    labelled = dataclasses.replace(whole, label=np.ones(60))
    assert not has_all_grades(dataset_of(labelled), "accuracy")
    assert not has_all_grades(dataset_of(whole, ungraded=[("q0000", "a", 1)]), "accuracy")
