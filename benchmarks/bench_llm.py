"""Asking: CPU per call against Inspect and the openai SDK, memory over 100,000 calls, local tokens per second.

The peers run in an environment of their own (`make bench` makes .venv-bench); RICHTER_BENCH_PYTHON names its Python.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from richter.records import Decoding
from richter.store import open_ledger
from richter_audit.llm import Asker, Job, open_model

HERE = Path(__file__).parent
CALLS = 5_000
AT_ONCE = 100


def serve(delay_s: float) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, str(HERE / "_server.py"), str(delay_s)], stdout=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().strip()


async def ask(url: str, calls: int, at_once: int, folder: str) -> None:
    model = open_model(f"{url}#fake")
    with open_ledger(folder, mode="write") as ledger:
        decoding = Decoding(max_tokens=32)
        await Asker(ledger, concurrency=at_once).ask_all(
            Job(
                model=model,
                messages=[{"role": "user", "content": f"question {n}"}],
                decoding=decoding,
                item=str(n),
                condition="c",
            )
            for n in range(calls)
        )
    await model.aclose()


def ours(url: str, calls: int, at_once: int = AT_ONCE) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(ask(url, 200, at_once, f"{folder}/warm"))
        cpu, wall = time.process_time(), time.perf_counter()
        asyncio.run(ask(url, calls, at_once, f"{folder}/run"))
        return time.process_time() - cpu, time.perf_counter() - wall


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def bench_calls() -> None:
    process, url = serve(0.05)
    try:
        cpu, wall = ours(url, CALLS)
        print(f"richter (ledger included): {1000 * cpu / CALLS:.3f} ms of CPU a call, {CALLS / wall:.0f} calls/s")
        python = os.environ.get("RICHTER_BENCH_PYTHON", "")
        for peer, goal in (("inspect", 10), ("openai", 5)):
            if not python:
                print(f"{peer}: no environment with it (RICHTER_BENCH_PYTHON)")
                continue
            output = subprocess.run(
                [python, str(HERE / "_peers.py"), peer, url, str(CALLS)], capture_output=True, text=True
            )
            if output.returncode:
                print(f"{peer}: {output.stderr.strip().splitlines()[-1]}")
                continue
            theirs, wall = map(float, output.stdout.split()[-2:])
            print(
                f"{peer}: {1000 * theirs / CALLS:.3f} ms of CPU a call, {CALLS / wall:.0f} calls/s: "
                f"{theirs / cpu:.1f}x richter's CPU (goal {goal}x)"
            )
    finally:
        process.kill()


def bench_memory() -> None:
    process, url = serve(0.0)
    try:
        ours(url, 1_000)
        first = resident_mb()
        ours(url, 100_000)
        print(f"memory: {first:.0f} MB after 1,000 calls, {resident_mb():.0f} MB after 100,000")
    finally:
        process.kill()


def bench_local() -> None:
    names = ("Nantes", "Lyon", "Osaka", "Lima", "Quito", "Porto", "Leeds", "Turin")
    names += ("Bergen", "Graz", "Izmir", "Basel", "Kyoto", "Delhi", "Lagos", "Accra")

    async def run(slots: int, folder: str) -> float:
        model = open_model("smollm2", slots=slots, context_tokens=512)
        with open_ledger(folder, mode="write") as ledger:
            asker = Asker(ledger, concurrency=slots)
            started = time.perf_counter()
            await asker.ask_all(
                Job(
                    model=model,
                    messages=[{"role": "user", "content": f"Tell me about the city of {name}."}],
                    decoding=Decoding(max_tokens=64),
                )
                for name in names
            )
            wall = time.perf_counter() - started
            tokens = sum(a.tokens_out for a in (ledger.find(k) for (k,) in ledger._rows("SELECT key FROM calls")))
        await model.aclose()
        return tokens / wall

    with tempfile.TemporaryDirectory() as folder:
        rates = {slots: asyncio.run(run(slots, f"{folder}/{slots}")) for slots in (1, 4, 16)}
    base = rates[1]
    print(
        "local, answer tokens a second: " + ", ".join(f"{s} slots {r:.0f} ({r / base:.1f}x)" for s, r in rates.items())
    )


def main() -> None:
    bench_calls()
    bench_memory()
    bench_local()


if __name__ == "__main__":
    main()
