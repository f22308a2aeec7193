"""Command lines that somebody reads: which command they name, and which options it has."""

import re
import shlex

import click

from richter.cli._main import COMMANDS, _root
from richter.cli._options import DataCommand

FIRST_WORDS = {name.split()[0] for name in COMMANDS}
_LINE = re.compile(r"\brichter((?: [^\s`]+)+)")


def command_of(words: list[str]) -> tuple[str, click.Command] | None:
    """The command that words name, with its own words, options for reading included; None where there is none."""
    name = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else " ".join(words[:1])
    command = _root.get_command(click.Context(_root), name) if name in COMMANDS else None
    if command is None:
        return None
    stage = command.stage_of(words)[0] if hasattr(command, "stage_of") else None
    if stage is not None:
        name, command = f"{name} --only {stage}", command.stages[stage]  # type: ignore[attr-defined]
    if isinstance(command, DataCommand):
        command.complete()
    return name, command


def options_of(command: click.Command) -> set[str]:
    """All options of a command."""
    return {name for p in command.params for name in (*p.opts, *p.secondary_opts)} | {"--help", "--only"}


def unknown_options(words: list[str]) -> set[str]:
    """The options of a command line that its command has not."""
    named = command_of(words)
    assert named is not None, f"richter {' '.join(words)}: no such command"
    used = {w.partition("=")[0] for w in words if re.fullmatch(r"--[a-z][a-z-]*(=.*)?", w)}
    return used - options_of(named[1])


def lines_in(text: str) -> list[list[str]]:
    """The command lines that a text holds, each in its words up to the next command of the shell."""
    found = []
    for line in _LINE.findall(text):
        part = re.split(r"\s(?:&&|\||#)\s|\\$|[;,.:)]\s|\s\s", line.strip())[0]
        try:
            words = shlex.split(part)
        except ValueError:  # a quotation that goes on in the next line
            words = part.split()
        if words and re.fullmatch(r"[a-z]+", words[0]):
            found.append([w.rstrip(".,:)") for w in words])
    return found
