"""The root command, what a project settles for all commands, and groups whose commands load when called."""

import contextlib
import difflib
import io
import logging
import shlex
import signal
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from richter import __version__
from richter._lazy import load_entry_point
from richter.errors import InputError, MissingPart, ReadingProposed, RichterError, without_passwords
from richter.records import printable

# name -> (module under richter.cli, attribute, one line of help); those without a module are other packages', found by
# their entry points (`richter.commands`) when they are called: help need not load them
COMMANDS = {
    "agreement": ("_agreement_command", "agreement", "How far raters and judges agree, and what that is worth."),
    "ask": ("", "", "Ask conditions the items of a benchmark, into a run folder."),
    "audit": ("", "", "The whole audit: ask, judge, draw, measure, report."),
    "bench": ("", "", "Build and inspect item sets."),
    "calibration": ("_calibration_command", "calibration", "Does the model know when it is wrong?"),
    "check": ("_import_command", "check", "What a log is, what can be read of it, and what is wrong with it."),
    "compare": ("_compare_command", "compare", "Is the difference between conditions real?"),
    "demo": ("", "", "The new prompt is better, they say. Is it? A real model, no key."),
    "doctor": ("_doctor", "doctor", "What is installed, what is missing, and what to do."),
    "draw": ("", "", "Draw repeated answers for calibration."),
    "export": ("_export_command", "export", "Write records, evidence or results for other tools."),
    "floors": ("_floors_command", "floors", "What this much data can and cannot show."),
    "help": ("_help", "help_", "What a command does, or what a word means: richter help condition"),
    "gate": ("_gate_command", "gate", "Check a plan's requirements, for continuous integration."),
    "import": ("_import_command", "import_logs", "Read logs of other tools into a run."),
    "judge": ("", "", "Rate answers by rules and by judge models."),
    "kb": ("", "", "Build and inspect knowledge bases to search for errors."),
    "label": ("_label", "label", "Label answers by hand, blind, until a claim is decided."),
    "plan": ("_plan_command", "plan", "Write, lock and check a plan before looking at data."),
    "report": ("_report", "report", "What a run shows, as a page, JSON, Markdown and figures."),
    "run": ("_run_command", "run", "List runs and show what is in one."),
    "search": ("", "", "Find where the model fails, under a budget."),
    "severity": ("_severity_command", "severity", "How bad are the errors, and which claims about their shape hold?"),
    "size": ("_size_command", "size", "How many items a claim will need, before asking."),
    "tail": ("_tail_command", "tail", "Is one condition's tail heavier? Only behind every gate."),
    "verify": ("_verify_command", "verify", "Do claims follow from their evidence, and is a run as it was written?"),
    "watch": ("_watch_command", "watch", "Has it got worse since? A series of runs, looked at as often as you like."),
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


ENTRY_POINTS = "richter.commands"


def _load(module: str, attribute: str) -> click.Command:
    command: click.Command = getattr(import_module(f"richter.cli.{module}"), attribute)
    return command


def load_added(*words: str) -> click.Command | None:
    """A command that another package adds: its entry point is named by its words with points between them."""
    command: click.Command | None = load_entry_point(ENTRY_POINTS, ".".join(words))
    return command


def _is_data(argument: str) -> bool:
    """A file or folder, also as NAME=PATH, or a run in a database; what looks like a file but is not there too."""
    named = argument.partition("=")[2]
    if "/" in argument or Path(argument).suffix:
        return True
    return argument.startswith(("postgres:", "postgresql:")) or any(Path(p).exists() for p in (argument, named) if p)


class LazyGroup(click.Group):
    """A group over a table: name -> (module under richter.cli, attribute, one line of help).

    `groups` orders the names under headings; `--help` then shows the first group and says where the others are.
    `for_paths` is the command that takes data where none is named; a command's name wins over a path.
    """

    def __init__(
        self,
        *args: Any,
        table: dict[str, tuple[str, str, str]],
        groups: dict[str, tuple[str, ...]] | None = None,
        for_paths: tuple[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.for_paths = for_paths
        self.table = table
        self.groups = groups or {"Commands": tuple(sorted(table))}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, sorted."""
        return sorted(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that holds the command, ours or that of another package."""
        module, attribute, _ = self.table.get(cmd_name, ("", "", ""))
        if module:
            return _load(module, attribute)
        command = load_added(cmd_name)
        if command is None and cmd_name in self.table:
            raise MissingPart(f"richter {cmd_name} is not installed.", remedy="pip install 'richter[audit]'")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command named first; for a path that is none, the command that takes paths."""
        if self.for_paths is not None and args[0] not in self.table and _is_data(args[0]):
            return self.for_paths[1], _load(*self.for_paths), args
        near = [] if args[0] in self.table else difflib.get_close_matches(args[0], self.table, n=3)
        if near and load_added(args[0]) is None:
            ctx.fail(f"No such command {printable(args[0], limit=40)!r}. Did you mean {', '.join(near)}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands of the first group without importing them."""
        self.write_groups(formatter, every=False)
        if len(self.groups) > 1:
            formatter.write("\nAll commands: richter help all\n")

    def write_groups(self, formatter: click.HelpFormatter, *, every: bool) -> None:
        """The commands under their headings: the first group, or every one."""
        width = max(len(name) for name in self.table)
        for heading, names in list(self.groups.items())[: None if every else 1]:
            formatter.write(f"\n{heading}{':' * (not heading.endswith('?'))}\n")
            with formatter.indentation():
                formatter.write_dl([(name.ljust(width), self.table[name][2]) for name in names])


NAME = "richter.toml"
# what may stand there -> the kinds it may have; each is the option of the same name, on every command that has it
KNOWN: dict[str, tuple[type, ...]] = {
    "map": (dict,), "scale": (str,), "better": (str,), "as_severity": (str,), "grade": (dict,), "ratings": (str,),
    "scorer": (str,), "filter": (str,), "pass_at": (int, float), "margin": (str, int, float, dict),
    "severity_margin": (int, float), "level": (int, float), "seed": (int,), "prices": (str,), "read": (dict,),
}  # fmt: skip

TAKE_DATA = (
    "apply",
    "data",
    "error-rate",
    "gap",
    "measure",
    "phase",
    "pipeline",
    "score",
    "test",
)  # subcommands that do


def project_defaults(folder: Path) -> dict[str, Any]:
    """The defaults in `richter.toml` of this folder, as the options take them; empty without one."""
    path = folder / NAME
    if not path.is_file():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise InputError(f"{NAME} cannot be read: {error}.", remedy='It is TOML, as margin = "2pt".') from error
    unknown = [name for name in values if name not in KNOWN]
    if unknown:
        raise InputError(f"{NAME}: there is no setting {unknown[0]!r}.", remedy=f"There are {', '.join(KNOWN)}.")
    wrong = next((name for name, value in values.items() if not isinstance(value, KNOWN[name])), None)
    if wrong is not None:
        raise InputError(f"{NAME}: {wrong} = {values[wrong]!r} is of the wrong kind.", remedy="See docs/reading.md.")
    if "severity_margin" in values:  # of 0.1: a margin belongs to the measure that it is stated for
        values["margin"] = _margins_of(values.get("margin")) | {"mean_severity": values.pop("severity_margin")}
        said = f"{NAME}: severity_margin is now [margin] mean_severity = {values['margin']['mean_severity']:g}."
        click.echo(f"richter: {said}", err=True)
    found = {name: value if name == "read" else _as_option(value) for name, value in values.items()}
    if isinstance(values.get("margin"), Mapping):
        found["margin"] = [f"{name}={value}" if name else str(value) for name, value in values["margin"].items()]
    return found


def _margins_of(margin: Any) -> dict[str, Any]:
    """Margins by measure; a single one is the main measure's, of which the name is empty."""
    if margin is None:
        return {}
    return dict(margin) if isinstance(margin, Mapping) else {"": margin}


def _as_option(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [f"{field}={column}" for field, column in value.items()]
    return str(value) if isinstance(value, str) else value


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    groups=GROUPS,
    for_paths=("_compare_command", "look"),
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
    ctx.ensure_object(dict).update(debug=debug, readings=defaults.pop("read", {}), defaults=defaults)
    inner = {**defaults, **dict.fromkeys(TAKE_DATA, defaults)}
    ctx.default_map = dict.fromkeys(COMMANDS, inner) if defaults else None


@contextlib.contextmanager
def _ending_politely(ended: list[int]) -> Iterator[None]:
    """Take SIGTERM as Ctrl-C: whatever asks then commits what arrived. Its number goes into `ended`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    background = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # a job of a script: Ctrl-C is not for it

    def end(number: int, _: object) -> None:
        ended.append(number)
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # tasks that are cut short say so at length
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.raise_signal(signal.SIGINT)

    if background:  # held back, not ignored: an event loop then ends its tasks where they wait, as after Ctrl-C
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if background:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def respell(argv: list[str]) -> list[str]:
    """The arguments as they are spelt now; an old spelling works, and its new one is printed."""
    if argv[:1] != ["export"] or "--failing" not in argv:
        return argv
    click.echo("`richter export --failing` is now `richter search export`.", err=True)
    return ["search", "export", *(word for word in argv[1:] if word != "--failing")]


def main(args: list[str] | None = None) -> None:
    """Run the command line; errors become one line on stderr and exit status 1."""
    argv = respell(sys.argv[1:] if args is None else args)
    ended: list[int] = []
    on_success: list[Callable[[], None]] = []  # what is written once the command has ended well
    try:
        with _ending_politely(ended):
            code = _root(argv, standalone_mode=False, prog_name="richter", obj={"on_success": on_success})
        for write in on_success if code in (None, 0, 3, 4) else ():
            write()
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
    except ReadingProposed as proposal:
        keep = " ".join(["richter", shlex.join(argv), *(proposal.added or ["--yes"])])
        for line in (*proposal.lines, f"Keep it: {keep}   (or --save-reading, or --yes)"):
            click.echo(printable(line), err=True)
        code = proposal.exit_code
    except RichterError as error:
        if "--debug" in argv:
            raise
        click.echo(f"richter: {printable(str(error))}", err=True)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
