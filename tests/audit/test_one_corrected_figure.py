"""One file with judge grades, strata, inclusion and labels: every surface gives one corrected figure."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import richter
from richter.audit import compare_tables, measure_agreement, study_judges, weigh_scores
from richter.claims import Question
from richter.cli import main
from richter.evidence import evidence
from richter.stats import ppi_difference, ppi_mean
from richter.tables import ratings_of, read_tables

N = 300
FEW = {"n_resamples": 200}


def judged(design: tuple[str, ...]) -> pl.DataFrame:
    """A judge's severities of two conditions, and labels drawn twice as often where it saw an error."""
    rng = np.random.default_rng(5)
    rows = []
    for name, more in (("old", 0.0), ("new", 0.4)):
        true = np.where(rng.random(N) < 0.5 + 0.2 * more, rng.integers(1, 9, N) / 2, 0.0)
        judge = np.clip(np.round(2 * (true + 0.3 + 0.5 * rng.standard_normal(N))) / 2, 0, 4)
        chance = np.where(judge > 0, 0.4, 0.2)
        stratum = np.where(judge > 0, f"{name} flagged", f"{name} clean")
        drawn = np.zeros(N, dtype=bool)
        for h in np.unique(stratum):
            own = np.flatnonzero(stratum == h)
            drawn[rng.choice(own, round(chance[own[0]] * len(own)), replace=False)] = True
        for i in range(N):
            shared = (f"q{i:03d}", name, stratum[i], chance[i])
            rows.append((*shared, "gpt", "judge", judge[i]))
            if drawn[i]:
                rows.append((*shared, "anna", "human", true[i]))
    names = ["item", "condition", "stratum", "inclusion", "rater", "kind", "severity"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return frame.drop([c for c in ("stratum", "inclusion") if c not in design])


DESIGNS = [("stratum", "inclusion"), ("stratum",), ("inclusion",), ()]


@pytest.mark.parametrize("design", DESIGNS)
def test_every_surface_gives_one_corrected_figure(design: tuple[str, ...], tmp_path: Path) -> None:
    frame = judged(design)
    path = tmp_path / "judged.csv"
    frame.write_csv(path)
    tables = read_tables(path)
    (claim,) = compare_tables(tables, on=["mean_severity"], **FEW).of("mean_severity")
    old, new = claim.values
    # Python, by arrays
    sides, strata = [], []
    for name in ("old", "new"):
        own = frame.filter(pl.col("condition") == name)
        judge = own.filter(pl.col("kind") == "judge").sort("item")
        people = own.filter(pl.col("kind") == "human").select("item", pl.col("severity").alias("label"))
        rows = judge.join(people, on="item", how="left", maintain_order="left")
        sides.append((rows["label"].fill_null(float("nan")).to_numpy(), rows["severity"].to_numpy()))
        strata.append(rows[design[0]].to_numpy() if design else None)
    means = [ppi_mean(*side, strata=layer) for side, layer in zip(sides, strata, strict=True)]
    assert (old, new) == pytest.approx([one.estimate for one in means])
    gap = ppi_difference(*sides, strata=None if not design else (strata[0], strata[1]))
    assert claim.estimate == pytest.approx(gap.estimate)
    assert claim.plain_interval is not None
    assert (claim.plain_interval.low, claim.plain_interval.high) == pytest.approx((gap.interval.low, gap.interval.high))
    # severity
    report = weigh_scores(path, **FEW)
    for name, one in zip(("old", "new"), means, strict=True):
        found = report.corrected[name].mean
        assert found.estimate == pytest.approx(one.estimate)
        assert (found.interval.low, found.interval.high) == pytest.approx((one.interval.low, one.interval.high))
        share = evidence(tables, Question(measure="catastrophic_rate", conditions=(name,))).known
        assert report.human[name].at(3.0).per_million == pytest.approx(1e6 * share.estimate)
        assert report.corrected[name].at_least["3.0"].estimate == pytest.approx(share.estimate)
    # label agreement, and the study of judges
    fixed = measure_agreement(ratings_of(tables), rng=np.random.default_rng(0)).corrected["judge"]
    assert [row.mean_severity.estimate for row in fixed] == pytest.approx([old, new, claim.estimate])
    trust = study_judges(tables)
    assert trust is not None
    accuracy = {s.condition: s.estimate for s in trust.corrected}
    (right,) = compare_tables(tables, **FEW).of("accuracy")
    assert list(accuracy.values()) == pytest.approx(list(right.values))


def test_compare_severity_report_label_and_python_print_one_figure(tmp_path: Path) -> None:
    """One file with grades, strata, inclusion and labels, through every command's JSON and `import richter`."""
    path = tmp_path / "judged.csv"
    judged(("stratum", "inclusion")).write_csv(path)
    written = {}
    for name, command in {
        "compare": ["compare", str(path), "--on", "mean_severity"],
        "severity": ["severity", str(path)],
        "report": ["report", str(path)],
        "label": ["label", "agreement", str(path)],
    }.items():
        target = tmp_path / f"{name}.json"
        with pytest.raises(SystemExit):
            main([*command, "--json", str(target)])
        written[name] = json.loads(target.read_text())
    expected = [ppi_mean(*arrays_of(path, name)[:2], strata=arrays_of(path, name)[2]) for name in ("old", "new")]
    figures = {
        name: next(c["values"] for c in written[name]["claims"] if c["measure"] == "mean_severity")
        for name in ("compare", "report")
    }
    figures["severity"] = [written["severity"]["corrected"][name]["mean"]["estimate"] for name in ("old", "new")]
    figures["label"] = [row["mean_severity"]["estimate"] for row in written["label"]["corrected_judges"][:2]]
    (claim,) = richter.open(path).compare(on=["mean_severity"]).of("mean_severity")
    figures["python"] = list(claim.values)
    for name, values in figures.items():
        assert values == pytest.approx([one.estimate for one in expected]), name


def arrays_of(path: Path, condition: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels (NaN where none), judge's severities and strata of a condition."""
    own = pl.read_csv(path).filter(pl.col("condition") == condition)
    judge = own.filter(pl.col("kind") == "judge").sort("item")
    people = own.filter(pl.col("kind") == "human").select("item", pl.col("severity").alias("label"))
    rows = judge.join(people, on="item", how="left", maintain_order="left")
    return rows["label"].fill_null(float("nan")).to_numpy(), rows["severity"].to_numpy(), rows["stratum"].to_numpy()


def test_rates_are_of_each_raters_decisions_on_every_surface() -> None:
    """Two people differ on every sixth answer, two judges on every fifth: half a vote is not an error."""
    frame = judged(("stratum",))
    people, judges = (frame.filter(pl.col("kind") == kind).sort("condition", "item") for kind in ("human", "judge"))

    def flipped(rows: pl.DataFrame, rater: str, every: int) -> pl.DataFrame:
        other = pl.when(pl.col("severity") > 0).then(0.0).otherwise(3.5)
        is_other = pl.int_range(pl.len()) % every == 0
        return rows.with_columns(
            pl.when(is_other).then(other).otherwise("severity").alias("severity"), rater=pl.lit(rater)
        )

    tables = read_tables(pl.concat([frame, flipped(people, "ben", 6), flipped(judges, "claude", 5)]))
    report = measure_agreement(ratings_of(tables), rng=np.random.default_rng(0))
    by_name = {one.condition: one for one in report.corrected["judge"]}
    (claim,) = compare_tables(tables, on=["catastrophic_rate"], **FEW).of("catastrophic_rate")
    for name, value in zip(("old", "new"), claim.values, strict=True):
        rates = by_name[name].rates
        assert isinstance(rates, dict)
        assert rates[3.0].estimate == pytest.approx(value)
        share = evidence(tables, Question(measure="error_rate", conditions=(name,))).known
        assert rates[0.5].estimate == pytest.approx(share.estimate)
    gap = by_name["new minus old"].rates
    assert isinstance(gap, dict)
    assert gap[3.0].estimate == pytest.approx(claim.estimate)
