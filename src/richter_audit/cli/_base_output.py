"""What `richter search --only base`, `questions` and `index` print: knowledge bases, their questions, their index."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import click
import numpy as np

from richter.cli._io import cells, console, grid, progress_console, publish, write_json
from richter.engine import open_engine
from richter.errors import InputError, MissingPart
from richter.models import resolve
from richter.records import printable
from richter.texts import open_embedder
from richter_audit import ascent, knowledge
from richter_audit.bench import FACT_PARTS
from richter_audit.cli._calls import Calls
from richter_audit.cli._progress import price_at_most

SKIPPED_NAMED = 3  # files of each reason
SHOWN = 3  # paragraphs
How = dict[str, Any]  # who embeds, where it runs, and where progress goes


@contextmanager
def _building(model_path: Path | None, engine: str, workers: int | None) -> Iterator[How]:
    """Who embeds, where it runs, and a line for each shard."""
    model, out, started = open_embedder(model_path), progress_console(), time.monotonic()

    def watch(info: knowledge.BaseInfo) -> None:
        text = f"{info.paragraphs:,} paragraphs of {info.documents:,} documents"
        out.print(f"{text}, {time.monotonic() - started:.0f} s", soft_wrap=True)

    with open_engine(engine, workers=workers) as where:
        yield {"embedding": model.name, "vectors": model.embed, "dim": model.dim, "engine": where, "watch": watch}


def base(
    places: tuple[str, ...],
    path: Path | None,
    parts: tuple[str, ...],
    model_path: Path | None,
    sample: int | None,
    seed: int,
    engine: str,
    workers: int | None,
    json_path: str | None,
) -> None:
    """Make a base of a source, add a source to one, or show one."""
    if len(places) > (2 if path is None else 1):
        raise click.UsageError("Give one source at a time.")
    if path is None and len(places) == 1:
        if sample is not None:
            _show_sample(Path(places[0]), sample, seed, json_path)
        else:
            _show(Path(places[0]), json_path)
        return
    with _building(model_path, engine, workers) as how:
        if path is None:
            _add(Path(places[0]), Path(places[1]), how, json_path)
        elif places[0] == "facts" and not Path("facts").exists():
            _build_facts(path, parts, how, json_path)
        else:
            _ingest(Path(places[0]), path, how, json_path)


def _build_facts(path: Path, parts: tuple[str, ...], how: How, json_path: str | None) -> None:
    """Build the built-in base of facts: places, airfields, divisions, languages and isotopes."""
    from richter_audit.bench import World, fact_documents  # the sources take seconds to read

    world, name = World(), " ".join(["facts", *parts])
    documents = fact_documents(world, parts=parts or FACT_PARTS)
    _print(path, knowledge.write_base(path, documents, name=name, sources=world.versions, **how), json_path)


def _ingest(source: Path, path: Path, how: How, json_path: str | None) -> None:
    """Make a base of documents in a folder or a file."""
    texts = knowledge.read_documents(source)
    info = knowledge.write_base(path, texts, name=source.stem, sources={"file": source.name}, **how)
    _print(path, info, json_path)
    if not info.askable:
        console(json_path).print(
            "No paragraph has a question yet. "
            f"Next: richter search --only questions {quote(str(path))} --generator MODEL"
        )
    _index_if_large(knowledge.open_base(path), json_path)


def _add(path: Path, source: Path, how: How, json_path: str | None) -> None:
    """Add texts to a finished base, and to its index where it has one."""
    before = knowledge.open_base(path)
    del how["dim"]  # it is the base's
    info = knowledge.add_documents(path, knowledge.read_documents(source), source=source.name, **how)
    base, out = knowledge.open_base(path), console(json_path)
    out.print(f"Added {len(base) - len(before):,} paragraphs.")
    found = knowledge.read_index_info(base)
    if found is not None:
        found = _index(base)
        out.print(found.sentence())
    else:
        _index_if_large(base, json_path)
    _print(path, info, json_path, index=found)


def index(path: Path, url: str | None, rebuild: bool, seed: int, json_path: str | None) -> None:
    """Index a base that outgrows memory, on disk or in an object store, and measure what the index finds."""
    if url is not None and "://" in url and url.partition("://")[0] not in ("s3", "gs", "az"):
        raise InputError(
            f"{printable(url)} is not an address of a store.", remedy="Use a folder, s3://, gs:// or az://."
        )
    found = _index(knowledge.open_base(path), seed=seed, url=url, rebuild=rebuild)
    out = publish({"base": str(path), "index": found}, json_path)
    out.print(found.sentence())
    out.print(
        f"{found.rows:,} vectors in {found.partitions:,} partitions, {found.probes:,} read for a query, at "
        f"{printable(found.url)}."
    )


def _index(base: knowledge.KnowledgeBase, *, seed: int = 0, **options: Any) -> knowledge.IndexInfo:
    """`build_index` with what it does on stderr."""
    out, started = progress_console(), time.monotonic()

    def watch(line: str) -> None:
        out.print(f"{line}, {time.monotonic() - started:.0f} s", soft_wrap=True)

    return knowledge.build_index(base, rng=np.random.default_rng(seed), watch=watch, **options)


def _index_if_large(base: knowledge.KnowledgeBase, json_path: str | None) -> None:
    """Index a base that outgrows memory, or say how to where LanceDB is missing."""
    if base.fits_memory or knowledge.read_index_info(base) is not None:
        return
    try:
        console(json_path).print(_index(base).sentence())
    except MissingPart:
        console(json_path).print(
            f"It outgrows memory: `richter search --only index {quote(str(base.folder))}` speeds up its searches "
            "(pip install 'richter[lance]')."
        )


def questions(
    path: Path,
    generator: str | None,
    checker: str | None,
    calls: Calls,
    seed: int,
    json_path: str | None,
    **most: Any,
) -> None:
    """Write questions for a base's paragraphs, checked and kept in the base, for every search and model."""
    base, out = knowledge.open_base(path), console(json_path)
    rng = np.random.default_rng(seed)
    if generator is not None:
        budget, writer = calls.budget, resolve(generator).name
        most |= {"checker": resolve(checker).name if checker else None, "prices": calls.prices}
        if calls.dry_run:
            plan = ascent.estimate_questions(base, writer, **most)
            out.print(
                f"At most {plan.calls:,} calls ({price_at_most(plan.money_usd_most)}) for {plan.asked:,} "
                "paragraphs that have no question" + (f", until {budget} is used." if budget.is_limited else ".")
            )
            calls.say_prices(out)
            write_json({"dry_run": plan.to_dict() | {"budget": str(budget)}}, json_path)
            return
        told = progress_console()

        def progress(done: int, total: int) -> None:
            told.print(f"{done:,} of {total:,} paragraphs", soft_wrap=True)

        most |= {"budget": budget, "progress": progress}
        found = ascent.generate_questions(base, writer, rng=rng, **most)
    else:
        found = ascent.report_questions(base)
    out.print(
        f"{path}: {found.kept:,} questions about {found.paragraphs:,} paragraphs, of {found.written:,} written."
        + ("" if found.complete else " The budget ended before the base did.")
    )
    if found.rejected:
        out.print("Rejected: " + ", ".join(f"{count:,} {reason}" for reason, count in found.rejected.items()) + ".")
    if found.stale:
        out.print(f"{found.stale:,} were written for texts that the base has no longer: they are not asked.")
    write_json(found.to_dict() | {"base": str(path)}, json_path)


