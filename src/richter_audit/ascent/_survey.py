"""The paragraphs of a search on the map of their base, and the clusters in which more fail than elsewhere."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from richter.records import Paragraph, Result, plain
from richter.store import RunLike, open_ledger
from richter_audit.ascent._clusters import (
    FailingGroup,
    GroupKind,
    Term,
    distinguishing_terms,
    find_failing_groups,
)
from richter_audit.ascent._error_map import ErrorMap, map_vectors
from richter_audit.ascent._outcome import row_of
from richter_audit.ascent._summary import BASE_NOTE, SearchRecords, read_search_records
from richter_audit.knowledge import KnowledgeBase

__all__ = ["ErrorCluster", "ErrorSurvey", "MappedError", "base_of", "survey_errors"]

CATEGORIES_NAMED = 3
MOST_CENTRES = 10_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MappedError:
    """A paragraph that was asked about on the map, with its first question; `cluster` is None where it is in none."""

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
    """A group of paragraphs in which more fail than elsewhere, and what tells it apart.

    `kind` and `name` say what they share: a place (a folder, a document, a heading), a word, or their neighbourhood.
    `asked` counts those that were asked about and `paragraphs` the failing ones of them; `error` is the mean error of
    the former. Beside these: the commonest categories of the failing ones, the words that set the group apart, and the
    failing one nearest to its centre.
    """

    cluster: int
    kind: GroupKind
    name: str
    asked: int
    paragraphs: int
    error: float
    p_value: float
    categories: tuple[tuple[str, int], ...]
    terms: tuple[Term, ...]
    example: int
    example_text: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSurvey(Result):
    """The map of what a search asked about, and the clusters in which more fail (error above xi) than elsewhere.

    `groups_tested` is how many groups were tested, `scattered` how many failing paragraphs lie in no cluster.
    """

    unwritten: ClassVar = ("placed", "points", "clusters", "groups_tested", "scattered")
    flat: ClassVar = ("document",)
    derived: ClassVar = ("document",)

    placed: ErrorMap
    points: tuple[MappedError, ...]
    clusters: tuple[ErrorCluster, ...]
    groups_tested: int
    scattered: int

    @property
    def document(self) -> dict[str, Any]:
        """The map with its points, and the clusters with how many groups were tested for them."""
        clusters = {
            "clusters": len(self.clusters),
            "scattered": self.scattered,
            "groups_tested": self.groups_tested,
            "found": self.clusters,
        }
        return {"map": plain(self.placed) | {"points": self.points}, "clusters": clusters}


def base_of(run: RunLike) -> Path | None:
    """The folder of the base that a run went through, where it still lies."""
    with open_ledger(run) as ledger:
        note = ledger.note(BASE_NOTE)
    path = Path(note["path"]) if note else None
    return path if path is not None and path.is_dir() else None


def survey_errors(run: RunLike, base: KnowledgeBase, *, rng: np.random.Generator) -> ErrorSurvey:
    """Map what a run asked about in the plane of its base, with the clusters in which more fail than elsewhere.

    The words of a cluster are told against all else asked about. A paragraph lies at the same place in every search of
    the base, whoever was asked.
    """
    search = read_search_records(run, base)
    step = {row: t for t, batch in search.batches.items() for row in batch}
    failed = set(search.failing)
    asked = [row for row in step if row in search.known_errors]
    vectors = np.asarray(base.vectors[asked], dtype=np.float64)
    placed = map_vectors(vectors, base=base.vectors, rng=rng)
    paragraphs = base.paragraphs(asked)
    found = find_failing_groups(
        [row in failed for row in asked],
        places=[places_of(paragraph) for paragraph in paragraphs],
        texts=[paragraph.text for paragraph in paragraphs],
        vectors=vectors,
        centres=_some_others(base, asked),
    )
    cluster_of = {asked[i]: number for number, group in enumerate(found.groups) for i in group.members}
    points = _map_points(search, dict(zip(asked, placed.points, strict=True)), step, cluster_of)
    return ErrorSurvey(
        placed=placed,
        points=points,
        clusters=tuple(
            _describe_cluster(number, group, points, vectors, [paragraph.text for paragraph in paragraphs])
            for number, group in enumerate(found.groups)
        ),
        groups_tested=found.tested,
        scattered=sum(point.fails and point.cluster is None for point in points),
    )


def _some_others(base: KnowledgeBase, asked: Sequence[int]) -> NDArray[np.floating]:
    """The vectors of up to 10,000 paragraphs that were not asked about, evenly over the base."""
    others = np.setdiff1d(np.arange(len(base)), asked)
    return np.asarray(base.vectors[others[:: math.ceil(max(1, len(others)) / MOST_CENTRES)]])


def places_of(paragraph: Paragraph) -> set[str]:
    """Where a paragraph stands: its category, its attributes, and every heading above it."""
    places = {f"category: {paragraph.category}"} if paragraph.category else set()
    for name, value in paragraph.attributes.items():
        parts = str(value).split(" > ")
        places |= {f"{name}: {' > '.join(parts[:depth])}" for depth in range(1, len(parts) + 1)}
    return places


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


def _describe_cluster(
    number: int,
    group: FailingGroup,
    points: Sequence[MappedError],
    vectors: np.ndarray[Any, Any],
    texts: Sequence[str],
) -> ErrorCluster:
    members = set(group.members)
    failing = [i for i in group.members if points[i].fails]
    terms = distinguishing_terms(
        [texts[i] for i in group.members], [text for i, text in enumerate(texts) if i not in members]
    )
    nearest = failing[int(np.argmax(vectors[failing] @ vectors[failing].mean(axis=0)))]
    return ErrorCluster(
        cluster=number,
        kind=group.kind,
        name=group.name,
        asked=len(group.members),
        paragraphs=len(failing),
        error=float(np.mean([points[i].error for i in group.members])),
        p_value=group.p_value,
        categories=tuple(Counter(points[i].category for i in failing).most_common(CATEGORIES_NAMED)),
        terms=tuple(terms),
        example=points[nearest].paragraph,
        example_text=texts[nearest],
    )
