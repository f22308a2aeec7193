"""A gate in GitLab, in pre-commit and as a picture: each is run as its file says."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from richter.cli import main

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]


def write_grades(folder: Path, *, wrong: int) -> None:
    """200 questions; the old one has 20 wrong, the new one `wrong`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lost in (("main", 20), ("branch", wrong)):
        rows = [f"q{k},{int(k >= lost)}" for k in range(200)]
        (folder / f"{name}.csv").write_text("\n".join(["item,correct", *rows]) + "\n")


@pytest.mark.parametrize(("wrong", "status", "word"), [(20, 0, "PASS"), (100, 3, "FAIL"), (23, 4, "INCONCLUSIVE")])
def test_a_badge_says_the_outcome_in_words_too(wrong: int, status: int, word: str, tmp_path: Path) -> None:
    write_grades(tmp_path, wrong=wrong)
    files = (f"old={tmp_path / 'main.csv'}", f"new={tmp_path / 'branch.csv'}")
    with pytest.raises(SystemExit) as stop:
        main(["gate", *files, "--margin", "2pt", "--badge", str(tmp_path / "gate.svg")])
    assert stop.value.code == status
    picture = ElementTree.fromstring((tmp_path / "gate.svg").read_text())
    assert [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")] == ["richter gate", word]
    assert picture.get("aria-label") == f"richter gate: {word}"


def test_the_hook_of_pre_commit_is_a_command_that_runs(tmp_path: Path) -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    write_grades(tmp_path, wrong=20)
    command, *words = hook["entry"].split()
    assert (command, hook["pass_filenames"]) == ("richter", False)
    with pytest.raises(SystemExit) as stop:
        main([*words, f"old={tmp_path / 'main.csv'}", f"new={tmp_path / 'branch.csv'}", "--margin", "2pt"])
    assert stop.value.code == 0


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "status"), [("0.02", 0), ("0.3", 4)])
def test_the_job_for_gitlab_takes_the_plan_of_the_target_branch(limit: str, status: int, tmp_path: Path) -> None:
    """The script's lines in a shell, with real git; a branch that loosens its plan does not pass."""
    job = yaml.safe_load((ROOT / "docs" / "examples" / "gitlab-ci.yml").read_text())["richter"]
    tools, origin, branch = tmp_path / "tools", tmp_path / "origin", tmp_path / "branch"
    tools.mkdir()
    (tools / "pip").write_text("#!/bin/sh\n")
    (tools / "richter").write_text(f'#!/bin/sh\nexec {sys.executable} -m richter "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    me = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    environment = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }

    def shell(*command: str, folder: Path) -> None:
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)

    write_grades(origin / "results", wrong=20)
    require = '[{metric="accuracy", rule="no_worse", limit=0.02}]'
    shell("richter", "plan", "new", "gate", "-o", "plan.toml", "--set", "candidate=new", "--set", "baseline=old",
          "--set", f"require={require}", folder=origin)  # fmt: skip
    shell("richter", "plan", "lock", "plan.toml", folder=origin)
    shell("git", "init", "-q", "-b", "main", folder=origin)
    shell("git", "add", "-A", folder=origin)
    shell("git", *me, "commit", "-qm", "Lock the plan", folder=origin)
    shell("git", "clone", "-q", str(origin), str(branch), folder=tmp_path)
    plan = branch / "plan.toml"
    plan.write_text(plan.read_text().replace("limit = 0.02", f"limit = {limit}"))
    assert limit in plan.read_text()
    done = subprocess.run(
        ["sh", "-ec", "\n".join(job["script"])], cwd=branch, env=environment, capture_output=True, text=True
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert (branch / job["artifacts"]["reports"]["junit"]).is_file()
    assert all((branch / path).is_file() for path in job["artifacts"]["paths"])


@pytest.mark.parametrize(("wrong", "status"), [(0, 0), (60, 3)])
def test_what_only_decorates_a_gate_decides_nothing(
    wrong: int, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, lost in (("old", 0), ("new", wrong)):
        rows = [f"q{i},{name},{int(i >= lost)}" for i in range(400)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["item,condition,correct", *rows]) + "\n")
    files = [str(tmp_path / "old.csv"), str(tmp_path / "new.csv")]
    lost = ["--badge", str(tmp_path / "none" / "gate.svg"), "--history", str(tmp_path / "none")]
    with pytest.raises(SystemExit) as stop:
        main(["gate", *files, "--margin", "2pt", *lost])
    assert int(stop.value.code or 0) == status
    warned = capsys.readouterr().err
    assert "the badge is left out" in warned
    assert "the history is left out" in warned
