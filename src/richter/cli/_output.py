"""What every command shares: JSON out, tables, untrusted text."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from richter.errors import InputError, StorageError
from richter.records import plain

json_option = click.option(
    "--json",
    "json_path",
    metavar="PATH",
    help="Write the result as JSON to PATH, or to standard output with '-' (then nothing else is printed there).",
)


def console(json_path: str | None = None) -> Console:
    """Where a command prints for people: stdout, or stderr when stdout carries JSON.

    Off a terminal sentences are not broken into lines and tables are at least 120 columns wide, so that logs and pipes
    read well; markup is off, since what is printed may hold model output.
    """
    stream = sys.stderr if json_path == "-" else sys.stdout
    terminal = stream.isatty()
    width = None if terminal else max(120, int(os.environ.get("COLUMNS") or 0))
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=not terminal)


def cells(template: str, row: Any) -> list[str]:
    """The cells of a table's row: `{r.field:format}` of it, with | between them."""
    return template.format(r=row).split("|")


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
    if json_path == "-":
        sys.stdout.write(text)
        return
    target = Path(json_path)
    for path in inputs:
        if target.exists() and Path(path).exists() and target.samefile(path):
            raise InputError(f"--json {target} would overwrite an input.", remedy="Choose another path.")
    partial = target.with_name(target.name + ".part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror}.", remedy="Choose another path.") from error
