"""Human severities of real systems' errors, end to end. The public files are read where they lie."""

import collections
import csv
import json
from pathlib import Path

import numpy as np
import pytest

from richter.audit import weigh_scores
from richter.records import jsonable

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


def write_scores(table: dict[tuple[str, str], dict[str, float]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "condition", "severity", "judge_1", "judge_2", "judge_1_name", "judge_2_name"])
        for (item, system), given in table.items():
            names = sorted(given)
            first = [given[names[0]], given[names[1]] if len(names) > 1 else ""]
            pair = [names[0], names[1] if len(names) > 1 else ""]
            writer.writerow([item, system, np.mean(list(given.values())), *first, *pair])


def test_mqm_of_ten_systems_by_three_raters(shared_data: Path, tmp_path: Path) -> None:
    table = worst_by_rater(shared_data / "mqm_ende_3raters.tsv", ("doc", "docSegId"), "rater")
    path = tmp_path / "scores.csv"
    write_scores(table, path)
    report = weigh_scores(path, n_resamples=500, everything=True)
    result = report.to_dict()
    json.dumps(jsonable(result), allow_nan=False)
    systems = {system for _, system in table}
    assert set(result["conditions"]) == systems
    assert len(systems) == 10
    for system in systems:
        mine = [np.mean(list(given.values())) for (_, s), given in table.items() if s == system]
        row = result["conditions"][system]
        assert (row["n"], row["errors"]) == (len(mine), sum(m > 0 for m in mine))
        assert row["per_million"]["3.0"]["count"] == sum(m > 2.75 for m in mine)
        assert row["interval"] is None or row["interval"][0] <= row["b"]["truncated"] <= row["interval"][1]
    assert 0 < result["reliability"] < 1
    # Minor and Major fill only some half steps, so no slope claim may stand where the law is rejected
    for pair in result["pairs"]:
        if pair["verdict"] == "verified":
            assert min(result["conditions"][pair[k]]["gof_p"] for k in "ab") > 0.05
    assert "skipped" not in result["analyses"]["aggregation_rules"]
    assert "skipped" in result["analyses"]["scaling"]


def test_biomedical_translations_with_critical_errors(shared_data: Path, tmp_path: Path) -> None:
    table = worst_by_rater(shared_data / "biomqm_de2en.tsv", ("doc", "seg"), "annotator")
    path = tmp_path / "scores.csv"
    write_scores(table, path)
    report = weigh_scores(path, n_resamples=500, require=["severity>=4 below 10000 per million"])
    result = report.to_dict()
    systems = {system for _, system in table}
    assert set(result["conditions"]) == systems
    counts = result["counts"]
    assert counts["gated"] <= counts["difference_test"] <= counts["matched"]
    for finding, system in zip(report.requirements, result["conditions"], strict=True):
        row = result["conditions"][system]["per_million"]["4.0"]
        critical = sum(np.mean(list(g.values())) > 3.75 for (_, s), g in table.items() if s == system)
        assert row["count"] == critical
        if critical == 0:
            assert row["per_million"] is None
            assert finding.verdict != "verified" or row["n"] >= 299  # 1% needs 299 clean answers
