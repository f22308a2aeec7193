"""The whole Action for each event, with a stand-in for GitHub: whose plan holds, and what a person then reads."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers.action_runner import ActionRun, Repository
from plugins.test_pytest_gate import run_cli

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
pytestmark = pytest.mark.slow

PLAN = ("plan.toml", "plan.toml.lock")
PULL = {"pull_request": {"number": 7, "base": {"sha": "base", "ref": "main"}}}
QUEUE = {"merge_group": {"base_sha": "base", "base_ref": "refs/heads/main"}, "ref": "gh-readonly-queue/main/pr-7"}
BY_HAND = {"ref": "topic"}
SOURCES = {"sources": "old=old.csv\nnew=new.csv", "comment": "true"}


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text())
    return parsed


def write_grades(folder: Path, **right: int) -> None:
    for name, k in right.items():
        rows = [f"q{i},{name},{int(i < k)}" for i in range(400)]
        (folder / f"{name}.csv").write_text("\n".join(["item,condition,correct", *rows]) + "\n")


def write_plan(path: Path, limit: float = 0.05, *, lock: bool = True) -> None:
    run_cli(
        *("plan", "new", "gate", "-o", str(path), "--set", "candidate=new", "--set", "baseline=old"),
        *("--set", f'require=[{{metric="accuracy", rule="no_worse", limit={limit}}}]'),
    )
    if lock:
        run_cli("plan", "lock", str(path))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A checkout with a locked plan that the base branch has too, and a branch that lost 45 of 400 answers."""
    made = Repository(tmp_path)
    write_grades(made.work, old=300, new=255)
    write_plan(made.work / "plan.toml")
    made.commit("base", *PLAN)
    made.commit("main", *PLAN)
    return made


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("pull_request", PULL), ("pull_request_target", PULL), ("merge_group", QUEUE), ("workflow_dispatch", BY_HAND),
        ("push", {}), ("schedule", {"repository": None}),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("right", "code", "outcome"), [(255, 3, "refuted"), (300, 0, "verified")])
def test_every_event_is_gated(
    action: dict[str, Any], repository: Repository, event: str, payload: dict[str, Any], right: int, code: int,
    outcome: str,
) -> None:  # fmt: skip
    write_grades(repository.work, new=right)
    run = repository.run(action, event, payload, plan="plan.toml", **SOURCES)
    assert (run.code, run.outcome) == (code, outcome), run.log
    assert bool(run.comment) == ("pull_request" in payload)


def loosen(work: Path) -> None:
    text = (work / "plan.toml").read_text()
    (work / "plan.toml").write_text(text.replace("limit = 0.05", "limit = 0.3"))


def relock(work: Path) -> None:
    for name in PLAN:
        (work / name).unlink()
    write_plan(work / "plan.toml", 0.3)


def settings(work: Path) -> None:
    (work / "richter.toml").write_text('[grade]\nwrong = "1"\n')


def add_level(work: Path) -> None:
    (work / "richter.toml").write_text("level = 0.6\n")


def remove(work: Path) -> None:
    (work / "plan.toml").unlink()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("change", "right", "code", "event", "payload"),
    [
        *((change, 300, 4, "pull_request", PULL) for change in (loosen, relock, settings, add_level, remove)),
        (loosen, 255, 3, "pull_request", PULL),
        (settings, 255, 3, "merge_group", QUEUE),
    ],
)
def test_a_branch_cannot_change_its_own_gate(
    action: dict[str, Any], repository: Repository, change: Any, right: int, code: int, event: str,
    payload: dict[str, Any],
) -> None:  # fmt: skip
    write_grades(repository.work, new=right)
    change(repository.work)
    run = repository.run(action, event, payload, plan="plan.toml", **SOURCES)
    assert run.code == code, run.log
    assert "This branch changes" in run.summary.splitlines()[0]
    if event == "pull_request":
        assert run.comment.splitlines()[2] == run.summary.splitlines()[0]


