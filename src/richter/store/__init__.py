"""The ledger: what was asked, answered, rated and paid, on disk; and the cache of fetched files."""

from richter.store._chain import Damage
from richter.store._integrity import Integrity, PartIntegrity, check_integrity
from richter.store._kept import add_plan_use, digest, keep_file, kept_at, run_file
from richter.store._ledger import (
    Call,
    Ledger,
    ModelSpent,
    Spent,
    Unsettled,
    being_written,
    find_parts,
    find_runs,
    has_ledger,
    hold_run,
    open_ledger,
    run_used,
    settle_run,
    unsettled_run,
)
from richter.store._place import DatabaseRun, Place, RunLike, is_database, is_run, run_folder, run_part, run_place
from richter.store._spending import Attempt, Limits, Room, Usage
from richter.store._sqlite import LEDGER_NAME
from richter.store._wheels import cache_folder, fetch_wheel_member

__all__ = [
    "LEDGER_NAME",
    "Attempt",
    "Call",
    "Damage",
    "DatabaseRun",
    "Integrity",
    "Ledger",
    "Limits",
    "ModelSpent",
    "PartIntegrity",
    "Place",
    "Room",
    "RunLike",
    "Spent",
    "Unsettled",
    "Usage",
    "add_plan_use",
    "being_written",
    "cache_folder",
    "check_integrity",
    "digest",
    "fetch_wheel_member",
    "find_parts",
    "find_runs",
    "has_ledger",
    "hold_run",
    "is_database",
    "is_run",
    "keep_file",
    "kept_at",
    "open_ledger",
    "run_file",
    "run_folder",
    "run_part",
    "run_place",
    "run_used",
    "settle_run",
    "unsettled_run",
]
