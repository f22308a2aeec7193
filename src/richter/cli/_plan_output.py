"""`richter plan`: write, lock and check a plan before looking at data."""

import shlex
from pathlib import Path

import click

from richter.audit import (
    PlanStatus,
    check_plan,
    check_receipt,
    is_receipt,
    lock_plan,
    missing_fields,
    new_plan,
    parse_value,
)
from richter.cli._io import console, publish
from richter.errors import InputError
from richter.records import printable
from richter.store import write_file


def plan_new(kind: str, settings: tuple[str, ...], output: str) -> None:
    """Write a plan of this KIND with every field, its meaning and its default."""
    given = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise click.UsageError(f"--set {setting} has no '='.")
        given[name.strip()] = parse_value(kind, name.strip(), text.strip())
    text = new_plan(kind, given)
    if output == "-":
        click.echo(text, nl=False)
        return
    target = Path(output)
    if target.exists():
        raise InputError(f"{target} exists.", remedy="Choose another path with -o, or remove it first.")
    write_file(target, text)
    missing = ", ".join(missing_fields(kind, given))
    left = f"Fill in {missing}, then" if missing else "Nothing is left to be filled in; lock it before you look at data"
    click.echo(f"Wrote {target}. {left}: richter plan lock {shlex.quote(str(target))}")


def plan_lock(file: str, json_path: str | None) -> None:
    """Lock a plan, and print its state and where its receipt is."""
    _show(file, lock_plan(file), json_path)
    console(json_path).print(printable(f"  receipt     {file}.receipt: keep it where others can date it"))


def is_plan(file: str) -> bool:
    """Whether a file is a plan or the receipt of one."""
    return file.endswith(".toml") or (Path(file).is_file() and file.endswith(".receipt") and is_receipt(file))


def verify_plan(file: str, plan_path: str | None, json_path: str | None) -> int:
    """Print whether a plan is sound, locked and unchanged since, with every deviation; the exit status."""
    if is_receipt(file):
        found = check_receipt(file, plan_path)
        out = publish(found, json_path, inputs=[file])
        answer = "does not fit the receipt" if found.faults else "is the plan of the receipt, unchanged"
        out.print(printable(f"{found.plan} {answer}: locked {found.locked_at}, hash {found.hash[:16]}…."))
        for fault in found.faults:
            out.print(f"  fault       {printable(fault)}")
        return 3 if found.faults else 0
    status = check_plan(file)
    _show(file, status, json_path)
    return 3 if status.state != "unlocked" and not status.confirmatory else 0


def _show(file: str, status: PlanStatus, json_path: str | None) -> None:
    out = publish(status, json_path, inputs=[file])
    sentence = {
        "unlocked": f"{file} is a sound {status.kind} plan and is not locked: results with it are exploratory.",
        "locked": f"{file} is locked since {status.locked_at} and unchanged"
        + ("." if status.confirmatory else ", but results with it are exploratory."),
        "changed": f"{file} was changed after it was locked on {status.locked_at}: results with it are exploratory.",
    }[status.state]
    out.print(printable(sentence))
    for reason in status.reasons if status.state == "locked" else ():
        out.print(f"  reason      {printable(reason)}")
    out.print(f"  hash        {status.hash}")
    for deviation in status.deviations:
        out.print(f"  deviation   {printable(deviation)}")
    for at in status.earlier:
        out.print(f"  earlier     the plan was locked here before, on {at}")
    if status.uses:
        sets = "1 set" if status.uses == 1 else f"{status.uses} sets"
        attempts = "1 attempt" if status.attempts == 1 else f"{status.attempts} attempts"
        out.print(f"  used on     {sets} of data, {attempts} in {printable(file)}.log")
    if status.versions:
        out.print("  versions    " + ", ".join(f"{k} {v}" for k, v in sorted(status.versions.items())))
