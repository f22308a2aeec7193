import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from richter.errors import InputError
from richter.floors import compare, paired_gap_labels
from richter.records import Verdict


def grades(rng: np.random.Generator, n: int, levels: list[float], spread: float = 1.0) -> np.ndarray:
    """Simulated grades: an item's difficulty is shared, so that conditions fail on the same items."""
    difficulty = rng.normal(size=(n, 1))
    return (rng.normal(size=(n, len(levels))) * spread + np.array(levels) > difficulty).astype(float)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("levels", [[0.0, 1.0], [1.0, 0.0]])
def test_sentence_sign_and_verdict_agree(rng: np.random.Generator, levels: list[float], directed: bool) -> None:
    result = compare(grades(rng, 800, levels), rng=rng, names=["old", "new"], directed=directed)
    finding = result.pairs[0].accuracy
    improves = levels[1] > levels[0]
    assert (finding.gap.delta > 0) == improves
    assert ("new is more accurate than old" in finding.sentence) == improves
    assert ("new is less accurate than old" in finding.sentence) == (not improves)
    expected = Verdict.REFUTED if directed and not improves else Verdict.VERIFIED
    assert finding.verdict is expected


def test_delta_is_b_minus_a_by_hand(rng: np.random.Generator) -> None:
    correct = np.array([[1, 1]] * 50 + [[1, 0]] * 5 + [[0, 1]] * 25 + [[0, 0]] * 20, dtype=float)
    row = compare(correct, rng=rng, names=["a", "b"]).to_dict()
    pair = row["pairs"][0]
    assert pair["n_paired"] == 100
    assert pair["accuracy"]["delta"] == pytest.approx(0.20)
    assert (pair["accuracy"]["fixed"], pair["accuracy"]["broken"]) == (25, 5)
    # Var unpaired: .55 .45 + .75 .25 = .435; paired: .30 - .04 = .26
    assert pair["accuracy"]["worth_unpaired"] == pytest.approx(100 * 0.435 / 0.26)
    assert row["conditions"]["a"]["accuracy"] == pytest.approx(0.55)
    assert pair["accuracy"]["verdict"] == "verified"
    assert pair["accuracy"]["labels_needed"] is None
    assert row["groups"] == [["b"], ["a"]]


def test_names_that_are_relied_on(rng: np.random.Generator) -> None:
    correct = grades(rng, 300, [0.0, 0.1])
    row = compare(correct, rng=rng, names=["x", "y"], confidence=rng.random(correct.shape)).to_dict()
    assert {"n", "error_rate", "accuracy", "ece", "lipschitz", "floor", "warnings"} <= row["conditions"]["x"].keys()
    pair = row["pairs"][0]
    assert {"a", "b", "n_paired", "accuracy", "calibration"} <= pair.keys()
    for metric in ("accuracy", "calibration"):
        assert {"delta", "interval", "p", "q", "verdict", "labels_needed"} <= pair[metric].keys()
    assert pair["accuracy"]["verdict"] == "undecided"
    assert pair["accuracy"]["labels_needed"] > 300


def test_a_finding_for_reports_says_the_same(rng: np.random.Generator) -> None:
    gap = compare(grades(rng, 200, [0.0, 0.05]), rng=rng, names=["x", "y"]).pairs[0].accuracy
    finding = gap.to_finding()
    assert (str(finding), finding.verdict, finding.n) == (gap.sentence, gap.verdict, 200)
    assert finding.estimate == gap.gap.delta
    assert finding.needed == gap.gap.labels_needed


def test_margin_gives_equivalent_and_sizes_for_the_margin(rng: np.random.Generator) -> None:
    many = grades(rng, 20_000, [1.0, 1.0], spread=0.3)
    finding = compare(many, rng=rng, margin=0.03).pairs[0].accuracy
    assert finding.verdict is Verdict.EQUIVALENT
    assert "within 3.0 points" in finding.sentence
    few = many[:200]
    # Labels are for the margin: two samples whose observed gaps differ ask for the same order of labels.
    asked = [
        compare(few[order], rng=rng, margin=0.03).pairs[0].accuracy.gap for order in (slice(0, 100), slice(100, 200))
    ]
    for gap in asked:
        assert gap.labels_needed_for == 0.03
        discordance = (gap.detail["fixed"] + gap.detail["broken"]) / gap.n
        both = [paired_gap_labels(0.03, discordance, equivalence=way) for way in (False, True)]
        assert gap.labels_needed == max(both)


