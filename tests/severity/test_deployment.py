import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from richter.claims import METRICS, Outcomes, mean_evidence
from richter.errors import InputError
from richter.records import Claim, Verdict
from richter.severity import (
    BValue,
    DeploymentTable,
    Requirement,
    Traffic,
    ask_requirement,
    clean_answers_needed,
    decide_requirements,
    deployment_table,
    describe_requirement,
    parse_requirement,
    requirement_metric,
)
from richter.stats import clopper_pearson, wilson
from severity.studies_by_hand import study_of


def test_counts_per_million_by_hand() -> None:
    scores = [0] * 90 + [1.0] * 6 + [3.0] * 3 + [4.0]
    table = deployment_table(scores)
    assert [r.count for r in table.rows] == [10, 10, 4, 4, 4, 4, 1, 1]
    row = table.at(3.0)
    assert row.per_million == 40_000
    limits = wilson(4, 100)
    assert (row.interval.low, row.interval.high) == (limits.low * 1e6, limits.high * 1e6)
    assert row.upper == clopper_pearson(4, 100, side="upper").high * 1e6
    assert table.basis == "the judge's grades"


def test_none_seen_is_a_bound_and_never_zero() -> None:
    row = deployment_table(np.zeros(3000)).at(3.0)
    assert row.per_million is None
    assert row.upper == pytest.approx((1 - 0.05 ** (1 / 3000)) * 1e6)  # the rule of three: about 999
    assert row.lower == 0


def test_no_error_has_the_limit_that_other_pages_say_of_it_by_hand(rng: np.random.Generator) -> None:
    """A report said at most 1.5% and the study of severities beside it 1.9%."""
    columns = {"a": np.zeros(200), "b": np.repeat([0.0, 2.0], 100)}
    found = study_of(columns, n_resamples=100, rng=rng).conditions["a"].error_rate_interval
    assert found.high == pytest.approx(1 - 0.05 ** (1 / 200))


@pytest.mark.parametrize(("rate", "size"), [(0.02, 5), (0.3, 5), (0.3, 50), (0.0, 10)])
def test_a_rate_in_groups_has_one_interval_wherever_it_is_shown(rate: float, size: int) -> None:
    """The table, the error rate beside b and the claim on it are one estimator: groups' sums, not an effective n."""
    rng = np.random.default_rng(3)
    groups = np.arange(400) // size
    severity = np.where(rng.random(400) < np.repeat(rng.random(400 // size), size) * 2 * rate, 3.0, 0.0)
    severity[::7] = np.maximum(severity[::7], 1.0)
    answers = Outcomes(
        metric=METRICS["catastrophic_rate"], items=tuple(map(str, range(400))), conditions=("a",),
        item=np.arange(400), condition=np.zeros(400, dtype=np.intp), value=(severity >= 3).astype(float), group=groups,
    )  # fmt: skip
    claimed, exact = mean_evidence(answers, "a"), mean_evidence(answers, "a", exact=True)
    row = deployment_table(severity, groups=groups).at(3.0)
    assert (row.interval.low, row.interval.high) == pytest.approx(
        (1e6 * claimed.interval(0.95).low, 1e6 * claimed.interval(0.95).high)
    )
    assert (row.lower, row.upper) == pytest.approx((1e6 * exact.interval(0.9).low, 1e6 * exact.interval(0.9).high))
    found = study_of({"a": severity}, groups, n_resamples=100, rng=rng).conditions["a"]
    wrong = mean_evidence(dataclasses.replace(answers, value=(severity > 0).astype(float)), "a").interval(0.95)
    assert found.error_rate_interval == wrong
    if isinstance(found.slope, BValue):
        assert found.slope.error_rate_interval.high == pytest.approx(wrong.high)


def test_clean_answers_by_hand() -> None:
    # the smallest n whose limit with no event is below the rate
    for rate in (50, 100, 2500):
        n = clean_answers_needed(rate)
        assert (1 - 0.05 ** (1 / n)) * 1e6 <= rate < (1 - 0.05 ** (1 / (n - 1))) * 1e6
    assert clean_answers_needed(100) == 29_956


def test_traffic_weights_by_hand() -> None:
    # law: 2 of 10 events, a third of the items; geo: 1 of 20; traffic 3:1 for law, and a tenth on something unseen
    scores = [3.0] * 2 + [0] * 8 + [3.0] + [0] * 19
    strata = ["law"] * 10 + ["geo"] * 20
    table = deployment_table(scores, traffic=Traffic(shares={"law": 67.5, "geo": 22.5, "med": 10}, strata=strata))
    assert table.at(3.0).per_million == pytest.approx((0.75 * 0.2 + 0.25 * 0.05) * 1e6)
    assert table.uncovered == pytest.approx(0.1)
    assert table.uncovered_strata == ("med",)
    assert table.at(4.0).per_million is None
    # unseen events could have fallen in the stratum where one weighs most: 0.75 / 10
    assert table.at(4.0).upper == pytest.approx(min(-math.log(0.05) * 0.075, 1) * 1e6)


def test_equal_weights_are_at_least_as_wide_as_the_exact_limits() -> None:
    scores = [3.0] * 5 + [0] * 995
    flat = deployment_table(scores).at(3.0)
    weighted = deployment_table(scores, traffic=Traffic(shares={"all": 1}, strata=["all"] * 1000)).at(3.0)
    assert weighted.per_million == pytest.approx(flat.per_million)
    assert flat.upper <= weighted.upper <= 1.02 * flat.upper


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.01, 0.002), (0.0, 0.02), (0.001, 0.001)])
def test_weighted_upper_limit_covers_recovers_truth(rates: tuple[float, float], rng: np.random.Generator) -> None:
    strata = ["a"] * 200 + ["b"] * 800
    traffic = Traffic(shares={"a": 0.7, "b": 0.3}, strata=strata)
    truth = (0.7 * rates[0] + 0.3 * rates[1]) * 1e6
    trials, hits = 400, 0
    for _ in range(trials):
        scores = np.where(rng.random(1000) < np.repeat(rates, [200, 800]), 3.0, 0.0)
        hits += deployment_table(scores, traffic=traffic).at(3.0).upper >= truth
    assert hits / trials >= 0.95 - 2 * 0.0109  # it is conservative; two binomial errors of slack


