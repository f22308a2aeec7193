"""The paragraphs of a search on the map of their base, and the failing ones sorted into clusters."""

import dataclasses
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from richter.errors import TooFewErrors
from richter.records import Result, plain
from richter.store import RunLike, open_ledger
from richter_audit.ascent._clusters import Clustering, Term, cluster_vectors, distinguishing_terms
from richter_audit.ascent._error_map import ErrorMap, map_vectors
from richter_audit.ascent._outcome import row_of
from richter_audit.ascent._summary import BASE_NOTE, SearchRecords, read_search_records
from richter_audit.knowledge import KnowledgeBase

__all__ = ["ErrorCluster", "ErrorSurvey", "MappedError", "base_of", "survey_errors"]

CATEGORIES_NAMED = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MappedError:
    """A paragraph that was asked about on the map, with its first question; `cluster` is None where it passes."""

    paragraph: int
    x: float
    y: float
    category: str
    question: str
    cluster: int | None
    step: int
    error: float
    fails: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCluster(Result):
    """A group of failing paragraphs: its commonest categories, its words, and the paragraph nearest to its centre."""

    cluster: int
    paragraphs: int
    error: float
    categories: tuple[tuple[str, int], ...]
    terms: tuple[Term, ...]
    example: int
    example_text: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSurvey(Result):
    """The map of what a search asked about, and the clusters of what fails there (whose error exceeds xi).

    `unclustered` says why there are no clusters.
    """

    unwritten: ClassVar = ("placed", "clustering", "points", "clusters", "unclustered")
    flat: ClassVar = ("document",)
    derived: ClassVar = ("document",)

    placed: ErrorMap
    clustering: Clustering | None
    points: tuple[MappedError, ...]
    clusters: tuple[ErrorCluster, ...]
    unclustered: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The map with its points, and the clustering with its clusters."""
        clusters = None
        if self.clustering is not None:
            clusters = {k: v for k, v in plain(self.clustering).items() if k != "labels"} | {"found": self.clusters}
        return {"map": plain(self.placed) | {"points": self.points}, "clusters": clusters}


def base_of(run: RunLike) -> Path | None:
    """The folder of the base that a run went through, where it still lies."""
    with open_ledger(run) as ledger:
        note = ledger.note(BASE_NOTE)
    path = Path(note["path"]) if note else None
    return path if path is not None and path.is_dir() else None


def survey_errors(run: RunLike, base: KnowledgeBase, *, rng: np.random.Generator) -> ErrorSurvey:
    """Map what a run asked about in the plane of its base, and cluster what fails.

    The words of a cluster are told against all else asked about. A paragraph lies at the same place in every search of
    the base, whoever was asked.
    """
    search = read_search_records(run, base)
    step = {row: t for t, batch in search.batches.items() for row in batch}
    done, failed = search.known_errors, set(search.failing)
    asked = [row for row in step if row in done]
    failing = [row for row in asked if row in failed]
    fails = np.isin(asked, failing)
    everything = np.asarray(base.vectors[asked], dtype=np.float64)
    placed = map_vectors(everything, base=base.vectors, rng=rng)
    clustering, unclustered = None, ""
    try:
        clustering = cluster_vectors(everything, fails, [step[row] for row in asked], rng=rng)
    except TooFewErrors as error:
        unclustered = str(error)
    clusters_of = dict(zip(failing, clustering.labels, strict=True)) if clustering else {}
    points = _map_points(search, dict(zip(asked, placed.points, strict=True)), step, clusters_of)
    clusters: tuple[ErrorCluster, ...] = ()
    if clustering is not None:
        texts = dict(zip(done, (p.text for p in base.paragraphs(list(done))), strict=True))
        clusters = tuple(_cluster(c, points, everything, texts) for c in range(clustering.clusters))
    return ErrorSurvey(placed=placed, clustering=clustering, points=points, clusters=clusters, unclustered=unclustered)


def _map_points(
    search: SearchRecords,
    places: Mapping[int, tuple[float, float]],
    step: Mapping[int, int],
    cluster: Mapping[int, int],
) -> tuple[MappedError, ...]:
    """The paragraphs that were asked about, each at its place in the plane."""
    questions = {row_of(item.id): item.prompt for item in search.items.values() if item.id.endswith(".0.0")}
    failing, errors = set(search.failing), search.known_errors
    return tuple(
        MappedError(
            paragraph=row,
            x=x,
            y=y,
            category=search.outcomes[row].category,
            question=questions.get(row, ""),
            cluster=cluster.get(row),
            step=step[row],
            error=errors[row],
            fails=row in failing,
        )
        for row, (x, y) in places.items()
    )


def _cluster(
    number: int, points: tuple[MappedError, ...], vectors: np.ndarray[Any, Any], texts: dict[int, str]
) -> ErrorCluster:
    own = [point for point in points if point.cluster == number]
    rows = {point.paragraph for point in own}
    mine = vectors[[point.cluster == number for point in points]]
    terms = distinguishing_terms(
        [text for row, text in texts.items() if row in rows], [text for row, text in texts.items() if row not in rows]
    )
    nearest = own[int(np.argmax(mine @ mine.mean(axis=0)))].paragraph
    return ErrorCluster(
        cluster=number,
        paragraphs=len(own),
        error=float(np.mean([point.error for point in own])),
        categories=tuple(Counter(point.category for point in own).most_common(CATEGORIES_NAMED)),
        terms=tuple(terms),
        example=nearest,
        example_text=texts[nearest],
    )
