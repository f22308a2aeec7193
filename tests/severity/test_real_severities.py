"""Human severities of real systems' errors, end to end. The public files are read where they lie."""

import collections
import csv
import json
from pathlib import Path

import numpy as np
import pytest

from richter.audit import weigh_scores
from richter.tables import ReadOptions, read_tables

# an annotated error's severity on our scale; an answer has that of its worst error, averaged over its raters
WEIGHT = {"No-error": 0.0, "no-error": 0.0, "Neutral": 0.5, "Minor": 1.0, "Major": 3.0, "Critical": 4.0}

pytestmark = [pytest.mark.real_data, pytest.mark.slow]


def worst_by_rater(path: Path, item: tuple[str, ...], rater: str) -> dict[tuple[str, str], dict[str, float]]:
    """(item, system) -> rater -> severity of the worst error."""
    out: dict[tuple[str, str], dict[str, float]] = collections.defaultdict(dict)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["severity"] in WEIGHT:  # HOTW-test rows are attention checks
                place = (" ".join(row[c] for c in item), row["system"])
                given = out[place]
                given[row[rater]] = max(given.get(row[rater], 0.0), WEIGHT[row["severity"]])
    return out


def write_ratings(table: dict[tuple[str, str], dict[str, float]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "condition", "group", "rater", "kind", "severity"])
        for (item, system), given in table.items():
            for rater, severity in given.items():
                writer.writerow([item, system, item.split()[0], rater, "human", severity])


def test_mqm_of_ten_systems_by_three_raters(shared_data: Path, tmp_path: Path) -> None:
    table = worst_by_rater(shared_data / "mqm_ende_3raters.tsv", ("doc", "docSegId"), "rater")
    read = read_tables(shared_data / "mqm_ende_3raters.tsv", options=ReadOptions(confirm=True))  # the same severities
    ours = read.ratings.select("severity").to_series().sort().to_list()
    assert ours == sorted(severity for given in table.values() for severity in given.values())
    assert read.answers["group"].n_unique() == len({item.split()[0] for item, _ in table})
    path = tmp_path / "ratings.csv"
    write_ratings(table, path)
    report = weigh_scores(path, n_resamples=500)
    result = report.to_dict()
    json.dumps(result, allow_nan=False)
    systems = {system for _, system in table}
    assert set(result["conditions"]) == systems
    assert len(systems) == 10
    middle = {place: float(np.median(list(given.values()))) for place, given in table.items()}
    for system in systems:
        mine = [s for (_, name), s in middle.items() if name == system]
        row = result["conditions"][system]
        assert (row["n"], row["errors"]) == (len(mine), sum(m > 0 for m in mine))
        assert row["mean_given_error"] == pytest.approx(np.mean([m for m in mine if m > 0]))
        assert row["per_million"]["3.0"]["count"] == sum(m > 2.75 for m in mine)
    # Minor and Major fill only some half steps: no slope describes them, and claims without a law stand
    assert all(not (c["slope"] or {}).get("adequate") for c in result["conditions"].values())
    for claim in (c for c in report.claims if c.estimate is not None):
        assert claim.unit == "group"
        if claim.measure == "b":
            assert claim.verdict != "verified"
    assert any(c.verdict == "verified" for c in report.claims if c.primary)
    assert report.notes == ()


def test_biomedical_translations_with_critical_errors(shared_data: Path, tmp_path: Path) -> None:
    table = worst_by_rater(shared_data / "biomqm_de2en.tsv", ("doc", "seg"), "annotator")
    path = tmp_path / "ratings.csv"
    write_ratings(table, path)
    report = weigh_scores(path, n_resamples=500, require=["severity>=4 below 10000 per million"])
    result = report.to_dict()
    systems = {system for _, system in table}
    assert set(result["conditions"]) == systems
    for claim in report.requirements:
        system = claim.conditions[0]
        row = result["conditions"][system]["per_million"]["4.0"]
        critical = sum(np.median(list(g.values())) > 3.75 for (_, s), g in table.items() if s == system)
        assert row["count"] == critical
        if critical == 0:
            assert row["per_million"] is None
            assert claim.verdict != "verified" or row["n"] >= 299  # 1% needs 299 clean answers


@pytest.mark.sampled(0)
def test_the_papers_own_judge_scores_decide_pairs_without_a_law(shared_data: Path) -> None:
    report = weigh_scores(shared_data / "errorquake_4k_judge_scores.csv", missing="at-random")
    counts = report.study.counts
    print(counts)
    assert (counts.pairs, counts.matched) == (253, 95)
    assert counts.paper < counts.law_free  # the paper's rule finds fewer than are decided without a law
    first = [c for c in report.claims if c.primary]
    assert len(first) == 253
    assert sum(c.verdict == "verified" for c in first) > 150
    # by hand: of the pair with the largest difference the two means over errors on shared items
    claim = max(first, key=lambda c: abs(c.estimate or 0.0))
    rows: dict[str, dict[str, float]] = {name: {} for name in claim.conditions}
    with (shared_data / "errorquake_4k_judge_scores.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["condition"] in rows:
                rows[row["condition"]][row["item"]] = float(row["severity"])
    a, b = (rows[name] for name in claim.conditions)
    shared = set(a) & set(b)
    means = [np.mean([x[i] for i in shared if x[i] > 0]) for x in (a, b)]
    assert claim.estimate == pytest.approx(means[1] - means[0])
    assert "two judges cannot tell their own errors" in report.notes[-1]
