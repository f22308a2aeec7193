"""Where people wait: processor time and memory of whole commands, beside importing numpy and polars in the same run.

Usage: python benchmarks/bench_waits.py [WORDS OF ROWS ...]

Each row is a command in a process of its own, on simulated data. Seconds mean little on a busy machine, so that each
is divided by what the import costs, measured before and after it. "Wanted" is the goal in the same unit: its seconds
on a machine where the import takes 0.34. Then items, conditions and repeats are doubled: the exponent of growth is the
base-2 logarithm of what the time is multiplied by, without the start of the program.
"""

import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

IMPORT_S = 0.34  # of the machine on which the goals were set
RICHTER = (sys.executable, "-m", "richter")
IMPORT = (sys.executable, "-c", "import numpy, polars")


def cost(command: tuple[str, ...]) -> tuple[float, float]:
    """Seconds of processor time and megabytes at most of a command; one that fails gives NaN.

    A process begins with the memory of the one that starts it, which is why data are made in another (`apart`).
    """
    cached = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(command, env=cached, stdin=nothing, stdout=nothing, stderr=nothing)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        return math.nan, math.nan
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def apart(make: Callable[..., Any], *given: Any, **named: Any) -> None:
    """Make data in a process of its own, whose memory ends with it."""
    process = multiprocessing.get_context("spawn").Process(target=make, args=given, kwargs=named)
    process.start()
    process.join()


def table(path: Path, conditions: int, items: int, draws: int = 1, *, severities: bool = False) -> Path:
    """Right and wrong answers of simulated conditions that differ by up to five points, as CSV."""
    rng = np.random.default_rng(conditions * items)
    n = conditions * items * draws
    condition, item = np.repeat(np.arange(conditions), items * draws), np.tile(np.arange(items), conditions * draws)
    ease = rng.random(items)[item] * 0.5 + 0.2 + 0.05 * condition / conditions
    right = rng.random(n) < ease
    columns: dict[str, Any] = {"condition": [f"model-{c:03d}" for c in condition], "item": [f"q{i}" for i in item]}
    columns |= {"draw": np.tile(np.repeat(np.arange(draws), items), conditions)} if draws > 1 else {}
    columns |= {"score": right.astype(int)}
    if severities:
        severity = np.where(right, 0, rng.integers(1, 5, n))
        columns |= {"confidence": np.clip(ease + rng.normal(0, 0.1, n), 0, 1).round(3), "severity": severity}
    pl.DataFrame(columns).write_csv(path)
    return path


def answers(path: Path, megabytes: int) -> Path:
    """A JSONL of answers with texts of about a kilobyte each."""
    text = "All that glitters is not gold, and what is long is not always deep. " * 14
    with path.open("w", encoding="utf-8") as out:
        for i in range(megabytes * 1000 // 2):
            for name in ("old", "new"):
                row = {"condition": name, "item": f"q{i}", "answer": f"{i} {text}", "score": (i * 7 + len(name)) % 2}
                out.write(json.dumps(row) + "\n")
    return path


def rows(folder: Path) -> dict[str, tuple[float, float | None, Callable[[], tuple[str, ...]]]]:
    """By name: seconds and megabytes wanted, and what makes the data and says the command."""
    page = ("-o", str(folder / "page.html"))

    def on(command: str, *sizes: int, more: tuple[str, ...] = (), severities: bool = False) -> tuple[str, ...]:
        path = folder / f"{'x'.join(map(str, sizes))}.csv"
        apart(table, path, *sizes, severities=severities)
        return (*RICHTER, command, str(path), *more)

    def imported() -> tuple[str, ...]:
        path = folder / "answers.jsonl"
        apart(answers, path, 200)
        return (*RICHTER, "import", str(path), "-o", str(folder / "run"))

    helps = {
        f"help of {name}": (0.15, None, lambda name=name: (*RICHTER, *name.split(), "--help"))
        for name in ("gate", "size", "calibration", "severity")
    }
    return helps | {
        "compare 2 x 300": (0.55, None, lambda: on("compare", 2, 300)),
        "report 2 x 300": (0.8, None, lambda: on("report", 2, 300, more=page)),
        "compare 2 x 1,000,000": (5, 500, lambda: on("compare", 2, 1_000_000)),
        "compare 10 x 100,000 x 5": (10, 1000, lambda: on("compare", 10, 100_000, 5)),
        "report 20 x 10,000 with severities": (12, None, lambda: on("report", 20, 10_000, more=page, severities=True)),
        "compare 160 x 500": (4, None, lambda: on("compare", 160, 500)),
        "compare 1,000 x 500": (10, None, lambda: on("compare", 1000, 500)),
        "compare 1,000 x 500 with a control": (
            5,
            None,
            lambda: on("compare", 1000, 500, more=("--control", "model-000")),
        ),
        "import 200 MB of JSONL": (15, 800, imported),
    }


def growth(folder: Path) -> None:
    start = min(cost((*RICHTER, "compare", str(table(folder / "start.csv", 2, 50))))[0] for _ in range(3))
    for what, small, large in (
        ("items", (2, 100_000), (2, 400_000)),
        ("conditions", (40, 500), (160, 500)),
        ("repeats", (2, 20_000, 4), (2, 20_000, 16)),
    ):
        path = folder / "growth.csv"
        took = []
        for sizes in (small, large):
            apart(table, path, *sizes)
            took.append(max(cost((*RICHTER, "compare", str(path)))[0] - start, 0.01))
        exponent = math.log(took[1] / took[0], 4)
        at = [" x ".join(map(str, s)) for s in (small, large)]
        print(f"growth in {what:11s} {exponent:5.2f}   {took[0]:.2f} s at {at[0]}, {took[1]:.2f} s at {at[1]}")


def main() -> None:
    words = [word.lower() for word in sys.argv[1:]]
    print(f"{'':36s} {'seconds':>8s} {'MB':>6s} {'imports':>8s} {'wanted':>7s}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, (wanted, megabytes, make) in rows(folder).items():
            if words and not any(word in what for word in words):
                continue
            command = make()
            cost(command) if wanted < 1 else None  # compiled files and caches are there for who waits often
            before = [cost(IMPORT)[0] for _ in range(3)]
            seconds, memory = min(cost(command) for _ in range(3 if wanted < 1 else 1))
            unit = median(before + [cost(IMPORT)[0] for _ in range(3)])
            if math.isnan(seconds):
                print(f"{what:36s} refused or failed", flush=True)
                continue
            of = f" of {megabytes:.0f}" if megabytes else ""
            print(
                f"{what:36s} {seconds:8.2f} {memory:6.0f} {seconds / unit:8.1f} {wanted / IMPORT_S:7.1f}"
                f"{'' if seconds / unit <= 1.15 * wanted / IMPORT_S else '  slower'}{of and f'   MB{of}'}",
                flush=True,
            )
        if not words or "growth" in words:
            growth(folder)


if __name__ == "__main__":
    main()
