"""Walk ten journeys of a team, each to what a person would check at its end: 10 of 10 must arrive.

Commands run as a user types them, in a folder of their own. A journey whose tool is not installed says so.

Usage: python studies/soak_journeys.py [NUMBER]
"""

import contextlib
import csv
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.action_runner import Repository  # noqa: E402
from helpers.soak import campaign  # noqa: E402
from richter.cli import main  # noqa: E402
from richter.store import open_ledger  # noqa: E402

EXAMPLES = ROOT / "docs" / "examples"
TOOLS = ROOT / "tests" / "corpus" / "tools"
PLAN = ("plan.toml", "plan.toml.lock", "plan.toml.log")
REQUIRE = 'require=[{metric="accuracy", rule="no_worse", limit=0.05}]'


class NotInstalledError(Exception):
    """A tool of the journey is not here."""


def richter(*words: object, ends: int = 0) -> str:
    """What a command prints; it must end with this status."""
    screen, errors = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(errors):
            main([str(word) for word in words])
    except SystemExit as stop:
        status = int(stop.code or 0)
    assert status == ends, f"{words[0]} ended with {status}: {(screen.getvalue() + errors.getvalue())[-400:]}"
    return screen.getvalue()


def needs(*packages: str) -> None:
    if missing := [name for name in packages if importlib.util.find_spec(name) is None]:
        raise NotInstalledError(missing[0])


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def claims_of(source: object) -> list[dict[str, Any]]:
    """The claims of `compare`, by what they say: measure, conditions, verdict, estimate, interval, number."""
    richter("compare", source, "--json", "claims.json")
    document = json.loads(Path("claims.json").read_text())
    names = ("measure", "conditions", "verdict", "estimate", "interval", "n")
    return [{name: claim.get(name) for name in names} for claim in document["claims"]]


def write_grades(folder: Path, **right: int) -> None:
    for name, k in right.items():
        rows = [f"q{i},{name},{int(i < k)}" for i in range(400)]
        (folder / f"{name}.csv").write_text("\n".join(["item,condition,correct", *rows]) + "\n")


def write_plan(path: Path) -> None:
    richter("plan", "new", "gate", "-o", path, "--set", "candidate=new", "--set", "baseline=old", "--set", REQUIRE)
    richter("plan", "lock", path)


def register_to_signature(folder: Path) -> None:
    """A plan is locked before the run; gate, page and archive then carry its verdict, and the archive verifies."""
    write_grades(folder, old=300, new=300)
    write_plan(folder / "plan.toml")
    richter("gate", "plan.toml", "old.csv", "new.csv", "--require-locked", "--json", "gate.json")
    gate = json.loads(Path("gate.json").read_text())
    assert (gate["confirmatory"], gate["outcome"]) == (True, "verified")
    richter("verify", "plan.toml")
    richter("verify", "plan.toml.receipt")
    richter("import", "old.csv", "new.csv", "-o", "run1")
    for name in PLAN:
        shutil.copy(name, folder / "run1" / name)
    richter("export", "run1", "--evidence", "run1.zip")
    richter("verify", "run1.zip")
    with zipfile.ZipFile("run1.zip") as packed:
        signature = json.loads(packed.read("results.json"))["signature"]
        page = packed.read("report.html").decode()
    assert len(signature["verdicts"]) == 1
    assert "To sign" in page or "Signature" in page or "signature" in page


def continuous_integration(folder: Path) -> None:
    """The Action's own steps: a kept baseline, a fork's token, a merge queue, a plan that a branch loosens."""
    needs("yaml")
    import yaml

    action = yaml.safe_load((ROOT / "action.yml").read_text())
    repository = Repository(folder)
    write_grades(repository.work, old=300, new=255)
    write_plan(repository.work / "plan.toml")
    for commit in ("base", "main"):
        repository.commit(commit, *PLAN)
    pull = {"pull_request": {"number": 7, "base": {"sha": "base", "ref": "main"}}}
    queue = {"merge_group": {"base_sha": "base", "base_ref": "refs/heads/main"}, "ref": "gh-readonly-queue/main/pr-7"}
    pushed = repository.run(action, "push", {}, keep="richter-main", sources="new=old.csv\n")
    (repository.folder / "artifacts" / "12").mkdir(parents=True)
    shutil.copy(pushed.artifacts[0], repository.folder / "artifacts" / "12" / "evidence.zip")
    kept = {"plan": "plan.toml", "keep": "richter-main", "sources": "new=new.csv", "comment": "true"}
    run = repository.run(action, "pull_request", pull, **kept)
    assert (run.code, run.outcome) == (3, "refuted"), run.log
    assert run.comment
    assert repository.run(action, "merge_group", queue, **kept).code == 3
    write_grades(repository.work, new=300)
    repository.may_comment = False
    fork = repository.run(action, "pull_request", pull, **kept)
    assert (fork.code, fork.outcome, fork.comment) == (0, "verified", "")
    plan = repository.work / "plan.toml"
    plan.write_text(plan.read_text().replace("limit = 0.05", "limit = 0.3"))
    loosened = repository.run(action, "pull_request", pull, **kept)
    assert loosened.code == 4
    assert "This branch changes" in loosened.summary.splitlines()[0]


