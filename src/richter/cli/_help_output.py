"""What `richter help` prints: all commands by the question they answer, a command, or the meaning of a word."""

import difflib

import click

from richter.cli._main import COMMANDS, CommandTable
from richter.cli._options import CONFIRMING, VOUCHING, WEIGHING, DataCommand
from richter.errors import InputError
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
    elif word == "reading":
        click.echo(_describe_reading(root))
    else:
        _explain(root, commands, word)


def _describe_reading(root: click.Context) -> str:
    """The options for reading, and for what the user vouches for, which all commands on data share."""
    every = DataCommand("reading", callback=lambda **_: None, reads=WEIGHING, vouches=True)
    every.complete()
    context, formatter = click.Context(every, parent=root), root.make_formatter()
    for heading, names in (("How data are read", (*WEIGHING, *CONFIRMING)), ("What you vouch for", VOUCHING)):
        records = [p.get_help_record(context) for p in every.params if p.name in names]
        with formatter.section(heading):
            formatter.write_dl([record for record in records if record is not None])
    return formatter.getvalue().strip()


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
