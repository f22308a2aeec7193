"""Every check between data and evidence: its note, its block, what overrides it, and what it must let pass."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2_contingency

from helpers.outcomes import dataset_of, keys_of, outcomes
from richter.claims import METRICS, Blocked, Outcomes, Question, decide
from richter.evidence import CHECKS, Policy, RaterShares, evidence, run_checks
from richter.records import Item, Verdict, of_kind
from richter.tables import Dataset, read_tables

PAIR = Question(measure="accuracy", conditions=("a", "b"))
SEVERITY = Question(measure="mean_severity", conditions=("a", "b"))


def grades(n: int = 100, conditions: int = 2, *, seed: int = 0) -> Outcomes:
    """Right or wrong at random, 60%."""
    return outcomes((np.random.default_rng(seed).random((n, conditions)) < 0.6).astype(float))


def severities(n: int = 100, *, seed: int = 0) -> Outcomes:
    rng = np.random.default_rng(seed)
    return outcomes(np.where(rng.random((n, 2)) < 0.4, rng.integers(1, 9, (n, 2)) / 2, 0.0), "mean_severity")


def block_of(dataset: Dataset, question: Question = PAIR, **policy: Any) -> Blocked | None:
    """What blocks a question, which must be the same from the checks and from the evidence."""
    block = run_checks(dataset, question, Policy(**policy)).block
    asked = evidence(dataset, question, Policy(**policy)).evidence
    assert (asked if isinstance(asked, Blocked) else None) == block
    return block


def notes_of(dataset: Dataset, question: Question = PAIR, **policy: Any) -> tuple[str, ...]:
    return evidence(dataset, question, Policy(**policy)).notes


def test_data_without_any_fault_pass_every_check_without_a_note() -> None:
    dataset = dataset_of(grades())
    assert [check(dataset, PAIR, Policy()).block for check in CHECKS] == [None] * len(CHECKS)
    assert notes_of(dataset) == ()


@pytest.mark.parametrize("absent", [False, True])
def test_a_board_that_asks_once_finds_what_every_check_finds_of_each_pair(absent: bool) -> None:
    values = grades(40, 4).value.reshape(40, 4)
    values[:25, 3] = np.nan if absent else values[:25, 3]
    dataset, policy = dataset_of(outcomes(values)), Policy(min_shared=0.9)
    for pair in itertools.permutations("abcd", 2):
        question = Question(measure="accuracy", conditions=pair)
        each = [check(dataset, question, policy) for check in CHECKS]
        block = next((one.block for one in each if one.block), None)
        assert run_checks(dataset, question, policy).block == block
        assert (block is not None) == (absent and "d" in pair)


# ------------------------------------------------------------------ reading


def test_a_reading_that_nobody_confirmed_is_noted_and_blocks_a_gate() -> None:
    dataset = dataset_of(grades(), is_confirmed=False)
    assert block_of(dataset) is None
    assert len(notes_of(dataset)) == 1
    block = block_of(dataset, is_gate=True)
    assert block is not None
    assert (block.gate, block.override) == ("reading", "--trust-reading")
    assert block.remedy
    assert block_of(dataset, is_gate=True, trust_reading=True) is None
    assert len(notes_of(dataset, is_gate=True, trust_reading=True)) == 1
    assert block_of(dataset_of(grades()), is_gate=True) is None


# ------------------------------------------------------------------ shared items


@pytest.mark.parametrize(("shared", "blocks"), [(49, True), (50, False)])
def test_the_least_share_that_is_asked_for_is_enough_by_hand(shared: int, blocks: bool) -> None:
    """100 items in all, of which both have 49 or 50: at least 50% are asked for."""
    table = grades().value.reshape(100, 2).copy()
    table[shared : shared + (100 - shared) // 2, 0] = np.nan
    table[shared + (100 - shared) // 2 :, 1] = np.nan
    dataset = dataset_of(outcomes(table))
    block = block_of(dataset)
    assert (block is not None) is blocks
    if block is not None:
        assert (block.gate, block.override) == ("shared", "--min-shared")
        assert "49 of 100" in block.reason
        assert block_of(dataset, min_shared=0.49) is None
        assert block_of(dataset, unpaired=True) is None


def test_a_condition_without_a_value_is_untestable() -> None:
    table = grades(conditions=3).value.reshape(100, 3).copy()
    table[:, 2] = np.nan
    block = block_of(dataset_of(outcomes(table)), Question(measure="accuracy", conditions=("a", "c")))
    assert block is not None
    assert block.gate is None
    assert "c has no question" in block.reason


def test_conditions_that_share_no_item_are_compared_unpaired_with_a_note() -> None:
    table = np.full((100, 2), np.nan)
    table[:50, 0] = table[50:, 1] = 1.0
    table[:20, 0] = 0.0
    dataset = dataset_of(outcomes(table))
    assert block_of(dataset) is None
    assert any("no graded question in common" in note for note in notes_of(dataset))
    asked = evidence(dataset, PAIR)
    assert asked.known.sides == (50, 50)
    assert asked.known.as_worst is None  # each has items of its own


# ------------------------------------------------------------------ alignment


def with_texts(shift: int) -> Dataset:
    """Two conditions whose ids stand for the same questions, or (shifted) for others."""
    made = grades()
    asked = {
        name: {item: Item(id=item, prompt=f"question {(k + by) % 100}", reference="x")
               for k, item in enumerate(made.items)}
        for name, by in (("a", 0), ("b", shift))
    }  # fmt: skip
    return dataset_of(made, asked=asked)


def test_ids_that_stand_for_other_questions_block_a_pair() -> None:
    assert block_of(with_texts(0)) is None
    block = block_of(with_texts(1))
    assert block is not None
    assert (block.gate, block.override) == ("items", "--trust-ids")
    assert block_of(with_texts(1), trust_ids=True) is None
    assert block_of(with_texts(1), unpaired=True) is None
    assert block_of(with_texts(1), Question(measure="accuracy", conditions=("a",))) is None  # one is not paired


@pytest.mark.parametrize(("shift", "blocks"), [(0, False), (1, True)])
def test_other_questions_under_the_same_ids_of_one_table_block_a_pair(shift: int, blocks: bool) -> None:
    """The first text of an id was taken for every condition's."""
    rng = np.random.default_rng(1)
    rows = [
        {"id": i, "model": name, "question": f"What is the capital of place {(i + own) % 60}?", "correct": grade}
        for name, own in (("old", 0), ("new", shift))
        for i, grade in enumerate(rng.integers(0, 2, 60).tolist())
    ]
    question = Question(measure="accuracy", conditions=("old", "new"))
    block = block_of(read_tables(pl.DataFrame(rows)), question)
    assert (block is not None and block.gate == "items") == blocks


