"""`richter report`: every form of a run's results, what it refuses to overwrite, and that names stay text."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from helpers.simulated import simulated_run
from richter.audit import measure_run, results_schema
from richter.cli._main import _root
from richter.records import Answer, Condition, Item, Rating, markdown_safe
from richter.report import MARKDOWN_MARK, markdown
from richter.store import LEDGER_NAME, Call, open_ledger


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "simulated"
    return simulated_run(folder, conditions=2, items=60, judged=20, drawn=0, nll=False)


def call(*words: object) -> Result:
    return CliRunner().invoke(_root, ["report", *map(str, words)])


def test_the_page_is_written_beside_the_ledger(run: Path) -> None:
    done = call(run)
    assert done.exit_code == 0, done.output
    assert '<meta name="generator" content="Richter' in (run / "report.html").read_text()[:8192]
    assert done.output.startswith("Inconclusive: simulated 02 scored 10.0 points lower than simulated 01 (95% CI ")
    again = call(run)  # an older report is replaced
    assert again.exit_code == 0, again.output


def test_json_fits_the_schema_and_writes_no_page(run: Path, tmp_path: Path) -> None:
    (run / "report.html").unlink(missing_ok=True)
    done = call(run, "--json", "-", "--only", "floors,judges")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    jsonschema_rs.Draft202012Validator(results_schema()).validate(found)
    assert found == measure_run(run, only=["floors", "judges"]).to_dict()
    assert not (run / "report.html").exists()


def test_figures_and_markdown(run: Path, tmp_path: Path) -> None:
    done = call(run, "--md", tmp_path / "pr.md", "--figures", tmp_path / "f", "--only", "severity,floors")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "pr.md").read_text().startswith(MARKDOWN_MARK)
    names = sorted(path.suffix for path in (tmp_path / "f").iterdir())
    assert names
    assert set(names) == {".svg"}


@pytest.mark.parametrize("option", ["-o", "--md"])
def test_somebodys_file_is_not_overwritten(run: Path, tmp_path: Path, option: str) -> None:
    path = tmp_path / "notes.html"
    path.write_text("<p>my notes</p>")
    done = call(run, option, path, "--only", "judges")
    assert done.exit_code == 1
    assert "not a Richter report" in str(done.exception)
    assert path.read_text() == "<p>my notes</p>"
    assert call(run, option, path, "--only", "judges", "--force").exit_code == 0
    assert "my notes" not in path.read_text()


def test_the_run_itself_is_never_overwritten(run: Path) -> None:
    before = (run / LEDGER_NAME).read_bytes()
    for words in (("-o", run / LEDGER_NAME, "--force"), ("--md", run / LEDGER_NAME, "--force")):
        done = call(run, *words)
        assert "part of the run" in str(done.exception)
    assert "overwrite an input" in str(call(run, "--json", run / LEDGER_NAME, "--only", "judges").exception)
    assert "is a folder" in str(call(run, "-o", run).exception)
    assert (run / LEDGER_NAME).read_bytes() == before


def test_faults_are_said_in_a_line(run: Path, tmp_path: Path) -> None:
    assert "holds no run, no log" in str(call(tmp_path).exception)
    assert "no section 'tales'" in str(call(run, "--only", "tales").exception)
    assert "standard output" in str(call(run, "--json", "-", "--md", "-").exception)
    assert "no such plan" in str(call(run, "--plan", tmp_path / "p.toml").exception)
    newer = tmp_path / "newer"
    simulated_run(newer, conditions=1, items=2, judged=0, drawn=0, nll=False)
    with sqlite3.connect(newer / LEDGER_NAME) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    assert "Upgrade Richter" in str(call(newer).exception)


HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) | `a` https://evil.example @someone #1 \x1b[2J\u202eabc"


def _hostile_run(folder: Path) -> Path:
    with open_ledger(folder, mode="write") as ledger:
        ledger.add_items([Item(id=str(k), prompt=HOSTILE, reference="r", domain=HOSTILE) for k in range(20)])
        names = [HOSTILE, "plain"]
        ledger.add_conditions([Condition(name=name, model=HOSTILE) for name in names])
        ledger.set_note("bench", {"path": HOSTILE})

        async def record() -> None:
            for name in names:
                for k in range(20):
                    answer = Answer(text=HOSTILE, item=str(k), condition=name)
                    await ledger.record(Call(key=f"{name}{k}", model="m", request="?", answer=answer))

        asyncio.run(record())
        rows: list[dict[str, Any]] = [
            {"item": str(k), "condition": name, "severity": 4.0 * ((k + at) % 2)}
            for at, name in enumerate(names)
            for k in range(20)
        ]
        ledger.add_ratings([Rating(rater=HOSTILE, kind="rule", reason=HOSTILE, **row) for row in rows])
    return folder


def test_hostile_names_stay_text_in_markdown_and_on_the_terminal(tmp_path: Path) -> None:
    run = _hostile_run(tmp_path / "r")
    text = markdown(measure_run(run).to_dict())
    assert "<script" not in text
    assert "](" not in text.replace("\\](", "")
    assert "https://" not in text
    assert "@someone" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {8}
    done = call(run, "--md", tmp_path / "x.md")
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.output


def test_markdown_safe_by_hand() -> None:
    assert markdown_safe("a_b*c|d") == r"a\_b\*c\|d"
    assert markdown_safe("<b> & @me") == "&#60;b&#62; &#38; &#64;&#8203;me"
    assert markdown_safe("http://x www.y #3 $z$") == r"http:&#8203;//x www&#8203;.y \#&#8203;3 \$&#8203;z\$"
    assert markdown_safe("a\nb\x1b") == r"a b\\x1b"
    assert markdown_safe("12:30, 1.5") == "12:30, 1.5"
