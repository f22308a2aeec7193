"""Commands of several stages."""

from collections.abc import Mapping
from typing import Any

import click

from richter.cli._options import ScreenCommand


class StagedCommand(ScreenCommand):
    """A command of several stages: `--only STAGE` does one of them, which has options of its own.

    `named_by` has options that name a stage by themselves.
    """

    def __init__(
        self,
        *args: Any,
        stages: Mapping[str, click.Command],
        named_by: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.stages, self.named_by = dict(stages), dict(named_by or {})

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the stage that is named, else of all of them."""
        stage, rest = self.stage_of(args)
        if stage is None:
            return super().make_context(info_name, args, parent, **extra)
        extra["default_map"] = ((parent and parent.default_map) or {}).get(info_name or "")
        return self.stages[stage].make_context(f"{info_name} --only {stage}", rest, parent, **extra)

    def stage_of(self, args: list[str]) -> tuple[str | None, list[str]]:
        """The stage that the arguments name, and the arguments without its name."""
        for k, word in enumerate(args):
            option, equals, value = word.partition("=")
            stage = value if equals else " ".join(args[k + 1 : k + 2])
            if option == "--only" and stage in self.stages:
                return stage, [*args[:k], *args[k + (1 if equals else 2) :]]
            if option in self.named_by:
                return self.named_by[option], args
        return None, args