@given(st.integers(0, 40), st.integers(1, 60))
def test_rates_fall_with_severity(events: int, clean: int) -> None:
    rng = np.random.default_rng(events)
    table = deployment_table(np.concatenate([rng.integers(1, 9, events) / 2, np.zeros(clean)]))
    uppers = [row.upper for row in table.rows]
    assert uppers == sorted(uppers, reverse=True)
    assert all(u > 0 for u in uppers)


@pytest.mark.parametrize(
    ("text", "severity", "rate"),
    [
        ("severity>=3 below 100 per million", 3.0, 100),
        ("Severity >= 2.5 below 1,500 per million", 2.5, 1500),
        ("severity>=4 below 2 per thousand", 4.0, 2000),
        ("severity>=1 below 5 per hundred", 1.0, 50_000),
    ],
)
def test_requirements_are_read(text: str, severity: float, rate: float) -> None:
    assert parse_requirement(text) == Requirement(severity=severity, per_million=rate)


@pytest.mark.parametrize(
    "text", ["", "severity>3 below 5", "severity>=3.2 below 5 per million", "severity>=3 below 0 per million"]
)
def test_bad_requirements_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_requirement(text)


def check_requirements(
    rules: Sequence[Requirement], table: Callable[[str, float], DeploymentTable], names: Sequence[str]
) -> tuple[Claim, ...]:
    asked = [ask_requirement(rule, name, functools.partial(table, name)) for rule in rules for name in names]
    return decide_requirements(asked)


def check(scores: dict[str, list[float]], *rules: str, traffic: Traffic | None = None) -> tuple[Claim, ...]:
    def table(name: str, level: float) -> DeploymentTable:
        return deployment_table(scores[name], traffic=traffic, level=level)

    return check_requirements([parse_requirement(r) for r in rules], table, list(scores))