def test_tried_multiplies_the_p_value(rng: np.random.Generator) -> None:
    correct = np.array([[1, 1]] * 70 + [[1, 0]] * 5 + [[0, 1]] * 16 + [[0, 0]] * 9, dtype=float)
    once = compare(correct, rng=rng).pairs[0].accuracy
    often = compare(correct, rng=rng, tried=12).pairs[0].accuracy
    assert once.verdict is Verdict.VERIFIED
    assert often.verdict is Verdict.UNDECIDED
    assert often.p_familywise == pytest.approx(min(1, 12 * once.p_familywise))
    assert often.gap.interval.level == pytest.approx(1 - 0.05 / 12)
    assert often.gap.interval.half_width > once.gap.interval.half_width


@pytest.mark.slow
def test_family_wise_error_recovers_truth() -> None:
    # Eight equally good simulated conditions, 28 pairs: any pair told apart is a false claim. 120 boards at 5%: the
    # binomial 99.9% limit is 14; Holm over correlated exact tests is conservative, so well below.
    rng = np.random.default_rng(5)
    false = 0
    for _ in range(120):
        both = grades(rng, 150, [0.7] * 8)
        outcome = compare(both, rng=rng, n_resamples=100)
        false += any(p.accuracy.verdict is Verdict.VERIFIED for p in outcome.pairs)
    assert false <= 14


def test_groups_are_sets_in_which_no_pair_is_told_apart(rng: np.random.Generator) -> None:
    result = compare(grades(rng, 400, [0, 0.15, 0.3, 0.45, 0.6, 1.5]), rng=rng)
    apart = {frozenset((p.a, p.b)) for p in result.pairs if p.accuracy.verdict is Verdict.VERIFIED}
    names = {c.name for c in result.conditions}
    assert set().union(*result.groups) == names
    for members in result.groups:
        assert not any(frozenset((x, y)) in apart for x in members for y in members if x != y)
        for other in names - set(members):
            assert any(frozenset((other, x)) in apart for x in members)


def test_missing_items_are_paired_counted_and_shown_as_wrong(rng: np.random.Generator) -> None:
    correct = grades(rng, 1000, [0.8, 0.8])
    hard = np.flatnonzero(correct[:, 0] == 0)[:150]
    correct[hard, 1] = np.nan  # b skips items that a got wrong
    result = compare(correct, rng=rng, names=["a", "b"])
    pair = result.pairs[0]
    assert pair.n_paired == 850
    assert pair.items["only_a"] == 150
    assert pair.items["dropped_from_a"]["harder"]
    # b skipped what a had wrong, so as wrong answers these 150 are even, and the gap shrinks by 850 / 1,000
    assert pair.items["missing_as_wrong"]["delta"] == pytest.approx(0.85 * pair.accuracy.gap.delta)
    with pytest.raises(InputError):
        compare(correct, rng=rng, min_shared=2)
    refused = compare(correct, rng=rng, names=["a", "b"], min_shared=0.9)
    assert not refused.pairs
    assert "850 of 1000" in refused.refused[0].reason


def test_failed_calls_are_never_graded_as_wrong(rng: np.random.Generator) -> None:
    correct = grades(rng, 500, [1.0, 1.0])
    failed = np.zeros(correct.shape, dtype=bool)
    failed[:100, 1] = True
    whole = compare(correct, rng=rng).conditions[1]
    correct[failed] = np.nan
    part = compare(correct, rng=rng, failed=failed).conditions[1]
    assert (part.failed, part.missing, part.n) == (100, 0, 400)
    assert whole.error_rate is not None
    assert part.error_rate == pytest.approx(whole.error_rate, abs=0.05)
    assert "100 of 500 calls failed" in part.warnings[0]


