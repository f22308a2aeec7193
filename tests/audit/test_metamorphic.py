"""What must not change when data say the same in other words, and what must turn when they are turned."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm

import richter
from helpers.normal import ask
from richter.audit import CompareReport, margin_plan, measure_run, run_gate, weigh_scores
from richter.audit._plan import make_plan
from richter.claims import METRICS, Outcomes, decide, mean_evidence
from richter.errors import PlanError
from richter.records import Claim, Verdict, at_least, at_most
from richter.severity import Traffic, deployment_table, human_corrected_rates, mean_given_error
from richter.tables import ReadOptions, read_tables

ITEMS = 80


def frame_of(kind: str, *, items: int = ITEMS, seed: int = 5) -> pl.DataFrame:
    """Two conditions on the same items, the second clearly better; grades are missing where they have a worse end."""
    rng = np.random.default_rng(seed)
    lost = 0.03 if kind in ("binary", "partial", "five") else 0.0
    rows = []
    for k in range(items):
        easy = rng.random()
        for name, gain in (("old", 0.0), ("new", 0.3)):
            x = min(max(0.5 * easy + gain + 0.4 * rng.random(), 0.0), 1.0)
            value: dict[str, Any] = {
                "binary": {"correct": float(x > 0.6)},
                "sure": {"correct": float(x > 0.6), "confidence": round(0.3 + 0.6 * rng.random(), 2)},
                "partial": {"score": round(2 * x) / 2},
                "five": {"score": 1.0 + round(4 * x)},
                "real": {"score": round(10 * x - 3, 3)},
                "severity": {"severity": 0.0 if x > 0.6 else round(8 * (0.6 - x)) / 2 + 0.5},
            }[kind]
            if rng.random() >= lost:
                rows.append({"item": f"q{k:03d}", "condition": name, **value})
    return pl.DataFrame(rows)


KINDS = ("binary", "sure", "partial", "five", "real", "severity")


def compared(frame: pl.DataFrame, *names: str, **reading: Any) -> CompareReport:
    options = ReadOptions(**reading) if reading else None
    return richter.open(frame, options=options).compare(*names, n_resamples=50)


def seen(claim: Claim) -> tuple[Any, ...]:
    assert claim.interval is not None or claim.plain_interval is not None
    span = claim.interval or claim.plain_interval
    assert span is not None
    return claim.estimate, span.low, span.high


SAME: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "rows shuffled, order of conditions kept": lambda f: pl.concat(
        [f.filter(pl.col("condition") == name).sample(fraction=1, shuffle=True, seed=3) for name in ("old", "new")]
    ),
    "items renamed": lambda f: f.with_columns(pl.col("item").str.replace("q", "frage ")),
    "every item a group of its own": lambda f: f.with_columns(pl.col("item").alias("group")),
    "all weights alike": lambda f: f.with_columns(weight=pl.lit(7.0)),
    "a row without a grade": lambda f: pl.concat([f, f.head(1).with_columns(item=pl.lit("q999"))]).with_columns(
        pl.when(pl.col("item") == "q999").then(None).otherwise(pl.col(f.columns[2])).alias(f.columns[2])
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_data_in_other_words_give_the_same_claims(kind: str) -> None:
    frame = frame_of(kind)
    want = {(c.measure, c.conditions): c for c in compared(frame).claims}
    assert want
    for what, change in SAME.items():
        found = {(c.measure, c.conditions): c for c in compared(change(frame)).claims}
        assert found.keys() == want.keys(), what
        for key, claim in found.items():
            if key[0] in ("b", "xi"):  # resampled
                continue
            assert (claim.verdict, claim.sentence) == (want[key].verdict, want[key].sentence), (what, key)
            assert seen(claim) == pytest.approx(seen(want[key]), abs=1e-9), (what, key)


@pytest.mark.parametrize("kind", KINDS)
def test_the_conditions_swapped_mirror_every_claim(kind: str) -> None:
    frame = frame_of(kind)
    ahead, back = compared(frame, "old", "new"), compared(frame, "new", "old")
    turned = {Verdict.VERIFIED: Verdict.REFUTED, Verdict.REFUTED: Verdict.VERIFIED}
    assert [c.measure for c in ahead.claims] == [c.measure for c in back.claims]
    for one, other in zip(ahead.claims, back.claims, strict=True):
        if one.measure in ("b", "xi"):
            continue
        estimate, low, high = seen(other)
        assert seen(one) == pytest.approx((-estimate, -high, -low), abs=1e-6), one.measure
        assert other.verdict == turned.get(one.verdict, one.verdict), one.measure


@pytest.mark.parametrize("kind", ["partial", "five", "real"])
def test_a_score_on_another_scale_or_turned_over_gives_the_same_verdict(kind: str) -> None:
    frame = frame_of(kind)
    ends = {"partial": (0.0, 1.0), "five": (1.0, 5.0), "real": (-3.0, 7.0)}[kind]
    want = compared(frame, scale=ends).claims[0]
    moved = frame.with_columns(pl.col("score") * 3 + 2)
    claim = compared(moved, scale=(3 * ends[0] + 2, 3 * ends[1] + 2)).claims[0]
    assert claim.verdict is want.verdict
    assert seen(claim) == pytest.approx([3 * x for x in seen(want)])
    turned = frame.with_columns(-pl.col("score") + sum(ends))
    claim = compared(turned, scale=ends, better="lower").claims[0]
    estimate, low, high = seen(want)
    assert claim.verdict is want.verdict
    assert seen(claim) == pytest.approx((-estimate, -high, -low))
    assert claim.sentence.startswith("new is better scored than old")


def test_a_binary_score_of_which_less_is_better_is_turned_over() -> None:
    """1 in a column of bad things is a wrong answer: it was counted as right and called "less accurate"."""
    frame = frame_of("binary")
    bad = frame.select("item", "condition", (1 - pl.col("correct")).alias("harmful"))
    toxic = bad.rename({"harmful": "toxicity"})
    want = compared(frame).claims[0]
    reports = [compared(bad, map={"score": "harmful"}, better="lower"), compared(toxic)]
    for report in reports:
        assert seen(report.claims[0]) == pytest.approx(seen(want))
        assert report.claims[0].sentence == want.sentence
        assert any("1 counts as wrong" in note for note in report.notes)


def test_a_gate_follows_the_direction_of_the_score() -> None:
    """A candidate whose errors a word rise from 1 to 5 met "no worse"."""
    frame = frame_of("five")  # new has more
    for better, want in (("higher", Verdict.VERIFIED), ("lower", Verdict.REFUTED)):
        tables = read_tables(frame, options=ReadOptions(scale=(1.0, 5.0), better=better))
        assert run_gate(margin_plan(tables, 0.1), tables).outcome is want


# ------------------------------------------------------------------ limits by hand


def passages(severity: Callable[[int, int], float], *, groups: int = 40, members: int = 25) -> pl.DataFrame:
    rows = [
        {"item": f"{g}_{k}", "condition": "a", "severity": severity(g, k), "passage": g}
        for g in range(groups)
        for k in range(members)
    ]
    return pl.DataFrame(rows)


def test_groups_that_are_all_alike_still_have_an_interval_by_hand() -> None:
    """One error in each of 40 passages of 25: "between 4.0% and 4.0%"; a comparison of such data failed."""
    share = 1 - 0.025 ** (1 / 40)
    often = measure_run(passages(lambda _, k: float(k == 0)), n_resamples=50).conditions[0].how_often
    assert often is not None
    assert often.interval is not None
    assert (often.interval.low, often.interval.high) == pytest.approx((0.04 * (1 - share), 0.04 + share * 0.96))
    rows = [
        {"item": f"{g}_{k}", "condition": name, "correct": max(k, int(name == "new")), "passage": g}
        for g in range(12)
        for k in range(2)
        for name in ("old", "new")
    ]
    claim = compared(pl.DataFrame(rows)).claims[0]
    one = pl.DataFrame(rows).with_columns(passage=pl.lit("the only one"))
    assert compared(one, map={"group": "passage"}).claims[0].verdict is Verdict.UNDECIDED  # it failed
    share = 1 - 0.025 ** (1 / 12)
    assert seen(claim) == pytest.approx((0.5, 0.5 - 1.5 * share, 0.5 + 0.5 * share))


def test_what_can_be_signed_counts_groups_draws_and_weights_by_hand() -> None:
    """It was Clopper and Pearson's limit of rows: 0.3% for 40 passages, "0 seen" of 5 among draws."""

    def bound(frame: pl.DataFrame) -> tuple[int, int, float]:
        (found,) = measure_run(frame, n_resamples=50, only=("severity",)).signature.bounds
        return found.seen, found.n, found.upper

    assert bound(passages(lambda _, k: float(k == 0))) == (0, 1000, pytest.approx(1 - 0.05 ** (1 / 40)))
    draws = pl.DataFrame(
        [
            {"item": g, "condition": "a", "draw": k, "severity": 4 * (k == 0 and g < 5)}
            for g in range(100)
            for k in range(20)
        ]
    )
    seen_, n, upper = bound(draws)
    assert (seen_, n) == (5, 2000)
    assert upper > 1 - 0.05 ** (1 / 100)  # of none seen: more events are never better news
    weighed = pl.DataFrame(
        [{"item": k, "condition": "a", "severity": 0, "weight": 100.0 if k < 3 else 1.0} for k in range(300)]
    )
    worth = (300 + 297) ** 2 / (3 * 100**2 + 297)
    assert bound(weighed) == (0, 300, pytest.approx(1 - 0.05 ** (1 / worth)))


