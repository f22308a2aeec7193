"""Edit every field of an archive's results and of a comparison: each is caught, refused, or listed as given.

The generator walks both documents: each value is changed, made null, made of another type, and taken out.

Usage: python studies/soak_edits.py [NUMBER]
"""

import copy
import functools
import json
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.leaf_edits import Step, is_given, leaves  # noqa: E402
from helpers.simulated import simulated_run  # noqa: E402
from helpers.soak import campaign  # noqa: E402
from richter.audit import _verify, compare_tables, measure_run, verify_document  # noqa: E402
from richter.audit._verify import _BROKEN, compare_documents  # noqa: E402
from richter.cli._view_output import save_evidence  # noqa: E402
from richter.errors import InputError  # noqa: E402
from richter.tables import read_tables  # noqa: E402

EDITS = ("changed", "null", "another type", "taken out")
Place = tuple[Step, ...]


class Document(NamedTuple):
    """A document as it was published, what looks at an edited one, and which places it says are taken as given."""

    name: str
    stated: dict[str, Any]
    notices: Callable[[dict[str, Any]], bool]
    is_given: Callable[[Place], bool]


def archive_results(folder: Path) -> Document:
    """An archive's results, against the same made again from its run."""
    simulated_run(folder / "run", conditions=2, items=80, judged=30, drawn=8, draws=5)
    save_evidence(folder / "run", folder / "run.zip")
    with zipfile.ZipFile(folder / "run.zip") as packed:
        document = json.loads(packed.read("results.json"))
    again = json.loads(json.dumps(measure_run(folder / "run").to_dict()))
    assert compare_documents(document, again) == ([], [], 0)

    def notices(edited: dict[str, Any]) -> bool:
        faults, _, unmade = compare_documents(edited, document)  # which is what was made again, and shares its parts
        return bool(faults or unmade)

    return Document("archive", document, notices, is_given)


def comparison(folder: Path) -> Document:
    """A comparison of two conditions, against the same made again from its table.

    It is made again once for each set of options that an edited document states: nothing else of it is read for that.
    """
    rows = [
        {"item": i, "condition": c, "correct": int((i * k) % 7 > 2), "confidence": 0.5 + (i * k) % 5 / 10}
        for i in range(60)
        for k, c in ((3, "a"), (5, "b"))
    ]
    pl.DataFrame(rows).write_csv(folder / "grades.csv")
    document = json.loads(compare_tables(read_tables(folder / "grades.csv")).to_json())
    make, made = _verify._comparison_again, dict[str, Any]()
    asked = ("options", "conditions", *_verify.ASKED)

    def make_once(stated: dict[str, Any], *more: Any) -> Any:
        key = json.dumps({name: stated.get(name, "absent") for name in asked}, sort_keys=True)
        if key not in made:
            made[key] = make(stated, *more)
        return made[key]

    _verify._comparison_again = make_once
    whole = verify_document(document, [folder / "grades.csv"])
    assert whole.exit_code == 0

    def notices(edited: dict[str, Any]) -> bool:
        return verify_document(edited, [folder / "grades.csv"]).exit_code != 0

    return Document("comparison", document, notices, lambda path: bool({*map(str, path)} & {*whole.given}))


def compare_edited_parts_only() -> None:
    """Let `verify` pass over what an edited document shares with its original: it is the same object."""
    walk = _verify._different

    def different(stated: Any, found: Any, *more: Any, **options: Any) -> Any:
        return iter(()) if stated is found else walk(stated, found, *more, **options)

    _verify._different = different


@functools.cache
def attempts() -> list[tuple[Document, Place, str]]:
    """Every value of both documents, in every way."""
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    documents = comparison(folder), archive_results(folder)
    compare_edited_parts_only()
    return [(document, path, how) for document in documents for path in leaves(document.stated) for how in EDITS]


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
    if k >= len(attempts()):
        return "beyond the last value"
    document, path, how = attempts()[k]
    what = f"{document.name}, {how}"
    if document.is_given(path):
        return f"{what}: listed as given"
    top = copy.copy(document.stated)
    place: Any = top
    for step in path[:-1]:
        place[step] = copy.copy(place[step])
        place = place[step]
    if how == "taken out" and isinstance(place, dict) and place[path[-1]] is None:
        return f"{what}: no edit, a field that is absent is null"
    if not edit(place, path[-1], how):
        return f"{what}: no edit"
    try:
        if document.notices(top):
            return f"{what}: caught"
    except (*_BROKEN, InputError):
        return f"{what}: refused"
    print(f"{k}: {how} {path}", file=sys.stderr)
    return f"{what}: SILENT"


if __name__ == "__main__":
    campaign("edits", attempt, number=30_000, batch=30_000, computes=True)
