"""`richter demo`."""

import click

from richter.audit import DemoSize, demo_settings, prepare_demo
from richter.cli._audit import finish, run_audit
from richter.cli._calls import Calls
from richter.cli._output import json_option, progress_console
from richter.store import Place, run_place


@click.command()
@click.argument("run", type=run_place, default="demo")
@click.option("--quick", is_flag=True, help="About a quarter of it.")
@json_option
@click.pass_context
def demo(ctx: click.Context, run: Place, quick: bool, json_path: str | None) -> None:
    """Audit the built-in small model on real facts: no key, no GPU, no network after the first download.

    \b
    Examples:
      richter demo
      richter demo --quick
    """
    size = DemoSize.quick() if quick else DemoSize()
    progress_console().print("building the questions and a small knowledge base", soft_wrap=True)
    items = prepare_demo(run, size)
    result = run_audit(run, items, demo_settings(run, items, size), Calls())
    ctx.exit(finish(run, result, only=None, seed=0, json_path=json_path))
