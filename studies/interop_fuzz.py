"""Break 2,000 log files and read them: each must give a clear error or what can be read with counts.

Never a traceback, never more than 10 seconds, never more than 1 GB. Prints what became of them. Batches run in
processes of their own, so that the largest memory of each is seen.

Usage: python studies/interop_fuzz.py [NUMBER]
"""

import collections
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

BATCH = 100
LIMIT_S = 10


class TooSlow(BaseException):
    """Raised by the alarm; no reader may catch it."""


def stop(*_: object) -> None:
    raise TooSlow


def attempt(path: Path, run: Path) -> str:
    """What becomes of a file: read, partial, refused, slow, or the name of an exception that should not have been."""
    from richter.errors import RichterError
    from richter.interop import logs_summary, next_command, problems, read_logs, write_run
    from richter.tables import holds_logs, read_tables, write_tables

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT_S)
    try:
        if not holds_logs(path):
            write_tables(read_tables(path), run)
            return "read"
        logs = read_logs([path])
        json.dumps(logs_summary(logs))
        problems(logs)
        next_command(logs, str(path), kept=False)
        write_run(logs, run)
        return "partial" if logs.unread or any(r.interrupted for r in logs.readings) else "read"
    except RichterError:
        return "refused"
    except TooSlow:
        return "slow"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def batch(start: int, stop_at: int) -> None:
    from helpers.mutations import bombs, mutate, seeds

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = seeds(folder)
        counts: collections.Counter[str] = collections.Counter()
        slowest = 0.0
        for k in range(start, stop_at):
            rng = random.Random(k)
            source = files[k % len(files)]
            path = folder / f"broken_{k}{source.suffix}"
            path.write_bytes(mutate(source, rng))
            began = time.perf_counter()
            found = attempt(path, folder / f"run_{k}")
            slowest = max(slowest, time.perf_counter() - began)
            counts[found] += 1
            if found not in ("read", "partial", "refused"):
                print(f"{k} {source.name}: {found}", file=sys.stderr)
            path.unlink()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if start == 0:
            for path in bombs(folder):
                counts[f"bomb {attempt(path, folder / ('run_' + path.stem))}"] += 1
        print(json.dumps([counts, slowest, before / 1024]))


def main() -> None:
    if len(sys.argv) == 3:
        batch(int(sys.argv[1]), int(sys.argv[2]))
        return
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    total: collections.Counter[str] = collections.Counter()
    slowest = largest = 0.0
    for start in range(0, number, BATCH):
        command = [sys.executable, __file__, str(start), str(min(start + BATCH, number))]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        counts, seconds, memory = json.loads(done.stdout.splitlines()[-1])
        total.update(counts)
        slowest, largest = max(slowest, seconds), max(largest, memory)
    for name, count in total.most_common():
        print(f"{count:6,}  {name}")
    print(f"slowest {slowest:.2f} s, largest resident set {largest:.0f} MB")


if __name__ == "__main__":
    main()
