"""What is known of the data reaches `severity` as it reaches `compare`: one measure, one value, or one named block."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from richter.audit import compare_tables, weigh_scores
from richter.claims import Points
from richter.evidence import margins_of, metric_of, outcomes_of
from richter.records import Claim, Verdict
from richter.severity import MEASURES, mean_given_error
from richter.stats import ppi_rate
from richter.tables import KEY, Dataset, ReadOptions, read_tables
from richter.words import describe_counts

SHARED = ("severity_given_error", "catastrophic_rate", "mean_severity")
FEW: dict[str, Any] = {"n_resamples": 200}
N = 240


def rated(seed: int = 1, *, n: int = N, draws: int = 1) -> pl.DataFrame:
    """Two conditions of much the same severities; `new` errs a little more severely."""
    rng = np.random.default_rng(seed)
    rows = []
    for name, more in (("old", 0.0), ("new", 0.15)):
        for i in range(n):
            for k in range(draws):
                level = rng.integers(1, 9) / 2 if rng.random() < 0.4 + more * (i % 3 == 0) else 0.0
                rows.append((f"q{i:03d}", name, k, level))
    frame = pl.DataFrame(rows, schema=["item", "condition", "draw", "severity"], orient="row")
    return frame if draws > 1 else frame.drop("draw")


def by_judge(frame: pl.DataFrame, *, seed: int = 2, share: float = 0.4, design: str = "") -> pl.DataFrame:
    """The severities as a judge's ratings, and people's of some: drawn twice as often where the judge saw an error."""
    rng = np.random.default_rng(seed)
    severe = pl.col("severity") > 0
    answers = frame.with_columns(
        pl.when(severe).then(pl.lit("flagged")).otherwise(pl.lit("clean")).alias("stratum"),
        pl.when(severe).then(share).otherwise(share / 2).alias("inclusion"),
    )
    chosen = rng.random(len(answers)) < answers["inclusion"].to_numpy()
    judged = answers.with_columns(pl.lit("gpt").alias("rater"), pl.lit("judge").alias("kind"))
    people = answers.filter(pl.Series(chosen)).with_columns(
        pl.lit("anna").alias("rater"),
        pl.lit("human").alias("kind"),
        (pl.col("severity") - 0.5 * (pl.col("severity") > 1)).alias("severity"),
    )
    both = pl.concat([judged, people])
    return both.drop([c for c in ("stratum", "inclusion") if c != design])


def table(frame: pl.DataFrame) -> Dataset:
    return read_tables(frame, options=ReadOptions(any_scale=True))


def own(claims: tuple[Claim, ...]) -> dict[str, Claim]:
    return {c.measure: c for c in claims}


def weights(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(weight=1.0 + pl.col("item").str.slice(1).cast(pl.Int64) % 3)


def groups(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(group=pl.col("item").str.slice(0, 3))


DATA: dict[str, Callable[[], pl.DataFrame]] = {
    "plain": rated,
    "draws": lambda: rated(draws=3),
    "weights": lambda: weights(rated()),
    "groups": lambda: groups(rated()),
    "draws, weights and groups": lambda: groups(weights(rated(draws=2))),
    "labels by stratum": lambda: by_judge(rated(), design="stratum"),
    "labels by inclusion": lambda: by_judge(rated(), design="inclusion"),
    "labels by stratum, weights and groups": lambda: groups(weights(by_judge(rated(), design="stratum"))),
    "missing severities": lambda: rated().with_columns(
        severity=pl.when(pl.col("condition") == "new", pl.col("item") < "q012").then(None).otherwise("severity")
    ),
}


@pytest.mark.parametrize("kind", DATA)
def test_a_measure_has_one_value_in_severity_and_in_compare(kind: str) -> None:
    tables = table(DATA[kind]())
    here = own(weigh_scores(tables, **FEW).claims)
    there = own(compare_tables(table(DATA[kind]()), on=["mean_severity"], directed=False, **FEW).claims)
    for measure in SHARED:
        one, other = here[measure], there[measure]
        assert (one.estimate, one.blocked_by) == (other.estimate, other.blocked_by)
        assert one.plain_interval == other.plain_interval
        assert (one.n, one.units, one.unit) == (other.n, other.units, other.unit)
        assert one.values == other.values
        assert one.missing == other.missing


@pytest.mark.parametrize("kind", ["draws", "weights", "groups"])
@pytest.mark.parametrize("measure", SHARED)
def test_draws_weights_and_groups_change_a_claim(kind: str, measure: str) -> None:
    """A forgotten fact would leave the claim as it is without it."""
    frame = DATA[kind]()
    without = frame.filter(pl.col("draw") == 0).drop("draw") if kind == "draws" else frame.drop(kind[:-1])
    a, b = (own(weigh_scores(f, **FEW).claims)[measure] for f in (frame, without))
    assert a.plain_interval != b.plain_interval
    assert (a.estimate == pytest.approx(b.estimate)) == (kind == "groups")


@pytest.mark.parametrize("kind", ["draws", "weights"])
def test_draws_and_weights_count_in_each_conditions_own_figures_by_hand(kind: str) -> None:
    frame = DATA[kind]()
    report = weigh_scores(frame, require=["severity>=3 below 500000 per million"], **FEW)
    severe, weight = pl.col("severity") >= 3, pl.lit(1.0) if kind == "draws" else pl.col("weight")
    of = frame.group_by("condition").agg(
        rate=(severe * weight).sum() / weight.sum() if kind == "weights" else severe.mean(),
        wrong=((pl.col("severity") > 0) * weight).sum() / weight.sum()
        if kind == "weights"
        else (pl.col("severity") > 0).mean(),
    )
    for name, rate, wrong in of.iter_rows():
        found = report.conditions[name]
        assert found.error_rate == pytest.approx(wrong)
        assert found.per_million["3.0"].per_million == pytest.approx(1e6 * rate)
        (check,) = [c for c in report.requirements if c.conditions == (name,)]
        assert check.estimate == pytest.approx(1e6 * rate)
    assert {c.n for c in report.conditions.values()} == {N * (3 if kind == "draws" else 1)}


def test_missing_severities_count_both_ways_in_a_claim_and_in_a_requirement() -> None:
    """All of the worst answers of `new` are gone: nothing is met that their worst would violate."""
    full = rated().with_columns(
        severity=pl.when(pl.col("condition") == "new", pl.col("item") < "q020").then(4.0).otherwise("severity")
    )
    lost = full.with_columns(
        severity=pl.when(pl.col("condition") == "new", pl.col("item") < "q020").then(None).otherwise("severity")
    )
    gone = full.filter((pl.col("condition") != "new") | (pl.col("item") >= "q020"))
    limit = 1e6 * full.filter(pl.col("condition") == "new").select((pl.col("severity") >= 4).mean()).item()
    rule = f"severity>=4 below {limit:.0f} per million"

    def check(frame: pl.DataFrame, **more: Any) -> Claim:
        found = weigh_scores(frame, require=[rule], **FEW, **more).requirements
        return next(c for c in found if c.conditions == ("new",))

    assert check(full).verdict is Verdict.UNDECIDED
    assert check(lost, missing="at-random").verdict is Verdict.VERIFIED
    for frame in (lost, gone):
        claim = check(frame)
        assert claim.verdict is Verdict.UNDECIDED
        assert claim.missing == {"new": 20}
        severe = own(weigh_scores(frame, **FEW).claims)
        assert severe["catastrophic_rate"].missing == {"old": 0, "new": 20}
        assert severe["severity_given_error"].blocked_by == "missing"
        assert own(weigh_scores(frame, missing="at-random", **FEW).claims)["severity_given_error"].estimate is not None


@pytest.mark.parametrize("kind", ["plain", "draws", "weights", "groups", "draws, weights and groups"])
def test_a_missing_severity_counts_in_a_requirement_as_the_worst_would_in_its_place(kind: str) -> None:
    """The upper limit is that of the file in which the worst stands."""
    frame = DATA[kind]()
    gone = (pl.col("condition") == "new") & (pl.col("item") < "q040")
    gone = gone & (pl.col("draw") == 0) if "draw" in frame.columns else gone
    full = frame.with_columns(severity=pl.when(gone).then(4.0).otherwise("severity"))
    lost = frame.with_columns(severity=pl.when(gone).then(None).otherwise("severity"))

    def check(data: pl.DataFrame) -> Claim:
        found = weigh_scores(data, require=["severity>=3 below 300000 per million"], **FEW).requirements
        return next(c for c in found if c.conditions == ("new",))

    whole, counted = check(full).plain_interval, check(lost).plain_interval
    assert whole is not None
    assert counted is not None
    assert counted.high == pytest.approx(whole.high)
    assert counted.low < whole.low  # the other way leaves them out


@pytest.mark.parametrize("design", ["", "stratum", "inclusion"])
def test_missing_severities_count_as_the_worst_where_people_correct_the_judge(design: str) -> None:
    """A sixth of the answers lost as the worst puts at least a sixth into the rate, whatever design labels have."""
    frame = by_judge(rated(), design=design)
    gone = (pl.col("condition") == "new") & (pl.col("item") < "q040")
    lost = frame.filter(~gone)

    def high(data: pl.DataFrame, **more: Any) -> float:
        rule = "severity>=3 below 900000 per million"
        found = weigh_scores(data, require=[rule], trust_labels=True, **FEW, **more).requirements
        claim = next(c for c in found if c.conditions == ("new",))
        assert claim.plain_interval is not None
        return claim.plain_interval.high

    without = high(lost, missing="at-random")
    assert high(lost) - without == pytest.approx(1e6 * 40 / N - without * 40 / N, rel=0.25)


def test_failed_calls_with_severities_are_missing() -> None:
    frame = rated().with_columns(
        error=pl.when(pl.col("condition") == "new", pl.col("item") < "q020").then(pl.lit("timeout"))
    )
    tables = table(frame)
    failed = tables.answers.filter(pl.col("error").fill_null("") != "").select(KEY)
    tables = dataclasses.replace(tables, ratings=tables.ratings.join(failed, on=KEY, how="anti"))
    claims = own(weigh_scores(tables, **FEW).claims)
    other = own(compare_tables(tables, on=["mean_severity"], directed=False, **FEW).claims)
    assert claims["mean_severity"].missing == other["mean_severity"].missing == {"old": 0, "new": 20}
    assert claims["mean_severity"].n == other["mean_severity"].n == N - 20


def test_raters_of_one_condition_each_block_every_claim() -> None:
    frame = rated().with_columns(rater=pl.col("condition"), kind=pl.lit("judge"))
    claims = weigh_scores(frame, **FEW).claims
    assert {c.blocked_by for c in claims} == {"raters"}
    assert {c.override for c in claims} == {"--trust-raters"}
    trusted = own(weigh_scores(frame, trust_raters=True, **FEW).claims)
    assert trusted["severity_given_error"].estimate is not None


@pytest.mark.parametrize("design", ["stratum", "inclusion"])
def test_labels_of_a_known_design_correct_by_it(design: str) -> None:
    """Labels are drawn twice as often of errors; the judge counts within strata too."""
    frame = by_judge(rated(n=2000), design="stratum")
    truth = rated(n=2000).with_columns((pl.col("severity") - 0.5 * (pl.col("severity") > 1)).alias("severity"))
    tables = table(frame)
    if design == "inclusion":  # the chance of every answer alone says in which stratum it was drawn
        chance = pl.when(pl.col("layer") == "flagged").then(0.4).otherwise(0.2)
        answers = tables.answers.with_columns(chance.alias("inclusion"), pl.lit(None, pl.String).alias("layer"))
        tables = dataclasses.replace(tables, answers=answers)
    report = weigh_scores(tables, **FEW)
    for name in ("old", "new"):
        own_truth = truth.filter(pl.col("condition") == name)["severity"]
        given = frame.filter(pl.col("condition") == name)
        judge = given.filter(pl.col("kind") == "judge")
        people = given.filter(pl.col("kind") == "human").select("item", pl.col("severity").alias("label"))
        rows = judge.join(people, on="item", how="left", maintain_order="left")
        label = rows["label"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        rate = ppi_rate(label, rows["severity"].to_numpy(), 1.0, strata=rows["stratum"].to_numpy())
        row = report.human[name].at(1.0)
        assert row.per_million == pytest.approx(1e6 * rate.estimate)
        true = float((own_truth >= 1).mean())
        assert true in rate.interval
        mean = float(own_truth.filter(own_truth > 0).mean() or 0)  # type: ignore[arg-type]
        found = report.corrected[name].given_error.interval
        assert found.low < mean < found.high
    first = report.claims[0]
    assert (first.measure, first.primary) == ("true_severity_given_error", True)


def test_strata_across_judged_levels_are_weighed_in_the_corrected_mean() -> None:
    """Labels mostly of hard items, which the judge underrates: within a judged level they are no random sample."""
    rng = np.random.default_rng(5)
    n = 6000
    hard = rng.random(n) < 0.3
    true = np.where(rng.random(n) < 0.6, np.where(hard, 3.5, 1.5), 0.0)
    judged = np.where(true > 0, 2.0, 0.0)
    chosen = rng.random(n) < np.where(hard, 0.5, 0.05)
    rows = []
    for name in ("a", "b"):
        for i in range(n):
            stratum = "hard" if hard[i] else "easy"
            rows.append((f"q{i}", name, "gpt", "judge", judged[i], stratum))
            if chosen[i]:
                rows.append((f"q{i}", name, "anna", "human", true[i], stratum))
    frame = pl.DataFrame(rows, schema=["item", "condition", "rater", "kind", "severity", "stratum"], orient="row")
    mean = float(true[true > 0].mean())
    with_design = weigh_scores(frame, **FEW).corrected["a"].given_error
    assert with_design.interval.low < mean < with_design.interval.high
    without = weigh_scores(frame.drop("stratum"), **FEW).corrected["a"].given_error
    assert without.interval.low > mean


def test_labels_of_an_unknown_design_block_and_are_used_where_the_user_vouches() -> None:
    frame = by_judge(rated(), design="stratum").with_columns(
        stratum=pl.when((pl.col("kind") == "human") | (pl.col("item") > "q100")).then("stratum")
    )
    report = weigh_scores(table(frame), require=["severity>=3 below 900000 per million"], **FEW)
    assert {c.blocked_by for c in report.claims} == {"labels"}
    assert (report.corrected, report.human) == ({}, {})
    trusted = weigh_scores(table(frame), trust_labels=True, **FEW)
    assert set(trusted.human) == {"old", "new"}


def test_labels_of_a_file_are_those_of_the_data(tmp_path: Path) -> None:
    """--human FILE is merged first, so that every estimator sees the same labels."""
    both = by_judge(rated(), design="stratum")
    judged, people = (both.filter(pl.col("kind") == kind) for kind in ("judge", "human"))
    everywhere = judged.with_columns(kind=pl.lit("human"), rater=pl.lit("anna"), severity=pl.lit(None, pl.Float64))
    everywhere = everywhere.join(people, on=("item", "condition"), how="anti")
    path = tmp_path / "labels.csv"
    pl.concat([people, everywhere]).write_csv(path)
    inside, beside = weigh_scores(both, **FEW), weigh_scores(judged.drop("stratum"), human=path, **FEW)
    assert [c.measure for c in beside.claims] == [c.measure for c in inside.claims]
    for one, other in zip(inside.claims, beside.claims, strict=True):
        assert (one.verdict, one.estimate, one.plain_interval) == (other.verdict, other.estimate, other.plain_interval)
    assert inside.human["new"].at(3.0) == beside.human["new"].at(3.0)
    only = tmp_path / "few.csv"  # the strata of answers that nobody labelled are not known
    people.write_csv(only)
    assert {c.blocked_by for c in weigh_scores(judged.drop("stratum"), human=only, **FEW).claims} == {"labels"}


def test_claims_that_a_page_decided_stand_in_the_study() -> None:
    tables = table(rated())
    page = compare_tables(tables, on=["mean_severity"], directed=False, **FEW)
    report = weigh_scores(tables, decided=page.claims, require=["severity>=3 below 900000 per million"], **FEW)
    assert report.study.claims == tuple(c for c in page.claims if c.measure in MEASURES)
    assert [c.verdict for c in report.requirements] == [Verdict.VERIFIED] * 2


@pytest.mark.parametrize("margin", [0.2, {"b": 0.5}, {"mean_severity": 0.3}])
def test_a_stated_margin_is_one_measures(margin: Any) -> None:
    claims = weigh_scores(rated(), margin=margin, **FEW).claims
    stated = {c.measure for c in claims if c.margin is not None}
    assert stated == ({"severity_given_error"} if isinstance(margin, float) else set(margin))


@pytest.mark.parametrize(("worst", "end"), [(4.0, 4.0), (6.5, 7.0), (9.0, 10.0), (60.0, 100.0), (250.0, 250.0)])
def test_the_scale_of_severities_is_a_fact_of_the_data_by_hand(worst: float, end: float) -> None:
    frame = rated().with_columns((pl.col("severity") * worst / pl.col("severity").max()).round(1))
    tables = table(frame)
    assert tables.worst_severity == tables.select(tables.conditions[:1]).worst_severity == end
    for measure in ("severity_given_error", "mean_severity"):
        assert metric_of(tables, measure).ends == (0.0, end)
    assert outcomes_of(tables, "mean_severity").metric.worst == end
    assert margins_of(tables, {"mean_severity": Points(0.02)}) == {"mean_severity": pytest.approx(0.02 * end)}
    claim = own(weigh_scores(tables, **FEW).study.claims)["severity_given_error"]
    assert claim.sizes == () or claim.sizes[0].difference == pytest.approx(0.05 * end)
    assert f"on a scale of 0 to {end:g}" in describe_counts(claim)


def test_one_severity_of_few_errors_may_be_any_of_the_scale_by_hand() -> None:
    """Three errors of severity 2 on a scale that ends at 10: what was not seen may be as severe as 10."""
    few = mean_given_error([2.0] * 3 + [0.0] * 20, worst=10.0).interval(0.95)
    assert few.high > mean_given_error([2.0] * 3 + [0.0] * 20).interval(0.95).high
    assert few.high == 10.0
