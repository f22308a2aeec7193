"""Published claims against their evidence: the same data confirm them, other numbers and other data do not."""

import json
import shutil
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers.simulated import simulated_run
from richter.audit import measure_run, verify_archive, verify_results
from richter.audit._measure_run import open_records
from richter.cli import main
from richter.errors import InputError
from richter.interop import write_evidence
from richter.store import open_ledger


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
    assert (verify_archive(good).exit_code, verify_archive(good).faults) == (4, ())  # nothing to be made again
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


def test_how_the_data_were_read_is_said(grades: Path, tmp_path: Path) -> None:
    """0 as right and 1 as wrong: the claims follow, and whoever verifies them must see from what."""
    turned = pl.read_csv(grades).with_columns(correct=pl.col("correct").replace_strict({0: "no", 1: "yes"}))
    turned.write_csv(tmp_path / "words.csv")
    words = ("--grade", "yes=wrong", "--grade", "no=right")
    assert run("compare", tmp_path / "words.csv", "old", "new", *words, "--json", tmp_path / "turned.json") == 0
    found = verify_results(tmp_path / "turned.json", [tmp_path / "words.csv"])
    assert not found.faults
    assert any("grade" in note and "yes" in note for note in found.notes)


@pytest.fixture
def archive(grades: Path, tmp_path: Path) -> Path:
    assert run("import", grades, "-o", tmp_path / "run") == 0
    assert run("export", tmp_path / "run", "--evidence", tmp_path / "run.zip") == 0
    return tmp_path / "run.zip"


def test_results_in_an_archive_are_held_to_its_records(archive: Path) -> None:
    """A manifest is written by whoever wrote the archive: here the verdict is changed and every hash is right."""
    assert verify_archive(archive).notes[0] == "of its 1 claims 1 were made again from its records"
    assert run("verify", archive) == 0
    with zipfile.ZipFile(archive) as packed:
        files = {name: packed.read(name) for name in packed.namelist() if name != "MANIFEST.sha256"}
    document = json.loads(files["results.json"])
    document["claims"][0] |= {"verdict": "equivalent", "estimate": 0.0}
    write_evidence(archive, files | {"results.json": json.dumps(document).encode()})
    assert any("verdict is equivalent" in fault for fault in verify_archive(archive).faults)
    assert run("verify", archive) == 1


