import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from richter.calibration import answer_pool, ece, held_out_confidence, regimes, sem_ece, verbalised_ece
from richter.errors import InputError


def over_all_splits(counts: list[int], select: int) -> float:
    """Every selection of the draws one by one, ties shared equally."""
    labels = np.repeat(np.arange(len(counts)), counts)
    confidence = []
    for block in itertools.combinations(range(len(labels)), select):
        inside = np.bincount(labels[list(block)], minlength=len(counts))
        winners = np.flatnonzero(inside == inside.max())
        confidence.append(np.mean((np.array(counts) - inside)[winners]) / (len(labels) - select))
    return float(np.mean(confidence))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5).filter(lambda c: 2 <= sum(c) <= 10), st.data())
@settings(max_examples=60, deadline=None)
def test_exact_splits_by_enumeration(counts: list[int], data: st.DataObject) -> None:
    select = data.draw(st.integers(1, sum(counts) - 1))
    row = [k for k, size in enumerate(counts) for _ in range(size)]
    confidence = held_out_confidence(answer_pool([row]), select=np.array([select]))
    assert confidence[0] == pytest.approx(over_all_splits(counts, select), abs=1e-12)


def test_random_splits_approach_the_exact_average(rng: np.random.Generator) -> None:
    pool = answer_pool(rng.choice(4, (200, 20), p=[0.4, 0.3, 0.2, 0.1]))
    exact = held_out_confidence(pool)
    random = held_out_confidence(pool, splits=400, rng=rng)
    # the tie rules differ per question (first drawn against shared) but agree in the mean over exchangeable draws
    assert abs(np.mean(random - exact)) < 4 * np.std(random - exact) / np.sqrt(200)


def test_sem_by_hand() -> None:
    # question 1: a a b c -> c1 = 1/2; question 2: all the same -> 1
    result = sem_ece([["a", "a", "b", "c"], ["x", "x", "x", "x"]], [[1, 1, 0, 0], [0, 0, 0, 0]])
    assert result.confidence_1.tolist() == [0.5, 1.0]
    # six halves of a a b c: aa leaves (b, c): 0; bc leaves aa: shared tie b, c: 0; the four mixed ones {a, x} leave
    # {a, y}: tie of a (held out 1/2) and x (0): 1/4 each -> 4/6 x 1/4 = 1/6
    assert result.confidence_2.tolist() == pytest.approx([1 / 6, 1.0])
    assert result.correct.tolist() == [1.0, 0.0]
    assert result.sem1.ece == pytest.approx((0.5 + 1.0) / 2)
    assert result.sem1.accuracy == 0.5


def test_a_tie_goes_to_the_class_drawn_first_not_to_its_label() -> None:
    assert answer_pool([["z", "a", "a", "z"]], [[1, 0, 0, 1]]).correct.tolist() == [1.0]
    assert answer_pool(np.array([[7, 2, 2, 7]]), [[0, 1, 1, 0]]).correct.tolist() == [0.0]


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.permutations(range(4)))
@settings(max_examples=50, deadline=None)
def test_labels_are_only_names(row: list[int], names: list[int]) -> None:
    one, two = answer_pool([row]), answer_pool([[names[x] for x in row]])
    assert np.array_equal(one.labels, two.labels)


def test_missing_draws_and_ungraded_questions() -> None:
    result = sem_ece([["a", None, "a"], ["b"], ["c", "d"]], [[1, None, 1], [None], [0, 1]])
    assert result.draws.tolist() == [2, 1, 2]
    assert result.ungraded == 1
    assert np.isnan(result.confidence_2[1])
    assert any("one draw" in note for note in result.notes)
    assert any("1 to 2 draws" in note for note in result.notes)
    assert result.sem1.n == 2


def test_one_draw_each_leaves_sem2_undefined() -> None:
    result = sem_ece([["a"], ["b"]], [1, 0])
    assert result.sem2 is None
    assert result.sem1.mean_confidence == 1


def test_no_grades_is_untestable() -> None:
    with pytest.raises(InputError, match="untestable"):
        sem_ece([["a", "b"]])


def test_regimes_by_hand() -> None:
    # counts (6, 3, 1): margin 0.3, mass 0.9, m~ = 0.3 / sqrt(0.9 / 10) = 1; log 3 = 1.099 > 1: low, 0.5 > lambda*
    # counts (5, 5): margin 0: Jensen-dominated; counts (10): one class: large
    rows = [["a"] * 6 + ["b"] * 3 + ["c"], ["a"] * 5 + ["b"] * 5, ["a"] * 10]
    found = regimes(rows)
    assert found.standardised_margin.tolist() == pytest.approx([1.0, 0.0, np.sqrt(10)])
    assert found.classes.tolist() == [3, 2, 1]
    assert (found.large, found.low, found.jensen) == (1, 2, 1)
    assert found.predicted_gap[1] == pytest.approx(1 / np.sqrt(2 * np.pi) / np.sqrt(10))


def test_verbalised_imputes_and_drops_by_hand() -> None:
    stated = np.array([[0.5, np.nan], [0.2, 0.4], [np.nan, np.nan], [0.9, -1]])
    result = verbalised_ece(stated, [1, 0, 0, 1])
    assert result.imputed.mean_confidence == pytest.approx((0.75 + 0.3 + 1.0 + 0.9) / 4)
    assert result.dropped is not None
    assert result.dropped.mean_confidence == pytest.approx((0.5 + 0.3 + 0.9) / 3)
    assert result.parse_rate == pytest.approx(4 / 7)
    assert result.questions_dropped == 1


def test_reliability_by_hand() -> None:
    first, second = ece([0.25, 0.25, 0.75, 0.75], [0, 0, 1, 0], bins=2).bins
    assert (first.n, first.confidence, first.accuracy, first.gap) == (2, 0.25, 0.0, 0.25)
    assert (second.low, second.high, second.accuracy) == (0.5, 1.0, 0.5)
    assert second.accuracy in second.interval
    assert first.to_dict()["gap"] == 0.25
