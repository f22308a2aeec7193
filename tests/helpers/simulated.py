"""The simulated run of studies/simulated_run.py, for tests of what is made from a run."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

_STUDY = Path(__file__).parents[2] / "studies" / "simulated_run.py"


def simulated_run(folder: Path, **options: Any) -> Path:
    """Write a run in which everything is simulated; options are those of `build_run`."""
    spec = spec_from_file_location("simulated_run", _STUDY)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.build_run(folder, **options)
    return folder