def test_alignment_is_told_by_all_conditions_of_the_source() -> None:
    """Two of three files agree; of the pair alone nobody could say which one is out of order, but it still blocks."""
    made = grades(conditions=3)
    asked = {
        name: {item: Item(id=item, prompt=f"question {(k + by) % 100}", reference="x")
               for k, item in enumerate(made.items)}
        for name, by in (("a", 0), ("b", 0), ("c", 1))
    }  # fmt: skip
    whole = dataset_of(made, asked=asked)
    for pair, is_blocked in ((("a", "b"), False), (("a", "c"), True), (("b", "c"), True)):
        block = block_of(whole.select(pair), Question(measure="accuracy", conditions=pair))
        assert (block is not None) is is_blocked


# ------------------------------------------------------------------ raters


def by_raters(rater: Any, n: int = 100, kind: str = "judge") -> Dataset:
    return dataset_of(severities(n), rater=rater, kind=kind)


def test_raters_who_rated_one_condition_each_block_a_pair() -> None:
    dataset = by_raters(lambda item, condition, draw: f"judge {condition}")
    block = block_of(dataset, SEVERITY)
    assert block is not None
    assert (block.gate, block.override) == ("raters", "--trust-raters")
    assert "no rater rated both" in block.reason
    for measure in ("catastrophic_rate", "severity_given_error"):
        other = block_of(dataset, Question(measure=measure, conditions=("a", "b")))
        assert other is not None
        assert other.gate == "raters"
    assert not isinstance(evidence(dataset, SEVERITY, Policy(trust_raters=True)).evidence, Blocked)
    assert any("--trust-raters" in note for note in notes_of(dataset, SEVERITY, trust_raters=True))
    assert block_of(dataset, Question(measure="mean_severity", conditions=("a",))) is None


