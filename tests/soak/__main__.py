"""Long campaigns: attempts by number, in batches of a process each, going on where they were stopped.

    python tests/soak [NAME [NUMBER]]

An attempt says in a word how it ended; what it raises is named.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parents[1]
FOLDER = TESTS.parent / "soak"
# small data: more threads double the CPU time
ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class TooSlow(BaseException):
    """Raised by the alarm; nobody may catch it."""


def _stop(*_: object) -> None:
    raise TooSlow


class Campaign(NamedTuple):
    """How many attempts, in batches of how many; the time of each, of CPU where it computes and waits for nobody."""

    number: int
    batch: int
    limit_s: int = 60
    computes: bool = False


CAMPAIGNS = {
    "answers": Campaign(200, 20),
    "clothes": Campaign(2_000, 100),
    "containers": Campaign(250_000, 2_500, computes=True),
    "files": Campaign(3_000, 500, computes=True),
    "imports": Campaign(50, 10, limit_s=300),
    "keys": Campaign(168, 42),
    "names": Campaign(2_400, 24, computes=True),
    "replies": Campaign(10_000, 500, computes=True),
    "runs": Campaign(300, 50),
    "shapes": Campaign(5_200, 260),
    "spending": Campaign(200, 5, limit_s=600),
}


def run_campaign(name: str, number: int | None = None) -> None:
    """Make what is missing of a campaign's attempts, and count what became of them.

    Each batch runs on one thread, in a process of its own whose largest memory is kept; its line in `soak/NAME.jsonl`
    is why the same command goes on instead of beginning again.
    """
    campaign, kept = CAMPAIGNS[name], FOLDER / f"{name}.jsonl"
    number = campaign.number if number is None else number
    FOLDER.mkdir(exist_ok=True)
    done = {row["first"]: row for row in map(json.loads, kept.read_text().splitlines())} if kept.exists() else {}
    for first in range(0, number, campaign.batch):
        end = min(first + campaign.batch, number)
        if first in done and done[first]["end"] >= end:
            continue
        command = [sys.executable, str(TESTS / "soak"), "--batch", name, str(first), str(end)]
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


def attempt_of(name: str) -> Callable[[int], str]:
    """What a campaign attempts."""
    if name in ("imports", "names", "runs"):
        return import_module(f"soak.{name}").attempt
    return import_module("soak.small").ATTEMPTS[name]


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
    return {"first": first, "end": end, "ends": ends, "cpu_s": slowest, "mb": memory}


def main(words: list[str]) -> None:
    """Run a batch, a campaign, or all."""
    if words[:1] == ["--batch"]:
        name, first, end = words[1], *map(int, words[2:])
        _, _, limit_s, computes = CAMPAIGNS[name]
        print(json.dumps(_attempts(attempt_of(name), first, end, limit_s, computes)))
        return
    for name in words[:1] or CAMPAIGNS:
        run_campaign(name, int(words[1]) if words[1:] else None)


if __name__ == "__main__":
    sys.path[0] = str(TESTS)
    main(sys.argv[1:])