def test_requirement_verdicts() -> None:
    rule = "severity>=3 below 1000 per million"
    (verified,) = check({"m": [0.0] * 4000}, rule)
    (refuted,) = check({"m": [3.5] * 40 + [0.0] * 2000}, rule)
    (open_,) = check({"m": [0.0] * 500}, rule)
    assert (verified.verdict, refuted.verdict, open_.verdict) == (Verdict.VERIFIED, Verdict.REFUTED, Verdict.UNDECIDED)
    assert open_.needed == clean_answers_needed(1000) == 2995
    assert describe_requirement(open_) == "m has severity>=3 below 1,000 per million"
    assert refuted.interval is not None
    assert refuted.interval.low > 1000  # decided by the limit, not by the estimate


def test_a_violation_is_corrected_for_all_checks_and_a_pass_is_not_by_hand() -> None:
    # 7 in 2,000 against 1,500 per million: one-sided exact p = 1 - F(6; 2000, 0.0015) = 0.0334; 0 in 2,200 passes alone
    rule = "severity>=3 below 1500 per million"
    some, clean = [3.0] * 7 + [0.0] * 1993, [0.0] * 2200
    assert float(binom.sf(6, 2000, 0.0015)) == pytest.approx(0.0334, abs=1e-4)
    (alone,) = check({"a": some}, rule)
    assert alone.verdict is Verdict.REFUTED
    several = check({"a": some, "b": clean, "c": clean}, rule)
    assert [c.verdict for c in several] == [Verdict.UNDECIDED, Verdict.VERIFIED, Verdict.VERIFIED]
    # Holm: once the clear one is rejected at alpha / 2, the other is tested at alpha
    stepped = check({"a": some, "worse": [3.0] * 60 + [0.0] * 1940}, rule)
    assert [c.verdict for c in stepped] == [Verdict.REFUTED, Verdict.REFUTED]
    assert stepped[0].family is not None
    assert stepped[0].family.size == 2


def test_a_requirement_on_groups_counts_groups_by_hand() -> None:
    """Nothing in 60 groups of five: 3,000 per million need log(0.05) / log(1 - 0.003) = 998 of them, 4,990 answers."""
    rule, groups = Requirement(severity=3.0, per_million=3000), np.arange(300) // 5
    (claim,) = check_requirements(
        [rule], lambda _, level: deployment_table(np.zeros(300), groups=groups, level=level), ["m"]
    )
    assert (claim.n, claim.units, claim.unit, claim.needed) == (300, 60, "group", 998)
    (alone,) = check_requirements([rule], lambda _, level: deployment_table(np.zeros(300), level=level), ["m"])
    assert (alone.units, alone.unit, alone.needed) == (300, "item", 998)


def test_uncovered_traffic_keeps_a_requirement_open() -> None:
    traffic = Traffic(shares={"a": 99, "b": 1}, strata=["a"] * 10_000)
    (claim,) = check({"m": [0.0] * 10_000}, "severity>=3 below 1000 per million", traffic=traffic)
    assert claim.verdict is Verdict.UNDECIDED
    assert "1.0% of the traffic is covered by no item" in claim.sentence


def test_uncovered_traffic_counts_as_free_of_events_in_a_violation() -> None:
    # 40 of 2,000: at least 15,131 per million (exact, one-sided 95%) where it is covered, half as many over all of it
    assert float(beta.ppf(0.05, 40, 1961)) == pytest.approx(0.015131, abs=1e-6)
    scores, rule = {"m": [3.0] * 40 + [0.0] * 1960}, "severity>=3 below 10000 per million"
    whole = Traffic(shares={"a": 1}, strata=["a"] * 2000)
    half = Traffic(shares={"a": 1, "b": 1}, strata=["a"] * 2000)
    assert [check(scores, rule, traffic=t)[0].verdict for t in (whole, half)] == [Verdict.REFUTED, Verdict.UNDECIDED]


def test_bad_traffic_is_refused() -> None:
    with pytest.raises(InputError, match="No rated item"):
        deployment_table([1, 2], traffic=Traffic(shares={"x": 1}, strata=["a", "a"]))
    with pytest.raises(InputError, match="shares"):
        deployment_table([1, 2], traffic=Traffic(shares={"a": -1}, strata=["a", "a"]))
    with pytest.raises(InputError, match="No answer is rated"):
        deployment_table([math.nan])


def answers(n: int, events: int, traffic: Traffic | None = None) -> Callable[[str, float], DeploymentTable]:
    """Of n answers so many at severity 3, the rest right."""
    given = np.where(np.arange(n) < events, 3.0, 0.0)
    return lambda _, level: deployment_table(given, traffic=traffic, level=level)


