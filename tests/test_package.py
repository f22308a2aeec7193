"""What holds for the package as a whole."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
HEAVY = (
    "numpy",
    "scipy",
    "numba",
    "polars",
    "aiohttp",
    "rich",
    "xllamacpp",
    "richter.stats",
    "richter.report",
    "richter_audit",
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
    assert "audit" in result.stdout


PACKAGES = ("richter", "richter_audit")
ROOMS = sorted(
    f"{package}.{path.parent.name}"
    for package in PACKAGES
    for path in SOURCE.glob(f"{package}/*/__init__.py")
    if "lazy(" in path.read_text()
)


SERVING = ("richter.ratings", "richter.report")  # whose local pages need an extra


@pytest.mark.parametrize(
    "room",
    [
        pytest.param(room, marks=pytest.mark.audit) if room in SERVING or room.startswith("richter_audit") else room
        for room in ROOMS
    ],
)
def test_a_room_exports_what_its_files_name(room: str) -> None:
    module = import_module(room)
    folder = SOURCE / room.replace(".", "/")
    files = [path for path in folder.glob("_[a-z]*.py") if "\n__all__ = [" in path.read_text()]
    named = [(name, path.stem) for path in files for name in import_module(f"{room}.{path.stem}").__all__]
    assert sorted(name for name, _ in named) == sorted(module.__all__)  # no name in two files
    assert set(dir(module)) & set(module.__all__)  # completion goes by it: all names, or those that users call
    assert all(getattr(module, name) is not None for name in module.__all__)
    stars = re.findall(r"from richter\w*\.\w+\.(\w+) import \*", Path(module.__file__ or "").read_text())
    assert sorted(stars) == sorted(path.stem for path in files)  # type checkers see the same


def test_asking_does_not_load_the_statistics() -> None:
    heavy = ("numba", "scipy", "richter.severity")
    code = f"import sys, richter_audit.cli._ask_output; print([m for m in {heavy} if m in sys.modules])"
    assert run(code).stdout.strip() == "[]"


def test_every_module_has_a_name_of_its_own() -> None:
    """Four names stood twice: whoever searched for one found the other."""
    names = [path.name for package in PACKAGES for path in (SOURCE / package).rglob("*.py")]
    own = [name for name in names if name not in ("__init__.py", "__main__.py")]
    assert sorted({name for name in own if own.count(name) > 1}) == []
