"""`richter kb build|ingest|show`."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import click
import numpy as np
from rich.table import Table

from richter.bench import FACT_PARTS
from richter.cli._output import console, json_option, progress_console, write_json
from richter.knowledge import (
    BaseInfo,
    Recall,
    measure_recall,
    open_base,
    open_embedder,
    read_documents,
    write_base,
)
from richter.records import printable

__all__ = ["kb"]


@click.group()
def kb() -> None:
    """Knowledge bases: paragraphs, their vectors and the questions that can be asked about them.

    \b
    Examples:
      richter kb build facts -o facts.kb
      richter kb ingest enwiki-latest-pages-articles.xml.bz2 -o wiki.kb
      richter kb show facts.kb
    """


embedding_option = click.option(
    "--embedding",
    "model_path",
    type=click.Path(path_type=Path),
    help="A folder with a sentence-transformers model, instead of WordLlama (pip install 'richter[st]').",
)


@contextmanager
def _building() -> Iterator[Callable[[BaseInfo], None]]:
    """A line on stderr each time another shard is on disk."""
    out, started = progress_console(), time.monotonic()
    yield lambda info: out.print(
        f"{info.paragraphs:,} paragraphs of {info.documents:,} documents, {time.monotonic() - started:.0f} s",
        soft_wrap=True,
    )


@kb.command("build")
@click.argument("source", type=click.Choice(["facts"]))
@click.option("-o", "--out", "path", required=True, type=click.Path(path_type=Path), help="The folder to make.")
@click.option("--part", "parts", multiple=True, type=click.Choice(FACT_PARTS), help="Only these; default all.")
@embedding_option
@json_option
def build(source: str, path: Path, parts: tuple[str, ...], model_path: Path | None, json_path: str | None) -> None:
    """Build the built-in base of facts: places, airfields, divisions, languages and isotopes.

    The facts come from public data packages (pip install 'richter[facts]'), the sentences are Richter's own. The
    same command on an unfinished base goes on where it stopped.
    """
    from richter.bench import World, fact_documents  # the sources take seconds to read

    world, model = World(), open_embedder(model_path)
    with _building() as watch:
        info = write_base(
            path,
            fact_documents(world, parts=parts or FACT_PARTS),
            name=" ".join([source, *parts]),
            sources=world.versions,
            embedding=model.name,
            vectors=model.embed,
            dim=model.dim,
            watch=watch,
        )
    _print(path, info, json_path)


@kb.command("ingest")
@click.argument("source", metavar="PATH", type=click.Path(path_type=Path))
@click.option("-o", "--out", "path", required=True, type=click.Path(path_type=Path), help="The folder to make.")
@click.option("--documents", type=click.IntRange(1), default=None, help="Only the first N documents.")
@embedding_option
@json_option
def ingest(source: Path, path: Path, documents: int | None, model_path: Path | None, json_path: str | None) -> None:
    """Make a base of your own texts: JSONL, Parquet, a folder of .txt and .md, or a MediaWiki dump (.xml, .xml.bz2).

    Rows of JSONL and Parquet have `text`, and may have `title`, `category`, `abstract` and `qas` (questions with the
    answers people gave). The same command on an unfinished base goes on where it stopped.
    """
    made_of = {"file": source.name} | ({"documents": str(documents)} if documents else {})
    model = open_embedder(model_path)
    with _building() as watch:
        info = write_base(
            path,
            islice(read_documents(source), documents),
            name=source.stem,
            sources=made_of,
            embedding=model.name,
            vectors=model.embed,
            dim=model.dim,
            watch=watch,
        )
    _print(path, info, json_path)
    if not info.askable:
        console(json_path).print("No paragraph has a question yet: a search of this base needs a generator model.")


@kb.command("show")
@click.argument("path", metavar="BASE", type=click.Path(path_type=Path))
@click.option("--head", type=click.IntRange(0), default=3, show_default=True, help="Paragraphs shown.")
@click.option("--recall", type=click.IntRange(1), help="Measure two-level retrieval against exact on N paragraphs.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="For --recall.")
@json_option
def show(path: Path, head: int, recall: int | None, seed: int, json_path: str | None) -> None:
    """Show what a base holds."""
    base = open_base(path)
    found = None
    if recall is not None:
        rng = np.random.default_rng(seed)
        found = measure_recall(base.vectors, base.abstracts, base.first_rows, queries=recall, rng=rng)
    _print(path, base.info, json_path, names=len(base.categories[0]), recall=found)
    count = min(head, len(base))
    rows = [i * len(base) // count for i in range(count)]
    table = Table("row", "category", "questions", "text")
    for row, paragraph in zip(rows, base.paragraphs(rows), strict=True):
        text = printable(paragraph.text, limit=160)
        table.add_row(str(row), printable(paragraph.category, limit=24), str(len(paragraph.questions)), text)
    if rows:
        console(json_path).print(table)


def _print(
    path: Path, info: BaseInfo, json_path: str | None, *, names: int | None = None, recall: Recall | None = None
) -> None:
    out = console(json_path)
    categories = f" in {names:,} categories" if names is not None else ""
    out.print(
        f"{path}: {info.paragraphs:,} paragraphs of {info.documents:,} documents{categories}, "
        f"{info.askable:,} with questions; vectors by {info.embedding}."
    )
    if info.duplicates or info.empty:
        out.print(f"Left out: {info.duplicates:,} duplicates, {info.empty:,} empty.")
    if recall is not None:
        limits = f"{recall.interval.low:.0%} to {recall.interval.high:.0%}"
        out.print(
            f"Two-level retrieval finds {recall.recall:.0%} (95%: {limits}) of the {recall.k} nearest that exact "
            f"search finds, over {recall.queries} paragraphs."
        )
    payload = info.to_dict() | ({"categories": names} if names is not None else {})
    payload |= {"recall": recall} if recall is not None else {}
    write_json({"base": str(path), **payload}, json_path)
