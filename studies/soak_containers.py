"""Break 10,000 files of each container that a command reads: each is read or refused in words, within 10 s of CPU.

Usage: python studies/soak_containers.py [NUMBER OF EACH]
"""

import functools
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.containers import broken_copy, containers  # noqa: E402
from helpers.read_any import Reader, ended  # noqa: E402
from helpers.soak import campaign  # noqa: E402


@functools.cache
def files() -> dict[str, tuple[Path, Reader]]:
    return containers(Path(tempfile.mkdtemp(prefix="richter-soak-")))


def attempt(k: int) -> str:
    name = list(files())[k % len(files())]
    source, read = files()[name]
    path = source.parent / f"broken{k}{''.join(source.suffixes)}"
    path.write_bytes(broken_copy(source, random.Random(k)))
    began = time.process_time()
    try:
        found = ended(path, read)
    finally:
        path.unlink()
    return f"{name}: {found if time.process_time() - began < 10 else 'over 10 s'}"


if __name__ == "__main__":
    if sys.argv[1:2] not in ([], ["--batch"]):
        sys.argv[1] = str(int(sys.argv[1]) * len(files()))
    campaign("containers", attempt, number=10_000 * len(files()), batch=100 * len(files()), computes=True)
