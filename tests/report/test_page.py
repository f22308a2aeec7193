"""The page as text: the same bytes each time, nothing from outside it, sections that say what is missing."""

import html
import json
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from report.simulated_report import HOSTILE, NAMES, build_run, document
from richter.cli._main import _root
from richter.errors import InputError, MissingPart, StorageError
from richter.report import figures, render_report, write_figures, write_report


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def page(run: Path) -> str:
    return render_report(document(), run, built_at="2026-01-01T00:00:00Z")


def own(page: str) -> str:
    """The page without its scripts and styles."""
    return re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.S)


def test_same_ledger_same_bytes(run: Path, page: str) -> None:
    again = render_report(document(), run, built_at="2027-02-02T00:00:00Z")
    assert again.replace("2027-02-02", "2026-01-01") == page


@pytest.mark.slow
def test_same_bytes_whatever_the_order_of_sets(run: Path) -> None:
    code = (
        "import hashlib, sys; from report.simulated_report import document; from richter.report import render_report;"
        "names = tuple(f'simulated {k}' for k in range(9));"
        "print(hashlib.sha256(render_report(document(names), sys.argv[1]).encode()).hexdigest())"
    )
    root = Path(__file__).parents[2]
    seen = set()
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root / 'src'}:{root / 'tests'}"}
        done = subprocess.run([sys.executable, "-c", code, str(run)], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
    assert len(seen) == 1


def test_first_screen(page: str) -> None:
    text = html.unescape(re.sub(r"<[^>]+>", "", own(page)))
    for said in (
        "simulated new is better than simulated old.",
        "simulated new is better than simulated old: +1.0 points.",
        "severity>=3 below 10%",
        "abc123",
        "Signature",
        "items aligned",
        "judges agree",
    ):
        assert said in text, said


def test_names_are_escaped(page: str) -> None:
    assert "<b>third</b>" not in page
    assert html.escape(NAMES[2]) in page
    assert not any(evil in page for evil in HOSTILE.values() if "<" in evil)


def test_policy_allows_nothing_from_elsewhere(page: str) -> None:
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    policy = html.unescape(policy)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.findall(r'\b(?:src|href)="(?!#)', own(page))
    assert ' style="' not in own(page)
    assert not re.findall(r"\son\w+=", own(page))


def test_sections_without_data_say_so(run: Path) -> None:
    bare = {**document(), "sections": {"tail": {"missing": {"reason": "No <nll> column.", "remedy": "richter score"}}}}
    text = own(render_report(bare, run))
    assert "No &lt;nll&gt; column." in text
    assert "<code>richter score</code>" in text
    assert text.count('class="missing-line"') == 5
    assert "How to measure the rest: severity, calibration, tail, search, judges" in text
    assert set(figures(bare)) == {"floors-ranking"}  # of the conditions' own figures


def test_report_path(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    path.parent.mkdir()
    path.write_text("old")
    write_report(document(), run, path)
    assert path.read_text().startswith("<!doctype html>")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    with pytest.raises(InputError, match="is a folder"):
        write_report(document(), run, tmp_path)
    with pytest.raises(StorageError):
        write_report(document(), run, path / "below a file")


@pytest.mark.parametrize("n", [1, 2, 21])
def test_any_number_of_conditions(n: int) -> None:
    names = tuple(f"simulated {k}" for k in range(n))
    drawn = figures(document(names))
    assert len(drawn) > 13
    for figure in drawn.values():
        many = any(len({r[key] for r in figure.rows}) > 30 for key in ("pair",) if key in figure.rows[0])
        assert ("The figure shows 30 of 210 pairs" in figure.sentence) == many, figure.name


def test_every_figure_is_whole() -> None:
    for name, figure in figures(document()).items():
        assert figure.sentence.endswith("."), name
        assert figure.rows
        assert set(figure.columns) <= set(figure.rows[0]), name
        assert (Path(__file__).parents[2] / "docs" / f"{figure.docs}.md").is_file(), figure.docs


@pytest.mark.parametrize(("form", "head"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_figures_as_files(form: str, head: bytes, tmp_path: Path) -> None:
    if form == "png":
        pytest.importorskip("resvg_py")
    whole = document()
    small = {**whole, "sections": {}}
    [path] = write_figures(small, tmp_path / "figures", form)  # type: ignore[arg-type]
    data = path.read_bytes()
    assert path.name == f"floors-ranking.{form}"
    assert data.startswith(head)
    assert b"var(--" not in data


def test_files_are_well_formed_and_hold_names_as_text(tmp_path: Path) -> None:
    paths = write_figures(document(), tmp_path)
    assert len(paths) > 10
    for path in paths:
        root = ElementTree.parse(path).getroot()
        assert {e.tag.rpartition("}")[2] for e in root.iter()} <= {"svg", "style", "rect", "text", "path", "circle"}
    assert any("&lt;b&gt;third&lt;/b&gt;" in path.read_text() for path in paths)


def test_png_without_its_package_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingPart, match="resvg-py"):
        write_figures(document(), tmp_path, "png")


def test_the_command_draws_a_stored_document(tmp_path: Path) -> None:
    """`richter report results.json` is a page without answers; a document that cannot be drawn is refused."""
    (tmp_path / "results.json").write_text(json.dumps(document()), encoding="utf-8")
    call = CliRunner().invoke
    done = call(_root, ["report", str(tmp_path / "results.json"), "-o", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "holds no answers" in page
    assert "See the answers" not in page
    (tmp_path / "broken.json").write_text('{"schema": "richter/results", "claims": "none"}', encoding="utf-8")
    done = call(_root, ["report", str(tmp_path / "broken.json"), "-o", str(tmp_path / "other.html")])
    assert isinstance(done.exception, InputError)
    assert "cannot be drawn" in str(done.exception)


def test_missing_values_anywhere_leave_a_page() -> None:
    """Any value of a document may be null."""
    rng = random.Random(8)

    def holes(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: None if rng.random() < 0.06 else holes(v) for k, v in value.items()}
        return [holes(v) for v in value] if isinstance(value, list) else value

    for whole in (document(), {**document(), "sections": {}}):
        for _ in range(5):
            assert '<h1 id="answer"' in render_report({**holes(whole), "sections": holes(whole["sections"])}, None)