NO_EVENT = 1e6 * (1 - 0.05 ** (1 / 3000))  # the exact upper limit of none in 3,000: 998 per million
TENTH_UNSEEN = Traffic(shares={"asked": 0.9, "never": 0.1}, strata=["asked"] * 3000)


@pytest.mark.parametrize(
    ("text", "table", "verdict", "needed"),
    [
        ("severity>=3 below 1000 per million", answers(3000, 0), "verified", None),
        ("severity>=3 below 990 per million", answers(3000, 0), "undecided", 3025),
        ("severity>=2.5 below 1 per hundred", answers(200, 0), "undecided", 299),
        ("severity>=3 below 1000 per million", answers(3000, 2), "undecided", None),
        ("severity>=3 below 5 per thousand", answers(3000, 2), "verified", None),
        ("severity>=3 below 1000 per million", answers(3000, 12), "refuted", None),
        ("severity>=3 below 100000 per million", answers(3000, 0, TENTH_UNSEEN), "undecided", None),
        # 500 per million of all are 556 of the nine tenths that were asked: -ln(0.05) over 500 / 0.9 is 5,392.3
        ("severity>=3 below 100500 per million", answers(3000, 0, TENTH_UNSEEN), "undecided", 5393),
    ],
)
def test_verdicts_of_requirements_by_hand(
    text: str, table: Callable[[str, float], DeploymentTable], verdict: str, needed: int | None
) -> None:
    rule = parse_requirement(text)
    (claim,) = check_requirements([rule], table, ["m"])
    assert claim.verdict == verdict
    assert (claim.needed, claim.needed_for) == (needed, None if needed is None else rule.per_million)
    assert describe_requirement(claim) == f"m has {rule}"
    assert claim.interval is not None
    assert claim.interval.level == pytest.approx(0.9)
    assert claim.family is not None
    assert (claim.family.size, claim.family.name, claim.better, claim.n) == (1, "requirement", "lower", claim.units)


@pytest.mark.parametrize("events", [0, 2, 12, 40])
@pytest.mark.parametrize("limit", [300, 1000, 5000, 15_000])
def test_one_sided_limits_decide_requirements_by_hand(events: int, limit: float) -> None:
    """Each end alone at 95%: Clopper and Pearson's."""
    (claim,) = check_requirements([Requirement(severity=3.0, per_million=limit)], answers(3000, events), ["m"])
    low = 0.0 if events == 0 else 1e6 * float(beta.ppf(0.05, events, 3000 - events + 1))
    high = 1e6 * float(beta.ppf(0.95, events + 1, 3000 - events))
    assert claim.verdict == ("verified" if high < limit else "refuted" if low > limit else "undecided")
    if claim.verdict is Verdict.REFUTED:
        assert claim.p_adjusted == pytest.approx(float(binom.sf(events - 1, 3000, limit / 1e6)), rel=1e-3, abs=1e-11)


def test_limits_of_requirements_by_hand() -> None:
    (claim,) = check_requirements([parse_requirement("severity>=3 below 1000 per million")], answers(3000, 0), ["m"])
    assert claim.interval is not None
    assert (claim.interval.low, claim.interval.high) == (0.0, pytest.approx(NO_EVENT))
    rules = [parse_requirement(f"severity>={s} below {r} per million") for s, r in ((3, 1000), (1, 2000))]
    claims = check_requirements(rules, answers(3000, 12), ["m"])
    low = 1e6 * float(beta.ppf(0.05, 12, 3000 - 12 + 1))
    assert [c.verdict for c in claims] == [
        Verdict.REFUTED,
        Verdict.REFUTED,
    ]  # Holm: twice a p of 7e-5, then one of 0.02
    for claim in claims:
        assert claim.interval is not None
        assert (claim.interval.low, claim.interval.level) == (pytest.approx(low), pytest.approx(0.9))
    covered = check_requirements(
        [parse_requirement("severity>=3 below 200000 per million")], answers(3000, 0, TENTH_UNSEEN), ["m"]
    )[0]
    assert covered.interval is not None
    assert covered.verdict is Verdict.VERIFIED
    assert covered.interval.high == pytest.approx(100_000 + 0.9 * 1e6 * 2.9957 / 3000, rel=1e-4)  # Poisson's -log 0.05
    given = answers(3000, 6, TENTH_UNSEEN)
    (some,) = check_requirements([parse_requirement("severity>=3 below 102000 per million")], given, ["m"])
    assert some.verdict is Verdict.UNDECIDED
    assert some.interval is not None
    assert some.interval.low == pytest.approx(0.9 * given("m", 0.95).at(3.0).lower)


