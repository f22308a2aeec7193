"""Options that several commands share. Nothing here loads data, statistics or pages: `--help` needs none of them."""

import textwrap
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeVar

import click

from richter.errors import InputError
from richter.records import DEFAULT_LEVEL

Command = TypeVar("Command", bound=Callable[..., Any])
READING = (
    "map", "scale", "better", "as_severity", "grade", "wide", "ratings", "scorer", "filter", "pass_at",
    "layout",
)  # fmt: skip
WEIGHING = (*READING, "weight", "macro")  # of commands that compare
CONFIRMING = ("yes", "save_reading")
PREPARING = "richter_prepares"
VOUCHING = ("missing", "trust_ids", "trust_raters", "trust_labels", "unpaired")


def add_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """A decorator that adds these options in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


class ScreenCommand(click.Command):
    """A command whose help screen has the options that `shown` names; `more_at` is the topic that has the others.

    Without `shown` all of its own options stand there.
    """

    more_at = "asking"

    def __init__(self, *args: Any, shown: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.shown, self.own = tuple(shown.split()), tuple(self.params)

    def options(self, ctx: click.Context, *, shown: bool) -> list[click.Option]:
        """The options that stand on the help screen, or the others."""
        every = [p for p in (*self.own, self.get_help_option(ctx)) if isinstance(p, click.Option)]
        names = {*self.shown, "help"}
        return [p for p in every if (not self.shown or bool(names & {o.lstrip("-") for o in p.opts})) is shown]

    def names_of_more(self, ctx: click.Context) -> list[str]:
        """The options that its help screen only names."""
        return [max(option.opts, key=len) for option in self.options(ctx, shown=False)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of the screen, then the names of the others."""
        with formatter.section("Options"):
            records = (option.get_help_record(ctx) for option in self.options(ctx, shown=True))
            formatter.write_dl([record for record in records if record is not None])
        if names := self.names_of_more(ctx):
            with formatter.section(f"More options (richter help {self.more_at})"):
                for line in textwrap.wrap(" ".join(names), formatter.width - 2, break_on_hyphens=False):
                    formatter.write(f"  {line}\n")


