"""The root command. Commands load when called, so that `richter --help` is quick."""

import io
import logging
import signal
import sys
import threading
from pathlib import Path

import click

from richter import __version__
from richter.cli._group import LazyGroup
from richter.cli._project import project_defaults
from richter.errors import RichterError, without_passwords
from richter.records import printable

# name -> (module under richter.cli, attribute, one line of help)
COMMANDS = {
    "agreement": ("_agreement", "agreement", "How far raters and judges agree, and what that is worth."),
    "ask": ("_ask", "ask", "Ask conditions the items of a benchmark, into a run folder."),
    "audit": ("_audit", "audit", "The whole audit: ask, judge, draw, measure, report."),
    "bench": ("_bench", "bench", "Build and inspect item sets."),
    "calibration": ("_calibration", "calibration", "Does the model know when it is wrong?"),
    "check": ("_import", "check", "What a log is, what can be read of it, and what is wrong with it."),
    "compare": ("_compare", "compare", "Is the difference between conditions real?"),
    "demo": ("_demo", "demo", "Audit the built-in small model on real facts."),
    "doctor": ("_doctor", "doctor", "What is installed, what is missing, and what to do."),
    "draw": ("_draw", "draw", "Draw repeated answers for calibration."),
    "export": ("_export", "export", "Write records, evidence or results for other tools."),
    "floors": ("_floors", "floors", "What this much data can and cannot show."),
    "help": ("_help", "help_", "What a command does, or what a word means: richter help condition"),
    "gate": ("_gate", "gate", "Check a plan's requirements, for continuous integration."),
    "import": ("_import", "import_logs", "Read logs of other tools into a run."),
    "judge": ("_judge", "judge", "Rate answers by rules and by judge models."),
    "kb": ("_kb", "kb", "Build and inspect knowledge bases to search for errors."),
    "label": ("_label", "label", "Label answers by hand, blind, until a claim is decided."),
    "plan": ("_plan", "plan", "Write, lock and check a plan before looking at data."),
    "report": ("_report", "report", "What a run shows, as a page, JSON, Markdown and figures."),
    "run": ("_run", "run", "List runs and show what is in one."),
    "search": ("_search", "search", "Find where the model fails, under a budget."),
    "severity": ("_severity", "severity", "How bad are the errors, and which claims about their shape hold?"),
    "size": ("_size", "size", "How many items a claim will need, before asking."),
    "tail": ("_tail", "tail", "Is one condition's tail heavier? Only behind every gate."),
    "verify": ("_verify", "verify", "Do claims follow from their evidence, and is a run as it was written?"),
    "watch": ("_watch", "watch", "Has it got worse since? A series of runs, looked at as often as you like."),
    "view": ("_view", "view", "Look at runs or files in a local web app."),
}

# the question that a command answers -> the commands; the first group is what `richter --help` shows
GROUPS = {
    "Start: is it better, and may it go out?": (
        "demo", "compare", "report", "view", "audit", "gate", "watch", "import", "help"
    ),
    "Look: what is in it?": ("check", "run", "label", "verify"),
    "Compare: how bad are the errors, does it know, may the judge be believed?": (
        "severity", "tail", "calibration", "agreement"
    ),
    "Dig: where does it fail?": ("search", "kb", "ask", "judge", "draw", "bench"),
    "Plan: how much does it take?": ("size", "plan", "floors"),
    "Connect: to other tools and machines": ("export", "doctor"),
}  # fmt: skip


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    groups=GROUPS,
    for_paths=("_look", "look"),
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="richter")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def _root(ctx: click.Context, debug: bool) -> None:
    """Find a language model's errors, weigh them, and say what the evidence can carry.

    \b
    Your data: a table with three columns (item, condition, correct or score), or
    a log of Inspect, lm-eval, promptfoo, DeepEval, HELM and others.

    \b
    Examples:
      richter results.csv                      what is in it, and what can be said of it
      richter compare results.csv              is the difference real?
      richter report old.eval new.eval         the same as a page
      richter help condition                   what a word means

    \b
    Exit status: 0 fine, 1 error, 2 usage, 3 a requirement is violated, 4 undecided.
    """
    defaults = project_defaults(Path.cwd())
    ctx.obj = {"debug": debug, "defaults": defaults}
    inner = {**defaults, "data": defaults, "test": defaults}  # subcommands that take data
    ctx.default_map = dict.fromkeys(COMMANDS, inner) if defaults else None


def main(args: list[str] | None = None) -> None:
    """Run the command line; errors become one line on stderr and exit status 1."""
    argv = sys.argv[1:] if args is None else args
    ended: list[int] = []

    def end(number: int, _: object) -> None:
        ended.append(number)
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # tasks that are cut short say so at length
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that a script put in the background
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(signal.SIGINT)  # whatever asks then commits what arrived, as after Ctrl-C

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, end)
    try:
        code = _root(argv, standalone_mode=False, prog_name="richter")
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        said = io.StringIO()
        error.show(file=said)
        click.echo(without_passwords(said.getvalue()), err=True, nl=False)  # it quotes what was typed
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted. What arrived is kept; run the same command again to go on.", err=True)
        code = 128 + (ended[0] if ended else signal.SIGINT)
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    except RichterError as error:
        if "--debug" in argv:
            raise
        click.echo(f"richter: {printable(str(error))}", err=True)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
