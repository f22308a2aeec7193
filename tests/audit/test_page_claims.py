"""A page of claims: its families, its margins, blocked pairs by name, and the sets that cannot be told apart."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.outcomes import dataset_of, outcomes
from richter.audit import CompareReport, compare_tables, page_questions
from richter.claims import Outcomes, decide_heterogeneity, pairs_of, subgroup_differences, tiers_of
from richter.errors import InputError
from richter.evidence import metric_of
from richter.records import Verdict, plain
from richter.tables import Dataset, item_codes


def answers(n: int = 800, seed: int = 0) -> tuple[Outcomes, Outcomes]:
    """Three conditions, the first much worse; grades and severities."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=(n, 1))
    wrong = rng.normal(size=(n, 3)) + np.array([0.0, -1.0, -1.05]) > -hard
    severity = np.where(wrong, rng.integers(1, 9, size=(n, 3)) / 2, 0.0)
    return outcomes((~wrong).astype(float)), outcomes(severity, "mean_severity")


def compared(dataset: Dataset, **options: Any) -> CompareReport:
    return compare_tables(dataset, **{"n_resamples": 100, **options})


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return dataset_of(*answers())


def test_conditions_that_are_alike_stand_in_one_set(dataset: Dataset) -> None:
    found = compared(dataset, margin=0.02)
    assert [c.measure for c in found.claims[:3]] == ["accuracy"] * 3
    assert [c.primary for c in found.claims] == [c.measure == "accuracy" for c in found.claims]
    first = found.claims[0]
    assert first.conditions == ("a", "b")
    right = answers()[0].value.reshape(-1, 3)
    assert first.estimate == pytest.approx(float(np.mean(right[:, 1]) - np.mean(right[:, 0])))
    assert first.verdict is Verdict.VERIFIED
    assert {frozenset(s) for s in found.groups} == {frozenset("bc"), frozenset("a")}
    assert plain(found)["claims"][0]["verdict"] == "verified"


def test_other_measures_are_decided_whatever_the_main_one_shows(dataset: Dataset) -> None:
    found = compared(dataset)
    main = found.of("accuracy")
    assert main[2].verdict is Verdict.UNDECIDED  # b and c
    others = [c for c in found.claims if not c.primary and c.estimate is not None]
    assert others
    assert all(c.interval is not None and c.p_adjusted is not None for c in others)
    assert {c.family.name for c in others if c.family} == {"other"}
    assert {c.family.size for c in main if c.family} == {3}
    assert {c.family.size for c in others if c.family} == {len(others)}
    severity = found.of("mean_severity")
    assert [c.verdict for c in severity] == [Verdict.VERIFIED, Verdict.VERIFIED, Verdict.UNDECIDED]


def test_a_claim_on_the_main_measure_is_the_same_beside_others(dataset: Dataset) -> None:
    alone = compared(dataset_of(answers()[0])).of("accuracy")
    beside = compared(dataset).of("accuracy")
    for one, other in zip(alone, beside, strict=True):
        assert (one.verdict, one.interval, one.p_adjusted) == (other.verdict, other.interval, other.p_adjusted)


def test_two_named_conditions_are_asked_in_the_direction_of_each_measure(dataset: Dataset) -> None:
    found = compared(dataset, conditions=("a", "b"))
    relations = {c.measure: c.hypothesis.relation for c in found.claims if c.hypothesis}
    assert relations["accuracy"] == "above"
    assert relations["mean_severity"] == relations["catastrophic_rate"] == "below"
    assert relations["b"] == "differs"
    assert found.of("accuracy")[0].verdict is Verdict.VERIFIED
    assert compared(dataset, conditions=("b", "a")).of("accuracy")[0].verdict is Verdict.REFUTED


# ------------------------------------------------------------------ margins, attempts, level


def test_a_margin_belongs_to_the_measure_it_was_stated_for(dataset: Dataset) -> None:
    def margins(margin: Any, **more: Any) -> dict[str, float | None]:
        return {
            c.measure: c.margin for c in compared(dataset, margin=margin, **more).claims if c.conditions == ("a", "b")
        }

    bare = margins(0.05)
    assert bare.pop("accuracy") == 0.05
    assert set(bare.values()) == {None}
    own = margins({"catastrophic_rate": 0.005, "mean_severity": 0.1})
    assert (own["accuracy"], own["catastrophic_rate"], own["mean_severity"]) == (None, 0.005, 0.1)
    both = margins({"": 0.03, "mean_severity": 0.1})
    assert (both["accuracy"], both["mean_severity"]) == (0.03, 0.1)
    with_other_main = margins(0.05, on=("mean_severity",))
    assert (with_other_main["accuracy"], with_other_main["mean_severity"]) == (None, 0.05)


def test_no_claim_on_a_measure_is_equivalent_without_its_own_margin(dataset: Dataset) -> None:
    for claim in compared(dataset, margin=0.5).claims:
        assert (claim.verdict is Verdict.EQUIVALENT) <= (claim.measure == "accuracy")


def test_attempts_and_the_level_reach_every_family(dataset: Dataset) -> None:
    made, _ = answers()
    made = dataclasses.replace(made, stratum=np.arange(800) % 2, strata=("u", "v"))
    page = dataset_of(made, answers()[1])
    once, four, strict = (
        compared(page, by="domain", **more) for more in ({}, {"tried": 4}, {"level": 0.99})
    )  # fmt: skip
    assert {c.family.name for c in once.claims if c.family} == {"main", "other", "subgroup"}
    for one, more, high in zip(once.claims, four.claims, strict.claims, strict=True):
        if one.p_adjusted is None or more.p_adjusted is None:
            continue
        assert more.p_adjusted == pytest.approx(min(4 * one.p_adjusted, 1.0))
        if one.measure != "b":
            assert more.interval is not None
            assert 1 - more.interval.level <= 0.05 / 4 + 1e-12
            assert high.interval is not None
            assert high.interval.level >= 0.99 - 1e-12
            assert high.plain_interval is not None
            assert high.plain_interval.level == 0.99