def test_an_exact_limit_of_draws_holds_where_a_few_items_always_fail() -> None:
    """1.5% of items always fail, others in 0.2% of draws: a limit from what was seen alone fell short in 22%."""
    rng = np.random.default_rng(1)
    n, k, short, trials = 100, 20, 0, 200
    codes = np.repeat(np.arange(n), k)
    for _ in range(trials):
        rate = np.where(rng.random(n) < 0.015, 1.0, 0.002)
        made = Outcomes(
            metric=METRICS["catastrophic_rate"], items=tuple(map(str, range(n))), conditions=("a",), item=codes,
            condition=np.zeros(n * k, dtype=np.intp), value=(rng.random(n * k) < rate[codes]).astype(np.float64),
            draw=np.tile(np.arange(k), n),
        )  # fmt: skip
        short += mean_evidence(made, "a", exact=True).interval(0.9).high < 0.015 + 0.985 * 0.002
    assert short / trials <= 0.08  # 5% are promised


def test_copies_in_groups_narrow_no_rate_of_severities() -> None:
    """Limits with human labels and with a traffic mix counted the rows of a group."""
    rng = np.random.default_rng(4)
    judged = np.where(rng.random(200) < 0.3, 3.0, 0.0)
    human = np.where(rng.random(200) < 0.5, np.where(rng.random(200) < 0.9, judged, 0.0), np.nan)
    copies = 6
    many, labels, groups = (np.repeat(x, copies) for x in (judged, human, np.arange(200)))
    strata = np.where(np.arange(200) % 3 == 0, "x", "y")
    mix = {"x": 0.5, "y": 0.5}
    alone = [
        human_corrected_rates(judged, human)(0.95).at(3).interval,
        deployment_table(judged, traffic=Traffic(shares=mix, strata=list(strata))).at(3).interval,
    ]
    copied = [
        human_corrected_rates(many, labels, groups=groups)(0.95).at(3).interval,
        deployment_table(many, traffic=Traffic(shares=mix, strata=list(np.repeat(strata, copies))), groups=groups)
        .at(3)
        .interval,
    ]
    for one, other in zip(alone, copied, strict=True):
        assert other.high - other.low > 0.8 * (one.high - one.low)  # Poisson limits of singles err on the wide side


