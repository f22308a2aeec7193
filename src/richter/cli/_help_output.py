"""What `richter help` prints: all commands by the question they answer, a command, or the meaning of a word."""

import difflib
from collections.abc import Iterator

import click

from richter.cli._main import COMMANDS, CommandTable
from richter.cli._options import CONFIRMING, VOUCHING, WEIGHING, DataCommand, ScreenCommand
from richter.errors import InputError, MissingPart
from richter.records import printable
from richter.words import GLOSSARY, explain


def help_(topic: tuple[str, ...]) -> None:
    """Print all commands, or explain a topic."""
    context = click.get_current_context()
    root = context.find_root()
    commands = root.command
    assert isinstance(commands, CommandTable)
    word = " ".join(topic)
    if not word:
        formatter = context.make_formatter()
        commands.write_all(formatter)
        click.echo(formatter.getvalue().strip())
    elif word == "words":
        for term, text in GLOSSARY.items():
            click.echo(f"{term}: {text}")
    elif word in ("reading", "asking"):
        click.echo(_describe_options(root, commands, word))
    else:
        _explain(root, commands, word)


def _describe_options(root: click.Context, commands: CommandTable, topic: str) -> str:
    """The options that help screens only name: those for reading and vouching, and what else commands take."""
    formatter = root.make_formatter()
    if topic == "reading":
        every = DataCommand("reading", callback=lambda **_: None, reads=WEIGHING, vouches=True)
        every.complete()
        context = click.Context(every, parent=root)
        for heading, names in (("How data are read", (*WEIGHING, *CONFIRMING)), ("What you vouch for", VOUCHING)):
            records = [p.get_help_record(context) for p in every.params if p.name in names]
            with formatter.section(heading):
                formatter.write_dl([record for record in records if record is not None])
    further = _group_by_option(root, commands, topic)
    with formatter.section("Further options, and the commands that take them"):
        formatter.write_dl([(flags, f"{text} ({', '.join(names)})") for (flags, text), names in further.items()])
    return formatter.getvalue().strip()


def _group_by_option(root: click.Context, commands: CommandTable, topic: str) -> dict[tuple[str, str], list[str]]:
    """The commands that take each option of a topic, by the option's flags and text."""
    takers: dict[tuple[str, str], list[str]] = {}
    for name, command in _screens(root, commands):
        if command.more_at == topic:
            context = click.Context(command, info_name=name, parent=root)
            for option in command.options(context, shown=False):
                takers.setdefault(option.get_help_record(context) or ("", ""), []).append(name)
    return takers


def _screens(root: click.Context, commands: CommandTable) -> Iterator[tuple[str, ScreenCommand]]:
    """Every command that is installed, and its stages, by their words."""
    for name in COMMANDS:
        try:
            command = commands.get_command(root, name)
        except MissingPart:
            continue
        stages = getattr(command, "stages", {})
        for words, screen in [(name, command), *((f"{name} --only {stage}", of) for stage, of in stages.items())]:
            if isinstance(screen, ScreenCommand):
                yield words, screen


def _explain(root: click.Context, commands: CommandTable, word: str) -> None:
    """Print what a word means, and the help of the command of that name."""
    meaning, command = explain(word), commands.get_command(root, word)
    if meaning is None and command is None:
        near = difflib.get_close_matches(word, [*COMMANDS, *GLOSSARY], n=3)
        raise InputError(
            f"There is no command or word {printable(word, limit=40)!r}.",
            remedy=f"Did you mean {', '.join(near)}?" if near else "`richter help words` lists the words.",
        )
    if meaning is not None:
        click.echo(f"{word}: {meaning}")
    if command is not None:
        with click.Context(command, info_name=word, parent=root) as inner:
            click.echo(("\n" if meaning else "") + command.get_help(inner))
