"""The section on searches, which the package that searches fills."""

import dataclasses
from pathlib import Path
from typing import Protocol

from richter._lazy import load_entry_point
from richter.records import Result

GROUP = "richter.sections"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchSection(Result):
    """What a search shows; the class of the package that searches has the fields."""


class ReadSearch(Protocol):
    """Reads one search."""

    def __call__(self, run: Path, *, level: float) -> SearchSection:
        """What the search in `run` shows."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchReader:
    """What the entry point `search` of the group `richter.sections` is: the class of the section, and what reads it."""

    kind: type[SearchSection]
    read: ReadSearch


def find_search_reader() -> SearchReader | None:
    """The reader that is installed, if one is."""
    found = load_entry_point(GROUP, "search")
    assert found is None or isinstance(found, SearchReader)
    return found