def test_a_plan_that_only_the_branch_has_does_not_pass(action: dict[str, Any], tmp_path: Path) -> None:
    own = Repository(tmp_path)
    write_grades(own.work, old=300, new=300)
    write_plan(own.work / "plan.toml")
    run = own.run(action, "pull_request", PULL, plan="plan.toml", **SOURCES)
    assert (run.code, run.outcome) == (4, "undecided")
    assert "The base branch has no plan.toml" in run.summary.splitlines()[0]


@pytest.mark.parametrize(("required", "code"), [("true", 4), ("false", 0)])
def test_an_unlocked_plan_passes_only_where_the_workflow_says_so(
    action: dict[str, Any], tmp_path: Path, required: str, code: int
) -> None:
    own = Repository(tmp_path)
    write_grades(own.work, old=300, new=300)
    write_plan(own.work / "plan.toml", lock=False)
    own.commit("base", "plan.toml")
    run = own.run(action, "pull_request", PULL, plan="plan.toml", require_locked=required, **SOURCES)
    assert run.code == code, run.log


def test_a_token_that_may_only_read_leaves_the_outcome(action: dict[str, Any], repository: Repository) -> None:
    write_grades(repository.work, new=300)
    repository.may_comment = False
    run = repository.run(action, "pull_request", PULL, plan="plan.toml", **SOURCES)
    assert (run.code, run.outcome, run.comment) == (0, "verified", "")
    assert "::warning::The comment could not be written" in run.log


def test_a_base_that_cannot_be_read_fails(action: dict[str, Any], repository: Repository) -> None:
    write_grades(repository.work, new=300)
    repository.may_read = False
    run = repository.run(action, "pull_request", PULL, plan="plan.toml", **SOURCES)
    assert (run.code, run.outcome) == (1, "")
    assert "contents: read" in run.log


def kept_baseline(action: dict[str, Any], repository: Repository) -> ActionRun:
    """What a push to the base branch keeps of the old answers, put where run 12 is looked for."""
    run = repository.run(action, "push", {}, keep="richter-main", sources="new=old.csv\n")
    (kept,) = run.artifacts
    (repository.folder / "artifacts" / "12").mkdir()
    shutil.copy(kept, repository.folder / "artifacts" / "12" / "baseline.parquet")
    return run


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("event", "payload"),
    [("pull_request", PULL), ("pull_request_target", PULL), ("merge_group", QUEUE), ("workflow_dispatch", BY_HAND)],
)
def test_every_event_but_a_push_is_held_against_the_kept_baseline(
    action: dict[str, Any], repository: Repository, event: str, payload: dict[str, Any]
) -> None:
    """The plan calls it `old`; the newest run without the artifact is passed over; other workflows are not asked."""
    pushed = kept_baseline(action, repository)
    assert (pushed.code, pushed.outcome) == (0, "")
    given = {"plan": "plan.toml", "keep": "richter-main", "sources": "new=new.csv", "comment": "true"}
    run = repository.run(action, event, payload, **given)
    assert (run.code, run.outcome) == (3, "refuted"), run.log
    assert "run list --repo o/r --workflow gate.yml --branch main --event push" in run.asked
    write_grades(repository.work, new=300)
    assert repository.run(action, event, payload, **given).outcome == "verified"


def test_without_a_baseline_there_is_an_outcome_and_a_comment(action: dict[str, Any], repository: Repository) -> None:
    given = {"margin": "5pt", "keep": "richter-main", "sources": "new=new.csv", "comment": "true"}
    run = repository.run(action, "pull_request", PULL, **given)
    assert (run.code, run.outcome) == (4, "undecided"), run.log
    assert "No push to `main` has kept a baseline" in run.summary
    assert "Nothing was compared" in run.comment


def test_a_series_that_cannot_be_read_decides_nothing(action: dict[str, Any], repository: Repository) -> None:
    write_grades(repository.work, new=300)
    (repository.work / "days").mkdir()
    run = repository.run(action, "pull_request", PULL, plan="plan.toml", history="days", **SOURCES)
    assert (run.code, run.outcome) == (0, "verified"), run.log
    assert "history" in run.summary
