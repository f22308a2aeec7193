"""Asking through a Ray cluster on this machine: calls a second with one worker and with four, and what Ray adds a call.

The server is simulated and answers after 50 ms; driver, workers, Ray and the server share this machine's processors.
"""

import asyncio
import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from richter.engine import Engine, open_engine
from richter.records import Decoding
from richter.store import open_ledger
from richter_audit.llm import Asker, Job, open_model

HERE = Path(__file__).parent
CALLS = 5_000
AT_ONCE = (100, 400)
ROUNDS = 5


async def ask(url: str, at_once: int, folder: str, engine: Engine | None) -> tuple[float, float, float]:
    """Processor time of this process, of its children, and wall time, after the workers are up."""
    model = open_model(f"{url}#fake", engine=engine)
    decoding = Decoding(max_tokens=32)

    def jobs(first: int, last: int):
        for n in range(first, last):
            message = {"role": "user", "content": f"question {n}"}
            yield Job(model=model, messages=[message], decoding=decoding, item=str(n), condition="c")

    with open_ledger(folder, mode="write") as ledger:
        asker = Asker(ledger, concurrency=at_once)
        await asker.ask_all(jobs(0, 400))
        cpu, below, wall = time.process_time(), processors_below(), time.perf_counter()
        await asker.ask_all(jobs(400, 400 + CALLS))
        used = time.process_time() - cpu, processors_below() - below, time.perf_counter() - wall
    await model.aclose()
    return used


def processors_below() -> float:
    """Seconds of processor time that the processes below this one have used, the simulated server's left out."""
    rows = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                cells = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            rows[int(entry.name)] = int(cells[1]), int(cells[11]) + int(cells[12]), b"_server.py" in command
    known = found = {os.getpid()}
    total = 0
    while found:
        found = {pid for pid, (parent, _, _) in rows.items() if parent in known and pid not in known}
        known = known | found
        total += sum(rows[pid][1] for pid in found if not rows[pid][2])
    return total / os.sysconf("SC_CLK_TCK")


def bench(url: str, at_once: int, engine: Engine) -> None:
    rates: dict[str, list[float]] = {}
    costs: dict[str, list[tuple[float, float]]] = {}
    ways = [("this process", None)]
    ways += [(f"ray, {n} workers" if n > 1 else "ray, 1 worker", dataclasses.replace(engine, wanted=n)) for n in (1, 4)]
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(ROUNDS):  # in turns, since other work comes and goes
            for name, way in ways:
                own, below, wall = asyncio.run(ask(url, at_once, f"{folder}/{name}-{turn}", way))
                rates.setdefault(name, []).append(CALLS / wall)
                costs.setdefault(name, []).append((1000 * own / CALLS, 1000 * below / CALLS))
    print(f"{at_once} calls in flight:")
    for name, found in rates.items():
        own, below = (sorted(c[i] for c in costs[name])[ROUNDS // 2] for i in (0, 1))
        print(
            f"  {name}: {sorted(found)[ROUNDS // 2]:.0f} calls/s; {own:.3f} ms of CPU a call in the driver, "
            f"{below:.3f} ms in workers and Ray"
        )
    one, four = rates["ray, 1 worker"], rates["ray, 4 workers"]
    ratio = sorted(b / a for a, b in zip(one, four, strict=True))
    spread = f"{ratio[0]:.2f} to {ratio[-1]:.2f}; goal 1"
    print(f"  4 workers against 1: {ratio[ROUNDS // 2]:.2f}x the calls a second ({spread})")
    for name in ("ray, 1 worker", "ray, 4 workers"):
        added = sorted(sum(a) - sum(b) for a, b in zip(costs[name], costs["this process"], strict=True))
        print(f"  {name}: Ray adds {added[ROUNDS // 2]:.3f} ms of CPU a call")


def main() -> None:
    if find_spec("ray") is None:
        print("ray is not installed: pip install 'richter[ray]'")
        return
    process = subprocess.Popen([sys.executable, str(HERE / "_server.py"), "0.05"], stdout=subprocess.PIPE, text=True)
    url = process.stdout.readline().strip()
    try:
        with open_engine("ray") as engine:
            for at_once in AT_ONCE:
                bench(url, at_once, engine)
    finally:
        process.kill()


if __name__ == "__main__":
    main()
