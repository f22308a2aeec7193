"""`richter rate`."""

import getpass
import webbrowser
from pathlib import Path

import click

from richter.audit import import_ratings, serve_rating, write_sheet
from richter.cli._output import console
from richter.errors import InputError
from richter.store import Place, run_place

__all__ = ["rate"]


@click.command()
@click.argument("run", type=run_place)
@click.option("--rater", default="", help="Who rates; your user name by default.")
@click.option("--n", type=click.IntRange(2), default=60, show_default=True, help="Answers in the sample.")
@click.option("--seed", default=0, show_default=True, help="Seed of the sample.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page; a free one by default.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("--sheet", type=click.Path(path_type=Path), help="Write a blind sheet (CSV) instead of serving a page.")
@click.option("--import", "source", type=click.Path(path_type=Path), help="Read a filled sheet or a ratings table.")
def rate(
    run: Place,
    rater: str,
    n: int,
    seed: int,
    port: int,
    no_browser: bool,
    sheet: Path | None,
    source: Path | None,
) -> None:
    """Rate answers by hand, blind: who answered, what judges and other people said is hidden.

    The sample is drawn once per run, by condition and severity band, and shared by all raters, each in their own
    order. On the page: 0 to 8 for the level, a letter for the mechanism, Enter to save, U to go back, ? for the scale.
    Every rating is kept at once; close the page whenever you like and start the command again to go on.

    \b
    Examples:
      richter rate run1 --rater anna
      richter rate run1 --sheet labels.csv
      richter rate run1 --import labels.csv --rater anna
      richter agreement run1
    """
    if sheet is not None and source is not None:
        raise click.UsageError("--sheet writes and --import reads: give one of them.")
    out = console()
    if sheet is not None:
        if sheet.exists():
            raise InputError(f"{sheet} exists.", remedy="Choose another name: it may hold someone's ratings.")
        count = write_sheet(run, sheet, rater=rater, n=n, seed=seed)
        out.print(f"{sheet}: {count} answers to rate. Fill in severity (0 to 4 in half steps) and mechanism, then:")
        out.print(f"  richter rate {run} --import {sheet} --rater NAME")
        return
    if source is not None:
        count = import_ratings(run, source, rater=rater)
        out.print(f"{count} human ratings imported. Next: richter agreement {run}")
        return

    def ready(address: str, total: int) -> None:
        out.print(f"{total} answers to rate, on this machine only. Open (it works once):")
        out.print(address, soft_wrap=True)
        out.print("Stop with Ctrl-C; what is rated is kept.")
        if not no_browser:
            webbrowser.open(address)

    done = serve_rating(run, rater=rater or getpass.getuser(), n=n, seed=seed, port=port, ready=ready)
    out.print(f"{done} answers rated. Next: richter agreement {run}")
