"""`richter verify`: do published claims follow from their evidence, and is a run or a plan as it was left?"""

from contextlib import suppress
from pathlib import Path

from richter.cli._io import console, publish, write_json
from richter.cli._plan_output import verify_plan
from richter.errors import LedgerError
from richter.records import printable
from richter.store import find_parts, is_run, open_ledger
from richter.tables import ReadOptions


def verify(what: str, evidence: tuple[str, ...], reading: ReadOptions, json_path: str | None) -> int:
    """Print and write whether results follow from their data, or a run or plan is as it was left; the exit status."""
    if what.endswith(".toml"):
        return verify_plan(what, json_path)
    if is_run(what):
        return _verify_run(what, json_path)
    from richter.audit import verify_results

    result = verify_results(what, evidence, options=reading)
    write_json(result, json_path)
    out = console(json_path)
    out.print(printable(result.sentence))
    for line in result.faults[1:20]:
        out.print(printable(line))
    for line in result.notes[:5]:
        out.print(f"  note: {printable(line)}")
    if result.given:
        out.print(f"  taken as given, since nothing can tell: {printable(', '.join(result.given))}")
    return result.exit_code


def _verify_run(run: str, json_path: str | None) -> int:
    """Whether the ledgers of a run and its parts are readable and known to be whole to their ends."""
    parts = {"": Path(run)}
    with suppress(LedgerError):  # opening it says what is wrong
        parts |= find_parts(run)
    lost = {}
    for name, part in parts.items():
        with open_ledger(part) as ledger:
            lost[name] = ledger.describe_lost_end()
    faults = [fault for fault in lost.values() if fault]
    out = publish({"run": run, "whole": not faults, "faults": faults}, json_path)
    for fault in faults:
        out.print(printable(f"{fault[:1].upper()}{fault[1:]}."), soft_wrap=True)
    if not faults:
        out.print(printable(f"{run} holds every record that was committed to it."))
    return 4 if faults else 0
