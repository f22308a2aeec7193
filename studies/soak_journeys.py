"""Walk nine journeys of a team, each to what a person would check at its end: 9 of 9 must arrive.

Commands run as a user types them, in a folder of their own. A journey whose tool is not installed says so.

Usage: python studies/soak_journeys.py [NUMBER]
"""

import contextlib
import csv
import importlib.util
import io
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.action_runner import Repository  # noqa: E402
from helpers.soak import campaign  # noqa: E402
from richter.cli import main  # noqa: E402
from richter.interop import read_frame  # noqa: E402
from richter.store import open_ledger  # noqa: E402

EXAMPLES = ROOT / "docs" / "examples"
TOOLS = ROOT / "tests" / "corpus" / "tools"
PLAN = ("plan.toml", "plan.toml.lock")
REQUIRE = 'require=[{metric="accuracy", rule="no_worse", limit=0.05}]'


class NotInstalledError(Exception):
    """A tool of the journey is not here."""


def richter(*words: object, ends: int | None = 0) -> str:
    """What a command prints; it must end with this status, where one is given."""
    screen, errors = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(errors):
            main([str(word) for word in words])
    except SystemExit as stop:
        status = int(stop.code or 0)
    assert ends is None or status == ends, (
        f"{words[0]} ended with {status}: {(screen.getvalue() + errors.getvalue())[-400:]}"
    )
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
    """A plan is locked before the run; gate and page then carry its verdict, and the results verify."""
    write_grades(folder, old=300, new=300)
    write_plan(folder / "plan.toml")
    richter("gate", "plan.toml", "old.csv", "new.csv", "--require-locked", "--json", "gate.json")
    gate = json.loads(Path("gate.json").read_text())
    assert (gate["confirmatory"], gate["outcome"]) == (True, "verified")
    richter("verify", "plan.toml")
    richter("import", "old.csv", "new.csv", "-o", "run1")
    for name in PLAN:
        shutil.copy(name, folder / "run1" / name)
    richter("report", "run1", "-o", "page.html", "--json", "results.json")
    richter("verify", "results.json", "run1")
    richter("verify", "run1")
    signature = json.loads(Path("results.json").read_text())["signature"]
    page = Path("page.html").read_text()
    (verdict,) = signature["verdicts"]
    assert verdict == "verified", verdict
    block = page[page.index('class="sign"') :].partition("</details>")[0]
    assert "not more than 5 points worse" in block, block[:600]


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
    shutil.copy(pushed.artifacts[0], repository.folder / "artifacts" / "12" / "baseline.parquet")
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

    metrics = [extension.error_rate(), extension.mean_severity(), extension.tail_mean()]
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
    logs = [(name[:2], TOOLS / name, rates) for name, rates in printed.items()]
    if importlib.util.find_spec("lm_eval") is not None:  # a fresh one, by the lm-eval that is installed
        logs.append(("lm", *_write_lm_eval_logs(folder / "lm-eval")))
    for name, place, rates in logs:
        richter("import", place, "-o", f"run-{name}")
        richter("export", f"run-{name}", "-o", f"{name}.csv")
        by_name: dict[str, list[float]] = {}
        for row in read_csv(Path(f"{name}.csv")):
            by_name.setdefault(row["condition"], []).append(float(row["correct"]))
        assert sorted(sum(v) / len(v) for v in by_name.values()) == sorted(rates), name
        accuracy = next(claim for claim in claims_of(f"run-{name}") if claim["measure"] == "accuracy")
        assert abs(abs(accuracy["estimate"]) - abs(rates[1] - rates[0])) < 1e-9, accuracy
        richter("gate", f"run-{name}", "--margin", "5pt", ends=4)  # so few questions decide nothing


LM_EVAL = """
import sys, datasets, lm_eval, json
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.task import ConfigurableTask
from lm_eval.loggers import EvaluationTracker

class Simulated(LM):  # right on all but every k-th sum
    def __init__(self, k): super().__init__(); self.k = k
    def loglikelihood(self, requests): raise NotImplementedError
    def loglikelihood_rolling(self, requests): raise NotImplementedError
    def generate_until(self, requests):
        return [str(r.doc["a"] if n % self.k else -1) for n, r in enumerate(requests)]

rows = [{"q": f"{n} + {n + 1}", "a": str(2 * n + 1)} for n in range(12)]
task = {"task": "sums", "custom_dataset": lambda **_: {"test": datasets.Dataset.from_list(rows)}, "test_split": "test",
        "doc_to_text": "What is {{q}}?", "doc_to_target": "{{a}}", "output_type": "generate_until",
        "generation_kwargs": {"until": ["\\n"]},
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}]}
for name, k in (("old", 3), ("new", 4)):
    found = lm_eval.simple_evaluate(Simulated(k), tasks=[ConfigurableTask(config=dict(task))], log_samples=True,
                                    bootstrap_iters=0)
    samples = found.pop("samples")
    tracker = EvaluationTracker(output_path=f"{sys.argv[1]}/m-{name}")
    tracker.save_results_aggregated(results=found, samples=samples)
    for each, rows_of in samples.items():
        tracker.save_results_samples(task_name=each, samples=rows_of)
    print(json.dumps(found["results"]["sums"]["exact_match,none"]))
"""


