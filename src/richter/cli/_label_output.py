"""`richter label`."""

import getpass
import webbrowser
from pathlib import Path
from shlex import quote
from typing import Any

import click

from richter.audit import import_ratings, serve_rating, write_sheet
from richter.cli._io import console
from richter.errors import InputError
from richter.records import counted, printable
from richter.store import Place


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
    """Label answers by hand, blind, until a claim is decided: who answered and what judges said is hidden."""
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
        out.print(f"{printable(str(found), limit=600)} Next: richter label agreement {quote(str(run))}", soft_wrap=True)
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
