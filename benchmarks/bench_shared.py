"""Asking into a shared ledger: CPU per call and calls a second, in a folder, and in PostgreSQL by 1, 4 and 8 processes.

The server is started here, from Debian's package (as the tests do); where there is none, that is said.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))  # for the server that the tests start; hence imports after it

from bench_llm import serve  # noqa: E402

from helpers.postgres import PostgresServer, find_programs  # noqa: E402
from richter.records import Decoding  # noqa: E402
from richter.store import open_ledger  # noqa: E402
from richter_audit.llm import Asker, Job, open_model, parse_budget  # noqa: E402

CALLS = 8_000
AT_ONCE = 64


async def ask(url: str, run: str, budget: str | None) -> None:
    model = open_model(f"{url}#fake")
    with open_ledger(run, mode="write") as ledger:
        await Asker(ledger, concurrency=AT_ONCE, budget=parse_budget(budget)).ask_all(
            Job(
                model=model,
                messages=[{"role": "user", "content": f"question {n}"}],
                decoding=Decoding(max_tokens=32),
                item=str(n),
                condition="c",
            )
            for n in range(CALLS)
        )
    await model.aclose()


def worker(url: str, run: str, budget: str) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    cpu = time.process_time()
    asyncio.run(ask(url, run, budget or None))
    print(time.process_time() - cpu)


def measure(url: str, run: str, processes: int, budget: str = "") -> str:
    commands = [[sys.executable, __file__, url, run, budget]] * processes
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for command in commands
    ]
    for process in started:
        process.stdout.readline()
    begun = time.perf_counter()
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    cpu = sum(float(process.stdout.readline()) for process in started)
    wall = time.perf_counter() - begun
    return f"{1000 * cpu / CALLS:.3f} ms of CPU a call, {CALLS / wall:.0f} calls/s"


def main() -> None:
    process, url = serve(0.05)
    try:
        with tempfile.TemporaryDirectory() as folder:
            print(f"a folder, 1 process: {measure(url, f'{folder}/run', 1)}")
        programs = find_programs()
        if programs is None:
            print("PostgreSQL: not installed (apt-get install postgresql)")
            return
        with PostgresServer(programs) as server:
            for processes, budget in ((1, ""), (1, "9000calls"), (4, ""), (4, "9000calls"), (8, "9000calls")):
                run = server.url(f"bench-{uuid.uuid4().hex[:6]}")
                print(
                    f"PostgreSQL, {processes} process{'es' * (processes > 1)}{', one budget' * bool(budget)}: "
                    f"{measure(url, run, processes, budget)}"
                )
    finally:
        process.kill()


if __name__ == "__main__":
    worker(*sys.argv[1:]) if len(sys.argv) > 1 else main()
