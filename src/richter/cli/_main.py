"""The root command, the table of all commands, and what a project settles for all of them."""

import contextlib
import difflib
import gc
import io
import itertools
import logging
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

import click

from richter import __version__
from richter._lazy import load_entry_point
from richter.errors import InputError, MissingPart, ReadingProposed, RichterError
from richter.records import is_utf8, printable

# all commands: their words -> (module and attribute, one line of help). A place that begins with a dot is of this
# package; those without a place are other packages', found by their entry points (`richter.commands`) when they are
# called, so that help need not load them
COMMANDS: dict[str, tuple[str, str]] = {
    "compare": ("._decide_commands:compare", "Is the difference real?"),
    "report": ("._decide_commands:report", "Everything that a run or files show, as a page."),
    "view": ("._data_commands:view", "Look at runs or files in a local web app."),
    "gate": ("._decide_commands:gate", "Can I merge this? For continuous integration."),
    "size": ("._size_commands:size", "How many questions does a claim need?"),
    "label": ("._label_commands:label", "Label answers by hand, blind, until a claim is decided."),
    "audit": ("", "Ask models a benchmark, judge the answers, measure and report."),
    "import": ("._data_commands:import_logs", "Read logs of other tools into a run; --dry-run only looks."),
    "help": ("._data_commands:help_", "All commands, and what a word means: richter help p-value"),
    "demo": ("", "Try it: three prompts for a small model that runs here, no key."),
    "watch": ("._decide_commands:watch", "Has it got worse? A series of runs, looked at as often as you like."),
    "severity": ("._measure_commands:severity", "How bad are the errors, and whose are worse?"),
    "severity tail": ("._measure_commands:severity_tail", "Is one model's tail of severe errors heavier?"),
    "calibration": ("._measure_commands:calibration", "Does the model know when it is wrong?"),
    "label agreement": ("._label_commands:label_agreement", "Can I trust the judge? How far raters agree."),
    "label next": ("._label_commands:label_next", "Which questions of a pool to label next."),
    "size calibration": ("._size_commands:size_calibration", "Labels for a claim on calibration."),
    "size tail": ("._size_commands:size_tail", "Questions for a claim on tail shapes."),
    "plan new": ("._label_commands:plan_new", "Write a plan before looking at data."),
    "plan lock": ("._label_commands:plan_lock", "Lock a plan, so that its results are confirmatory."),
    "search": ("", "Find where a model fails, under a budget; --only base builds what is searched."),
    "search show": ("", "What a search found, or how several searches compare."),
    "search export": ("", "Write failing questions for another tool."),
    "bench": ("", "Build the facts benchmark, show sets of questions."),
    "verify": ("._decide_commands:verify", "Do results follow from their data? Is a run or a plan unchanged?"),
    "export": ("._data_commands:export", "Write records or results for other tools; settle what was billed."),
    "doctor": ("._data_commands:doctor", "What is installed, what is missing, and what to do."),
}

# the question that a command answers -> the commands; the first group is what `richter --help` shows
GROUPS = {
    "Start": ("compare", "report", "view", "gate", "size", "label", "audit", "import", "help"),
    "How bad are errors, and does the model know?": ("severity", "severity tail", "calibration", "watch"),
    "How much data does it take, and can I trust the labels?": (
        "size calibration", "size tail", "label agreement", "label next",
        "plan new", "plan lock",
    ),
    "Where does it fail?": ("search", "search show", "search export", "bench"),
    "Keep and connect": ("verify", "export", "doctor", "demo"),
}  # fmt: skip

ENTRY_POINTS = "richter.commands"


def load_added(*words: str) -> click.Command | None:
    """A command that another package adds: its entry point has points between its words."""
    command: click.Command | None = load_entry_point(ENTRY_POINTS, ".".join(words))
    return command


def _load(words: str) -> click.Command | None:
    """A command by its words: ours, or that of another package."""
    place, _ = COMMANDS.get(words, ("", ""))
    if place:
        # the core cuts its work into tasks for all processors itself; threads of the linear algebra beside them wait
        # by spinning, which costs a fifth of a report. The search of paragraphs, which needs them, is another package's
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        module, _, attribute = place.partition(":")
        command: click.Command | None = getattr(import_module(module, "richter.cli"), attribute)
        return command
    command = load_added(*words.split())
    if command is None and words in COMMANDS:
        raise MissingPart(f"richter {words} is not installed.", remedy="pip install 'richter[audit]'")
    return command


def _is_data(argument: str) -> bool:
    """A file or folder, also as NAME=PATH; what looks like a file but is not there too."""
    named = argument.partition("=")[2]
    if "/" in argument or Path(argument).suffix:
        return True
    return any(Path(p).exists() for p in (argument, named) if p)


