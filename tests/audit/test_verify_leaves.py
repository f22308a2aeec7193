"""Every field of a document that can be edited is caught by `verify`, or is listed as taken as given."""

import contextlib
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from audit.test_verify import run
from helpers.leaf_edits import Step, is_given, leaves
from helpers.simulated import simulated_run
from richter.audit import measure_run, verify_archive, verify_results
from richter.audit._verify import _BROKEN, compare_documents
from richter.cli._view_output import save_evidence
from richter.errors import InputError
from richter.interop import write_evidence
from richter.report import render_report

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def edited(document: dict[str, Any], path: tuple[Step, ...]) -> Iterator[dict[str, Any]]:
    """The document with another value at one place, for as long as the block runs."""
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    value = place[path[-1]]
    if isinstance(value, bool):
        place[path[-1]] = not value
    elif isinstance(value, int | float):
        place[path[-1]] = value + 1
    else:
        place[path[-1]] = f"{value} and more" if isinstance(value, str) else "other"
    try:
        yield document
    finally:
        place[path[-1]] = value


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("archive")
    simulated_run(folder / "run", conditions=2, items=80, judged=30, drawn=8, draws=5)
    save_evidence(folder / "run", folder / "run.zip")
    with zipfile.ZipFile(folder / "run.zip") as packed:
        files = {name: packed.read(name) for name in packed.namelist() if name != "MANIFEST.sha256"}
    return folder, files


def test_every_field_of_an_archives_results_is_caught_or_listed(archive: tuple[Path, dict[str, bytes]]) -> None:
    folder, files = archive
    document = json.loads(files["results.json"])
    again = json.loads(json.dumps(measure_run(folder / "run").to_dict()))
    assert compare_documents(document, again)[0] == []
    places = [*leaves(document)]
    silent = []
    for path in places[:: int(os.environ.get("RICHTER_LEAVES", "7"))]:
        try:
            with edited(document, path):
                faults, _, unmade = compare_documents(document, again)
        except _BROKEN:  # `verify_archive` says that the document is not as Richter writes it
            continue
        if not faults and not unmade and not is_given(path):
            silent.append(path)
    assert len(places) > 1_000
    assert silent == []
    assert sum(map(is_given, places)) < 0.02 * len(places)


def rewritten(files: dict[str, bytes], what: str) -> dict[str, bytes]:
    """The files of an archive with one lie in them."""
    document = json.loads(files["results.json"])
    changed = dict(files)
    if what == "another page":
        changed["report.html"] = files["report.html"].replace(b"</body>", b"<p>all is well</p></body>")
    elif what == "a number of the page":
        changed["report.html"] = files["report.html"].replace(b"95%", b"99%", 1)
    elif what == "no results":
        del changed["results.json"]
    elif what == "no page":
        del changed["report.html"]
    elif what == "claims dropped with their section":
        document["claims"] = [c for c in document["claims"] if c["section"] != "tail"]
        document["sections"]["tail"] = {"missing": {"reason": "It was not asked for.", "remedy": ""}}
    elif what == "claims in another order":
        document["claims"].reverse()
    elif what == "a condition dropped":
        gone = document["conditions"].pop()["name"]
        document["claims"] = [c for c in document["claims"] if gone not in c["conditions"]]
    elif what == "a field added":
        document["history"] = {"runs": 3}
    elif what == "page and results":
        document["conditions"][0]["model"] = "another model"
        changed["report.html"] = files["report.html"].replace(b"simulated", b"another", 1)
    if document != json.loads(files["results.json"]):
        changed["results.json"] = json.dumps(document).encode()
    return changed


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("nothing", 0), ("another page", 1), ("a number of the page", 1), ("no results", 4),
        ("claims dropped with their section", 1), ("claims in another order", 1), ("a condition dropped", 1),
        ("a field added", 1), ("page and results", 1),
    ],
)  # fmt: skip
def test_archives_that_lie_with_a_fitting_manifest(
    archive: tuple[Path, dict[str, bytes]], tmp_path: Path, what: str, code: int
) -> None:
    write_evidence(tmp_path / "a.zip", rewritten(archive[1], what))
    found = verify_archive(tmp_path / "a.zip", render=render_report)
    assert found.exit_code == code, found
    assert "records/answers.jsonl" in found.given


def test_a_page_of_another_version_is_said_not_to_be_compared(
    archive: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    document = json.loads(archive[1]["results.json"]) | {"richter": "0.0.9"}
    write_evidence(tmp_path / "a.zip", {**archive[1], "results.json": json.dumps(document).encode()})
    found = verify_archive(tmp_path / "a.zip", render=render_report)
    assert found.exit_code == 0
    assert "report.html" in found.given
    assert any("0.0.9 made it" in note for note in found.notes)


@pytest.mark.parametrize("name", ["./report.html", "records//items.jsonl", "REPORT.HTML", "records/./items.jsonl"])
def test_a_file_that_is_unpacked_over_another_is_a_fault(
    archive: tuple[Path, dict[str, bytes]], tmp_path: Path, name: str
) -> None:
    """The page that is checked would not be the one that is read."""
    write_evidence(tmp_path / "a.zip", {**archive[1], name: b"<h1>new is better</h1>"})
    assert verify_archive(tmp_path / "a.zip", render=render_report).exit_code == 1


def test_a_run_name_that_no_folder_can_have_is_taken_as_given(
    archive: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    document = json.loads(archive[1]["results.json"])
    document["run"]["name"] = "x" * 5_000
    write_evidence(tmp_path / "a.zip", {**archive[1], "results.json": json.dumps(document).encode()})
    assert "run name" in verify_archive(tmp_path / "a.zip").given


def test_commands_that_are_not_compared_are_listed_as_given(
    archive: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    """An archive of a database does not know its place, so its commands are not compared: a lie in them is listed."""
    document = json.loads(archive[1]["results.json"])
    document["run"]["name"] = "postgresql:///x"
    document["next"] = "rm results.json"
    write_evidence(tmp_path / "a.zip", {**archive[1], "results.json": json.dumps(document).encode()})
    found = verify_archive(tmp_path / "a.zip")
    assert found.exit_code == 0
    assert {"next", "remedy", "file"} <= {*found.given}


def test_every_field_of_a_comparison_is_caught_or_listed(tmp_path: Path) -> None:
    rows = [
        {"item": i, "condition": c, "correct": int((i * k) % 7 > 2)} for i in range(60) for k, c in ((3, "a"), (5, "b"))
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "grades.csv")
    out = tmp_path / "out.json"
    assert run("compare", tmp_path / "grades.csv", "--json", out) == 0
    document = json.loads(out.read_text())
    whole = verify_results(out, [tmp_path / "grades.csv"])
    silent = []
    for path in [*leaves(document)][:: int(os.environ.get("RICHTER_LEAVES", "7"))]:
        if {str(step) for step in path} & {*whole.given}:
            continue
        with edited(document, path):
            out.write_text(json.dumps(document))
        try:
            found = verify_results(out, [tmp_path / "grades.csv"])
        except InputError:  # refused in words
            continue
        if found.exit_code == 0:
            silent.append(path)
    assert silent == []
