"""What a list says of a run, from its results: written into its page, and read back from any page."""

import dataclasses
import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from richter.records import printable
from richter.words._run_list_texts import describe_main_measure, document_side

__all__ = ["RunSummary", "page_summary", "summary_of"]

HEAD_CHARS = 16_384  # of a page, in which its summary stands
MAX_BARS = 3  # models whose bars a line of the list shows
SUMMARY = re.compile(r'<meta name="richter-summary" content="([^"]*)">')
BAR_TEXTS = ("name", "amount", "words")
SIDES = ("better", "worse", "differ", "alike", "open", "blocked")


class MeasureBar(msgspec.Struct, frozen=True, kw_only=True):
    """One model's estimate and interval, placed on a rail from 0 to 1, with its words."""

    name: str
    amount: str
    words: str
    at: float
    low: float
    high: float


class RunSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of a run, the side it is on, and its main measure: the first models by estimate, and how many more."""

    answer: str = ""
    side: str = ""
    measure: str = ""
    bars: tuple[MeasureBar, ...] = ()
    more: int = 0


def summary_of(document: Mapping[str, Any]) -> RunSummary:
    """The summary of a results document."""
    measure, rows = describe_main_measure(document)
    return RunSummary(
        answer=printable(document.get("answer") or "", limit=600),
        side=document_side(document),
        measure=measure,
        bars=tuple(MeasureBar(**dataclasses.asdict(row)) for row in rows[:MAX_BARS]),
        more=max(len(rows) - MAX_BARS, 0),
    )


def page_summary(page: Path) -> RunSummary:
    """The summary that a page says of itself; empty where it says none, or something else: anybody may have made it."""
    with page.open(encoding="utf-8", errors="replace") as file:
        found = SUMMARY.search(file.read(HEAD_CHARS))
    if found is None:
        return RunSummary()
    try:
        summary = msgspec.json.decode(html.unescape(found[1]), type=RunSummary)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return RunSummary()
    bars = tuple(
        msgspec.structs.replace(bar, **{key: printable(getattr(bar, key), limit=120) for key in BAR_TEXTS})
        for bar in summary.bars[:MAX_BARS]
        if min(bar.low, bar.at, bar.high) >= 0 and max(bar.low, bar.at, bar.high) <= 1
    )
    return msgspec.structs.replace(
        summary,
        answer=printable(summary.answer, limit=600),
        side=summary.side if summary.side in SIDES else "",
        measure=printable(summary.measure, limit=60),
        bars=bars,
        more=min(max(summary.more, 0), 100_000),
    )
