"""What holds for the package as a whole."""

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
HEAVY = (
    "numpy",
    "scipy",
    "numba",
    "polars",
    "aiohttp",
    "rich",
    "xllamacpp",
    "altair",
    "richter.stats",
    "richter.llm",
    "richter.report",
)


def run(code: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(SOURCE)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


def test_import_is_light() -> None:
    code = f"import sys, richter; print([m for m in {HEAVY} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)}
    )
    assert result.stdout.strip() == "[]", result.stderr


def test_help_loads_no_heavy_room() -> None:
    code = (
        "import sys; from richter.cli import main\n"
        "try: main(['--help'])\n"
        f"finally: print([m for m in {HEAVY} if m in sys.modules and m != 'rich'], file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)}
    )
    assert result.stderr.strip() == "[]"
    assert "ask" in result.stdout


def test_lazy_names_of_audit_are_all_there() -> None:
    import richter.audit

    assert sorted(name for names in richter.audit._FILES.values() for name in names) == sorted(richter.audit.__all__)
    assert all(getattr(richter.audit, name) is not None for name in richter.audit.__all__)


def test_asking_does_not_load_the_statistics() -> None:
    code = (
        "import sys, richter.cli._ask; print([m for m in ('numba', 'scipy', 'richter.severity') if m in sys.modules])"
    )
    assert run(code).stdout.strip() == "[]"
