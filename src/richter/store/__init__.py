"""The ledger: what was asked, answered, rated and paid, on disk; and the cache of fetched files."""

from richter.store._ledger import Call, Ledger, ModelSpent, Spent, open_ledger
from richter.store._sqlite import LEDGER_NAME, being_written
from richter.store._wheels import cache_folder, fetch_wheel_member

__all__ = [
    "LEDGER_NAME",
    "Call",
    "Ledger",
    "ModelSpent",
    "Spent",
    "being_written",
    "cache_folder",
    "fetch_wheel_member",
    "open_ledger",
]
