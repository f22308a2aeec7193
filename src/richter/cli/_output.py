"""What every command shares: JSON out, tables, untrusted text."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from richter.errors import InputError
from richter.records import plain
from richter.store import write_file


def _one_only(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value == "-" and ctx.meta.setdefault("richter.stdout", param.name) != param.name:
        raise InputError("Two results would go to standard output.", remedy="Give one of them a path.")
    return value


json_option = click.option(
    "--json",
    "json_path",
    callback=_one_only,
    metavar="PATH",
    help="Write the result as JSON to PATH, or to standard output with '-' (then nothing else is printed there).",
)


md_option = click.option(
    "--md", "md_path", callback=_one_only, metavar="PATH", help="Write Markdown for a pull request to PATH, or '-'."
)


def console(*paths: str | None) -> Console:
    """Where a command prints for people: stdout, or stderr when one of `paths` is "-" and stdout carries a result.

    Off a terminal sentences are not broken into lines and tables are at least 120 columns wide, so that logs and pipes
    read well; markup is off, since what is printed may hold model output.
    """
    stream = sys.stderr if "-" in paths else sys.stdout
    terminal = stream.isatty()
    width = None if terminal else max(120, int(os.environ.get("COLUMNS") or 0))
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=not terminal)


def cells(template: str, row: Any) -> list[str]:
    """The cells of a table's row: `{r.field:format}` of it, with | between them."""
    return template.format(r=row).split("|")


def grid(headings: str | Sequence[str], rows: Iterable[Iterable[str]], **look: Any) -> Table:
    """A table: its headings, with | between them, and its rows; `look` as rich has it."""
    table = Table(*(headings.split("|") if isinstance(headings, str) else headings), **look)
    for row in rows:
        table.add_row(*row)
    return table


def progress_console() -> Console:
    """Progress goes to stderr."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def write_json(payload: Any, json_path: str | None, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write the result where `--json` says; never over an input; nothing half-written."""
    if json_path is None:
        return
    payload = plain(payload)
    context = click.get_current_context(silent=True)
    defaults = None if context is None else (context.find_root().obj or {}).get("defaults")
    if defaults and isinstance(payload, dict):
        payload = {**payload, "defaults": plain(defaults)}  # what richter.toml settled
    text = json.dumps(payload, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(text, json_path, inputs=inputs)


def write_text(text: str, target: str | None, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write what a command made where its option says: a file, standard output ("-"), or nowhere."""
    if target is None:
        return
    if target != "-":
        if any(Path(target).exists() and Path(p).exists() and Path(target).samefile(p) for p in inputs):
            raise InputError(f"{target} would overwrite an input.", remedy="Choose another path.")
        write_file(target, text)
    else:
        sys.stdout.write(text)