def test_claims_that_an_archive_does_not_make_again_are_no_pass(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without its confidences claims on calibration rest on the manifest alone."""
    rows = [f"q{k},{name},{int(rng.random() < 0.7)},{rng.random():.2f}" for k in range(60) for name in ("old", "new")]
    (tmp_path / "sure.csv").write_text("item,condition,correct,confidence\n" + "\n".join(rows))
    assert run("import", tmp_path / "sure.csv", "-o", tmp_path / "sure") == 0
    assert run("export", tmp_path / "sure", "--evidence", tmp_path / "sure.zip") == 0
    assert run("verify", tmp_path / "sure.zip") == 0
    with zipfile.ZipFile(tmp_path / "sure.zip") as packed:
        files = {name: packed.read(name) for name in packed.namelist() if name != "MANIFEST.sha256"}
    (tmp_path / "results.json").write_bytes(files["results.json"])
    assert run("verify", tmp_path / "results.json", tmp_path / "sure.zip") == 0
    write_evidence(tmp_path / "sure.zip", files | {"records/confidences.jsonl": b""})
    capsys.readouterr()
    found = verify_archive(tmp_path / "sure.zip")
    assert not found.faults
    assert found.unmade > 0
    assert run("verify", tmp_path / "sure.zip") == 4
    said = capsys.readouterr().out
    assert f"manifest says; {found.unmade} claims in it cannot be made again from its records" in " ".join(said.split())
    # as without an archive around it
    assert run("verify", tmp_path / "results.json", tmp_path / "sure.zip") == 4
    assert run("verify", tmp_path / "results.json", tmp_path / "sure") == 0


@pytest.mark.slow
def test_an_archive_makes_every_claim_of_its_run_again(tmp_path: Path) -> None:
    """Grades, ratings by several judges, confidences, draws, scores of a tail: as the run itself."""
    simulated_run(tmp_path / "run", conditions=2, items=240, judged=60, drawn=20, draws=10)
    assert run("export", tmp_path / "run", "--evidence", tmp_path / "run.zip") == 0
    with zipfile.ZipFile(tmp_path / "run.zip") as packed:
        files = {name: packed.read(name) for name in packed.namelist() if name != "MANIFEST.sha256"}
    claims = json.loads(files["results.json"])["claims"]
    assert {"floors", "calibration", "tail"} <= {claim["section"] for claim in claims}
    found = verify_archive(tmp_path / "run.zip")
    assert (found.exit_code, found.unmade) == (0, 0)
    assert found.notes[0] == f"of its {len(claims)} claims {len(claims)} were made again from its records"
    packed_claims = measure_run(tmp_path / "run.zip").to_dict()["claims"]  # of every section, and in the same family
    assert packed_claims == measure_run(tmp_path / "run").to_dict()["claims"]
    rows = [json.loads(line) for line in files["records/ratings.jsonl"].splitlines()]
    worse = "".join(json.dumps(row | {"severity": 4.0}) + "\n" for row in rows)
    write_evidence(tmp_path / "run.zip", files | {"records/ratings.jsonl": worse.encode()})
    assert verify_archive(tmp_path / "run.zip").faults


@pytest.mark.parametrize(
    "change",
    [
        {"records/conditions.json": b"[3]"},
        {"records/answers.jsonl": b'{"item": 1}\n'},
        {"records/notes.json": b"[]"},
        {"records/grades.jsonl": b'{"item": {}}\n'},
    ],
)
def test_records_that_nobody_wrote_so_are_refused_in_words(archive: Path, change: dict[str, bytes]) -> None:
    with zipfile.ZipFile(archive) as packed:
        files = {name: packed.read(name) for name in packed.namelist() if name != "MANIFEST.sha256"}
    write_evidence(archive, files | change)
    assert any("not as Richter writes them" in fault for fault in verify_archive(archive).faults)
    assert run("compare", archive) == 1


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("notes.json", b'{"import": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"),
        ("notes.json", b'{"import": {"score": 3, "given": 4}}'),
        ("notes.json", b'{"import": {"score": {"scale": "abc"}}}'),
        ("notes.json", b'{"rating sample": {"strata": [["1", "old", "x", "s"]]}}'),
        ("notes.json", b'{"stopping": {"claim": 3}}'),
        ("notes.json", b'{"judging": {"judges": [3]}}'),
        ("notes.json", b'{"archive": {"times": [1e300, 1e300]}}'),
        ("answers.jsonl", b'{"item": "1", "condition": "old", "model": "", "answer": "", "draw": 9223372036854775808}'),
        ("../../x", b"slip"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_an_archive_made_to_harm_is_refused_in_words_that_name_it(
    archive: Path, capsys: pytest.CaptureFixture[str], name: str, body: bytes
) -> None:
    with zipfile.ZipFile(archive) as packed:
        files = {name: packed.read(name) for name in packed.namelist() if name != "MANIFEST.sha256"}
    write_evidence(archive, files | {f"records/{name}": body})
    assert verify_archive(archive).faults
    assert run("verify", archive) == run("report", archive, "-o", archive.with_name("page.html")) == 1
    assert tempfile.gettempdir() not in capsys.readouterr().out.replace(str(archive.parent), "")


def test_a_file_is_unpacked_below_its_folder_whatever_it_is_called(
    archive: Path, grades: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stem of `...zip` is the folder above."""
    held = archive.with_name("held")
    held.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(held))
    plain = archive.with_name("plain")
    plain.mkdir()
    odd = Path(shutil.copy(archive, archive.with_name("...zip")))
    with zipfile.ZipFile(plain / "...zip", "w") as packed:
        packed.write(grades, "grades.csv")
    for path in (odd, plain / "...zip"):
        assert run("compare", path) == 0
        assert not any(held.iterdir())
    assert run("verify", odd) == 0
    assert not any(held.iterdir())


