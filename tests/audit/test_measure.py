"""The results document of a run: its numbers against the commands' own, its gaps, and that it is always the same."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from richter.audit import SECTIONS, measure_run
from richter.records import Condition
from richter.store import open_ledger

_STUDY = Path(__file__).parents[2] / "studies" / "simulated_run.py"


def _simulated() -> Any:
    spec = spec_from_file_location("simulated_run", _STUDY)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "simulated"
    _simulated().build_run(folder, conditions=2, items=240, judged=60, drawn=20, draws=10)
    return folder


@pytest.fixture(scope="module")
def document(run: Path) -> dict[str, Any]:
    return measure_run(run, n_resamples=200).to_dict()


def test_a_whole_run_has_every_section_but_a_search(document: dict[str, Any]) -> None:
    missing = [name for name in SECTIONS if "missing" in document["sections"][name]]
    assert missing == ["search"]
    assert document["run"]["state"] == "complete"
    json.dumps(document, allow_nan=False)


def test_an_empty_run_says_what_to_do(tmp_path: Path) -> None:
    with open_ledger(tmp_path, mode="write") as ledger:
        ledger.add_conditions([Condition(name="a", model="simulated/a")])
    found = measure_run(tmp_path).to_dict()
    assert found["run"]["state"] == "empty"
    assert all("richter ask" in found["sections"][name]["missing"]["remedy"] for name in SECTIONS)
