"""`--engine` and `--workers`, alike in every command that can use more than one machine."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def engine_options(command: Command) -> Command:
    """Add `engine` and `workers`, which `richter.engine.open_engine(engine, workers=workers)` takes."""
    command = click.option(
        "--workers",
        type=click.IntRange(1),
        callback=_only_with_ray,
        help="With --engine ray: how much is done at a time; default as much as there are processors.",
    )(command)
    return click.option(
        "--engine",
        metavar="ENGINE",
        default="local",
        show_default=True,
        is_eager=True,  # so that --workers can be held against it, whichever comes first
        help="local, ray (RAY_ADDRESS, or a cluster started here) or ray://host:port; changes no number.",
    )(command)


def _only_with_ray(context: click.Context, _: click.Parameter, workers: int | None) -> int | None:
    if workers is not None and context.params.get("engine") == "local":
        raise click.UsageError("--workers needs --engine ray: without it the work is done in this process.", context)
    return workers
