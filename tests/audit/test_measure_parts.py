"""Which sections a document has, what would fill those that it lacks, and what its claims are stamped with."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl

from richter.audit import measure_run, new_plan
from richter.audit._measure_claims import RunStudy, claims_of
from richter.records import Claim, Hypothesis, Verdict


def write(folder: Path, *, names: tuple[str, ...] = ("old", "new"), n: int = 60, **columns: Any) -> Path:
    """A file of grades with texts: every third answer is wrong."""
    rows = [(f"q{i}", name, int(i % 3 > 0), f"text {i}") for name in names for i in range(n)]
    path = folder / "grades.csv"
    frame = pl.DataFrame(rows, schema=["item", "condition", "correct", "answer"], orient="row")
    frame.with_columns(pl.Series(name, values) for name, values in columns.items()).write_csv(path)
    return path


def document(path: Path) -> dict[str, Any]:
    return measure_run(path, n_resamples=50).to_dict()


def test_a_severity_plan_holds_for_the_whole_page(tmp_path: Path) -> None:
    """Its main measure, its margins, its level and its requirements; without it the page has its own."""
    rng = np.random.default_rng(2)
    severity = np.where(np.arange(120) % 3 == 0, rng.integers(1, 9, 120) / 2, 0.0)
    path, plan = write(tmp_path, severity=severity), tmp_path / "plan.toml"
    fields = {"primary": "mean_severity", "margin": 0.5, "margins": ["mean_severity=0.3"], "level": 0.9}
    plan.write_text(new_plan("severity", {**fields, "require": ["severity>=3 below 900 per thousand"]}))
    planned, own = (measure_run(path, n_resamples=200, **more).to_dict() for more in ({"plan": plan}, {}))
    margins = {"severity_given_error": 0.5, "mean_severity": 0.3}
    assert (planned["methods"]["margins"], planned["methods"]["level"]) == (margins, 0.9)
    assert (own["methods"]["margins"], own["methods"]["level"]) == ({}, 0.95)
    stated = {c["measure"]: c.get("margin") for c in planned["claims"] if len(c["conditions"]) == 2}
    assert {m: stated[m] for m in margins} == margins
    pairs = [[c for c in found["claims"] if len(c["conditions"]) == 2] for found in (planned, own)]
    assert [{c["measure"] for c in of_page if c["primary"]} for of_page in pairs] == [{"mean_severity"}, {"accuracy"}]
    assert planned["version"] == 3
    required = [sum(c["section"] == "requirements" for c in found["claims"]) for found in (planned, own)]
    assert required == [2, 0]  # one a condition


def claim(measure: str, *names: str, **more: Any) -> Claim:
    fields: dict[str, Any] = {"verdict": Verdict.UNDECIDED, "sentence": "", "estimate": 0.0, "n": 1, "units": 1}
    asked = Hypothesis(relation="differs", value=0.0)
    return Claim(measure=measure, conditions=names, hypothesis=asked, **(fields | more))


def study(**more: Any) -> RunStudy:
    """A study of nothing, whose plan confirms."""
    tables = SimpleNamespace(data_hash="data", basis="people")
    found = {
        "records": SimpleNamespace(tables=tables, notes={"stopping": {}}), "plan": SimpleNamespace(hash="plan"),
        "status": SimpleNamespace(confirmatory=True), "wanted": set(), "seed": 3, "level": 0.95, "margin": None,
        "vouched": {}, "n_resamples": 50, "watch": None, "mapper": None,
    }  # fmt: skip
    return RunStudy(**cast("Any", found | more))


def test_claims_are_stamped_with_a_plan_that_confirms() -> None:
    bare = claim("accuracy", "a", "b")
    stamped = study().stamp(bare)
    assert (stamped.plan, stamped.data_hash, stamped.seed, stamped.basis) == ("plan", "data", 3, "people")
    assert study(status=SimpleNamespace(confirmatory=False)).stamp(bare).plan is None
    assert study(status=None, plan=None).stamp(bare).plan is None
    assert study().stamp(dataclasses.replace(bare, basis="judge")).basis == "judge"  # its own stays


def test_every_claim_that_ended_the_asking_is_in_the_document() -> None:
    """Two claims settled by one audit, which share a measure: neither takes the other's place."""
    note = {
        "verdict": "verified", "sentence": "Settled.", "asked": 40, "available": 100, "estimate": 0.1,
        "interval": None, "n": 40,
    }  # fmt: skip
    settled = {"claims": [note | {"claim": "accuracy > 0.8"}, note | {"claim": "ece < 0.1"}]}
    records = SimpleNamespace(tables=SimpleNamespace(data_hash="", basis=""), notes={"stopping": settled})
    found = claims_of(study(records=records))
    assert [c.claim.notes for c in found] == [("the claim was: accuracy > 0.8",), ("the claim was: ece < 0.1",)]
    assert {c.section for c in found} == {"requirements"}
