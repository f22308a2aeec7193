"""Break 3,000 files of every kind that a command reads: each is read or refused in words.

Never a traceback, never more than 10 seconds of CPU, never more than 1 GB; documents are parsed in a child that has
limits of its own (4 seconds and a little for their size, 256 MB). `tests/interop/test_bombs.py` has the files that
are made to exhaust a machine.

Usage: python studies/soak_files.py [NUMBER]
"""

import functools
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.mutations import mutate  # noqa: E402
from helpers.read_any import Reader, all_seeds, ended  # noqa: E402
from helpers.soak import campaign  # noqa: E402


@functools.cache
def files() -> list[tuple[Path, Reader]]:
    return all_seeds(Path(tempfile.mkdtemp(prefix="richter-soak-")))


def attempt(k: int) -> str:
    source, read = files()[k % len(files())]
    path = source.parent / f"broken{k}{''.join(source.suffixes)}"
    path.write_bytes(mutate(source, random.Random(k)))
    began = time.process_time()
    try:
        found = ended(path, read)
    finally:
        path.unlink()
    return found if time.process_time() - began < 10 else "over 10 s"


if __name__ == "__main__":
    campaign("files", attempt, number=3_000, batch=500, computes=True)
