"""`richter bench`: build and inspect item sets."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click
from rich.table import Table

from richter.cli._output import console, json_option, progress_console, write_json
from richter.errors import StorageError
from richter.records import Item, printable

__all__ = ["bench"]


@click.group()
def bench() -> None:
    """Build and inspect item sets."""


@bench.group()
def build() -> None:
    """Build a benchmark from facts."""


@build.command("facts")
@click.option("--items", default=10_000, show_default=True, help="How many questions.")
@click.option("--seed", default=0, show_default=True, help="Another seed draws other questions.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The JSONL file to write.")
@json_option
def build_facts_command(items: int, seed: int, output: Path, json_path: str | None) -> None:
    """Build the facts benchmark: 8 domains, 5 tiers, free-form prompt and four options for every item.

    The same number, seed and versions of the data packages give the same file everywhere, and a smaller benchmark
    is the beginning of a larger one. Beside it goes a gazetteer (OUTPUT with .gazetteer.json.gz), by which wrong
    answers are graded.

    \b
    Examples:
      richter bench build facts -o facts.jsonl
      richter bench build facts --items 240 --seed 1 -o small.jsonl
    """
    from richter.bench import build_facts, pack, write_bytes, write_items

    if not output.parent.is_dir():  # said before the work, not after it
        raise StorageError(f"{output.parent} is no folder.", remedy="Make it, or choose another place.")
    with progress_console().status("Reading the sources and writing questions …"):
        built = build_facts(items=items, seed=seed)
    beside = output.with_name(f"{output.name.split('.')[0]}.gazetteer.json.gz")
    write_items(built.items, output)
    write_bytes(pack(built.gazetteer), beside)
    out = console(json_path)
    out.print(f"{len(built.items):,} items in {output}; {beside.name} beside it grades wrong answers.")
    out.print("From " + ", ".join(f"{name} {version}" for name, version in sorted(built.versions.items())) + ".")
    write_json({**built.to_dict(), "output": str(output), "gazetteer": str(beside)}, json_path)


@bench.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--examples", default=1, show_default=True, help="Questions to print for each domain and tier.")
@json_option
def show(file: Path, examples: int, json_path: str | None) -> None:
    """Say what is in an item set: how many by domain and tier, and examples.

    \b
    Examples:
      richter bench show facts.jsonl
      richter bench show facts.jsonl --examples 3
    """
    from richter.bench import read_items

    items = read_items(file)
    cells = Counter((item.domain or "(no domain)", item.tier) for item in items)
    forms = Counter(item.form for item in items)
    domains = list(dict.fromkeys(domain for domain, _ in cells))
    tiers = sorted({tier for _, tier in cells if tier is not None})
    out = console(json_path)
    with_options = sum(bool(item.options) for item in items)
    out.print(
        f"{len(items):,} items in {len(domains)} domain{'s' * (len(domains) > 1)}; {with_options:,} with options; "
        + ", ".join(f"{count:,} {form}" for form, count in sorted(forms.items()))
        + "."
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("domain")
    for tier in tiers:
        table.add_column(f"tier {tier}", justify="right")
    table.add_column("all", justify="right")
    for domain in domains:
        counts = [cells[domain, tier] for tier in tiers]
        total = sum(count for (name, _), count in cells.items() if name == domain)
        table.add_row(printable(domain, limit=40), *(str(c) for c in counts), str(total))
    out.print(table)
    for domain in domains:
        for tier in tiers:
            own = [item for item in items if (item.domain or "(no domain)", item.tier) == (domain, tier)]
            for item in own[:examples]:
                _example(out.print, item)
    write_json(
        {
            "file": str(file),
            "items": len(items),
            "forms": dict(sorted(forms.items())),
            "cells": [
                {"domain": domain, "tier": tier, "items": count}
                for (domain, tier), count in sorted(cells.items(), key=lambda kv: (kv[0][0], kv[0][1] or 0))
            ],
        },
        json_path,
        inputs=[file],
    )


def _example(say: Callable[[str], None], item: Item) -> None:
    head = f"[{item.domain}, tier {item.tier}, {item.form}] "
    say(printable(head + item.prompt + " -> " + item.reference, limit=400))
