"""`richter help`: commands by the question they answer, and the meaning of words."""

import difflib

import click

from richter.cli._main import LazyGroup
from richter.errors import InputError
from richter.records import GLOSSARY, explain, printable


@click.command(name="help")
@click.argument("topic", nargs=-1)
@click.pass_context
def help_(ctx: click.Context, topic: tuple[str, ...]) -> None:
    """Explain a command or a word.

    \b
    Examples:
      richter help all
      richter help compare
      richter help condition
      richter help words
    """
    parent = ctx.parent
    assert parent is not None
    root = parent.command
    assert isinstance(root, LazyGroup)
    word = " ".join(topic)
    if not word:
        click.echo(root.get_help(parent))
    elif word == "all":
        formatter = ctx.make_formatter()
        root.write_groups(formatter, every=True)
        click.echo(formatter.getvalue().strip())
    elif word == "words":
        for term, text in GLOSSARY.items():
            click.echo(f"{term}: {text}")
    else:
        meaning = explain(word)
        command = root.get_command(parent, word)
        if meaning is None and command is None:
            known = [*root.table, *GLOSSARY]
            near = difflib.get_close_matches(word, known, n=3)
            raise InputError(
                f"There is no command or word {printable(word, limit=40)!r}.",
                remedy=f"Did you mean {', '.join(near)}?" if near else "`richter help words` lists the words.",
            )
        if meaning is not None:
            click.echo(f"{word}: {meaning}")
        if command is not None:
            with click.Context(command, info_name=word, parent=parent) as inner:
                click.echo(("\n" if meaning else "") + command.get_help(inner))
