import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("wordllama")

from richter.texts import (
    REFUSAL,
    THRESHOLD,
    adjusted_rand,
    answer_trees,
    cluster_questions,
    grouping_quality,
    pair_quality,
    same_mode,
)


def cluster_answers(answers: list[str], question: str = "", references: list[str] | None = None) -> list[int]:
    return cluster_questions([answers], [question], [references or []])[0]


def same(one: str, other: str, question: str = "") -> bool:
    first, second = cluster_answers([one, other], question)
    return first == second


@pytest.mark.parametrize(
    ("one", "other", "question"),
    [
        ("Moby-Dick by Herman Melville", "Moby Dick", ""),
        ("Wilson Picket", "Wilson Pickett", ""),
        ("July 4, 1776", "4 July 1776", ""),
        ("Sir Francis Drake", "Francis Drake", ""),
        ("twelve", "12", ""),
        ("The ruler of England in 1616 was King James I.", "James I held the throne.", "who ruled england in 1616"),
        ("George Town", "Georgetown", ""),
        ("Phil Mickelson", "Phil Mickleson", ""),
        ("Massachusetts", "Massachussetts", ""),
    ],
)
def test_the_same_answer_by_hand(one: str, other: str, question: str) -> None:
    assert same(one, other, question)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1914", "1915"),
        ("World War I", "World War II"),
        ("SW15", "SW19"),
        ("North Korea", "South Korea"),
        ("Prince Edward", "Prince Andrew"),
        ("Spanish", "Not Spanish"),
        ("Niger", "Nigeria"),
        ("Austria", "Australia"),
        ("Gambia", "Zambia"),
        ("Slovakia", "Slovenia"),
        ("Iran", "Iraq"),
        ("100m sprint", "200m sprint"),
    ],
)
def test_different_answers_by_hand(one: str, other: str) -> None:
    assert not same(one, other)


def test_refusals_are_one_class_of_their_own() -> None:
    classes = cluster_answers(["", "I don't know.", "Paris", "I'm sorry, I cannot answer that."])
    assert classes[0] == classes[1] == classes[3] == REFUSAL
    assert classes[2] != REFUSAL


def test_aliases_join_the_reference() -> None:
    answers = ["Holland", "The Netherlands", "Belgium"]
    assert len(set(cluster_answers(answers))) == 3
    joined = cluster_answers(answers, "", ["Netherlands", "Holland"])
    assert joined[0] == joined[1] != joined[2]


def test_order_of_answers_only_renames_classes() -> None:
    answers = ["Paris", "Rome", "paris", "City of Rome", "Oslo"]
    one, two = cluster_answers(answers), cluster_answers(answers[::-1])[::-1]
    assert [[a == b for b in one] for a in one] == [[a == b for b in two] for a in two]


def test_pair_quality_by_hand() -> None:
    # pairs called the same: 2, of which 1 is; same in truth: 2
    quality = pair_quality([[0, 0, 1, 0]], [(0, 0, 1, True), (0, 0, 3, False), (0, 0, 2, True)])
    assert (quality.precision, quality.recall, quality.f1) == (0.5, 0.5, 0.5)
    assert quality.all_same_f1 == pytest.approx(2 * (2 / 3) / (1 + 2 / 3))


def test_grouping_quality_by_hand() -> None:
    # truth {a b} {c}: one true pair; classes {a} {b c}: one pair, the wrong one
    assert grouping_quality([[0, 1, 1]], [[0, 0, 1]]).f1 == 0
    assert grouping_quality([[4, 4, 9]], [[0, 0, 1]]).f1 == 1


def test_adjusted_rand_by_hand() -> None:
    # pairs together: 2 and 2 of 10, in both 1, by chance 2 * 2 / 10
    assert adjusted_rand([0, 0, 1, 1, 2], [5, 5, 6, 7, 7]) == pytest.approx((1 - 0.4) / (2 - 0.4))
    assert adjusted_rand([0, 0, 0], [1, 1, 1]) == adjusted_rand([0, 1, 2], [2, 0, 1]) == 1
    assert adjusted_rand([0, 0, 0], [0, 1, 2]) == 0


def test_adjusted_rand_against_scikit_learn(rng: np.random.Generator) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    for classes in (1, 2, 3, 8):
        for _ in range(25):
            one, other = rng.integers(0, classes, (2, 9)).tolist()
            assert adjusted_rand(one, other) == pytest.approx(metrics.adjusted_rand_score(one, other), abs=1e-12)


def test_same_mode_by_hand() -> None:
    assert same_mode([0, 0, 1], [3, 3, 3])  # a b | c and a b c
    assert same_mode([0, 0, 1, 1], [7, 7, 8, 9])  # equal classes: the first
    assert not same_mode([0, 0, 1], [3, 4, 4])  # a b and b c: a is not in the second
    assert not same_mode([0, 0, 0, 1], [3, 4, 4, 4])  # b is in both, a is not


def test_grouping_quality_is_by_question_and_leaves_single_answers_out() -> None:
    quality = grouping_quality([[0, 0, 1], [0, 0, 1], [0]], [[1, 1, 0], [3, 4, 4], [0]])
    assert quality.adjusted_rand == pytest.approx((1 + adjusted_rand([0, 0, 1], [3, 4, 4])) / 2)
    assert (quality.same_mode, quality.questions) == (0.5, 2)


@pytest.mark.real_data
@pytest.mark.slow
def test_nq_open_verdicts_are_met(shared_data: Path) -> None:
    rows = json.loads((shared_data / "nq_open_250_samples.json").read_text())
    answers = [r["generated_answer"][:1] + r["self_evaluations"] + r["perb_evaluations"] for r in rows]
    questions = [" ".join([r["question"], *r["question_perturb"]]) for r in rows]
    pairs = [
        (i, 0, k, verdict.startswith("Guess: Yes"))
        for i, r in enumerate(rows)
        for k, verdict in enumerate(r["self_SC"] + r["perb_SC"], start=1)
    ]
    trees = answer_trees(answers, questions)
    quality = pair_quality([tree.cut(THRESHOLD) for tree in trees], pairs)
    assert quality.f1 >= 0.9 > quality.all_same_f1
    for half in (0, 1):  # a threshold chosen on one half of the questions is judged on the other
        own, others = ([p for p in pairs if (p[0] % 2 == half) is is_own] for is_own in (True, False))
        found = {at: pair_quality([tree.cut(at) for tree in trees], own).f1 for at in np.arange(0.1, 0.7, 0.025)}
        chosen = max(found, key=found.__getitem__)
        assert pair_quality([tree.cut(chosen) for tree in trees], others).f1 >= 0.9
