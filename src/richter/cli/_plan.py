"""`richter plan`: write, lock and check a plan before looking at data."""

from pathlib import Path

import click

from richter.audit import PlanStatus, check_plan, lock_plan, new_plan, parse_value
from richter.audit._plan import KINDS
from richter.cli._output import console, json_option, write_json
from richter.errors import InputError, StorageError
from richter.records import printable


@click.group()
def plan() -> None:
    """Write, lock and check a plan before looking at data.

    A result is confirmatory when its plan was locked before the data were opened and not changed since.
    """


@plan.command()
@click.argument("kind", type=click.Choice(sorted(KINDS)))
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Set a field; may be given several times.")
@click.option(
    "-o",
    "--output",
    "output",
    metavar="PATH",
    default="plan.toml",
    show_default=True,
    help="Where to write; '-' prints.",
)
def new(kind: str, settings: tuple[str, ...], output: str) -> None:
    """Write a plan of this KIND with every field, its meaning and its default.

    \b
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
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror}.", remedy="Choose another path.") from error
    click.echo(f"Wrote {target}. Fill in what is mandatory, then: richter plan lock {target}")


@plan.command()
@click.argument("file", metavar="PLAN")
@json_option
def lock(file: str, json_path: str | None) -> None:
    """Lock PLAN: write its hash, values, time and versions to PLAN.lock. Refused once data were opened with another.

    \b
    richter plan lock plan.toml
    """
    _show(file, lock_plan(file), json_path)


@plan.command()
@click.argument("file", metavar="PLAN")
@json_option
@click.pass_context
def check(ctx: click.Context, file: str, json_path: str | None) -> None:
    """Say whether PLAN is sound, locked, and unchanged since; list every deviation. Exit 3 if it was changed.

    \b
    richter plan check plan.toml
    """
    status = check_plan(file)
    _show(file, status, json_path)
    if status.state == "changed":
        ctx.exit(3)


def _show(file: str, status: PlanStatus, json_path: str | None) -> None:
    write_json(status, json_path, inputs=[file])
    out = console(json_path)
    sentence = {
        "unlocked": f"{file} is a sound {status.kind} plan and is not locked: results with it are exploratory.",
        "locked": f"{file} is locked since {status.locked_at} and unchanged.",
        "changed": f"{file} was changed after it was locked on {status.locked_at}: results with it are exploratory.",
    }[status.state]
    out.print(printable(sentence))
    out.print(f"  hash        {status.hash}")
    for deviation in status.deviations:
        out.print(f"  deviation   {printable(deviation)}")
    for opened in status.opened:
        out.print(f"  opened      {printable(opened['data'])} at {opened['at']}  (sha256 {opened['sha256'][:16]}…)")
    if status.versions:
        out.print("  versions    " + ", ".join(f"{k} {v}" for k, v in sorted(status.versions.items())))