def _write_rows(formatter: click.HelpFormatter, names: Iterable[str]) -> None:
    width = max(map(len, COMMANDS))
    with formatter.indentation():
        formatter.write_dl([(name.ljust(width), COMMANDS[name][1]) for name in names])


class CommandTable(click.Group):
    """All commands, of one word or two, by one table; each loads when it is called.

    Data where a command should stand are compared; a command's name wins over a path.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its words; under the first of two words alone, a list of what begins with it."""
        more = [name for name in COMMANDS if name.startswith(f"{cmd_name} ")]
        if cmd_name not in COMMANDS and more:
            return _FirstWord(cmd_name, more)
        command = _load(cmd_name)
        if command is not None and more:
            command.epilog = "\b\nSee also:\n" + "\n".join(f"  richter {name:20} {COMMANDS[name][1]}" for name in more)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command named by two words, else by one; for a path, the command that takes paths."""
        if " ".join(args[:2]) in COMMANDS:
            name = " ".join(args[:2])
            return name, self.get_command(ctx, name), args[2:]
        first_words = {name.split()[0] for name in COMMANDS}
        if args[0] not in first_words and _is_data(args[0]):
            from richter.cli._decide_commands import look

            return "look", look, args
        near = [] if args[0] in first_words else difflib.get_close_matches(args[0], COMMANDS, n=3)
        if near and load_added(args[0]) is None:
            ctx.fail(f"No such command {printable(args[0], limit=40)!r}. Did you mean {', '.join(near)}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands of the first group, without importing them."""
        formatter.write("\nCommands:\n")
        _write_rows(formatter, next(iter(GROUPS.values())))
        formatter.write("\nAll commands: richter help\n")

    def write_all(self, formatter: click.HelpFormatter) -> None:
        """All commands under their headings."""
        for heading, names in GROUPS.items():
            formatter.write(f"\n{heading}{':' * (not heading.endswith('?'))}\n")
            _write_rows(formatter, names)


class _FirstWord(click.Command):
    """What the first word of several commands alone answers: those commands."""

    def __init__(self, word: str, names: list[str]) -> None:
        super().__init__(word, callback=self.list_names, help=f"The commands that begin with {word}.")
        self.names = names

    def list_names(self) -> None:
        """Refuse the word alone, and name the commands."""
        raise click.UsageError(f"Which one? {', '.join(f'richter {name}' for name in self.names)}.")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments; an unknown second word is no such command."""
        if args and args[0] not in self.get_help_option_names(ctx):
            ctx.fail(f"No such command {printable(args[0], limit=40)!r}. There are {', '.join(self.names)}.")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands instead of options."""
        formatter.write("\nCommands:\n")
        _write_rows(formatter, self.names)


NAME = "richter.toml"
# what may stand there -> the kinds it may have; each is the option of the same name, on every command that has it
KNOWN: dict[str, tuple[type, ...]] = {
    "map": (dict,), "scale": (str,), "better": (str,), "as_severity": (str,), "grade": (dict,), "ratings": (str,),
    "scorer": (str,), "filter": (str,), "pass_at": (int, float), "margin": (str, int, float, dict),
    "level": (int, float), "seed": (int,), "prices": (str,), "read": (dict,),
}  # fmt: skip


def project_defaults(folder: Path) -> dict[str, Any]:
    """The defaults in `richter.toml` of this folder, as the options take them; empty without one."""
    path = folder / NAME
    if not path.is_file():
        return {}
    values = _read_settings(path)
    found = {name: value if name == "read" else _as_option(value) for name, value in values.items()}
    if isinstance(values.get("margin"), Mapping):
        found["margin"] = [f"{name}={value}" if name else str(value) for name, value in values["margin"].items()]
    return found


def _read_settings(path: Path) -> dict[str, Any]:
    """The settings in a `richter.toml`, each known and of the right kind."""
    import tomllib

    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(f"{NAME} cannot be read: {error}.", remedy='It is TOML, as margin = "2pt".') from error
    unknown = [name for name in values if name not in KNOWN]
    if unknown:
        raise InputError(f"{NAME}: there is no setting {unknown[0]!r}.", remedy=f"There are {', '.join(KNOWN)}.")
    wrong = next((name for name, value in values.items() if not isinstance(value, KNOWN[name])), None)
    if wrong is not None:
        raise InputError(
            f"{NAME}: {wrong} = {values[wrong]!r} is of the wrong kind.", remedy="See docs/reference/reading.md."
        )
    return values