def pytest_gate(folder: Path) -> None:
    """A gate as a test, with every warning an error: it passes, and fails with the sentence."""
    write_grades(folder, old=300, new=300)
    write_plan(folder / "plan.toml")
    Path("test_gate.py").write_text(
        'def test_gate(richter_gate):\n    richter_gate("plan.toml", "old=old.csv", "new=new.csv")\n'
    )
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    command += [] if _plugin_is_installed() else ["-p", "richter.plugins.pytest_gate"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    for right, status in ((300, 0), (200, 1)):
        write_grades(folder, new=right)
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == status, done.stdout + done.stderr
    assert "FAIL: new is more than 5 points worse than old" in done.stdout


def _plugin_is_installed() -> bool:
    from importlib import metadata

    return any(e.value == "richter.plugins.pytest_gate" for e in metadata.entry_points(group="pytest11"))


def inspect_scorers(folder: Path) -> None:
    """Six scorers of Inspect by three kinds of epochs with our metrics: every eval ends well, and its log is read."""
    needs("inspect_ai")
    from inspect_ai import Epochs, Task
    from inspect_ai import eval as inspect_eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import answer, exact, f1, includes, match, pattern

    from richter_audit import inspect as extension

    def reply(*_: Any) -> ModelOutput:
        output = ModelOutput.from_content("mockllm", "ANSWER: yes")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    metrics = [extension.error_rate(), extension.mean_severity(), extension.slope_b(), extension.tail_mean()]
    for scorer in (match(), includes(), exact(), f1(), pattern("(.*)"), answer("word")):
        for epochs in (None, Epochs(2, "mean"), Epochs(3, "mode")):
            task = Task(
                dataset=[Sample(input=f"q{k}", target="yes" if k % 2 else "no", id=str(k)) for k in range(6)],
                scorer=scorer, metrics=metrics, epochs=epochs,
            )  # fmt: skip
            model = get_model("mockllm/simulated", custom_outputs=reply, memoize=False)
            [log] = inspect_eval(task, model=model, log_dir=str(folder / "logs"), display="none", log_realtime=False)
            assert log.status == "success", log.error
            richter("import", log.location.removeprefix("file://"), "--dry-run")


def logs_of_other_tools(folder: Path) -> None:
    """Logs that lm-eval and promptfoo wrote are imported, compared and exported with the accuracies they printed."""
    printed = {"05_promptfoo.json": (0.75, 1.0), "09_lm_eval_0_4_13": (5 / 6, 4 / 6)}
    for name, rates in printed.items():
        run = folder / f"run-{name[:2]}"
        richter("import", TOOLS / name, "-o", run)
        richter("export", run, "-o", f"{name[:2]}.csv")
        rows = read_csv(Path(f"{name[:2]}.csv"))
        by_name: dict[str, list[float]] = {}
        for row in rows:
            by_name.setdefault(row["condition"], []).append(float(row["correct"]))
        assert sorted(sum(v) / len(v) for v in by_name.values()) == sorted(rates)
        richter("compare", run)


def label_loop(folder: Path) -> None:
    """Two people fill in blind sheets; agreement counts both, and the comparison uses their labels."""
    shutil.copy(EXAMPLES / "severities.csv", "severities.csv")
    richter("import", "severities.csv", "-o", "run1")
    for rater in ("ann", "ben"):
        richter("label", "run1", "--sheet", f"{rater}.csv", "--rater", rater, "--n", 40)
        rows = read_csv(Path(f"{rater}.csv"))
        assert rows
        assert not {"condition", "model"} & {*rows[0]}
        for k, row in enumerate(sorted(rows, key=lambda row: row["id"])):
            row["severity"] = "0" if k % 3 else "2" if rater == "ann" or k % 6 else "0"
        with Path(f"{rater}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        richter("label", "run1", "--import", f"{rater}.csv", "--rater", rater)
    with open_ledger("run1") as ledger:
        human = [rating for rating in ledger.ratings() if rating.kind == "human"]
    assert {rating.rater for rating in human} == {"ann", "ben"}
    richter("label", "agreement", "run1", "--json", "agreement.json")
    assert {"ann", "ben"} <= {*json.dumps(json.loads(Path("agreement.json").read_text())).replace('"', " ").split()}
    richter("compare", "run1", "--json", "claims.json")
    assert "human" in Path("claims.json").read_text()


def watch_by_cron(folder: Path) -> None:
    """A job looks each day at the days so far: quiet before the loss of day 21, and worse by day 30."""
    rows = (EXAMPLES / "days.csv").read_text().splitlines(keepends=True)
    found = {}
    for day in (12, 16, 20, 25, 30):
        Path("days.csv").write_text("".join(rows[: 1 + 100 * day]))
        for status in (0, 4, 3):
            with contextlib.suppress(AssertionError):
                richter("watch", "days.csv", "--date", "day", "--json", "watch.json", ends=status)
                found[day] = status
                break
    assert 3 not in [found[day] for day in (12, 16, 20)], found
    assert found[30] == 3, found


def export_round_trips(folder: Path) -> None:
    """A run written as CSV, JSONL, Parquet, data set and evidence gives the same claims from each."""
    shutil.copy(EXAMPLES / "severities.csv", "severities.csv")
    richter("import", "severities.csv", "-o", "run1")
    own = claims_of("run1")
    for ending in ("csv", "jsonl", "parquet"):
        richter("export", "run1", "-o", f"answers.{ending}")
        assert claims_of(f"answers.{ending}") == own, ending
    richter("export", "run1", "--hub", "dataset", "--license", "cc-by-4.0", "--creator", "Us")
    assert claims_of("dataset") == own
    richter("export", "run1", "--evidence", "run1.zip")
    assert claims_of("run1.zip") == own


def trackers(folder: Path) -> None:
    """MLflow in a local database and W&B offline keep the numbers."""
    needs("mlflow", "wandb")
    shutil.copy(EXAMPLES / "severities.csv", "severities.csv")
    richter("import", "severities.csv", "-o", "run1")
    os.environ |= {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db", "WANDB_MODE": "offline"}
    richter("export", "run1", "--mlflow", "audits")
    assert (folder / "mlflow.db").exists()
    richter("export", "run1", "--wandb", "audits")
    assert list(folder.glob("wandb/offline-run-*"))


def a_strangers_archive(folder: Path) -> None:
    """An archive verifies; with a claim changed, its page changed or a link in the run it does not."""
    shutil.copy(EXAMPLES / "severities.csv", "severities.csv")
    richter("import", "severities.csv", "-o", "run1")
    richter("export", "run1", "--evidence", "run1.zip")
    assert "0 faults" not in richter("verify", "run1.zip")
    for name, old, new in (("results.json", b'"verified"', b'"refuted"'), ("report.html", b"better", b"worse")):
        _edit_archive(Path("run1.zip"), Path("edited.zip"), name, old, new)
        richter("verify", "edited.zip", ends=1)
    (folder / "secret").write_text("mine")
    (folder / "run1" / "scores.csv").symlink_to(folder / "secret")
    richter("export", "run1", "--evidence", "other.zip", ends=1)


def _edit_archive(source: Path, target: Path, name: str, old: bytes, new: bytes) -> None:
    """Copy an archive with one file changed and the manifest remade."""
    import hashlib

    with zipfile.ZipFile(source) as packed:
        files = {member: packed.read(member) for member in packed.namelist()}
    assert old in files[name], name
    files[name] = files[name].replace(old, new)
    names = [line.split(maxsplit=1)[1] for line in files["MANIFEST.sha256"].decode().splitlines()]
    lines = [f"{hashlib.sha256(files[member]).hexdigest()}  {member}\n" for member in names]
    files["MANIFEST.sha256"] = "".join(lines).encode()
    with zipfile.ZipFile(target, "w") as packed:
        for member, content in files.items():
            packed.writestr(member, content)


JOURNEYS: tuple[Callable[[Path], None], ...] = (
    register_to_signature, continuous_integration, pytest_gate, inspect_scorers, logs_of_other_tools, label_loop,
    watch_by_cron, export_round_trips, trackers, a_strangers_archive,
)  # fmt: skip


def attempt(k: int) -> str:
    journey = JOURNEYS[k % len(JOURNEYS)]
    folder, before = Path(tempfile.mkdtemp(prefix="richter-soak-")), Path.cwd()
    os.chdir(folder)
    try:
        journey(folder)
    except NotInstalledError as missing:
        return f"{journey.__name__}: {missing} is not installed"
    except AssertionError as fault:
        print(f"{journey.__name__}: {fault}", file=sys.stderr)
        return f"{journey.__name__}: DID NOT ARRIVE"
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)
    return f"{journey.__name__}: arrived"


if __name__ == "__main__":
    campaign("journeys", attempt, number=len(JOURNEYS), batch=1, limit_s=600)
