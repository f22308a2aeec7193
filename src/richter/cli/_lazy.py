"""Command groups that load a command's module when it is called, so that `--help` is quick."""

from importlib import import_module
from typing import Any

import click

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """A group over a table: name -> (module under richter.cli, attribute, one line of help).

    `groups` orders the names under headings; `--help` then shows the first group and says where the others are.
    """

    def __init__(
        self,
        *args: Any,
        table: dict[str, tuple[str, str, str]],
        groups: dict[str, tuple[str, ...]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
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
        command: click.Command = getattr(import_module(f"richter.cli.{module}"), attribute)
        return command

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