def _as_option(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [f"{field}={column}" for field, column in value.items()]
    return str(value) if isinstance(value, str) else value


@click.group(
    cls=CommandTable,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="richter")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def _root(ctx: click.Context, debug: bool) -> None:
    """Statistical checks for LLM evals: is the difference real, how bad are the errors, is there enough data?

    \b
    Your data: a table with three columns (item, condition, correct or score), or
    a log of Inspect, lm-eval, promptfoo, DeepEval, HELM and others.

    \b
    Examples:
      richter results.csv                      what is in it, and what it shows
      richter compare old.csv new.csv          is the difference real?
      richter report old.eval new.eval         the same as a page
      richter help p-value                     what a word means

    \b
    Exit status: 0 fine, 1 error, 2 usage, 3 a requirement is violated, 4 inconclusive.
    """
    defaults = project_defaults(Path.cwd())
    ctx.ensure_object(dict).update(debug=debug, readings=defaults.pop("read", {}), defaults=defaults)
    ctx.default_map = dict.fromkeys(COMMANDS, defaults) if defaults else None


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


class _PipeWriter(io.FileIO):
    """A file to write to; what nobody reads any more is dropped."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


@contextlib.contextmanager
def _outliving_readers() -> Iterator[None]:
    """Go on where the reader of stdout or stderr has gone (`richter gate ... | head`), for as long as the block runs.

    The exit status says how the work ended, and files that it writes are written. Streams that somebody else has put
    in the place of the process's own are left alone, and so are terminals.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _outliving(sys.stdout, sys.__stdout__), _outliving(sys.stderr, sys.__stderr__)
    try:
        yield
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        sys.stdout, sys.stderr = before


def _outliving(stream: TextIO, own: TextIO | None) -> TextIO:
    """A stream to the same file that outlives its reader; the same stream where that is not needed."""
    if stream is not own or not isinstance(stream, io.TextIOWrapper) or stream.isatty():
        return stream
    stream.flush()
    buffer = io.BufferedWriter(_PipeWriter(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(
        buffer, encoding=stream.encoding, errors=stream.errors, line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )  # fmt: skip


def _with_files(message: str, argv: Sequence[str]) -> str:
    """A message whose commands name the files that were typed before any option, to be pasted."""
    before = itertools.takewhile(lambda argument: not argument.startswith("-"), argv)
    files = shlex.join(a for a in before if any(Path(p).is_file() for p in (a, a.partition("=")[2])))
    return re.sub(r"(\brichter [a-z]+(?: [a-z]+)?) FILE\b", lambda m: f"{m[1]} {files}", message) if files else message


def _first_example(error: click.ClickException) -> str:
    """The first example of a command that lacks an argument, as a line to paste; else empty."""
    if not isinstance(error, click.MissingParameter) or error.ctx is None:
        return ""
    found = re.search(r"Examples:\s+(richter .*?)(?:\s{3,}.*)?$", error.ctx.command.help or "", re.M)
    return f"Use: {found[1]}\n" if found else ""


def main(args: list[str] | None = None) -> None:
    """Run the command line; errors become one line on stderr and exit status 1."""
    gc.set_threshold(200_000, 50, 100)  # while modules load nothing is garbage, and looking for it takes a tenth
    with _outliving_readers():
        code = _run(sys.argv[1:] if args is None else args)
    gc.freeze()  # the process ends: to look for garbage once more takes another tenth
    sys.exit(code)


def _run(argv: list[str]) -> int:
    """The exit status of a command line."""
    ended: list[int] = []
    try:
        if foreign := [word for word in argv if not is_utf8(word)]:
            raise InputError(f"{foreign[0]} is not UTF-8.", remedy="Give the file another name.")
        with _ending_politely(ended):
            code = _root(argv, standalone_mode=False, prog_name="richter")
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        said = io.StringIO()
        error.show(file=said)
        said.write(_first_example(error))
        click.echo(said.getvalue(), err=True, nl=False)  # it quotes what was typed
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted. What arrived is kept; run the same command again to go on.", err=True)
        code = 128 + (ended[0] if ended else signal.SIGINT)
    except ReadingProposed as proposal:
        keep = " ".join(["richter", shlex.join(argv), *(proposal.added or ["--yes"])])
        for line in (*proposal.lines, f"Keep it: {keep}   (or --save-reading, or --yes)"):
            click.echo(printable(_with_files(line, argv)), err=True)
        code = proposal.exit_code
    except RichterError as error:
        if "--debug" in argv:
            raise
        click.echo(f"richter: {printable(_with_files(str(error), argv))}", err=True)
        code = 1
    return code if isinstance(code, int) else 0
