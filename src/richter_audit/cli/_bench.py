"""`richter bench`: build and inspect item sets."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

from richter.cli._io import PLAIN, Group, console, grid, json_option, progress_console, publish, write_json
from richter.errors import StorageError
from richter.records import printable
from richter.store import write_file
from richter_audit.bench._item_sets import SETS


@click.group(cls=Group)
def bench() -> None:
    """Build and inspect item sets.

    \b
    Examples:
      richter bench build facts --items 1000 -o facts.jsonl
      richter bench show facts.jsonl
    """


@bench.group()
def build() -> None:
    """Build a benchmark from facts.

    \b
    Examples:
      richter bench build facts -o facts.jsonl
      richter bench build facts --items 200 --seed 7 -o small.jsonl
    """


@build.command("facts")
@click.option("--items", default=10_000, help="How many questions.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Another seed draws other questions.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The JSONL file to write.")
@json_option
def build_facts_command(items: int, seed: int, output: Path, json_path: str | None) -> None:
    """Build the facts benchmark: 8 domains, 5 tiers, free-form prompt and four options for every item.

    The same number, seed and versions of the data packages give the same file everywhere, and a smaller benchmark
    is the beginning of a larger one. Beside it go a gazetteer (OUTPUT with .gazetteer.json.gz), by which wrong
    answers are graded, and a note of what reproduces it (.build.json).

    \b
    Examples:
      richter bench build facts -o facts.jsonl
      richter bench build facts --items 240 --seed 1 -o small.jsonl
    """
    from richter_audit.bench import BUILD, beside, build_facts, pack, write_items

    if not output.parent.is_dir():  # said before the work, not after it
        raise StorageError(f"{output.parent} is no folder.", remedy="Make it, or choose another place.")
    with progress_console().status("Reading the sources and writing questions …"):
        built = build_facts(items=items, seed=seed)
    grader = beside(output)
    write_items(built.items, output)
    write_file(grader, pack(built.gazetteer))
    sha256 = {"sha256": hashlib.sha256(output.read_bytes()).hexdigest()}
    note = {"benchmark": "facts", **built.to_dict(), **sha256}
    stem = output.name.split(".")[0]
    write_file(output.with_name(f"{stem}{BUILD}"), json.dumps(note, indent=2, sort_keys=True) + "\n")
    out = console(json_path)
    out.print(f"{len(built.items):,} items in {output}; {grader.name} beside it grades wrong answers.")
    out.print(f"SHA-256 {sha256['sha256']}")
    out.print("From " + ", ".join(f"{name} {version}" for name, version in sorted(built.versions.items())) + ".")
    write_json({**built.to_dict(), **sha256, "output": str(output), "gazetteer": str(grader)}, json_path)


@bench.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--examples", default=1, help="Questions to print for each domain and tier.")
@json_option
def show(file: Path, examples: int, json_path: str | None) -> None:
    """Say what is in an item set: how many by domain and tier, and examples.

    \b
    Examples:
      richter bench show facts.jsonl
      richter bench show facts.jsonl --examples 3
    """
    from richter_audit.bench import read_items

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
    rows = []
    for domain in domains:
        total = sum(count for (name, _), count in cells.items() if name == domain)
        rows.append([printable(domain, limit=40), *(str(cells[domain, tier]) for tier in tiers), str(total)])
    out.print(grid(["domain", *(f"tier {tier}" for tier in tiers), "all"], rows, right=1, **PLAIN))
    for domain in domains:
        for tier in tiers:
            own = [item for item in items if (item.domain or "(no domain)", item.tier) == (domain, tier)]
            for item in own[:examples]:
                head = f"[{item.domain}, tier {item.tier}, {item.form}] "
                out.print(printable(head + item.prompt + " -> " + item.reference, limit=400))
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


@bench.command("card")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder to write.")
@click.option("--name", help="For an item set of your own: what it is called.")
@click.option("--license", "license_name", help="For an item set of your own: its terms, such as MIT or a web address.")
@click.option("--creator", help="For an item set of your own: who made it.")
@click.option("--url", default="", show_default=False, help="Where it can be had.")
@click.option(
    "--published",
    default="",
    show_default=False,
    metavar="YYYY-MM-DD",
    help="The date of publication, if it is to be told.",
)
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
@json_option
def card(file: Path, output: Path, json_path: str | None, **options: Any) -> None:
    """Write an item set as a data set that others can cite and load.

    The folder holds README.md (a datasheet under the header that the Hugging Face Hub reads), croissant.json and the
    data files. The same items give the same bytes everywhere.

    \b
    Examples:
      richter bench build facts -o facts.jsonl
      richter bench card facts.jsonl -o facts-card
      richter bench card mine.jsonl -o card --name "My questions" --license MIT --creator "Us"
    """
    from richter_audit.bench import read_items, write_card

    made = write_card(read_items(file), file, output, **options)
    out = publish(made, json_path, inputs=[file])
    out.print(f"{output}: README.md, croissant.json and {made['items']:,} items, version {made['version']}.")
    for path, sha256 in made["sha256"].items():
        out.print(f"  {sha256}  {path}")


@bench.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", type=click.Choice(SETS), required=True, help="For whom.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The file or folder to write.")
@click.option("--name", help="What the set is called; the file's name unless given.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
@json_option
def export(file: Path, to: str, output: Path, name: str | None, force: bool, json_path: str | None) -> None:
    """Write an item set for promptfoo, Inspect or pytest.

    \b
    Examples:
      richter bench export facts.jsonl --to promptfoo -o facts.yaml
      richter bench export facts.jsonl --to inspect -o tasks/facts
    """
    from richter_audit.bench import read_items, write_set

    items = read_items(file)
    files = write_set(items, output, to=to, name=name or file.name.split(".")[0], force=force)
    out = publish({"files": files, "items": len(items)}, json_path, inputs=[file])
    out.print(f"{len(items):,} items for {to}: {', '.join(map(str, files))}.")
