"""Show 2,000 small results of every kind in all their clothes: terminal, Markdown, page, JSON, Python, imported run.

Each must say the same everywhere, and the same after what changes nothing (order, groups and weights of one); turned
conditions must mirror it.

Usage: python studies/soak_clothes.py [NUMBER]
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.clothes import faults, world  # noqa: E402
from helpers.soak import campaign  # noqa: E402


def attempt(k: int) -> str:
    with tempfile.TemporaryDirectory(prefix="richter-clothes-") as folder:
        found = next(faults(world(1_000 + k), Path(folder)), "")
    return found[:80] or "the same"


if __name__ == "__main__":
    campaign("clothes", attempt, number=2_000, batch=100)
