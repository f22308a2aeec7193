"""Try to make a server's bill exceed a budget: 200 random schedules of commands, faults and kills, 64 calls in flight.

Usage: python studies/soak_spending.py [NUMBER]
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.billing import BillingServer, run_schedule  # noqa: E402
from helpers.soak import campaign  # noqa: E402


def attempt(k: int) -> str:
    with tempfile.TemporaryDirectory() as folder, BillingServer() as server:
        outcome = run_schedule(server, Path(folder), k)
    share = max(
        outcome.billed_calls / outcome.budget_calls if outcome.budget_calls else 0.0,
        outcome.billed_usd / outcome.budget_usd if outcome.budget_usd else 0.0,
    )
    return f"held, {10 * int(share * 10)}% of the budget billed or more" if outcome.held else "EXCEEDED"


if __name__ == "__main__":
    campaign("spending", attempt, number=200, batch=5, limit_s=600)
