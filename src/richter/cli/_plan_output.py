"""`richter plan`: write, lock and check a plan before looking at data."""

import shlex
from pathlib import Path

import click

from richter.audit import PlanStatus, check_plan, lock_plan, missing_fields, new_plan, parse_value
from richter.audit._plan_lock import describe_changed_plan
from richter.cli._io import publish
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
    """Lock a plan, and print its state."""
    _show(file, lock_plan(file), json_path)


def verify_plan(file: str, json_path: str | None) -> int:
    """Print whether a plan is sound, locked and unchanged since; the exit status."""
    status = check_plan(file)
    _show(file, status, json_path)
    return 3 if status.state != "unlocked" and not status.confirmatory else 0


def _show(file: str, status: PlanStatus, json_path: str | None) -> None:
    out = publish(status, json_path, inputs=[file])
    sentence = {
        "unlocked": f"{file} is a sound {status.kind} plan and is not locked: results with it are exploratory.",
        "locked": f"{file} is locked since {status.locked_at} and unchanged"
        + ("." if status.confirmatory else ", but results with it are exploratory."),
        "changed": describe_changed_plan(file, status),
    }[status.state]
    out.print(printable(sentence), soft_wrap=True)
    for reason in status.reasons if status.state == "locked" else ():
        out.print(f"  reason      {printable(reason)}")
    out.print(f"  hash        {status.hash}")
    if status.versions:
        out.print("  versions    " + ", ".join(f"{k} {v}" for k, v in sorted(status.versions.items())))
