"""A stand-in for GitHub's runner: all steps of the Action for one event, with a `gh` that answers from a folder."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"\b(?:github|inputs|steps)(?:\.[\w-]+)+")


@dataclasses.dataclass(frozen=True)
class ActionRun:
    """What one run of the Action left: exit status, outputs, the job's summary, artifacts, `gh` calls, comments."""

    code: int
    outputs: Mapping[str, Mapping[str, str]]
    summary: str
    artifacts: tuple[str, ...]
    asked: str
    comment: str
    log: str

    @property
    def outcome(self) -> str:
        """The Action's own output."""
        return self.outputs.get("gate", {}).get("outcome", "")


@dataclasses.dataclass
class Repository:
    """A repository on disk: the checkout in `work`, a commit's files in `commits/NAME`, artifacts in `artifacts/RUN`.

    `runs` are the ids that `gh run list` gives, newest first. `may_comment` says whether the token may write.
    """

    folder: Path
    runs: tuple[int, ...] = (31, 12)
    may_comment: bool = True
    may_read: bool = True

    def __post_init__(self) -> None:
        for name in ("work", "commits", "artifacts", "bin"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    @property
    def work(self) -> Path:
        """The checkout that the Action runs in."""
        return self.folder / "work"

    def commit(self, name: str, *files: str) -> None:
        """Keep these files of the checkout as those of a commit."""
        for file in files:
            target = self.folder / "commits" / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((self.work / file).read_bytes())

    def run(self, action: Mapping[str, Any], event: str, payload: Mapping[str, Any], **inputs: str) -> ActionRun:
        """Run every step whose condition holds, as a runner does."""
        self._write_tools()
        for name in ("summary.md", "asked", "comment"):
            (self.folder / name).unlink(missing_ok=True)
        given = {name: row.get("default", "") for name, row in action["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        repository = {"default_branch": "main"}
        context: dict[str, Any] = {
            "github": {
                "event_name": event, "event": {"repository": repository, **payload}, "repository": "o/r",
                "ref_name": payload.get("ref", "main"), "sha": "head", "token": "t", "workflow": "ci", "job": "evals",
                "workflow_ref": "o/r/.github/workflows/gate.yml@refs/heads/main", "action_path": str(ROOT),
            },
            "inputs": {**given, "token": "t"},
            "steps": {},
        }  # fmt: skip
        code, artifacts, log = 0, [], ""
        for step in action["runs"]["steps"]:
            condition = step.get("if", "always()")
            if (code and "always()" not in step.get("if", "")) or not evaluate(condition, context):
                continue
            if "uses" in step:
                artifacts += [fill(step["with"]["path"], context)] if "upload-artifact" in step["uses"] else []
                continue
            if step["name"] == "Install Richter":
                continue
            done, outputs = self._run_step(step, context)
            log += done.stdout + done.stderr
            code = code or done.returncode
            context["steps"][step.get("id", step["name"])] = {"outputs": outputs}
        return ActionRun(
            code=code, outputs={name: row["outputs"] for name, row in context["steps"].items()},
            summary=self._text("summary.md"), artifacts=tuple(artifacts), asked=self._text("asked"),
            comment=self._text("comment"), log=log,
        )  # fmt: skip

    def _text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def _run_step(
        self, step: Mapping[str, Any], context: Mapping[str, Any]
    ) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        script, output = self.folder / "step.sh", self.folder / "output"
        script.write_text(step["run"])
        output.write_text("")
        variables = {name: fill(value, context) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],  # as a runner calls `shell: bash`
            cwd=self.work,
            env={
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.folder),
                "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"), **variables,
            },
            capture_output=True,
            text=True,
        )  # fmt: skip
        return done, dict(line.split("=", 1) for line in output.read_text().splitlines())

    def _write_tools(self) -> None:
        """Richter as pip installs it, python, and a `gh` that answers from the folder and notes what it is asked."""
        state = {
            "folder": str(self.folder), "runs": self.runs, "may_comment": self.may_comment, "may_read": self.may_read
        }  # fmt: skip
        (self.folder / "gh.json").write_text(json.dumps(state))
        scripts = {
            "richter": f'exec env PYTHONPATH="{ROOT / "src"}" "{sys.executable}" -P -m richter "$@"',
            "python": f'exec "{sys.executable}" "$@"',
            "gh": f'exec "{sys.executable}" "{Path(__file__).with_name("stand_in_gh.py")}" "{self.folder}" "$@"',
        }
        for name, script in scripts.items():
            (self.folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
            (self.folder / "bin" / name).chmod(0o755)


def evaluate(expression: str, context: Mapping[str, Any]) -> Any:
    """The value of an expression of a workflow: names, texts, `==`, `!=`, `&&`, `||`, `always()`."""
    text = expression.strip().removeprefix("${{").removesuffix("}}").strip()
    text = text.replace("always()", "True").replace("&&", " and ").replace("||", " or ")
    text = NAME.sub(lambda name: f"look({name.group()!r})", text)

    def look(name: str) -> Any:
        value: Any = context
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return "" if value is None else value

    return eval(text, {"__builtins__": {}}, {"look": look})  # of the own action.yml


def fill(text: str, context: Mapping[str, Any]) -> str:
    """A text with its expressions replaced by their values."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(evaluate(found.group(1), context)), str(text))
