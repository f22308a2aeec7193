"""The figures beside a page's claims: pairs, conditions, flags and notes, on data small enough to count."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from helpers.outcomes import dataset_of, outcomes
from richter.audit import CompareReport, compare_tables, page_questions
from richter.errors import InputError
from richter.records import Item
from richter.stats import Floats
from richter.tables import Dataset


def compared(dataset: Dataset, **options: Any) -> CompareReport:
    return compare_tables(dataset, **{"n_resamples": 100, **options})


def graded(n: int = 40) -> Floats:
    """b fixes every fifth item (8 of 40), and breaks the second (1 of 40)."""
    x = np.tile([[1.0, 1.0]], (n, 1))
    x[::5, 0] = 0.0
    x[1, 1] = 0.0
    return x


def test_a_pair_has_what_was_fixed_and_broken_on_the_items_of_both_by_hand() -> None:
    x = graded()
    x[38, 0], x[39, 1] = np.nan, np.nan
    seconds = np.random.default_rng(0).random((40, 2)) + 1
    report = compared(
        dataset_of(outcomes(x), outcomes(seconds, "latency")), on=("accuracy", "latency"), missing="shared"
    )
    assert {c.measure for c in report.claims} == {"accuracy", "latency"}
    (pair,) = report.pairs  # one a pair, by the main measure only
    assert (pair.conditions, pair.n_paired, pair.first_only, pair.second_only) == (("a", "b"), 38, 1, 1)
    assert (pair.fixed, pair.broken, pair.flags) == (8, 1, ())


def test_conditions_are_summed_up_by_hand() -> None:
    report = compared(dataset_of(outcomes(graded())))
    a, b = report.conditions.values()
    assert (a.n, a.error_rate, a.accuracy) == (40, pytest.approx(8 / 40), pytest.approx(32 / 40))
    assert (b.n, b.error_rate, b.accuracy) == (40, pytest.approx(1 / 40), pytest.approx(39 / 40))
    assert (a.failed, a.missing, b.failed, b.missing) == (0, 0, 0, 0)
    assert report.measures["accuracy"] == {"a": pytest.approx(0.8), "b": pytest.approx(0.975)}


def test_a_condition_lacks_what_another_has_and_not_what_is_anothers_own_by_hand() -> None:
    """Of 40 items b has no row of 3 and a failed call of one; c has 10 items of its own."""
    x = np.full((50, 3), np.nan)
    x[:40, :2] = graded()
    x[:4, 1] = np.nan
    x[40:, 2] = 1.0
    dataset = dataset_of(outcomes(x), failed=[("q0000", "b", 0)])
    _, b, c = compared(dataset).conditions.values()
    assert (b.n, b.failed, b.missing) == (36, 1, 13)  # of 50 items, 36 are graded and one call failed
    assert (c.n, c.failed, c.missing) == (10, 0, 0)
    nobody = compared(dataset_of(outcomes(x[:, :2]), conditions=("a", "b", "z"))).conditions["z"]
    assert (nobody.n, nobody.failed, nobody.missing) == (0, 0, 0)
    assert nobody.warnings == ("untestable: no row has a grade",)
    unpaired = compared(dataset, unpaired=True).conditions["b"]
    assert (unpaired.n, unpaired.failed, unpaired.missing) == (36, 1, 0)  # nothing is asked of it that it has no row of


def flags_of(x: Floats, sure: Floats | None = None) -> tuple[str, ...]:
    given = {} if sure is None else {
        (f"q{i:04d}", "ab"[c], 0): float(sure[i, c]) for i, c in np.ndindex(*sure.shape)
    }  # fmt: skip
    return compared(dataset_of(outcomes(x), confidence=given)).pairs[0].flags


def test_runs_that_agree_in_all_are_flagged_by_hand() -> None:
    same = np.repeat(graded()[:, :1], 2, axis=1)
    assert [flag.split(":")[0] for flag in flags_of(same)] == ["identical runs"]
    alone = np.zeros((40, 2))
    alone[7] = 1.0
    assert [flag.split(":")[0] for flag in flags_of(alone)] == ["identical runs"]  # one right answer tells runs apart
    assert flags_of(graded()) == ()
    assert flags_of(np.ones((40, 2))) == ()  # all right says nothing
    assert flags_of(np.zeros((40, 2))) == ()
    sure = np.repeat(np.linspace(0.5, 0.9, 40)[:, None], 2, axis=1)
    assert [flag.split(":")[0] for flag in flags_of(same, sure)] == ["identical runs"]
    assert flags_of(graded(), sure) == ()  # confidences agree and grades do not
    other = sure.copy()
    other[3, 1] += 0.01
    assert flags_of(same, other) == ()


def test_a_constant_shift_of_confidences_is_flagged_with_its_size() -> None:
    sure = np.repeat(np.linspace(0.5, 0.9, 40)[:, None], 2, axis=1)
    (flag,) = flags_of(graded(), sure + np.array([0.0, 0.05]))
    assert flag == "constant shift: every confidence differs by +0.05"
    assert flags_of(graded(), np.full((40, 2), 0.5) + np.array([0.0, 0.05])) == ()  # two constants have no shift
    other = sure + np.array([0.0, 0.05])
    other[3, 1] += 0.01
    assert flags_of(graded(), other) == ()


def with_letters(n: int, letters: str | list[str]) -> Dataset:
    """b answers with these letters in turn."""
    dataset = dataset_of(outcomes(graded(n)))
    rows = dataset.answers.to_dicts()
    texts = [letters[int(row["item"][1:]) % len(letters)] if row["condition"] == "b" else "a text" for row in rows]
    frame = type(dataset.answers)([row | {"text": text} for row, text in zip(rows, texts, strict=True)],
                                  schema=dataset.answers.schema)  # fmt: skip
    return dataclasses.replace(dataset, answers=frame)


def test_a_question_with_a_graded_repeat_is_not_a_failed_one() -> None:
    """Of 40 questions asked twice, one of b's calls failed in each of three, and both of them in a fourth."""
    x = np.repeat(graded()[:, :, None], 2, axis=2)
    x[:4, 1, 1] = x[3, 1, 0] = np.nan
    lost = [*((f"q{k:04d}", "b", 1) for k in range(4)), ("q0003", "b", 0)]
    b = compared(dataset_of(outcomes(x), failed=lost)).conditions["b"]
    assert (b.n, b.failed, b.missing) == (39, 1, 0)


