"""Edit every field of an archive's results: each edit is caught, refused, or of a field that is listed as given.

The generator walks the document: each value is changed, made null, made of another type, and taken out.

Usage: python studies/soak_edits.py [NUMBER]
"""

import copy
import functools
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.leaf_edits import Step, is_given, leaves  # noqa: E402
from helpers.simulated import simulated_run  # noqa: E402
from helpers.soak import campaign  # noqa: E402
from richter.audit import measure_run  # noqa: E402
from richter.audit._verify import _BROKEN, compare_documents  # noqa: E402
from richter.cli._view_output import save_evidence  # noqa: E402

EDITS = ("changed", "null", "another type", "taken out")


@functools.cache
def documents() -> tuple[dict[str, Any], dict[str, Any], list[tuple[Step, ...]]]:
    """An archive's results, the same made again from its run, and every place in them."""
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    simulated_run(folder / "run", conditions=2, items=80, judged=30, drawn=8, draws=5)
    save_evidence(folder / "run", folder / "run.zip")
    with zipfile.ZipFile(folder / "run.zip") as packed:
        document = json.loads(packed.read("results.json"))
    again = json.loads(json.dumps(measure_run(folder / "run").to_dict()))
    return document, again, [*leaves(document)]


def edit(place: Any, step: Any, how: str) -> bool:
    """Edit one value; whether it is another one now."""
    value = place[step]
    if how == "taken out":
        del place[step]
        return True
    if how == "null":
        place[step] = None
    elif how == "another type":
        place[step] = [value] if isinstance(value, str) else "other"
    elif isinstance(value, bool):
        place[step] = not value
    elif isinstance(value, int | float):
        place[step] = value + 1
    else:
        place[step] = f"{value} and more" if isinstance(value, str) else "other"
    return bool(place[step] != value)


def attempt(k: int) -> str:
    document, again, places = documents()
    path, how = places[k // len(EDITS) % len(places)], EDITS[k % len(EDITS)]
    if k >= len(places) * len(EDITS):
        return "beyond the last field"
    if is_given(path):
        return f"{how}: listed as given"
    top = copy.copy(document)
    place: Any = top
    for step in path[:-1]:
        place[step] = copy.copy(place[step])
        place = place[step]
    if not edit(place, path[-1], how):
        return f"{how}: no edit"
    try:
        faults, _, unmade = compare_documents(top, again)
    except _BROKEN:
        return f"{how}: refused"
    if faults or unmade:
        return f"{how}: caught"
    print(f"{k}: {how} {path}", file=sys.stderr)
    return f"{how}: SILENT"


if __name__ == "__main__":
    campaign("edits", attempt, number=30_000, batch=3_000, computes=True)