def test_an_archive_says_when_its_answers_came(archive: Path) -> None:
    """Not when it was read: whether a plan was locked before them hangs on it."""
    whole, packed = (measure_run(place).run for place in (archive.with_name("run"), archive))
    assert (packed.started_at, packed.ended_at) == (whole.started_at, whole.ended_at)
    assert whole.started_at is not None
    with open_records(archive) as records, open_records(archive.with_name("run")) as own:
        assert records.times == pytest.approx(own.times)
        assert (records.name, records.command) == ("run.zip", "run.zip")  # nothing of where it was unpacked


def test_an_archive_from_before_notes_were_kept_says_what_its_run_says(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """Where less is better it stays so, and answers that a table of grades never held are no refusals."""
    rows = [
        f"{k},{name},{rng.uniform(low, low + 0.5):.3f}" for k in range(60) for name, low in (("old", 0.3), ("new", 0))
    ]
    (tmp_path / "wer.csv").write_text("item,condition,wer\n" + "\n".join(rows))
    assert run("import", tmp_path / "wer.csv", "--better", "lower", "-o", tmp_path / "run") == 0
    with open_ledger(tmp_path / "run", mode="write") as ledger:  # as such runs were: without the facts of their table
        ledger.set_note("import", {"understood": "", "score": {"scale": [0.0, 1.0], "better": "lower"}})
    assert run("export", tmp_path / "run", "--evidence", tmp_path / "run.zip") == 0
    with zipfile.ZipFile(tmp_path / "run.zip") as packed:
        files = {name: packed.read(name) for name in packed.namelist() if name != "MANIFEST.sha256"}
    del files["records/notes.json"]
    write_evidence(tmp_path / "run.zip", files)
    assert measure_run(tmp_path / "run.zip").claims[0].claim.sentence.startswith("new is better scored than old")
    assert run("verify", tmp_path / "run.zip") == 0


def test_a_file_that_is_in_an_archive_twice_is_found(archive: Path) -> None:
    """Programs differ in which of the two they show."""
    with zipfile.ZipFile(archive, "a") as packed, pytest.warns(UserWarning, match="Duplicate name"):
        packed.writestr("report.html", packed.read("report.html"))
    assert verify_archive(archive).faults == ("report.html is in it twice",)


def test_an_archive_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("MANIFEST.sha256", "")
        packed.writestr("records/answers.jsonl", bytes(1 << 26))
    with pytest.raises(InputError, match="too large unpacked"):
        verify_archive(tmp_path / "bomb.zip")


def test_an_archive_keeps_groups_and_the_order_of_conditions(tmp_path: Path) -> None:
    """Without them the same records gave a narrower interval: items of one passage vary together. By the
    order of names, not of the run, it had the other sign."""
    rng = np.random.default_rng(2)
    easy = np.repeat(rng.random(40), 5)
    rows = [
        {"item": i, "group": f"passage {i // 5}", "condition": name, "correct": int(rng.random() < easy[i] * share)}
        for i in range(200) for name, share in (("old", 0.7), ("new", 1.0))
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "grades.csv")
    assert run("import", tmp_path / "grades.csv", "-o", tmp_path / "run") == 0
    assert run("export", tmp_path / "run", "--evidence", tmp_path / "run.zip") == 0
    whole, packed = (measure_run(tmp_path / name).claims[0].claim for name in ("run", "run.zip"))
    assert (packed.units, packed.interval) == (whole.units, whole.interval)
    assert whole.units == 40


def test_seals_that_are_none_are_refused_in_words(archive: Path) -> None:
    source = archive.with_name("run")
    assert run("verify", source, "--seals", archive) == 0
    with zipfile.ZipFile(archive) as packed:
        files = {name: packed.read(name) for name in packed.namelist() if name != "MANIFEST.sha256"}
    for text in ("[" * 100_000, "7", '{"parts": 3}', '{"parts": [1]}'):
        write_evidence(archive, files | {"integrity.json": text.encode()})
        assert run("verify", source, "--seals", archive) == 1


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
