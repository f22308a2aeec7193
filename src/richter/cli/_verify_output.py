"""`richter verify`: do published claims follow from their evidence, and is a run as it was written?"""

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from richter.cli._io import console, write_json
from richter.cli._plan_output import is_plan, verify_plan
from richter.errors import InputError
from richter.interop import evidence_files, is_zip
from richter.records import printable
from richter.store import PartIntegrity, check_integrity, is_run
from richter.tables import ReadOptions

if TYPE_CHECKING:
    from richter.audit import Verification


def verify(
    what: str,
    evidence: tuple[str, ...],
    seals_path: str | None,
    reading: ReadOptions,
    json_path: str | None,
) -> int:
    """Print and write whether results follow from their data, or a file is unchanged; the exit status."""
    if is_plan(what):
        return verify_plan(what, evidence[0] if evidence else None, json_path)
    from richter.audit import verify_archive, verify_results

    out = console(json_path)
    if is_run(what):
        result = _verify_run(out, what, seals_path)
    elif is_zip(what):
        from richter.report import render_report

        result = verify_archive(what, render=render_report)
    else:
        result = verify_results(what, evidence, options=reading)
    write_json(result, json_path)
    out.print(printable(result.sentence))
    for line in result.faults[1:20]:
        out.print(printable(line))
    for line in result.notes[:5]:
        out.print(f"  note: {printable(line)}")
    if result.given:
        out.print(f"  taken as given, since nothing can tell: {printable(', '.join(result.given))}")
    return result.exit_code


def _verify_run(out: Console, what: str, seals_path: str | None) -> "Verification":
    """The check of a run's records against their hashes and seals; prints each part's records and seal."""
    from richter.audit import Verification

    found = check_integrity(what, seals=_seals(seals_path))
    checked = sum(part.records for part in found.parts)
    faults = tuple(chain.from_iterable(map(_part_faults, found.parts)))
    for part in found.parts:
        out.print(f"{printable(part.name or 'run')}: {part.records:,} records, seal {part.seal or 'none yet'}")
    return Verification(checked=checked, recomputed=checked, faults=faults, what="records")


def _part_faults(part: PartIntegrity) -> list[str]:
    """What is damaged in a part of a run, and whether its seal differs from the one that was kept."""
    name = part.name or "the run"
    faults = [f"{name}: {d.table} {d.record} {d.what}".strip() for d in part.damage]
    if part.expected not in (None, part.seal):
        faults.append(f"{name}: its records are not those that it had when the seal was kept")
    return faults


def _seals(path: str | None) -> dict[str, str] | None:
    if path is None:
        return None
    try:
        if is_zip(path):
            parts = json.loads(evidence_files(Path(path))[0]["integrity.json"])["parts"]
            return {str(p["name"]): str(p["seal"]) for p in parts}
        return {str(k): str(v) for k, v in json.loads(Path(path).read_text(encoding="utf-8")).items()}
    except (OSError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} holds no seals.", remedy="Give an evidence archive of the run.") from error
