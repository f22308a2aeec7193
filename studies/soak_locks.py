"""Edit locks and logs of plans, once and twice: none is confirmatory, and none ends in a traceback.

The first attempts are the single edits of `tests/audit/test_plan_log.py`, the others two of them in turn.

Usage: python studies/soak_locks.py [NUMBER]
"""

import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from audit.test_plan_log import EDITS, grades, write_plan  # noqa: E402
from helpers.soak import campaign  # noqa: E402
from richter.audit import apply_gate_plan, check_plan, gate_status, lock_plan  # noqa: E402
from richter.cli import main  # noqa: E402
from richter.errors import PlanError  # noqa: E402
from richter.tables import read_tables  # noqa: E402


def exit_of(*arguments: object) -> int:
    try:
        with Path(os.devnull).open("w") as sink, contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            main([str(a) for a in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return -1


def attempt(k: int) -> str:
    rng = random.Random(k)
    chosen = [list(EDITS)[k]] if k < len(EDITS) else rng.sample(list(EDITS), 2)
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    try:
        plan, data = write_plan(folder / "plan.toml"), folder / "data.csv"
        grades().write_csv(data)
        lock_plan(plan)
        for seed in (0, 1):
            apply_gate_plan(plan, read_tables(grades(seed)))
        done = 0
        for name in chosen:  # the second edit may need what the first has taken
            with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
                EDITS[name](plan)
                done += 1
        edits = "once" if len(chosen) == 1 else "twice" if done == 2 else "twice, one of them in vain"
        out = folder / "out.json"
        if exit_of("gate", plan, data, "--json", out) not in (0, 1, 3, 4):
            return f"edited {edits}: TRACEBACK"
        if out.exists() and json.loads(out.read_text())["confirmatory"]:
            return f"edited {edits}: CONFIRMATORY"
        for ask in (lambda: check_plan(plan), lambda: gate_status(plan, read_tables(data))):
            with contextlib.suppress(PlanError):
                if ask().confirmatory:
                    return f"edited {edits}: CONFIRMATORY"
        return f"edited {edits}: exploratory or refused"
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    campaign("locks", attempt, number=200, batch=50)
