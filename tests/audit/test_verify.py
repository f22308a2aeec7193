"""Published claims against their evidence: the same data confirm them, other numbers and other data do not."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from richter.audit import verify_archive, verify_results
from richter.cli import main
from richter.errors import InputError


def run(*args: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in args])
    return int(stop.value.code or 0)


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    p = rng.random(300)
    right = rng.random((2, 300)) < np.stack([p, np.clip(p + 0.1, 0, 1)])
    frame = pl.DataFrame(
        {
            "item": [*range(300)] * 2,
            "condition": ["old"] * 300 + ["new"] * 300,
            "correct": right.reshape(-1).astype(int),
        }
    )
    frame.write_csv(tmp_path / "grades.csv")
    return tmp_path / "grades.csv"


@pytest.fixture
def results(grades: Path, tmp_path: Path) -> Path:
    assert run("compare", grades, "old", "new", "--margin", "2pt", "--json", tmp_path / "results.json") == 0
    return tmp_path / "results.json"


def test_the_same_data_confirm_every_claim(results: Path, grades: Path, tmp_path: Path) -> None:
    assert run("verify", results, grades) == 0
    pl.read_csv(grades).sample(fraction=1.0, shuffle=True, seed=1).write_parquet(tmp_path / "other.parquet")
    assert run("verify", results, tmp_path / "other.parquet") == 0  # another order and format of the same data


def test_without_evidence_only_consistency_is_checked(results: Path) -> None:
    found = verify_results(results)
    assert (found.recomputed, found.faults, found.exit_code) == (0, (), 4)
    assert run("verify", results) == 4


@pytest.mark.parametrize("field", ["estimate", "n", "units", "verdict", "interval"])
def test_any_changed_number_is_found(results: Path, grades: Path, field: str) -> None:
    document = json.loads(results.read_text())
    claim = document["claims"][0]
    if field == "interval":
        claim["interval"]["low"] += 1e-6
    elif field == "verdict":
        claim["verdict"] = "equivalent"
    else:
        claim[field] += 1 if isinstance(claim[field], int) else 1e-6
    results.write_text(json.dumps(document))
    assert any(field.split()[0] in fault for fault in verify_results(results, [grades]).faults)
    assert run("verify", results, grades) == 1


def test_other_data_are_not_taken_for_the_evidence(results: Path, grades: Path) -> None:
    frame = pl.read_csv(grades)
    frame.with_columns(
        correct=pl.when(pl.int_range(pl.len()) == 0).then(1 - pl.col("correct")).otherwise("correct")
    ).write_csv(grades)
    assert "the evidence is not the data that the document was made from" in verify_results(results, [grades]).faults


def test_a_verdict_against_its_interval_is_found_without_evidence(results: Path) -> None:
    document = json.loads(results.read_text())
    claim = document["claims"][0]
    claim["interval"] |= {"low": -0.1, "high": 0.1}
    claim["verdict"] = "verified"
    results.write_text(json.dumps(document))
    assert "does not say verified" in verify_results(results).faults[0]


def test_older_documents_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"schema": "richter/results", "version": 1, "findings": []}))
    with pytest.raises(InputError, match="version 1"):
        verify_results(path)


def test_an_archive_is_held_to_its_manifest(tmp_path: Path) -> None:
    good = tmp_path / "a.zip"
    body = b"one"
    digest = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"  # sha256sum of "one"
    with zipfile.ZipFile(good, "w") as archive:
        archive.writestr("x.txt", body)
        archive.writestr("MANIFEST.sha256", f"{digest}  x.txt\n")
    assert verify_archive(good).exit_code == 0
    bad = tmp_path / "b.zip"
    shutil.copy(good, bad)
    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("x.txt", b"two")
        archive.writestr("MANIFEST.sha256", f"{digest}  x.txt\n")
    assert verify_archive(bad).faults == ("x.txt was changed",)
    assert run("verify", bad) == 1


@pytest.mark.parametrize(
    "options",
    [
        ("--control", "base"),
        ("--by", "subject"),
        ("--adjust",),
        ("--suite", "a=2,b=1,c=1", "--map", "domain=subject"),
        ("--about", "these-items"),
        ("--on", "pass@2", "--on", "accuracy", "--margin", "3pt"),
        ("--on", "money", "--margin", "10pt"),
        ("base", "better", "--trust-ids", "--tried", "3", "--chance", "0.25"),
    ],
    ids=lambda words: " ".join(words),
)
def test_claims_made_with_any_option_are_made_again(tmp_path: Path, options: tuple[str, ...]) -> None:
    rng = np.random.default_rng(5)
    hard = rng.random(150)
    rows = [
        {"item": i, "condition": name, "draw": d, "correct": int(rng.random() < min(hard[i] + up, 1)),
         "subject": "abc"[i % 3], "money_usd": float(rng.lognormal(0, 0.3))}
        for i in range(150) for name, up in (("base", 0.0), ("better", 0.15), ("other", 0.05)) for d in range(3)
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "grades.csv")
    document = tmp_path / "results.json"
    assert run("compare", tmp_path / "grades.csv", *options, "--json", document) == 0
    claims = json.loads(document.read_text())["claims"]
    found = verify_results(document, [tmp_path / "grades.csv"])
    assert (found.recomputed, found.faults) == (len(claims), ())
    shown = next(c for c in claims if c["estimate"] is not None)
    document.write_text(document.read_text().replace(repr(shown["estimate"]), repr(shown["estimate"] + 1e-6)))
    assert verify_results(document, [tmp_path / "grades.csv"]).faults
