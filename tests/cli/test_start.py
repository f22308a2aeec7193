"""What a command loads before it answers."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("scipy.stats", "scipy.optimize", "scipy.linalg", "numba", "ray", "aiohttp", "altair", "pyarrow")
RUNS = ("asyncio", "richter.store._ledger")  # what only reads and writes runs
LOADED = f"""
import sys
from richter.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print(end.code, *[name for name in {HEAVY + RUNS} if name in sys.modules], file=sys.stderr)
"""
PASSED = """
import sys, threading
from pathlib import Path
import richter
root, passed = str(Path(richter.__file__).parent), set()

def importing(frame):
    while (frame := frame.f_back) is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"].startswith("richter"):
            return True

def watch(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & 2 and code.co_filename.startswith(root) and not importing(frame):
        passed.add(code.co_filename)

from richter.cli import main
threading.setprofile(watch)
sys.setprofile(watch)
try:
    main(sys.argv[1:])
except SystemExit:
    sys.setprofile(None)
    print(len(passed), file=sys.stderr)
"""
PROMPTS = Path(__file__).parents[2] / "docs" / "examples" / "prompts.csv"
MOST_FILES = 40  # whose code a plain comparison passes


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    rows = [f"q{i},{c},{int(i % k > 0)}" for k, c in ((3, "old"), (5, "new")) for i in range(500)]
    (tmp_path / "grades.csv").write_text("\n".join(["item,condition,correct", *rows]) + "\n")
    return tmp_path / "grades.csv"


def test_a_comparison_of_grades_passes_few_files() -> None:
    command = [sys.executable, "-c", PASSED, "compare", str(PROMPTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stderr) <= MOST_FILES


def test_a_comparison_of_grades_loads_nothing_that_takes_longer_than_itself(grades: Path) -> None:
    command = [sys.executable, "-c", LOADED, "compare", str(grades)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "new" in done.stdout
    assert done.stderr == "0\n"


@pytest.mark.parametrize(
    ("command", "column", "most"),
    [("report", "correct", {*RUNS}), ("severity", "severity", {*RUNS, "numba", "scipy.linalg"})],
)  # numba compiles the bootstrap of slopes, and multiplies matrices by scipy's BLAS
def test_other_studies_load_only_what_they_compute_with(
    command: str, column: str, most: set[str], grades: Path
) -> None:
    grades.write_text(grades.read_text().replace("correct", column))
    words = [command, str(grades), *(["-o", str(grades.parent / "page.html")] if command == "report" else [])]
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    code, *heavy = done.stderr.splitlines()[-1].split()
    assert code == "0"
    assert set(heavy) <= most
