"""Conditions in one order are told from those in another; what cannot be seen is never refused."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import hypergeom

from helpers.outcomes import outcomes
from richter.claims import Alignment, Outcomes, check_alignment
from richter.claims._alignment import _agreement, _exact

Matrix = np.ndarray


def from_matrix(x: Matrix, metric: str = "accuracy", **more: object) -> Outcomes:
    names = {"conditions": tuple(f"m{k}" for k in range(x.shape[1]))}
    return outcomes(x, metric, **(names | more))


def graded(rng: np.random.Generator, n: int, ability: list[float], spread: float = 1.5) -> Matrix:
    """Grades of conditions that fail on the same hard items."""
    hard = rng.normal(0, spread, size=(n, 1))
    return (rng.random((n, len(ability))) < 1 / (1 + np.exp(hard - np.array(ability)))).astype(float)


def two_options(rng: np.random.Generator, n: int, number: int, habit: float, spread: float) -> Matrix:
    """Grades on a choice of two, where each condition prefers one place by its own habit."""
    place = rng.choice([-1.0, 1.0], size=(n, 1))
    able = np.maximum(rng.normal(1.0, 0.7, size=(1, number)), 0)
    logit = able - rng.normal(0, spread, size=(n, 1)) + place * rng.normal(0, habit, size=(1, number))
    return (rng.random((n, number)) < 1 / (1 + np.exp(-logit))).astype(float)


def refused(found: Alignment) -> set[str]:
    return {name for r in found.refused for name in r.conditions}


def test_the_p_of_agreement_against_scipy(rng: np.random.Generator) -> None:
    x = graded(rng, 120, [0.0, 0.5])
    n, a, b, both = 120, int(x[:, 0].sum()), int(x[:, 1].sum()), int(x[:, 0] @ x[:, 1])
    law = hypergeom(n, a, b)
    want = min(1.0, 2 * min(law.sf(both - 1), law.cdf(both)))
    assert _exact(((n, min(a, b), max(a, b)),), both) == pytest.approx(want, rel=1e-9)
    assert _agreement(x, None).phi[0, 1] == pytest.approx(np.corrcoef(x.T)[0, 1])


def test_the_p_within_groups_by_hand() -> None:
    # two groups of two items, one right in each: both right in both has chance 1/2 a group, so 1/4 for two
    assert _exact(((2, 1, 1), (2, 1, 1)), 2) == pytest.approx(0.5)
    assert _exact(((2, 1, 1), (2, 1, 1)), 1) == 1.0


def test_two_of_eight_in_another_order_are_one_line(rng: np.random.Generator) -> None:
    x = graded(rng, 1500, [0.2, 0.5, 0.8, 1.0, 1.2, 0.4, 0.9, 0.6])
    assert not check_alignment(from_matrix(x)).refused
    other = rng.permutation(len(x))
    x[:, [2, 3]] = x[other][:, [2, 3]]
    found = check_alignment(from_matrix(x))
    assert len(found.refused) == 1
    assert found.refused[0].conditions == ("m2", "m3")
    assert found.refused[0].reason.startswith("in another order than the other 6")
    assert "--trust-ids" in found.refused[0].reason
    assert frozenset(("m2", "m3")) not in found.apart
    assert frozenset(("m0", "m1")) not in found.apart
    assert frozenset(("m0", "m2")) in found.apart


def test_trusted_ids_refuse_nothing_and_say_so(rng: np.random.Generator) -> None:
    x = graded(rng, 1500, [0.2, 0.5, 0.8, 1.0, 1.2, 0.4])
    x[:, 4] = rng.permutation(x[:, 4])
    found = check_alignment(from_matrix(x), trust=True)
    assert not found.refused
    assert frozenset(("m0", "m4")) not in found.apart
    assert any("the IDs of m4 are trusted: in another order" in w for w in found.warnings)


def test_a_shift_is_named(rng: np.random.Generator) -> None:
    x = graded(rng, 1500, [0.2, 0.5, 0.8, 1.0, 1.2, 0.4])
    x[:, 1] = np.roll(x[:, 1], 2)
    reason = check_alignment(from_matrix(x), chance=0.25).refused[0].reason
    assert "moved by -2 rows" in reason


def test_a_shift_from_the_middle_on_is_found_where_ids_are_positions(rng: np.random.Generator) -> None:
    x = graded(rng, 2000, [0.2, 0.5, 0.8, 1.0, 1.2, 0.4], spread=2.0)
    x[1000:, 1] = np.roll(x[1000:, 1], 1)
    found = check_alignment(from_matrix(x), chance=0.25)
    assert refused(found) == {"m1"}
    assert "q1000 to q1999" in found.refused[0].reason
    names = tuple(f"{k * 7919 % 104_729:06x}" for k in range(2000))  # no positions: only the whole is judged
    assert not check_alignment(from_matrix(x, items=names), chance=0.25).refused


@pytest.mark.parametrize(("n", "columns"), [(100, 6), (1500, 2)])
def test_too_little_is_a_warning_never_a_refusal(rng: np.random.Generator, n: int, columns: int) -> None:
    x = graded(rng, n, [0.2, 0.5, 0.8, 1.0, 1.2, 0.4][:columns])
    x[:, 1] = rng.permutation(x[:, 1])
    found = check_alignment(from_matrix(x))
    assert not found.refused
    assert "m1" in found.unchecked
    assert any("assuming that question IDs match" in w and "m1" in w for w in found.warnings)


def test_near_chance_is_a_warning(rng: np.random.Generator) -> None:
    x = graded(rng, 3000, [0.2, 0.5, 0.8, 1.0, 1.2, 0.4])
    x[:, 0] = rng.random(3000) < 0.25
    found = check_alignment(from_matrix(x), chance=0.25)
    assert not found.refused
    assert found.unchecked == ("m0",)
    assert "near chance" in found.warnings[0]


@pytest.mark.parametrize("habit", [0.5, 1.5, 3.0])
def test_habits_of_position_are_never_refused(habit: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(12):
        x = two_options(rng, int(rng.choice([300, 2000])), int(rng.integers(3, 13)), habit, float(rng.choice([0.3, 1])))
        assert not check_alignment(from_matrix(x)).refused


def test_opposite_habits_prove_alignment(rng: np.random.Generator) -> None:
    place = rng.choice([-1.0, 1.0], size=(2000, 1))
    logit = 0.5 + place * np.array([2.0, -2.0])
    x = (rng.random((2000, 2)) < 1 / (1 + np.exp(-logit))).astype(float)
    assert np.corrcoef(x.T)[0, 1] < -0.3
    found = check_alignment(from_matrix(x))
    assert not found.refused
    assert not found.unchecked


def test_shuffles_within_subjects_are_seen(rng: np.random.Generator) -> None:
    # subjects differ in difficulty, so grades agree between subjects even where items within them are shuffled
    subject = np.repeat(np.arange(20), 200)
    hard = np.linspace(-2.5, 2.5, 20)[subject] + rng.normal(0, 2.0, len(subject))
    x = (rng.random((len(subject), 9)) < 1 / (1 + np.exp(hard[:, None] - 0.8))).astype(float)
    assert not check_alignment(from_matrix(x, group=subject)).refused
    for s in range(20):
        x[subject == s, 3] = rng.permutation(x[subject == s, 3])
    assert np.corrcoef(x[:, 3], x[:, 4])[0, 1] > 0.1
    assert refused(check_alignment(from_matrix(x, group=subject), chance=0.25)) == {"m3"}


def test_texts_decide() -> None:
    rng = np.random.default_rng(3)
    x = (rng.random((50, 3)) < 0.7).astype(float)  # far too few grades to tell
    texts = np.repeat(np.arange(50)[:, None], 3, axis=1)
    assert check_alignment(from_matrix(x), texts=texts) == Alignment(sets=(("m0", "m1", "m2"),))
    texts[:, 2] = np.roll(texts[:, 2], 1)
    found = check_alignment(from_matrix(x), texts=texts)
    assert refused(found) == {"m2"}
    assert found.refused[0].reason.startswith("another question stands under 50 of 50 IDs")
    texts[:, 2] = 1000 + np.arange(50)  # a template of its own says nothing: its grades are looked at
    found = check_alignment(from_matrix(x), texts=texts)
    assert not found.refused
    assert found.unchecked == ("m2",)


def test_few_texts_of_other_items_are_enough_and_reworded_ones_are_a_note() -> None:
    """Rendered prompts of which a few recur under another id hid that the ids were shifted."""
    rng = np.random.default_rng(4)
    x = (rng.random((500, 2)) < 0.7).astype(float)
    texts = np.stack([np.arange(500), 1000 + np.arange(500)], axis=1)  # every prompt is worded anew
    found = check_alignment(from_matrix(x), texts=texts)
    assert not found.refused
    assert any("different prompt text under 500 of 500 IDs" in line for line in found.warnings)
    for recurring, is_refused in ((5, False), (6, True)):  # 1% of 500
        again = texts.copy()
        again[:recurring, 1] = 100 + np.arange(recurring)  # of other items
        found = check_alignment(from_matrix(x), texts=again)
        assert bool(found.refused) is is_refused
    assert f"another question stands under {recurring} of 500 IDs" in found.refused[0].reason
    assert "--map item=" in found.refused[0].reason


def test_partial_credit_is_checked_by_ranks(rng: np.random.Generator) -> None:
    hard = rng.normal(0, 1, size=(800, 1))
    x = np.clip(0.5 - 0.2 * hard + rng.normal(0, 0.15, size=(800, 6)), 0, 1)
    assert not check_alignment(from_matrix(x, "mean_score")).refused
    x[:, 5] = rng.permutation(x[:, 5])
    assert refused(check_alignment(from_matrix(x, "mean_score"))) == {"m5"}


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "chance"), [("arc", 0.25), ("truthfulqa", 0.25)])
def test_shuffled_models_of_real_benchmarks_are_found(shared_data: Path, name: str, chance: float) -> None:
    frame = pl.read_csv(shared_data / f"mcq_{name}_14models.csv").with_columns(
        (pl.col("grade") == "Correct").cast(pl.Float64).alias("right")
    )
    wide = frame.pivot("model", index="item", values="right", maintain_order=True).sort("item")
    names = tuple(wide.columns[1:])
    x = wide.select(names).to_numpy().astype(float)
    assert not check_alignment(from_matrix(x, conditions=names)).refused  # lowest phi -0.05 with Falcon-7b, at chance
    rng = np.random.default_rng(11)
    for k, model in enumerate(names):
        y = x.copy()
        y[:, k] = rng.permutation(y[:, k])
        found = check_alignment(from_matrix(y, conditions=names), chance=(None, chance)[k % 2])
        if x[:, k].mean() > chance + 0.1:
            assert refused(found) == {model}
        else:
            assert not found.refused
            assert found.unchecked == (model,) or "Falcon-7b" in found.unchecked
