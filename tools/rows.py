"""Does every row of the papers keep its figure? Makes the rows of papers/reproduction.toml anew and compares them.

A row may change its command, never its figure. papers/rows.json keeps both, and the seconds that a row took where the
tables that it shares with rows above it were there already.

    python tools/rows.py --check [--fast | --row NAME]
    python tools/rows.py --write [--fast | --row NAME]

`--check` ends with 1 where a figure differs or a row has vanished. Data as in papers/reproduction.py.
"""

import argparse
import contextlib
import io
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

ROOT = Path(__file__).resolve().parents[1]
STORE = ROOT / "papers" / "rows.json"
FAST_SECONDS = 15
COUNTS_OF_OUR_DOCS = ("SEA: knowledge base", "SEA: cost table")  # digits follow docs/, which everybody edits


class StoredRow(TypedDict):
    """What is kept of a row; `seconds` is None where the figure comes from the page and was not made."""

    figure: str
    command: str
    seconds: float | None


def stored_rows() -> dict[str, StoredRow]:
    """The rows by "paper: name", in the order of the page."""
    rows: dict[str, StoredRow] = json.loads(STORE.read_text()) if STORE.exists() else {}
    return rows


def make_rows(rows: Iterable[Any], skipped: type[Exception]) -> Iterator[tuple[str, StoredRow]]:
    """Each row of reproduction.py with the figure that this code makes, or the reason why it makes none."""
    for row in rows:
        start = time.perf_counter()
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # the papers' scripts print their own pages
                figure = row.run()
        except skipped as reason:
            figure = f"skipped: {reason}"
        except Exception as error:
            figure = f"failed: {type(error).__name__}: {error}"[:200]
        seconds = round(time.perf_counter() - start, 1)
        yield f"{row.paper}: {row.name}", StoredRow(figure=figure, command=row.command, seconds=seconds)


def comparable(name: str, figure: str) -> str:
    """The figure as it is compared."""
    return re.sub(r"[\d.,]*\d", "#", figure) if name in COUNTS_OF_OUR_DOCS else figure


def differences(stored: Mapping[str, StoredRow], made: Mapping[str, StoredRow], known: Iterable[str]) -> list[str]:
    """A line for each figure that differs and each stored row that is not among the `known` ones."""
    lines = [f"VANISHED {name}: {stored[name]['figure']}" for name in stored if name not in set(known)]
    for name, row in made.items():
        if name not in stored:
            lines.append(f"NOT STORED {name}: {row['figure']}")
        elif comparable(name, row["figure"]) != comparable(name, stored[name]["figure"]):
            lines.append(f"DIFFERS {name}\n  stored: {stored[name]['figure']}\n  now:    {row['figure']}")
    return lines


def command_changes(stored: Mapping[str, StoredRow], commands: Mapping[str, str]) -> list[str]:
    """A line for each row with another command than the one that is stored."""
    both = [name for name in commands if name in stored and stored[name]["command"] != commands[name]]
    return [f"command of {name}\n  stored: {stored[name]['command']}\n  now:    {commands[name]}" for name in both]


def main() -> None:
    """Write the rows, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="store what this code makes")
    what.add_argument("--check", action="store_true", help="compare what this code makes with what is stored")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--fast", action="store_true", help=f"only rows of at most {FAST_SECONDS} seconds")
    which.add_argument("--row", help="only this row")
    given = parser.parse_args()

    sys.path.append(str(ROOT / "papers"))
    import reproduction

    stored, papers = stored_rows(), list(reproduction.PAPERS)
    rows = {f"{r.paper}: {r.name}": r for r in sorted(reproduction.ROWS, key=lambda r: papers.index(r.paper))}
    slow = {name for name, row in stored.items() if row["seconds"] is None or row["seconds"] > FAST_SECONDS}
    chosen = [r for name, r in rows.items() if given.row in (None, r.name) and not (given.fast and name in slow)]
    if not chosen:
        parser.error(f"no row is named {given.row!r}")
    made: dict[str, StoredRow] = {}
    with tempfile.TemporaryDirectory() as folder:
        reproduction.WORK = Path(folder)  # nothing that an earlier run left is used again
        for name, row in make_rows(chosen, reproduction.SkippedRowError):
            made[name] = row
            print(f"{name}: {row['figure']} [{row['seconds']:g} s]", flush=True)
    if given.write:
        kept = stored | {name: row for name, row in made.items() if not row["figure"].startswith("failed: ")}
        stored = {name: kept[name] for name in rows if name in kept}
        STORE.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    found = differences(stored, made, rows)
    print(*command_changes(stored, {name: r.command for name, r in rows.items()}), *found, sep="\n")
    print(f"{len(made)} of {len(rows)} rows made; {len(found)} differ or are gone")
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