@pytest.mark.parametrize(
    ("limit", "verdict"), [(50, "undecided"), (49, "refuted"), (100, "undecided"), (101, "verified")]
)
def test_a_limit_that_is_reached_is_neither_met_nor_violated(limit: float, verdict: str) -> None:
    """A rate between 50 and 100 per million."""
    row = SimpleNamespace(lower=50.0, upper=100.0, count=1, n=9, per_million=70.0, interval=None)
    table: Any = SimpleNamespace(at=lambda _: row, uncovered=0.0, basis="the judge's grades", level=0.95, groups=None)
    (claim,) = check_requirements([Requirement(severity=3.0, per_million=limit)], lambda *_: table, ["m"])
    assert claim.verdict == verdict


@pytest.mark.parametrize(
    ("limit", "uncovered", "needed"),
    [
        (100_000, 0.1, None),  # all of it may come from what no item covers
        (100_000.5, 0.1, 5_392_317),  # -log(0.05) = 2.995732 over 0.5 / 0.9 per million
        (1e-6, 0.0, 2_995_732_273_552),
    ],
)
def test_room_beside_what_no_item_covers_by_hand(limit: float, uncovered: float, needed: int | None) -> None:
    row = SimpleNamespace(
        lower=0.0, upper=1e6 * (1 - 0.05 ** (1 / 300)), count=0, n=300, per_million=0.0, interval=None
    )
    table: Any = SimpleNamespace(
        at=lambda _: row, uncovered=uncovered, basis="the judge's grades", level=0.95, groups=None, weighted=False
    )
    (claim,) = check_requirements([Requirement(severity=3.0, per_million=limit)], lambda *_: table, ["m"])
    assert ("is covered by no item" in claim.sentence) == (needed is None)
    assert claim.needed == (None if needed is None else pytest.approx(needed, rel=1e-6))


def test_a_limit_below_one_in_a_million_is_read() -> None:
    assert parse_requirement("severity>=3 below 0.5 per million").per_million == 0.5


def test_the_estimate_of_a_requirement_counts_what_no_item_covers_as_free_of_events_by_hand() -> None:
    rule = "severity>=3 below 200000 per million"
    (seen,) = check_requirements([parse_requirement(rule)], answers(3000, 6, TENTH_UNSEEN), ["m"])
    assert (seen.estimate, seen.values) == (pytest.approx(0.9 * 2000), (pytest.approx(0.9 * 2000),))
    (unseen,) = check_requirements([parse_requirement(rule)], answers(3000, 0), ["m"])
    assert (unseen.estimate, unseen.values) == (0.0, (0.0,))
    assert requirement_metric(parse_requirement(rule)).amount(120.0) == "120"


def test_a_requirement_that_is_met_beside_what_no_item_covers_says_nothing_more_by_hand() -> None:
    """Poisson's limit of none in 3,000 is 999 per million, 899 of all: less than the 1,000 that are left."""
    rule = parse_requirement("severity>=3 below 101000 per million")
    (claim,) = check_requirements([rule], answers(3000, 0, TENTH_UNSEEN), ["m"])
    assert (claim.verdict, claim.notes) == (Verdict.VERIFIED, ())


def test_a_limit_that_is_reached_without_an_event_asks_for_more_answers() -> None:
    row = SimpleNamespace(lower=0.0, upper=100.0, count=0, n=9, per_million=None, interval=None)
    table: Any = SimpleNamespace(
        at=lambda _: row, uncovered=0.0, basis="the judge's grades", level=0.95, groups=None, weighted=False
    )
    (claim,) = check_requirements([Requirement(severity=3.0, per_million=100)], lambda *_: table, ["m"])
    assert claim.verdict is Verdict.UNDECIDED
    assert claim.needed is not None
