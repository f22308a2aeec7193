"""What a series of runs is known by: the dates in names, and the part of a run that holds canaries."""

import contextlib
import datetime
import re

FEWEST = 8  # days before which nothing can be told
CANARIES = "canaries"  # the part of a run in which fixed answers are rated anew
_DATE = re.compile(r"(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?([0-2]\d|3[01])(?:[T_-]?(\d\d)[-_.:]?(\d\d))?")
_WEEK = re.compile(r"(20\d\d)[-_. ]?W(0[1-9]|[1-4]\d|5[0-3])", re.IGNORECASE)
_MONTH = re.compile(r"(20\d\d)[-_.](0[1-9]|1[0-2])(?!\d)")
_DOTTED = re.compile(r"(\d\d?)\.(\d\d?)\.(20\d\d)")


def date_in(text: str) -> str:
    """The date that a text holds, as ISO writes it: of a week its Monday, of a month its first day; empty for none."""
    if found := _DATE.search(text):
        day = "-".join(found.groups()[:3])
        return day if found[4] is None else f"{day}T{found[4]}:{found[5]}"
    if found := _WEEK.search(text):
        with contextlib.suppress(ValueError):  # not every year has 53
            return datetime.date.fromisocalendar(int(found[1]), int(found[2]), 1).isoformat()
    if found := _MONTH.search(text):
        return f"{found[1]}-{found[2]}-01"
    found = _DOTTED.match(text)
    return f"{found[3]}-{int(found[2]):02}-{int(found[1]):02}" if found else ""
