"""Read 5,200 files: the same kinds of results in random shapes, names, languages, spellings and formats.

What was written is known, so the share that is read right without an option is measured; each other end is a reading
that differs, or a refusal. Seeds from 100,000 on are nobody's to develop on.

Usage: python studies/soak_shapes.py [NUMBER]
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.shapes import fault, write  # noqa: E402
from helpers.soak import campaign  # noqa: E402


def attempt(k: int) -> str:
    with tempfile.TemporaryDirectory(prefix="richter-shapes-") as folder:
        case = write(Path(folder), 100_000 + k)
        found = fault(case)
    kind = " ".join(case.shape.split()[:2])
    return "read right" if not found else f"{kind}: {'refused' if found.startswith('refused') else 'read otherwise'}"


if __name__ == "__main__":
    campaign("shapes", attempt, number=5_200, batch=260)