def test_a_page_asks_what_the_data_hold_and_no_more() -> None:
    x = graded()
    severity = outcomes(np.where(x == 1, 0.0, 2.0), "mean_severity")
    sure = {(f"q{k:04d}", "a", 0): 0.5 for k in range(40)}
    asked = [
        list(dict.fromkeys(question.measure for question in page_questions(data).questions))
        for data in (dataset_of(outcomes(x)), dataset_of(outcomes(x), confidence=sure), dataset_of(severity))
    ]
    assert asked[:2] == [["accuracy"], ["accuracy", "ece"]]
    assert asked[2][0] == "mean_severity"
    assert "accuracy" not in asked[2]
    rows = compared(dataset_of(severity)).conditions.values()
    assert [(row.n, row.accuracy, row.missing) for row in rows] == [(40, None, 0)] * 2


@pytest.mark.parametrize(("letters", "right", "warned"), [
    (8 * "A" + "BC", "A", False),  # A is right as often as it is given
    (8 * "A" + "BC", "B", True),
    (29 * "A" + "BCDEFGHIJ", "B", True),  # ten options
    (29 * "A" + "BCDEFGHIJK", "B", False),  # eleven are no options
])  # fmt: skip
def test_a_letter_is_given_by_habit_only_where_it_is_more_often_given_than_right(
    letters: str, right: str, warned: bool
) -> None:
    dataset = with_letters(40, letters)
    items = {name: Item(id=name, prompt="?", reference=right) for name in dataset.item_ids}
    warnings = compared(dataclasses.replace(dataset, items=items)).conditions["b"].warnings
    assert any("by position" in line for line in warnings) is warned


def in_domains(n: int) -> Dataset:
    """Two conditions on n questions, each of a domain of its own."""
    values = np.tile([[0.0, 1.0], [1.0, 1.0]], (n // 2 + 1, 1))[:n]
    return dataset_of(outcomes(values, stratum=np.arange(n), strata=tuple(f"d{k:04d}" for k in range(n))))


def test_a_thousand_subgroups_are_the_most() -> None:
    assert len(page_questions(in_domains(1000), by="domain").questions) == 1001
    with pytest.raises(InputError, match="has 1,001 values"):
        page_questions(in_domains(1001), by="domain")


def test_what_needs_pairs_is_refused_without_them() -> None:
    with pytest.raises(InputError, match="Without pairs"):
        compared(in_domains(2), unpaired=True, by="domain")


def test_a_cost_that_comes_first_is_the_main_measure_and_a_bare_margin_that_of_the_grades() -> None:
    dollars = outcomes(np.random.default_rng(0).random((40, 3)) + 1, "money")
    x = np.column_stack([graded(), np.ones(40)])
    dataset = dataset_of(outcomes(x), dollars)
    found = compared(dataset, on=("money",), margin=0.1)
    assert [c.measure for c in found.claims if c.primary] == ["money"] * 3
    assert {c.measure: c.margin for c in found.claims} == {"money": None, "accuracy": 0.1}
    assert set(found.ranks) == {"a", "b", "c"}
    assert len(found.groups) > 0
    with pytest.raises(InputError, match="no grades"):
        compared(dataset_of(dollars), on=("money",), margin={"money": 0.1})


def test_a_comparison_supposes_nothing_that_is_not_stated() -> None:
    """One attempt, one level, pairs, all grades counted both ways, and nothing vouched for."""
    report = compare_tables(dataset_of(outcomes(graded())))
    assert (report.tried, report.level, report.seed, report.n_resamples) == (1, 0.95, 0, 2000)
    stated = {name: value for name, value in report.options.items() if value}
    assert stated == {"missing": "both-ways", "min_shared": 0.5, "reading": stated["reading"]}
    assert not any("attempts" in note for note in report.notes)
    notes = compared(dataset_of(outcomes(graded())), tried=2).notes
    assert "the best of 2 attempts is allowed for" in notes
