"""The section on searches for errors: what each found, where it lies, and what failing paragraphs share."""

from typing import Any

import numpy as np

from richter.ascent import base_of, read_search, search_patterns, survey_errors
from richter.audit._measure_run import RunRecords
from richter.errors import RichterError
from richter.knowledge import open_base
from richter.store import Place, open_ledger


def searches_of(records: RunRecords) -> list[Place]:
    """The run itself where it is a search, and every part RUN/search* that holds one."""
    places = [records.place] if records.place is not None and records.notes["search"] else []
    for name, part in records.parts.items():
        if name.startswith("search"):
            with open_ledger(part) as ledger:
                if ledger.note("search") is not None:
                    places.append(part)
    return places


def search_section(searches: list[Place], *, level: float) -> list[dict[str, Any]]:
    """Each search as `richter search show --json` prints it, with its map where the base still lies."""
    return [_search(search, level) for search in searches]


def _search(run: Place, level: float) -> dict[str, Any]:
    summary = read_search(run)
    seed = summary.settings.seed
    found = search_patterns(run, over="asked", level=level, rng=np.random.default_rng(seed))
    row = summary.to_dict() | {
        "name": run.name.rpartition("/")[2],
        "patterns": [pattern.to_dict() for pattern in found],
        "patterns_over": "asked",
        "map": [],
        "clusters": [],
        "map_missing": None,
    }
    base = base_of(run)
    if base is None:
        return row | {"map_missing": "the knowledge base that was searched does not lie where it was"}
    try:
        survey = survey_errors(run, open_base(base), rng=np.random.default_rng(seed))
    except RichterError as error:
        return row | {"map_missing": str(error)}
    row["map"] = [{"x": p.x, "y": p.y, "category": p.category, "wrong": p.error} for p in survey.points]
    row["clusters"] = [cluster.to_dict() for cluster in survey.clusters]
    return row
