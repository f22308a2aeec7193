"""The lines of Python of each room beside its budget for 1.0; ends with 1 above the sums that are binding now.

Usage: python tools/rooms.py
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# what no commit may exceed: lines of Python in src and tests, lines of other text under src
BINDING = {"src": 90_000, "tests": 55_000, "other files under src": 3_500}
# the rooms of the design of 1.0, the folders of today that they are made of, and their budgets
BUDGETS = {
    "data": (("tables", "interop"), 7_500),
    "stats, claims": (("stats", "claims", "evidence"), 10_500),
    "severity, tail, calibration, floors": (("severity", "tail", "calibration", "floors"), 8_500),
    "studies": (("audit", "ratings"), 4_500),
    "show": (("report", "words", "notebook"), 8_000),
    "store, texts, models, records, cli, plugins": (
        ("store", "engine", "texts", "models", "records", "cli", "plugins", ""), 10_700
    ),
    "richter_audit": ((), 15_500),
}  # fmt: skip


def count_lines(*patterns: str) -> int:
    """The lines of the files that git tracks and these patterns match."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [ROOT / path for path in listed.stdout.split("\0") if path]
    return sum(path.read_bytes().count(b"\n") for path in paths if path.is_file())


def folder_lines(folder: str) -> int:
    """The lines of Python of a folder of `richter` with what lies below it; the empty name is what lies at its top."""
    place = f"src/richter/{folder}/**/*.py" if folder else "src/richter/*.py"
    return count_lines(f":(glob){place}")


def main() -> int:
    """Print the table; 1 where a binding sum is exceeded."""
    total = 0
    for room, (folders, budget) in BUDGETS.items():
        lines = sum(map(folder_lines, folders)) if folders else count_lines("src/richter_audit/*.py")
        total += lines
        print(f"{room:45} {lines:7,} of {budget:6,}  {lines - budget:+7,}")
    sums = {
        "src": count_lines("src/*.py"),
        "tests": count_lines("tests/*.py"),
        "other files under src": count_lines("src", ":(exclude)*.py"),
    }
    assert total == sums["src"], f"{sums['src'] - total} lines are in no room"
    goals = {"src": 65_000, "tests": 38_000, "other files under src": 3_500}
    for name, lines in sums.items():
        print(f"{name:45} {lines:7,} of {goals[name]:6,}  {lines - goals[name]:+7,}  at most {BINDING[name]:,} now")
    rest = count_lines("papers/*.py", "studies/*.py", "benchmarks/*.py")
    print(f"{'papers, studies, benchmarks':45} {rest:7,} of 11,000  {rest - 11_000:+7,}")
    words = subprocess.run(
        "cat $(git ls-files 'docs/*.md') | wc -w", shell=True, cwd=ROOT, capture_output=True, text=True
    )
    print(f"{'words of docs':45} {int(words.stdout):7,} of 55,000  {int(words.stdout) - 55_000:+7,}")
    return int(any(sums[name] > most for name, most in BINDING.items()))


if __name__ == "__main__":
    sys.exit(main())
