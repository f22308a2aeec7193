"""Locks of plans as if made at another time."""

import json
from pathlib import Path

from richter.audit import lock_plan


def lock_at(plan: Path, at: str) -> None:
    """Lock a plan as if at this time."""
    lock_plan(plan)
    lock = Path(f"{plan}.lock")
    lock.write_text(json.dumps(json.loads(lock.read_text()) | {"locked_at": at}))