def test_slopes_of_a_comparison_allow_for_groups(rng: np.random.Generator) -> None:
    """Copies in passages made the limits of the law's misfit narrow in `compare`, and not in `severity`."""
    rows = []
    for k in range(60):
        for name, p in (("a", 0.35), ("b", 0.5)):
            grave = 0.0 if rng.random() < 0.4 else min(int(rng.geometric(p)), 8) / 2
            rows += [{"item": f"{k}_{m}", "condition": name, "severity": grave, "passage": k} for m in range(5)]
    frame = pl.DataFrame(rows)

    def limits(claims: tuple[Claim, ...]) -> list[float]:
        (claim,) = [c for c in claims if c.measure == "b"]
        found: list[float] = claim.gates[0].observed["misfit_limit"]
        return found

    grouped, alone = (limits(richter.open(f).compare(n_resamples=400).claims) for f in (frame, frame.drop("passage")))
    assert grouped == pytest.approx(limits(weigh_scores(frame, n_resamples=400).claims), rel=0.25)
    assert min(g / a for g, a in zip(grouped, alone, strict=True)) > 1.2


def test_a_tail_of_items_in_groups_counts_groups_by_repetition(rng: np.random.Generator) -> None:
    """Three equal items a passage: 600 exceedances met a floor of 500, and every interval was 1.7 times too narrow."""
    rows = [(k, c, float(rng.pareto(3))) for k in range(2000) for c in "ab"]
    alone = pl.DataFrame(rows, schema=["item", "condition", "nll"], orient="row")
    copies = pl.concat(
        [alone.with_columns(pl.col("item").alias("passage"), pl.format("{}_{}", "item", pl.lit(k)).alias("item"))
         for k in range(3)]
    )  # fmt: skip
    once, often = (richter.open(f).tail("nll", n_resamples=1000).study for f in (alone, copies))
    for name, tail in once.conditions.items():
        copied = often.conditions[name]
        assert copied.xi == pytest.approx(tail.xi, abs=0.02)  # the quantile of copies may fall between two
        assert copied.interval.half_width == pytest.approx(tail.interval.half_width, rel=0.2)
        assert copied.apart == pytest.approx(tail.n_exc, abs=1)
    one, three = ({gate.name: gate for gate in study.claims[0].gates} for study in (once, often))
    assert (three["G3"].passed, three["G3"].n) == (False, pytest.approx(one["G3"].n, abs=1))
    for name in ("G1", "G2"):
        width = [g[name].observed["interval"].half_width for g in (one, three)]
        assert width[1] == pytest.approx(width[0], rel=0.15)


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_copies_in_groups_change_no_calibration_error(binning: str) -> None:
    """With groups, bins of equal mass were those of equal width, and what a calibrated model shows counted rows."""
    frame = frame_of("sure", items=200).filter(pl.col("condition") == "old")
    copied = pl.concat(
        [frame.with_columns(pl.concat_str("item", pl.lit(f"_{k}")).alias("item"), pl.col("item").alias("passage"))
         for k in range(4)]
    )  # fmt: skip
    one, many = (richter.open(f).calibration(binning=binning).conditions[0] for f in (frame, copied))
    a, b = one.result, many.result
    assert a is not None
    assert b is not None
    assert b.ece == pytest.approx(a.ece)
    assert b.debiased == pytest.approx(a.debiased, abs=1e-3)  # 0.4032 in bins of equal mass, 0.4069 of equal width
    assert (b.interval.low, b.interval.high) == pytest.approx((a.interval.low, a.interval.high), abs=0.03)
    assert b.null > 0.9 * a.null


