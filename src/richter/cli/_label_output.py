"""What `richter label` and `richter label next` print."""

import getpass
import webbrowser
from pathlib import Path
from shlex import quote
from typing import Any

import click

from richter.audit import import_ratings, next_labels, serve_rating, write_sheet
from richter.cli._io import console, publish
from richter.errors import InputError
from richter.records import counted, printable
from richter.words import describe_ci, describe_note
from richter.words._spans import describe_level


def label(
    run: Path,
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


def label_next(file: str, budget: int, json_path: str | None, **options: Any) -> None:
    """Print and write the answers to label next, and what the labels so far say of the pool."""
    result = next_labels(file, budget=budget, memory=f"{file}.asked.json", **options)
    out = publish(result, json_path, inputs=[file])
    if result.estimate is None:
        out.print(
            f"Nothing is known of {printable(result.condition)} yet: {result.labelled} of {budget} labels are given."
        )
    else:
        e = result.estimate
        out.print(
            f"{printable(result.condition)} is wrong in {100 * e.error_rate:.1f}% of the {result.pool:,} answers "
            f"({describe_level(e.error_interval.level)} CI {100 * e.error_interval.low:.1f} to "
            f"{100 * e.error_interval.high:.1f}), by {result.labelled} of {budget} labels. "
            f"ECE {e.ece_debiased:.3f} {describe_ci(e.ece_interval, digits=3)}."
        )
    for warning in result.warnings:
        out.print(describe_note(warning))
    for item in result.skipped[:10]:
        out.print(f"  passed over: {printable(item)}")
    if not result.items:
        out.print("The budget is spent." if result.phase == "done" else "Every answer is labelled.")
        return
    out.print(f"Next: label these {counted(len(result.items), 'answer')} ({result.phase}):")
    for item in result.items:
        out.print(f"  {printable(item)}")