def _write_lm_eval_logs(folder: Path) -> tuple[Path, tuple[float, ...]]:
    """Two logs of a simulated model, written by lm-eval in a process of its own, and the accuracies it printed."""
    done = subprocess.run([sys.executable, "-c", LM_EVAL, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-600:]
    return folder, tuple(float(line) for line in done.stdout.split()[-2:])


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


EVERY_COMMAND = (
    ("compare",), ("report", "-o", "page.html"), ("severity",), ("calibration",), ("gate", "--margin", "5pt"),
    ("size",), ("watch", "--condition", "new"),
)  # fmt: skip


def export_round_trips(folder: Path) -> None:
    """Every table of a run, written in every form, opens in every command and says the same; nothing is graded anew."""
    _write_rich_run()
    own = claims_of("run1")
    assert {claim["measure"] for claim in own} >= {"accuracy", "ece", "mean_severity", "catastrophic_rate"}
    exports = [f"answers.{ending}" for ending in ("csv", "jsonl", "parquet")]
    for name in exports:
        richter("export", "run1", "-o", name)
    for name in exports:
        assert claims_of(name) == own, name
        richter("import", name, "-o", f"again-{name}")
        assert claims_of(f"again-{name}") == own, name
    for command, *options in EVERY_COMMAND:
        said = {name: _first_line(richter(command, name, *options, ends=None)) for name in ("run1", *exports)}
        assert len({*said.values()}) == 1, said
    for table in ("answers", "grades", "confidences", "ratings", "items"):
        rows = []
        for ending in ("csv", "jsonl", "parquet"):
            richter("export", "run1", "--table", table, "-o", f"{table}-only.{ending}")
            rows.append(len(read_frame(Path(f"{table}-only.{ending}"))))
        assert rows[0] == rows[1] == rows[2] > 0, (table, rows)
    agreements = {_first_line(richter("label", "agreement", name)) for name in ("run1", "ratings-only.parquet")}
    assert len(agreements) == 1, agreements


def _first_line(text: str) -> str:
    """What a command says first, without the name of its source."""
    line = (text.strip().splitlines() or [""])[0]
    return re.sub(r"\S*(?:answers|again-|run1)\S*", "SOURCE", line)


def _write_rich_run() -> None:
    """A simulated run with repeats, groups, confidences, severities, texts, costs, log-probabilities and two raters."""
    chance = random.Random(1)
    rows, ratings = [], []
    for k, (name, rate), draw in itertools.product(range(90), (("old", 0.6), ("new", 0.8)), range(2)):
        right = int(chance.random() < rate)
        rows.append({
            "item": f"q{k}", "condition": name, "draw": draw, "question": f"What is {k} + {k}?", "correct": right,
            "reference": str(2 * k), "answer": str(2 * k + 1 - right), "group": f"g{k % 30}", "subject": "abc"[k % 3],
            "severity": 0.0 if right else chance.randrange(1, 9) / 2, "confidence": round(0.4 + chance.random() / 2, 3),
            "tokens": ["x", str(k)], "logprobs": [-0.1, -chance.random()], "cost": 0.01, "seconds": chance.random(),
        })  # fmt: skip
        if draw == 0 and k < 30:
            ratings += [
                {
                    "item": f"q{k}",
                    "condition": name,
                    "rater": who,
                    "kind": "human",
                    "severity": rows[-1]["severity"] * (k % 5 < 4),
                }
                for who in ("ann", "ben")
            ]
    Path("rich.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ratings))
    richter("import", "rich.jsonl", "-o", "run1")
    richter("label", "run1", "--import", "people.jsonl")


def trackers(folder: Path) -> None:
    """MLflow in a local database and W&B offline keep the numbers."""
    needs("mlflow", "sqlalchemy", "alembic", "wandb")
    shutil.copy(EXAMPLES / "severities.csv", "severities.csv")
    richter("import", "severities.csv", "-o", "run1")
    os.environ |= {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db", "WANDB_MODE": "offline"}
    richter("export", "run1", "--mlflow", "audits")
    assert (folder / "mlflow.db").exists()
    richter("export", "run1", "--wandb", "audits")
    assert list(folder.glob("wandb/offline-run-*"))


JOURNEYS: tuple[Callable[[Path], None], ...] = (
    register_to_signature, continuous_integration, pytest_gate, inspect_scorers, logs_of_other_tools, label_loop,
    watch_by_cron, export_round_trips, trackers,
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
