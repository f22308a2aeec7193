"""The lines of the app's list of runs: how far each run is, what it cost, and what its page says that it found."""

from pathlib import Path
from typing import Any

import msgspec

from richter.errors import RichterError
from richter.report._run_summary import RunSummary, page_summary
from richter.report._visible_text import visible
from richter.store import LEDGER_NAME, ensure_inside, is_locked, open_ledger

__all__ = ["RunRows", "run_row", "unread_row"]

FILES = (LEDGER_NAME, f"{LEDGER_NAME}-wal", "report.html")
MAX_NAMES = 12  # models that a line names


class RunRows:
    """The lines of runs: each is read anew when a file of its run has changed, and else remembered."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, dict[str, Any]]] = {}

    def row(self, number: int, run: str) -> dict[str, Any]:
        """The line of a run."""
        state = _files_state(run)
        known = self._known.get(run)
        if state is not None and known is not None and known[0] == state:
            return known[1]
        row = run_row(number, run)
        if not row.get("writing"):  # else somebody has begun to write since the files were looked at
            self._known[run] = (state, row)
        return row


def _files_state(run: str) -> object:
    """What changes when the line of a run does; None where only the run itself can say."""
    try:
        if is_locked(Path(run)):
            return None
        return [(s.st_mtime_ns, s.st_size) for name in FILES if (s := _stat(Path(run) / name)) is not None]
    except (OSError, RichterError):
        return None


def _stat(path: Path) -> Any:
    return path.lstat() if path.exists() else None


def unread_row(number: int, run: str) -> dict[str, Any]:
    """The line of a run that nobody has read yet."""
    return {"run": number, "name": visible(Path(run).name), "unread": True}


def run_row(number: int, run: str) -> dict[str, Any]:
    """One line of the list. A run that cannot be read says why and does not hide the others."""
    row: dict[str, Any] = {"run": number, "name": visible(Path(run).name)}
    try:
        with open_ledger(run, checked=False) as ledger:  # what reads all of it looks for damage
            items, counts, spent, times = ledger.n_items(), ledger.counts(), ledger.spent(), ledger.times()
            writing = ledger.being_written()
            names = [c.name for c in ledger.conditions()]
        page = Path(run) / "report.html"
        found = page.is_file()
        summary = page_summary(ensure_inside(page, page.parent)) if found else RunSummary()
        is_stale = bool(found and times and summary.answer and page.stat().st_mtime < times[1])
    except Exception as error:  # a stranger's run may hold anything, and the others are shown all the same
        return {**row, "error": str(error) if isinstance(error, RichterError) else "The run cannot be read."}
    answered_and_failed = [counts.get(name, (0, 0)) for name in names]
    return {
        **row,
        "items": items,
        "conditions": [visible(name) for name in names[:MAX_NAMES]],
        "n_conditions": len(names),
        "answered": sum(answered for answered, _ in answered_and_failed),
        "failed": sum(failed for _, failed in answered_and_failed),
        "expected": items * len(names),
        "writing": writing,
        "started_at": None if times is None else times[0],
        "ended_at": None if times is None else times[1],
        "calls": spent.calls,
        "tokens": spent.tokens,
        "money_usd": spent.money_usd,
        "summary": msgspec.to_builtins(summary),
        "stale": is_stale,
    }
