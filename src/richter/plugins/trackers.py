"""A run's results into experiment trackers: figures as metrics, the report and the results document as artifacts."""

import dataclasses
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from richter.audit import measure_run
from richter.errors import InputError, MissingPart
from richter.records import Result, json_text, printable
from richter.report import write_report
from richter.store import RunLike, write_file
from richter.tables import Dataset

__all__ = ["Tracked", "log_to_mlflow", "log_to_wandb", "metrics_of", "params_of"]

MLFLOW_PACKAGES = "mlflow-skinny sqlalchemy alembic"  # with what a database as the store takes

# the results document's three numbers of a condition, as trackers call them
_NUMBERS = {"how_often": "error_rate", "how_badly": "catastrophic_rate", "knows": "ece_debiased"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tracked(Result):
    """Where a run's results went: the tracker's own id of them, and what was logged."""

    tracker: str
    id: str
    metrics: Mapping[str, float]
    artifacts: tuple[str, ...]


def metrics_of(document: Mapping[str, Any]) -> dict[str, float]:
    """Numbers by name: each condition's rates with their limits, and how many claims have each verdict.

    What could not be measured is left out: a tracker would draw it as 0.
    """
    found: dict[str, float] = {}
    for name, condition in _name_conditions(document).items():
        for key, metric in _NUMBERS.items():
            measured = condition.get(key) or {}
            if measured.get("estimate") is None:
                continue
            found[f"{name}/{metric}"] = float(measured["estimate"])
            if measured.get("interval"):
                found[f"{name}/{metric}_low"] = float(measured["interval"]["low"])
                found[f"{name}/{metric}_high"] = float(measured["interval"]["high"])
        found[f"{name}/answered"] = float(condition["answered"])
        found[f"{name}/failed"] = float(condition["failed"])
    verdicts = Counter(str(claim["verdict"]) for claim in document.get("claims") or ())
    return found | {f"claims/{verdict}": float(n) for verdict, n in sorted(verdicts.items())}


def params_of(document: Mapping[str, Any]) -> dict[str, str]:
    """What reproduces the numbers, as short texts."""
    run, methods = document["run"], document["methods"]
    plan = methods.get("plan") or {}
    params = {
        "run": run["name"],
        "bench": run.get("bench"),
        "items": run["items"],
        "richter": document["richter"],
        "seed": methods.get("seed"),
        "plan_hash": plan.get("hash"),
        "exploratory": methods.get("exploratory"),
    }
    params |= {f"{name}/model": condition["model"] for name, condition in _name_conditions(document).items()}
    return {name: str(value)[:500] for name, value in params.items() if value is not None}


def _name_conditions(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Conditions by a name that every tracker takes; two that would be called the same are numbered."""
    found: dict[str, Mapping[str, Any]] = {}
    for condition in document.get("conditions") or ():
        plain = re.sub(r"[^\w\-. ]+", "_", str(condition["name"]), flags=re.ASCII).strip() or "condition"
        name, number = plain[:100], 1
        while name in found:
            number += 1
            name = f"{plain[:100]} {number}"
        found[name] = condition
    return found


@contextmanager
def _artifacts(document: Mapping[str, Any], tables: Dataset) -> Iterator[list[Path]]:
    """The report and the document as files, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="richter-") as folder:
        text = json_text(document, indent=2)
        page = write_report(document, tables, Path(folder) / "report.html")
        yield [page, write_file(Path(folder) / "results.json", text)]


def log_to_mlflow(run: RunLike, *, experiment: str, seed: int = 0) -> Tracked:
    """Log a run to MLflow, at the tracking address that MLflow itself is set to (MLFLOW_TRACKING_URI)."""
    try:
        import mlflow
    except ImportError as error:
        raise MissingPart("Logging to MLflow needs MLflow.", remedy=f"pip install {MLFLOW_PACKAGES}") from error
    try:  # before anything is measured: an address that cannot be used is MLflow's own error, of many kinds
        mlflow.set_experiment(experiment)
    except mlflow.exceptions.MlflowException as error:
        raise InputError(
            f"MLflow cannot store at {mlflow.get_tracking_uri()}: {printable(str(error), limit=200)}",
            remedy=f"pip install {MLFLOW_PACKAGES}, then set MLFLOW_TRACKING_URI=sqlite:///mlflow.db",
        ) from error
    results = measure_run(run, seed=seed)
    document = results.to_dict()
    metrics = metrics_of(document)
    with (
        _artifacts(document, results.tables) as files,
        mlflow.start_run(run_name=str(document["run"]["name"])) as started,
    ):
        mlflow.log_params(params_of(document))
        mlflow.log_metrics(metrics)
        mlflow.set_tag("richter.question", str(document.get("question", ""))[:500])
        for file in files:
            mlflow.log_artifact(str(file))
        found: str = started.info.run_id
    return Tracked(tracker="mlflow", id=found, metrics=metrics, artifacts=tuple(f.name for f in files))


def log_to_wandb(run: RunLike, *, project: str, seed: int = 0) -> Tracked:
    """Log a run to Weights & Biases, in the mode that it is set to (WANDB_MODE=offline keeps it here)."""
    try:
        import wandb
    except ImportError as error:
        raise MissingPart("Logging to Weights & Biases needs wandb.", remedy="pip install wandb") from error
    results = measure_run(run, seed=seed)
    document = results.to_dict()
    metrics = metrics_of(document)
    with _artifacts(document, results.tables) as files:
        started = wandb.init(project=project, name=str(document["run"]["name"]), config=params_of(document))
        try:
            started.log(metrics)
            artifact = wandb.Artifact("richter-report", type="report", metadata={"question": document.get("question")})
            for file in files:
                artifact.add_file(str(file), name=file.name)
            started.log_artifact(artifact)
            found: str = started.id
        finally:
            started.finish()
    return Tracked(tracker="wandb", id=found, metrics=metrics, artifacts=tuple(f.name for f in files))