def unlike_rater(item: str, condition: str, draw: int) -> str:
    """90 to 10 against 10 to 90."""
    is_tenth = int(item[1:]) % 10 == 0
    return "lenient" if is_tenth == (condition == "a") else "strict"


def test_raters_shared_in_unlike_shares_are_compared_within_by_hand() -> None:
    dataset = by_raters(unlike_rater, 400)
    assert block_of(dataset, SEVERITY) is None
    found = evidence(dataset, SEVERITY)
    assert any("raters differ between the two" in note for note in found.notes)
    rows = dataset.ratings.group_by("rater", "condition").agg(pl.col("severity").mean(), pl.len())
    mean = {(r, c): m for r, c, m, _ in rows.iter_rows()}
    gaps = [mean[r, "b"] - mean[r, "a"] for r in ("lenient", "strict")]  # 40 x 360 and 360 x 40: they weigh alike
    assert found.known.estimate == pytest.approx(np.mean(gaps))
    assert found.known.interval(0.95).method == "t, within raters"


@pytest.mark.parametrize(("missing", "blocks"), [(None, True), ("both-ways", True), ("at-random", False)])
def test_missing_severities_are_not_compared_within_raters(missing: str | None, blocks: bool) -> None:
    """Nothing counts them at the worse end there. A policy that says nothing counts them both ways."""
    table = severities(400).value.reshape(400, 2).copy()
    table[7, 1] = np.nan
    dataset = dataset_of(outcomes(table, "mean_severity"), rater=unlike_rater, kind="judge")
    block = block_of(dataset, SEVERITY, missing=missing)
    assert (None if block is None else block.gate) == ("raters" if blocks else None)
    if block is not None:
        assert "--missing at-random" in block.remedy
        assert "(a by strict: 360, lenient: 40 and b by lenient: 359, strict: 40)" in block.reason


@pytest.mark.parametrize("measure", ["severity_given_error", "mean_severity"])
def test_what_is_not_compared_within_raters_is_blocked(measure: str) -> None:
    """Of 100 items a rater has 10 of one condition: too few; and only means are compared within."""
    dataset = by_raters(unlike_rater, 100 if measure == "mean_severity" else 400)
    block = block_of(dataset, Question(measure=measure, conditions=("a", "b")))
    assert block is not None
    assert block.gate == "raters"
    assert "raters differ between the two" in block.reason