def test_the_main_measure_is_the_first_that_is_named_and_never_chosen_by_results(dataset: Dataset) -> None:
    assert page_questions(dataset).main == "accuracy"
    page = page_questions(dataset, on=("mean_severity", "accuracy"))
    assert page.main == "mean_severity"
    families = {q.measure: q.family for q in page.questions}
    assert families["mean_severity"] == "main"
    assert set(families.values()) == {"main", "other"}
    with pytest.raises(InputError, match="no values of latency"):
        page_questions(dataset, on=("latency",))
    with pytest.raises(InputError, match="100"):
        page_questions(dataset, margins={"accuracy": 1.5})


# ------------------------------------------------------------------ blocked pairs, sets


def test_pairs_against_a_control() -> None:
    assert pairs_of("abc") == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs_of("abc", control="b") == [("b", "a"), ("b", "c")]
    with pytest.raises(InputError, match="named d"):
        pairs_of("abc", control="d")


def test_equivalent_conditions_stand_in_one_set_by_hand(dataset: Dataset) -> None:
    claims = compared(dataset, margin=0.2).of("accuracy")
    assert claims[2].verdict is Verdict.EQUIVALENT
    metric = metric_of(dataset, "accuracy")
    assert tiers_of(claims, {"a": 0.5, "b": 0.7, "c": 0.8}, metric) == (("c", "b"), ("a",))
    told = [dataclasses.replace(claims[2], verdict=Verdict.VERIFIED), *claims[:2]]
    assert tiers_of(told, {"a": 0.5, "b": 0.7, "c": 0.8}, metric) == (("c",), ("b",), ("a",))
    assert tiers_of(told, {}, metric)[-1] == ("a",)  # ranked by what the claims say where nothing else does


# ------------------------------------------------------------------ subgroups


def test_the_pairs_and_attempts_of_a_page_share_the_test_of_one_effect() -> None:
    made, _ = answers()
    made = dataclasses.replace(made, stratum=np.arange(800) % 2, strata=("u", "v"))
    dataset = dataset_of(made)
    codes, names = item_codes(dataset, "domain")
    for tried in (1, 4):
        found = compared(dataset, by="domain", tried=tried).subgroups
        alone = [subgroup_differences(made, *one.conditions, subgroup=codes, names=names) for one in found]
        assert len(found) == 3
        assert [one.p for one in found] == [pytest.approx(x.p) for x in alone]
        expected = decide_heterogeneity(alone, tried=tried)
        assert [one.p_adjusted for one in found] == [pytest.approx(x.p_adjusted) for x in expected]
    (pair,) = compared(dataset, by="domain", conditions=("a", "b")).subgroups
    assert pair.p_adjusted == pytest.approx(pair.p)


def test_subgroups_are_a_family_of_their_own() -> None:
    made, severity = answers()
    made = dataclasses.replace(made, stratum=np.arange(800) % 2, strata=("u", "v"))
    page = compared(dataset_of(made, severity), by="domain")
    own = [c for c in page.claims if c.family and c.family.name == "subgroup"]
    assert sorted({c.measure for c in own}) == ["accuracy:u", "accuracy:v"]
    assert {c.family.size for c in own if c.family} == {6}
    assert not any(c.primary for c in own)
    plain_page = compared(dataset_of(made, severity))
    assert [c.p_adjusted for c in plain_page.of("accuracy")] == [c.p_adjusted for c in page.of("accuracy")]


# ------------------------------------------------------------------ verdict and interval


@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["binary", "draws", "groups", "severity", "money"]),
    margin=st.sampled_from([None, 0.05, 0.3]),
    control=st.sampled_from([None, "a"]),
    directed=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_verdict_and_interval_never_disagree_on_a_page(
    seed: int, kind: str, margin: float | None, control: str | None, directed: bool
) -> None:
    rng = np.random.default_rng(seed)
    n, draws = int(rng.integers(20, 120)), 3 if kind == "draws" else 1
    hard = rng.random((n, 1, 1)) * rng.uniform(0.1, 1)
    values = (rng.random((n, 3, draws)) < np.clip(hard + np.array([0.0, 0.1, 0.3])[:, None], 0, 1)).astype(float)
    group = np.arange(n) // 6 if kind == "groups" else None
    measures = [outcomes(values, group=group)]
    measure = {"severity": "mean_severity", "money": "money"}.get(kind, "accuracy")
    if kind == "severity":
        measures = [outcomes(values * rng.integers(1, 9, size=values.shape) / 2, "mean_severity")]
    elif kind == "money":
        measures.append(outcomes(np.exp(rng.normal(size=values.shape) + values), "money"))
    found = compared(
        dataset_of(*measures),
        on=(measure,),
        margin=None if margin is None else {measure: margin},
        control=control,
        directed=directed,
    )
    for claim in found.claims:
        if claim.estimate is None or claim.measure == "b":
            continue
        assert claim.interval is not None
        low, high = claim.interval.low, claim.interval.high
        inside = claim.margin is not None and -claim.margin < low and high < claim.margin
        assert (claim.verdict is Verdict.EQUIVALENT) == inside
        if not inside:
            assert (claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED)) == (low > 0 or high < 0)
