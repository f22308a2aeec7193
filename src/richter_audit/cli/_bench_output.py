"""`richter bench`: build sets of questions, have them written, and show them."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import click
from rich.console import Console

from richter.cli._io import PLAIN, console, grid, progress_console, publish, write_json
from richter.errors import StorageError
from richter.models import resolve
from richter.records import Item, printable
from richter.store import write_file
from richter_audit.cli._calls import Calls
from richter_audit.cli._progress import price_at_most

BUILD = ".build.json"  # beside the items: what reproduces them


def bench(
    source: str,
    output: Path | None,
    items: int,
    seed: int,
    generator: str | None,
    checker: str | None,
    domains: tuple[str, ...],
    calls: Calls,
    examples: int,
    json_path: str | None,
) -> None:
    """Build the facts benchmark, have one written, or show a set of questions."""
    file = Path(source)
    if source == "written" and not file.exists():
        _write_bench(items, domains, generator, checker, calls, output, json_path)
        return
    if source == "facts" and not file.exists():
        if output is None:
            raise click.UsageError("Build it first: richter bench facts -o facts.jsonl.")
        _build_facts(items, seed, output, json_path)
    elif output is not None:
        raise click.UsageError(f"{source} is shown, not written: -o is for facts.")
    else:
        _show(file, examples, json_path)


def _build_facts(items: int, seed: int, output: Path, json_path: str | None) -> None:
    """Build the facts benchmark: 8 domains, 5 tiers, free-form prompt and four options for every item."""
    from richter_audit.bench import beside, build_facts, pack, write_items

    if not output.parent.is_dir():  # said before the work, not after it
        raise StorageError(f"{output.parent} is not a folder.", remedy="Make it, or choose another place.")
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


def _write_bench(
    items: int,
    domains: tuple[str, ...],
    generator: str | None,
    checker: str | None,
    calls: Calls,
    output: Path | None,
    json_path: str | None,
) -> None:
    """Have a benchmark written and checked by models, or say what it costs."""
    from richter_audit.ascent import PAPER_DOMAINS, BenchOrder, estimate_bench, write_bench
    from richter_audit.bench import write_items

    if generator is None or checker is None or (output is None and not calls.dry_run):
        raise click.UsageError("Name who writes, who checks, and the file: --generator, --checker and -o.")
    order = BenchOrder(
        items=items,
        domains=domains or PAPER_DOMAINS,
        writer=resolve(generator).name,
        checker=resolve(checker).name,
    )
    if calls.dry_run or output is None:
        plan = estimate_bench(order, calls.prices)
        out = publish({"dry_run": plan}, json_path)
        out.print(
            f"About {plan.calls:,} calls if a quarter of the questions fails. At most {plan.calls_most:,} calls "
            f"({price_at_most(plan.money_usd_most)}).",
            soft_wrap=True,
        )
        calls.say_prices(out)
        return
    told, stem = progress_console(), output.name.split(".")[0]
    with calls.opened(None) as asked:
        written = write_bench(
            output.with_name(f"{stem}.run"), order, tell=lambda line: told.print(line, soft_wrap=True), **asked
        )
    write_items(written.items, output)
    note = json.dumps({"benchmark": "written", **written.to_dict()}, indent=2, ensure_ascii=False)
    write_file(output.with_name(f"{stem}{BUILD}"), f"{note}\n")
    out = publish({**written.to_dict(), "output": str(output)}, json_path)
    out.print(f"{len(written.items):,} of {items:,} questions in {output}.", soft_wrap=True)
    if written.rejected:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in written.reasons.items())
        out.print(f"Rejected: {reasons}. {stem}{BUILD} lists them.", soft_wrap=True)
    if written.missing:
        short = ", ".join(f"{count:,} of {printable(cell, limit=60)}" for cell, count in written.missing.items())
        out.print(f"Missing: {short}.", soft_wrap=True)
    if written.stopped is not None:
        raise written.stopped


def _show(file: Path, examples: int, json_path: str | None) -> None:
    """Say what is in an item set: how many by domain and tier, and examples."""
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
    _print_domains(out, cells, domains, tiers)
    for cell in product(domains, tiers):
        own = [item for item in items if (item.domain or "(no domain)", item.tier) == cell]
        _print_examples(out, own[:examples])
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


def _print_domains(
    out: Console, cells: Counter[tuple[str, int | None]], domains: Sequence[str], tiers: Sequence[int]
) -> None:
    """Print how many items each domain has in each tier, and in all."""
    rows = []
    for domain in domains:
        total = sum(count for (name, _), count in cells.items() if name == domain)
        rows.append([printable(domain, limit=40), *(str(cells[domain, tier]) for tier in tiers), str(total)])
    out.print(grid(["domain", *(f"tier {tier}" for tier in tiers), "all"], rows, right=1, **PLAIN))


def _print_examples(out: Console, items: Sequence[Item]) -> None:
    """Print a line for each item: its domain, tier and form, the question and the answer."""
    for item in items:
        head = f"[{item.domain}, tier {item.tier}, {item.form}] "
        out.print(printable(head + item.prompt + " -> " + item.reference, limit=400))
