"""Kill imports at 50 places each into SQLite and PostgreSQL: what is left is no run, and the same command makes it.

A place is a call of a function of the store, counted in a whole import before.

Usage: python studies/soak_imports.py [NUMBER]
"""

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.postgres import PostgresServer, find_programs  # noqa: E402
from helpers.soak import campaign  # noqa: E402
from richter.store import check_integrity, has_ledger, open_ledger  # noqa: E402

PLACES = 50
KILLED = """
import os, sys, threading
limit, calls = int(sys.argv[1]), 0
def count(frame, event, argument):
    global calls
    if event == "call" and f"richter{os.sep}store" in frame.f_code.co_filename:
        calls += 1
        if calls == limit:
            os._exit(9)
from richter.cli import main
threading.setprofile(count)
sys.setprofile(count)
try:
    main(sys.argv[2:])
finally:
    sys.setprofile(None)
    print("calls", calls)
"""


@functools.cache
def server() -> PostgresServer | None:
    programs = find_programs()
    return None if programs is None else PostgresServer(programs).__enter__()


def import_killed(limit: int, source: Path, target: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", KILLED, str(limit), "import", str(source), "-o", target]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def write_source(folder: Path) -> Path:
    rows = [f"q{k},{c},{k % 2},{2 * (1 - k % 2)}" for k in range(30) for c in ("a", "b")]
    (folder / "table.csv").write_text("item,condition,correct,severity\n" + "\n".join(rows) + "\n")
    return folder / "table.csv"


@functools.cache
def all_calls(where: str) -> int:
    """How many calls a whole import makes."""
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    done = import_killed(-1, write_source(folder), target_of(where, folder, "whole"))
    assert "calls" in done.stdout, done.stderr
    return int(done.stdout.split()[-1])


def target_of(where: str, folder: Path, name: str) -> str:
    postgres = server() if where == "PostgreSQL" else None
    return str(folder / "run") if postgres is None else postgres.url(f"{name}-{os.getpid()}")


def attempt(k: int) -> str:
    where = ("SQLite", "PostgreSQL")[k % 2]
    if where == "PostgreSQL" and server() is None:
        return "PostgreSQL is not installed"
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    try:
        target, source = target_of(where, folder, f"soak{k}"), write_source(folder)
        limit = 1 + all_calls(where) * (k // 2 % PLACES) // PLACES
        if import_killed(limit, source, target).returncode != 9:
            return f"{where}: not killed"
        whole = has_ledger(target) and check_integrity(target).sound
        if has_ledger(target) and not (whole and _grades(target) == 60):
            return f"{where}: HALF A RUN"
        if not whole and import_killed(-1, source, target).returncode != 0:
            return f"{where}: NOT MADE AGAIN"
        return (
            f"{where}: {'whole already' if whole else 'nothing, and made again'}" if _grades(target) == 60 else "LOST"
        )
    finally:
        shutil.rmtree(folder)


def _grades(target: str) -> int:
    with open_ledger(target) as ledger:
        return len(ledger.grades())


if __name__ == "__main__":
    try:
        campaign("imports", attempt, number=2 * PLACES, batch=2 * PLACES, limit_s=300)
    finally:
        if server.cache_info().currsize and (running := server()) is not None:
            running.__exit__(None, None, None)
