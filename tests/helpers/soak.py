"""Long campaigns: attempts by number, in batches of a process each, going on where they were stopped."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

FOLDER = Path("soak")
# small data: more threads double the CPU time
ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class TooSlow(BaseException):
    """Raised by the alarm; nobody may catch it."""


def _stop(*_: object) -> None:
    raise TooSlow


def campaign(
    name: str,
    attempt: Callable[[int], str],
    *,
    number: int,
    batch: int = 100,
    limit_s: int = 60,
    computes: bool = False,
) -> None:
    """Make `number` attempts (or as many as the first argument says) and count what became of them.

    `attempt(k)` says in a word how number k ended; what it raises is named. Each batch runs on one thread, in a process
    of its own whose largest memory is kept; its line in `soak/NAME.jsonl` is why the same command goes on instead of
    beginning again. One attempt may take `limit_s` by the clock, or of CPU where it `computes` only, and waits for
    nobody.
    """
    if sys.argv[1:2] == ["--batch"]:
        first, end = map(int, sys.argv[2:4])
        print(json.dumps(_attempts(attempt, first, end, limit_s, computes)))
        return
    number = int(sys.argv[1]) if len(sys.argv) > 1 else number
    FOLDER.mkdir(exist_ok=True)
    kept = FOLDER / f"{name}.jsonl"
    done = {row["first"]: row for row in map(json.loads, kept.read_text().splitlines())} if kept.exists() else {}
    for first in range(0, number, batch):
        if first in done:
            continue
        command = [sys.executable, sys.argv[0], "--batch", str(first), str(min(first + batch, number))]
        environment = os.environ | ONE_THREAD
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        row = done[first] = json.loads(ended.stdout.splitlines()[-1])
        with kept.open("a") as file:
            file.write(json.dumps(row) + "\n")
    rows = [row for first, row in done.items() if first < number]
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row["ends"])
    print(f"{name}: {sum(total.values()):,} attempts")
    for end, count in total.most_common():
        print(f"{count:8,}  {end}")
    print(f"slowest {max(r['cpu_s'] for r in rows):.2f} s of CPU, most memory {max(r['mb'] for r in rows):.0f} MB")


def _attempts(attempt: Callable[[int], str], first: int, end: int, limit_s: int, computes: bool) -> dict[str, object]:
    ends: Counter[str] = Counter()
    slowest = 0.0
    clock = signal.ITIMER_PROF if computes else signal.ITIMER_REAL
    signal.signal(signal.SIGPROF if computes else signal.SIGALRM, _stop)
    for k in range(first, end):
        began = time.process_time()
        signal.setitimer(clock, limit_s)
        try:
            ended = attempt(k)
        except TooSlow:
            ended = f"stopped after {limit_s} s"
        except Exception as error:
            ended = f"RAISED {type(error).__name__}"
            print(f"{k}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        finally:
            signal.setitimer(clock, 0)
        slowest = max(slowest, time.process_time() - began)
        ends[ended] += 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"first": first, "ends": ends, "cpu_s": slowest, "mb": memory}
