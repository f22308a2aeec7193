"""`richter size`: how many items a claim will need."""

import click

from richter.cli._main import LazyGroup

# one line a claim; each room's sizing lives in its own file
TABLE = {
    "calibration": ("_size_floors", "size_calibration", "Labels to estimate or detect a calibration error."),
    "error-rate": ("_size_floors", "size_error_rate", "Items to measure an error rate, or to bound it."),
    "gap": ("_size_floors", "size_gap", "Items, asked of both, that settle a gap in accuracy."),
    "groups": ("_size_floors", "size_groups", "Labels to verify calibration in every group."),
    "tail": ("_size_tail", "size_tail", "Items for a claim about tail shape."),
}


@click.group(cls=LazyGroup, table=TABLE)
def size() -> None:
    """How many items a claim will need, before anyone asks a model.

    \b
    Examples:
      richter size gap --margin 2pt --discordance 0.12
      richter size error-rate --rate 0.1 --half-width 2pt
    """