class DataCommand(ScreenCommand):
    """A command on data: the options for reading are the same for all of them, and load when it runs.

    `reads` names those that it takes; with `vouches` it also takes what the user may vouch for.
    """

    more_at = "reading"

    def __init__(self, *args: Any, reads: Sequence[str] = (), vouches: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reads, self.vouches, self.is_complete = tuple(reads), vouches, False

    def complete(self) -> None:
        """Add the options for reading and vouching, once."""
        if self.is_complete or self.callback is None:
            return
        from richter.cli._io import policy_options, reading_options

        complete = reading_options(self.callback, names=self.reads)
        complete = policy_options(complete) if self.vouches else complete
        self.params += reversed(vars(complete).pop("__click_params__"))
        self.callback, self.is_complete = complete, True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments by all options; a request for help is answered without loading any."""
        wanted = self.get_help_option_names(ctx)
        if any(word in wanted for word in args):
            return super().parse_args(ctx, ["--help"])
        self.complete()
        return super().parse_args(ctx, args)

    def names_of_more(self, ctx: click.Context) -> list[str]:
        """The options that its help screen only names, those for reading among them."""
        shared = (*self.reads, *CONFIRMING, *(VOUCHING if self.vouches else ()))
        return [*super().names_of_more(ctx), *(f"--{name.replace('_', '-')}" for name in shared)]


def preparing(prepare: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Command], Command]:
    """A decorator for a declared command: before its body runs, its options go through `prepare`."""

    def add(declared: Command) -> Command:
        vars(declared).setdefault(PREPARING, []).append(prepare)
        return declared

    return add


def command(
    body: str, *, reads: Sequence[str] = (), vouches: bool = False, **settings: Any
) -> Callable[[Callable[..., None]], click.Command]:
    """A decorator for a function that has the options and the help of a command.

    `body` is `module:function` of the package of that function's module; it loads when the command runs, takes the
    options, and returns the exit status, or None for 0. Before that, functions that `preparing` has added change them.
    """

    def make(declared: Callable[..., None]) -> click.Command:
        module, _, name = body.partition(":")

        def run(**given: Any) -> None:
            package = declared.__module__.rpartition(".")[0]
            for prepare in vars(declared).get(PREPARING, ()):
                given = prepare(given)
            status = getattr(import_module(f"{package}.{module}"), name)(**given)
            if status:
                click.get_current_context().exit(status)

        run.__doc__, run.__name__ = declared.__doc__, declared.__name__
        vars(run).update(vars(declared))  # the options that click has put there
        settings.setdefault("cls", ScreenCommand)
        if reads or vouches:
            settings.update(cls=DataCommand, reads=reads, vouches=vouches)
        made: click.Command = click.command(**settings)(run)
        return made

    return make


def one_of(module: str, attribute: str) -> Callable[[str], str]:
    """A type of options: one of the names that a module lists, which loads when a name is given."""

    def name(value: str) -> str:
        found = getattr(import_module(module), attribute)
        known = list(found() if callable(found) else found)
        if value not in known:
            raise click.BadParameter(f"{value!r} is not one of {', '.join(known)}.")
        return value

    return name


def _refuse_second_result(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value == "-" and ctx.meta.setdefault("richter.stdout", param.name) != param.name:
        raise InputError("Two results would go to standard output.", remedy="Give one of them a path.")
    return value


json_option = click.option(
    "--json",
    "json_path",
    callback=_refuse_second_result,
    metavar="PATH",
    help="Write the result as JSON to PATH. '-' prints it, and nothing else, on standard output.",
)
md_option = click.option(
    "--md",
    "md_path",
    callback=_refuse_second_result,
    metavar="PATH",
    help="Write Markdown for a pull request to PATH, or '-'.",
)
level_option = click.option(
    "--level",
    type=click.FloatRange(0.5, 0.9999),
    default=DEFAULT_LEVEL,
    help="Confidence level of intervals and verdicts.",
)
seed_option = click.option("--seed", type=click.IntRange(0), default=0, help="Random seed.")
page_options = add_options(
    click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page. By default a free one."),
    click.option("--no-browser", is_flag=True, help="Only print the address."),
)
cluster_options = add_options(
    click.option("--cluster-size", type=float, help="Questions per cluster (passage, template, dialogue)."),
    click.option("--intraclass", type=float, help="Correlation of questions within a cluster."),
)


def resamples_option(least: int, *, default: int | None = None, usual: int | None = None) -> Callable[..., Any]:
    """`--resamples`; without a default a plan may set it, and `usual` is what holds else."""
    shown = f"Bootstrap resamples. [default: {usual}]" if usual else "Bootstrap resamples."
    return click.option("--resamples", "n_resamples", type=click.IntRange(min=least), default=default, help=shown)


def _refuse_without_ray(context: click.Context, _: click.Parameter, workers: int | None) -> int | None:
    if workers is not None and context.params.get("engine") == "local":
        raise click.UsageError("--workers needs --engine ray: without it the work is done in this process.", context)
    return workers


engine_options = add_options(
    click.option(
        "--engine",
        metavar="ENGINE",
        default="local",
        is_eager=True,  # so that --workers can be held against it, whichever comes first
        help="Where it computes: local, ray (RAY_ADDRESS, or a cluster started here) or ray://host:port. "
        "Numbers stay the same.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        callback=_refuse_without_ray,
        help="With --engine ray: tasks at a time. By default one per processor.",
    ),
)


def parse_margin(value: str | float) -> float:
    """A margin: `2pt` (points), `2%` or `0.02`; of a score any number on its scale."""
    from richter import claims

    try:
        return claims.parse_margin(value)
    except InputError as error:
        raise click.BadParameter(str(error)) from error


def parse_share(value: str | float) -> float:
    """A share, or a difference of shares, written as a margin is."""
    number = parse_margin(value)
    if number >= 1:
        raise click.BadParameter(f"{value!r} is not below 100 points; write 2pt or 0.02 for two points.")
    return number


def parse_margins(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Margins by measure: `2pt` is the main measure's (the key is empty), `catastrophic_rate=0.5pt` another's."""
    found: dict[str, float] = {}
    for text in values:
        name, equals, amount = str(text).rpartition("=")
        if equals and not name.strip():
            raise click.BadParameter(f"{text!r} names no measure; write MEASURE=0.5pt.")
        if name.strip() in found:
            of = f"of {name.strip()} " if name else ""
            raise click.BadParameter(f"the margin {of}is given twice.")
        found[name.strip()] = parse_margin(amount)
    return found


class _MarginOption(click.Option):
    """An option that may be given again; a single value of `richter.toml` is one of it."""

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """The values as texts."""
        return super().type_cast_value(ctx, [str(value)] if isinstance(value, str | int | float) else value)


margin_option = click.option(
    "--margin",
    cls=_MarginOption,
    multiple=True,
    callback=parse_margins,
    metavar="2pt|MEASURE=0.5pt",
    help="The smallest difference that matters, on the main measure or MEASURE. A point is a hundredth of its range.",
)
