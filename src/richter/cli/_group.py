"""Command groups that load a command's module when it is called, so that `--help` is quick."""

from importlib import import_module
from pathlib import Path
from typing import Any

import click


def _load(module: str, attribute: str) -> click.Command:
    command: click.Command = getattr(import_module(f"richter.cli.{module}"), attribute)
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
        """Import the module that holds the command."""
        if cmd_name not in self.table:
            return None
        module, attribute, _ = self.table[cmd_name]
        return _load(module, attribute)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command named first; for a path that is none, the command that takes paths."""
        if self.for_paths is not None and args[0] not in self.table and _is_data(args[0]):
            return self.for_paths[1], _load(*self.for_paths), args
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
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), self.table[name][2]) for name in names])
