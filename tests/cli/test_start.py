"""What a command loads before it answers."""

import subprocess
import sys
from pathlib import Path

HEAVY = ("scipy.stats", "scipy.optimize", "scipy.linalg", "numba", "ray", "aiohttp", "altair", "pyarrow")
LOADED = f"""
import sys
from richter.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print(end.code, *[name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""


def test_a_comparison_of_grades_loads_nothing_that_takes_longer_than_itself(tmp_path: Path) -> None:
    rows = [f"q{i},{c},{int(i % k > 0)}" for k, c in ((3, "old"), (5, "new")) for i in range(500)]
    (tmp_path / "grades.csv").write_text("\n".join(["item,condition,correct", *rows]) + "\n")
    command = [sys.executable, "-c", LOADED, "compare", str(tmp_path / "grades.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "new" in done.stdout
    assert done.stderr == "0\n"
