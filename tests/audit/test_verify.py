"""Published claims against their evidence: the same data confirm them, other numbers and other data do not."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from richter.audit import verify_results
from richter.cli import main
from richter.errors import InputError


def run(*args: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in args])
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with grades and a comparison of them, made once."""
    folder = tmp_path_factory.mktemp("made")
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
    frame.write_csv(folder / "grades.csv")
    given = (folder / "grades.csv", "old", "new", "--margin", "2pt")
    assert run("compare", *given, "--json", folder / "results.json") == 0
    return folder


@pytest.fixture
def grades(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made / "grades.csv", tmp_path))


@pytest.fixture
def results(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made / "results.json", tmp_path))


def test_the_same_data_confirm_every_claim(results: Path, grades: Path, tmp_path: Path) -> None:
    assert run("verify", results, grades) == 0
    pl.read_csv(grades).sample(fraction=1.0, shuffle=True, seed=1).write_parquet(tmp_path / "other.parquet")
    assert run("verify", results, tmp_path / "other.parquet") == 0  # another order and format of the same data


def test_without_evidence_only_consistency_is_checked(results: Path) -> None:
    found = verify_results(results)
    assert (found.recomputed, found.faults, found.exit_code) == (0, (), 4)
    assert run("verify", results) == 4


def test_a_condition_may_be_called_as_a_part_of_the_document_is(tmp_path: Path) -> None:
    rows = [{"item": i, "condition": c, "correct": int(i % k > 0)} for k, c in ((3, "plan"), (5, "history"))
            for i in range(60)]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "grades.csv")
    out = tmp_path / "out.json"
    assert run("compare", tmp_path / "grades.csv", "--json", out) == 0
    document = json.loads(out.read_text())
    assert verify_results(out, [tmp_path / "grades.csv"]).exit_code == 0
    for name in ("plan", "history"):
        forged = json.loads(out.read_text())
        forged["conditions"][name]["accuracy"] = 0.99
        out.write_text(json.dumps(forged))
        assert any(
            f"conditions {name} accuracy" in fault for fault in verify_results(out, [tmp_path / "grades.csv"]).faults
        )
        out.write_text(json.dumps(document))


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


@pytest.mark.parametrize(
    "options",
    [
        ("--control", "base"),
        ("--by", "subject"),
        ("--on", "pass@2", "--on", "accuracy", "--margin", "3pt"),
        ("--on", "money", "--margin", "10pt"),
        ("base", "better", "--trust-ids", "--tried", "3"),
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


def forged(results: Path, *path: str | int, to: object) -> None:
    """Write `to` into a document at `path`."""
    document = json.loads(results.read_text())
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    results.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("claims", 0, "sentence"), "new is more accurate than old: +9.0 points [+7.0, +11.0] on 300 items."),
        (("claims", 0, "p_adjusted"), 1e-9),
        (("claims", 0, "values", 1), 0.99),
        (("claims", 0, "plain_interval", "low"), 0.2),
        (("claims", 0, "margin"), 0.001),
        (("claims", 0, "family", "size"), 2),
        (("conditions", "new", "accuracy"), 0.99),
        (("measures", "accuracy", "new"), 0.99),
        (("pairs", 0, "broken"), 0),
        (("n_items",), 30_000),
        (("claims",), []),
    ],
    ids=str,
)
def test_a_forged_text_or_table_is_found_and_so_is_a_claim_left_out(
    results: Path, grades: Path, path: tuple[str | int, ...], to: object
) -> None:
    forged(results, *path, to=to)
    found = verify_results(results, [grades])
    assert found.faults
    assert found.exit_code == 1


def test_of_two_values_under_one_name_none_is_believed(results: Path, grades: Path) -> None:
    text = results.read_text()
    results.write_text(text.replace('"verdict":', '"verdict": "refuted", "verdict":', 1))
    with pytest.raises(InputError, match="not a results document"):
        verify_results(results, [grades])


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("claims",), [1]),
        (("claims",), [{}]),
        (("claims", 0, "interval"), [1, 2]),
        (("n_resamples",), 10**12),
        (("n_resamples",), "many"),
        (("options", "slopes"), []),
        (("options", "reading"), {"map": 3}),
    ],
    ids=str,
)
def test_what_is_not_as_richter_writes_it_is_refused_in_words(
    results: Path, grades: Path, path: tuple[str | int, ...], to: object
) -> None:
    forged(results, *path, to=to)
    with pytest.raises(InputError):
        verify_results(results, [grades])


def test_json_nested_without_end_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text(
        '{"schema": "richter/compare", "claims": ' + "[" * 100_000 + "]" * 100_000 + "}"
    )
    with pytest.raises(InputError, match="not a results document"):
        verify_results(tmp_path / "deep.json")


def test_a_run_says_of_its_grades_what_its_file_says(tmp_path: Path) -> None:
    """Claims of a run follow from the file that it was made of, and name the same column."""
    table = Path(__file__).parents[2] / "docs" / "examples" / "severities.csv"
    for words in (["import", str(table), "-o", str(tmp_path / "run")],
                  ["compare", str(tmp_path / "run"), "--json", str(tmp_path / "claims.json")]):  # fmt: skip
        with pytest.raises(SystemExit):
            main(words)
    found = verify_results(tmp_path / "claims.json", [str(table)])
    assert not found.faults
    assert not [note for note in found.notes if note.startswith("basis is")]
