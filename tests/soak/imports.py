"""Kill imports at 50 places: what is left is no run, and the same command makes it.

A place is a call of a function of the store, counted in a whole import before. Each import is a child of a process
that has loaded everything and used nothing: a process that has used polars must not be forked.
"""

import contextlib
import enum
import functools
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from richter.cli import main
from richter.store import is_run, open_ledger

PLACES = 50
KILLED = 9
GRADES = 60  # in the table that is imported
FAILED = 70


def status_of(act: Callable[[], int]) -> int:
    """The exit status of what runs in a child of this process, which need not load anything again."""
    child = os.fork()
    if child == 0:
        status = FAILED
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            status = act()
        finally:
            os._exit(status)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise


def import_killed(limit: int, source: Path, target: Path, out: Path | None = None) -> int:
    """Import in a child that is killed at this call of the store; its exit status, and into `out` what it used."""
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        if event == "call" and f"richter{os.sep}store" in frame.f_code.co_filename:
            calls += 1
            if calls == limit:
                os._exit(KILLED)

    def act() -> int:
        if limit > 0 or out is not None:
            threading.setprofile(count)
            sys.setprofile(count)
        try:
            main(["import", str(source), "-o", str(target)])
        except SystemExit as ended:
            sys.setprofile(None)
            if out is not None:
                out.write_text(json.dumps({"calls": calls, "modules": [*sys.modules]}))
            return int(ended.code or 0)
        return FAILED

    return status_of(act)


def write_source(folder: Path) -> Path:
    rows = [f"q{k},{c},{k % 2},{2 * (1 - k % 2)}" for k in range(30) for c in ("a", "b")]
    (folder / "table.csv").write_text("item,condition,correct,severity\n" + "\n".join(rows) + "\n")
    return folder / "table.csv"


@functools.cache
def all_calls() -> int:
    """How many calls a whole import makes; the modules that it uses are loaded here for all later children."""
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    status = import_killed(-1, write_source(folder), folder / "run", folder / "used.json")
    assert status == 0, status
    used = json.loads((folder / "used.json").read_text())
    for name in used["modules"]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    return int(used["calls"])


def attempt(k: int) -> str:
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    try:
        target, source = folder / "run", write_source(folder)
        if import_killed(1 + all_calls() * (k % PLACES) // PLACES, source, target) != KILLED:
            return "not killed"
        found = Found(status_of(lambda: look_at(target)))
        if found is not Found.NOTHING:
            return found.name
        if import_killed(-1, source, target) != 0 or Found(status_of(lambda: look_at(target))) is not Found.WHOLE:
            return "NOT MADE AGAIN"
        return "nothing, and made again"
    finally:
        shutil.rmtree(folder)


class Found(enum.IntEnum):
    """What an import left."""

    WHOLE = 0
    NOTHING = 1
    HALF_A_RUN = 2
    FAULT = FAILED


def look_at(target: Path) -> int:
    if not is_run(target):
        return Found.NOTHING
    with open_ledger(target) as ledger:
        is_whole = not ledger.describe_lost_end() and len(ledger.grades()) == GRADES
    return Found.WHOLE if is_whole else Found.HALF_A_RUN