# ------------------------------------------------------------------ what is printed


def test_few_errors_of_one_severity_do_not_bound_the_mean_by_hand() -> None:
    """Errors that are all of severity 1 gave a mean between -1 and 1: of 12, 1 - 0.025^(1/12) may be of severity 4."""
    for errors, low, high in ((1, 0.0, 4.0), (12, 0.0, 1 + 4 * (1 - 0.025 ** (1 / 12)))):
        found = mean_given_error([1.0] * errors + [0.0] * 20).interval(0.95)
        assert (found.low, found.high) == pytest.approx((low, high))


def test_items_needed_for_a_rate_are_those_of_the_stated_truth_by_hand() -> None:
    """0 of 80 and a limit of 0.05%: 1.2 million items were asked for; at a true 0.025% 40,153 show it with 80%."""
    metric, (z_a, z_b) = METRICS["catastrophic_rate"], norm.ppf([0.95, 0.8])
    for n in (80, 400):
        made = Outcomes(
            metric=metric, items=tuple(map(str, range(n))), conditions=("a",), item=np.arange(n),
            condition=np.zeros(n, dtype=np.intp), value=np.zeros(n),
        )  # fmt: skip
        asked = ask(
            mean_evidence(made, "a", exact=True), "catastrophic_rate", conditions=("a",), relation="below", value=5e-4,
            family="requirement",
        )  # fmt: skip
        (claim,) = decide([asked])
        reach = z_a * np.sqrt(5e-4 * (1 - 5e-4)) + z_b * np.sqrt(2.5e-4 * (1 - 2.5e-4))
        assert claim.needed == np.ceil((reach / 2.5e-4) ** 2)
    k = np.arange(40)  # the exact test at that size
    passes = k[beta.ppf(0.95, k + 1, claim.needed - k) < 5e-4]
    assert binom.cdf(passes.max(), claim.needed, 2.5e-4) == pytest.approx(0.8, abs=0.03)


def test_the_best_come_first_by_their_weighted_means() -> None:
    """a is right on 2 of 8 items that count for 100, b on 3 that count for 6: b stood first."""
    right = {"a": (0, 1), "b": (2, 3, 4)}
    rows = [
        {"item": k, "condition": c, "correct": int(k in right[c]), "weight": 50.0 if k < 2 else 2.0}
        for k in range(8)
        for c in "ab"
    ]
    report = compared(pl.DataFrame(rows))
    assert report.groups == (("a", "b"),)
    assert report.measures["accuracy"]["a"] == pytest.approx(100 / 112)


def test_a_level_of_a_score_is_asked_on_the_side_that_is_good() -> None:
    frame = frame_of("five")
    for better, rule, limit in (("lower", "below", 4.9), ("higher", "above", 1.1)):
        tables = read_tables(frame, options=ReadOptions(scale=(1.0, 5.0), better=better))
        asked = {"candidate": "new", "require": [{"metric": "mean_score", "rule": rule, "limit": limit}]}
        assert run_gate(make_plan("gate", asked), tables).outcome is Verdict.VERIFIED
        turned = read_tables(
            frame, options=ReadOptions(scale=(1.0, 5.0), better="lower" if better == "higher" else "higher")
        )
        with pytest.raises(PlanError, match="is better"):
            run_gate(make_plan("gate", asked), turned)


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-9, 1e9), st.integers(1, 5))
def test_a_bound_is_never_rounded_past_itself(value: float, digits: int) -> None:
    up, down = (float(f(value, digits=digits).replace(",", "")) for f in (at_most, at_least))
    assert down <= value * (1 + 1e-6)
    assert up >= value * (1 - 1e-6)
    assert up - down <= 2 * value * 10.0 ** (1 - digits)
