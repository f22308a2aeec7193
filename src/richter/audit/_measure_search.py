"""The section on searches for errors: what each found, where it lies, and what failing paragraphs share."""

from pathlib import Path
from typing import Any

import numpy as np

from richter.ascent import base_of, read_search, search_patterns, survey_errors
from richter.audit._measure_run import RunRecords
from richter.errors import RichterError
from richter.knowledge import open_base
from richter.store import LEDGER_NAME, open_ledger

__all__ = ["search_folders", "search_section"]


def search_folders(records: RunRecords) -> list[Path]:
    """The run itself where it is a search, and every RUN/search*/ that holds one."""
    places = [records.folder] if records.notes["search"] else []
    for path in sorted(records.folder.glob(f"search*/{LEDGER_NAME}")):
        with open_ledger(path.parent) as ledger:
            if ledger.note("search") is not None:
                places.append(path.parent)
    return places


def search_section(folders: list[Path], *, level: float) -> list[dict[str, Any]]:
    """Each search as `richter search show --json` prints it, with its map where the base still lies."""
    return [_search(folder, level) for folder in folders]


def _search(folder: Path, level: float) -> dict[str, Any]:
    summary = read_search(folder)
    seed = summary.settings.seed
    found = search_patterns(folder, over="asked", level=level, rng=np.random.default_rng(seed))
    row = summary.to_dict() | {
        "name": folder.name,
        "patterns": [pattern.to_dict() for pattern in found],
        "patterns_over": "asked",
        "map": [],
        "clusters": [],
        "map_missing": None,
    }
    base = base_of(folder)
    if base is None:
        return row | {"map_missing": "the knowledge base that was searched does not lie where it was"}
    try:
        survey = survey_errors(folder, open_base(base), rng=np.random.default_rng(seed))
    except RichterError as error:
        return row | {"map_missing": str(error)}
    row["map"] = [{"x": p.x, "y": p.y, "category": p.category, "wrong": p.error} for p in survey.points]
    row["clusters"] = [cluster.to_dict() for cluster in survey.clusters]
    return row
