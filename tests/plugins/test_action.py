"""The GitHub Action: its own shell steps, run here as a runner runs them."""

import hashlib
import json
import os
import re
import shutil
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


def tools(folder: Path) -> Path:
    """What a runner has on its path: richter as pip installs it, python, and a `gh` that notes what it is asked."""
    where = folder / "bin"
    where.mkdir(exist_ok=True)
    scripts = {
        "richter": f'exec env PYTHONPATH="{ROOT / "src"}" "{sys.executable}" -P -m richter "$@"',
        "python": f'exec "{sys.executable}" "$@"',
        "gh": f"""printf '%s\\n' "$*" >> "{folder / "asked"}"
            if [ "$1 $2" = "run list" ]; then printf '31\\n12\\n'; fi
            if [ "$1 $2" = "run download" ]; then
              [ "$3" = 12 ] || exit 1
              while [ $# -gt 0 ]; do [ "$1" = --dir ] && where="$2"; shift; done
              cp "{folder / "kept.parquet"}" "$where/baseline.parquet"
            fi
            if [ "$2" = graphql ]; then
              filter=""
              while [ $# -gt 0 ]; do [ "$1" = --jq ] && filter="$2"; shift; done
              jq -r "$filter" "{folder / "comments.json"}"
            fi""",
    }
    for name, script in scripts.items():
        (where / name).write_text(f"#!/bin/sh\n{script}\n")
        (where / name).chmod(0o755)
    return where


def run_step(action: dict[str, Any], name: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    script = folder / "step.sh"
    script.write_text(step(action, name)["run"])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],  # as a runner calls `shell: bash`
        cwd=folder,
        env={"PATH": f"{tools(folder)}:{os.environ['PATH']}", "HOME": str(folder), "PYTHONPATH": ".", **variables},
        capture_output=True,
        text=True,
    )


def check(action: dict[str, Any], folder: Path, sources: str, plan: str = "plan.toml") -> tuple[int, str, str]:
    made = run_step(
        action,
        "Check the requirements",
        folder,
        PLAN=plan,
        SOURCES=sources,
        RATINGS="",
        LOCKED="false",
        GITHUB_STEP_SUMMARY=str(folder / "summary.md"),
        GITHUB_OUTPUT=str(folder / "output"),
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
def test_hostile_inputs_run_nothing(action: dict[str, Any], tmp_path: Path) -> None:
    data(tmp_path, 300)
    code, summary, output = check(
        action, tmp_path, "$(touch owned)\n`touch owned`\n; touch owned #", plan='"; touch owned'
    )
    assert code != 0
    assert not (tmp_path / "owned").exists()
    assert "could not be checked" in summary
    assert "outcome=error" in output


HOSTILE = ("json", "pip", "pathlib", "re", "sitecustomize", "usercustomize", "richter", "encodings", "click", "polars")


def hostile_workspace(folder: Path) -> None:
    """Modules that any careless Python in this folder would import, and one that says the gate was passed."""
    for name in HOSTILE:
        (folder / f"{name}.py").write_text(
            f'open("owned-{name}", "w").close()\nload = lambda *_: {{"outcome": "verified"}}\n'
        )


@pytest.mark.slow
def test_nothing_in_a_hostile_workspace_runs(action: dict[str, Any], tmp_path: Path) -> None:
    data(tmp_path, 283)  # neither worse nor shown to be no worse
    hostile_workspace(tmp_path)
    code, _, output = check(action, tmp_path, "old=old.csv\nnew=new.csv")
    assert code == 4
    assert "outcome=undecided" in output
    assert not list(tmp_path.glob("owned-*"))


def test_installing_takes_no_pip_of_the_workspace(action: dict[str, Any], tmp_path: Path) -> None:
    hostile_workspace(tmp_path)
    done = run_step(action, "Install Richter", tmp_path, WANTED="--version", OWN="")
    assert done.returncode != 0  # `--version` is no option here but a thing to install, and none
    assert not list(tmp_path.glob("owned-*")), done.stderr


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@pytest.mark.parametrize(
    ("first", "other", "own"),
    [
        ("<!-- richter gate {mark} -->", {}, True),
        ("<!-- richter gate {mark} -->\r", {}, True),
        ("<!-- richter gate {mark} -->", {"PLAN": "other.toml"}, False),  # another gate's
        ("<!-- richter gate {mark} -->", {"SOURCES": "old=c.csv\nnew=d.csv"}, False),
        ("<!-- richter gate {mark} -->", {"MARGIN": "1pt"}, False),
        ("<!-- richter gate {mark} -->", {"NAME": "German"}, False),
        ("<!-- richter gate {mark} -->", {"JOB": "ci/other"}, False),
        ("## Another workflow's report", {}, False),
        ("quoting <!-- richter gate {mark} -->", {}, False),
    ],
)
def test_only_our_own_comment_is_edited(
    action: dict[str, Any], tmp_path: Path, first: str, other: dict[str, str], own: bool
) -> None:
    """Two gates without a plan, two of one job, or two of one name in other jobs: each has its own comment."""
    gate = {"JOB": "ci/evals", "NAME": "", "PLAN": "", "MARGIN": "2pt", "SOURCES": "old=a.csv\nnew=b.csv"}
    mark = hashlib.sha256("".join(f"{value}\n" for value in gate.values()).encode()).hexdigest()[:16]
    rows = [
        {"databaseId": 1, "viewerDidAuthor": False, "body": f"<!-- richter gate {mark} -->\nsomebody else's"},
        {"databaseId": 2, "viewerDidAuthor": True, "body": first.format(mark=mark) + "\ntext"},
        {"databaseId": 3, "viewerDidAuthor": True, "body": "the last of this token\n"},
    ]
    page = {"data": {"repository": {"pullRequest": {"comments": {"nodes": rows}}}}}
    (tmp_path / "comments.json").write_text(json.dumps(page))
    (tmp_path / "gate.md").write_text("## Gate\n")
    done = run_step(
        *(action, "Comment on the pull request", tmp_path),
        NUMBER="7",
        SUMMARY=str(tmp_path / "gate.md"),
        REPOSITORY="o/r",
        GH_TOKEN="t",
        **(gate | other),
    )
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "asked").read_text().splitlines()[-1]
    assert ("issues/comments/2" in written) == own
    assert ("pr comment 7" in written) != own
    assert (tmp_path / "gate.md.comment").read_text().startswith("<!-- richter gate ")


def test_other_actions_are_pinned_to_commits(action: dict[str, Any]) -> None:
    used = [s["uses"] for s in action["runs"]["steps"] if "uses" in s]
    assert used
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) for name in used)


def test_no_input_is_pasted_into_a_script(action: dict[str, Any]) -> None:
    assert not [s["name"] for s in action["runs"]["steps"] if "${{" in s.get("run", "")]
    for name in action["inputs"]:
        assert action["inputs"][name]["description"]