@pytest.mark.parametrize("n", [20, 100, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_raters_assigned_at_random_or_evenly_never_block(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = {(f"q{k:04d}", name): f"rater {rng.integers(4)}" for k in range(n) for name in "ab"}
    for rater in (
        lambda item, condition, draw: chosen[item, condition],  # at random, by answer
        lambda item, condition, draw: chosen[item, "a"],  # at random, by item
        lambda item, condition, draw: f"rater {int(item[1:]) % 4}",
    ):
        assert block_of(by_raters(rater, n), SEVERITY) is None


def test_few_answers_by_unlike_raters_do_not_block_by_hand() -> None:
    """4 and 4 ratings by two raters, 3:1 against 1:3: apart by half, and chi-square gives p = 0.16."""
    table = severities(4)
    dataset = dataset_of(
        table, kind="judge", rater=lambda item, condition, _: "x" if (int(item[1:]) == 0) != (condition == "a") else "y"
    )
    assert run_checks(dataset, SEVERITY, Policy()).block is None


def test_shares_of_raters_are_tested_against_scipy() -> None:
    for first, second in (({"A": 30, "B": 10}, {"A": 20, "B": 25}), ({"A": 9}, {"B": 7, "C": 2}),
                          ({"A": 30, "B": 10, "C": 1}, {"C": 40, "A": 3})):  # fmt: skip
        names = sorted({*first, *second})
        table = [[of.get(name, 0) for name in names] for of in (first, second)]
        found = RaterShares(first=first, second=second).independence_p
        assert found == pytest.approx(chi2_contingency(table, correction=False).pvalue, rel=1e-9)


@pytest.mark.parametrize(("alone", "blocks"), [(80, False), (81, True)])
def test_twenty_ratings_of_both_conditions_are_enough_to_compare_within_by_hand(alone: int, blocks: bool) -> None:
    """Of 100 ratings each the rater of both has 20, and 19."""

    def rater(item: str, condition: str, _: int) -> str:
        return condition if int(item[1:]) < alone else "both"

    dataset = dataset_of(severities(), rater=rater, kind="human")
    assert (run_checks(dataset, SEVERITY, Policy()).block is not None) is blocks


def test_a_table_s_own_severities_have_no_raters_to_differ() -> None:
    assert block_of(by_raters(lambda item, condition, draw: condition, kind="given"), SEVERITY) is None


def test_grades_that_do_not_come_from_raters_are_not_blocked_by_them() -> None:
    """Accuracy from a column of its own beside severities by unlike raters."""
    dataset = dataset_of(grades(), severities(), kind="judge", rater=lambda item, condition, draw: condition)
    assert block_of(dataset) is None
    assert block_of(dataset, SEVERITY) is not None
    from_raters = dataclasses.replace(dataset, scored_by=())  # right and wrong follow from the ratings
    block = block_of(from_raters)
    assert block is not None
    assert block.gate == "raters"


# ------------------------------------------------------------------ human labels


def labelled(kind: str) -> Dataset:
    """Half of the answers labelled: by stratum, with stated chances, or by stratum that only they have."""
    made = grades(200)
    half = (made.item + made.condition) % 2 == 0
    made = dataclasses.replace(made, label=np.where(half, made.value, np.nan), judges=("gpt-judge",))
    if kind in ("strata", "partly"):
        dataset = dataset_of(dataclasses.replace(made, layer=made.value.astype(np.intp)))
        unknown = pl.col("human").is_null() & pl.lit(kind == "partly")
        layer = pl.when(unknown).then(None).otherwise(pl.col("layer")).alias("layer")
        return dataclasses.replace(dataset, answers=dataset.answers.with_columns(layer))
    chance = {key: 0.2 + 0.6 * made.value[k] for k, key in enumerate(keys_of(made)) if kind == "chances" or half[k]}
    return dataset_of(made, inclusion=None if kind == "plain" else chance)


def test_labels_whose_design_is_known_only_in_part_block() -> None:
    block = block_of(labelled("partly"))
    assert block is not None
    assert (block.gate, block.override) == ("labels", "--trust-labels")
    trusted = evidence(labelled("partly"), PAIR, Policy(trust_labels=True))
    assert trusted.known.labels == 200
    assert any("--trust-labels" in note for note in trusted.notes)
    for question in (Question(measure="accuracy", conditions=("a",)), Question(measure="ece", conditions=("a",))):
        single = run_checks(labelled("partly"), question, Policy()).block
        assert single is not None
        assert single.gate == "labels"


@pytest.mark.parametrize("kind", ["strata", "chances", "chances of labels", "plain"])
def test_labels_with_their_design_correct_and_do_not_block(kind: str) -> None:
    dataset = labelled(kind)
    assert block_of(dataset) is None
    assert evidence(dataset, PAIR).known.labels == 200
    assert evidence(dataset, PAIR).known.judged == ""


# ------------------------------------------------------------------ groupings


def test_two_groupings_block_what_allows_for_one() -> None:
    made = dataclasses.replace(grades(120), group=np.arange(120) // 6, stratum=np.arange(120) // 60, strata=("u", "v"))
    both = dataset_of(made, group_2=[f"t{k % 6}" for k in range(120)])
    assert block_of(both) is None  # a mean of plain pairs allows for both
    confidence = dict.fromkeys(keys_of(made), 0.7)
    sure = dataset_of(made, group_2=[f"t{k % 6}" for k in range(120)], confidence=confidence)
    for block in (
        block_of(sure, Question(measure="ece", conditions=("a", "b"))),
        block_of(both, unpaired=True),
        block_of(both, Question(measure="accuracy", conditions=("a", "b"), column="domain", part="u")),
    ):
        assert block is not None
        assert block.gate == "groups"
        assert block.override
    one = dataset_of(made, confidence=confidence)
    assert block_of(one, Question(measure="ece", conditions=("a", "b"))) is None


def test_costs_that_two_groupings_hold_are_blocked() -> None:
    """Totals allow for one grouping; the other was dropped without a word."""
    amounts = outcomes(np.random.default_rng(1).lognormal(size=(120, 2)), "money")
    grouped = dataclasses.replace(amounts, group=np.arange(120) % 10)
    both = dataset_of(grouped, group_2=[f"t{k % 6}" for k in range(120)])
    block = block_of(both, Question(measure="money", conditions=("a", "b")))
    assert block is not None
    assert block.gate == "groups"
    assert block_of(dataset_of(grouped), Question(measure="money", conditions=("a", "b"))) is None


def test_few_groups_and_a_large_one_are_named_with_a_kind() -> None:
    group = np.concatenate([np.zeros(40, dtype=int), 1 + np.arange(120) // 5])
    made = dataclasses.replace(grades(160), group=group)
    notes = notes_of(dataset_of(made))
    assert [getattr(note, "kind", "") for note in notes] == ["large group"]
    assert "g0 holds 25%" in notes[0]
    few = dataclasses.replace(grades(160), group=np.arange(160) // 16)
    for gate in (False, True):
        assert of_kind(notes_of(dataset_of(few), is_gate=gate), "few groups")
    assert "up to 26%" in notes_of(dataset_of(few))[0]  # 1 - 0.05^(1/10)
    even = dataclasses.replace(grades(160), group=np.arange(160) // 4)
    assert notes_of(dataset_of(even)) == notes_of(dataset_of(grades(160))) == ()
    crossed = dataset_of(even, group_2=[f"t{k % 12}" for k in range(160)])
    assert "only 12 groups" in notes_of(crossed)[0]
    heavy = dataclasses.replace(even, weight=np.where(np.arange(160) < 4, 20.0, 1.0))
    assert "g0 holds 34%" in notes_of(dataset_of(heavy))[0]


def test_a_subset_counts_its_own_groups() -> None:
    made = dataclasses.replace(
        grades(160), group=np.arange(160) // 4, stratum=(np.arange(160) >= 40).astype(int), strata=("u", "v")
    )
    one = Question(measure="accuracy", conditions=("a", "b"), column="domain", part="u")
    assert "only 10 groups" in notes_of(dataset_of(made), one)[0]


# ------------------------------------------------------------------ missing grades


def test_missing_grades_are_noted_by_kind_and_block_what_has_no_worst_value() -> None:
    made = grades(200)
    confidence = dict.fromkeys(keys_of(made), 0.7)
    kept = np.ones(400, dtype=bool)
    kept[1:20:2] = False  # ten of b's
    less = dataclasses.replace(
        made, **{name: getattr(made, name)[kept] for name in ("item", "condition", "value", "draw")}
    )
    dataset = dataset_of(less, confidence=confidence, failed=[("q0000", "b", 0)], ungraded=[("q0001", "b", 0)])
    assert block_of(dataset) is None
    note = "b lacks 10 grades (1 failed call, 1 not graded, 8 absent)"
    assert notes_of(dataset) == (note,)
    ece = Question(measure="ece", conditions=("a", "b"))
    block = block_of(dataset, ece)
    assert block is not None
    assert (block.gate, block.override) == ("missing", "--missing at-random")
    assert note in block.reason
    for missing in ("at-random", "shared"):
        assert block_of(dataset, ece, missing=missing) is None
        first, second = notes_of(dataset, missing=missing)
        assert first == note
        assert f"--missing {missing}" in second
        assert evidence(dataset, PAIR, Policy(missing=missing)).known.as_worst is None  # type: ignore[arg-type]


@pytest.mark.parametrize(("lost", "blocks"), [(4, False), (5, True)])
def test_up_to_one_in_a_hundred_missing_leaves_what_has_no_worst_value_by_hand(lost: int, blocks: bool) -> None:
    """200 items of two conditions: 4 of 400 are 1%."""
    made = grades(200)
    kept = ~((made.condition == 1) & (made.item < lost))
    less = dataclasses.replace(
        made, **{name: getattr(made, name)[kept] for name in ("item", "condition", "value", "draw")}
    )
    dataset = dataset_of(less, confidence=dict.fromkeys(keys_of(made), 0.7))
    block = block_of(dataset, Question(measure="ece", conditions=("a", "b")))
    assert (block is not None) is blocks


def test_a_missing_grade_counts_in_the_run_that_lacks_it() -> None:
    """Run s0 of b lacks ten of 50: at the worse end they are wrong there, and the three other runs stay as they are."""
    rng = np.random.default_rng(0)
    table = (rng.random((50, 2, 4)) < 0.6).astype(float)
    table[:10, 1, 0] = np.nan
    made = outcomes(table)
    made = dataclasses.replace(made, run=made.draw, runs=("s0", "s1", "s2", "s3"))
    asked = evidence(dataset_of(made), PAIR).known
    filled = np.nan_to_num(table)
    whole = dataclasses.replace(outcomes(filled), run=outcomes(filled).draw, runs=made.runs)
    assert asked.as_worst is not None
    want = evidence(dataset_of(whole), PAIR).known
    assert asked.as_worst.interval(0.95) == want.interval(0.95)
    assert want.unit == "run"


def test_runs_block_what_does_not_allow_for_them() -> None:
    made = outcomes(np.tile([[1.0], [2.0], [0.0]], (30, 2, 4)), "mean_severity")
    made = dataclasses.replace(made, run=made.draw, runs=("s0", "s1", "s2", "s3"))
    for measure, gate in (("b", "runs"), ("graver_error", "runs"), ("severity_given_error", None)):
        block = block_of(dataset_of(made), Question(measure=measure, conditions=("a", "b")))
        assert (None if block is None else block.gate) == gate
    label = np.where(np.arange(len(made.item)) % 3 == 0, made.value, np.nan)
    block = block_of(
        dataset_of(dataclasses.replace(made, label=label)), Question(measure="mean_severity", conditions=("a", "b"))
    )
    assert block is not None
    assert (block.gate, block.override) == ("runs", "--map draw=COLUMN")


# ------------------------------------------------------------------ all together


def test_the_first_check_that_blocks_gives_its_block_and_the_notes_up_to_it() -> None:
    dataset = dataclasses.replace(with_texts(1), is_confirmed=False)
    finding = run_checks(dataset, PAIR, Policy())
    assert finding.block is not None
    assert finding.block.gate == "items"
    assert len(finding.notes) == 1  # of the reading
    asked = evidence(dataset, PAIR)
    assert (asked.evidence, asked.notes) == (finding.block, finding.notes)
    (claim,) = decide([asked])
    assert (claim.verdict, claim.blocked_by, claim.override) == (Verdict.BLOCKED, "items", "--trust-ids")


def test_what_the_data_do_not_hold_is_untestable_with_the_reason() -> None:
    asked = evidence(dataset_of(grades()), SEVERITY)
    assert isinstance(asked.evidence, Blocked)
    assert asked.evidence.gate is None
    assert asked.evidence.reason
    (claim,) = decide([asked])
    assert claim.verdict is Verdict.UNTESTABLE


# ------------------------------------------------------------------ range


@pytest.mark.parametrize(("measure", "value", "blocks"), [
    ("latency", -0.5, True), ("latency", 0.0, False), ("latency", 1e9, False), ("money", -1e-9, True),
    ("mean_score", 0.0, False), ("mean_score", 1.0, False), ("mean_score", 1.01, True), ("mean_score", -0.01, True),
])  # fmt: skip
def test_a_value_outside_the_range_of_its_row_blocks_by_hand(measure: str, value: float, blocks: bool) -> None:
    table = np.random.default_rng(0).random((40, 2))
    table[7, 1] = value
    row = dataclasses.replace(METRICS[measure], low=0.0, high=1.0 if measure == "mean_score" else None)
    block = block_of(dataset_of(dataclasses.replace(outcomes(table, measure), metric=row)), Question(
        measure=measure, conditions=("a", "b")
    ))  # fmt: skip
    assert (block is not None) is blocks
    if block is not None:
        assert block.gate == "range"
        assert "q0007 of b" in block.reason
        assert "more" not in block.reason
        assert block.remedy
        assert not block.override
