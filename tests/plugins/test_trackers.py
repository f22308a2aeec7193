"""Results into MLflow and Weights & Biases: against the real packages where they are installed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.small_run import small_run
from richter.audit import measure_run
from richter.cli import main
from richter.errors import MissingPart
from richter.plugins.trackers import log_to_mlflow, log_to_wandb, metrics_of, params_of


@pytest.fixture
def run_folder(tmp_path: Path, rng: np.random.Generator) -> Path:
    return small_run(tmp_path / "run", rng)


def test_metrics_are_the_documents_numbers_and_nothing_is_made_up(run_folder: Path) -> None:
    document = measure_run(run_folder, only=["severity"]).to_dict()
    found = metrics_of(document)
    for condition in document["conditions"]:
        name = condition["name"]
        assert found[f"{name}/error_rate"] == condition["how_often"]["estimate"]
        assert found[f"{name}/error_rate_high"] == condition["how_often"]["interval"]["high"]
        assert condition["knows"] is None  # no confidences in this run
        assert f"{name}/ece_debiased" not in found
    assert sum(v for k, v in found.items() if k.startswith("claims/")) == len(document["claims"])
    assert params_of(document)["old/model"] == "simulated/m"


@pytest.mark.parametrize(("package", "log"), [("mlflow", "--mlflow"), ("wandb", "--wandb")])
def test_a_missing_package_is_named_in_one_line(
    package: str, log: str, run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as stop:
        main(["export", str(run_folder), log, "audits"])
    assert stop.value.code == 1
    assert f"pip install {package}" in capsys.readouterr().err
    with pytest.raises(MissingPart):
        (log_to_mlflow(run_folder, experiment="x") if package == "mlflow" else log_to_wandb(run_folder, project="x"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of MLflow's own parts
def test_mlflow_keeps_metrics_and_report(run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="MLflow is no part of Richter")
    pytest.importorskip("alembic", reason="a database as the store takes it")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///mlflow.db")  # as docs/commands/export.md has it
    with pytest.raises(SystemExit) as stop:
        main(["export", str(run_folder), "--mlflow", "audits"])
    assert stop.value.code == 0
    [kept] = mlflow.search_runs(experiment_names=["audits"], output_format="list")
    assert kept.data.metrics == pytest.approx(metrics_of(measure_run(run_folder).to_dict()))
    assert kept.data.params["run"] == "run"
    folder = Path(mlflow.artifacts.download_artifacts(run_id=kept.info.run_id, dst_path=str(tmp_path / "back")))
    assert "<html" in (folder / "report.html").read_text()[:500]
    assert json.loads((folder / "results.json").read_text())["schema"] == "richter/results"


@pytest.mark.filterwarnings("ignore")  # of MLflow's own parts
def test_an_address_that_mlflow_cannot_use_is_named_before_measuring(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mlflow", reason="MLflow is no part of Richter")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://x")
    with pytest.raises(SystemExit) as stop:
        main(["export", str(run_folder), "--mlflow", "audits"])
    assert stop.value.code == 1
    assert "sqlite:///mlflow.db" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of wandb's own parts
def test_wandb_keeps_metrics_and_report_offline(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb", reason="wandb is no part of Richter")
    for name, value in (("WANDB_MODE", "offline"), ("WANDB_DIR", str(tmp_path)), ("WANDB_SILENT", "true")):
        monkeypatch.setenv(name, value)
    for name in ("WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    made = log_to_wandb(run_folder, project="audits")
    folder = next((tmp_path / "wandb").glob(f"offline-run-*-{made.id}"))
    stored = (folder / f"run-{made.id}.wandb").read_bytes()
    for name in ("old/error_rate", "new/catastrophic_rate_high", "richter-report", "report.html"):
        assert name.encode() in stored, name
