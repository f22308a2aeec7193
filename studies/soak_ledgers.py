"""Spoil 600 ledgers as disks, copies and hands do: each is named as damaged, or every record in it reads identical.

Usage: python studies/soak_ledgers.py [NUMBER]
"""

import functools
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.damage import damage, ended, everything, write_seeds  # noqa: E402
from helpers.soak import campaign  # noqa: E402


@functools.cache
def seeds() -> list[tuple[Path, tuple[Any, ...]]]:
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    return [(seed, everything(seed)) for seed in write_seeds(folder)]


def attempt(k: int) -> str:
    seed, whole = seeds()[k % 2]
    run = seed.parent / f"run{k}"
    try:
        damage(seed, run, random.Random(k))
        return ended(run, whole)
    finally:
        shutil.rmtree(run, ignore_errors=True)


if __name__ == "__main__":
    campaign("ledgers", attempt, number=600, batch=50)
