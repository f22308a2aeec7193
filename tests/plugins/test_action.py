"""The GitHub Action: its own shell steps, run here as a runner runs them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plugins.test_pytest_gate import run_cli

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def action() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return parsed


def step(action: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(s for s in action["runs"]["steps"] if s.get("name") == name)
    return found


def check(action: dict[str, Any], folder: Path, sources: str, plan: str = "plan.toml") -> tuple[int, str, str]:
    (folder / "bin").mkdir(exist_ok=True)
    tool = folder / "bin" / "richter"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m richter "$@"\n')
    tool.chmod(0o755)
    (folder / "bin" / "python").unlink(missing_ok=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    environment = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(folder),
        "PLAN": plan,
        "SOURCES": sources,
        "RATINGS": "",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_OUTPUT": str(folder / "output"),
    }
    script = folder / "step.sh"
    script.write_text(step(action, "Check the requirements")["run"])
    made = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],  # as a runner calls `shell: bash`
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    return made.returncode, (folder / "summary.md").read_text(), (folder / "output").read_text()


def data(folder: Path, new_right: int) -> None:
    for name, right in (("old", 300), ("new", new_right)):
        rows = [f"q{i},{name},{int(i < right)}" for i in range(400)]
        (folder / f"{name}.csv").write_text("\n".join(["item,condition,correct", *rows]) + "\n")
    run_cli(
        *("plan", "new", "gate", "-o", str(folder / "plan.toml"), "--set", "candidate=new", "--set", "baseline=old"),
        *("--set", 'require=[{metric="accuracy", rule="no_worse", limit=0.05}]'),
    )


@pytest.mark.slow
def test_summary_outputs_and_exit_status(action: dict[str, Any], tmp_path: Path) -> None:
    data(tmp_path, 300)
    code, summary, output = check(action, tmp_path, "old=old.csv\n  new=new.csv  \n\n")
    assert code == 0, summary
    assert "meets all 1 requirements" in summary
    assert "| accuracy no worse than old by 0.05 | verified |" in summary
    assert "outcome=verified" in output


@pytest.mark.slow
def test_a_violation_stops_the_job_after_the_summary(action: dict[str, Any], tmp_path: Path) -> None:
    data(tmp_path, 150)
    code, summary, output = check(action, tmp_path, "old=old.csv\nnew=new.csv")
    assert code == 3
    assert "refuted" in summary
    assert "outcome=refuted" in output


@pytest.mark.slow
def test_hostile_inputs_run_nothing(action: dict[str, Any], tmp_path: Path) -> None:
    data(tmp_path, 300)
    code, summary, output = check(
        action, tmp_path, "$(touch owned)\n`touch owned`\n; touch owned #", plan='"; touch owned'
    )
    assert code != 0
    assert not (tmp_path / "owned").exists()
    assert "could not be checked" in summary
    assert "outcome=error" in output


def test_no_input_is_pasted_into_a_script(action: dict[str, Any]) -> None:
    assert not [s["name"] for s in action["runs"]["steps"] if "${{" in s.get("run", "")]
    for name in action["inputs"]:
        assert action["inputs"][name]["description"]
