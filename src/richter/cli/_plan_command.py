"""`richter plan`: write, lock and check a plan before looking at data."""

import shlex
from pathlib import Path

import click

from richter.audit import PlanStatus, check_plan, check_receipt, is_receipt, lock_plan, new_plan, parse_value, read_plan
from richter.audit._plan import KINDS
from richter.cli._io import Group, console, json_option, publish
from richter.errors import InputError, RichterError
from richter.records import printable
from richter.store import write_file


@click.group(cls=Group)
def plan() -> None:
    """Write, lock and check a plan before looking at data.

    A result is confirmatory when its plan was locked before its first use and has not changed since. The attempts are
    kept beside the plan, in PLAN.log.

    \b
    Examples:
      richter plan new gate --set candidate=new --set baseline=old
      richter plan lock plan.toml
    """


@plan.command()
@click.argument("kind", type=click.Choice(sorted(KINDS)))
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Set a field; may be given several times.")
@click.option("-o", "--output", "output", metavar="PATH", default="plan.toml", help="Where to write; '-' prints.")
def new(kind: str, settings: tuple[str, ...], output: str) -> None:
    """Write a plan of this KIND with every field, its meaning and its default.

    \b
    Examples:
      richter plan new tail --set tolerance_mean=0.1 --set tolerance_tvar=0.2
      richter plan new tail -o toxicity.toml --set 'transform="logit"' --set band=[0.95,0.97]
    """
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
    try:
        read_plan(target, kind=kind)
        left = "Nothing is left to be filled in; lock it before you look at data"
    except RichterError:
        left = "Fill in what is mandatory, then"
    click.echo(f"Wrote {target}. {left}: richter plan lock {shlex.quote(str(target))}")


@plan.command()
@click.argument("file", metavar="PLAN")
@json_option
def lock(file: str, json_path: str | None) -> None:
    """Lock PLAN: write its hash, values, time and versions to PLAN.lock and PLAN.log, and a receipt to keep elsewhere.

    \b
    Examples:
      richter plan lock plan.toml
      richter plan lock gates/release.toml
    """
    _show(file, lock_plan(file), json_path)
    console(json_path).print(printable(f"  receipt     {file}.receipt: keep it where others can date it"))


@plan.command()
@click.argument("file", metavar="PLAN|RECEIPT")
@click.argument("plan_path", metavar="[PLAN]", required=False)
@json_option
@click.pass_context
def check(ctx: click.Context, file: str, plan_path: str | None, json_path: str | None) -> None:
    """Say whether PLAN is sound, locked, and unchanged since; list every deviation; check its log line by line.

    Exit 3 if the plan was changed or its log does not confirm the lock. A receipt is held against the plan beside it,
    or the one named after it, its lock and its log.

    \b
    Examples:
      richter plan check plan.toml
      richter plan check kept/plan.toml.receipt plan.toml
    """
    if is_receipt(file):
        found = check_receipt(file, plan_path)
        out = publish(found, json_path, inputs=[file])
        answer = "does not fit the receipt" if found.faults else "is the plan of the receipt, unchanged"
        out.print(printable(f"{found.plan} {answer}: locked {found.locked_at}, hash {found.hash[:16]}…."))
        for fault in found.faults:
            out.print(f"  fault       {printable(fault)}")
        ctx.exit(3 if found.faults else 0)
    status = check_plan(file)
    _show(file, status, json_path)
    if status.state != "unlocked" and not status.confirmatory:
        ctx.exit(3)


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
