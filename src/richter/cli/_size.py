"""`richter size`: how many items a claim will need."""

import click

from richter.cli._lazy import LazyGroup

__all__ = ["size"]

# one line a claim; each room's sizing lives in its own file
TABLE = {
    "tail": ("_size_tail", "size_tail", "Items for a claim about tail shape."),
}


@click.group(cls=LazyGroup, table=TABLE)
def size() -> None:
    """How many items a claim will need, before anyone asks a model."""
