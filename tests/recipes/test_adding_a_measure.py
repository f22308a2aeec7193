"""Adding a measure is adding a row: a copy of the package with one more row, asked by every command."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import richter
from helpers.package_copy import copy_package, document, insert

ROW = """
METRICS["helpfulness"] = _row(
    "helpfulness", "bounded", "higher",
    "more helpful | less helpful | equally helpful | helpfulness", low=0.0, high=10.0, default_margin=0.5,
    source="column", column="helpfulness", gateable=True, sequential=True, watched=True,
)
"""
MARK = "\n\ndef gateable_measures()"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the package with one more row in its table of measures, and nothing else changed."""
    folder = copy_package(tmp_path_factory.mktemp("package"))
    insert(folder / "richter" / "claims" / "_measures.py", ROW, before=MARK)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conditions of 300 questions, right or wrong, with a score of 0 to 10 beside; and nine days of one."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(3)
    ease = rng.normal(0, 1, 300)

    def table(condition: str, lift: float) -> pl.DataFrame:
        score = np.clip(np.round(5 + ease + lift + rng.normal(0, 1, 300), 1), 0, 10)
        score[:2] = 0, 10
        right = (ease + rng.normal(0, 1, 300) > 0).astype(int)
        items = [f"q{k}" for k in range(300)]
        return pl.DataFrame({"item": items, "condition": condition, "correct": right, "helpfulness": score})

    pl.concat([table("old", 0.0), table("new", 1.0)]).write_csv(folder / "results.csv")
    (folder / "days").mkdir()
    for day in range(1, 10):
        table("bot", 0.0).write_csv(folder / "days" / f"2026-01-{day:02}.csv")
    return folder


def test_compare_takes_it_as_its_main_measure_with_its_words_and_its_margin(package: Path, data: Path) -> None:
    asked = ("compare", "results.csv", "old", "new", "--on", "helpfulness", "--margin", "helpfulness=2pt")
    found = document(package, data, *asked)
    claim = next(c for c in found["claims"] if c["measure"] == "helpfulness")
    assert found["primary"] == "helpfulness"
    assert (claim["verdict"], claim["better"], claim["family"]["name"]) == ("verified", "higher", "main")
    assert claim["margin"] == pytest.approx(0.2)  # hundredths of 0 to 10
    assert "more helpful" in claim["sentence"]


def test_gate_and_a_gate_plan_require_it(package: Path, data: Path) -> None:
    found = document(package, data, "gate", "results.csv", "old", "new", "--margin", "helpfulness=5pt")
    assert [(c["measure"], c["verdict"]) for c in found["claims"]] == [("helpfulness", "verified")]
    (data / "plan.toml").write_text(
        'kind = "gate"\ncandidate = "new"\nbaseline = "old"\n'
        '[[require]]\nmetric = "helpfulness"\nrule = "no_worse"\nlimit = 0.5\n'
    )
    planned = document(package, data, "gate", "plan.toml", "results.csv")
    assert [(c["measure"], c["verdict"]) for c in planned["claims"]] == [("helpfulness", "verified")]


def test_watch_follows_it_and_divides_the_level_by_it(package: Path, data: Path) -> None:
    found = document(package, data, "watch", "days")
    series = {s["metric"]: s for s in found["series"]}
    assert set(series) == {"error_rate", "helpfulness"}
    assert series["helpfulness"]["limit"] == pytest.approx(2 / 0.05)
    assert all(0 <= x <= 10 for x in series["helpfulness"]["low"] + series["helpfulness"]["high"])


def test_size_reads_its_margin_on_its_scale(package: Path, data: Path) -> None:
    two = document(package, data, "size", "results.csv", "old", "new", "--on", "helpfulness", "--margin", "2pt")
    assert two["margin"] == pytest.approx(0.2)
    assert two["measure"] == "helpfulness"
    bare = document(package, data, "size", "results.csv", "old", "new", "--on", "helpfulness", "--margin", "0.2")
    assert two["labels"] == bare["labels"] > 100


def test_the_page_states_it(package: Path, data: Path) -> None:
    found = document(package, data, "report", "results.csv", "-o", "page.html")
    claim = next(c for c in found["claims"] if c["measure"] == "helpfulness")
    assert (claim["verdict"], claim["better"], claim["family"]["name"]) == ("verified", "higher", "other")
    page = re.sub(r"</?b[^>]*>", "", (data / "page.html").read_text())  # names stand in bold letters
    assert claim["sentence"] in page


def test_a_table_with_no_other_score_counts_it_once_under_its_name(package: Path, data: Path) -> None:
    """By its row, also where a command says that it is the score."""
    pl.read_csv(data / "results.csv").drop("correct").write_csv(data / "alone.csv")
    for more in ((), ("--map", "score=helpfulness")):
        found = document(package, data, "compare", "alone.csv", "old", "new", *more)
        assert found["primary"] == "helpfulness"
        assert [c["measure"] for c in found["claims"]] == ["helpfulness"]
        gated = document(package, data, "gate", "alone.csv", "old", "new", "--margin", "5pt", *more, "--yes")
        assert [(c["measure"], c["hypothesis"]["value"]) for c in gated["claims"]] == [("helpfulness", -0.5)]


def test_a_value_outside_its_range_is_blocked_with_its_row(package: Path, data: Path) -> None:
    table = pl.read_csv(data / "results.csv")
    is_fault = (pl.col("item") == "q9") & (pl.col("condition") == "new")
    table.with_columns(helpfulness=pl.when(is_fault).then(12.0).otherwise("helpfulness")).write_csv(data / "odd.csv")
    for words in (
        ("compare", "odd.csv", "old", "new"),
        ("gate", "odd.csv", "old", "new", "--margin", "helpfulness=5pt"),
    ):
        claim = next(c for c in document(package, data, *words)["claims"] if c["measure"] == "helpfulness")
        assert (claim["verdict"], claim["blocked_by"]) == ("blocked", "range")
        assert "helpfulness is 12 in item q9 of new: outside 0 to 10" in claim["reason"]


@pytest.mark.audit
def test_asking_may_stop_on_it(package: Path) -> None:
    script = """
import numpy as np
from richter.floors import CLAIM_GRAMMAR, parse_claim
from richter_audit.stages import Outcome, ask_until
assert "helpfulness" in CLAIM_GRAMMAR
rng = np.random.default_rng(0)
def ask(items, conditions):
    return [Outcome(item=i, condition="m", scores={"helpfulness": float(rng.uniform(6, 10))}) for i in items]
items = [f"q{k}" for k in range(600)]
for text, verdict in (("helpfulness > 7", "verified"), ("helpfulness < 7", "refuted")):
    found = ask_until(parse_claim(text), items, ask, conditions=["m"], rng=rng).claim
    assert (found.measure, found.verdict.value) == ("helpfulness", verdict), found
    assert 7 <= found.interval.low < found.estimate < found.interval.high <= 10
"""
    both = os.pathsep.join([str(package), str(Path(richter.__file__).parents[1])])  # richter_audit as it is
    env = {**os.environ, "PYTHONPATH": both}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