def test_condition_whose_every_row_failed_is_untestable(rng: np.random.Generator) -> None:
    correct = grades(rng, 100, [1.0, 1.0, 1.0])
    correct[:, 2] = np.nan
    failed = np.zeros(correct.shape, dtype=bool)
    failed[:, 2] = True
    result = compare(correct, rng=rng, failed=failed, names=["a", "b", "dead"])
    row = result.to_dict()["conditions"]["dead"]
    assert row["error_rate"] is None
    assert row["warnings"][0] == "untestable: every row failed"
    assert [r.reason for r in result.refused] == ["untestable: dead has no graded item"] * 2
    assert all("dead" not in members for members in result.groups)


def test_zero_errors_give_a_bound(rng: np.random.Generator) -> None:
    correct = np.ones((299, 1))
    row = compare(correct, rng=rng, confidence=rng.uniform(0.5, 1, size=(299, 1))).conditions[0]
    assert row.error_rate == 0
    assert row.error_interval is not None
    assert row.error_interval.high == pytest.approx(1 - 0.05 ** (1 / 299))
    assert row.floor is not None
    assert row.floor > 0
    assert any("at most 0.01" in w for w in row.warnings)
    assert any("extracted" in w for w in row.warnings)


def test_misaligned_items_stop_the_pair(rng: np.random.Generator) -> None:
    correct = grades(rng, 2000, [1.0, 1.0])
    correct[:, 1] = np.roll(correct[:, 1], 3)
    result = compare(correct, rng=rng, names=["a", "b"])
    assert not result.pairs
    assert "misaligned" in result.refused[0].reason
    assert "moved by +3 rows" in result.refused[0].reason


def test_flags(rng: np.random.Generator) -> None:
    correct = grades(rng, 200, [0.5, 0.5])
    correct[:, 1] = correct[:, 0]
    confidence = np.repeat(rng.uniform(0.3, 0.8, size=(200, 1)), 2, axis=1)
    assert "identical runs" in compare(correct, rng=rng, confidence=confidence).pairs[0].flags[0]
    confidence[:, 1] += 0.1
    assert "constant shift" in compare(correct, rng=rng, confidence=confidence).pairs[0].flags[0]


@pytest.mark.parametrize(("value", "words"), [(0.25, "number of options"), (0.9, "every confidence is 0.9")])
def test_uninformative_confidence_is_named(rng: np.random.Generator, value: float, words: str) -> None:
    correct = grades(rng, 100, [0.5])
    row = compare(correct, rng=rng, confidence=np.full(correct.shape, value)).conditions[0]
    assert any(words in w for w in row.warnings)


def test_groups_of_items_widen_the_interval(rng: np.random.Generator) -> None:
    base = grades(rng, 60, [0.5, 0.8])
    correct = np.repeat(base, 10, axis=0)
    groups = np.repeat(np.arange(60), 10)
    alone = compare(correct, rng=rng).pairs[0].accuracy
    grouped = compare(correct, rng=rng, groups=groups).pairs[0].accuracy
    ones = compare(correct, rng=rng, groups=np.arange(600)).pairs[0].accuracy
    assert grouped.gap.interval.half_width > 2.5 * alone.gap.interval.half_width
    assert grouped.gap.detail["n_groups"] == 60
    assert ones.gap.detail["method"] == "mcnemar exact"  # groups of one cluster nothing


def test_same_seed_same_bits(rng: np.random.Generator) -> None:
    correct = grades(rng, 300, [0.0, 0.3, 0.6])
    confidence = rng.random(correct.shape)
    one, two = (compare(correct, rng=np.random.default_rng(3), confidence=confidence).to_dict() for _ in range(2))
    assert one == two


@given(st.integers(5, 60), st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_order_of_items_does_not_matter(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    correct = grades(rng, n, [0.0, 0.5])
    order = rng.permutation(n)
    one = compare(correct, rng=rng, n_resamples=100).pairs[0].accuracy
    two = compare(correct[order], rng=rng, n_resamples=100).pairs[0].accuracy
    assert (one.gap.delta, one.gap.p, one.gap.interval) == (two.gap.delta, two.gap.p, two.gap.interval)


@pytest.mark.parametrize(
    "bad",
    [np.zeros((0, 2)), np.zeros(5), np.full((4, 2), 2.0)],
)
def test_bad_matrices_are_refused(rng: np.random.Generator, bad: np.ndarray) -> None:
    with pytest.raises(InputError):
        compare(bad, rng=rng)
