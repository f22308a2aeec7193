"""What Richter keeps on disk: the ledger of a run, and files fetched into the user's cache."""

from richter.store._wheels import cache_folder, fetch_wheel_member

__all__ = ["cache_folder", "fetch_wheel_member"]
