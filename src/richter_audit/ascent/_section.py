"""What the report shows of a search: its summary, its map, and the questions answered wrongly."""

import dataclasses
from pathlib import Path
from typing import ClassVar

import numpy as np

from richter.audit._search_section import SearchReader, SearchSection
from richter.errors import InputError, RichterError
from richter.records import Result, printable
from richter.store import open_ledger
from richter_audit.ascent._failing import failing_questions
from richter_audit.ascent._summary import SearchSummary, read_search
from richter_audit.ascent._survey import ErrorCluster, base_of, survey_errors
from richter_audit.knowledge import open_base

__all__ = ["SearchResults", "search_results"]

MOST, LONG = 100, 300  # characters of a short and of a long text
LISTED = 300  # failing questions


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Spot(Result):
    """A paragraph on the map of its base: its category, first question and share of wrong answers; whether it fails.

    Searches of one base lie in one plane.
    """

    x: float
    y: float
    category: str
    wrong: float
    fails: bool = True
    question: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Failing(Result):
    """A question answered wrongly, the share of its other wordings that are too, the text it was made from, and how
    severe the judges found the error (None: nobody judged it)."""

    mode: str
    question: str
    right: str
    answered: str
    reworded: float | None
    text: str
    place: str
    severity: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults(SearchSection):
    """A search as `richter search show --json` prints it, with its map and texts where the base still lies.

    `failing` are the first of `n_failing` questions, by mode, the modes with the most first.
    """

    flat: ClassVar = ("summary",)

    summary: SearchSummary
    name: str
    map: tuple[Spot, ...] = ()
    clusters: tuple[ErrorCluster, ...] = ()
    map_missing: str | None = None
    failing: tuple[Failing, ...] = ()
    n_failing: int = 0


def search_results(run: Path, *, level: float) -> SearchResults:
    """What a search shows; `map_missing` says why it has no map."""
    summary, base = read_search(run, level=level), base_of(run)
    try:
        failing = failing_questions(run, None if base is None else open_base(base)).questions
    except InputError:  # another base lies there now
        failing = failing_questions(run).questions
    severities = _severities(run)
    missing, survey, rng = None, None, np.random.default_rng(summary.settings.seed)
    try:
        survey = None if base is None else survey_errors(run, open_base(base), rng=rng)
    except RichterError as error:
        missing = str(error)
    return SearchResults(
        summary=summary,
        name=run.name.rpartition("/")[2],
        map=tuple(
            Spot(x=p.x, y=p.y, category=p.category, wrong=p.error, fails=p.fails, question=_cut(p.question))
            for p in (() if survey is None else survey.points)
        ),
        clusters=() if survey is None else survey.clusters,
        map_missing="the knowledge base that was searched does not lie where it was" if base is None else missing,
        failing=tuple(
            Failing(
                mode=q.mode,
                question=_cut(q.item.prompt, LONG),
                right=_cut(q.item.reference),
                answered=_cut(q.said),
                reworded=q.reworded,
                text=_cut(q.text, LONG),
                place=_cut(q.place),
                severity=severities.get(q.item.id),
            )
            for q in failing[:LISTED]
        ),
        n_failing=len(failing),
    )


def _severities(run: Path) -> dict[str, float]:
    """The median severity that judges gave the first answer to each item."""
    found: dict[str, list[float]] = {}
    with open_ledger(run) as ledger:
        for rating in ledger.ratings(kind="judge"):
            if rating.severity is not None and rating.draw == 0:
                found.setdefault(rating.item, []).append(rating.severity)
    return {item: float(np.median(own)) for item, own in found.items()}


def _cut(text: str, most: int = MOST) -> str:
    return printable(text, limit=most)


READER = SearchReader(kind=SearchResults, read=search_results)
