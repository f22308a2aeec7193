"""`richter label`."""

import getpass
import webbrowser
from pathlib import Path
from shlex import quote
from typing import Any

import click

from richter.audit import import_ratings, serve_rating, write_sheet
from richter.claims import labelled_measures
from richter.cli._io import console
from richter.errors import InputError
from richter.records import counted, printable
from richter.store import Place, run_place


@click.command()
@click.argument("run", type=run_place)
@click.argument("conditions", nargs=-1)
@click.option(
    "--on",
    type=click.Choice(labelled_measures()),
    help="What the claim is on; by default what the run is graded by.",
)
@click.option("--rater", default="", show_default=False, help="Who labels; your user name by default.")
@click.option("--n", type=click.IntRange(2), default=60, help="Answers in the first sample.")
@click.option("--batch", type=click.IntRange(1), default=20, help="Answers added at a time.")
@click.option("--most", type=click.IntRange(2), default=200, help="Answers at most.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the sample.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page; a free one by default.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("--sheet", type=click.Path(path_type=Path), help="Write a blind sheet (CSV) instead of serving a page.")
@click.option("--import", "source", type=click.Path(path_type=Path), help="Read a filled sheet or a ratings table.")
def label(
    run: Place,
    conditions: tuple[str, ...],
    rater: str,
    port: int,
    no_browser: bool,
    sheet: Path | None,
    source: Path | None,
    **sample: Any,
) -> None:
    """Label answers by hand, blind, until a claim is decided: who answered and what judges said is hidden.

    The claim is on two CONDITIONS (by default the run's first two). The sample is drawn by condition and severity
    band and shared by all raters, each in their own order; every further batch goes where labels narrow the claim
    most, and it ends when the claim is decided or --most is reached. The page shows where the claim stands; on it: 0
    to 4 for the level and a full stop for the half step above it, a letter for the mechanism, Enter to save, U to go
    back, ? for the scale. Every label is kept at once; close the page whenever you like and start again to go on.

    \b
    Examples:
      richter label run1 --rater anna
      richter label run1 old new --on accuracy --most 120
      richter label run1 --sheet labels.csv --rater anna
      richter label run1 --import labels.csv --rater anna
      richter compare run1
    """
    if sheet is not None and source is not None:
        raise click.UsageError("--sheet writes and --import reads: give one of them.")
    if len(conditions) > 2:
        raise click.UsageError("A claim is on one condition or two.")
    out = console()
    if sheet is not None:
        if sheet.exists():
            raise InputError(f"{sheet} exists.", remedy="Choose another name: it may hold someone's ratings.")
        count = write_sheet(run, sheet, rater=rater, conditions=conditions, **sample)
        if not count:
            out.print(f"Nothing is left to label for this claim. Next: richter compare {quote(str(run))}")
            return
        out.print(
            f"{sheet}: {counted(count, 'answer')} to rate. Fill in severity (0 to 4 in half steps) and mechanism, then:"
        )
        out.print(f"  richter label {quote(str(run))} --import {quote(str(sheet))} --rater NAME")
        return
    if source is not None:
        found = import_ratings(run, source, rater=rater)
        out.print(f"{printable(str(found), limit=600)} Next: richter agreement {quote(str(run))}", soft_wrap=True)
        return

    def ready(address: str, total: int) -> None:
        out.print(f"{counted(total, 'answer')} to rate, on this machine only. Open (it works once):")
        out.print(address, soft_wrap=True)
        out.print("Stop with Ctrl-C; what is rated is kept.")
        if not no_browser:
            webbrowser.open(address)

    who = rater or getpass.getuser()
    done, claim = serve_rating(run, rater=who, conditions=conditions, port=port, ready=ready, **sample)
    out.print(f"{counted(done, 'answer')} rated. {printable(claim, limit=400)}", soft_wrap=True)
    out.print(f"Next: richter compare {quote(str(run))}")