def _show_sample(path: Path, count: int, seed: int, json_path: str | None) -> None:
    """Show paragraphs drawn at random, whole, each under its headings and with its source."""
    base = knowledge.open_base(path)
    rows = sorted(int(row) for row in np.random.default_rng(seed).permutation(len(base))[:count])
    drawn = list(zip(rows, base.paragraphs(rows), strict=True))
    shown = [{"row": row, "text": p.text, "category": p.category, **p.attributes} for row, p in drawn]
    out = publish({"base": str(path), "sample": shown}, json_path)
    for row, p in drawn:
        place = printable(str(p.attributes.get("source") or ""), limit=120)
        heading = printable(str(p.attributes.get("section") or p.category), limit=200)
        out.print(f"{row:,}: {heading}" + (f" ({place})" if place else ""), style="bold", soft_wrap=True)
        out.print(printable(p.text, limit=4000), soft_wrap=True)


def _show(path: Path, json_path: str | None) -> None:
    """Show what a base holds."""
    base = knowledge.open_base(path)
    index, out = knowledge.read_index_info(base), console(json_path)
    _print(path, base.info, json_path, names=len(base.categories[0]), index=index)
    if index is not None:
        out.print(index.sentence())
        if index.rows != len(base):
            out.print(f"It covers {index.rows:,} paragraphs: bring it up to date with `richter search --only index`.")
    count = min(SHOWN, len(base))
    rows = [i * len(base) // count for i in range(count)]
    told = (
        cells("{row}|{r.category:24}|{asked}|{r.text:160}", p, row=row, asked=len(p.questions))
        for row, p in zip(rows, base.paragraphs(rows), strict=True)
    )
    if rows:
        out.print(grid("row|category|questions|text", told))


def _print(
    path: Path,
    info: knowledge.BaseInfo,
    json_path: str | None,
    *,
    names: int | None = None,
    index: knowledge.IndexInfo | None = None,
) -> None:
    beside = {"categories": names, "index": index}
    payload = {"base": str(path), **info.to_dict(), **{name: part for name, part in beside.items() if part is not None}}
    out = publish(payload, json_path)
    categories = f" in {names:,} categories" if names is not None else ""
    out.print(
        f"{path}: {info.paragraphs:,} paragraphs of {info.documents:,} documents{categories}, "
        f"{info.askable:,} with questions; vectors by {info.embedding}."
    )
    if info.read:
        out.print(f"Read: {', '.join(f'{count:,} {kind}' for kind, count in sorted(info.read.items()))}.")
    copies = {"duplicates": info.duplicates, "near copies": info.near_copies, "empty": info.empty}
    left = {what: count for what, count in (copies | dict(info.left_out)).items() if count}
    if left:
        out.print(f"Left out: {', '.join(f'{count:,} {what}' for what, count in left.items())}.")
    for reason, skipped in sorted(info.skipped.items(), key=lambda row: -len(row[1])):
        examples = ", ".join(printable(name, limit=40) for name in skipped[:SKIPPED_NAMED])
        more = ", ..." if len(skipped) > SKIPPED_NAMED else ""
        out.print(f"Skipped {len(skipped):,}: {printable(reason, limit=120)} ({examples}{more}).", soft_wrap=True)
